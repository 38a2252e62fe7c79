package people

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

func yes(who string, d approval.Decision) approval.Vote {
	return approval.Vote{
		Approver: approval.UserRequest, Verdict: approval.Approve, Decision: d,
		Voter: &approval.Voter{Person: who, Channel: "telegram", UserID: who},
	}
}

func no(who string) approval.Vote {
	return approval.Vote{Approver: approval.UserRequest, Verdict: approval.Reject, Decision: approval.Deny, Voter: &approval.Voter{Person: who}, Reason: "not today"}
}

func unmapped(id string) approval.Vote {
	return approval.Vote{
		Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce, Voter: &approval.Voter{Channel: "telegram", UserID: id},
	}
}

func machine(f approval.Factor, v approval.Verdict) approval.Vote {
	return approval.Vote{Approver: f, Verdict: v}
}

func TestTally(t *testing.T) {
	people := []approval.Factor{approval.UserRequest}
	all := []approval.Factor{approval.UserRequest, approval.RulesBased, approval.LLMEvaluation}
	tests := []struct {
		name     string
		factors  []approval.Factor
		quorum   int
		human    bool
		votes    []approval.Vote
		want     approval.Status
		decision approval.Decision
	}{
		{"no vote is no answer", people, 1, true, nil, approval.Pending, ""},
		{"one person is enough for one", people, 1, true, []approval.Vote{yes("alice", approval.AllowOnce)}, approval.Approved, approval.AllowOnce},
		{"a quorum of zero still needs somebody", people, 0, false, nil, approval.Pending, ""},
		{"one of two is not two", people, 2, true, []approval.Vote{yes("alice", approval.AllowOnce)}, approval.Pending, ""},
		{
			"two people are two", people, 2, true, []approval.Vote{yes("alice", approval.AllowOnce), yes("bob", approval.AllowOnce)}, approval.Approved,
			approval.AllowOnce,
		},
		{
			"one person twice is one", people, 2, true, []approval.Vote{yes("alice", approval.AllowOnce), yes("alice", approval.AllowOnce)},
			approval.Pending, "",
		},
		{"one reject ends it", people, 2, true, []approval.Vote{yes("alice", approval.AllowOnce), no("bob")}, approval.Denied, approval.Deny},
		{
			"a reject ends it even after enough approvals", people, 1, true,
			[]approval.Vote{yes("alice", approval.AllowOnce), no("bob")}, approval.Denied, approval.Deny,
		},
		{
			"an unmapped account counts for a quorum of one", people, 1, true, []approval.Vote{unmapped("111")}, approval.Approved,
			approval.AllowOnce,
		},
		{
			"the narrowest scope wins", people, 2, true, []approval.Vote{yes("alice", approval.AllowAlways), yes("bob", approval.AllowSession)},
			approval.Approved, approval.AllowSession,
		},
		{
			"once is narrower still", people, 2, true, []approval.Vote{yes("alice", approval.AllowOnce), yes("bob", approval.AllowAlways)},
			approval.Approved, approval.AllowOnce,
		},
		{
			"a rule's approval counts beside a person's", all, 2, true,
			[]approval.Vote{machine(approval.RulesBased, approval.Approve), yes("alice", approval.AllowOnce)}, approval.Approved, approval.AllowOnce,
		},
		{
			"machines alone are not human", all, 1, true,
			[]approval.Vote{machine(approval.RulesBased, approval.Approve), machine(approval.LLMEvaluation, approval.Approve)}, approval.Pending, "",
		},
		{
			"machines alone suffice where no human is required", all, 1, false, []approval.Vote{machine(approval.RulesBased, approval.Approve)},
			approval.Approved, approval.AllowOnce,
		},
		{
			"a machine's reject ends it", all, 1, false,
			[]approval.Vote{machine(approval.LLMEvaluation, approval.Reject), yes("alice", approval.AllowOnce)}, approval.Denied, approval.Deny,
		},
		{
			"abstain and error count for nothing", all, 1, false,
			[]approval.Vote{machine(approval.LLMEvaluation, approval.Abstain), machine(approval.RulesBased, approval.Errored)}, approval.Pending, "",
		},
		{
			"a factor that is not admitted counts for nothing", people, 1, false,
			[]approval.Vote{machine(approval.RulesBased, approval.Approve)}, approval.Pending, "",
		},
		{"nobody is admitted, nobody counts", nil, 1, false, []approval.Vote{yes("alice", approval.AllowOnce)}, approval.Pending, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule := approval.Rule{Effective: tt.factors, MinApprovals: tt.quorum, RequiresHuman: tt.human}
			got := Count(rule, tt.votes, anyVote, nobody)
			require.Equal(t, tt.want, got.Outcome)
			require.Equal(t, tt.decision, got.Decision)
		})
	}
}

