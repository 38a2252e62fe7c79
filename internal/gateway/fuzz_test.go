package gateway

import (
	"encoding/json"
	"strings"
	"testing"
)

// Whatever a client sends, there is an id to answer with, and what passes as a
// request has a method and an id that reads back as it stood.
func FuzzFrames(f *testing.F) {
	for _, s := range []string{
		`{"type":"req","id":1,"method":"m","params":{}}`, `{"type":"req","id":"a","method":"m"}`, `{"id":{},"id":1}`, `[1]`, "\xff", `{"type":"req","id":"\ud800","method":"m"}`,
		`{"type":"req","id":-0.0,"method":"m","params":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		req, id, err := parse(frame)
		if !json.Valid(id) || !validID(id) && string(id) != string(noID) {
			t.Fatalf("id %s", id)
		}
		if err == nil && (req.Method == "" || req.Type != "req" || string(id) != string(req.ID)) {
			t.Fatalf("%+v", req)
		}
		if _, err := json.Marshal(response{Type: "res", ID: id}); err != nil {
			t.Fatal(err)
		}
	})
}

// Quoted text says exactly the argv that was quoted, whatever is in it.
func FuzzSaysTheSame(f *testing.F) {
	f.Add("git", "a b", "a")
	f.Add("", `x"y\`, "it's")
	f.Fuzz(func(t *testing.T, a, b, other string) {
		quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		command := quote(a) + " " + quote(b)
		if !saysTheSame(command, []string{a, b}) {
			t.Fatalf("%q does not say %q %q", command, a, b)
		}
		if other != b && saysTheSame(command, []string{a, other}) && joined([]string{a, other}) != command {
			t.Fatalf("%q says %q %q", command, a, other)
		}
	})
}
