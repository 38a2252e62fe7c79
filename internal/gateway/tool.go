package gateway

import (
	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/view"
)

// toolAsk is the body of POST /v1/approvals, and whether to answer twice.
type toolAsk struct {
	api.CreateRequest
	TwoPhase bool `json:"twoPhase"`
}

func toolRequest(c *call, in toolAsk) (any, error) {
	asked := view.CallOf(in.CreateRequest)
	return c.ask(&asked, in.TwoPhase, toolWords)
}

func toolGet(c *call, in one) (any, error) {
	a, err := c.find(in.ID)
	if err != nil {
		return nil, err
	}
	return c.g.cfg.Server.View(c.ctx, a.SeenBy(c.who.Token))
}

// listing selects approvals, as GET /v1/approvals does.
type listing struct {
	Status     string `json:"status"`
	AgentID    string `json:"agentId"`
	SessionKey string `json:"sessionKey"`
	ToolName   string `json:"toolName"`
	Limit      *int   `json:"limit"`
	Cursor     string `json:"cursor"`
}

const (
	pageDefault = 50
	pageMax     = 200
)

func toolList(c *call, in listing) (any, error) {
	f := core.Filter{Status: approval.Status(in.Status), AgentID: in.AgentID, SessionKey: in.SessionKey,
		ToolName: in.ToolName,
		Limit:    pageDefault, Cursor: in.Cursor}
	var err error
	if f.Limit, err = pageSize(in.Limit); err != nil {
		return nil, err
	}
	if err := checkStatus(in.Status); err != nil {
		return nil, err
	}
	return c.g.cfg.Server.Page(c.ctx, c.who, f)
}

func pageSize(given *int) (int, error) {
	switch {
	case given == nil:
		return pageDefault, nil
	case *given < 1 || *given > pageMax:
		return 0, approval.Invalid(approval.FieldError{Field: "limit", Problem: "must be a number from 1 to 200"})
	}
	return *given, nil
}

func checkStatus(s string) error {
	switch approval.Status(s) {
	case "", approval.Pending, approval.Approved, approval.Denied, approval.Expired, approval.Withdrawn:
		return nil
	}
	return approval.Invalid(approval.FieldError{Field: "status", Problem: "must be pending, approved, denied, expired or " +
		"withdrawn"})
}

func toolsEffective(c *call, in api.ToolsRequest) (any, error) {
	out, err := c.g.cfg.Server.Tools(c.who, in)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func toolPolicy(c *call, _ struct{}) (any, error) {
	if err := c.operator(); err != nil {
		return nil, err
	}
	if c.g.cfg.Policy == nil {
		return nil, approval.Refuse(approval.CodeUnavailable, "This desk does not show its policy here.")
	}
	return c.g.cfg.Policy(c.ctx)
}

// verdict is an operator's decision.
type verdict struct {
	ID       string       `json:"id"`
	Decision api.Decision `json:"decision"`
	Reason   string       `json:"reason"`
	After    *int         `json:"after"` // with retry: as in api.ResolveRequest
}

type done struct {
	OK bool `json:"ok"`
}

// resolve counts the vote of the token's person. A decision that is not offered
// is refused and leaves the approval as it is.
func resolve(c *call, in verdict) (any, error) {
	if err := c.operator(); err != nil {
		return nil, err
	}
	var after []int
	if in.After != nil {
		after = append(after, *in.After)
	}
	_, err := c.g.cfg.Gate.VoteAs(c.ctx, c.who, in.ID, approval.Decision(in.Decision), in.Reason, "", after...)
	if approval.CodeOf(err) == approval.CodeDecisionNotOffered && in.Decision == api.AllowAlways {
		return nil, &refusal{Code: invalidRequest, Message: err.Error(),
			Details: &details{Reason: "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE", Code: string(approval.CodeDecisionNotOffered)}}
	}
	return done{true}, err
}
