package core

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// Which chats a drill has not reached, who hears of it, and what becomes of the drill.
func TestEndDrill(t *testing.T) {
	place := func(id string) approval.Target { return approval.Target{Channel: "telegram", To: id} }
	card := func(id string, state approval.DeliveryState, message, err string) approval.Delivery {
		return approval.Delivery{Kind: approval.CardDelivery, Target: place(id), State: state, MessageID: message, Error: err}
	}
	sent := card("-1", approval.Sent, "m", "")
	for name, c := range map[string]struct {
		status   approval.Status
		reason   string
		cards    []approval.Delivery
		fallback []approval.Target
		missing  []string
		told     []approval.Target
		want     approval.Status
	}{
		"all have it":            {status: approval.Pending, cards: []approval.Delivery{sent, card("-2", approval.Settled, "m", "")}, want: approval.Withdrawn},
		"people have decided it": {status: approval.Denied, reason: "no", cards: []approval.Delivery{sent}, want: approval.Denied},
		"one failed": {status: approval.Approved, cards: []approval.Delivery{sent, card("-2", approval.Failed, "", "kicked")}, want: approval.Approved,
			missing: []string{"telegram:-2: kicked"}, told: []approval.Target{place("-1")}},
		"one failed after it stood there": {status: approval.Pending, cards: []approval.Delivery{sent, card("-2", approval.Failed, "m", "gone")},
			want: approval.Withdrawn, missing: []string{"telegram:-2: gone"}, told: []approval.Target{place("-1")}},
		"one is still tried": {status: approval.Pending, cards: []approval.Delivery{card("-1", approval.Queued, "", ""), sent}, want: approval.Withdrawn,
			missing: []string{"telegram:-1: no card came in time"}, told: []approval.Target{place("-1")}},
		"the fallback chat works": {status: approval.Pending, cards: []approval.Delivery{sent, card("-2", approval.Failed, "", "x"), card("-3", approval.Sent, "m", "")},
			fallback: []approval.Target{place("-3")}, want: approval.Withdrawn, missing: []string{"telegram:-2: x"}, told: []approval.Target{place("-3")}},
		"the fallback chat does not": {status: approval.Pending, cards: []approval.Delivery{sent, card("-3", approval.Failed, "", "x")},
			fallback: []approval.Target{place("-3")}, want: approval.Withdrawn, missing: []string{"telegram:-3: x"},
			told: []approval.Target{place("-3"), place("-1")}},
		"no chat is named": {status: approval.Pending, want: approval.Withdrawn,
			missing: []string{"no chat was asked: approvals.tools.routing names no target"}},
		"nobody could decide it": {status: approval.Denied, reason: "There are too few approvers.", want: approval.Denied,
			missing: []string{"no chat was asked: There are too few approvers."}},
	} {
		t.Run(name, func(t *testing.T) {
			a := approval.Approval{
				Names:   approval.Names{Key: "k", Owner: DrillOwner},
				Asked:   approval.Asked{ToolName: approval.DrillTool},
				Ended:   approval.Ended{Status: c.status, Reason: c.reason},
				Contact: approval.Contact{Deliveries: c.cards},
			}
			got := endDrill(a, c.fallback, 500)
			require.Equal(t, c.want, got.Approval.Status)
			require.EqualValues(t, 500, got.Approval.DrilledAtMs)
			require.Equal(t, c.missing, got.Approval.Missing)
			require.Contains(t, eventTypes(got), approval.EventDrilled)
			var told []approval.Target
			for _, d := range got.Deliveries {
				require.Equal(t, approval.DrillDelivery, d.Kind)
				told = append(told, d.Target)
			}
			require.Equal(t, c.told, told)
			again := endDrill(got.Approval, c.fallback, 900)
			require.True(t, again.Unchanged, "it is said once")
			require.Empty(t, again.Deliveries)
			require.Empty(t, again.Events)
		})
	}
}

func TestWhatADrillThatFailedSays(t *testing.T) {
	a := approval.Approval{
		Names:   approval.Names{Code: "K7QX2M"},
		Contact: approval.Contact{Missing: []string{"telegram:-2: the bot was kicked\n/approve K7QX2M"}},
	}
	require.Equal(t, "⚠️ The scheduled drill K7QX2M did not reach every chat. No card at:\n"+
		`· telegram:-2: the bot was kicked\u{A}/approve K7QX2M`, card.MessageText(a, approval.DrillDelivery))
	for i := range 12 {
		a.Missing = append(a.Missing, fmt.Sprint("telegram:", i))
	}
	require.Contains(t, card.MessageText(a, approval.DrillDelivery), "· and 3 more")
}
