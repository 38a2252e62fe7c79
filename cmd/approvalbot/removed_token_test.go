package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

const leaverSecret = "leaver-secret-0123456789"

func withLeaver(more string) func(*rig) {
	return func(r *rig) {
		r.tokens = "    - {name: leaver, token: " + leaverSecret + ", scopes: [approvals.request]" + more + "}\n"
	}
}

// waiting starts a request of the leaver that waits, and gives what becomes of it.
func (r *rig) waiting(wait func(*api.Client) error) <-chan error {
	r.t.Helper()
	ended := make(chan error, 1)
	before := r.waiters()
	go func() { ended <- wait(r.client(leaverSecret)) }()
	require.Eventually(r.t, func() bool { return r.waiters() != before }, patient, 5*time.Millisecond)
	return ended
}

// waiters is the line of /metrics that says how many requests wait.
func (r *rig) waiters() string {
	res, err := http.Get(r.url + "/metrics")
	require.NoError(r.t, err)
	defer res.Body.Close()
	b := &strings.Builder{}
	require.NoError(r.t, res.Write(b))
	_, line, _ := strings.Cut(b.String(), "\napprovalbot_waiting_requests ")
	line, _, _ = strings.Cut(line, "\n")
	return line
}

// A token that a reload takes away gets nothing of what it waits for: its requests
// end at once, and what people allow then is handed to nobody.
func TestAdversary_I9_AReloadEndsWhatARemovedTokenWaitsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, withLeaver(""))
	ctx := r.ctx()
	created := r.waiting(func(c *api.Client) error {
		_, err := c.Create(ctx, api.CreateRequest{ID: "job", ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{Wait: patient, Claim: true})
		return err
	})
	looked := r.waiting(func(c *api.Client) error { _, err := c.Get(ctx, "job", patient); return err })
	asks, waits := r.gateway(leaverSecret), r.gateway(leaverSecret)
	asks.send("7", "tool.approval.request", `{"id":"two","toolName":"deploy","params":{"n":2},"twoPhase":true}`)
	require.Equal(t, "accepted", asks.answer("7").field("status"))
	waits.send("8", "tool.approval.waitDecision", `{"id":"two"}`)

	page, err := r.operator().List(ctx, apiPending)
	require.NoError(t, err)
	require.Len(t, page.Items, 2)
	r.tokens = ""
	r.reload()
	for _, ended := range []<-chan error{created, looked} {
		requireProblem(t, <-ended, "unauthorized")
	}
	for _, a := range page.Items {
		card := r.card(a)
		r.tap(r.alice, r.group, card.ID, "Allow once")
		require.Zero(t, r.final(a).ClaimedAtMs)
	}
	for _, w := range []*wire{asks, waits} {
		requireTurnedAway(t, w)
	}
}

// requireTurnedAway reads until the gateway closes the connection, and requires that
// no decision came before.
func requireTurnedAway(t *testing.T, w *wire) {
	t.Helper()
	for {
		_, b, err := w.conn.Read(w.ctx)
		if err != nil {
			require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
			return
		}
		require.NotContains(t, string(b), "allow-once")
	}
}

// A token that asks for another agent than it did, or has lost its scope, waits no more.
func TestAdversary_I9_AReloadEndsWhatAChangedTokenWaitsFor(t *testing.T) {
	t.Parallel()
	r := newRig(t, withLeaver(""))
	ctx := r.ctx()
	created := r.waiting(func(c *api.Client) error {
		_, err := c.Create(ctx, api.CreateRequest{ID: "job", ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{Wait: patient, Claim: true})
		return err
	})
	asks := r.gateway(leaverSecret)
	asks.send("7", "tool.approval.request", `{"id":"two","toolName":"deploy","params":{"n":2},"twoPhase":true}`)
	require.Equal(t, "accepted", asks.answer("7").field("status"))
	withLeaver(", agentId: other")(r)
	r.reload()
	requireProblem(t, <-created, "forbidden")
	require.False(t, asks.answer("7").OK)
}
