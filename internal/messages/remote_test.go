package messages_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/messages"
	"approvalbot/internal/people"
	"approvalbot/internal/policy"
	"approvalbot/internal/server"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/metrics"
	"approvalbot/internal/store"
)

type nowhere struct{}

func (nowhere) Route(approval.Approval) core.Routes { return core.Routes{} }
func (nowhere) Names(approval.Target) bool          { return false }

// The whole flow through the HTTP API and its client, under the real policy.
func TestRemote(t *testing.T) {
	ctx := t.Context()
	st, err := store.Open(ctx, store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { _ = st.Run(context.Background()) })
	t.Cleanup(func() { _ = st.Close(); running.Wait() })
	people, err := people.NewDirectory(people.Rights{People: []people.Person{{Name: "alice"}}, Tokens: map[string]string{"alice": "alice"}})
	require.NoError(t, err)
	engine, err := policy.New(policy.Config{Enabled: true})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	gate := core.NewGate(st.CoreStores(), core.Rules{Enabled: true, Policy: engine, People: people, Router: nowhere{}, TimeoutMs: 900_000, MaxTimeoutMs: 900_000}, log)
	token := func(name string, who core.Caller) auth.Token {
		return auth.Token{Name: name, Hash: auth.Hash(name + "-s3cret"), Caller: who}
	}
	srv, err := server.New(server.Config{Gate: gate, Metrics: metrics.New(), Log: log, Tokens: []auth.Token{
		token("agent", core.Caller{MayRequest: true}), token("alice", core.Caller{MayDecide: true, Person: "alice"})}})
	require.NoError(t, err)
	wire := httptest.NewServer(srv.Handler())
	t.Cleanup(func() { srv.EndWaits(); wire.Close() })
	remote := func(name string, decides bool) messages.Approvals {
		return messages.Remote(&api.Client{Server: wire.URL, Token: name + "-s3cret"}, decides)
	}

	spoken := `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"exec","input":{"command":"git push"}},{"type":"tool_use","id":"t2","name":"exec","input":{"command":"ls","frob":1}}]}`
	got, err := messages.Intercept(ctx, remote("agent", false), api.InterceptRequest{SessionKey: "s", Message: json.RawMessage(spoken)})
	require.NoError(t, err)
	require.Equal(t, messages.CallWaits, got.Calls[0].Outcome)
	require.Equal(t, "invalid_request", got.Calls[1].Code)
	list := []json.RawMessage{got.Message, json.RawMessage(
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"approval_` + got.Calls[0].ApprovalID + `","content":"Once"}]}`)}
	req := api.DecisionsRequest{SessionKey: "s", Messages: list}
	out, err := messages.Decide(ctx, remote("agent", true), req)
	require.NoError(t, err)
	require.Equal(t, "ignored", out.Calls[0].Vote, "also where its program says that it decides")
	require.Equal(t, messages.CallWaits, out.Calls[0].Outcome)
	out, err = messages.Decide(ctx, remote("alice", true), req)
	require.NoError(t, err)
	require.Equal(t, "counted", out.Calls[0].Vote)
	req.Claim = true
	out, err = messages.Decide(ctx, remote("alice", true), req)
	require.NoError(t, err)
	require.Nil(t, out.Calls[0].Claim, "only the asker claims")
	out, err = messages.Decide(ctx, remote("agent", false), req)
	require.NoError(t, err)
	require.JSONEq(t, `{"command":"git push"}`, string(out.Calls[0].Claim.Params))
}
