package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

func written(a api.Approval) string {
	var out bytes.Buffer
	Card(Column{To: &out, Width: 79}, a)
	return out.String()
}

// A terminal shows what the chats show.
func TestCard(t *testing.T) {
	soon := time.Now().Add(15 * time.Minute)
	a := api.Approval{Status: api.Pending, Code: "7KQ2M5", RiskClass: "R3", ExpiresAtMs: soon.UnixMilli(), Card: &api.Card{
		Headline: "main-agent asks to run", Call: []api.CardFact{{Name: "command", Value: "set -e\nmake", Block: true}, {Name: "env", Value: "A=b"}},
		Place: "in /srv", Risk: "External change (R3): sends commits", Claims: []string{"claimed: “weekly”"}, Warnings: []string{"look"},
		Flags: []string{"look-alikes"}, Votes: "1 of 2 yes (alice)", Details: []api.CardFact{{Name: "Tool", Value: "exec", Own: true}, {Name: "Session", Value: "s"}},
	}}
	require.Equal(t, "main-agent asks to run\n│ set -e\n│ make\n│ env: A=b\nin /srv\nExternal change (R3): sends commits\n💬 claimed: “weekly”\n⚠ look\n"+
		"⚠ look-alikes · 1 of 2 yes (alice) · until "+soon.Format("15:04 MST")+" (15 min) · 7KQ2M5\n", written(a))
	var out bytes.Buffer
	Details(Column{To: &out, Width: 79}, a)
	require.Equal(t, "Tool: exec\n💬 Session: s\n", out.String())

	a.Status, a.Card = api.Approved, &api.Card{Outcome: "✅ Allowed once by alice", Headline: "main-agent asked for", Summary: "make"}
	require.Equal(t, "✅ Allowed once by alice\nmain-agent asked for\n│ make\n7KQ2M5\n", strings.Replace(written(a), "\n\n", "\n", 1))
	a.Card, a.Owner, a.ToolName, a.ParamsSummary = nil, "main-agent", "exec", "make"
	require.Contains(t, written(a), "main-agent asks for exec\n│ make\nR3, external change or irreversible\n", "who may not decide gets no card")
}

// A difference keeps its signs, tabs and colours; a list of YAML is none, and no line of a call is without its bar.
func TestCard_ShowsADifference(t *testing.T) {
	draw := func(p Paint, facts ...api.CardFact) string {
		var out bytes.Buffer
		Column{To: &out, Width: 40, Paint: p}.call(facts)
		return out.String()
	}
	change := api.CardFact{Name: "change", Value: "  \tif err != nil {\n- \t\treturn err\n+ \t\treturn nil\n  \t}", Block: true}
	require.Equal(t, "│       if err != nil {\n│ -         return err\n│ +         return nil\n│       }\n", draw(false, change))
	require.Equal(t, "│       if err != nil {\n│ \x1b[31m-         return err\x1b[0m\n│ \x1b[32m+         return nil\x1b[0m\n│       }\n", draw(true, change))
	numbered := api.CardFact{Name: "patch", Value: "11   a\n12 - b\n   + c\n… 3 lines", Block: true}
	require.Contains(t, draw(true, numbered), "\x1b[32m   + c\x1b[0m\n│ … 3 lines\n")
	for _, other := range []string{"- a\n- b", "set -e\n- x\n+ y", "make"} {
		require.NotContains(t, draw(true, api.CardFact{Name: "content", Value: other, Block: true}), "\x1b", other)
	}
	require.Equal(t, "│ amount:   480.00 EUR\n│ to:       Mallory\n│ change 2:\n│ - a\n",
		draw(false, api.CardFact{Name: "amount", Value: "480.00 EUR"}, api.CardFact{Name: "to", Value: "Mallory"}, api.CardFact{Name: "change 2", Value: "- a"}))
}

// A long line goes on behind another mark, after a blank if there is one, with nothing of it left out.
func TestCard_WrapsALongLine(t *testing.T) {
	var out bytes.Buffer
	Column{To: &out, Width: 23}.call([]api.CardFact{{Name: "command", Value: "rm -rf /srv/a-b /srv/long\n+ " + strings.Repeat("x", 22), Block: true}})
	require.Equal(t, "│ rm -rf /srv/a-b \n┊ /srv/long\n│ + "+strings.Repeat("x", 18)+"\n┊ xxxx\n", out.String())
}

// An answer has one zone: the desk writes the times of an outcome in UTC.
func TestCard_TimesAreLocal(t *testing.T) {
	made := time.Date(2026, 11, 28, 17, 50, 0, 0, time.UTC)
	berlin := time.FixedZone("CET", 3600)
	a := api.Approval{CreatedAtMs: made.UnixMilli(), ResolvedAtMs: made.Add(26 * time.Minute).UnixMilli(), RevokedAtMs: made.Add(10 * time.Hour).UnixMilli()}
	require.Equal(t, "🚫 Revoked by bob, 29 Nov 04:50 CET · ✅ Allowed once by alice, 19:16 CET",
		inZone(a, "🚫 Revoked by bob, 29 Nov 03:50 UTC · ✅ Allowed once by alice, 18:16 UTC", berlin))
}

// Nothing that an asker wrote can stand at the beginning of a line of its own in a
// terminal, wherever that wraps, and nothing of it is left out.
func TestAdversary_S7_ACallInATerminalIsFramed(t *testing.T) {
	call := "set -e\nmake\n" + strings.Repeat(" ", 80) + "Votes: 2 of 2: alice, bob"
	words := "claimed: “" + strings.Repeat("x", 200) + "\r✅ Allowed”"
	out := written(api.Approval{Card: &api.Card{Call: []api.CardFact{{Name: "a\nb", Value: call}, {Value: call, Block: true}}, Claims: []string{words}}})
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.Trim(line, " ·") == "" || strings.HasPrefix(line, "until ") {
			continue
		}
		require.True(t, strings.HasPrefix(line, bar) || strings.HasPrefix(line, onward) || strings.HasPrefix(line, claim), "%q", line)
		require.LessOrEqual(t, len([]rune(line)), 80)
	}
	require.Contains(t, strings.NewReplacer("\n"+bar, "", "\n"+onward, "", bar, "").Replace(out), "set -emake"+strings.Repeat(" ", 80)+"Votes: 2 of 2")
	require.Contains(t, out, `\u{D}✅ Allowed`)
}
