package render

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// What Telegram brings to life is found by hand as by this expression.
func TestLivelyIsTheExpression(t *testing.T) {
	twin := regexp.MustCompile(`[@#$]|(^|[^\pL\pN_])/[\pL\pN_]|://|[\pL\pN_-]\.[\pL\pN]|\+\d|\d[\d -]{5,}\d`)
	var each func(s string, parts []string, left int)
	each = func(s string, parts []string, left int) {
		if twin.MatchString(s) != lively(s) {
			require.Equal(t, twin.MatchString(s), lively(s), "%q", s)
		}
		for _, part := range parts {
			if left > 0 {
				each(s+part, parts, left-1)
			}
		}
	}
	each("", []string{"a", "Z", "я", "一", "٣", "Ⅷ", "é", "\u0301", "_", "-", ".", "/", ":", "+", " ", "\n", "0", "(", "\xff", "\u00a0", "\ufffd", "…", "@", "#", "$"}, 3)
	each("", []string{"7", " ", "-", "x"}, 8)
	each("7", []string{"7", "é", "-"}, 9)
}
