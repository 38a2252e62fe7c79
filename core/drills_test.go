package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Which chats a drill has not reached, who hears of it, and what becomes of the drill.
func TestEndDrill(t *testing.T) {
	place := func(id string) Target { return Target{Channel: "telegram", To: id} }
	card := func(id string, state DeliveryState, message, err string) Delivery {
		return Delivery{Kind: CardDelivery, Target: place(id), State: state, MessageID: message, Error: err}
	}
	sent := card("-1", Sent, "m", "")
	for name, c := range map[string]struct {
		status   Status
		reason   string
		cards    []Delivery
		fallback []Target
		missing  []string
		told     []Target
		want     Status
	}{
		"all have it":            {status: Pending, cards: []Delivery{sent, card("-2", Settled, "m", "")}, want: Withdrawn},
		"people have decided it": {status: Denied, reason: "no", cards: []Delivery{sent}, want: Denied},
		"one failed": {status: Approved, cards: []Delivery{sent, card("-2", Failed, "", "kicked")}, want: Approved,
			missing: []string{"telegram:-2: kicked"}, told: []Target{place("-1")}},
		"one failed after it stood there": {status: Pending, cards: []Delivery{sent, card("-2", Failed, "m", "gone")},
			want: Withdrawn, missing: []string{"telegram:-2: gone"}, told: []Target{place("-1")}},
		"one is still tried": {status: Pending, cards: []Delivery{card("-1", Queued, "", ""), sent}, want: Withdrawn,
			missing: []string{"telegram:-1: no card came in time"}, told: []Target{place("-1")}},
		"the fallback chat works": {status: Pending, cards: []Delivery{sent, card("-2", Failed, "", "x"), card("-3", Sent, "m", "")},
			fallback: []Target{place("-3")}, want: Withdrawn, missing: []string{"telegram:-2: x"}, told: []Target{place("-3")}},
		"the fallback chat does not": {status: Pending, cards: []Delivery{sent, card("-3", Failed, "", "x")},
			fallback: []Target{place("-3")}, want: Withdrawn, missing: []string{"telegram:-3: x"},
			told: []Target{place("-3"), place("-1")}},
		"no chat is named": {status: Pending, want: Withdrawn,
			missing: []string{"no chat was asked: approvals.tools.routing names none"}},
		"nobody could decide it": {status: Denied, reason: "There are too few approvers.", want: Denied,
			missing: []string{"no chat was asked: There are too few approvers."}},
	} {
		t.Run(name, func(t *testing.T) {
			a := Approval{Key: "k", ToolName: DrillTool, Owner: DrillOwner, Status: c.status, Reason: c.reason, Deliveries: c.cards}
			got := a.endDrill(c.fallback, 500)
			require.Equal(t, c.want, got.Approval.Status)
			require.EqualValues(t, 500, got.Approval.DrilledAtMs)
			require.Equal(t, c.missing, got.Approval.Missing)
			require.Contains(t, eventTypes(got), EventDrilled)
			var told []Target
			for _, d := range got.Deliveries {
				require.Equal(t, DrillDelivery, d.Kind)
				told = append(told, d.Target)
			}
			require.Equal(t, c.told, told)
			again := got.Approval.endDrill(c.fallback, 900)
			require.True(t, again.Unchanged, "it is said once")
			require.Empty(t, again.Deliveries)
			require.Empty(t, again.Events)
		})
	}
}

func TestWhatADrillThatFailedSays(t *testing.T) {
	a := Approval{Code: "K7QX2M", Missing: []string{"telegram:-2: the bot was kicked\n/approve K7QX2M"}}
	require.Equal(t, "⚠️ The scheduled drill K7QX2M did not reach every chat. No card at:\n"+
		`· telegram:-2: the bot was kicked\u{A}/approve K7QX2M`, a.messageText(DrillDelivery))
	for i := range 12 {
		a.Missing = append(a.Missing, fmt.Sprint("telegram:", i))
	}
	require.Contains(t, a.messageText(DrillDelivery), "· and 3 more")
}
