package display

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireVisible holds that nothing in s is hidden from a reader.
func requireVisible(t require.TestingT, s string, allowed string) {
	require.True(t, utf8.ValidString(s))
	for _, r := range s {
		unseen := unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
			unicode.Other_Default_Ignorable_Code_Point) || unicode.Is(unicode.Zs, r) && r != ' '
		require.False(t, unseen && !strings.ContainsRune(allowed, r), "%U in %q", r, s)
	}
}

func TestAdversary_S2_EveryKindIsEscaped(t *testing.T) {
	for _, r := range []rune{
		0, '\t', '\n', 0x1B, 0x7F, 0x85, 0xA0, 0xAD, 0x34F, 0x600, 0x61C, 0x115F, 0x1160, 0x1680, 0x17B4, 0x180B, 0x180E,
		0x2000, 0x200A, 0x200B, 0x200D, 0x200E, 0x2028, 0x2029, 0x202A, 0x202E, 0x202F, 0x205F, 0x2060, 0x2065, 0x2066,
		0x2069, 0x206F, 0x20D2, 0x20DD, 0x2800, 0x3000, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0x1D173,
		0xE0001, 0xE0020, 0xE007F, 0xE0100, 0xE01EF, 0x334, 0x335, 0x336, 0x337, 0x338,
	} {
		got := Escape("a" + string(r) + "b")
		require.Regexp(t, `^a\\u\{[0-9A-F]{1,6}\}b$`, got, "%U", r)
	}
	require.Equal(t, `\x{ED}\x{A0}\x{80}`, Escape("\xed\xa0\x80"), "a surrogate is no UTF-8")
	require.Equal(t, "\ufffd", Escape("\ufffd"), "a real replacement character is none")
	require.Equal(t, `👩\u{200D}💻 ❤\u{FE0F}`, Escape("👩\u200d💻 ❤\ufe0f"))
	require.Equal(t, "Größe 日本語 ñ e\u0301 \\ ~", Escape("Größe 日本語 ñ e\u0301 \\ ~"))
}

func TestEscapeIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Custom(crafted)).Draw(t, "s")
		requireVisible(t, Escape(s), "")
		require.Equal(t, Escape(s), Escape(Escape(s)))
		requireVisible(t, Safe(s), "")
	})
}

func TestClipCountsCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := rapid.String().Draw(t, "s"), rapid.IntRange(-1, 12).Draw(t, "n")
		got, cut := Clip(s, n)
		require.Equal(t, utf8.RuneCountInString(s) > max(n, 0), cut)
		if !cut {
			require.Equal(t, s, got)
			return
		}
		require.Equal(t, max(n, 0), utf8.RuneCountInString(got))
		require.True(t, strings.HasPrefix(s, strings.TrimSuffix(got, "…")))
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "ls\n", "a\u202eb", "\xff\xfe", `\u{A}`, "👩\u200d💻", "s\u0336"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		requireVisible(t, Escape(s), "")
		require.Equal(t, Escape(s), Escape(Escape(s)))
	})
}
