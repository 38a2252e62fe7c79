package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// The desk of these tests: alice and dan are approvers, carl's account (3) may decide
// and belongs to nobody, vera (7) and an account of nobody (8) are the verifier's
// alone, and alice (1) is in both lists. Alice may decide on Discord too; vera has an
// account there that may not.
func twoLists(t testing.TB) *people.Directory {
	t.Helper()
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1", "discord": "11"}},
			{Name: "dan", Accounts: map[string]string{"telegram": "2"}},
			{Name: "vera", Accounts: map[string]string{"telegram": "7", "discord": "77"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2", "3"}, "discord": {"11"}},
		Tokens:       map[string]string{"vera-laptop": "vera"},
		Verifiers:    map[string][]string{"": {"telegram:1", "telegram:7", "telegram:8"}, "narrow": {"telegram:8"}},
	})
	require.NoError(t, err)
	return d
}

func verifierNeed(instead string) *approval.VerifierNeed {
	return &approval.VerifierNeed{
		Accounts: []string{"telegram:1", "telegram:7", "telegram:8"},
		Chats:    []approval.Target{{Channel: "telegram", To: "-7"}}, Instead: instead,
	}
}

func needing(quorum int, need *approval.VerifierNeed) approval.Approval {
	return approval.Approval{
		Ended:  approval.Ended{Status: approval.Pending},
		Asked:  approval.Asked{ExpiresAtMs: 1000},
		Judged: approval.Judged{Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny}, Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: quorum, RequiresHuman: true, Verifier: need}},
	}
}

func on(channel, id string) approval.Voter { return approval.Voter{Channel: channel, UserID: id} }

// Each voter's yes counts toward the needs that the voter is entitled to, and no others.
func TestWhatAYesCountsToward(t *testing.T) {
	d := twoLists(t)
	for name, c := range map[string]struct {
		voter    approval.Voter
		quorum   int
		instead  string
		agent    string
		approver bool
		verifier bool
		deny     bool
	}{
		"an approver":                   {voter: on("telegram", "2"), approver: true, deny: true},
		"the verifier's own":            {voter: on("telegram", "7"), verifier: true, deny: true},
		"the verifier's own, of nobody": {voter: on("telegram", "8"), verifier: true, deny: true},
		"who is in both lists": {
			voter: on("telegram", "1"), approver: true, verifier: true, deny: true,
		},
		"and where they are an approver": {
			voter: on("discord", "11"), approver: true, verifier: true, deny: true,
		},
		"not where they are none": {voter: on("discord", "77")},
		"a token of one of them": {
			voter: on("api", "vera-laptop"), approver: true, verifier: true, deny: true,
		},
		"a stranger":                         {voter: on("telegram", "9")},
		"an account of nobody, alone":        {voter: on("telegram", "3"), approver: true, deny: true},
		"an account of nobody, in a quorum":  {voter: on("telegram", "3"), quorum: 2, deny: true},
		"the verifier's own, in a quorum":    {voter: on("telegram", "8"), quorum: 2, verifier: true, deny: true},
		"an approver where policy allows it": {voter: on("telegram", "2"), instead: "policy", deny: true},
		"both lists where policy allows it": {
			voter: on("telegram", "1"), instead: "policy", verifier: true, deny: true,
		},
		"whom the agent's verifier does not ask": {voter: on("telegram", "7"), agent: "narrow"},
	} {
		a := needing(max(1, c.quorum), verifierNeed(c.instead))
		a.AgentID = c.agent
		require.Equal(
			t, people.Weight{Deny: c.deny, Approvers: c.approver, Verifier: c.verifier}, people.WeightOf(a, d.Identify(c.voter), d),
			name,
		)
	}
}

