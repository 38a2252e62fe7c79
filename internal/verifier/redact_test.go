package verifier

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRedaction(t *testing.T) {
	for _, c := range []struct{ tool, params, want string }{
		{"write", `{"path":"a.txt","content":"hällo"}`, `{"path":"a.txt","content":"[REDACTED: 5 chars]"}`},
		{"Write_File", `{"file_path":"a","Content":""}`, `{"file_path":"a","Content":"[REDACTED: 0 chars]"}`},
		{"mcp__files__write_file", `{"path":"a","content":"abc"}`, `{"path":"a","content":"[REDACTED: 3 chars]"}`},
		{"files.write", `{"path":"a","content":"abc"}`, `{"path":"a","content":"[REDACTED: 3 chars]"}`},
		{"edit", `{"path":"a","old_string":"x","newString":"yy","replace_all":true}`,
			`{"path":"a","old_string":"[REDACTED: 1 chars]","newString":"[REDACTED: 2 chars]","replace_all":true}`},
		{"MultiEdit", `{"file":"a","edits":[{"path":"b","oldText":"x","line":7,"any":"yyy"},"z"]}`,
			`{"file":"a","edits":[{"path":"b","oldText":"[REDACTED: 1 chars]","line":7,"any":"[REDACTED: 3 chars]"},"[REDACTED: 1 chars]"]}`},
		{"apply_patch", `{"input":"*** Begin Patch"}`, `{"input":"[REDACTED: 15 chars]"}`},
		{"apply-patch", `{"patch":"x","path":"p"}`, `{"patch":"[REDACTED: 1 chars]","path":"p"}`},
		{"str_replace_based_edit_tool", `{"command":"create","path":"p","file_text":"x"}`, `{"command":"create","path":"p","file_text":"[REDACTED: 1 chars]"}`},
		{"write", `{"content":{"type":"text","text":"abc"}}`, `{"content":{"type":"[REDACTED: 4 chars]","text":"[REDACTED: 3 chars]"}}`},

		{"send", `{"content":"read by the verifier","n":1.50e3,"x":null,"y":[true,false]}`, `{"content":"read by the verifier","n":1.50e3,"x":null,"y":[true,false]}`},
		{"exec", `{"command":"curl -H 'Authorization: Bearer abcdef123456' https://x"}`, `{"command":"curl -H 'Authorization: Bearer [REDACTED]' https://x"}`},
		{"exec", `{"env":{"DB_PASSWORD":"hunter2hunter2","PATH":"/bin"}}`, `{"env":{"DB_PASSWORD":"[REDACTED]","PATH":"/bin"}}`},
		{"exec", `{"argv":["tool","--password","hunter2hunter2"]}`, `{"argv":["tool","--password","[REDACTED]"]}`},
		{"http", `{"headers":[{"name":"X-Api-Key","value":"hunter2hunter2"}]}`, `{"headers":[{"name":"X-Api-Key","value":"[REDACTED]"}]}`},
		{"http", `{"headers":{"name":"X-Api-Key","value":"hunter2hunter2"}}`, `{"headers":{"name":"X-Api-Key","value":"[REDACTED]"}}`},
		{"http", `{"password":1234567}`, `{"password":"[REDACTED]"}`},
		{"http", `{"passwords":["hunter2hunter2"]}`, `{"passwords":["[REDACTED]"]}`},
		{"http", `{"url":"https://u:hunter2@x.test/"}`, `{"url":"https://u:[REDACTED]@x.test/"}`},
		{"x", `{}`, `{}`},
		{"x", ` { "a" : [ ] , "b":{} } `, `{"a":[],"b":{}}`},
		{"x", `{"a":"\"<&\n\u0000"}`, `{"a":"\"<&\n\u0000"}`},
	} {
		got, err := redactParams(c.tool, []byte(c.params))
		require.NoError(t, err, c.params)
		require.Equal(t, c.want, string(got), c.tool)
	}
}

// Names that hide something hide the probe, or they would never be asked again.
func TestProbe(t *testing.T) {
	for _, name := range []string{"password", "auth", "api_key", "key", "cookie", "sig", "AWS_SECRET_ACCESS_KEY", "clientSecret", "secrets"} {
		require.True(t, hides(name, probe), name)
	}
	require.False(t, hides("command", probe))
}

