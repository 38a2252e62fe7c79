package core

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// stubPolicy answers every call alike.
type stubPolicy struct {
	hash string
	j    approval.Judgement
}

func (p stubPolicy) Judge(context.Context, approval.Call) approval.Judgement { return p.j }

func (p stubPolicy) JudgeWith(context.Context, approval.Call, approval.Opinion) approval.Judgement {
	return p.j
}

func (p stubPolicy) Permits(approval.Call) (string, bool) { return "", true }

func (p stubPolicy) Hash() string { return p.hash }

// stubRouter sends every card to the same places.
type stubRouter Routes

func (r stubRouter) Route(approval.Approval) Routes { return Routes(r) }

func (r stubRouter) Names(approval.Target) bool { return true }

// asking is a judgement that so many people must say yes.
func asking(quorum int, class approval.RiskClass) approval.Judgement {
	return approval.Judgement{
		Outcome: approval.OutcomeAsk, Assessment: approval.Assessment{RiskClass: class}, Offers: []approval.Decision{
			approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny,
		},
		Rule: approval.Rule{
			Allowed: []approval.Factor{approval.UserRequest}, Effective: []approval.Factor{approval.UserRequest}, MinApprovals: quorum,
			RequiresHuman: true,
		},
	}
}

// Other rules only tighten what is pending.
func TestOtherRulesOnlyTighten(t *testing.T) {
	fewerOffers := asking(1, approval.R1)
	fewerOffers.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
	withRole := asking(1, approval.R1)
	withRole.Rule.Needs = []approval.Need{{Role: "ops", Min: 1}}
	nobody := asking(1, approval.R1)
	nobody.Rule.Effective = nil
	onMiss := asking(1, approval.R1)
	onMiss.OnMiss = "not on the list"
	for name, c := range map[string]struct {
		j      approval.Judgement
		want   approval.Status
		votes  int // of the one that was given
		quorum int
		class  approval.RiskClass
	}{
		"the same rule keeps the votes": {j: asking(1, approval.R1), want: approval.Pending, votes: 1, quorum: 1, class: approval.R1},
		"an allow allows nothing by itself": {
			j: approval.Judgement{Outcome: approval.OutcomeAllow}, want: approval.Pending, votes: 1, quorum: 1, class: approval.R1,
		},
		"a deny ends it": {
			j: approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "no"}, want: approval.Denied, votes: 1, quorum: 1, class: approval.R1,
		},
		"what is neither ends it":                 {j: approval.Judgement{}, want: approval.Denied, votes: 1, quorum: 1, class: approval.R1},
		"what is not to be asked ends it":         {j: onMiss, want: approval.Denied, votes: 1, quorum: 1, class: approval.R1},
		"a larger quorum voids the votes":         {j: asking(2, approval.R1), want: approval.Pending, quorum: 2, class: approval.R1},
		"a smaller one changes nothing":           {j: asking(0, approval.R1), want: approval.Pending, votes: 1, quorum: 1, class: approval.R1},
		"a higher class voids the votes":          {j: asking(1, approval.R3), want: approval.Pending, quorum: 1, class: approval.R3},
		"a lower one changes nothing":             {j: asking(1, approval.R0), want: approval.Pending, votes: 1, quorum: 1, class: approval.R1},
		"fewer offers void the votes":             {j: fewerOffers, want: approval.Pending, quorum: 1, class: approval.R1},
		"a role that nobody has cannot be met":    {j: withRole, want: approval.Denied, quorum: 1, class: approval.R1},
		"where nobody may decide it is denied":    {j: nobody, want: approval.Denied, quorum: 1, class: approval.R1},
		"a quorum that nobody can meet is denied": {j: asking(9, approval.R1), want: approval.Denied, quorum: 9, class: approval.R1},
	} {
		t.Run(name, func(t *testing.T) {
			rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}, Router: stubRouter{}}
			a := needing(1, nil)
			a.PolicyHash, a.Assessment.RiskClass, a.Votes = "old", approval.R1, []approval.Vote{yes("nobody", approval.AllowOnce)}
			got := judgedAgain(a, &c.j, rules, 500)
			require.Equal(t, c.want, got.Approval.Status)
			require.Len(t, got.Approval.Votes, c.votes)
			require.Equal(t, c.quorum, got.Approval.Rule.MinApprovals)
			require.Equal(t, c.class, got.Approval.Assessment.RiskClass)
			require.Equal(t, "new", got.Approval.PolicyHash)
			require.Contains(t, eventTypes(got), approval.EventRejudged)
			require.Equal(t, "old", a.PolicyHash)
		})
	}
	a := needing(1, nil)
	require.True(t, judgedAgain(a, nil, &Rules{}, 500).Unchanged, "the same rules say nothing new")
}