// The verifier's people fill neither a quorum nor the need for a human, and leave no
// scope; approvers do not stand for the verifier.
func TestEachNeedIsMetByItself(t *testing.T) {
	d := twoLists(t)
	give := func(a approval.Approval, v approval.Voter, what approval.Decision) (approval.Approval, *approval.Error) {
		c := count(a, Ballot{Voter: v, Decision: what, ReceivedMs: 1}, d, 1)
		return c.Approval, c.Refusal
	}
	a := needing(2, verifierNeed(""))
	_, refusal := give(a, on("telegram", "7"), approval.AllowSession)
	require.Equal(t, approval.CodeDecisionNotOffered, refusal.Code, "a scope is not the verifier's to give")

	a, _ = give(a, on("telegram", "7"), approval.AllowOnce)
	require.True(t, a.Votes[0].VerifierOnly)
	a, _ = give(a, on("telegram", "8"), approval.AllowOnce)
	require.Equal(t, "approvers: 0 of 2 yes; verifier's people: 2 of 1 yes (vera, telegram user 8)", people.TallyText(a, d))
	a, _ = give(a, on("telegram", "2"), approval.AllowAlways)
	require.Equal(t, approval.Pending, a.Status)
	require.Equal(t, "approvers: 1 of 2 yes (dan); verifier's people: 2 of 1 yes (vera, telegram user 8)", people.TallyText(a, d))
	a, _ = give(a, on("discord", "11"), approval.AllowSession)
	require.Equal(t, approval.Approved, a.Status)
	require.Equal(t, approval.AllowSession, a.Decision, "the narrowest that approvers voted; the verifier's once is no scope")
	require.Equal(t, []string{"person:dan", "person:alice", "person:vera", "telegram:8"}, a.DecidedBy)

	b := needing(1, verifierNeed(""))
	b, _ = give(b, on("telegram", "2"), approval.AllowOnce)
	require.Equal(t, approval.Pending, b.Status)
	require.Equal(t, "approvers: 1 of 1 yes (dan); verifier's people: 0 of 1 yes", people.TallyText(b, d))
	b, _ = give(b, on("telegram", "8"), approval.AllowOnce)
	require.Equal(t, approval.Approved, b.Status)

	both := needing(1, verifierNeed(""))
	both, _ = give(both, on("telegram", "1"), approval.AllowOnce)
	require.Equal(t, approval.Approved, both.Status, "an approver who is in both lists counts for both")

	only := needing(1, verifierNeed("policy"))
	_, refusal = give(only, on("telegram", "2"), approval.AllowOnce)
	require.Equal(t, approval.CodeNotAnApprover, refusal.Code)
	denied, refusal := give(only, on("telegram", "2"), approval.Deny)
	require.Nil(t, refusal)
	require.Equal(t, approval.Denied, denied.Status, "any approver may say no")
	only, _ = give(only, on("telegram", "7"), approval.AllowOnce)
	require.Equal(t, approval.Approved, only.Status)
	require.Equal(t, []string{"person:vera"}, only.DecidedBy)
}

// Whoever was taken from the verifier's list has no say any more, as with approvers.
func TestTheVerifiersPeopleAreThoseOfToday(t *testing.T) {
	d := twoLists(t)
	a := needing(1, verifierNeed(""))
	a = count(a, Ballot{Voter: on("telegram", "7"), Decision: approval.AllowOnce, ReceivedMs: 1}, d, 1).Approval
	require.NotEmpty(t, people.TallyOf(a, d).Verifier)
	d.Verifiers = map[string][]string{"": {"telegram:8"}}
	require.Empty(t, people.TallyOf(a, d).Verifier)
	require.Empty(t, people.Standing(a, d))
	require.Equal(t, approval.CodeNotAnApprover, admits(a, d.Identify(on("telegram", "7")), Ballot{Decision: approval.Deny}, d).Code)
	require.Empty(t, people.QuorumImpossible(a, d))
	d.Verifiers = nil
	require.Contains(t, people.QuorumImpossible(a, d), "one of the verifier's people")
}