func TestRedactionKeepsSecretNamesApart(t *testing.T) {
	a, b := "ghp_"+strings.Repeat("a1", 18), "ghp_"+strings.Repeat("b2", 18)
	got, err := redactParams("x", []byte(`{"`+a+`":1,"`+b+`":2}`))
	require.NoError(t, err)
	require.Equal(t, `{"[REDACTED] #0":1,"[REDACTED] #1":2}`, string(got))
}

// Whatever a file tool writes, none of it leaves; and the outcome is JSON.
func TestContentsNeverLeave(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := "MARK" + rapid.String().Draw(t, "content")
		key := rapid.SampledFrom([]string{"content", "newString", "new_string", "patch", "input", "edits", "FileText"}).Draw(t, "key")
		value := any(content)
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			value = map[string]any{rapid.StringMatching(`[a-z]{8}`).Draw(t, "name"): []any{value}}
		}
		params, err := json.Marshal(map[string]any{key: value, "path": "kept"})
		require.NoError(t, err)
		tool := rapid.SampledFrom([]string{"write", "Edit", "apply_patch", "x/edit_file"}).Draw(t, "tool")
		got, err := redactParams(tool, params)
		require.NoError(t, err)
		require.True(t, got.IsValid())
		require.NotContains(t, string(got), "MARK")
		require.Contains(t, string(got), `"path":"kept"`)
	})
}

// shape is a JSON value without its names and scalars.
func shape(t *testing.T, value []byte) (out string) {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		tok, err := d.ReadToken()
		if err == io.EOF {
			return out
		}
		require.NoError(t, err)
		switch k := tok.Kind(); k {
		case '{', '}', '[', ']':
			out += string(rune(k))
		default:
			out += "."
		}
	}
}

// FuzzRedactParams holds that redaction keeps the shape of what it redacts.
func FuzzRedactParams(f *testing.F) {
	for _, s := range []string{`{"a":"b"}`, `{"token":"abc12345","argv":["--password","x1234567",5,{"key":"K","value":2}]}`, `[]`, `{"a":{"b":[[["x"]]]}}`, `{"secret":[1,{"password":[2]}]}`} {
		f.Add("write", s)
	}
	f.Fuzz(func(t *testing.T, tool, params string) {
		got, err := redactParams(tool, []byte(params))
		valid := jsontext.Value(params).IsValid() && jsontext.Value(params).Kind() == '{'
		require.Equal(t, valid, err == nil)
		if err == nil {
			require.True(t, got.IsValid(), "%s", got)
			require.Equal(t, shape(t, []byte(params)), shape(t, got), "%s", got)
		}
	})
}

// FuzzReadReply holds that only an object that says allow, once, allows.
func FuzzReadReply(f *testing.F) {
	for _, s := range []string{`{"decision":"allow"}`, `{"decision":"deny","reason":"x"}`, `{"decision":"allow","decision":"deny"}`, `null`, `{"decision":"allow"} x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := readReply(body)
		require.LessOrEqual(t, len([]rune(r.reason)), maxReason)
		if r.allow {
			require.Nil(t, r.fail)
			var m map[string]any
			require.NoError(t, json.Unmarshal(body, &m))
			require.Equal(t, "allow", m["decision"])
		}
	})
}

func BenchmarkRedactParams(b *testing.B) {
	many := `{"a":"b"`
	for i := range 10_000 {
		many += fmt.Sprintf(`,"field%d":"value %d"`, i, i)
	}
	for name, params := range map[string]string{
		"small":  `{"command":"curl -H 'Authorization: Bearer abcdef123456' https://x","workdir":"/workspace"}`,
		"large":  `{"command":"` + strings.Repeat("echo hello; ", 20_000) + `"}`,
		"many":   many + "}",
		"nested": strings.Repeat(`{"a":[`, 31) + strings.Repeat(`"x",`, 60_000) + `"x"` + strings.Repeat(`]}`, 31),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(params)))
			for b.Loop() {
				if _, err := redactParams("exec", []byte(params)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
