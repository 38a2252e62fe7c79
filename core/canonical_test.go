package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
)

// byLibrary is Canonical by a strict parser and canonicalizer that are not ours,
// in three passes.
func byLibrary(toolName string, params json.RawMessage, bind *Bind) ([]byte, error) {
	d := jsontext.NewDecoder(bytes.NewReader(params))
	if d.PeekKind() != '{' {
		return nil, errNotObject
	}
	for done := false; !done; done = d.StackDepth() == 0 {
		tok, err := d.ReadToken()
		switch {
		case err != nil:
			return nil, errBroken
		case d.StackDepth() > maxDepth:
			return nil, errDeep
		case tok.Kind() == '0' && !survives(tok.String()):
			return nil, errNumber
		}
	}
	members := map[string]any{"params": params, "toolName": toolName}
	if bind != nil {
		members["bind"] = bind
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, errNotObject
	}
	v := jsontext.Value(raw)
	if v.Canonicalize() != nil {
		return nil, errBroken
	}
	return v, nil
}

// same requires that Canonical and the library agree: on the bytes, or on that
// there are none.
func same(t *testing.T, tool, params string, bind *Bind) {
	t.Helper()
	want, wrong := byLibrary(tool, json.RawMessage(params), bind)
	got, err := Canonical(tool, json.RawMessage(params), bind)
	require.Equal(t, wrong == nil, err == nil, "%q: the library says %v, the desk says %v", params, wrong, err)
	require.Equal(t, string(want), string(got.Bytes), "%q", params)
	if err != nil {
		require.True(t, errors.Is(err, errNotObject) || errors.Is(err, errBroken) || errors.Is(err, errDeep) || errors.Is(err, errNumber))
	}
}

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
	strings.Repeat(`{"a":`, 64) + "1" + strings.Repeat("}", 64), strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65),
	`{"a":` + strings.Repeat(`[`, 63) + strings.Repeat("]", 63) + `}`, `{"a":` + strings.Repeat(`[`, 64) + strings.Repeat("]", 64) + `}`,
	`{"a":` + strings.Repeat(`[`, 100_000), `{"a":` + strings.Repeat("1", 100) + `}`,
}

func TestAdversary_B2_CanonicalIsRFC8785(t *testing.T) {
	for _, params := range oddParams {
		same(t, "exec", params, nil)
		same(t, "exec", params, &Bind{Workdir: new("/w"), Host: new(`"é`), EnvHash: new("x")})
		same(t, "exec", `{"n":{"o":`+params+`,"a":[`+params+`]}}`, &Bind{Host: new("h")})
	}
	same(t, "exec", `{}`, &Bind{})
	same(t, "exec", `{}`, &Bind{Host: new(""), EnvHash: new("")})
	same(t, "a\"b\\\xffé\n", `{}`, &Bind{Workdir: new("\xff\xfe<\x01")})
}

func FuzzCanonicalIsRFC8785(f *testing.F) {
	for _, s := range oddParams {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, params string) { same(t, "t", params, nil) })
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
