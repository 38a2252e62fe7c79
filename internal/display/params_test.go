package display

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func shown(t require.TestingT, params string) string {
	fields, err := Params([]byte(params))
	require.NoError(t, err, params)
	var lines []string
	for _, field := range fields {
		lines = append(lines, field.Name+": "+field.Value)
	}
	return strings.Join(lines, "\n")
}

func TestParamsLooks(t *testing.T) {
	for in, want := range map[string]string{
		`{}`:                                ``,
		`{"b":1,"a":2}`:                     "b: 1\na: 2",
		`{"n":1.0,"big":12345678901234567}`: "n: 1.0\nbig: 12345678901234567",
		`{"s":"say \"hi\" \\ there"}`:       `s: say "hi" \ there`,
		`{"s":"\"x\""}`:                     `s: "\"x\""`,
		`{"s":"null"}`:                      `s: "null"`,
		`{"s":null}`:                        `s: null`,
		`{"s":"12"}`:                        `s: "12"`,
		`{"s":"{\"a\":1}"}`:                 `s: "{\"a\":1}"`,
		`{"s":"x\u00a0"}`:                   `s: "x\u{A0}"`,
		`{"o":{"a":["x\ny",true,null]}}`:    `o: {"a":["x\ny",true,null]}`,
		`{"o":["<b>&"]}`:                    `o: ["<b>&"]`,
		`{"o":["a\u202eb\u0000"]}`:          `o: ["a\u{202E}b\u{0}"]`,
	} {
		require.Equal(t, want, shown(t, in))
	}
	for _, bad := range []string{``, ` `, `[]`, `"a"`, `{`, `{"a":1}{`, `{"a":1} x`, "{\"a\":\"\xff\"}", `null`} {
		_, err := Params([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestAdversary_S2_ParamsKeepToTheirLine(t *testing.T) {
	require.Equal(t, `a\u{A}Risk: R0: ls\u{D}\u{A}Risk: R0`, OneLine(shown(t, `{"a\nRisk: R0":"ls\r\nRisk: R0"}`)))
}

// The line feeds of a script stay, for a block of its own; nothing else does, and
// nothing is pushed out of sight.
func TestAdversary_S2_Blocks(t *testing.T) {
	for in, want := range map[string]string{
		"one line":            "one line",
		"a\nb":                "a\nb",
		"a\n\nb\n":            "a\n\nb\\u{A}",
		"a\n\n\n\n\nrm -rf ~": "a\n\\u{A}\\u{A}\\u{A}\nrm -rf ~",
		"a\n \n  \n \nb":      "a\n \\u{A}  \\u{A} \nb",
		"\na":                 "\\u{A}a",
		"\n\na":               "\\u{A}\na",
		"a\r\n\tb\u2028c":     "a\\u{D}\n\tb\\u{2028}c",
	} {
		require.Equal(t, want, EscapeBlock(in), "%q", in)
		require.Equal(t, Escape(in), OneLine(EscapeBlock(in)), "%q", in)
	}
	require.Equal(t, "x: a\nb\\u{A}", shown(t, `{"x":"a\nb\n"}`), "a script is not put into quotation marks for its last line feed")
	require.Equal(t, `x: "a\n"`, shown(t, `{"x":"a\n"}`))
	require.Equal(t, "sh -c 'a\nTOKEN=[REDACTED] b'", ArgvBlock([]string{"sh", "-c", "a\nTOKEN=abc b"}))
}

func TestAdversary_S6_SecretsInParams(t *testing.T) {
	for in, want := range map[string]string{
		`{"password":"p4ss"}`:                             `password: [REDACTED]`,
		`{"apiKey":"abc"}`:                                `apiKey: [REDACTED]`,
		`{"password":123456}`:                             `password: [REDACTED]`,
		`{"p":{"clientSecret":"abc","x":"y"}}`:            `p: {"clientSecret":"[REDACTED]","x":"y"}`,
		`{"secrets":["abc","def"]}`:                       `secrets: ["[REDACTED]","[REDACTED]"]`,
		`{"env":{"DB_PASSWORD":"abc","HOME":"/root"}}`:    `env: {"DB_PASSWORD":"[REDACTED]","HOME":"/root"}`,
		`{"env":[{"name":"API_KEY","value":"abc"}]}`:      `env: [{"name":"API_KEY","value":"[REDACTED]"}]`,
		`{"argv":["mysql","-pS3cret"]}`:                   `argv: ["mysql","-p[REDACTED]"]`,
		`{"argv":["tool","--token","abc"]}`:               `argv: ["tool","--token","[REDACTED]"]`,
		`{"command":"TOKEN=abc make"}`:                    `command: TOKEN=[REDACTED] make`,
		`{"o":["sk-\u200babcdefghijklmnop0123"]}`:         `o: ["[REDACTED]"]`,
		`{"o":["sk-abcdefgh\u0007ijklmnop0123"]}`:         `o: ["[REDACTED]\u{7}[REDACTED]"]`,
		`{"headers":{"Authorization":"Bearer abc"}}`:      `headers: {"Authorization":"Bearer [REDACTED]"}`,
		`{"Authorization":"Bearer abcdef123456"}`:         `Authorization: Bearer [REDACTED]`,
		`{"key":"ctrl+c","token":"/run/t","auth":"none"}`: "key: ctrl+c\ntoken: /run/t\nauth: none",
	} {
		require.Equal(t, want, shown(t, in), in)
	}
}

func TestAdversary_S8_ParamsHideOnlyLiterals(t *testing.T) {
	for _, value := range []string{"$(rm -rf ~)", "a;rm", "a b", "x|sh", "`id`", strings.Repeat("x", 5000), "~/evil", "{a,b}"} {
		require.Equal(t, "password: "+value, shown(t, `{"password":"`+value+`"}`))
	}
	require.Equal(t, "password: a\nrm -rf ~", shown(t, `{"password":"a\nrm -rf ~"}`))
}

// object draws a JSON object of crafted strings.
func object(t *rapid.T) []byte {
	text := rapid.Custom(crafted)
	leaf := rapid.OneOf(rapid.Map(text, func(s string) any { return s }), rapid.Map(rapid.Int(), func(n int) any { return n }))
	inner := rapid.MapOfN(text, leaf, 0, 3)
	members := rapid.MapOfN(text, rapid.OneOf(leaf, rapid.Map(inner, func(m map[string]any) any { return m }),
		rapid.Map(rapid.SliceOfN(leaf, 0, 3), func(l []any) any { return l })), 0, 4).Draw(t, "members")
	data, err := json.Marshal(members)
	require.NoError(t, err)
	return data
}

func TestParamsAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fields, err := Params(object(t))
		require.NoError(t, err)
		for _, field := range fields {
			requireVisible(t, field.Name, "")
			requireVisible(t, OneLine(field.Value), "")
			require.Equal(t, OneLine(field.Value), Escape(field.Value))
		}
	})
}
