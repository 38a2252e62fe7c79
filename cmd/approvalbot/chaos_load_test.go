package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"approvalbot/api"
)

// Who decides what, beside the people in the chats.
const olga = "olga"

// asked is one approval, with all that was confirmed to anybody about it.
type asked struct {
	id, code, kind string
	room           room
	called         bool // its owner wants to be called back
	voted          []confirmed
	status         api.Status // as it was confirmed to somebody; empty: never
	tapped         []tapped
	claims         int // that were handed out
	took           time.Duration
}

// confirmed is a vote that its voter was told has counted.
type confirmed struct {
	person string
	allow  bool
}

// tapped is a tap that may have been answered.
type tapped struct {
	confirmed
	touch
	again func() touch
	late  bool // it was made again because nothing came
}

// chaosLoad is what was asked.
type chaosLoad struct {
	mu          sync.Mutex
	all         []*asked
	tries       int // requests that had to be made again
	tappedAgain int // because they came to nothing
}

// kinds of approvals, by how they end: as often as they stand here.
var chaosKinds = strings.Fields("tap tap tap tap tap deny deny duel duel mixed pair pair api api withdraw expire")

// ask asks for approvals at the plan's rate until asking ends, and waits until each
// has ended.
func (c *chaos) ask(asking, ctx context.Context) {
	tick := time.NewTicker(time.Second / time.Duration(c.plan.rate))
	defer tick.Stop()
	var all sync.WaitGroup
	for i := 0; ; i++ {
		select {
		case <-tick.C:
			all.Go(func() { c.one(ctx, i) })
			continue
		case <-asking.Done():
		}
		break
	}
	all.Wait()
}

// one is the life of one approval.
func (c *chaos) one(ctx context.Context, i int) {
	r := rand.New(rand.NewPCG(c.plan.seed, uint64(i)+2))
	rooms := c.rooms()
	a := &asked{id: fmt.Sprint("job-", i), kind: chaosKinds[r.IntN(len(chaosKinds))], room: rooms[r.IntN(len(rooms))], called: r.IntN(5) == 0}
	began := time.Now()
	if err := c.live(ctx, r, a); err != nil {
		var said []string
		for _, tap := range a.tapped {
			text, ok := tap.said()
			said = append(said, fmt.Sprint(ok, " ", text))
		}
		c.t.Errorf("%s %s (%s) did not end: %v; people were told %q", a.kind, a.id, a.code, err, said)
	}
	a.took = time.Since(began)
	c.load.mu.Lock()
	defer c.load.mu.Unlock()
	c.load.all = append(c.load.all, a)
}

func (c *chaos) live(ctx context.Context, r *rand.Rand, a *asked) error {
	origin := a.room.target()
	req := api.CreateRequest{ID: a.id, ToolName: "deploy", Params: fmt.Appendf(nil, `{"job":%q}`, a.id), Origin: &origin}
	if a.kind == "pair" {
		req.ToolName = "pair"
	}
	if a.kind == "expire" {
		req.TimeoutMs = 1000 + r.Int64N(2000)
	}
	if a.called {
		req.CallbackURL = c.owner.URL + "/" + a.id
	}
	got, err := again(ctx, c, r, agentSecret, func(ctx context.Context, d *api.Client) (api.Approval, error) {
		return d.Create(ctx, req, api.CreateOptions{})
	})
	if err != nil {
		return err
	}
	if a.code = got.Code; got.Status != api.Pending && a.kind != "expire" {
		return fmt.Errorf("it is %s at once", got.Status)
	}
	if err := c.decide(ctx, r, a); err != nil {
		return err
	}
	if got, err = c.wait(ctx, r, a); err != nil {
		return err
	}
	a.status = got.Status
	if got.Status == api.Approved && r.IntN(2) == 0 {
		return c.claim(ctx, r, a)
	}
	return nil
}

// decide has people, an operator or the asker decide.
func (c *chaos) decide(ctx context.Context, r *rand.Rand, a *asked) error {
	one := r.IntN(len(c.people))
	two := (one + 1 + r.IntN(len(c.people)-1)) % len(c.people)
	var err error
	switch a.kind {
	case "api":
		return c.resolve(ctx, r, a, r.IntN(4) > 0)
	case "withdraw":
		_, err = again(ctx, c, r, agentSecret, func(ctx context.Context, d *api.Client) (api.Approval, error) {
			return d.Withdraw(ctx, a.id, api.WithdrawRequest{Reason: "done by hand"})
		})
		if problem(err) == "already_resolved" { // by an answer that was lost
			err = nil
		}
		return err
	case "expire":
		return nil
	}
	card, err := c.seen.card(ctx, a.code)
	if err != nil {
		return fmt.Errorf("no card: %w", err)
	}
	switch a.kind {
	case "tap":
		c.tap(a, card, one, true)
	case "deny":
		c.tap(a, card, one, false)
	case "duel": // two say different things at the same instant
		c.tap(a, card, one, true)
		c.tap(a, card, two, false)
	case "pair":
		c.tap(a, card, one, true)
		c.tap(a, card, two, true)
	case "mixed": // one in the chat, one through the API
		c.tap(a, card, one, false)
		return c.resolve(ctx, r, a, true)
	}
	return nil
}

