package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

func signedIn(person string) core.WebUser { return core.WebUser{Person: person, Session: person} }

// A vote on a page fills the same seat as that person's votes from elsewhere.
func TestWebVote_IsThePersons(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	a := d.submit(t, "two")
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	a, err = d.Pages().Vote(t.Context(), signedIn("alice"), a.Code, core.WebBallot{Decision: approval.AllowOnce, Reason: "looked again"})
	require.NoError(t, err)
	require.Equal(t, approval.Pending, a.Status, "one person is one vote")
	require.Len(t, a.Votes, 1)
	require.Equal(t, approval.WebChannel, a.Votes[0].Voter.Channel)

	a, err = d.Pages().Vote(t.Context(), signedIn("bob"), a.Code, core.WebBallot{Decision: approval.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, approval.Approved, a.Status)
	require.Equal(t, []string{"person:alice", "person:bob"}, a.DecidedBy)

	again, err := d.Pages().Vote(t.Context(), signedIn("bob"), a.Code, core.WebBallot{Decision: approval.AllowOnce})
	require.NoError(t, err, "a second click is the same vote")
	require.Equal(t, a.Version, again.Version)
	_, err = d.Pages().Vote(t.Context(), signedIn("bob"), a.Code, core.WebBallot{Decision: approval.Deny})
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
	require.ErrorContains(t, err, "allowed once by alice, bob")
}

// What was not shown may be denied and not allowed, and the attempt is on record.
func TestAdversary_S1_AWebPageThatDidNotShowTheCall(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	a := d.submit(t, "ask")
	_, err := d.Pages().Vote(t.Context(), signedIn("bob"), a.Code, core.WebBallot{Decision: approval.AllowOnce, Unseen: true})
	require.Equal(t, approval.CodeUnseenPayload, approval.CodeOf(err))
	log, err := d.store.Log(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Equal(t, approval.EventRefused, log[len(log)-1].Type)
	a, err = d.Pages().Vote(t.Context(), signedIn("bob"), a.Code, core.WebBallot{Decision: approval.Deny, Unseen: true})
	require.NoError(t, err)
	require.Equal(t, approval.Denied, a.Status)
}

// Nobody decides on a page who may not decide elsewhere at that moment.
func TestAdversary_I1_VotesOnTheWeb(t *testing.T) {
	t.Parallel()
	directory := func(ids []string, tokens map[string]string, more ...people.Person) *people.Directory {
		d, err := people.NewDirectory(people.Rights{
			People: append(more, people.Person{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
				people.Person{Name: "carol", Accounts: map[string]string{"discord": "3"}}),
			AllowedUsers: map[string][]string{"telegram": ids, "discord": nil},
			AllowedRoles: map[string][]string{"discord": {"77"}}, Tokens: tokens,
		})
		require.NoError(t, err)
		return d
	}
	for name, c := range map[string]struct {
		who    string
		people *people.Directory
		asker  bool
		want   approval.Code
	}{
		"an id that is allowed in a chat counts": {who: "alice", people: directory([]string{"1"}, nil)},
		"a token that may decide counts":         {who: "alice", people: directory(nil, map[string]string{"laptop": "alice"})},
		"a stranger does not": {who: "mallory", people: directory([]string{"1"}, nil),
			want: approval.CodeNotAnApprover},
		"a session of nobody does not": {who: "", people: directory([]string{"1"}, nil),
			want: approval.CodeNotAnApprover},
		"an account's id is no person's name": {who: "1", people: directory([]string{"1"}, nil),
			want: approval.CodeNotAnApprover},
		"a role that a chat gives does not": {who: "carol", people: directory([]string{"1"}, nil),
			want: approval.CodeNotAnApprover},
		"an id that is no longer allowed does not": {who: "alice", people: directory([]string{"2"}, nil),
			want: approval.CodeNotAnApprover},
		"whoever asked does not": {who: "alice", people: directory([]string{"1"}, nil), asker: true,
			want: approval.CodeSelfApproval},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			a := d.submit(t, "ask", func(x *approval.Call) {
				if c.asker {
					x.Requester = &approval.Requester{Person: "alice"}
				}
			})
			d.use(func(r *core.Rules) { r.People = c.people })
			got, err := d.Pages().Vote(t.Context(), signedIn(c.who), a.Code, core.WebBallot{Decision: approval.AllowOnce})
			require.Equal(t, c.want, approval.CodeOf(err))
			want := approval.Approved
			if c.want != "" {
				want = approval.Pending
			}
			require.Equal(t, want, got.Status)
			known := c.people.Known(c.who)
			require.Equal(t, known, c.people.Identify(signedIn(c.who).Voter()).Person != "", "nobody else is given a name")
		})
	}
}

// A yes given on a page counts no more once its person is gone.
func TestAdversary_N6_TheVoteOfARemovedPerson(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	a := d.submit(t, "two")
	_, err := d.Pages().Vote(t.Context(), signedIn("alice"), a.Code, core.WebBallot{Decision: approval.AllowOnce})
	require.NoError(t, err)
	left, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			{Name: "carol", Accounts: map[string]string{"telegram": "3"}}},
		AllowedUsers: map[string][]string{"telegram": {"2", "3"}},
	})
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.People = left })
	a, err = d.Pages().Vote(t.Context(), signedIn("bob"), a.Code, core.WebBallot{Decision: approval.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, approval.Pending, a.Status)
	a, err = d.Pages().Vote(t.Context(), signedIn("carol"), a.Code, core.WebBallot{Decision: approval.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, []string{"person:bob", "person:carol"}, a.DecidedBy)
}
