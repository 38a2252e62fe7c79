package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// Whatever somebody does first with a card is the first look at it; nothing later is.
func TestTheFirstLook(t *testing.T) {
	rules := &Rules{People: twoLists(t)}
	first := func(a approval.Approval, user string, d approval.Decision) Change {
		return vote(a, Ballot{Voter: on("telegram", user), Decision: d}, nil, nil, rules, 500)
	}
	for name, c := range map[string]struct {
		user string
		say  approval.Decision
		want approval.Status
	}{
		"a yes":                  {"1", approval.AllowOnce, approval.Pending},
		"a no":                   {"1", approval.Deny, approval.Denied},
		"a stranger's":           {"9", approval.AllowOnce, approval.Pending},
		"the no of whoever asks": {"2", approval.Deny, approval.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			a := needing(2, nil)
			a.Askers = []approval.Requester{{Person: "dan"}}
			got := first(a, c.user, c.say)
			require.Equal(t, c.want, got.Approval.Status)
			require.False(t, got.Unchanged, "it is written with the ballot")
			require.EqualValues(t, 500, got.Approval.LookedAtMs)
		})
	}
	a := needing(2, nil)
	a.LookedAtMs = 100
	require.EqualValues(t, 100, first(a, "1", approval.AllowOnce).Approval.LookedAtMs)
	again := first(a, "9", approval.AllowOnce)
	require.True(t, again.Unchanged, "strangers who go on tapping write no approval")
	require.EqualValues(t, 100, again.Approval.LookedAtMs)
}

// A stranger's tap under other rules keeps what they say of the call.
func TestALookUnderOtherRules(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{}}
	fresh := &approval.Judgement{Outcome: approval.OutcomeAsk, Rule: needing(3, nil).Rule}
	got := vote(needing(2, nil), Ballot{Voter: on("telegram", "9"), Decision: approval.AllowOnce}, nil, fresh, rules, 500)
	require.Equal(t, approval.CodeNotAnApprover, got.Refusal.Code)
	require.Equal(t, 3, got.Approval.Rule.MinApprovals)
	require.True(t, got.Redraw)
	require.EqualValues(t, 500, got.Approval.LookedAtMs)
}

func TestWhoWasAsked(t *testing.T) {
	card := []approval.Delivery{{Kind: approval.CardDelivery, State: approval.Queued}}
	person := []approval.Vote{{Approver: approval.UserRequest, Verdict: approval.Approve}}
	for name, c := range map[string]struct {
		a    approval.Approval
		want bool
	}{
		"pending":           {approval.Approval{Ended: approval.Ended{Status: approval.Pending}}, true},
		"expired":           {approval.Approval{Ended: approval.Ended{Status: approval.Expired}}, true},
		"policy allowed it": {approval.Approval{Ended: approval.Ended{Status: approval.Approved}}, false},
		"policy denied it":  {approval.Approval{Ended: approval.Ended{Status: approval.Denied}}, false},
		"an owner was told how it ended": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Approved},
			Contact: approval.Contact{Deliveries: []approval.Delivery{{Kind: approval.CallbackDelivery}}},
		}, false},
		"a person decided": {approval.Approval{Ended: approval.Ended{Status: approval.Denied}, Voted: approval.Voted{Votes: person}}, true},
		"cards went out, a grant allowed": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Approved},
			Contact: approval.Contact{Deliveries: card},
		}, true},
	} {
		require.Equal(t, c.want, Asked(c.a), name)
	}
}

func TestTheFirstCard(t *testing.T) {
	sent := func(kind approval.DeliveryKind, ms int64) approval.Delivery {
		return approval.Delivery{Kind: kind, SentMs: ms}
	}
	require.Zero(t, FirstCardMs(approval.Approval{Contact: approval.Contact{Deliveries: []approval.Delivery{sent(approval.CardDelivery, 0), sent(approval.OutcomeDelivery, 5)}}}))
	a := approval.Approval{Contact: approval.Contact{Deliveries: []approval.Delivery{sent(approval.CardDelivery, 0), sent(approval.CardDelivery, 9), sent(approval.CardDelivery, 7), sent(approval.ReasonDelivery, 5)}}}
	require.EqualValues(t, 7, FirstCardMs(a))
}

// What counts for an objective of a minute, and what misses it.
func TestObjective(t *testing.T) {
	o := Objective{DecidedWithin: time.Minute, Share: 0.95}
	card := []approval.Delivery{{Kind: approval.CardDelivery}}
	for name, c := range map[string]struct {
		a              approval.Approval
		counts, missed bool
	}{
		"decided in time":              {approval.Approval{Ended: approval.Ended{Status: approval.Approved, ResolvedAtMs: 61_000}}, true, false},
		"denied late":                  {approval.Approval{Ended: approval.Ended{Status: approval.Denied, ResolvedAtMs: 61_001}}, true, true},
		"expired, though after a time": {approval.Approval{Ended: approval.Ended{Status: approval.Expired, ResolvedAtMs: 2_000}}, true, true},
		"withdrawn soon":               {approval.Approval{Ended: approval.Ended{Status: approval.Withdrawn, ResolvedAtMs: 61_000}}, false, false},
		"withdrawn after long waiting": {approval.Approval{Ended: approval.Ended{Status: approval.Withdrawn, ResolvedAtMs: 61_001}}, true, true},
		"pending":                      {approval.Approval{Ended: approval.Ended{Status: approval.Pending}}, false, false},
		"a drill": {approval.Approval{
			Ended: approval.Ended{Status: approval.Expired},
			Asked: approval.Asked{ToolName: approval.DrillTool},
		}, false, false},
	} {
		c.a.CreatedAtMs, c.a.Deliveries = 1000, card
		counts, missed := o.Counts(c.a)
		require.Equal(t, [2]bool{c.counts, c.missed}, [2]bool{counts, missed}, name)
	}
	counts, _ := o.Counts(approval.Approval{Ended: approval.Ended{Status: approval.Approved, ResolvedAtMs: 1}})
	require.False(t, counts, "policy settled it")
	counts, _ = Objective{}.Counts(approval.Approval{Ended: approval.Ended{Status: approval.Expired}})
	require.False(t, counts, "there is no objective")
}
