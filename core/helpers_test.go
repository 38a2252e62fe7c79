package core

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// yes is a person's vote for a decision.
func yes(who string, d approval.Decision) approval.Vote {
	return approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: d,
		Voter: &approval.Voter{Person: who, Channel: "telegram", UserID: who}}
}

// no is a person's deny.
func no(who string) approval.Vote {
	return approval.Vote{Approver: approval.UserRequest, Verdict: approval.Reject, Decision: approval.Deny,
		Voter: &approval.Voter{Person: who}, Reason: "not today"}
}

// machine is a vote that no person gave.
func machine(f approval.Factor, v approval.Verdict) approval.Vote {
	return approval.Vote{Approver: f, Verdict: v}
}

// directoryOfTwo knows alice and bob, who may decide in Telegram.
func directoryOfTwo() *people.Directory {
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}},
	})
	if err != nil {
		panic(err)
	}
	return d
}

// reading is a card read in UTC, a second after it was made.
func reading() card.Reader { return card.Reader{People: directoryOfTwo(), Zone: time.UTC, Now: 1000} }

// asked is the pending approval of a call, and what its card shows of the call.
func asked(t *testing.T, tool, params string, bind *approval.Bind) (approval.Approval, []card.Fact) {
	t.Helper()
	sealed, err := approval.Canonical(tool, json.RawMessage(params), bind)
	require.NoError(t, err)
	_, canonical, bound, err := approval.Open(sealed.Bytes)
	require.NoError(t, err)
	facts, err := card.PayloadFacts(approval.Call{ToolName: tool, Params: canonical, Bind: bound})
	require.NoError(t, err)
	a := approval.Approval{
		Names:  approval.Names{Key: "k", Code: "K7QX2M", Owner: "main-agent"},
		Ended:  approval.Ended{Status: approval.Pending},
		Asked:  approval.Asked{ToolName: tool, Bind: bind, Fingerprint: sealed.Fingerprint},
		Judged: approval.Judged{Offers: []approval.Decision{approval.AllowOnce}, Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1}},
	}
	a.Summary = card.About(tool, facts, bind, card.MaxSummary)
	return a, facts
}
