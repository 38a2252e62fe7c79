// Package ask asks the desk for one call on behalf of a program that waits: it
// creates the approval, waits for its end, claims it, and says in one sentence why
// the call may not run. Every failure is a refusal.
package ask

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/hook"
)

// Budgets of what is tried again while the desk does not answer.
const (
	claimPatience    = 30 * time.Second
	reportPatience   = 10 * time.Second
	withdrawPatience = 5 * time.Second
	lateGrace        = time.Minute // how long after its deadline an approval may still end
	maxJoins         = 4           // how often a call is asked for again if another request's approval answered
)

// Approvals is the desk at which calls are asked for. The zero Approvals refuses
// every call.
type Approvals struct {
	Client   *api.Client
	Fault    error           // why there is no desk; nil if there is one
	Stopping <-chan struct{} // closed when waiting must end; nil: never
}

// Refusal says why a call may not run. The call has not run.
type Refusal struct {
	Approval api.Approval // as last seen; empty if it was not created
	Text     string       // one sentence, for a model and for people
	Cause    error        // nil if a person or the policy refused
}

// Error gives the sentence.
func (r *Refusal) Error() string { return r.Text }

// Unwrap gives the cause.
func (r *Refusal) Unwrap() error { return r.Cause }

// Allowed is a call that may run now, once: it is claimed.
type Allowed struct {
	Approval api.Approval // as last seen
	Claim    api.Claim    // only Claim.Params may run
	proven   bool         // the claim was checked; the approval is what answered
}

// ByPerson reports whether a person decided it, and not policy or a grant. If the claim
// was checked, its receipt says so.
func (a Allowed) ByPerson() bool {
	if a.proven {
		return byPerson(a.Claim.Receipt)
	}
	for _, v := range a.Approval.Votes {
		if v.Voter != nil {
			return true
		}
	}
	return false
}

// byPerson reads who allowed a call from a receipt that was checked before.
func byPerson(receipt string) bool {
	var said struct {
		By []string `json:"by"`
	}
	parts := strings.Split(receipt, ".")
	if len(parts) != 3 {
		return false
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(claims, &said) != nil {
		return false
	}
	return slices.ContainsFunc(said.By, func(who string) bool {
		return strings.Contains(who, ":") && !strings.HasPrefix(who, "grant:")
	})
}

// Ask asks for a call, waits for its end and claims it. waiting, if not nil, is called with
// an approval that is pending. Any error is a *Refusal. When ctx ends, or the
// desk stops, the request is withdrawn.
func (d Approvals) Ask(ctx context.Context, req api.CreateRequest, waiting func(api.Approval)) (Allowed, error) {
	own := req.ID
	for joins := 0; ; joins++ {
		if own == "" {
			req.ID = "ask-" + rand.Text()
		}
		got, err := d.once(ctx, req, waiting)
		// An identical call of the session was pending and has taken the yes for itself.
		again := own == "" && joins < maxJoins && hasCode(err, "already_used")
		if !again {
			return got, err
		}
	}
}

func (d Approvals) once(ctx context.Context, req api.CreateRequest, waiting func(api.Approval)) (Allowed, error) {
	claimID := rand.Text()
	a, err := d.create(ctx, req, claimID)
	if err == nil && a.Status == api.Pending {
		if waiting != nil {
			waiting(a)
		}
		a, err = d.await(ctx, a)
	}
	if err != nil {
		return Allowed{}, err
	}
	return d.claimed(ctx, a, claimOf(req, claimID))
}

// claimOf is the claim of a call that was asked for.
func claimOf(req api.CreateRequest, claimID string) api.ClaimRequest {
	return api.ClaimRequest{ToolName: req.ToolName, Params: req.Params, Bind: req.Bind, ClaimID: claimID}
}

// Hold asks for a call and waits at most so long: the approval may still be pending,
// and it is not claimed. It stays pending when ctx ends later.
func (d Approvals) Hold(ctx context.Context, req api.CreateRequest, atMost time.Duration) (api.Approval, error) {
	a, err := d.create(ctx, req, "")
	if err != nil || a.Status.Final() {
		return a, err
	}
	after, err := d.Look(ctx, a.ID, atMost)
	if ctx.Err() != nil {
		return after, d.withdraw(ctx, a, ctx.Err())
	}
	if err != nil { // it is asked for, and can be waited for
		return a, nil
	}
	return after, nil
}

// Look gives an approval as it is when it ends, or after so long.
func (d Approvals) Look(ctx context.Context, id string, atMost time.Duration) (api.Approval, error) {
	if err := d.fault(); err != nil {
		return api.Approval{}, err
	}
	ctx, stop := d.until(ctx)
	defer stop()
	a, err := d.Client.Get(ctx, id, atMost)
	if err != nil {
		return a, refused(a, err)
	}
	return a, nil
}

// Claim claims an approved approval of the call that req asked for; the zero req means
// that the call is not known; a client with a desk's keys does not claim it.
func (d Approvals) Claim(ctx context.Context, a api.Approval, req api.CreateRequest) (Allowed, error) {
	if err := d.fault(); err != nil {
		return Allowed{}, err
	}
	return d.claimed(ctx, a, claimOf(req, rand.Text()))
}

// Report tells how an allowed call went, as well as it can: it has run, and that
// counts more.
func (d Approvals) Report(ctx context.Context, id string, r api.ResultRequest) error {
	if err := d.fault(); err != nil {
		return err
	}
	return persist(context.WithoutCancel(ctx), reportPatience, func(ctx context.Context) error {
		_, err := d.Client.Result(ctx, id, r)
		return err
	})
}

func (d Approvals) create(ctx context.Context, req api.CreateRequest, claimID string) (api.Approval, error) {
	if err := d.fault(); err != nil {
		return api.Approval{}, err
	}
	asking, leave := api.Lingering(ctx, withdrawPatience)
	defer leave()
	a, err := d.Client.Create(asking, req, api.CreateOptions{Claim: claimID != "", ClaimID: claimID})
	if err == nil {
		return a, nil
	}
	if ctx.Err() != nil { // it may be on record all the same
		return a, d.withdraw(ctx, api.Approval{ID: req.ID}, ctx.Err())
	}
	return a, refused(a, err)
}

// await waits for the end of a pending approval.
func (d Approvals) await(ctx context.Context, a api.Approval) (api.Approval, error) {
	late := time.UnixMilli(a.ExpiresAtMs).Add(lateGrace)
	if a.ExpiresAtMs == 0 {
		late = time.Now().Add(24 * time.Hour)
	}
	waits, stop := d.until(ctx)
	defer stop()
	waits, cancel := context.WithDeadlineCause(waits, late, errLate)
	defer cancel()
	after, err := d.Client.WaitFinal(waits, a.ID)
	switch {
	case err == nil:
		return after, nil
	case waits.Err() != nil:
		return a, d.withdraw(ctx, a, context.Cause(waits))
	}
	return a, refused(a, err)
}

var (
	errLate   = errors.New("the approval desk did not say how the request ended; ask again when the desk is back")
	errNoDesk = errors.New("no approval desk is configured")
)

// until is ctx, which ends also when the desk stops.
func (d Approvals) until(ctx context.Context) (context.Context, context.CancelFunc) {
	if d.Stopping == nil {
		return context.WithCancel(ctx)
	}
	out, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-d.Stopping:
			cancel(hook.ErrStopping)
		case <-out.Done():
		}
	}()
	return out, func() { cancel(context.Canceled); <-done }
}

