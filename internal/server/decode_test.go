package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func TestDecodeTable(t *testing.T) {
	for _, c := range []struct {
		name, body string
		code       approval.Code // empty: accepted
		fields     string
	}{
		{"empty", ``, "", ""},
		{"blank", " \r\n\t", "", ""},
		{"empty object", `{}`, "", ""},
		{"null fields", `{"agentId":null,"origin":null,"timeoutMs":null}`, "", ""},
		{"white space around", " {\"toolName\" : \"x\"}\n ", "", ""},
		{"unknown", `{"callbackURL":"https://x"}`, approval.CodeInvalidRequest, "callbackURL"},
		{"other case", `{"toolname":"x","Params":{},"agentID":"x"}`, approval.CodeInvalidRequest, "Params agentID toolname"},
		{"sent empty", `{"id":"","timeoutMs":0,"toolName":"","context":{}}`, approval.CodeInvalidRequest, "id toolName timeoutMs"},
		{"sent empty, plainly", `{"toolName":"ask","id":"","params":{}}`, approval.CodeInvalidRequest, "id"},
		{"no time", `{"timeoutMs":0,"toolName":"ask","params":{}}`, approval.CodeInvalidRequest, "timeoutMs"},
		{"nested", `{"bind":{"Host":"x","workdir":1},"origin":{"to":-100}}`, approval.CodeInvalidRequest, "bind.Host bind.workdir origin.to"},
		{"wrong types", `{"toolName":[],"timeoutMs":"5","context":{"subagent":1},"requester":"me"}`, approval.CodeInvalidRequest,
			"context.subagent requester timeoutMs toolName"},
		{"fraction", `{"timeoutMs":1.5}`, approval.CodeInvalidRequest, "timeoutMs"},
		{"too big a number", `{"timeoutMs":9223372036854775808}`, approval.CodeInvalidRequest, "timeoutMs"},
		{"odd names", `{"a b":1,"é":2,"":3}`, approval.CodeInvalidRequest, `"" "a b" "\u00e9"`},
		{"array", `[]`, approval.CodeInvalidRequest, "body"},
		{"null", `null`, approval.CodeInvalidRequest, "body"},
		{"text", `"x"`, approval.CodeInvalidRequest, "body"},
		{"twice", `{"toolName":"a","toolName":"a"}`, approval.CodeMalformed, ""},
		{"twice, escaped", `{"toolName":"a","tool\u004eame":"b"}`, approval.CodeMalformed, ""},
		{"twice, deep in params", `{"params":{"a":[{"b":1,"b":2}]}}`, approval.CodeMalformed, ""},
		{"twice, in an unknown field", `{"x":{"b":1,"b":2}}`, approval.CodeMalformed, ""},
		{"lone surrogate", `{"params":{"a":"\udc00"}}`, approval.CodeMalformed, ""},
		{"broken UTF-8", "{\"toolName\":\"\xff\"}", approval.CodeMalformed, ""},
		{"byte order mark", "\ufeff{}", approval.CodeMalformed, ""},
		{"cut", `{"toolName":"a"`, approval.CodeMalformed, ""},
		{"more after it", `{} {}`, approval.CodeMalformed, ""},
		{"garbage after it", `{}x`, approval.CodeMalformed, ""},
		{"comment", `{/**/}`, approval.CodeMalformed, ""},
		{"trailing comma", `{"toolName":"a",}`, approval.CodeMalformed, ""},
		{"NaN", `{"timeoutMs":NaN}`, approval.CodeMalformed, ""},
		{"very deep", `{"params":` + strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000) + `}`, approval.CodeMalformed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var in api.CreateRequest
			err := Decode([]byte(c.body), &in)
			require.Equal(t, c.code, approval.CodeOf(err), "%v", err)
			if c.code == approval.CodeInvalidRequest {
				require.Equal(t, c.fields, strings.Join(fieldsOf(problem(err.(*approval.Error))), " "))
			}
		})
	}
}

func TestDecodeManyMistakes(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		b.WriteString(`,"` + strings.Repeat("x", 200) + strings.Repeat("y", i) + `":1`)
	}
	err := Decode([]byte(`{"toolName":1`+b.String()+`}`), &api.CreateRequest{})
	p := problem(err.(*approval.Error))
	require.Len(t, p.Fields, maxMistakes)
	require.Less(t, len(p.Detail), 4000)
}

func TestDecodeKeepsParams(t *testing.T) {
	const params = `{ "z": 1.0,	"a" : "\u0041\/", "n": 1E2 }`
	body := []byte(`{"params": ` + params + ` }`)
	var in api.CreateRequest
	require.NoError(t, Decode(body, &in))
	clear(body)
	require.Equal(t, params, string(in.Params), "exactly as sent, and no part of the body")
}

