package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// What time asks of a pending approval that was made at 0, expires at 1000, and whose
// fallback targets are due at 100.
func TestTick(t *testing.T) {
	ops, spare, origin := approval.Target{
		Channel: "telegram", To: "-1",
	}, approval.Target{Channel: "telegram", To: "-2"}, approval.Target{Channel: "telegram", To: "-3"}
	card := func(s approval.DeliveryState) []approval.Delivery {
		return []approval.Delivery{{Kind: approval.CardDelivery, Target: ops, State: s, Attempts: openTries}}
	}
	refused := card(approval.Failed)
	refused[0].DenyOnly = true
	silent := map[approval.Target]approval.Unreachable{ops: {SinceMs: 0, TriedMs: 90}}
	for name, c := range map[string]struct {
		cards       []approval.Delivery
		unreachable map[approval.Target]approval.Unreachable
		more        func(*approval.Approval)
		now         int64
		want        approval.Status
		events      []approval.EventType
		fallbackAt  int64
		lookUp      bool
		to          []approval.Target
	}{
		"nothing is due before its time": {
			cards: card(approval.Queued), now: 50, want: approval.Pending, fallbackAt: 100,
		},
		"nobody decided in time": {
			cards: card(approval.Sent), now: 1000, want: approval.Expired, events: []approval.EventType{approval.EventExpired}, to: []approval.Target{origin},
		},
		"a card that arrived needs no fallback": {cards: card(approval.Sent), now: 100, want: approval.Pending},
		"a card that failed goes to the fallback target": {
			cards: card(approval.Failed), now: 100, want: approval.Pending, events: []approval.EventType{approval.EventFallback}, fallbackAt: 150,
			to: []approval.Target{spare},
		},
		"so does one that waits": {
			cards: card(approval.Queued), now: 100, want: approval.Pending, events: []approval.EventType{approval.EventFallback}, fallbackAt: 150,
			to: []approval.Target{spare},
		},
		"where all failed nobody could be asked": {
			cards: card(approval.Failed), more: fallbackTried, now: 100, want: approval.Pending, events: []approval.EventType{approval.EventUnreached},
			to: []approval.Target{origin},
		},
		"it runs then where the operator wrote so": {
			cards: card(approval.Failed), more: failsOpen, now: 100, want: approval.Approved,
			events: []approval.EventType{approval.EventFailOpen, approval.EventResolved}, to: []approval.Target{origin},
		},
		"but not where a chat refused its card": {
			cards: refused, more: failsOpen, now: 100, want: approval.Pending, events: []approval.EventType{approval.EventUnreached},
			to: []approval.Target{origin},
		},
		"who leaves tries unanswered is looked up": {
			cards: card(approval.Queued), more: fallbackTried, now: 100, lookUp: true,
		},
		"a chat that answers is only late": {
			cards: card(approval.Queued), more: fallbackTried, unreachable: map[approval.Target]approval.Unreachable{}, now: 100, want: approval.Pending,
			fallbackAt: 1100,
		},
		"one that does not, for long, is out of reach": {
			cards: card(approval.Queued), more: failsOpen, unreachable: silent, now: 100, want: approval.Approved,
			events: []approval.EventType{approval.EventFailOpen, approval.EventResolved}, to: []approval.Target{origin},
		},
		"what has ended stays": {more: func(a *approval.Approval) { a.Status = approval.Denied }, now: 2000, want: approval.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			a := needing(1, nil)
			a.Deliveries, a.FallbackAtMs, a.Reached, a.Origin = c.cards, 100, true, &origin
			if c.more != nil {
				c.more(&a)
			}
			fallbackAt := c.fallbackAt
			if a.Final() {
				fallbackAt = a.FallbackAtMs
			}
			got, lookUp := tick(a,
				Routes{Targets: []approval.Target{ops}, Fallback: []approval.Target{spare}, FallbackAfterMs: 50}, c.unreachable, c.now,
			)
			require.Equal(t, c.lookUp, lookUp)
			if lookUp {
				return
			}
			require.Equal(t, c.want, got.Approval.Status)
			require.Equal(t, c.events, eventTypes(got))
			require.Equal(t, fallbackAt, got.Approval.FallbackAtMs)
			var to []approval.Target
			for _, d := range got.Deliveries {
				to = append(to, d.Target)
			}
			require.Equal(t, c.to, to)
		})
	}
}

func fallbackTried(a *approval.Approval) { a.FallbackDone = true }

func failsOpen(a *approval.Approval) { a.FallbackDone, a.Unreached = true, true }

func TestWhenTimeNextAsksSomething(t *testing.T) {
	for name, c := range map[string]struct {
		a    approval.Approval
		want int64
	}{
		"the fallback, when it comes first": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Pending},
			Contact: approval.Contact{FallbackAtMs: 5},
			Asked:   approval.Asked{ExpiresAtMs: 9},
		}, 5},
		"a step of the plan, when it is next": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Pending},
			Contact: approval.Contact{PlanMs: 3, FallbackAtMs: 5},
			Asked:   approval.Asked{ExpiresAtMs: 9},
		}, 3},
		"else the end": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Pending},
			Contact: approval.Contact{FallbackAtMs: 12},
			Asked:   approval.Asked{ExpiresAtMs: 9},
		}, 9},
		"without a fallback the end": {approval.Approval{Ended: approval.Ended{Status: approval.Pending}, Asked: approval.Asked{ExpiresAtMs: 9}}, 9},
		"without an end the fallback": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Pending},
			Contact: approval.Contact{FallbackAtMs: 5},
		}, 5},
		"never, once it has ended": {approval.Approval{
			Ended:   approval.Ended{Status: approval.Expired},
			Contact: approval.Contact{FallbackAtMs: 5},
			Asked:   approval.Asked{ExpiresAtMs: 9},
		}, 0},
	} {
		require.Equal(t, c.want, TimerMs(c.a), name)
	}
}

func TestAnExpiryThatSomeVotedOnSaysSo(t *testing.T) {
	a := needing(2, nil)
	require.Equal(t, "nobody decided in time", expire(a, 1000).Approval.Reason)
	a.Votes = []approval.Vote{yes("alice", approval.AllowOnce)}
	require.Equal(t, "too few approvals in time", expire(a, 1000).Approval.Reason)
	a.Rule.Needs = []approval.Need{{Role: "ops", Min: 1}}
	require.Equal(t, "too few approvals in time, of which it needed 1 with role ops", expire(a, 1000).Approval.Reason)
}
