package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/people"
)

// Where a yes must be signed, one that is not, or is under another policy, counts for
// nothing, however it came to stand there.
func TestUnsignedVotesWeighNothing(t *testing.T) {
	t.Parallel()
	a := approval.Approval{Judged: approval.Judged{PolicyHash: "1", Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1, StepUp: true}}}
	for policy, want := range map[string]approval.Status{"": approval.Pending, "0": approval.Pending, "1": approval.Approved} {
		v := yes("alice", approval.AllowOnce)
		v.Voter.UserID = "1"
		if policy != "" {
			v.Signature = &assertion.Signature{PolicyHash: policy}
		}
		a.Votes = []approval.Vote{v}
		require.Equal(t, want, people.TallyOf(a, directoryOfTwo()).Outcome, policy)
	}
	a.Votes = []approval.Vote{no("alice")}
	a.Votes[0].Voter = &approval.Voter{Person: "alice", Channel: "telegram", UserID: "1"}
	require.Equal(t, approval.Denied, people.TallyOf(a, directoryOfTwo()).Outcome, "a deny needs none")
}

// No grant of any kind stands for a signature.
func TestNoGrantCoversASignedYes(t *testing.T) {
	t.Parallel()
	a := approval.Approval{
		Asked:  approval.Asked{Fingerprint: "f", SessionKey: "s"},
		Judged: approval.Judged{Subject: "exec git push", Offers: []approval.Decision{approval.AllowSession, approval.AllowAlways}},
	}
	r := approval.GrantScope{Program: "exec git push", Words: []string{"git", "push"}}
	for _, g := range []approval.Grant{
		{Kind: approval.SessionGrant, SessionKey: "s", Subject: "exec git push"}, {Kind: approval.AlwaysGrant, Fingerprint: "f"},
		{Kind: approval.PatternGrant, Subject: "exec git push", Pattern: []string{"git", "push"}},
	} {
		for _, signed := range []bool{false, true} {
			a.Rule.StepUp, g.Rule.StepUp = signed, signed
			require.Equal(t, !signed, people.Covers(g, a, r, directoryOfTwo(), 1), g.Kind)
		}
	}
}

// The verifier's person signs on a page as the person of the listed account, without
// being an approver; nobody else does.
func TestVerifiersPeopleOnThePages(t *testing.T) {
	t.Parallel()
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "carol", Accounts: map[string]string{"telegram": "3"}},
			{Name: "dave", Accounts: map[string]string{"telegram": "4"}}},
		AllowedUsers: map[string][]string{"telegram": {}}, Verifiers: map[string][]string{"": {"telegram:3"}},
	})
	require.NoError(t, err)
	n := &approval.VerifierNeed{Accounts: []string{"telegram:3"}}
	for who, want := range map[string]bool{"carol": true, "dave": false, "mallory": false, "": false} {
		v := d.Identify(approval.Voter{Channel: approval.WebChannel, UserID: who})
		require.Equal(t, want, d.Verifies(n, "", v), who)
		require.False(t, d.MayDecide(v), who)
	}
}
