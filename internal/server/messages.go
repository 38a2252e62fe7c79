package server

import (
	"context"
	"errors"
	"net/http"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/messages"
	"approvalbot/internal/server/view"
)

// messageApprovals is the approvals of one token, for the flow in messages.
type messageApprovals struct {
	gate    *core.Gate
	who     core.Caller
	still   core.Standing // asked before each step: those before it may have taken long
	receipt func(approval.Approval) (string, error)
}

func (d messageApprovals) Decides() bool { return d.who.MayDecide && d.who.Person != "" }

func (d messageApprovals) Ask(ctx context.Context, req api.CreateRequest) (api.Approval, error) {
	if _, err := d.still(); err != nil {
		return api.Approval{}, toProblem(err)
	}
	a, _, err := d.gate.Submit(ctx, d.who, view.CallOf(req))
	return view.ApprovalOf(a, a.Summary, d.gate.Rules().People), toProblem(err)
}

func (d messageApprovals) Look(ctx context.Context, id string) (messages.Look, error) {
	a, err := d.gate.Get(ctx, d.who, id)
	if err != nil {
		return messages.Look{}, toProblem(err)
	}
	l := messages.Look{Approval: view.ApprovalOf(a.SeenBy(d.who.Token), a.Summary, d.gate.Rules().People)}
	if !a.Final() {
		_, l.Params, _, err = d.gate.Cards().Stored(ctx, a.Key)
	}
	return l, toProblem(err)
}

func (d messageApprovals) Vote(ctx context.Context, id string, decision api.Decision, reason string) error {
	_, err := d.still()
	if err == nil {
		_, err = d.gate.VoteAs(ctx, d.who, id, approval.Decision(decision), reason, "")
	}
	return toProblem(err)
}

func (d messageApprovals) Claim(ctx context.Context, id, claimID string) (api.Claim, error) {
	if _, err := d.still(); err != nil {
		return api.Claim{}, toProblem(err)
	}
	got, err := d.gate.Claim(ctx, d.who, id, core.ClaimInput{ClaimID: claimID})
	if err != nil {
		return api.Claim{}, toProblem(err)
	}
	out := view.ClaimOf(got)
	out.Receipt, err = d.receipt(got.Approval)
	return out, err
}

// toProblem says a refusal in the words of the API, and fromProblem back. Faults
// pass as they are.
func toProblem(err error) error {
	var e *approval.Error
	if !errors.As(err, &e) {
		return err
	}
	p := problem(e)
	return &p
}

func fromProblem(err error) error {
	var p *api.Problem
	if !errors.As(err, &p) {
		return err
	}
	e := &approval.Error{Code: approval.Code(p.Code), Message: p.Detail, Why: p.Why, URL: p.URL}
	for _, f := range p.Fields {
		e.Fields = append(e.Fields, approval.FieldError{Field: f.Field, Problem: f.Problem})
	}
	return e
}

func (s *Server) interceptMessage(c *call, in api.InterceptRequest) (answer, error) {
	out, err := messages.Intercept(c.ctx, messageApprovals{s.gate, c.who, c.still, s.receipt}, in)
	if err == nil {
		_, err = c.still()
	}
	return answer{status: http.StatusOK, body: out}, fromProblem(err)
}

func (s *Server) decideMessages(c *call, in api.DecisionsRequest) (answer, error) {
	out, err := messages.Decide(c.ctx, messageApprovals{s.gate, c.who, c.still, s.receipt}, in)
	return answer{status: http.StatusOK, body: out}, fromProblem(err)
}

func (s *Server) prepareMessages(_ *call, in api.PrepareRequest) (answer, error) {
	out, err := messages.Prepare(in)
	return answer{status: http.StatusOK, body: out}, fromProblem(err)
}
