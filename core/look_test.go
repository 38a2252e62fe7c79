package core

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever somebody does first with a card is the first look at it; nothing later is.
func TestTheFirstLook(t *testing.T) {
	rules := &Rules{People: twoLists(t)}
	first := func(a Approval, user string, d Decision) Change {
		return a.vote(Ballot{Voter: on("telegram", user), Decision: d}, nil, nil, rules, 500)
	}
	for name, c := range map[string]struct {
		user string
		say  Decision
		want Status
	}{
		"a yes":                  {"1", AllowOnce, Pending},
		"a no":                   {"1", Deny, Denied},
		"a stranger's":           {"9", AllowOnce, Pending},
		"the no of whoever asks": {"2", Deny, Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			a := needing(2, nil)
			a.Askers = []Requester{{Person: "dan"}}
			got := first(a, c.user, c.say)
			require.Equal(t, c.want, got.Approval.Status)
			require.False(t, got.Unchanged, "it is written with the ballot")
			require.EqualValues(t, 500, got.Approval.LookedAtMs)
		})
	}
	a := needing(2, nil)
	a.LookedAtMs = 100
	require.EqualValues(t, 100, first(a, "1", AllowOnce).Approval.LookedAtMs)
	again := first(a, "9", AllowOnce)
	require.True(t, again.Unchanged, "strangers who go on tapping write no approval")
	require.EqualValues(t, 100, again.Approval.LookedAtMs)
}

// A stranger's tap under other rules keeps what they say of the call.
func TestALookUnderOtherRules(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{}}
	fresh := &Judgement{Outcome: OutcomeAsk, Rule: needing(3, nil).Rule}
	got := needing(2, nil).vote(Ballot{Voter: on("telegram", "9"), Decision: AllowOnce}, nil, fresh, rules, 500)
	require.Equal(t, CodeNotAnApprover, got.Refusal.Code)
	require.Equal(t, 3, got.Approval.Rule.MinApprovals)
	require.True(t, got.Redraw)
	require.EqualValues(t, 500, got.Approval.LookedAtMs)
}

func TestWhoWasAsked(t *testing.T) {
	card := []Delivery{{Kind: CardDelivery, State: Queued}}
	person := []Vote{{Approver: UserRequest, Verdict: Approve}}
	for name, c := range map[string]struct {
		a    Approval
		want bool
	}{
		"pending":                         {Approval{Status: Pending}, true},
		"expired":                         {Approval{Status: Expired}, true},
		"policy allowed it":               {Approval{Status: Approved}, false},
		"policy denied it":                {Approval{Status: Denied}, false},
		"an owner was told how it ended":  {Approval{Status: Approved, Deliveries: []Delivery{{Kind: CallbackDelivery}}}, false},
		"a person decided":                {Approval{Status: Denied, Votes: person}, true},
		"cards went out, a grant allowed": {Approval{Status: Approved, Deliveries: card}, true},
	} {
		require.Equal(t, c.want, c.a.Asked(), name)
	}
}

func TestTheFirstCard(t *testing.T) {
	sent := func(kind DeliveryKind, ms int64) Delivery { return Delivery{Kind: kind, SentMs: ms} }
	require.Zero(t, Approval{Deliveries: []Delivery{sent(CardDelivery, 0), sent(OutcomeDelivery, 5)}}.FirstCardMs())
	a := Approval{Deliveries: []Delivery{sent(CardDelivery, 0), sent(CardDelivery, 9), sent(CardDelivery, 7), sent(ReasonDelivery, 5)}}
	require.EqualValues(t, 7, a.FirstCardMs())
}

// What counts for an objective of a minute, and what misses it.
func TestObjective(t *testing.T) {
	o := Objective{DecidedWithin: time.Minute, Share: 0.95}
	card := []Delivery{{Kind: CardDelivery}}
	for name, c := range map[string]struct {
		a              Approval
		counts, missed bool
	}{
		"decided in time":              {Approval{Status: Approved, ResolvedAtMs: 61_000}, true, false},
		"denied late":                  {Approval{Status: Denied, ResolvedAtMs: 61_001}, true, true},
		"expired, though after a time": {Approval{Status: Expired, ResolvedAtMs: 2_000}, true, true},
		"withdrawn soon":               {Approval{Status: Withdrawn, ResolvedAtMs: 61_000}, false, false},
		"withdrawn after long waiting": {Approval{Status: Withdrawn, ResolvedAtMs: 61_001}, true, true},
		"pending":                      {Approval{Status: Pending}, false, false},
		"a drill":                      {Approval{Status: Expired, ToolName: DrillTool}, false, false},
	} {
		c.a.CreatedAtMs, c.a.Deliveries = 1000, card
		counts, missed := o.Counts(c.a)
		require.Equal(t, [2]bool{c.counts, c.missed}, [2]bool{counts, missed}, name)
	}
	counts, _ := o.Counts(Approval{Status: Approved, ResolvedAtMs: 1})
	require.False(t, counts, "policy settled it")
	counts, _ = Objective{}.Counts(Approval{Status: Expired})
	require.False(t, counts, "there is no objective")
}
