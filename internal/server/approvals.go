package server

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/server/connection"
	"approvalbot/internal/server/view"
)

func (s *Server) create(c *call, in api.CreateRequest) (answer, error) {
	atMost, claim, claimID := c.query.wait(), c.query.flag("claim"), c.query.text("claimId")
	if claimID != "" && !claim {
		return answer{}, approval.Invalid(approval.FieldError{Field: "claimId", Problem: "needs claim=1"})
	}
	resume := c.query.flag("resume")
	if resume && !claim {
		return answer{}, approval.Invalid(approval.FieldError{Field: "resume", Problem: "needs claim=1"})
	}
	a, created, watch, err := s.submit(c, &in, resume)
	if err != nil {
		return answer{}, err
	}
	made := submitted{id: cmp.Or(in.ID, a.ID), path: "/v1/approvals/" + url.PathEscape(a.ID), created: created, claim: claim, claimID: claimID,
		confine: view.Confine(in.Context)}
	if a.Status.Final() || atMost <= 0 {
		watch.Stop()
		_, err = c.still() // it may have taken long to ask others
		return s.told(c, made, a, err)
	}
	if watch == nil {
		watch = s.gate.Watch(a.Key)
	}
	return answer{wait: &wait{c, watch, atMost, func(a *approval.Approval, err error) (answer, error) {
		return s.told(c, made, a, err)
	}}}, nil
}

// submitted is what came of a request to ask, and what else it wants.
type submitted struct {
	id, path string // the asker's id of the approval, and its path
	created  bool
	claim    bool
	claimID  string
	confine  string // as in [core.ClaimInput]
}

// told answers with an approval that was asked for.
func (s *Server) told(c *call, made submitted, a *approval.Approval, err error) (answer, error) {
	out := answer{status: http.StatusOK, location: made.path}
	if err != nil {
		return out, err
	}
	if made.created && !a.Status.Final() {
		out.status = http.StatusCreated
	}
	out.body, err = s.claimed(c, a, made)
	return out, err
}

// submit is [core.Gate.SubmitAndWatch] for what a request asks.
func (s *Server) submit(c *call, in *api.CreateRequest, resume bool) (*approval.Approval, bool, *core.Watch, error) {
	asked := view.CallOf(*in)
	asked.Context.Confine, asked.Resume = view.Confine(in.Context), resume
	return s.gate.SubmitAndWatch(c.ctx, c.who, asked)
}

// claimed is an approval as its asker sees it, claimed in the same breath if that
// was asked for and can be: an [api.Approval].
func (s *Server) claimed(c *call, a *approval.Approval, made submitted) (any, error) {
	var handed *api.Claim
	if made.claim && a.Status == approval.Approved && connection.StillThere(c.ctx) {
		got, err := s.gate.Claim(c.ctx, c.who, made.id, core.ClaimInput{ClaimID: made.claimID, Confine: made.confine})
		if err != nil {
			return nil, err
		}
		out := view.ClaimOf(got)
		if out.Receipt, err = s.receipt(got.Approval); err != nil {
			return nil, err
		}
		a, handed = &got.Approval, &out
	}
	body, err := s.seen(c.ctx, c.who, *a)
	body.Claim = handed
	return body, err
}

func (s *Server) get(c *call) (answer, error) {
	atMost := c.query.wait()
	if atMost <= 0 {
		return s.getNow(c)
	}
	w, err := s.gate.FindAndWatch(context.WithoutCancel(c.ctx), c.who, c.id)
	if err != nil {
		return answer{}, err
	}
	return answer{wait: &wait{c, w, atMost, func(a *approval.Approval, err error) (answer, error) {
		return s.shown(c, a, err)
	}}}, nil
}

func (s *Server) getNow(c *call) (answer, error) {
	a, err := s.gate.Get(c.ctx, c.who, c.id)
	return s.shown(c, &a, err)
}

func (s *Server) list(c *call) (answer, error) {
	f := core.Filter{
		Status: approval.Status(c.query.text("status")), AgentID: c.query.text("agentId"),
		SessionKey: c.query.text("sessionKey"),
		ToolName:   c.query.text("toolName"), Limit: c.query.limit(), Cursor: c.query.text("cursor"),
		Round: c.query.text("round") != "",
	}
	out, err := s.page(c.ctx, c.who, f, s.seen)
	return answer{status: http.StatusOK, body: out}, err
}

// Page gives approvals as programs see them, newest first: to operators all of
// them with their whole redacted calls, to askers their own. CodeForbidden for
// any other caller.
func (s *Server) Page(ctx context.Context, who core.Caller, f core.Filter) (api.List, error) {
	return s.page(ctx, who, f, s.seenWithoutCard)
}

// look is an approval as a caller sees it.
type look func(ctx context.Context, who core.Caller, a approval.Approval) (api.Approval, error)

