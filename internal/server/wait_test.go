package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/store"
)

// asked is a request under way in its own goroutine.
type asked struct {
	done atomic.Bool
	r    reply
}

func (d *desk) begin(ctx context.Context, method, path, as, body string) *asked {
	a := &asked{}
	go func() {
		a.r = d.with(ctx).do(method, path, as, body)
		a.done.Store(true)
	}()
	synctest.Wait()
	return a
}

// with gives the desk with every request bound to ctx.
func (d *desk) with(ctx context.Context) *desk {
	bound := *d
	agent := *d.agent
	agent.HTTP = &http.Client{Transport: withContext{ctx, d.agent.HTTP.Transport}}
	bound.agent = &agent
	return &bound
}

type withContext struct {
	ctx  context.Context
	next http.RoundTripper
}

func (w withContext) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.next.RoundTrip(r.WithContext(w.ctx))
}

func TestWaitUntilDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		c := d.begin(t.Context(), "POST", "/v1/approvals?wait=25s&claim=1&claimId=c", "agent", `{"id":"w","toolName":"ask","params":{"a":1}}`)
		g := d.begin(t.Context(), "GET", "/v1/approvals/w?wait=55", "agent", "")
		require.False(t, c.done.Load())
		require.False(t, g.done.Load())
		require.Contains(t, d.do("GET", "/metrics", "", "").text, "approvalbot_waiting_requests 2")

		pair, err := d.alice.Resolve(t.Context(), "w", api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
		require.Equal(t, api.Approved, pair.Status)
		synctest.Wait()
		require.True(t, c.done.Load())
		require.Equal(t, http.StatusOK, c.r.StatusCode, "not pending any more at the time of the answer")
		require.Contains(t, c.r.text, `"claim":{"toolName":"ask","params":{"a":1}`)
		require.True(t, g.done.Load())
		require.Contains(t, g.r.text, `"status":"approved"`)
	})
}

func TestWaitRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, start := newDesk(t), time.Now()
		r := d.do("POST", "/v1/approvals?wait=10m&claim=1", "agent", `{"id":"w","toolName":"ask","params":{}}`)
		require.Equal(t, http.StatusCreated, r.StatusCode, "still pending")
		require.NotContains(t, r.text, `"claim":`)
		require.Equal(t, time.Minute, time.Since(start), "clamped to a minute")
		start = time.Now()
		require.Contains(t, d.do("GET", "/v1/approvals/w?wait=1.5", "agent", "").text, `"status":"pending"`)
		require.Equal(t, 1500*time.Millisecond, time.Since(start))
	})
}

func TestWaitEndsWhenClosing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		c := d.begin(t.Context(), "POST", "/v1/approvals?wait=60s", "agent", `{"toolName":"ask","params":{}}`)
		d.srv.EndWaits()
		synctest.Wait()
		require.True(t, c.done.Load())
		require.Equal(t, http.StatusCreated, c.r.StatusCode)
		require.Contains(t, c.r.text, `"status":"pending"`)
		start := time.Now()
		d.do("POST", "/v1/approvals?wait=60s", "agent", `{"toolName":"ask","params":{}}`)
		require.Equal(t, start, time.Now(), "nobody waits any more")
		require.Equal(t, http.StatusServiceUnavailable, d.do("GET", "/readyz", "", "").StatusCode)
	})
}

func TestWaiterGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ctx, hangUp := context.WithCancel(t.Context())
		c := d.begin(ctx, "POST", "/v1/approvals?wait=60s&claim=1", "agent", `{"id":"w","toolName":"ask","params":{}}`)
		hangUp()
		synctest.Wait()
		require.True(t, c.done.Load(), "the wait ends with its client")
		a, err := d.alice.Resolve(t.Context(), "w", api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err, "and changes nothing")
		require.Zero(t, a.ClaimedAtMs)
	})
}

func TestWaiterGoneBeforeItIsKnownWhatFor(t *testing.T) {
	d := newDesk(t)
	d.pending("w")
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	r := d.with(ctx).do("GET", "/v1/approvals/w?wait=60s", "agent", "")
	require.Equal(t, http.StatusOK, r.StatusCode, "who closed but its half of the connection still listens")
	require.Contains(t, r.text, `"status":"pending"`)
}

func TestClaimRefusedAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		c := d.begin(t.Context(), "POST", "/v1/approvals?wait=60s&claim=1", "agent", `{"id":"w","toolName":"ask","params":{}}`)
		d.judge.turn("ask")
		_, err := d.alice.Resolve(t.Context(), "w", api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "policy", c.r.problem(t).Why)
		require.Equal(t, "/v1/approvals/w", c.r.Header.Get("Location"))
		require.Equal(t, string(approval.CodeNotClaimable), c.r.problem(t).Code)
	})
}

func TestWaitFinal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.ask("ask", `{}`, func(r *api.CreateRequest) { r.ID = "w" })
		var got api.Approval
		var err error
		done := atomic.Bool{}
		go func() { got, err = d.agent.WaitFinal(t.Context(), "w"); done.Store(true) }()
		time.Sleep(10 * time.Minute) // several polls, on the bubble's clock
		synctest.Wait()
		require.False(t, done.Load())
		_, voteErr := d.bob.Resolve(t.Context(), "w", api.ResolveRequest{Decision: api.Deny, Reason: "no"})
		require.NoError(t, voteErr)
		synctest.Wait()
		require.NoError(t, err)
		require.Equal(t, api.Denied, got.Status)
		_, err = d.other.WaitFinal(t.Context(), "w")
		refusal(t, err, approval.CodeNotFound)
	})
}

// sickStore is the real store, which may not answer for a while.
type sickStore struct {
	*store.Store
	sick    atomic.Bool
	refused atomic.Int32 // how often it did not answer
}

func (s *sickStore) Bare(ctx context.Context, key string) (approval.Approval, error) {
	if s.sick.Load() {
		s.refused.Add(1)
		return approval.Approval{}, approval.Refuse(approval.CodeUnavailable, "The store does not answer.")
	}
	return s.Store.Bare(ctx, key)
}

// Who waits for as long as it takes sees also the end that nobody told of, and a store
// that fails while there is nothing to see is no reason to give up.
func TestWaitThoughNobodyTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.pending("w")
		w, err := d.gate.Get(t.Context(), requesting, "w")
		require.NoError(t, err)
		st := &sickStore{Store: d.store}
		stores := d.store.CoreStores()
		stores.Queries = st
		other := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler)) // of an instance that hears nothing
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan *approval.Approval, 1)
		go func() {
			a, err := other.Wait(ctx, w.Key, d.srv.Tokens.Standing(auth.Hash(secretOf("agent")), requesting))
			if err != nil {
				t.Error(err)
			}
			ended <- a
		}()
		synctest.Wait()
		st.sick.Store(true)
		time.Sleep(10 * time.Minute) // on the bubble's clock
		st.sick.Store(false)
		require.NotZero(t, st.refused.Load())
		d.yes("w")
		require.Equal(t, approval.Approved, (<-ended).Status)
		require.NoError(t, ctx.Err(), "it waited for its own end only")
	})
}
