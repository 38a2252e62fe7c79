package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
)

// While run waits, it says in which chats the card is, and where none came.
func TestRun_SaysWhereItWaits(t *testing.T) {
	t.Parallel()
	d := deskFor(t)
	d.create = "pending"
	cards := func(state, failure string) []map[string]any {
		return []map[string]any{{"target": "telegram:-5:7", "state": state}, {"target": "discord:6", "state": "queued"}, {"target": "discord:9", "state": "failed", "error": failure}}
	}
	d.approval["deliveries"] = cards("queued", "The bot may not write here.")
	s := start(t, d, "run", "--", "true")
	s.says(t, "approvalbot: waiting for approval 7KQ2M5")
	s.says(t, "approvalbot: people decide it in the chats that get its card, or in approvalbot watch")
	s.says(t, "approvalbot: no card in discord:9: The bot may not write here.")
	require.NotContains(t, s.out.String(), "-5")
	d.mu.Lock()
	d.approval["deliveries"] = cards("sent", "The bot may not write here.")
	d.mu.Unlock()
	s.says(t, "approvalbot: its card is in telegram:-5:7")
	d.end("denied", "deny", "person:alice", "no")
	require.Equal(t, app.ExitDenied, s.ends(t))
	require.Contains(t, s.out.String(), "approvalbot: not run: denied by alice: no")
	require.Equal(t, 1, strings.Count(s.out.String(), "no card in discord:9"))
	require.NotRegexp(t, "approvalbot (decide|approve)|--decision|allow-once", s.out.String(), "how it is decided is not for whoever asks")
}
