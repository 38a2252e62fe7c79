package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func fingerprint(t *testing.T, params string) string {
	t.Helper()
	s, err := Canonical("exec", json.RawMessage(params), nil)
	require.NoError(t, err)
	return s.Fingerprint
}

func TestAdversary_B2_SameValueSameFingerprint(t *testing.T) {
	same := [][2]string{
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{`{"a":1.0}`, `{"a":1}`},
		{`{"a":1e2}`, `{"a":100}`},
		{`{"a":"\u0061"}`, `{"a":"a"}`},
		{`{ "a" : [ 1 , 2 ] }`, `{"a":[1,2]}`},
		{`{"a":0.1}`, `{"a":0.10}`},
		{`{"a":"<b>&\u2028"}`, "{\"a\":\"<b>&\u2028\"}"},
	}
	for _, p := range same {
		require.Equal(t, fingerprint(t, p[0]), fingerprint(t, p[1]), "%s and %s", p[0], p[1])
	}
}

func TestAdversary_B2_OtherValueOtherFingerprint(t *testing.T) {
	other := [][2]string{
		{`{"a":1}`, `{"a":"1"}`},
		{`{"a":1}`, `{"a":2}`},
		{`{"a":[1,2]}`, `{"a":[2,1]}`},
		{`{"a":"\u00e9"}`, `{"a":"e\u0301"}`}, // composed and decomposed are different bytes
		{`{"a":"rm "}`, `{"a":"rm"}`},
		{`{}`, `{"a":null}`},
	}
	for _, p := range other {
		require.NotEqual(t, fingerprint(t, p[0]), fingerprint(t, p[1]), "%s and %s", p[0], p[1])
	}
}

func TestAdversary_B2_WhatDoesNotSurviveIsRefused(t *testing.T) {
	for _, params := range []string{
		`{"a":1,"a":2}`, `{"x":{"a":1,"\u0061":2}}`,
		`{"a":9007199254740993}`, `{"a":1e400}`, `{"a":1e-999999999}`, `{"a":0.1000000000000000055511151231257827}`,
		`{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
		`[]`, `null`, `"x"`, `1`, ``, `{`, `{"a":}`, `{"a":1} trailing`,
		strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70),
	} {
		_, err := Canonical("exec", json.RawMessage(params), nil)
		require.Error(t, err, params)
		require.NotContains(t, err.Error(), "9007199254740993", "the value is not echoed")
	}
}

func TestCanonicalIsWhatIsHandedOut(t *testing.T) {
	s, err := Canonical("exec", json.RawMessage(`{"command":"ls", "n": 1.50}`), &Bind{Workdir: new("/w")})
	require.NoError(t, err)
	require.JSONEq(t, `{"bind":{"workdir":"/w"},"params":{"command":"ls","n":1.5},"toolName":"exec"}`, string(s.Bytes))
	tool, params, bind, err := Open(s.Bytes)
	require.NoError(t, err)
	require.Equal(t, "exec", tool)
	require.Equal(t, `{"command":"ls","n":1.5}`, string(params))
	require.Equal(t, &Bind{Workdir: new("/w")}, bind)
	require.Equal(t, string(params), string(s.Params), "people are shown what is hashed")
	again, err := Canonical(tool, params, bind)
	require.NoError(t, err)
	require.Equal(t, s, again, "canonical form is a fixed point")
}

func TestAdversary_B4_BindIsPartOfTheFingerprint(t *testing.T) {
	prints := map[string]bool{}
	for _, b := range []*Bind{nil, {Workdir: new("/a")}, {Workdir: new("/b")}, {Host: new("/a")}, {EnvHash: new("/a")},
		{}, {Host: new("")}, {Workdir: new("")}} {
		s, err := Canonical("exec", json.RawMessage(`{}`), b)
		require.NoError(t, err)
		prints[s.Fingerprint] = true
	}
	require.Len(t, prints, 8, "what is sent is hashed, also what is empty")
}