// Whatever is voted, nothing is allowed unless each need is met by those who are
// entitled to it.
func TestTheNeedsNeverMix(t *testing.T) {
	d := twoLists(t)
	voters := []approval.Voter{
		on("telegram", "1"), on("discord", "11"), on("telegram", "2"), on("telegram", "3"), on("telegram", "7"),
		on("telegram", "8"), on("telegram", "9"), on("discord", "77"), on("api", "vera-laptop"),
	}
	rapid.Check(t, func(t *rapid.T) {
		a := needing(
			rapid.IntRange(1, 3).Draw(t, "quorum"),
			rapid.SampledFrom([]*approval.VerifierNeed{nil, verifierNeed(""), verifierNeed("policy")}).Draw(t, "need"),
		)
		for range rapid.IntRange(0, 8).Draw(t, "votes") {
			b := Ballot{Voter: rapid.SampledFrom(voters).Draw(t, "who"), ReceivedMs: 1,
				Decision: rapid.SampledFrom([]approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways}).Draw(t, "what")}
			a = count(a, b, d, 1).Approval
		}
		approvers, verifiers := map[string]bool{}, false
		for _, v := range a.Votes {
			who := v.Voter.Person
			mayDecide := d.MayDecide(*v.Voter)
			if mayDecide && (who != "" || a.Rule.MinApprovals == 1) {
				approvers[v.Voter.Name()] = true
			}
			verifiers = verifiers || slices.Contains(
				[]string{"1", "7", "8"}, v.Voter.UserID,
			) || who == "alice" || who == "vera"
		}
		met := len(approvers) >= a.Rule.MinApprovals
		switch need := a.Rule.Verifier; {
		case need == nil:
		case need.Instead != "":
			met = verifiers
		default:
			met = met && verifiers
		}
		if met != (a.Status == approval.Approved) {
			t.Fatalf("%s with %v", a.Status, a.Votes)
		}
	})
}

// A person's yes that fills both needs is not made less by another one of theirs, from
// an account that only the verifier lists.
func TestAYesForTheVerifierTakesNothingAway(t *testing.T) {
	d := twoLists(t)
	d.Users = map[string][]string{"telegram": {"2"}, "discord": {"11"}}
	give := func(a approval.Approval, v approval.Voter, what approval.Decision) approval.Approval {
		return count(a, Ballot{Voter: v, Decision: what, ReceivedMs: 1}, d, 1).Approval
	}
	a := give(needing(2, verifierNeed("")), on("discord", "11"), approval.AllowOnce)
	a = give(a, on("telegram", "1"), approval.AllowOnce)
	require.Equal(t, "approvers: 1 of 2 yes (alice); verifier's people: 1 of 1 yes (alice)", people.TallyText(a, d))
	require.Equal(t, approval.Denied, give(a, on("telegram", "1"), approval.Deny).Status, "their no counts")

	b := give(needing(2, verifierNeed("")), on("telegram", "1"), approval.AllowOnce)
	require.Equal(t, "approvers: 0 of 2 yes; verifier's people: 1 of 1 yes (alice)", people.TallyText(b, d))
	b = give(b, on("discord", "11"), approval.AllowOnce)
	require.Equal(t, "approvers: 1 of 2 yes (alice); verifier's people: 1 of 1 yes (alice)", people.TallyText(b, d))
	require.Len(t, b.Votes, 1)
}

// Where a rule's own yes meets the approvers' need, only the verifier's people are asked.
func TestARulesYesSparesApproversAndNotTheVerifier(t *testing.T) {
	d := twoLists(t)
	a := needing(1, verifierNeed(""))
	a.Rule.Effective, a.Rule.RequiresHuman = []approval.Factor{approval.UserRequest, approval.RulesBased}, false
	a.Votes = []approval.Vote{machine(approval.RulesBased, approval.Approve)}
	require.Equal(t, approval.Pending, people.TallyOf(a, d).Outcome)
	a = people.WithoutNeedlessApprovers(a, d)
	require.False(t, a.Rule.AsksApprovers())
	require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, a.Offers)
	a = count(a, Ballot{Voter: on("telegram", "8"), Decision: approval.AllowOnce, ReceivedMs: 1}, d, 1).Approval
	require.Equal(t, approval.Approved, a.Status)
	require.Equal(t, []string{"rules_based", "telegram:8"}, a.DecidedBy)
}
