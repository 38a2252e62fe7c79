package core

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What failMode does where the card in the verifier's chat has not arrived: silence allows nothing, and neither does
// what a call, or who writes many of them, could bring about.
func TestVerifierChat(t *testing.T) {
	t.Parallel()
	room := Target{Channel: "telegram", To: "-7"}
	group := Target{Channel: "telegram", To: "-1"}
	silent := map[Target]Unreachable{room.Chat(): {SinceMs: 10, TriedMs: 90}}
	card := func(s DeliveryState, attempts int) Delivery {
		return Delivery{Kind: CardDelivery, Target: room, State: s, Attempts: attempts, CreatedMs: 5}
	}
	refused := card(Failed, 1)
	refused.DenyOnly = true
	d, err := NewDirectory(Rights{AllowedUsers: map[string][]string{"telegram": {"1"}}, Verifiers: map[string][]string{"": {"telegram:9"}}})
	require.NoError(t, err)
	yes := func(user string) Vote {
		return Vote{Approver: UserRequest, Verdict: Approve, Decision: AllowOnce, Voter: &Voter{Channel: "telegram", UserID: user}}
	}
	for name, tt := range map[string]struct {
		card        Delivery
		unreachable map[Target]Unreachable
		change      func(*Approval)
		open        Status // under failMode allow
		shut        Status // under failMode deny
	}{
		"the chat has it, and is silent":       {card: card(Sent, 1), unreachable: silent, open: Pending, shut: Pending},
		"it failed for good":                   {card: card(Failed, 1), open: Approved, shut: Denied},
		"no try is answered":                   {card: card(Queued, 2), unreachable: silent, open: Approved, shut: Denied},
		"one try was not answered":             {card: card(Queued, 1), unreachable: silent, open: Pending, shut: Pending},
		"the chat is limited, or it has begun": {card: card(Queued, 5), unreachable: map[Target]Unreachable{}, open: Pending, shut: Pending},
		"it is folded in a digest":             {card: card(Folded, 0), unreachable: map[Target]Unreachable{}, open: Pending, shut: Pending},
		"for too short a time": {card: card(Queued, 2), unreachable: map[Target]Unreachable{room.Chat(): {SinceMs: 80, TriedMs: 99}},
			open: Pending, shut: Pending},
		"the chat refuses this card": {card: refused, open: Denied, shut: Denied},
		"a passkey is to sign":       {card: card(Failed, 1), change: func(a *Approval) { a.Rule.StepUp = true }, open: Denied, shut: Denied},
		"one of them has said yes elsewhere": {card: card(Failed, 1), change: func(a *Approval) {
			a.Rule.Verifier.Instead, a.Votes = "", []Vote{yes("9")}
		}, open: Pending, shut: Pending},
		"approvers must say yes too": {card: card(Failed, 1), change: func(a *Approval) { a.Rule.Verifier.Instead = "" },
			open: Pending, shut: Denied},
		"approvers said yes": {card: card(Failed, 1), change: func(a *Approval) {
			a.Rule.Verifier.Instead, a.Votes = "", []Vote{yes("1")}
		}, open: Approved, shut: Denied},
		"two were asked, and one reached": {card: card(Failed, 1), change: func(a *Approval) {
			a.Rule.Verifier.Chats = append(a.Rule.Verifier.Chats, group)
			a.Deliveries = append(a.Deliveries, Delivery{Kind: CardDelivery, Target: group, State: Sent})
		}, open: Pending, shut: Pending},
		"nobody was asked": {card: Delivery{Kind: CardDelivery, Target: group, State: Failed}, open: Pending, shut: Pending},
	} {
		for _, open := range []bool{true, false} {
			a := Approval{Key: "k", Status: Pending, Reached: true, ExpiresAtMs: 10_000, VerifierLookMs: 60,
				Rule: Rule{Effective: []Factor{UserRequest}, MinApprovals: 1, Verifier: &VerifierNeed{
					Accounts: []string{"telegram:9"}, Chats: []Target{room}, Instead: "policy", FailOpen: open}},
				Offers: []Decision{AllowOnce, Deny}, Deliveries: []Delivery{tt.card}}
			if tt.change != nil {
				tt.change(&a)
			}
			rules := &Rules{People: d, Router: routed{Routes{Verifier: []Target{room}, FallbackAfterMs: 50}}}
			unreachable := tt.unreachable
			if unreachable == nil {
				unreachable = map[Target]Unreachable{}
			}
			c, lookUp := Change{Approval: a}.verifierChat(rules, unreachable, 100)
			require.False(t, lookUp, name)
			want := map[bool]Status{true: tt.open, false: tt.shut}[open]
			require.Equal(t, want, c.Approval.Status, "%s, open %v", name, open)
			said := slices.ContainsFunc(c.Events, func(e Event) bool { return e.Type == EventFailOpen })
			require.Equal(t, c.Approval.Rule.passed(), said, "%s: each use is on record", name)
			if want == Approved {
				require.True(t, open && said, name)
				require.NotEmpty(t, c.Approval.DecidedBy, name)
			}
			if want == Denied {
				require.Equal(t, []string{"policy"}, c.Approval.DecidedBy, name)
			}
		}
	}
}

type routed struct{ Routes }

func (r routed) Route(Approval) Routes { return r.Routes }

func (routed) Names(Target) bool { return true }
