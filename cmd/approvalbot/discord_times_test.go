package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// stamp is how Discord is told a time: it shows it in the reader's zone.
func stamp(ms int64) string { return fmt.Sprintf("<t:%d:t> (<t:%d:R>)", ms/1000, ms/1000) }

// moment is how a card is told one that has been.
func moment(ms int64) string { return fmt.Sprintf("<t:%d:t>", ms/1000) }

// On Discord times are shown in each reader's own zone, on cards, in lists and in what
// is told; what a person or an asker writes stays as it is written.
func TestDiscord_TimesAreTheReadersOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord)
	a := r.exec("git push origin main")
	card, err := r.ops.WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool { return strings.Contains(m.Text(), a.Code) && len(m.Rows) > 0 })
	require.NoError(t, err)
	require.Contains(t, card.Text(), "ends "+fmt.Sprintf("<t:%d:R>", a.ExpiresAtMs/1000))
	require.Contains(t, r.told(r.accounts["alice"].Slash(r.ops, "pending", nil)), "until "+stamp(a.ExpiresAtMs))

	r.told(r.accounts["alice"].Slash(r.ops, "approve", fakechat.DiscordArgs{"code": a.Code, "reason": "till <t:1:R>"}))
	got := r.final(a)
	settled, err := r.ops.WaitMessage(r.ctx(), func(m fakechat.DiscordMessage) bool { return m.ID == card.ID && !decides(m.Labels()) })
	require.NoError(t, err)
	require.Contains(t, settled.Text(), "Allowed once by alice, "+moment(got.ResolvedAtMs))
	require.Contains(t, settled.Text(), `till \<t:1:R>`)
	for _, m := range r.group.FromBot() {
		require.NotContains(t, m.Text, ":R>)", "Telegram knows no such thing")
	}
}
