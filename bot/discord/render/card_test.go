package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

var updateGolden = flag.Bool("update", false, "write the golden files anew")

func fullCard() card.Card {
	return card.Card{
		Code: "7KQ2AB", Status: approval.Pending, Risk: approval.R3, Headline: card.Words{{Text: "main-agent asks "}, {Text: "to change "}, {Text: "a`b", Theirs: true}},
		Place: card.Words{{Text: "in "}, {Text: "/srv/app", Theirs: true}},
		Why:   "R3 external change or irreversible: - not a list; *nor this*", Warnings: []string{"р in “pаypal” is CYRILLIC"},
		Call:    card.Blocks([]card.Fact{{Name: "command", Value: "git push --force origin main", Block: true}, {Name: "env", Value: "A=`date`"}, {Name: "long", Value: strings.Repeat("x ", 80)}, {Name: "@everyone **x**", Value: ""}}),
		Details: []card.Fact{{Name: "Agent", Value: "main"}, {Name: "Fingerprint", Value: "0123456789ab", Own: true}},
		Claims:  []string{"claimed: “Risk: R0 · approved by policy <@1> https://x.y ``` > no”"},
		State:   card.State{Flags: []string{"look-alikes"}, Votes: "1 of 2 yes (alice)", UntilMs: 1_700_000_000_000, Until: "until 15:04 CET (15 min)"},
		Offers:  []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways},
	}
}

// Goldens of what Discord is sent; -update writes them.
func TestGoldenCards(t *testing.T) {
	end := func(s approval.Status, bad bool, outcome ...card.Word) card.Card {
		c := fullCard()
		c.Status, c.Bad, c.Outcome, c.Call, c.Place, c.State, c.Offers = s, bad, outcome, nil, nil, card.State{}, nil
		c.Headline, c.Summary = card.Words{{Text: "main-agent asked for"}}, "git push --force origin main · in /srv/app"
		return c
	}
	at := card.Word{Text: "15:00 CET", AtMs: 1_700_000_000_000}
	ended := end(approval.Approved, false, card.Word{Text: "✅ Allowed once by alice, "}, at, card.Word{Text: " · reported: exit 0"})
	denied := end(approval.Denied, true, card.Word{Text: "⛔ Denied by bob, "}, at, card.Word{Text: ": *no*"})
	failed := end(approval.Approved, true, card.Word{Text: "✅ Allowed once by alice, "}, at, card.Word{Text: " · ❌ reported: failed, exit 1"})
	withdrawn := end(approval.Withdrawn, false, card.Word{Text: "⌛ Withdrawn by token main-agent, "}, at)
	withdrawn.Claims = append(withdrawn.Claims, "withdrawn because: “✅ **Allowed once by alice**”")
	forged, script, long := fullCard(), fullCard(), fullCard()
	long.Claims = []string{strings.Repeat("y", 3500)}
	forged.Call = card.Blocks([]card.Fact{{Name: "Votes", Value: "2 of 2: alice, bob"}, {Name: "Fingerprint", Value: "000000000000"}, {Name: "bound to host", Value: "staging"}, {Name: "bound to host", Value: "prod-1", Own: true}})
	forged.Cut = "… and 57 more parameters, whole in the file above"
	script.Call = card.Blocks([]card.Fact{{Name: "command", Value: "set -e\nmake\n✅ **allowed once by alice**", Block: true}})
	toolong := long
	toolong.Call = card.Blocks([]card.Fact{{Name: "command", Value: strings.Repeat("`", 3500)}})
	for name, c := range map[string]card.Card{"pending": fullCard(), "approved": ended, "denied": denied, "long": long, "toolong": toolong, "plain": smallCard(), "forged": forged, "script": script, "withdrawn": withdrawn, "failed": failed} {
		message, _ := Card(c)
		got, err := json.MarshalIndent(message, "", "  ")
		require.NoError(t, err)
		path := filepath.Join("testdata", name+".golden.json")
		if *updateGolden {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), name)
	}
}

// What does not fit is never offered.
func TestTooLongIsDenyOnly(t *testing.T) {
	c := fullCard()
	c.Call = card.Blocks([]card.Fact{{Name: "command", Value: strings.Repeat("x", 4000)}})
	message, shown := Card(c)
	require.Empty(t, shown.Offers)
	require.Contains(t, textOf(message), "can only be denied here")
	require.Contains(t, textOf(message), "7KQ2AB")
}

// textOf is all text of a message.
func textOf(m Message) string {
	var all []string
	for _, c := range components(m.Components) {
		if text, ok := c.(discordgo.TextDisplay); ok {
			all = append(all, text.Content)
		}
	}
	return strings.Join(append(all, m.Content), "\n")
}

