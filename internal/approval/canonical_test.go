package approval

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// oddParams is what readers of JSON have disagreed about.
var oddParams = []string{
	`{}`, ` { } `, `{"a":1}`, `{"b":1,"a":2}`, `{"b":{"d":1,"c":[{"z":0,"y":0}]},"a":[]}`, `{"a":[1,2,[3,{}]]}`,
	`{"a":1,}`, `{,}`, `{"a":[1,]}`, `{"a" 1}`, `{"a":1 "b":2}`, `{a:1}`, `{'a':1}`, `{"a":1}}`, `{"a":1}{}`, `{"a":1} x`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`, `{"a":[`,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"b":1,"a":2,"b":3}`, `{"":1,"":2}`, `{"":1,"a":2}`,
	`{"a":0}`, `{"a":-0}`, `{"a":-0.0}`, `{"a":00}`, `{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":.5}`, `{"a":5.}`, `{"a":1e5}`, `{"a":1E+2}`, `{"a":1e}`, `{"a":1-2}`, `{"a":1.50}`, `{"a":-1}`, `{"a":-01}`,
	`{"a":999999999999999}`, `{"a":9007199254740992}`, `{"a":9007199254740993}`, `{"a":1e21}`, `{"a":1e20}`, `{"a":1e-7}`, `{"a":0.000001}`, `{"a":1e400}`, `{"a":NaN}`, `{"a":Infinity}`,
	`{"a":true,"b":false,"c":null}`, `{"a":True}`, `{"a":nul}`, `{"a":truee}`, `{"a":undefined}`,
	`{"a":"\u0061\n\/\b\f\t\r\"\\"}`, `{"a":"\u00e9é"}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud800"}`, `{"a":"\udc00\ud800"}`, `{"a":"\u00zz"}`, `{"a":"\x"}`, "{\"a\":\"\x01\"}", "{\"a\":\"\x7f\"}",
	"{\"a\":\"\xff\"}", "{\"\xc3\x28\":1}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"<&>\u2028\"}",
	`{"\uffff":1,"\ud83d\ude00":2}`, "{\"\uffff\":1,\"\U0001F600\":2}", `{"é":1,"z":2,"e":3}`, `{"a\n":1,"a!":2,"a":3}`, `{"a\\":1,"a]":2}`, `{"\"":1,"!":2,"#":3}`,
	"\ufeff{}", "{\u00a0}", "{\v}", "\x00{}", "{}\x00", `[]`, `null`, `"x"`, `1`, ``, ` `,
	strings.Repeat(
		`{"a":`, 64,
	) + "1" + strings.Repeat("}", 64), strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
	`{"a":` + strings.Repeat(
		`[`, 63,
	) + strings.Repeat("]", 63) + `}`, `{"a":` + strings.Repeat(`[`, 64) + strings.Repeat("]", 64) + `}`,
	`{"a":` + strings.Repeat(`[`, 100_000), `{"a":` + strings.Repeat("1", 100) + `}`,
}

// FuzzCanonical holds what any canonical form is: the form of itself, JSON that means
// the same to the standard library, and it opens to what went in.
func FuzzCanonical(f *testing.F) {
	for _, s := range oddParams {
		f.Add(s)
		f.Add(`{"n":{"o":` + s + `,"a":[` + s + `]}}`)
	}
	f.Fuzz(func(t *testing.T, params string) {
		got, err := Canonical("t", json.RawMessage(params), nil)
		if err != nil {
			known := []error{errNotObject, errBroken, errDeep, errNumber}
			require.True(
				t, slices.ContainsFunc(known, func(e error) bool { return errors.Is(err, e) }), "%q: %v", params, err,
			)
			return
		}
		again, err := Canonical("t", got.Params, nil)
		require.NoError(t, err, "%q", params)
		require.Equal(t, string(got.Bytes), string(again.Bytes), "%q", params)
		require.Equal(t, meaning(t, []byte(params)), meaning(t, got.Params), "%q", params)
		tool, opened, _, err := Open(got.Bytes)
		require.NoError(t, err)
		require.Equal(t, "t", tool)
		require.Equal(t, string(got.Params), string(opened))
	})
}

// meaning is what the standard library reads.
func meaning(t *testing.T, params []byte) (v any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(params, &v))
	return v
}

func BenchmarkCanonical(b *testing.B) {
	params := json.RawMessage(`{"path":"/workspace/server/handler.go","limit":200}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical("read", params, nil); err != nil {
			b.Fatal(err)
		}
	}
}
