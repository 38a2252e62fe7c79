package core

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A person whose account lost its right may give the same vote by another one:
// it replaces the vote that counts no more.
func TestTheSameVoteFromAnotherAccountReplacesOneThatCountsNoMore(t *testing.T) {
	rules := func(accounts ...string) *Rules {
		d, err := NewDirectory(Rights{
			People: []Person{
				{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
				{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			},
			AllowedUsers: map[string][]string{"telegram": accounts}, Tokens: map[string]string{"alice-laptop": "alice"},
		})
		require.NoError(t, err)
		return &Rules{People: d}
	}
	allow := func(channel, user string) Ballot {
		return Ballot{Voter: Voter{Channel: channel, UserID: user}, Decision: AllowOnce}
	}
	a := Approval{Key: "k", ID: "k", Owner: "o", Status: Pending, ExpiresAtMs: 1 << 60, Offers: []Decision{
		AllowOnce, Deny,
	},
		Rule: Rule{Effective: []Factor{UserRequest}, MinApprovals: 2}}
	a = a.vote(allow("telegram", "1"), nil, nil, rules("1", "2"), 1).Approval
	now := rules("2") // alice's Telegram account may no longer decide
	c := a.vote(allow("api", "alice-laptop"), nil, nil, now, 2)
	require.False(t, c.Unchanged)
	require.Len(t, c.Approval.Votes, 1, "one person is one vote")
	c = c.Approval.vote(allow("telegram", "2"), nil, nil, now, 3)
	require.Equal(t, Approved, c.Approval.Status)
}

func TestNamesOfACallHaveABound(t *testing.T) {
	ok := Call{ToolName: strings.Repeat("t", 128), ID: strings.Repeat("i", 128), Params: []byte("{}")}
	require.Empty(t, ok.validate())
	for _, c := range []Call{{ToolName: ok.ToolName + "t"}, {ToolName: "-t"}, {ToolName: ""}, {ToolName: "t\n"}} {
		c.Params = ok.Params
		require.Equal(
			t,
			[]FieldError{
				{"toolName", "must be 1 to 128 letters, digits or . _ : / - and start with a letter or digit"},
			},
			c.validate(), c.ToolName,
		)
	}
	require.False(t, ValidID(ok.ID+"i"))
	require.False(t, ValidID(""))
	require.False(t, ValidID("i\n"))
	for b := range 256 { // every byte that may stand in a name, and no other
		s := "a" + string([]byte{byte(b)})
		require.Equal(t, regexp.MustCompile(`^[A-Za-z0-9._:-]+$`).MatchString(s), ValidID(s), "%q", s)
		require.Equal(t, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`).MatchString(s), validTool(s), "%q", s)
		require.Equal(t, regexp.MustCompile(`^[A-Za-z0-9]$`).MatchString(s[1:]), validTool(s[1:]), "%q", s)
	}
}

// A stranger whose tap finds the time over is a stranger all the same.
func TestAdversary_I1_AStrangerIsNotToldThatTheTimeIsOver(t *testing.T) {
	people, err := NewDirectory(Rights{AllowedUsers: map[string][]string{"telegram": {"1"}}})
	require.NoError(t, err)
	a := Approval{
		Status:      Pending,
		Rule:        Rule{Allowed: []Factor{UserRequest}, Effective: []Factor{UserRequest}, MinApprovals: 1},
		ExpiresAtMs: 10,
	}
	for user, want := range map[string]Code{"1": CodeAlreadyResolved, "9": CodeNotAnApprover} {
		c := a.vote(
			Ballot{Voter: Voter{Channel: "telegram", UserID: user}, Decision: AllowOnce, ReceivedMs: 10}, nil, nil,
			&Rules{People: people}, 11,
		)
		require.Equal(t, Expired, c.Approval.Status)
		require.Equal(t, want, c.Refusal.Code)
	}
}

// breaking is a store that breaks whatever is asked of it.
type breaking struct{ Store }

// Create panics.
func (breaking) Create(context.Context, Lookup, func(Existing) ([]Change, error)) error {
	panic("boom")
}

// Nobody goes on waiting for an approval that was never made.
func TestNothingWaitsAfterAPanic(t *testing.T) {
	g := NewGate(breaking{}, Rules{}, nil)
	draft := Approval{Status: Pending}.named("")
	require.PanicsWithValue(t, "boom", func() {
		_, _, _, _, _ = g.create(t.Context(), Caller{}, Call{}, draft, Sealed{}, consulted{}, g.rules.Load())
	})
	require.Empty(t, g.waits.m)
}
