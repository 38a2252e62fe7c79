package core

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// stubPolicy answers every call alike.
type stubPolicy struct {
	hash string
	j    Judgement
}

func (p stubPolicy) Judge(context.Context, Call) Judgement              { return p.j }
func (p stubPolicy) JudgeWith(context.Context, Call, Opinion) Judgement { return p.j }
func (p stubPolicy) Permits(Call) (string, bool)                        { return "", true }
func (p stubPolicy) Hash() string                                       { return p.hash }

// stubRouter sends every card to the same places.
type stubRouter Routes

func (r stubRouter) Route(Approval) Routes { return Routes(r) }
func (r stubRouter) Names(Target) bool     { return true }

// asking is a judgement that so many people must say yes.
func asking(quorum int, class RiskClass) Judgement {
	return Judgement{
		Outcome: OutcomeAsk, Assessment: Assessment{RiskClass: class}, Offers: []Decision{
			AllowOnce, AllowSession, AllowAlways, Deny,
		},
		Rule: Rule{
			Allowed: []Factor{UserRequest}, Effective: []Factor{UserRequest}, MinApprovals: quorum,
			RequiresHuman: true,
		},
	}
}

// Other rules only tighten what is pending.
func TestOtherRulesOnlyTighten(t *testing.T) {
	fewerOffers := asking(1, R1)
	fewerOffers.Offers = []Decision{AllowOnce, Deny}
	withRole := asking(1, R1)
	withRole.Rule.Needs = []Need{{Role: "ops", Min: 1}}
	nobody := asking(1, R1)
	nobody.Rule.Effective = nil
	onMiss := asking(1, R1)
	onMiss.OnMiss = "not on the list"
	for name, c := range map[string]struct {
		j      Judgement
		want   Status
		votes  int // of the one that was given
		quorum int
		class  RiskClass
	}{
		"the same rule keeps the votes": {j: asking(1, R1), want: Pending, votes: 1, quorum: 1, class: R1},
		"an allow allows nothing by itself": {
			j: Judgement{Outcome: OutcomeAllow}, want: Pending, votes: 1, quorum: 1, class: R1,
		},
		"a deny ends it": {
			j: Judgement{Outcome: OutcomeDeny, Reason: "no"}, want: Denied, votes: 1, quorum: 1, class: R1,
		},
		"what is neither ends it":                 {j: Judgement{}, want: Denied, votes: 1, quorum: 1, class: R1},
		"what is not to be asked ends it":         {j: onMiss, want: Denied, votes: 1, quorum: 1, class: R1},
		"a larger quorum voids the votes":         {j: asking(2, R1), want: Pending, quorum: 2, class: R1},
		"a smaller one changes nothing":           {j: asking(0, R1), want: Pending, votes: 1, quorum: 1, class: R1},
		"a higher class voids the votes":          {j: asking(1, R3), want: Pending, quorum: 1, class: R3},
		"a lower one changes nothing":             {j: asking(1, R0), want: Pending, votes: 1, quorum: 1, class: R1},
		"fewer offers void the votes":             {j: fewerOffers, want: Pending, quorum: 1, class: R1},
		"a role that nobody has cannot be met":    {j: withRole, want: Denied, quorum: 1, class: R1},
		"where nobody may decide it is denied":    {j: nobody, want: Denied, quorum: 1, class: R1},
		"a quorum that nobody can meet is denied": {j: asking(9, R1), want: Denied, quorum: 9, class: R1},
	} {
		t.Run(name, func(t *testing.T) {
			rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}, Router: stubRouter{}}
			a := needing(1, nil)
			a.PolicyHash, a.Assessment.RiskClass, a.Votes = "old", R1, []Vote{yes("nobody", AllowOnce)}
			got := a.judgedAgain(&c.j, rules, 500)
			require.Equal(t, c.want, got.Approval.Status)
			require.Len(t, got.Approval.Votes, c.votes)
			require.Equal(t, c.quorum, got.Approval.Rule.MinApprovals)
			require.Equal(t, c.class, got.Approval.Assessment.RiskClass)
			require.Equal(t, "new", got.Approval.PolicyHash)
			require.Contains(t, eventTypes(got), EventRejudged)
			require.Equal(t, "old", a.PolicyHash)
		})
	}
	a := needing(1, nil)
	require.True(t, a.judgedAgain(nil, &Rules{}, 500).Unchanged, "the same rules say nothing new")
}

// Where the clamp is on, a larger quorum than there are people is what there are.
func TestClampLowersAQuorumToThePeopleThereAre(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}, Router: stubRouter{}, Clamp: true}
	j := asking(9, R1)
	got := needing(1, nil).judgedAgain(&j, rules, 500).Approval
	require.Equal(t, Pending, got.Status)
	require.Equal(t, 3, got.Rule.MinApprovals, "alice, dan and vera's token")
}

// Approvers who must say yes from now on get cards.
func TestApproversWhoMustSayYesNowGetCards(t *testing.T) {
	ops := Target{Channel: "telegram", To: "-1"}
	rules := &Rules{
		People: twoLists(t), Policy: stubPolicy{hash: "new"},
		Router: stubRouter{Targets: []Target{ops}, FallbackAfterMs: 50},
	}
	j := asking(1, R1)
	got := needing(1, verifierNeed("policy")).judgedAgain(&j, rules, 500)
	require.True(t, got.Approval.Rule.AsksApprovers())
	require.Equal(t, ops, got.Deliveries[0].Target)
	require.Equal(t, int64(550), got.Approval.FallbackAtMs)
}

// A vote that comes with a new judgement is judged by it first.
func TestAVoteIsCountedByTheRulesOfToday(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}, Router: stubRouter{}}
	ballot := Ballot{Voter: on("telegram", "1"), Decision: AllowOnce}
	deny := Judgement{Outcome: OutcomeDeny, Reason: "no"}
	got := needing(1, nil).vote(ballot, nil, &deny, rules, 500)
	require.Equal(t, Denied, got.Approval.Status)
	require.Equal(t, CodeAlreadyResolved, got.Refusal.Code)
	require.Equal(t, []EventType{EventRejudged, EventResolved}, eventTypes(got))

	two := asking(2, R1)
	got = needing(1, nil).vote(ballot, nil, &two, rules, 500)
	require.Equal(t, Pending, got.Approval.Status)
	require.Equal(t, []EventType{EventRejudged, EventVote}, eventTypes(got))
}

// What ran without a person may be handed out where it would run so today, too.
func TestWhatNobodyDecidedHoldsWhereItWouldRunToday(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}}
	a, call := readCall(t)
	unasked := asking(1, R1)
	unasked.Unreached = OutcomeAllow
	for name, c := range map[string]struct {
		j         Judgement
		unreached bool
		want      bool
	}{
		"policy allows it":                       {j: Judgement{Outcome: OutcomeAllow}, want: true},
		"policy asks":                            {j: asking(1, R1)},
		"policy denies":                          {j: Judgement{Outcome: OutcomeDeny}},
		"nobody could be asked, then as now":     {j: unasked, unreached: true, want: true},
		"nobody could be asked, but now it asks": {j: asking(1, R1), unreached: true},
	} {
		a.Unreached = c.unreached
		require.Equal(t, c.want, a.settledToday(call, c.j, Existing{}, rules, 500), name)
	}
}
