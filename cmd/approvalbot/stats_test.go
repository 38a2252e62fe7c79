package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// Opening a part of the card is a look, and the first one counts; the card is known to
// stand in its chat from then on when it was sent.
func TestStats_FirstCardFirstLookDecision(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := r.exec("git push origin main")
	card := r.card(x)
	of := func() (counts [3]int) {
		s, err := r.operator().Stats(r.ctx(), 0)
		require.NoError(t, err)
		return [3]int{s.All.FirstCard.Count, s.All.FirstLook.Count, s.All.Decision.Count}
	}
	require.Equal(t, [3]int{1, 0, 0}, of())
	shows := func(button string) {
		_, err := r.group.WaitMessage(r.ctx(), func(m fakechat.TelegramMessage) bool {
			_, there := m.Button(button)
			return m.ID == card.ID && there
		})
		require.NoError(t, err)
	}
	r.tap(r.alice, r.group, card.ID, "More")
	shows("Back")
	require.Equal(t, [3]int{1, 1, 0}, of())
	first, err := r.desk.Gate.ByKey(r.ctx(), x.ID)
	require.NoError(t, err)
	r.tap(r.alice, r.group, card.ID, "Back")
	shows("More")
	again, err := r.desk.Gate.ByKey(r.ctx(), x.ID)
	require.NoError(t, err)
	require.Equal(t, first, again, "looking again writes nothing")
	require.Equal(t, "Allowed. It may run once, within 5 minutes.", r.tap(r.alice, r.group, card.ID, "Allow once").Text)
	require.Equal(t, [3]int{1, 1, 1}, of())
	last, err := r.desk.Gate.ByKey(r.ctx(), x.ID)
	require.NoError(t, err)
	require.Equal(t, first.LookedAtMs, last.LookedAtMs)
}
