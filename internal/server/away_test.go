package server

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// A person's own token, or an operator's, says that they are away and back; operators hear
// of it, and nobody else.
func TestAwayAndBack(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	until := time.Now().Add(time.Hour).UnixMilli()
	addr, _ := d.serving(d.srv)
	alice, agent := listen(t, addr, "alice", "0"), listen(t, addr, "agent", "0")
	defer alice.close()
	defer agent.close()

	out, err := d.bob.SetAway(ctx, "bob", api.AwayRequest{UntilMs: until, To: "alice"})
	require.NoError(t, err)
	require.Equal(t, api.Away{Notes: []string{}, Absence: api.Absence{Person: "bob", To: "alice", By: "person:bob",
		SinceMs: out.Absence.SinceMs, UntilMs: until}}, out)
	_, err = d.alice.SetAway(ctx, "bob", api.AwayRequest{UntilMs: until, To: "alice"})
	require.ErrorContains(t, err, "cannot make yourself the delegate of bob")
	_, err = d.alice.SetAway(ctx, "alice", api.AwayRequest{UntilMs: until, To: "bob"})
	require.ErrorContains(t, err, "be each other's delegates")
	back, err := d.alice.SetBack(ctx, "bob")
	require.NoError(t, err)
	require.Equal(t, api.Back{Person: "bob", Ended: true}, back)
	back, err = d.bob.SetBack(ctx, "bob")
	require.NoError(t, err)
	require.Equal(t, api.Back{Person: "bob"}, back)

	_, err = d.bob.SetAway(ctx, "alice", api.AwayRequest{UntilMs: until})
	refusal(t, err, approval.CodeForbidden)
	_, err = d.alice.SetAway(ctx, "zoe", api.AwayRequest{UntilMs: until})
	refusal(t, err, approval.CodeNotFound)
	_, err = d.bob.SetAway(ctx, "bob", api.AwayRequest{})
	refusal(t, err, approval.CodeInvalidRequest)
	require.Equal(t, "invalid_request", d.do("PUT", "/v1/people/bob/away", "bob", `{"untilMs":1,"person":"alice"}`).problem(t).Code)
	for _, who := range []string{"agent", "alice-agent", "both", "viewer", "auditor"} {
		require.Equal(t, "forbidden", d.do("PUT", "/v1/people/alice/away", who, `{"untilMs":9999999999999}`).problem(t).Code, who)
		require.Equal(t, "forbidden", d.do("DELETE", "/v1/people/alice/away", who, "").problem(t).Code, who)
	}

	away, ended := strings.Join(alice.block(), "\n"), strings.Join(alice.block(), "\n")
	require.Contains(t, away, "event: person.away\ndata: {")
	require.Contains(t, away, `"absence":{"person":"bob","to":"alice",`)
	require.Contains(t, ended, "event: person.back\ndata: {")
	require.Contains(t, ended, `"endedBy":"person:alice"`)
	_, err = d.agent.Create(ctx, request("ask", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	require.Contains(t, strings.Join(agent.block(), "\n"), "event: tool.approval.requested", "who asks hears of no people")
}

// The answers say in whose stead a yes was given, and with whom it fills one seat.
func TestVotesSayWhoStoodInForWhom(t *testing.T) {
	v := approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Voter: &approval.Voter{Person: "bob"}, For: []string{"alice"}, With: "alice"}
	d := newDesk(t)
	a, err := d.agent.Create(t.Context(), request("ask", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	_, err = d.store.Update(t.Context(), a.ID, func(a approval.Approval) (core.Change, error) {
		a.Votes, a.Status, a.Decision, a.DecidedBy, a.ResolvedAtMs = []approval.Vote{v}, approval.Approved, approval.AllowOnce, []string{"person:bob"}, 1
		return core.Change{Approval: a}, nil
	})
	require.NoError(t, err)
	got, err := d.alice.Get(t.Context(), a.ID, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"alice"}, got.Votes[0].For)
	require.Equal(t, "alice", got.Votes[0].With)
}
