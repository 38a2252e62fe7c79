package card

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What goes on in the next line of a phone is behind its sign and an arrow, and no text of a call begins so.
func TestALongLineOfADifferenceGoesOnBehindItsSign(t *testing.T) {
	line := func(sign Sign, text string) Line { return Line{Sign: sign, Pieces: []Piece{{Text: text}}} }
	b := Block{Kind: Diff, Lines: []Line{
		line(Same, "short"), line(Come, "\treturn fmt.Errorf(\"load %s: %w\", path, err)"), line(Gone, strings.Repeat("x", 40)), line(Come, "↳y"),
	}}
	require.Equal(t, []string{
		"  short",
		"+ \treturn fmt.Errorf(\"load ", "+↳%s: %w\", path, err)",
		"- " + strings.Repeat("x", 29), "-↳" + strings.Repeat("x", 11),
		"+ ↳y",
	}, b.Within())
	b.Lines = []Line{{No: 120, Sign: Come, Pieces: []Piece{{Text: strings.Repeat("界", 20)}}}}
	require.Equal(t, []string{"120 + " + strings.Repeat("界", 12), "    +↳" + strings.Repeat("界", 8)}, b.Within())
}

// All of a difference is drawn, and every line of the drawing has the sign of the line that it is of.
func TestADifferenceWithinAPhoneLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z ↳+\-\t界]{0,120}`).Draw(t, "text")
		sign := rapid.SampledFrom([]Sign{Same, Gone, Come}).Draw(t, "sign")
		l := Line{Sign: sign, Pieces: []Piece{{Text: text}}}
		drawn := Block{Kind: Diff, Lines: []Line{l}}.Within()
		joined := drawn[0]
		for _, s := range drawn[1:] {
			rest, ok := strings.CutPrefix(s, l.Signed()[:1]+"↳")
			require.True(t, ok, "%q", s)
			joined += rest
		}
		require.Equal(t, l.Signed(), joined)
	})
}