// withdraw ends a request that no program waits for any more.
func (d Approvals) withdraw(ctx context.Context, a api.Approval, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawPatience)
	defer cancel()
	text := why.Error()
	if errors.Is(why, context.Canceled) {
		text = "the asker has stopped waiting"
	}
	if a.ID != "" {
		// it may never have arrived, or have ended
		_, _ = d.Client.Withdraw(ctx, a.ID, api.WithdrawRequest{Reason: text})
	}
	return &Refusal{Approval: a, Text: "not allowed: " + text, Cause: why}
}

// claimed hands out an approval that has ended: its call, if it was approved.
func (d Approvals) claimed(ctx context.Context, a api.Approval, req api.ClaimRequest) (Allowed, error) {
	proven := d.Client.Believe != nil
	switch {
	case a.Status != api.Approved:
		return Allowed{}, &Refusal{Approval: a, Text: Why(a)}
	case a.Claim != nil:
		return Allowed{a, *a.Claim, proven}, nil
	}
	var got api.Claim
	err := persist(ctx, claimPatience, func(ctx context.Context) (err error) {
		got, err = d.Client.Claim(ctx, a.ID, req)
		return err
	})
	switch {
	case err != nil:
		return Allowed{}, refused(a, err)
	case ctx.Err() != nil:
		_ = d.Report(ctx, a.ID, api.ResultRequest{ClaimID: got.ClaimID, Status: "failed", Summary: "not run: the asker has stopped waiting"})
		return Allowed{}, refused(a, ctx.Err())
	}
	return Allowed{a, got, proven}, nil
}

// missing says why there is no desk; nil if there is one.
func (d Approvals) missing() error {
	if d.Fault == nil && d.Client == nil {
		return errNoDesk
	}
	return d.Fault
}

func (d Approvals) fault() error {
	if err := d.missing(); err != nil {
		return refused(api.Approval{}, err)
	}
	return nil
}

func refused(a api.Approval, err error) *Refusal {
	return &Refusal{Approval: a, Text: hook.Failed(err), Cause: err}
}

func hasCode(err error, code string) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Code == code
}

// persist repeats do until it succeeds, is refused for good, or budget or ctx ends.
func persist(ctx context.Context, budget time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := do(ctx)
		var p *api.Problem
		if err == nil || errors.As(err, &p) && !passing(p) || errors.Is(err, api.ErrNotBelieved) {
			return err
		}
		if p != nil {
			pause = max(pause, p.RetryAfter)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// passing reports whether the same request may succeed a little later.
func passing(p *api.Problem) bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return p.Status == http.StatusServiceUnavailable && p.Code != "approvals_disabled"
}

// Object reports whether raw is one JSON object.
func Object(raw json.RawMessage) bool {
	for _, c := range raw {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{' && json.Valid(raw)
	}
	return false
}
