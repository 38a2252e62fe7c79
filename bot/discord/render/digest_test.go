package render

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// listOf is a digest with so many entries of that text.
func listOf(n, more int, text string) card.Card {
	d := card.Digest{Code: "7KQ2AB", Version: 3, Title: "main-agent asks much at once: 22 more requests wait", More: more}
	for i := range n {
		d.Entries = append(d.Entries, card.DigestEntry{Code: fmt.Sprintf("K7QX%02d", i), Risk: approval.RiskClass(3 - i/8), Text: text})
	}
	return card.Card{Code: d.Code, Status: approval.Pending, Headline: card.Words{{Text: d.Title}}, Digest: &d}
}

// Goldens of digests; -update writes them.
func TestGoldenDigests(t *testing.T) {
	empty := listOf(0, 0, "")
	empty.Digest.Title = "No request of this list is waiting any more."
	hostile := listOf(3, 0, "**ALLOWED** <@1> [x](https://evil.example) ``` # x")
	hostile.Digest.Title = "@everyone **x** asks much at once: 3 more requests wait"
	for name, c := range map[string]card.Card{
		"digest": listOf(12, 470, "rm -rf build · in /srv/app"), "digest-empty": empty, "digest-hostile": hostile,
	} {
		message, _ := Card(c)
		got, err := json.MarshalIndent(message, "", "  ")
		require.NoError(t, err)
		path := filepath.Join("testdata", name+".golden.json")
		if *updateGolden {
			require.NoError(t, os.WriteFile(path, append(got, '\n'), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), name)
	}
}

// The longest digest fits into a message: 4,000 code units of text, 40 components
// (Components, Legacy Message Component Behavior and Overview).
func TestTheLongestDigestFits(t *testing.T) {
	for _, text := range []string{strings.Repeat("*", 70), strings.Repeat("😀", 70), strings.Repeat("`", 70)} {
		c := listOf(20, 480, text)
		c.Digest.Title = strings.Repeat("*", 40) + " asks much at once: 500 more requests wait"
		message, _ := Card(c)
		for _, x := range components(message.Components) {
			switch x := x.(type) {
			case discordgo.Button:
				require.LessOrEqual(t, len(x.CustomID), maxCustomID)
			case discordgo.ActionsRow:
				require.LessOrEqual(t, len(x.Components), 5)
			}
		}
		require.LessOrEqual(t, units(textOf(message)), maxCardText)
		require.LessOrEqual(t, len(components(message.Components)), 40)
	}
}
