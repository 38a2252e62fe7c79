package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/assertion"
)

// Where a yes must be signed, one that is not, or is under another policy, counts for
// nothing, however it came to stand there.
func TestUnsignedVotesWeighNothing(t *testing.T) {
	t.Parallel()
	a := Approval{PolicyHash: "1", Rule: Rule{Effective: []Factor{UserRequest}, MinApprovals: 1, StepUp: true}}
	for policy, want := range map[string]Status{"": Pending, "0": Pending, "1": Approved} {
		v := yes("alice", AllowOnce)
		v.Voter.UserID = "1"
		if policy != "" {
			v.Signature = &assertion.Signature{PolicyHash: policy}
		}
		a.Votes = []Vote{v}
		require.Equal(t, want, a.tally(directoryOfTwo()).Outcome, policy)
	}
	a.Votes = []Vote{no("alice")}
	a.Votes[0].Voter = &Voter{Person: "alice", Channel: "telegram", UserID: "1"}
	require.Equal(t, Denied, a.tally(directoryOfTwo()).Outcome, "a deny needs none")
}

// No grant of any kind stands for a signature.
func TestNoGrantCoversASignedYes(t *testing.T) {
	t.Parallel()
	a := Approval{Fingerprint: "f", SessionKey: "s", Subject: "exec git push", Offers: []Decision{AllowSession, AllowAlways}}
	r := GrantScope{Program: "exec git push", Words: []string{"git", "push"}}
	for _, g := range []Grant{
		{Kind: SessionGrant, SessionKey: "s", Subject: "exec git push"}, {Kind: AlwaysGrant, Fingerprint: "f"},
		{Kind: PatternGrant, Subject: "exec git push", Pattern: []string{"git", "push"}},
	} {
		for _, signed := range []bool{false, true} {
			a.Rule.StepUp, g.Rule.StepUp = signed, signed
			require.Equal(t, !signed, g.covers(a, r, directoryOfTwo(), 1), g.Kind)
		}
	}
}

// The verifier's person signs on a page as the person of the listed account, without
// being an approver; nobody else does.
func TestVerifiersPeopleOnThePages(t *testing.T) {
	t.Parallel()
	d, err := NewDirectory(Rights{
		People: []Person{{Name: "carol", Accounts: map[string]string{"telegram": "3"}},
			{Name: "dave", Accounts: map[string]string{"telegram": "4"}}},
		AllowedUsers: map[string][]string{"telegram": {}}, Verifiers: map[string][]string{"": {"telegram:3"}},
	})
	require.NoError(t, err)
	n := &VerifierNeed{Accounts: []string{"telegram:3"}}
	for who, want := range map[string]bool{"carol": true, "dave": false, "mallory": false, "": false} {
		v := d.Identify(Voter{Channel: WebChannel, UserID: who})
		require.Equal(t, want, d.verifies(n, "", v), who)
		require.False(t, d.MayDecide(v), who)
	}
}
