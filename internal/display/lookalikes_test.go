package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAdversary_S3_Sentences(t *testing.T) {
	for in, want := range map[string]string{
		"pаypal":     `"pаypal" contains U+0430 CYRILLIC SMALL LETTER A, which looks like "a"`,
		"ср a b":     `"ср" contains U+0441 CYRILLIC SMALL LETTER ES, which looks like "c"`,
		"gооgle.com": `"gооgle" contains U+043E CYRILLIC SMALL LETTER O, which looks like "o"`,
		"οрen":       `"οрen" contains U+03BF GREEK SMALL LETTER OMICRON, which looks like "o"`,
		"сοр":        `"сοр" contains U+0441 CYRILLIC SMALL LETTER ES, which looks like "c"`,
		"ａpt":        `"ａpt" contains U+FF41 FULLWIDTH LATIN SMALL LETTER A, which looks like "a"`,
		"𝒓𝒎":         `"𝒓𝒎" contains U+1D493 MATHEMATICAL BOLD ITALIC SMALL R, which looks like "r"`,
		"r\u0336m":   `"r\u{336}m" contains U+0336 COMBINING LONG STROKE OVERLAY, a mark that changes the character before it`,
		"git\ufe0f":  `"git\u{FE0F}" contains U+FE0F VARIATION SELECTOR-16, which is invisible`,
		"x\u0353y":   "\"x\u0353y\" contains U+0353 COMBINING X BELOW, a mark that changes the character before it",
		"rm –rf":     `"–rf" contains U+2013 EN DASH, which looks like "-"`,
		"a∕b":        `"a∕b" contains U+2215 DIVISION SLASH, which looks like "/"`,
		"gıt":        `"gıt" contains U+0131 LATIN SMALL LETTER DOTLESS I, which looks like "i"`,
		"fooж":       `"fooж" contains U+0436 CYRILLIC SMALL LETTER ZHE, a letter of another script`,
	} {
		require.Equal(t, []string{want}, Lookalikes(in, 3), in)
		require.Equal(t, []string{want}, Lookalikes(Escape(in), 3), "escaped: %s", in)
	}
}

func TestAdversary_S3_HonestTextIsNoFinding(t *testing.T) {
	for _, s := range []string{
		"Удалить все файлы в папке, он с ней у нас", "Тест кто вот нет сам рот о а у с", "Να διαγραφεί το αρχείο", "使用git命令，然后 rm", "T恤 Wi-Fi接続",
		"Ελλάδα 2024", "naïve café Ångström", "re\u0301sume\u0301", "مرحبا بالعالم", "हिन्दी में", "שלום עולם", "a – b, well–known — yes", "don’t “quote”", "5 µm, 20 °C", "слово—word",
		"日本語テキスト", "한국어 text", "x² + y²",
	} {
		require.Empty(t, Lookalikes(s, 3), s)
	}
}

func TestAdversary_S6_FindingsQuoteNoSecret(t *testing.T) {
	require.Empty(t, Lookalikes("PASSWORD=hunterаbc2", 3))
	require.NotContains(t, strings.Join(Lookalikes("pаypal TOKEN=sеcret123", 3), ""), "cret123")
}

func TestLookalikesAreLimited(t *testing.T) {
	words := "аa вb сc оo еe аa"
	require.Len(t, Lookalikes(words, 9), 5, "the same word is named once")
	require.Equal(t, "and 3 more", Lookalikes(words, 2)[2])
	require.Equal(t, []string{"and 5 more"}, Lookalikes(words, 0))
	long := Lookalikes("а"+strings.Repeat("x", 500), 1)
	require.Less(t, len(long[0]), 120)
	rapid.Check(t, func(t *rapid.T) {
		for _, finding := range Lookalikes(rapid.String().Draw(t, "s"), 3) {
			requireVisible(t, finding, "")
		}
	})
}