func TestBodies(t *testing.T) {
	d := newDesk(t)
	const body = `{"toolName":"read","params":{}}`
	for _, kind := range []string{"", "application/json", "application/json; charset=UTF-8", "application/x-www-form-urlencoded", "text/plain;charset=utf-8", "application/vnd.agent+json"} {
		require.Equal(t, 200, d.do("POST", "/v1/approvals", "agent", body, "Content-Type", kind).StatusCode, kind)
	}
	for _, kind := range []string{"application/xml", "multipart/form-data; boundary=x", "application/json; charset=latin1", ";;",
		"text/json", "application/jsonp", "application/octet-stream"} {
		require.Equal(t, "malformed", d.do("POST", "/v1/approvals", "agent", body, "Content-Type", kind).problem(t).Code, kind)
	}
	for _, coding := range []string{"gzip", "br", "identity, gzip", "x"} {
		require.Equal(t, "malformed", d.do("POST", "/v1/approvals", "agent", body, "Content-Encoding", coding).problem(t).Code, coding)
	}
	require.Equal(t, 200, d.do("POST", "/v1/approvals", "agent", body, "Content-Encoding", "identity").StatusCode)
	pad := func(n int) string {
		const head, tail = `{"toolName":"read","params":{"p":"`, `"}}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	require.Equal(t, 200, d.do("POST", "/v1/approvals", "agent", pad(maxBody)).StatusCode)
	require.Equal(t, "payload_too_large", d.do("POST", "/v1/approvals", "agent", pad(maxBody+1)).problem(t).Code)
	require.Equal(t, 200, d.do("POST", "/hooks/approvals", "agent", pad(maxLarge)).StatusCode)
	require.Equal(t, "payload_too_large", d.do("POST", "/hooks/approvals", "agent", pad(maxLarge+1)).problem(t).Code)
	require.Equal(t, "unauthorized", d.do("POST", "/hooks/approvals", "nobody", pad(maxLarge)).problem(t).Code)

	a := d.ask("ask", `{}`)
	require.Equal(t, 200, d.do("POST", "/v1/approvals/"+a.ID+"/withdraw", "agent", "\n").StatusCode)
	r := d.do("POST", "/v1/approvals", "agent", "")
	require.Equal(t, []string{"toolName", "params"}, fieldsOf(r.problem(t)))
	r = d.do("POST", "/v1/approvals", "agent", `{"toolName":"a b","params":{"n":9007199254740993},"timeoutMs":-1,"requester":{"person":"nobody"},"id":".."}`)
	require.ElementsMatch(t, []string{"toolName", "params", "timeoutMs", "requester.person", "id"}, fieldsOf(r.problem(t)))
}

func TestQueries(t *testing.T) {
	d := newDesk(t)
	const body = `{"toolName":"read","params":{}}`
	for _, good := range []string{"wait=0", "wait=25s", "wait=25", "wait=1m30s", "wait=", "claim=0", "claim=false&wait=1", "claim=1&claimId=x"} {
		require.Equal(t, 200, d.do("POST", "/v1/approvals?"+good, "agent", body).StatusCode, good)
	}
	for bad, field := range map[string]string{
		"wait=-1s": "wait", "wait=soon": "wait", "wait=1e3": "wait", "wait=NaN": "wait", "claim=yes": "claim", "claimId=x": "claimId",
		"wait=1&wait=2": "wait", "Wait=1": "Wait", "approved=true": "approved", "claim=1&claimId=" + strings.Repeat("x", 129): "claimId",
		"claim=1&claimId=%FF": "claimId", "claim=1&claimId=%00": "claimId",
	} {
		p := d.do("POST", "/v1/approvals?"+bad, "agent", body).problem(t)
		require.Equal(t, "invalid_request", p.Code, bad)
		require.Equal(t, []string{field}, fieldsOf(p), bad)
	}
	for _, broken := range []string{"wait=%zz", "a;b"} {
		require.Equal(t, "malformed", d.do("POST", "/v1/approvals?"+broken, "agent", body).problem(t).Code)
	}
	require.Equal(t, "invalid_request", d.do("GET", "/v1/approvals/x?wait=-1", "agent", "").problem(t).Code)
	require.Equal(t, "invalid_request", d.do("POST", "/v1/approvals/x/claim?wait=1", "agent", "").problem(t).Code)
}

// FuzzDecodeCreate holds that decoding never panics, that what it accepts is
// also plain JSON that says the same, and that what it refuses never echoes.
func FuzzDecodeCreate(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"toolName":"exec","params":{"command":"ls"},"bind":{"host":"h"}}`, `{"a":1,"a":2}`, `{"params":{"a":"\ud800"}}`,
		`{"id":"","timeoutMs":0,"toolName":"x"}`, `{"timeoutMs":1e3,"x":{"y":[1]}}`, `[]`, "{\"\xff\":1}", `{"context":{"sandboxed":1}}`, `{"params":9007199254740993}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var in api.CreateRequest
		if err := Decode(body, &in); err != nil {
			code := approval.CodeOf(err)
			require.Contains(t, []approval.Code{approval.CodeMalformed, approval.CodeInvalidRequest}, code)
			require.Equal(t, code == approval.CodeInvalidRequest, len(problem(err.(*approval.Error)).Fields) > 0)
			return
		}
		if len(bytes.TrimSpace(body)) == 0 {
			return
		}
		var plain api.CreateRequest
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&plain))
		if string(in.Params) != "null" {
			require.Equal(t, plain, in)
		}
		require.True(t, len(in.Params) == 0 || bytes.Contains(body, in.Params))
	})
}
