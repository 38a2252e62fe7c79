package hook

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"approvalbot/api"
)

// Approvals are the steps of one token's approvals; *api.Client is one. A refusal is an
// *api.Problem.
type Approvals interface {
	Create(ctx context.Context, req api.CreateRequest, opts api.CreateOptions) (api.Approval, error)
	Get(ctx context.Context, id string, wait time.Duration) (api.Approval, error)
	Claim(ctx context.Context, id string, req api.ClaimRequest) (api.Claim, error)
	Withdraw(ctx context.Context, id string, req api.WithdrawRequest) (api.Approval, error)
}

// Reporter receives the outcome of a call; *api.Client is one.
type Reporter interface {
	Result(ctx context.Context, id string, req api.ResultRequest) (api.Approval, error)
	Withdraw(ctx context.Context, id string, req api.WithdrawRequest) (api.Approval, error)
}

// ErrStopping is what Approvals give instead of waiting on when it is about to stop.
var ErrStopping = errors.New("the approval desk is stopping")

// How a pending approval is waited for.
const (
	pollWait     = 55 * time.Second // below a desk's minute
	outage       = 2 * time.Minute  // for which a desk may be gone while a person decides
	firstPause   = 100 * time.Millisecond
	lastPause    = 5 * time.Second
	withdrawTime = 2 * time.Second
	claimTime    = 3 * time.Second // at least, for a claim; less than what Limit.Until leaves
)

// Verdict is whether a call may run, and why: a sentence for its model.
type Verdict struct {
	Allow  bool
	Policy bool // only policy decided: no person was asked, and no earlier yes covers it
	Reads  bool // with Policy: the call changes nothing, so that it may run beside any other
	Why    string
	Notes  []Note // what people said to the model with the votes that count

	Confined *api.Confined // with Allow: the call may run confined so, and not otherwise; nil: it runs as it is
}

func denied(why string) Verdict { return Verdict{Why: why} }

// Ask asks the desk for a call and waits for people until the given time. A call is allowed
// only if its approval was claimed. If the approval is still pending at that time and the
// call names its session, it stays pending: the same call again joins it, or claims it once
// it is approved. Without a session it is withdrawn. It is withdrawn too when ctx ends
// first, also if it is approved by then: no program waits for it any more.
func Ask(ctx context.Context, d Approvals, c Call, until time.Time) Verdict {
	q := &question{desk: d, call: c, until: until}
	a, err := q.create(ctx)
	if err != nil && ctx.Err() == nil && !time.Now().Before(until) {
		return denied("the approval desk did not answer in time, so the call was not allowed")
	}
	if err != nil {
		return q.failed(ctx, err)
	}
	if a.Status == api.Pending {
		a, err = q.wait(ctx, a)
		if err != nil || a.Status == api.Pending {
			return q.leave(ctx, a, err)
		}
	}
	switch {
	case a.Status != api.Approved:
		return Verdict{Why: decidedBy(a), Notes: notesOf(a, a.Notes)}
	case a.SessionKey != c.Session:
		return denied("the approval belongs to another session; make the same call again")
	case a.Claim != nil:
		return allowed(a, *a.Claim)
	case ctx.Err() != nil: // or its yes could be taken up by a later call
		q.withdraw(ctx, a, "the asker has gone")
		return denied(gone)
	}
	got, err := q.take(ctx, cmp.Or(q.id, a.ID))
	if err != nil {
		return q.failed(ctx, err)
	}
	return allowed(a, got)
}

// allowed is the verdict of a call that was handed out.
func allowed(a api.Approval, claim api.Claim) Verdict {
	policy := byPolicy(a)
	return Verdict{Allow: true, Policy: policy, Reads: policy && a.RiskClass == "R0", Why: decidedBy(a),
		Notes: notesOf(a, claim.Notes), Confined: claim.Confined}
}

// byPolicy reports whether policy alone decided.
func byPolicy(a api.Approval) bool {
	return len(a.DecidedBy) == 1 && a.DecidedBy[0] == "policy" && len(a.Votes) == 0
}

// question is one call on its way through the desk.
type question struct {
	desk  Approvals
	call  Call
	until time.Time
	id    string // the id that it was asked for and is reported under; empty if it has no id
}

