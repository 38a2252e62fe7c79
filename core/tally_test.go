package core

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func yes(who string, d Decision) Vote {
	return Vote{
		Approver: UserRequest, Verdict: Approve, Decision: d,
		Voter: &Voter{Person: who, Channel: "telegram", UserID: who},
	}
}

func no(who string) Vote {
	return Vote{Approver: UserRequest, Verdict: Reject, Decision: Deny, Voter: &Voter{Person: who}, Reason: "not today"}
}

func unmapped(id string) Vote {
	return Vote{
		Approver: UserRequest, Verdict: Approve, Decision: AllowOnce, Voter: &Voter{Channel: "telegram", UserID: id},
	}
}

func machine(f Factor, v Verdict) Vote { return Vote{Approver: f, Verdict: v} }

func TestTally(t *testing.T) {
	people := []Factor{UserRequest}
	all := []Factor{UserRequest, RulesBased, LLMEvaluation}
	tests := []struct {
		name     string
		factors  []Factor
		quorum   int
		human    bool
		votes    []Vote
		want     Status
		decision Decision
	}{
		{"no vote is no answer", people, 1, true, nil, Pending, ""},
		{"one person is enough for one", people, 1, true, []Vote{yes("alice", AllowOnce)}, Approved, AllowOnce},
		{"a quorum of zero still needs somebody", people, 0, false, nil, Pending, ""},
		{"one of two is not two", people, 2, true, []Vote{yes("alice", AllowOnce)}, Pending, ""},
		{
			"two people are two", people, 2, true, []Vote{yes("alice", AllowOnce), yes("bob", AllowOnce)}, Approved,
			AllowOnce,
		},
		{
			"one person twice is one", people, 2, true, []Vote{yes("alice", AllowOnce), yes("alice", AllowOnce)},
			Pending, "",
		},
		{"one reject ends it", people, 2, true, []Vote{yes("alice", AllowOnce), no("bob")}, Denied, Deny},
		{
			"a reject ends it even after enough approvals", people, 1, true,
			[]Vote{yes("alice", AllowOnce), no("bob")}, Denied, Deny,
		},
		{
			"an unmapped account counts for a quorum of one", people, 1, true, []Vote{unmapped("111")}, Approved,
			AllowOnce,
		},
		{
			"the narrowest scope wins", people, 2, true, []Vote{yes("alice", AllowAlways), yes("bob", AllowSession)},
			Approved, AllowSession,
		},
		{
			"once is narrower still", people, 2, true, []Vote{yes("alice", AllowOnce), yes("bob", AllowAlways)},
			Approved, AllowOnce,
		},
		{
			"a rule's approval counts beside a person's", all, 2, true,
			[]Vote{machine(RulesBased, Approve), yes("alice", AllowOnce)}, Approved, AllowOnce,
		},
		{
			"machines alone are not human", all, 1, true,
			[]Vote{machine(RulesBased, Approve), machine(LLMEvaluation, Approve)}, Pending, "",
		},
		{
			"machines alone suffice where no human is required", all, 1, false, []Vote{machine(RulesBased, Approve)},
			Approved, AllowOnce,
		},
		{
			"a machine's reject ends it", all, 1, false,
			[]Vote{machine(LLMEvaluation, Reject), yes("alice", AllowOnce)}, Denied, Deny,
		},
		{
			"abstain and error count for nothing", all, 1, false,
			[]Vote{machine(LLMEvaluation, Abstain), machine(RulesBased, Errored)}, Pending, "",
		},
		{
			"a factor that is not admitted counts for nothing", people, 1, false,
			[]Vote{machine(RulesBased, Approve)}, Pending, "",
		},
		{"nobody is admitted, nobody counts", nil, 1, false, []Vote{yes("alice", AllowOnce)}, Pending, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule := Rule{Effective: tt.factors, MinApprovals: tt.quorum, RequiresHuman: tt.human}
			got := Count(rule, tt.votes, anyVote, nobody)
			require.Equal(t, tt.want, got.Outcome)
			require.Equal(t, tt.decision, got.Decision)
		})
	}
}

func TestTallyIgnoresVotesThatLostTheirAuthority(t *testing.T) {
	rule := Rule{Effective: []Factor{UserRequest}, MinApprovals: 1, RequiresHuman: true}
	got := Count(rule, []Vote{yes("alice", AllowOnce)}, func(Vote) Weight { return Weight{} }, nobody)
	require.Equal(t, Pending, got.Outcome)
}

