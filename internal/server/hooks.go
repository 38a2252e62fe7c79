package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/hook"
	"approvalbot/internal/panics"
	"approvalbot/internal/server/connection"
)

// hookPath is the path to which agent runtimes' HTTP hooks post.
const hookPath = "/hooks/{runtime}/{event}"

// hookEvent is the event that a hook's path names, if HTTP hooks of it are answered.
func hookEvent(r *http.Request) (rt hook.Runtime, e hook.Event, ok bool) {
	if rt, ok = hook.Find(r.PathValue("runtime")); ok {
		e, ok = rt.Event(r.PathValue("event"))
	}
	return rt, e, ok && e.HTTP
}

// hookRuntimes are the names of the runtimes that have HTTP hooks.
func hookRuntimes() (names []string) {
	for _, rt := range hook.Runtimes() {
		if slices.ContainsFunc(rt.Events, func(e hook.Event) bool { return e.HTTP }) {
			names = append(names, rt.Name)
		}
	}
	return names
}

// hooks makes the handler of the hook route. A runtime takes any other status than 200
// for a hook that failed, and then runs the call: so every failure here becomes that
// event's deny.
func (s *Server) hooks(rt *route, seen func(status int, took time.Duration)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		agent, event, known := hookEvent(r)
		if !known {
			seen(http.StatusNotFound, time.Since(start))
			s.nothingHere(w, r)
			return
		}
		v, c, err := s.asked(rt, agent, &event, start, w, r)
		if err != nil {
			s.log.Log(r.Context(), hookLevel(err), "denied a hook's call, because no decision could be made",
				"runtime", agent.Name, "event", event.Name, "reason", err)
			v = hook.Verdict{Why: hook.Failed(err)}
		}
		// A client that is still sending would not read an answer.
		_, _ = io.Copy(io.Discard, bodyOf(r))
		answer := event.Answer(c, v, false)
		seen(http.StatusOK, time.Since(start))
		send(w, http.StatusOK, plainJSON, answer.Stdout)
	}
}

// hookLevel is how loudly a hook's failure is logged: a failure that any client can
// cause, even without a token, must not fill the log.
func hookLevel(err error) slog.Level {
	var refused *api.Problem
	if !errors.As(err, &refused) {
		return slog.LevelWarn
	}
	switch refused.Status {
	case http.StatusUnauthorized, http.StatusTooManyRequests:
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

func bodyOf(r *http.Request) io.Reader {
	if r.Body == nil {
		return http.NoBody
	}
	return r.Body
}

// asked gives the verdict on a hook. The call is empty if it could not be read, and e
// then becomes the event whose body it is. The runtime's clock runs since start.
func (s *Server) asked(
	rt *route, agent hook.Runtime, e *hook.Event, start time.Time, w http.ResponseWriter, r *http.Request,
) (v hook.Verdict, in hook.Call, err error) {
	deny := func() { v, err = hook.Verdict{}, errors.New("the approval desk cannot answer this request") }
	defer panics.Catch(s.log, deny, "a hook caused a panic; its call was denied", "runtime", agent.Name, "event", e.Name)
	c, err := s.admit(rt, r)
	if err != nil {
		return v, in, toProblem(err)
	}
	body, err := readBody(w, r, maxLarge)
	if err == nil {
		_, err = c.still() // the body may have taken long
	}
	if err != nil {
		return v, in, toProblem(err)
	}
	connection.Authenticated(w, r)
	if in, err = e.Decode(body); err != nil {
		*e = agent.Meant(*e, body)
		return v, in, err
	}
	approvals := hookApprovals{s, c}
	if e.Phase == hook.After {
		return hook.Report(c.ctx, approvals, in), in, nil
	}
	return hook.Ask(c.ctx, approvals, in, agent.Limit.Until(start, c.query.duration("limit"))), in, nil
}

// hookApprovals is the approvals of one token, for the flow in hook.
type hookApprovals struct {
	s *Server
	c *call
}

// step is the call in the form that one of the flow's steps needs.
func (d hookApprovals) step(ctx context.Context, values url.Values) *call {
	c := *d.c
	c.ctx, c.query = ctx, query{values}
	return &c
}

func (d hookApprovals) Create(
	ctx context.Context, req api.CreateRequest, opts api.CreateOptions,
) (api.Approval, error) {
	a, err := d.s.create(d.step(ctx, opts.Query()), req)
	return bodyAs[api.Approval](a), hookProblem(err)
}

// Get gives [hook.ErrStopping] with what is still pending when the server stops.
func (d hookApprovals) Get(ctx context.Context, id string, atMost time.Duration) (api.Approval, error) {
	c := d.step(ctx, nil)
	w, err := d.s.gate.FindAndWatch(context.WithoutCancel(ctx), c.who, id)
	if err != nil {
		return api.Approval{}, hookProblem(err)
	}
	a, err := d.s.await(&wait{call: c, watch: w, atMost: atMost})
	if err != nil {
		return api.Approval{}, hookProblem(err)
	}
	if !a.Final() && d.s.closing.Err() != nil {
		err = hook.ErrStopping
	}
	return d.s.approvalFor(c.who, *a, a.Summary), err
}

func (d hookApprovals) Claim(ctx context.Context, id string, req api.ClaimRequest) (api.Claim, error) {
	if err := ctx.Err(); err != nil {
		return api.Claim{}, err // a client that has gone must not claim
	}
	a, err := d.s.claim(d.named(ctx, id), req)
	return bodyAs[api.Claim](a), hookProblem(err)
}

func (d hookApprovals) Withdraw(ctx context.Context, id string, req api.WithdrawRequest) (api.Approval, error) {
	a, err := d.s.withdraw(d.named(ctx, id), req)
	return bodyAs[api.Approval](a), hookProblem(err)
}

func (d hookApprovals) Result(ctx context.Context, id string, req api.ResultRequest) (api.Approval, error) {
	a, err := d.s.result(d.named(ctx, id), req)
	return bodyAs[api.Approval](a), hookProblem(err)
}

func (d hookApprovals) named(ctx context.Context, id string) *call {
	c := d.step(ctx, nil)
	c.id = id
	return c
}

func bodyAs[T any](a answer) (out T) {
	out, _ = a.body.(T)
	return out
}

// hookProblem is toProblem, except that a fault of the desk is not explained: its text
// is for the log, and the answer goes to a model.
func hookProblem(err error) error {
	err = toProblem(err)
	var refused *api.Problem
	ended := errors.Is(err, hook.ErrStopping) || errors.Is(err, context.Canceled)
	if err == nil || ended || errors.As(err, &refused) {
		return err
	}
	return fault{err}
}

// fault is an error of the desk whose text stays in the log.
type fault struct{ error }

func (fault) Error() string {
	return "the approval desk cannot answer right now; try again in a moment"
}

func (f fault) Unwrap() error { return f.error }

// checkSpan is the check of a query parameter that is a time span.
func checkSpan(s string) string {
	if d, err := parseWait(s); err != nil || d <= 0 || strings.HasPrefix(s, "-") {
		return "must be a duration such as 600s or 24h"
	}
	return ""
}
