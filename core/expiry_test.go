package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What time asks of a pending approval that was made at 0, expires at 1000, and whose
// fallback targets are due at 100.
func TestTick(t *testing.T) {
	ops, spare, origin := Target{
		Channel: "telegram", To: "-1",
	}, Target{Channel: "telegram", To: "-2"}, Target{Channel: "telegram", To: "-3"}
	card := func(s DeliveryState) []Delivery {
		return []Delivery{{Kind: CardDelivery, Target: ops, State: s, Attempts: openTries}}
	}
	refused := card(Failed)
	refused[0].DenyOnly = true
	silent := map[Target]Unreachable{ops: {SinceMs: 0, TriedMs: 90}}
	for name, c := range map[string]struct {
		cards       []Delivery
		unreachable map[Target]Unreachable
		more        func(*Approval)
		now         int64
		want        Status
		events      []EventType
		fallbackAt  int64
		lookUp      bool
		to          []Target
	}{
		"nothing is due before its time": {
			cards: card(Queued), now: 50, want: Pending, fallbackAt: 100,
		},
		"nobody decided in time": {
			cards: card(Sent), now: 1000, want: Expired, events: []EventType{EventExpired}, to: []Target{origin},
		},
		"a card that arrived needs no fallback": {cards: card(Sent), now: 100, want: Pending},
		"a card that failed goes to the fallback target": {
			cards: card(Failed), now: 100, want: Pending, events: []EventType{EventFallback}, fallbackAt: 150,
			to: []Target{spare},
		},
		"so does one that waits": {
			cards: card(Queued), now: 100, want: Pending, events: []EventType{EventFallback}, fallbackAt: 150,
			to: []Target{spare},
		},
		"where all failed nobody could be asked": {
			cards: card(Failed), more: fallbackTried, now: 100, want: Pending, events: []EventType{EventUnreached},
			to: []Target{origin},
		},
		"it runs then where the operator wrote so": {
			cards: card(Failed), more: failsOpen, now: 100, want: Approved,
			events: []EventType{EventFailOpen, EventResolved}, to: []Target{origin},
		},
		"but not where a chat refused its card": {
			cards: refused, more: failsOpen, now: 100, want: Pending, events: []EventType{EventUnreached},
			to: []Target{origin},
		},
		"who leaves tries unanswered is looked up": {
			cards: card(Queued), more: fallbackTried, now: 100, lookUp: true,
		},
		"a chat that answers is only late": {
			cards: card(Queued), more: fallbackTried, unreachable: map[Target]Unreachable{}, now: 100, want: Pending,
			fallbackAt: 1100,
		},
		"one that does not, for long, is out of reach": {
			cards: card(Queued), more: failsOpen, unreachable: silent, now: 100, want: Approved,
			events: []EventType{EventFailOpen, EventResolved}, to: []Target{origin},
		},
		"what has ended stays": {more: func(a *Approval) { a.Status = Denied }, now: 2000, want: Denied},
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
			got, lookUp := a.tick(
				Routes{Targets: []Target{ops}, Fallback: []Target{spare}, FallbackAfterMs: 50}, c.unreachable, c.now,
			)
			require.Equal(t, c.lookUp, lookUp)
			if lookUp {
				return
			}
			require.Equal(t, c.want, got.Approval.Status)
			require.Equal(t, c.events, eventTypes(got))
			require.Equal(t, fallbackAt, got.Approval.FallbackAtMs)
			var to []Target
			for _, d := range got.Deliveries {
				to = append(to, d.Target)
			}
			require.Equal(t, c.to, to)
		})
	}
}

func fallbackTried(a *Approval) { a.FallbackDone = true }

func failsOpen(a *Approval) { a.FallbackDone, a.Unreached = true, true }

func TestWhenTimeNextAsksSomething(t *testing.T) {
	for name, c := range map[string]struct {
		a    Approval
		want int64
	}{
		"the fallback, when it comes first":   {Approval{Status: Pending, FallbackAtMs: 5, ExpiresAtMs: 9}, 5},
		"a step of the plan, when it is next": {Approval{Status: Pending, PlanMs: 3, FallbackAtMs: 5, ExpiresAtMs: 9}, 3},
		"else the end":                        {Approval{Status: Pending, FallbackAtMs: 12, ExpiresAtMs: 9}, 9},
		"without a fallback the end":          {Approval{Status: Pending, ExpiresAtMs: 9}, 9},
		"without an end the fallback":         {Approval{Status: Pending, FallbackAtMs: 5}, 5},
		"never, once it has ended":            {Approval{Status: Expired, FallbackAtMs: 5, ExpiresAtMs: 9}, 0},
	} {
		require.Equal(t, c.want, c.a.TimerMs(), name)
	}
}

func TestAnExpiryThatSomeVotedOnSaysSo(t *testing.T) {
	a := needing(2, nil)
	require.Equal(t, "nobody decided in time", a.expire(1000).Approval.Reason)
	a.Votes = []Vote{yes("alice", AllowOnce)}
	require.Equal(t, "too few approvals in time", a.expire(1000).Approval.Reason)
	a.Rule.Needs = []Need{{Role: "ops", Min: 1}}
	require.Equal(t, "too few approvals in time, of which it needed 1 with role ops", a.expire(1000).Approval.Reason)
}
