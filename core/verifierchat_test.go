package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// What failMode does where the card in the verifier's chat has not arrived: silence allows nothing, and neither does
// what a call, or who writes many of them, could bring about.
func TestVerifierChat(t *testing.T) {
	t.Parallel()
	room := approval.Target{Channel: "telegram", To: "-7"}
	group := approval.Target{Channel: "telegram", To: "-1"}
	silent := map[approval.Target]approval.Unreachable{room.Chat(): {SinceMs: 10, TriedMs: 90}}
	card := func(s approval.DeliveryState, attempts int) approval.Delivery {
		return approval.Delivery{Kind: approval.CardDelivery, Target: room, State: s, Attempts: attempts, CreatedMs: 5}
	}
	refused := card(approval.Failed, 1)
	refused.DenyOnly = true
	d, err := people.NewDirectory(people.Rights{AllowedUsers: map[string][]string{"telegram": {"1"}}, Verifiers: map[string][]string{"": {"telegram:9"}}})
	require.NoError(t, err)
	yes := func(user string) approval.Vote {
		return approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce, Voter: &approval.Voter{Channel: "telegram", UserID: user}}
	}
	for name, tt := range map[string]struct {
		card        approval.Delivery
		unreachable map[approval.Target]approval.Unreachable
		change      func(*approval.Approval)
		open        approval.Status // under failMode allow
		shut        approval.Status // under failMode deny
	}{
		"the chat has it, and is silent":       {card: card(approval.Sent, 1), unreachable: silent, open: approval.Pending, shut: approval.Pending},
		"it failed for good":                   {card: card(approval.Failed, 1), open: approval.Approved, shut: approval.Denied},
		"no try is answered":                   {card: card(approval.Queued, 2), unreachable: silent, open: approval.Approved, shut: approval.Denied},
		"one try was not answered":             {card: card(approval.Queued, 1), unreachable: silent, open: approval.Pending, shut: approval.Pending},
		"the chat is limited, or it has begun": {card: card(approval.Queued, 5), unreachable: map[approval.Target]approval.Unreachable{}, open: approval.Pending, shut: approval.Pending},
		"it is folded in a digest":             {card: card(approval.Folded, 0), unreachable: map[approval.Target]approval.Unreachable{}, open: approval.Pending, shut: approval.Pending},
		"for too short a time": {card: card(approval.Queued, 2), unreachable: map[approval.Target]approval.Unreachable{room.Chat(): {SinceMs: 80, TriedMs: 99}},
			open: approval.Pending, shut: approval.Pending},
		"the chat refuses this card": {card: refused, open: approval.Denied, shut: approval.Denied},
		"a passkey is to sign":       {card: card(approval.Failed, 1), change: func(a *approval.Approval) { a.Rule.StepUp = true }, open: approval.Denied, shut: approval.Denied},
		"one of them has said yes elsewhere": {card: card(approval.Failed, 1), change: func(a *approval.Approval) {
			a.Rule.Verifier.Instead, a.Votes = "", []approval.Vote{yes("9")}
		}, open: approval.Pending, shut: approval.Pending},
		"approvers must say yes too": {card: card(approval.Failed, 1), change: func(a *approval.Approval) { a.Rule.Verifier.Instead = "" },
			open: approval.Pending, shut: approval.Denied},
		"approvers said yes": {card: card(approval.Failed, 1), change: func(a *approval.Approval) {
			a.Rule.Verifier.Instead, a.Votes = "", []approval.Vote{yes("1")}
		}, open: approval.Approved, shut: approval.Denied},
		"two were asked, and one reached": {card: card(approval.Failed, 1), change: func(a *approval.Approval) {
			a.Rule.Verifier.Chats = append(a.Rule.Verifier.Chats, group)
			a.Deliveries = append(a.Deliveries, approval.Delivery{Kind: approval.CardDelivery, Target: group, State: approval.Sent})
		}, open: approval.Pending, shut: approval.Pending},
		"nobody was asked": {card: approval.Delivery{Kind: approval.CardDelivery, Target: group, State: approval.Failed}, open: approval.Pending, shut: approval.Pending},
	} {
		for _, open := range []bool{true, false} {
			a := approval.Approval{
				Names:   approval.Names{Key: "k"},
				Ended:   approval.Ended{Status: approval.Pending},
				Contact: approval.Contact{Reached: true, VerifierLookMs: 60, Deliveries: []approval.Delivery{tt.card}},
				Asked:   approval.Asked{ExpiresAtMs: 10_000},
				Judged: approval.Judged{Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 1, Verifier: &approval.VerifierNeed{
					Accounts: []string{"telegram:9"}, Chats: []approval.Target{room}, Instead: "policy", FailOpen: open}}, Offers: []approval.Decision{approval.AllowOnce, approval.Deny}},
			}
			if tt.change != nil {
				tt.change(&a)
			}
			rules := &Rules{People: d, Router: routed{Routes{Verifier: []approval.Target{room}, FallbackAfterMs: 50}}}
			unreachable := tt.unreachable
			if unreachable == nil {
				unreachable = map[approval.Target]approval.Unreachable{}
			}
			c, lookUp := Change{Approval: a}.verifierChat(rules, unreachable, 100)
			require.False(t, lookUp, name)
			want := map[bool]approval.Status{true: tt.open, false: tt.shut}[open]
			require.Equal(t, want, c.Approval.Status, "%s, open %v", name, open)
			said := slices.ContainsFunc(c.Events, func(e approval.Event) bool { return e.Type == approval.EventFailOpen })
			require.Equal(t, c.Approval.Rule.Passed(), said, "%s: each use is on record", name)
			if want == approval.Approved {
				require.True(t, open && said, name)
				require.NotEmpty(t, c.Approval.DecidedBy, name)
			}
			if want == approval.Denied {
				require.Equal(t, []string{"policy"}, c.Approval.DecidedBy, name)
			}
		}
	}
}

type routed struct{ Routes }

func (r routed) Route(approval.Approval) Routes { return r.Routes }

func (routed) Names(approval.Target) bool { return true }