// No set of votes approves with fewer different people than the rule asks for.
func TestTallyNeverApprovesBelowTheQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"alice", "bob", "carol", "dan"})
		votes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Vote {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return no(names.Draw(t, "who"))
			case 1:
				return unmapped(names.Draw(t, "who"))
			default:
				return yes(
					names.Draw(t, "who"),
					rapid.SampledFrom([]Decision{AllowOnce, AllowSession, AllowAlways}).Draw(t, "scope"),
				)
			}
		}), 0, 8).Draw(t, "votes")
		quorum := rapid.IntRange(1, 4).Draw(t, "quorum")
		got := Count(
			Rule{Effective: []Factor{UserRequest}, MinApprovals: quorum, RequiresHuman: true}, votes, anyVote, nobody,
		)
		people, rejects := map[string]bool{}, 0
		for _, v := range votes {
			if v.Verdict == Reject {
				rejects++
			} else {
				people[v.Voter.Name()] = true
			}
		}
		if got.Outcome == Approved && (rejects > 0 || len(people) < quorum) {
			t.Fatalf("approved with %d people of %d and %d rejects", len(people), quorum, rejects)
		}
		if rejects > 0 && got.Outcome != Denied {
			t.Fatalf("a reject did not end it")
		}
	})
}

// anyVote counts toward what approvers are asked.
func anyVote(Vote) Weight { return Weight{Deny: true, Approvers: true} }

// nobody belongs to any group.
func nobody(Need, Vote, string) bool { return false }

func TestTallyNeedsSomebodyOfEachGroup(t *testing.T) {
	ops := func(n Need, v Vote, _ string) bool { return n.Role == "ops" && v.Voter.Person == "bob" }
	rule := Rule{Effective: []Factor{UserRequest}, MinApprovals: 1, Needs: []Need{{Role: "ops", Min: 1}}}
	count := func(votes ...Vote) Tally { return Count(rule, votes, anyVote, ops) }

	alone := count(yes("alice", AllowOnce))
	require.Equal(t, Pending, alone.Outcome)
	require.Equal(t, "1 of 1 yes (alice); needs 1 with role ops", alone.Text())
	require.Equal(t, Approved, count(yes("alice", AllowOnce), yes("bob", AllowOnce)).Outcome)
	require.Equal(t, Approved, count(yes("bob", AllowOnce)).Outcome)
}

// Two to eight simulated factors of every kind, with every verdict, in any order:
// the tally is what the rule says in words.
func TestTallyOfSimulatedFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		effective := rapid.SliceOfDistinct(
			rapid.SampledFrom([]Factor{UserRequest, RulesBased, LLMEvaluation}), rapid.ID,
		).Draw(t, "effective")
		votes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Vote {
			verdict := rapid.SampledFrom([]Verdict{
				Approve, Approve, Approve, Reject, Abstain, Errored,
			}).Draw(t, "verdict")
			switch rapid.IntRange(0, 3).Draw(t, "factor") {
			case 0:
				return machine(RulesBased, verdict)
			case 1:
				return machine(LLMEvaluation, verdict)
			}
			v := yes(rapid.SampledFrom([]string{"alice", "bob", "carol", "dan", "erin"}).Draw(t, "who"), AllowOnce)
			v.Verdict = verdict
			return v
		}), 2, 8).Draw(t, "votes")
		rule := Rule{
			Effective: effective, MinApprovals: rapid.IntRange(1, 4).Draw(t, "quorum"),
			RequiresHuman: rapid.Bool().Draw(t, "human"),
		}
		got := Count(rule, votes, anyVote, nobody)

		approvers, human, reject := map[string]bool{}, false, false
		for _, v := range votes {
			if !rule.Admits(v.Approver) {
				continue
			}
			reject = reject || v.Verdict == Reject
			if v.Verdict == Approve {
				approvers[approverName(v)] = true
				human = human || v.Approver == UserRequest
			}
		}
		want := Pending
		switch {
		case reject:
			want = Denied
		case len(approvers) >= rule.MinApprovals && (human || !rule.RequiresHuman):
			want = Approved
		}
		if got.Outcome != want {
			t.Fatalf("%v, want %v", got.Outcome, want)
		}
	})
}
