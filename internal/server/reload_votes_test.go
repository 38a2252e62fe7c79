package server

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// verifying has vera (777) agree for the verifier, beside those accounts of Telegram
// that may decide by themselves.
func (d *desk) verifying(may ...string) {
	d.t.Helper()
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "111"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "333"}},
			{Name: "vera", Accounts: map[string]string{"telegram": "777"}},
		},
		AllowedUsers: map[string][]string{"telegram": may},
		Verifiers:    map[string][]string{"": {"telegram:777"}},
	})
	require.NoError(d.t, err)
	place, err := approval.ParseTarget("telegram:-1009")
	require.NoError(d.t, err)
	rules := d.rules
	rules.People = people
	rules.Verifier = &outside{people: &approval.VerifierPeople{Place: place, Accounts: []string{"telegram:777"}}}
	d.gate.Use(rules)
}

// allows has an account of Telegram allow an approval once.
func (d *desk) allows(key, user string) approval.Approval {
	d.t.Helper()
	a, err := d.gate.Vote(d.t.Context(), key,
		core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: user}, Decision: approval.AllowOnce, ReceivedMs: 1})
	require.NoError(d.t, err)
	return a
}

// What an approver voted before a reload neither stands for the approvers' need when
// the vote has lost its authority, nor is it lost.
func TestAReloadDoesNotSpareApproversForAVote(t *testing.T) {
	for name, once := range map[string]bool{"all scopes": false, "once": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.judge.change("ask", func(j *approval.Judgement) {
				if once {
					j.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
				}
			})
			d.verifying("111", "333")
			stays, gone := d.ask("ask", `{"n":1}`), d.ask("ask", `{"n":2}`)
			d.allows(stays.ID, "333")
			d.allows(gone.ID, "333")
			d.judge.rename("other rules")
			require.NoError(t, d.gate.Upkeep().Rejudge(t.Context()))

			a := d.allows(stays.ID, "777")
			require.Equal(t, approval.Approved, a.Status)
			require.Equal(t, []string{"person:bob", "person:vera"}, a.DecidedBy)

			d.verifying("111") // bob is no approver any more
			a = d.allows(gone.ID, "777")
			require.Equal(t, approval.Pending, a.Status, "the verifier's people stand for no approver")
			require.Equal(t, approval.Approved, d.allows(gone.ID, "111").Status)
		})
	}
}

// lost has every card of an approval fail for good.
func (d *desk) lost(key string) {
	d.t.Helper()
	a, err := d.store.Get(d.t.Context(), key)
	require.NoError(d.t, err)
	for _, m := range a.Deliveries {
		require.NoError(d.t, d.store.Record(d.t.Context(), approval.Delivered{ID: m.ID, Key: key, State: approval.Failed, Revision: m.Revision, Error: "gone"}))
	}
}

func (d *desk) tick(key string) approval.Approval {
	d.t.Helper()
	require.NoError(d.t, d.gate.Tick(d.t.Context(), key))
	a, err := d.gate.ByKey(d.t.Context(), key)
	require.NoError(d.t, err)
	return a
}

func failsOpen(j *approval.Judgement) { j.Unreached = approval.OutcomeAllow }

// A desk that was started again with other rules judges a call by these before it runs
// because nobody could be asked.
func TestNothingFailsOpenByRulesOfBefore(t *testing.T) {
	for name, c := range map[string]struct {
		turn func(*desk)
		want approval.Status
	}{
		"which let it run, too": {func(d *desk) {}, approval.Approved},
		"which do not":          {func(d *desk) { d.judge.change("ask", nil) }, approval.Pending},
		"which deny it":         {func(d *desk) { d.judge.turn("ask") }, approval.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.judge.change("ask", failsOpen)
			a := d.ask("ask", `{}`)
			d.lost(a.ID)
			c.turn(d)
			d.judge.rename("other rules")
			require.Equal(t, c.want, d.tick(a.ID).Status)
		})
	}
}

// One yes of two is no quorum: what ran since nobody could be asked is judged anew at
// its claim.
func TestOneYesOfTwoDoesNotStandForTheQuorum(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.judge.change("pair", failsOpen)
	a := d.ask("pair", `{}`)
	_, err := d.alice.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	d.lost(a.ID)
	require.Equal(t, []string{"policy"}, d.tick(a.ID).DecidedBy)
	d.judge.change("pair", nil)
	d.judge.rename("other rules")
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.Equal(t, approval.WhyPolicy, refusal(t, err, approval.CodeNotClaimable).Why)
}
