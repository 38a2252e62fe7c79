package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/view"
)

// maxCalls is how many calls are evaluated at once.
const maxCalls = 1000

// evaluateBody is the body of POST /v1/evaluate: a call, or calls.
type evaluateBody struct {
	api.CreateRequest
	Calls []jsontext.Value `json:"calls"`
}

func (s *Server) evaluate(c *call, body []byte) (answer, error) {
	if calls := onlyCalls(body); calls != nil {
		return s.evaluateAll(c, calls)
	}
	var in evaluateBody
	switch err := Decode(body, &in); {
	case err != nil:
		return answer{}, err
	case in.Calls != nil:
		return answer{}, approval.Invalid(approval.FieldError{Field: "calls",
			Problem: "cannot be combined with a single call; send one or the other"})
	case len(body) > maxBody:
		return answer{}, tooLarge(maxBody)
	}
	out, err := s.evaluation(c, in.CreateRequest)
	return answer{status: http.StatusOK, body: out}, err
}

// onlyCalls gives the calls of a body that has no other members; nil if it has.
func onlyCalls(body []byte) []jsontext.Value {
	var in struct {
		Calls []jsontext.Value `json:"calls"`
	}
	if !mayName(body, "calls") || json.Unmarshal(body, &in, json.RejectUnknownMembers(true)) != nil {
		return nil
	}
	return in.Calls
}

// evaluateAll answers calls in order, each with an evaluation or with a problem of its own.
func (s *Server) evaluateAll(c *call, calls []jsontext.Value) (answer, error) {
	if len(calls) > maxCalls {
		problem := fmt.Sprintf("must be at most %d calls", maxCalls)
		return answer{}, approval.Invalid(approval.FieldError{Field: "calls", Problem: problem})
	}
	results := newBuffer() // written as they are judged, so that a thousand are not kept beside it
	results.WriteString(`{"results":[`)
	var out api.Evaluation
	for i, one := range calls {
		if c.ctx.Err() != nil { // the client does not wait for the rest
			return answer{}, context.Cause(c.ctx)
		}
		var err error
		out, err = s.evaluateOne(c, one)
		var refused *approval.Error
		if i > 0 {
			results.WriteByte(',')
		}
		switch {
		case err == nil:
			err = json.MarshalWrite(results, &out, encoding)
		case errors.As(err, &refused) && statusOf()[refused.Code] != 0:
			err = json.MarshalWrite(results, problem(refused), encoding)
		}
		if err != nil {
			return answer{}, err
		}
	}
	results.WriteString("]}")
	return answer{status: http.StatusOK, body: results}, nil
}

func (s *Server) evaluateOne(c *call, body []byte) (out api.Evaluation, err error) {
	if len(body) > maxBody {
		return out, tooLarge(maxBody)
	}
	var in api.CreateRequest
	if err := Decode(body, &in); err != nil {
		return out, err
	}
	return s.evaluation(c, in)
}

func (s *Server) evaluation(c *call, in api.CreateRequest) (api.Evaluation, error) {
	call := view.CallOf(in)
	call.Context.Confine = view.Confine(in.Context)
	p, err := s.gate.Evaluate(c.ctx, c.who, call)
	if err != nil {
		return api.Evaluation{}, err
	}
	return view.EvaluationOf(p, in.ToolName, s.gate.PolicyHash(), c.who.MayDecide), nil
}

func (s *Server) tools(c *call, in api.ToolsRequest) (answer, error) {
	out, err := s.Tools(c.who, in)
	return answer{status: http.StatusOK, body: out}, err
}

// Tools answers POST /v1/tools, for the other doors of the desk too.
func (s *Server) Tools(who core.Caller, in api.ToolsRequest) (api.Tools, error) {
	set := core.ToolSet{Tools: in.Tools, AgentID: in.AgentID, Context: view.ContextOf(in.Context)}
	allowed, denied, err := s.gate.Tools(who, set)
	out := api.Tools{Allowed: view.Names(allowed), Denied: make([]api.DeniedTool, len(denied))}
	for i, d := range denied {
		out.Denied[i] = api.DeniedTool(d)
	}
	return out, err
}

func (s *Server) policy(c *call) (answer, error) {
	p, err := s.cfg.Policy(c.ctx)
	return answer{status: http.StatusOK, body: p}, err
}

func (s *Server) reload(c *call, _ api.Empty) (answer, error) {
	r, err := s.cfg.Reload(c.ctx, c.who)
	return answer{status: http.StatusOK, body: r}, err
}

// sent is the number as a list, which is empty if it was not sent.
func sent(after *int) []int {
	if after == nil {
		return nil
	}
	return []int{*after}
}

func (s *Server) retry(c *call, in api.RetryRequest) (answer, error) {
	a, err := s.gate.Retry(c.ctx, c.who, c.id, in.WithoutResult, sent(in.After)...)
	return s.shown(c, &a, err)
}

func (s *Server) grants(c *call) (answer, error) {
	list, err := s.gate.Grants().List(c.ctx, c.who, core.GrantFilter{Owner: c.query.text("owner"),
		AgentID: c.query.text("agentId"), SessionKey: c.query.text("sessionKey")})
	if err != nil {
		return answer{}, err
	}
	out := api.Grants{Items: make([]api.Grant, len(list))}
	for i, g := range list {
		out.Items[i] = view.GrantOf(g)
	}
	return answer{status: http.StatusOK, body: out}, nil
}

func (s *Server) dropGrant(c *call) (answer, error) {
	n, err := s.gate.Grants().Drop(c.ctx, c.who, core.GrantFilter{ID: c.id})
	return answer{status: http.StatusOK, body: api.Ended{Ended: n}}, err
}

func (s *Server) dropSession(c *call) (answer, error) {
	n, err := s.gate.Grants().Drop(c.ctx, c.who, core.GrantFilter{SessionKey: c.id})
	return answer{status: http.StatusOK, body: api.Ended{Ended: n}}, err
}

func (s *Server) addGrant(c *call, in api.GrantRequest) (answer, error) {
	if in.Owner != "" && !s.Tokens.Has(in.Owner) {
		return answer{}, approval.Invalid(approval.FieldError{Field: "owner",
			Problem: "is not the name of a token of this desk: give one of server.tokens"})
	}
	p, err := s.gate.Grants().AddPattern(c.ctx, c.who, core.PatternRequest{
		Owner: in.Owner, AgentID: in.AgentID, ToolName: in.ToolName, Pattern: in.Pattern, MaxClass: in.MaxRiskClass,
		TTLMs: in.TTLMs, Preview: in.Preview,
	})
	if err != nil {
		return answer{}, err
	}
	out := api.GrantPreview{Covers: []api.CoveredCall{}, Checked: p.Checked}
	for _, a := range p.Covers {
		out.Covers = append(out.Covers, api.CoveredCall{Code: a.Code, Summary: a.Summary,
			RiskClass: a.Class.String(), Status: api.Status(a.Status), Certain: a.Certain})
	}
	status := http.StatusOK
	if p.Grant != nil {
		out.Grant, status = new(view.GrantOf(*p.Grant)), http.StatusCreated
	}
	return answer{status: status, body: out}, nil
}
