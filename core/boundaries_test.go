package core

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// A person whose account lost its right may give the same vote by another one:
// it replaces the vote that counts no more.
func TestTheSameVoteFromAnotherAccountReplacesOneThatCountsNoMore(t *testing.T) {
	rules := func(accounts ...string) *Rules {
		d, err := people.NewDirectory(people.Rights{
			People: []people.Person{
				{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
				{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			},
			AllowedUsers: map[string][]string{"telegram": accounts}, Tokens: map[string]string{"alice-laptop": "alice"},
		})
		require.NoError(t, err)
		return &Rules{People: d}
	}
	allow := func(channel, user string) Ballot {
		return Ballot{Voter: approval.Voter{Channel: channel, UserID: user}, Decision: approval.AllowOnce}
	}
	a := approval.Approval{
		Names: approval.Names{Key: "k", ID: "k", Owner: "o"},
		Ended: approval.Ended{Status: approval.Pending},
		Asked: approval.Asked{ExpiresAtMs: 1 << 60},
		Judged: approval.Judged{Offers: []approval.Decision{
			approval.AllowOnce, approval.Deny,
		}, Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 2}},
	}
	a = vote(a, allow("telegram", "1"), nil, nil, rules("1", "2"), 1).Approval
	now := rules("2") // alice's Telegram account may no longer decide
	c := vote(a, allow("api", "alice-laptop"), nil, nil, now, 2)
	require.False(t, c.Unchanged)
	require.Len(t, c.Approval.Votes, 1, "one person is one vote")
	c = vote(c.Approval, allow("telegram", "2"), nil, nil, now, 3)
	require.Equal(t, approval.Approved, c.Approval.Status)
}

func TestNamesOfACallHaveABound(t *testing.T) {
	ok := approval.Call{ToolName: strings.Repeat("t", 128), ID: strings.Repeat("i", 128), Params: []byte("{}")}
	require.Empty(t, ok.Validate())
	for _, c := range []approval.Call{{ToolName: ok.ToolName + "t"}, {ToolName: "-t"}, {ToolName: ""}, {ToolName: "t\n"}} {
		c.Params = ok.Params
		require.Equal(
			t,
			[]approval.FieldError{
				{Field: "toolName", Problem: "must be 1 to 128 letters, digits or . _ : / - and start with a letter or digit"},
			},
			c.Validate(), c.ToolName,
		)
	}
	require.False(t, approval.ValidID(ok.ID+"i"))
	require.False(t, approval.ValidID(""))
	require.False(t, approval.ValidID("i\n"))
	for b := range 256 { // every byte that may stand in a name, and no other
		s := "a" + string([]byte{byte(b)})
		require.Equal(t, regexp.MustCompile(`^[A-Za-z0-9._:-]+$`).MatchString(s), approval.ValidID(s), "%q", s)
		require.Equal(t, regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`).MatchString(s), approval.ValidTool(s), "%q", s)
		require.Equal(t, regexp.MustCompile(`^[A-Za-z0-9]$`).MatchString(s[1:]), approval.ValidTool(s[1:]), "%q", s)
	}
}

// A stranger whose tap finds the time over is a stranger all the same.
func TestAdversary_I1_AStrangerIsNotToldThatTheTimeIsOver(t *testing.T) {
	people, err := people.NewDirectory(people.Rights{AllowedUsers: map[string][]string{"telegram": {"1"}}})
	require.NoError(t, err)
	a := approval.Approval{
		Ended:  approval.Ended{Status: approval.Pending},
		Judged: approval.Judged{Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1}},
		Asked:  approval.Asked{ExpiresAtMs: 10},
	}
	for user, want := range map[string]approval.Code{"1": approval.CodeAlreadyResolved, "9": approval.CodeNotAnApprover} {
		c := vote(a,
			Ballot{Voter: approval.Voter{Channel: "telegram", UserID: user}, Decision: approval.AllowOnce, ReceivedMs: 10}, nil, nil,
			&Rules{People: people}, 11,
		)
		require.Equal(t, approval.Expired, c.Approval.Status)
		require.Equal(t, want, c.Refusal.Code)
	}
}

// breaking is a store that breaks whatever is asked of it.
type breaking struct{ Changes }

// Create panics.
func (breaking) Create(context.Context, Lookup, func(Existing) ([]Change, error)) error {
	panic("boom")
}

// Nobody goes on waiting for an approval that was never made.
func TestNothingWaitsAfterAPanic(t *testing.T) {
	g := NewGate(Stores{Changes: breaking{}}, Rules{}, nil)
	draft := named(approval.Approval{Ended: approval.Ended{Status: approval.Pending}}, "")
	require.PanicsWithValue(t, "boom", func() {
		_, _ = g.create(t.Context(), &submission{draft: draft, rules: g.rules.Load()})
	})
	require.Empty(t, g.waits.m)
}

// What another instance was read to have ended may be older than what this one has committed since: it wakes none.
func TestWhatIsOlderThanKnownWakesNone(t *testing.T) {
	waits := &waitlist{m: map[string]*waiter{}}
	e := waits.join("k")
	defer waits.leave("k", e)
	at := func(version int64) *approval.Approval {
		return &approval.Approval{Names: approval.Names{Version: version}, Ended: approval.Ended{Status: approval.Approved}}
	}
	waits.wake("k", at(3))
	fired, ended := waits.next(e)
	require.EqualValues(t, 3, ended.Version)
	waits.wake("k", at(2))
	_, ended = waits.next(e)
	require.EqualValues(t, 3, ended.Version)
	select {
	case <-fired:
		t.Error("it woke who knows better")
	default:
	}
	waits.wake("k", nil)
	<-fired
	require.Equal(t, []string{"k"}, waits.awaited([]string{"j", "k"}))
}