// take claims an approved call, and rides over a desk that is slow or started again meanwhile, as [question.wait] does:
// all tries have one claim's name, so that of which the answer was lost is given again.
func (q *question) take(ctx context.Context, id string) (api.Claim, error) {
	now := time.Now()
	end := now.Add(min(max(q.until.Sub(now), claimTime), outage))
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	req := q.claim()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		got, err := q.desk.Claim(ctx, id, req)
		var refused *api.Problem
		if err == nil || ctx.Err() != nil || errors.As(err, &refused) && !passing(refused) {
			return got, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return got, err
		}
	}
}

// claim is for what was waited for. Two hooks that a runtime fires for one and the same
// call, as some do, both waited for the one approval: they make one claim of it. A hook
// that comes after the claim has another call, even if it has the same name. So the
// claim's id is not random here: a receipt of the claim that was kept is accepted again
// only for this very call of this session, and until it expires.
func (q *question) claim() api.ClaimRequest {
	id := cmp.Or(q.call.claimID(), rand.Text())
	return api.ClaimRequest{ClaimID: id, ToolName: q.call.Tool, Params: q.call.Params, Bind: q.call.Request().Bind, Confine: q.call.confine()}
}

// claimID is the name of a call's claim; empty if its body does not name the call.
func (c Call) claimID() string {
	if c.ID == "" || c.Session == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(c.Session + "\x00" + c.ID))
	return "hook:" + hex.EncodeToString(sum[:16])
}

// create asks for the call. An id that the runtime has used before belongs to an
// approval that is over: then the call is asked for without an id.
//
// When ctx ends, it goes on for withdrawTime: the request may be stored by then, and only the answer tells which
// approval to withdraw.
func (q *question) create(ctx context.Context) (api.Approval, error) {
	req := q.call.Request()
	ctx, leave := api.Lingering(ctx, withdrawTime)
	defer leave()
	ctx, cancel := context.WithDeadline(ctx, q.until)
	defer cancel()
	opts := api.CreateOptions{Claim: true, ClaimID: rand.Text(), Resume: req.SessionKey != ""}
	q.id = req.ID
	a, err := q.desk.Create(ctx, req, opts)
	// An older desk does not know these.
	if x := req.Context; x != nil && (x.From != nil || x.Unheard != "" || x.Confine != nil || x.Untracked != nil || x.Programs != nil) && invalid(err) {
		said := *x
		req.MustAsk = req.MustAsk || x.Untracked.Any() || x.Programs != nil
		said.Untracked, said.Programs, said.From, said.Unheard, said.Confine, q.call.Confiner = nil, nil, nil, "", nil, nil
		req.Context = &said
		a, err = q.desk.Create(ctx, req, opts)
	}
	if req.ID == "" || !q.used(a, err) {
		return a, err
	}
	req.ID, q.id = "", ""
	return q.desk.Create(ctx, req, opts)
}

// invalid reports a refusal of the request's own members.
func invalid(err error) bool {
	var refused *api.Problem
	return errors.As(err, &refused) && refused.Code == "invalid_request"
}

// used reports whether the approval with a call's id is for another call, or is over.
func (q *question) used(a api.Approval, err error) bool {
	var refused *api.Problem
	if errors.As(err, &refused) {
		return refused.Status == http.StatusConflict
	}
	if err != nil || a.Claim != nil {
		return false
	}
	alone := len(a.DecidedBy) == 1
	byPolicy := alone && a.DecidedBy[0] == "policy"
	// A deny that still counts for the same call is an answer, whichever record gives it.
	cooling := alone && a.Status == api.Denied && strings.HasPrefix(a.DecidedBy[0], "grant:")
	return a.SessionKey != q.call.Session || a.Status.Final() && !byPolicy && !cooling
}

