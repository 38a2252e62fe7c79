package render

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/bot/textcmd"
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
	hostile := listOf(3, 0, "<b>ALLOWED</b> https://evil.example @alice /approve")
	hostile.Digest.Title = "evil.example @x asks much at once: 3 more requests wait"
	for name, c := range map[string]card.Card{
		"digest": listOf(12, 470, "rm -rf build · in /srv/app"), "digest-empty": empty, "digest-hostile": hostile,
	} {
		got, _ := Card(c)
		for _, row := range textcmd.Buttons(c, textcmd.MenuMain) {
			got += "\n" + fmt.Sprint(row)
		}
		path := filepath.Join("testdata", name+".golden.html")
		if *rewrite {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, string(want), got, name)
	}
}

// The longest digest fits into a message with all its markup and buttons.
func TestTheLongestDigestFits(t *testing.T) {
	for _, text := range []string{strings.Repeat("&", 70), strings.Repeat("😀", 70), "a.b " + strings.Repeat("x", 66)} {
		html, card := Card(listOf(20, 480, text))
		require.LessOrEqual(t, visible(html), MaxText)
		require.LessOrEqual(t, strings.Count(html, "<code>"), maxEntities)
		buttons := 0
		for _, row := range textcmd.Buttons(card, textcmd.MenuMain) {
			buttons += len(row)
			for _, b := range row {
				require.LessOrEqual(t, len(b.Data), 64)
				require.NotEqual(t, textcmd.Allowing, b.Style)
			}
		}
		require.Equal(t, 21, buttons)
	}
}