// Where the clamp is on, a larger quorum than there are people is what there are.
func TestClampLowersAQuorumToThePeopleThereAre(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}, Router: stubRouter{}, Clamp: true}
	j := asking(9, approval.R1)
	got := judgedAgain(needing(1, nil), &j, rules, 500).Approval
	require.Equal(t, approval.Pending, got.Status)
	require.Equal(t, 3, got.Rule.MinApprovals, "alice, dan and vera's token")
}

// Approvers who must say yes from now on get cards.
func TestApproversWhoMustSayYesNowGetCards(t *testing.T) {
	ops := approval.Target{Channel: "telegram", To: "-1"}
	rules := &Rules{
		People: twoLists(t), Policy: stubPolicy{hash: "new"},
		Router: stubRouter{Targets: []approval.Target{ops}, FallbackAfterMs: 50},
	}
	j := asking(1, approval.R1)
	got := judgedAgain(needing(1, verifierNeed("policy")), &j, rules, 500)
	require.True(t, got.Approval.Rule.AsksApprovers())
	require.Equal(t, ops, got.Deliveries[0].Target)
	require.Equal(t, int64(550), got.Approval.FallbackAtMs)
}

// A vote that comes with a new judgement is judged by it first.
func TestAVoteIsCountedByTheRulesOfToday(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}, Router: stubRouter{}}
	ballot := Ballot{Voter: on("telegram", "1"), Decision: approval.AllowOnce}
	deny := approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "no"}
	got := vote(needing(1, nil), ballot, nil, &deny, rules, 500)
	require.Equal(t, approval.Denied, got.Approval.Status)
	require.Equal(t, approval.CodeAlreadyResolved, got.Refusal.Code)
	require.Equal(t, []approval.EventType{approval.EventRejudged, approval.EventResolved}, eventTypes(got))

	two := asking(2, approval.R1)
	got = vote(needing(1, nil), ballot, nil, &two, rules, 500)
	require.Equal(t, approval.Pending, got.Approval.Status)
	require.Equal(t, []approval.EventType{approval.EventRejudged, approval.EventVote}, eventTypes(got))
}

// What ran without a person may be handed out where it would run so today, too.
func TestWhatNobodyDecidedHoldsWhereItWouldRunToday(t *testing.T) {
	rules := &Rules{People: twoLists(t), Policy: stubPolicy{hash: "new"}}
	a, call := readCall(t)
	unasked := asking(1, approval.R1)
	unasked.Unreached = approval.OutcomeAllow
	for name, c := range map[string]struct {
		j         approval.Judgement
		unreached bool
		want      bool
	}{
		"policy allows it":                       {j: approval.Judgement{Outcome: approval.OutcomeAllow}, want: true},
		"policy asks":                            {j: asking(1, approval.R1)},
		"policy denies":                          {j: approval.Judgement{Outcome: approval.OutcomeDeny}},
		"nobody could be asked, then as now":     {j: unasked, unreached: true, want: true},
		"nobody could be asked, but now it asks": {j: asking(1, approval.R1), unreached: true},
	} {
		a.Unreached = c.unreached
		require.Equal(t, c.want, settledToday(a, call, c.j, Existing{}, rules, 500), name)
	}
}