// wait waits for the end of an approval, and rides over a desk that is started again
// meanwhile. It gives what it saw last.
func (q *question) wait(ctx context.Context, a api.Approval) (api.Approval, error) {
	ctx, cancel := context.WithDeadline(ctx, q.until)
	defer cancel()
	pause, answered := firstPause, time.Now()
	for !a.Status.Final() {
		asked := time.Now()
		next, err := q.desk.Get(ctx, a.ID, min(pollWait, time.Until(q.until)))
		var refused *api.Problem
		switch {
		case ctx.Err() != nil && (err != nil || !next.Status.Final()):
			return a, nil
		case err == nil:
			a, answered = next, time.Now()
		case errors.As(err, &refused) && !passing(refused), errors.Is(err, ErrStopping), time.Since(answered) > outage:
			return a, err
		}
		if err == nil && (a.Status.Final() || time.Since(asked) > firstPause) {
			pause = firstPause
			continue
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, lastPause)
		case <-ctx.Done():
		}
	}
	return a, nil
}

// passing reports whether the same request may succeed a little later.
func passing(p *api.Problem) bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return p.Status == http.StatusServiceUnavailable && p.Code != "approvals_disabled"
}

// leave ends the wait for an approval that is still pending, as far as is known.
func (q *question) leave(ctx context.Context, a api.Approval, err error) Verdict {
	switch {
	case ctx.Err() != nil:
		q.withdraw(ctx, a, "the asker has gone")
		return denied(gone)
	case q.call.Session == "":
		q.withdraw(ctx, a, "the asker has stopped waiting")
		if err != nil {
			return q.failed(ctx, err)
		}
		return denied("approval " + a.Code + " was not decided in time, and this hook names no session, so a " +
			"repeated call cannot continue that approval")
	case err != nil && !errors.Is(err, ErrStopping):
		return q.failed(ctx, err)
	}
	return denied("waiting for approval " + a.Code + "; make the same call again")
}

// withdraw takes the request back, as well as it can.
func (q *question) withdraw(ctx context.Context, a api.Approval, why string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTime)
	defer cancel()
	_, _ = q.desk.Withdraw(ctx, a.ID, api.WithdrawRequest{Reason: why})
}

// failed is the verdict if the desk did not give one.
func (q *question) failed(ctx context.Context, err error) Verdict {
	if ctx.Err() != nil {
		return denied(gone)
	}
	return denied(Failed(err))
}

// Report tells the desk how a call has ended, if the runtime says so: one that was claimed has its
// result, and a card beside the runtime's own dialog is withdrawn if someone answered the dialog first.
// It gives a sentence if the model should know of a problem; calls that the desk was not asked about are
// ignored. The notes of the call are for runtimes that hand them on only at this point.
func Report(ctx context.Context, d Reporter, c Call) Verdict {
	problem, notes := reported(ctx, d, c)
	return Verdict{Allow: problem == "", Why: problem, Notes: notes}
}

func reported(ctx context.Context, d Reporter, c Call) (problem string, notes []Note) {
	for _, id := range []string{c.RequestID(), c.dialogID()} {
		if id == "" || c.outcome == nil {
			continue
		}
		a, own, err := report(ctx, d, id, c)
		if err == nil && own && a.Status == api.Approved && a.SessionKey == c.Session {
			return "", notesOf(a, a.Notes)
		}
		if err == nil {
			return "", nil
		}
		if !unasked(err) {
			return "the result was not reported: " + cause(err), nil
		}
	}
	if c.dialogID() == "" {
		return "", nil
	}
	_, err := d.Withdraw(ctx, c.dialogID(), api.WithdrawRequest{Reason: "it was answered in the agent's own dialog"})
	if err != nil && !unasked(err) {
		return "the card was not withdrawn: " + cause(err), nil
	}
	return "", nil
}

// report names the run that was claimed after people had decided; a call that policy allowed was claimed under a
// random id, and has no other run. own says that it was this very call's run: an id that a model numbers anew in each
// session may be another's.
func report(ctx context.Context, d Reporter, id string, c Call) (a api.Approval, own bool, err error) {
	result := *c.outcome
	if id == c.RequestID() {
		result.ClaimID = c.claimID()
	}
	a, err = d.Result(ctx, id, result)
	var refused *api.Problem
	if result.ClaimID == "" || !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		return a, result.ClaimID != "", err
	}
	result.ClaimID = ""
	a, err = d.Result(ctx, id, result)
	return a, false, err
}

// unasked reports a refusal because there is no such approval, or it is not in that state.
func unasked(err error) bool {
	var refused *api.Problem
	return errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusConflict)
}