// components are those of the list and all within them.
func components(list []discordgo.MessageComponent) []discordgo.MessageComponent {
	var all []discordgo.MessageComponent
	for _, c := range list {
		all = append(all, c)
		switch c := c.(type) {
		case discordgo.Container:
			all = append(all, components(c.Components)...)
		case discordgo.ActionsRow:
			all = append(all, components(c.Components)...)
		}
	}
	return all
}

// nasty draws texts of what means something to Discord.
func nasty() *rapid.Generator[string] {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"`", "``", "```", "````", "*", "**", "_", "~~", "||", "> ", "# ", "- ", "1. ", "\\", "<@1>", "<@&2>", "<#3>", "@everyone", "@here", "https://evil.example/x", "[a](https://b.c)", "<t:1:R>", ":smile:", "\u202e", "🟥", " ", "x"}),
		rapid.StringMatching(`[ -~]{0,8}`),
	)
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 300).Draw(t, "pieces"), "")
	})
}

// How Discord's clients find code, from left to right.
var (
	fenceOf  = regexp.MustCompile("(?s)^```(?:([a-z0-9_+\\-.#]+?)\n)?\n*([^\n].*?)\n*```")
	inlineOf = regexp.MustCompile("^`[^`\n]+`")
	alive    = regexp.MustCompile("@everyone|@here|<@|<#|<t:|https?://|\\[|`")
)

// outsideOfCode is the text without code and without what a backslash makes plain.
func outsideOfCode(s string) string {
	var out strings.Builder
	for s != "" {
		n := 1
		switch {
		case s[0] == '\\' && len(s) > 1 && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[1]) >= 0:
			n = 2
		case fenceOf.MatchString(s):
			n = len(fenceOf.FindString(s))
		case inlineOf.MatchString(s):
			n = len(inlineOf.FindString(s))
		default:
			out.WriteByte(s[0])
		}
		s = s[n:]
	}
	return out.String()
}

// S4: limits hold, code cannot be broken out of, and outside of code nothing is
// alive.
func TestAdversary_S4_Property(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := func(name string) card.Words {
			return card.Words{{Text: nasty().Draw(t, name)}, {Text: nasty().Draw(t, name+" of theirs"), Theirs: true}}
		}
		c := card.Card{
			Code: "7KQ2AB", Status: approval.Pending, Headline: line("headline"), Place: line("place"),
			Why: nasty().Draw(t, "why"), Offers: []approval.Decision{approval.AllowOnce}, State: card.State{Votes: nasty().Draw(t, "votes"), Flags: []string{nasty().Draw(t, "flag")}},
			Call:   card.Blocks([]card.Fact{{Name: nasty().Draw(t, "name"), Value: nasty().Draw(t, "value"), Block: rapid.Bool().Draw(t, "block")}}),
			Claims: []string{nasty().Draw(t, "claim")}, Warnings: []string{nasty().Draw(t, "warning")},
		}
		message, shown := Card(c)
		require.LessOrEqual(t, units(textOf(message)), maxCardText+40)
		all := textOf(message)
		if len(shown.Offers) > 0 {
			for _, line := range c.Call[0].Within() {
				require.Contains(t, all, fenceless(line), "everything that would run is there")
			}
			for _, w := range []card.Word{c.Headline[1], c.Place[1]} {
				require.Contains(t, all, inline(w.Text))
			}
		}
		require.NotRegexp(t, alive, outsideOfCode(all))
	})
}

func TestPlainKeepsToTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Repeat(nasty().Draw(t, "s"), rapid.IntRange(1, 4).Draw(t, "n"))
		require.LessOrEqual(t, units(Plain(s, MaxText, nil)), MaxText)
		for _, part := range Split(s, MaxText, nil) {
			require.LessOrEqual(t, units(Plain(part, MaxText, nil)), MaxText)
			require.NotContains(t, Plain(part, MaxText, nil), "…")
		}
		require.LessOrEqual(t, units(Cut(s, 50)), 50)
	})
}

// Only the times that a text is known to name are alive; one that is a part of another
// one does not spoil it.
func TestTimedWritesKnownTimesOnly(t *testing.T) {
	times := card.Times{"1 Nov 15:04:05 CET": 1_000, "21 Nov 15:04:05 CET": 21_000}
	require.Equal(t, `by \*a at <t:21:t> (<t:21:R>), until <t:1:t> (<t:1:R>)`, timed("by *a at 21 Nov 15:04:05 CET, until 1 Nov 15:04:05 CET", times))
	require.Equal(t, `\<t:5:R> 2 Nov`, timed("<t:5:R> 2 Nov", times))
	require.Equal(t, `no times`, timed("no times", nil))
}

func smallCard() card.Card {
	return card.Card{
		Code: "7KQ2AB", Status: approval.Pending, Risk: approval.R3, Headline: card.Words{{Text: "main-agent asks to run"}}, Why: "R3 external change or irreversible",
		Call: card.Blocks([]card.Fact{{Name: "command", Value: "git push --force", Block: true}}), State: card.State{UntilMs: 1_700_000_000_000},
		Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession},
	}
}
