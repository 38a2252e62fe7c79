package display

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A value is shown as what it consists of, without quotes; blanks and line feeds are as they are.
func TestLeaves(t *testing.T) {
	fields, err := Params([]byte(`{"text":"\ta \"b\" \\\\n\n\n","n": 1.50,"o":{"k":[1,"z\u202e"],"e":{},"x.y":null,"tab":"a\tb"},"password":"p4ss",` +
		`"env":[{"name":"DB_PASSWORD","value":"hunter2hunter2"}],"line":"curl -H 'Authorization: Bearer abcdef0123456789'"}`))
	require.NoError(t, err)
	var got []string
	for _, f := range fields {
		for _, l := range f.Leaves() {
			got = append(got, strings.Join(append([]string{f.Name}, l.Path...), "/")+"="+l.Text)
		}
	}
	require.Equal(t, []string{
		"text=\ta \"b\" \\\\n\n\n", "n=1.50", "o/k/0=1", `o/k/1=z\u{202E}`, "o/e={}", `o/"x.y"=null`, "o/tab=a\tb", "password=[REDACTED]",
		"env/0/name=DB_PASSWORD", "env/0/value=[REDACTED]", "line=curl -H 'Authorization: Bearer [REDACTED]'",
	}, got)
	deep := `{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `,"b":[` + strings.Repeat("1,", maxLeaves) + `1]}`
	fields, err = Params([]byte(deep))
	require.NoError(t, err)
	require.Equal(t, []Leaf{{Text: fields[0].Value}}, fields[0].Leaves(), "too deep: the whole is one")
	require.Equal(t, []Leaf{{Text: fields[1].Value}}, fields[1].Leaves(), "too many: the whole is one")
}

// No secret is in a leaf that is hidden in the value.
func TestLeavesHideWhatParamsHide(t *testing.T) {
	secret := "sk-ant-api03-" + strings.Repeat("aB3", 20)
	word := rapid.SampledFrom([]string{secret, "--token", "Authorization: Bearer " + secret, "x", "a b", "\\", "\"", "\n", "é"})
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		text.WriteString(`{"v":{`)
		for i, w := range rapid.SliceOfN(word, 1, 6).Draw(t, "words") {
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteString(quoteJSON(rapid.SampledFrom([]string{"token", "k", "value", "name"}).Draw(t, "name")) + ":[" + quoteJSON(w) + "]")
		}
		text.WriteString("}}")
		fields, err := Params([]byte(text.String()))
		require.NoError(t, err)
		for _, l := range fields[0].Leaves() {
			require.Contains(t, fields[0].Value, strings.Trim(quoteJSON(l.Text), `"`))
			require.NotContains(t, l.Text, secret)
		}
	})
}

// Tabs and line feeds stay; what hides or deceives does not.
func TestEscapeText(t *testing.T) {
	require.Equal(t, "a\tb\n\tc\\u{202E}\\u{D}\n", EscapeText("a\tb\n\tc\u202e\r\n"))
	require.Equal(t, "x\n"+strings.Repeat(`\u{9}`, maxTabs+1), EscapeText("x\n"+manyTabs))
}
