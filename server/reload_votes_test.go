package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// verifying has vera (777) agree for the verifier, beside those accounts of Telegram
// that may decide by themselves.
func (d *desk) verifying(may ...string) {
	d.t.Helper()
	people, err := core.NewDirectory(core.Rights{
		People: []core.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "111"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "333"}},
			{Name: "vera", Accounts: map[string]string{"telegram": "777"}},
		},
		AllowedUsers: map[string][]string{"telegram": may},
		Verifiers:    map[string][]string{"": {"telegram:777"}},
	})
	require.NoError(d.t, err)
	place, err := core.ParseTarget("telegram:-1009")
	require.NoError(d.t, err)
	rules := d.rules
	rules.People = people
	rules.Verifier = &outside{people: &core.VerifierPeople{Place: place, Accounts: []string{"telegram:777"}}}
	d.gate.Use(rules)
}

// allows has an account of Telegram allow an approval once.
func (d *desk) allows(key, user string) core.Approval {
	d.t.Helper()
	a, err := d.gate.Vote(d.t.Context(), key,
		core.Ballot{Voter: core.Voter{Channel: "telegram", UserID: user}, Decision: core.AllowOnce, ReceivedMs: 1})
	require.NoError(d.t, err)
	return a
}

// What an approver voted before a reload neither stands for the approvers' need when
// the vote has lost its authority, nor is it lost.
func TestAReloadDoesNotSpareApproversForAVote(t *testing.T) {
	for name, once := range map[string]bool{"all scopes": false, "once": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.judge.change("ask", func(j *core.Judgement) {
				if once {
					j.Offers = []core.Decision{core.AllowOnce, core.Deny}
				}
			})
			d.verifying("111", "333")
			stays, gone := d.ask("ask", `{"n":1}`), d.ask("ask", `{"n":2}`)
			d.allows(stays.ID, "333")
			d.allows(gone.ID, "333")
			d.judge.rename("other rules")
			require.NoError(t, d.gate.Rejudge(t.Context()))

			a := d.allows(stays.ID, "777")
			require.Equal(t, core.Approved, a.Status)
			require.Equal(t, []string{"person:bob", "person:vera"}, a.DecidedBy)

			d.verifying("111") // bob is no approver any more
			a = d.allows(gone.ID, "777")
			require.Equal(t, core.Pending, a.Status, "the verifier's people stand for no approver")
			require.Equal(t, core.Approved, d.allows(gone.ID, "111").Status)
		})
	}
}