func (s *Server) page(ctx context.Context, who core.Caller, f core.Filter, see look) (api.List, error) {
	page, err := s.gate.List(ctx, who, f)
	if err != nil {
		return api.List{}, err
	}
	out := api.List{Items: make([]api.Approval, len(page.Items)), NextCursor: page.Next}
	for i, a := range page.Items {
		if err := ctx.Err(); err != nil {
			return api.List{}, err // whole calls are costly, and no client waits for them any more
		}
		if out.Items[i], err = see(ctx, who, a); err != nil {
			return api.List{}, err
		}
		if a.Final() {
			out.Items[i].Card = nil // a list is long, and calls are not decided in it
		}
	}
	return out, nil
}

func (s *Server) resolve(c *call, in api.ResolveRequest) (answer, error) {
	a, err := s.gate.VoteAs(c.ctx, c.who, c.id, approval.Decision(in.Decision), in.Reason, in.Note, sent(in.After)...)
	return s.shown(c, &a, err)
}

func (s *Server) withdraw(c *call, in api.WithdrawRequest) (answer, error) {
	a, err := s.gate.Withdraw(c.ctx, c.who, c.id, in.Reason)
	return s.shown(c, &a, err)
}

func (s *Server) claim(c *call, in api.ClaimRequest) (answer, error) {
	got, err := s.gate.Claim(c.ctx, c.who, c.id, core.ClaimInput{Params: in.Params, Bind: (*approval.Bind)(in.Bind),
		ClaimID: in.ClaimID, Confine: view.Profile(in.Confine)})
	if err != nil {
		return answer{}, err
	}
	out := view.ClaimOf(got)
	if out.Receipt, err = s.receipt(got.Approval); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: out}, nil
}

func (s *Server) revoke(c *call, in api.RevokeRequest) (answer, error) {
	a, err := s.gate.Revoke(c.ctx, c.who, c.id, in.Reason)
	return s.shown(c, &a, err)
}

func (s *Server) result(c *call, in api.ResultRequest) (answer, error) {
	a, err := s.gate.Report(c.ctx, c.who, c.id, in.ClaimID, approval.Result{Status: in.Status, Summary: in.Summary,
		ExitCode: cmp.Or(in.ExitCode, in.Exit), Confined: (*approval.RanConfined)(in.Confined)})
	return s.shown(c, &a, err)
}

// shown answers with one approval and its whole redacted call, unless the step
// that gave it failed.
func (s *Server) shown(c *call, a *approval.Approval, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	body, err := s.seen(c.ctx, c.who, *a)
	return answer{status: http.StatusOK, body: body}, err
}

// seen is an approval as that caller sees it: with its card and the whole call for those
// who may decide, because their vote then counts as seen; the asker knows what it asked.
func (s *Server) seen(ctx context.Context, who core.Caller, a approval.Approval) (api.Approval, error) {
	body, facts, err := s.called(ctx, who, a)
	if who.MayDecide {
		body.Card = view.CardOf(s.gate.Cards().Of(a, facts))
	}
	return body, err
}

func (s *Server) seenWithoutCard(ctx context.Context, who core.Caller, a approval.Approval) (api.Approval, error) {
	body, _, err := s.called(ctx, who, a)
	return body, err
}

// called is an approval with as much of its call as the caller sees.
func (s *Server) called(ctx context.Context, who core.Caller, a approval.Approval) (api.Approval, []card.Fact, error) {
	if !who.MayDecide {
		return s.approvalFor(who, a, a.Summary), nil, nil
	}
	facts, err := s.wholeCall(ctx, a)
	return s.approvalFor(who, a, summaryOf(a, facts)), facts, err
}

// View is one approval as programs see it, with its whole redacted call.
func (s *Server) View(ctx context.Context, a approval.Approval) (api.Approval, error) {
	facts, err := s.wholeCall(ctx, a)
	if err != nil {
		return api.Approval{}, err
	}
	return view.ApprovalOf(a, summaryOf(a, facts), s.gate.Rules().People), nil
}

// wholeCall is the call as people see it, whole while its params are kept.
func (s *Server) wholeCall(ctx context.Context, a approval.Approval) ([]card.Fact, error) {
	if a.Final() && (a.Status != approval.Approved || a.RevokedAtMs != 0) {
		return nil, nil // its params went when it ended
	}
	return s.gate.Cards().Payload(context.WithoutCancel(ctx), a)
}

// summaryOf is the whole call on one line, or as much of it as is kept.
func summaryOf(a approval.Approval, facts []card.Fact) string {
	if len(facts) == 0 {
		return a.Summary
	}
	return card.OneLine(a.ToolName, facts)
}

// approvalFor is approvalOf for one caller.
func (s *Server) approvalFor(who core.Caller, a approval.Approval, summary string) api.Approval {
	out := view.ApprovalOf(a.SeenBy(who.Token), summary, s.gate.Rules().People)
	if who.MayDecide {
		out.Consulted = view.ConsultedOf(a.Consulted, true)
	}
	return out
}
