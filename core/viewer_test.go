package core_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

func viewerKey(t *testing.T, seed byte) core.ViewerKey {
	t.Helper()
	key, err := core.NewViewerKey([32]byte{seed})
	require.NoError(t, err)
	return key
}

// A token is what its key sealed, as it is, until its time is over.
func TestViewerTokens(t *testing.T) {
	t.Parallel()
	const now = int64(1_790_000_000_000)
	v, err := core.NewViewer(agent, "chat-1", now)
	require.NoError(t, err)
	require.Equal(t, core.Viewer{Owner: "agent", SessionKey: "chat-1", EndsMs: now + 600_000}, v)
	key := viewerKey(t, 1)
	token, err := key.Token(v)
	require.NoError(t, err)
	require.NotContains(t, token, "chat")

	for name, c := range map[string]struct {
		key   core.ViewerKey
		token string
		now   int64
		ok    bool
	}{
		"as it was given":      {key, token, now, true},
		"after a restart":      {viewerKey(t, 1), token, v.EndsMs - 1, true},
		"too late":             {key, token, v.EndsMs, false},
		"of another store":     {viewerKey(t, 2), token, now, false},
		"cut":                  {key, token[:len(token)-2], now, false},
		"a character more":     {key, token + "A", now, false},
		"another character":    {key, "A" + token[1:], now, false},
		"another last one":     {key, token[:len(token)-1] + map[bool]string{true: "A", false: "B"}[strings.HasSuffix(token, "B")], now, false},
		"nothing":              {key, "", now, false},
		"where there are none": {core.ViewerKey{}, token, now, false},
	} {
		got, ok := c.key.Read(c.token, c.now)
		require.Equal(t, c.ok, ok, name)
		if ok {
			require.Equal(t, v, got, name)
		}
	}
	_, err = core.ViewerKey{}.Token(v)
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err))
}

func TestViewersAreForAskers(t *testing.T) {
	t.Parallel()
	_, err := core.NewViewer(alice, "s", 1)
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), "an operator asks for nothing, so has no session")
	for _, session := range []string{"", strings.Repeat("x", 100_000)} {
		_, err = core.NewViewer(agent, session, 1)
		require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
	}
}

// A viewer sees what is pending of that owner's session and nothing else.
func TestAdversary_N1_ViewerOfAnotherOwnerOrSession(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	low := d.submit(t, "ask")
	high := d.submit(t, "grave")
	d.submit(t, "serious", func(c *approval.Call) { c.SessionKey = "other" })
	ended := d.submit(t, "ask", func(c *approval.Call) { c.Params = []byte(`{"path":"b"}`) })
	_, err := d.Withdraw(t.Context(), agent, ended.ID, "")
	require.NoError(t, err)
	other := core.Caller{Token: "other-agent", MayRequest: true}
	_, _, err = d.Submit(t.Context(), other, call("ask"))
	require.NoError(t, err)

	keys := func(v core.Viewer) (all []string) {
		list, err := d.Pages().Watched(t.Context(), v)
		require.NoError(t, err)
		for _, a := range list {
			all = append(all, a.Key)
		}
		return all
	}
	require.Equal(t, []string{high.Key, low.Key}, keys(core.Viewer{Owner: "agent", SessionKey: "s"}))
	require.Empty(t, keys(core.Viewer{Owner: "agent", SessionKey: "nothing"}))
	require.Empty(t, keys(core.Viewer{Owner: "nobody", SessionKey: "s"}))
}

// Who is signed in may see what they could decide by an account or token of theirs, or
// asked for; a role of a chat is no account.
func TestWhomAnApprovalConcerns(t *testing.T) {
	t.Parallel()
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
			{Name: "byrole", Accounts: map[string]string{"discord": "3"}},
			{Name: "asker", Email: "asker@example.test"}, {Name: "stranger", Accounts: map[string]string{"telegram": "4"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1"}, "discord": nil},
		AllowedRoles: map[string][]string{"discord": {"ops"}},
	})
	require.NoError(t, err)
	a := approval.Approval{Asked: approval.Asked{Askers: []approval.Requester{{Person: "asker"}}}}
	for name, want := range map[string]bool{
		"alice": true, "asker": true, "byrole": false, "stranger": false, "removed": false, "": false,
	} {
		require.Equal(t, want, core.ConcernsPerson(a, name, d.At(time.Now())), name)
	}
}