func TestTallyIgnoresVotesThatLostTheirAuthority(t *testing.T) {
	rule := approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1, RequiresHuman: true}
	got := Count(rule, []approval.Vote{yes("alice", approval.AllowOnce)}, func(approval.Vote) Weight { return Weight{} }, nobody)
	require.Equal(t, approval.Pending, got.Outcome)
}

// No set of votes approves with fewer different people than the rule asks for.
func TestTallyNeverApprovesBelowTheQuorum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"alice", "bob", "carol", "dan"})
		votes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) approval.Vote {
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				return no(names.Draw(t, "who"))
			case 1:
				return unmapped(names.Draw(t, "who"))
			default:
				return yes(
					names.Draw(t, "who"),
					rapid.SampledFrom([]approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways}).Draw(t, "scope"),
				)
			}
		}), 0, 8).Draw(t, "votes")
		quorum := rapid.IntRange(1, 4).Draw(t, "quorum")
		got := Count(
			approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: quorum, RequiresHuman: true}, votes, anyVote, nobody,
		)
		people, rejects := map[string]bool{}, 0
		for _, v := range votes {
			if v.Verdict == approval.Reject {
				rejects++
			} else {
				people[v.Voter.Name()] = true
			}
		}
		if got.Outcome == approval.Approved && (rejects > 0 || len(people) < quorum) {
			t.Fatalf("approved with %d people of %d and %d rejects", len(people), quorum, rejects)
		}
		if rejects > 0 && got.Outcome != approval.Denied {
			t.Fatalf("a reject did not end it")
		}
	})
}

// anyVote counts toward what approvers are asked.
func anyVote(approval.Vote) Weight { return Weight{Deny: true, Approvers: true} }

// nobody belongs to any group.
func nobody(approval.Need, approval.Vote, string) bool { return false }

func TestTallyNeedsSomebodyOfEachGroup(t *testing.T) {
	ops := func(n approval.Need, v approval.Vote, _ string) bool {
		return n.Role == "ops" && v.Voter.Person == "bob"
	}
	rule := approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1, Needs: []approval.Need{{Role: "ops", Min: 1}}}
	count := func(votes ...approval.Vote) Tally { return Count(rule, votes, anyVote, ops) }

	alone := count(yes("alice", approval.AllowOnce))
	require.Equal(t, approval.Pending, alone.Outcome)
	require.Equal(t, "1 of 1 yes (alice); needs 1 with role ops", alone.Text())
	require.Equal(t, approval.Approved, count(yes("alice", approval.AllowOnce), yes("bob", approval.AllowOnce)).Outcome)
	require.Equal(t, approval.Approved, count(yes("bob", approval.AllowOnce)).Outcome)
}

// Two to eight simulated factors of every kind, with every verdict, in any order:
// the tally is what the rule says in words.
func TestTallyOfSimulatedFactors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		effective := rapid.SliceOfDistinct(
			rapid.SampledFrom([]approval.Factor{approval.UserRequest, approval.RulesBased, approval.LLMEvaluation}), rapid.ID,
		).Draw(t, "effective")
		votes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) approval.Vote {
			verdict := rapid.SampledFrom([]approval.Verdict{
				approval.Approve, approval.Approve, approval.Approve, approval.Reject, approval.Abstain, approval.Errored,
			}).Draw(t, "verdict")
			switch rapid.IntRange(0, 3).Draw(t, "factor") {
			case 0:
				return machine(approval.RulesBased, verdict)
			case 1:
				return machine(approval.LLMEvaluation, verdict)
			}
			v := yes(rapid.SampledFrom([]string{"alice", "bob", "carol", "dan", "erin"}).Draw(t, "who"), approval.AllowOnce)
			v.Verdict = verdict
			return v
		}), 2, 8).Draw(t, "votes")
		rule := approval.Rule{
			Effective: effective, MinApprovals: rapid.IntRange(1, 4).Draw(t, "quorum"),
			RequiresHuman: rapid.Bool().Draw(t, "human"),
		}
		got := Count(rule, votes, anyVote, nobody)

		approvers, human, reject := map[string]bool{}, false, false
		for _, v := range votes {
			if !rule.Admits(v.Approver) {
				continue
			}
			reject = reject || v.Verdict == approval.Reject
			if v.Verdict == approval.Approve {
				approvers[approverName(v)] = true
				human = human || v.Approver == approval.UserRequest
			}
		}
		want := approval.Pending
		switch {
		case reject:
			want = approval.Denied
		case len(approvers) >= rule.MinApprovals && (human || !rule.RequiresHuman):
			want = approval.Approved
		}
		if got.Outcome != want {
			t.Fatalf("%v, want %v", got.Outcome, want)
		}
	})
}