var chaosPeople = strings.Fields("alice bob carol dora emil fred gina hans ida jan kim lea")

func (c *chaos) tap(a *asked, card posted, who int, allow bool) {
	data := "/deny " + a.code
	if allow {
		data = "/approve " + a.code
	}
	tap := func() touch { return a.room.tap(who, card.id, data) }
	a.tapped = append(a.tapped, tapped{confirmed{chaosPeople[who], allow}, tap(), tap, false})
}

// resolve is an operator's vote. It may be too late.
func (c *chaos) resolve(ctx context.Context, r *rand.Rand, a *asked, allow bool) error {
	d := api.Deny
	if allow {
		d = api.AllowOnce
	}
	got, err := again(ctx, c, r, operatorSecret, func(ctx context.Context, desk *api.Client) (api.Approval, error) {
		return desk.Resolve(ctx, a.code, api.ResolveRequest{Decision: d})
	})
	switch {
	case problem(err) == "already_resolved":
		return nil
	case err != nil:
		return err
	}
	a.voted = append(a.voted, confirmed{olga, allow})
	a.status = got.Status
	return nil
}

// wait is a program that waits for the end, now at this instance, now at that.
func (c *chaos) wait(ctx context.Context, r *rand.Rand, a *asked) (api.Approval, error) {
	for {
		got, err := again(ctx, c, r, agentSecret, func(ctx context.Context, d *api.Client) (api.Approval, error) {
			return d.Get(ctx, a.id, 4*time.Second)
		})
		if err != nil || got.Status.Final() {
			return got, err
		}
		c.tapAgain(a)
	}
}

// patience is how long after the last trouble a person waits for an answer.
const patience = time.Minute

// tapAgain has people tap again who see that it came to nothing, or who were told
// nothing at all long after all is well.
func (c *chaos) tapAgain(a *asked) {
	c.mu.Lock()
	calm := !c.calm.IsZero() && time.Since(c.calm) > patience
	c.mu.Unlock()
	for i := range a.tapped {
		tap := &a.tapped[i]
		_, ok := tap.said()
		if late := calm && !ok && !tap.late; late || tap.lost() {
			tap.touch, tap.late = tap.again(), late
			c.load.mu.Lock()
			c.load.tappedAgain++
			c.load.mu.Unlock()
		}
	}
}

// claim has two runners claim the same approval at the same time.
func (c *chaos) claim(ctx context.Context, r *rand.Rand, a *asked) error {
	var both sync.WaitGroup
	errs := make([]error, 2)
	for n := range errs {
		r := rand.New(rand.NewPCG(r.Uint64(), 0))
		both.Go(func() {
			_, errs[n] = again(ctx, c, r, agentSecret, func(ctx context.Context, d *api.Client) (api.Claim, error) {
				return d.Claim(ctx, a.id, api.ClaimRequest{ClaimID: fmt.Sprint("runner", n)})
			})
		})
	}
	both.Wait()
	for _, err := range errs {
		switch {
		case err == nil:
			a.claims++
		case problem(err) != "already_used":
			return fmt.Errorf("claim: %w", err)
		}
	}
	return nil
}

// again makes a request at one instance after another until one answers for good.
func again[T any](ctx context.Context, c *chaos, r *rand.Rand, secret string, do func(context.Context, *api.Client) (T, error)) (T, error) {
	for n := 0; ; n++ {
		bound, cancel := context.WithTimeout(ctx, 6*time.Second)
		out, err := do(bound, c.desks[r.IntN(len(c.desks))].client(secret))
		cancel()
		var refused *api.Problem
		if err == nil || errors.As(err, &refused) && refused.Status < 500 || ctx.Err() != nil {
			c.load.mu.Lock()
			c.load.tries += n
			c.load.mu.Unlock()
			return out, err
		}
		select {
		case <-time.After(time.Duration(50+r.IntN(200)) * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// problem is the code of a refusal.
func problem(err error) string {
	var refused *api.Problem
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// callee is an owner's side, who counts how often it is called about what.
type callee struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string][]time.Time // by the approval's id
	said  map[string][]api.Status
}

func newCallee() *callee {
	o := &callee{calls: map[string][]time.Time{}, said: map[string][]api.Status{}}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var a api.Approval
		if err != nil || json.Unmarshal(body, &a) != nil {
			return
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.calls[a.ID] = append(o.calls[a.ID], time.Now())
		if !slices.Contains(o.said[a.ID], a.Status) {
			o.said[a.ID] = append(o.said[a.ID], a.Status)
		}
	}))
	return o
}
