package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
)

// Each of many calls is answered as it would be alone, in order, whatever became of the
// others.
func TestEvaluateMany(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	calls := []string{
		`{"toolName":"ask","params":{"a":1}}`, `{"toolName":"rm","params":{}}`, `{"toolName":"read","params":{},"x":"s3cret"}`,
		`{"toolName":"a b","params":{"n":9007199254740993}}`, `{"toolName":"read","params":{}}`, `"read"`, `{}`, `{"id":"","toolName":"read","params":{}}`,
		`{"toolName":"read","params":{},"origin":{"channel":"telegram","to":"-100999"}}`, `{"toolName":"read","params":{"p":"` + strings.Repeat("x", maxBody) + `"}}`,
		`{"calls":[]}`,
	}
	for _, as := range []string{"agent", "bob"} {
		var got struct{ Results []json.RawMessage }
		r := d.do("POST", "/v1/evaluate", as, `{"calls":[`+strings.Join(calls, ",")+`]}`)
		require.Equal(t, 200, r.StatusCode, r.text)
		require.NoError(t, json.Unmarshal([]byte(r.text), &got))
		require.Len(t, got.Results, len(calls))
		for i, one := range calls[:len(calls)-1] {
			require.Equal(t, strings.TrimSpace(d.do("POST", "/v1/evaluate", as, one).text), string(got.Results[i]), "%.80s", one)
		}
		require.Contains(t, string(got.Results[len(calls)-1]), `"field":"calls"`, "no calls in calls")
	}

	all, err := d.bob.EvaluateAll(ctx, []api.CreateRequest{request("ask", `{"a":1}`), request("a b", `{}`), request("read", `{}`)})
	require.NoError(t, err)
	require.Equal(t, "ask", all[0].Evaluation.Outcome)
	require.NotEmpty(t, all[0].Evaluation.Approvers.Effective)
	require.Equal(t, "invalid_request", all[1].Problem.Code)
	require.Nil(t, all[1].Evaluation)
	require.Equal(t, "allow", all[2].Evaluation.Outcome)
	back, err := json.Marshal(all)
	require.NoError(t, err)
	var again []api.Judged
	require.NoError(t, json.Unmarshal(back, &again))
	require.Equal(t, all, again)
	none, err := d.agent.EvaluateAll(ctx, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestEvaluateManyLimits(t *testing.T) {
	d := newDesk(t)
	const one = `{"toolName":"read","params":{}}`
	many := strings.Repeat(one+",", maxCalls-1) + one
	require.Equal(t, 200, d.do("POST", "/v1/evaluate", "agent", `{"calls":[`+many+`]}`).StatusCode)
	for body, field := range map[string]string{
		`{"calls":[` + many + `,` + one + `]}`:       "calls",
		`{"calls":[` + one + `],"toolName":"read"}`:  "calls",
		`{"calls":[],"toolName":"read","params":{}}`: "calls",
		`{"calls":null}`:                                  "toolName params",
		`{"calls":{}}`:                                    "calls",
		`{"calls":[` + one + `],"more":"calls"}`:          "more",
		`{"toolName":"read","params":{},"Calls":[]}`:      "Calls",
		`{"toolName":"read","params":{},"id":"","b":[1]}`: "b",
	} {
		p := d.do("POST", "/v1/evaluate", "agent", body).problem(t)
		require.Equal(t, "invalid_request", p.Code)
		require.Equal(t, field, strings.Join(fieldsOf(p), " "), "%.80s", body)
	}
	for _, body := range []string{`{"calls":[` + one + `,]}`, `{"calls":[{"toolName":"read","toolName":"rm"}]}`, `{"calls":[],"calls":[]}`} {
		require.Equal(t, "malformed", d.do("POST", "/v1/evaluate", "agent", body).problem(t).Code, body)
	}

	pad := func(n int) string {
		const head, tail = `{"calls":[{"toolName":"read","params":{"p":"`, `"}}]}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	r := d.do("POST", "/v1/evaluate", "agent", pad(maxBodies))
	require.Equal(t, 200, r.StatusCode)
	require.Contains(t, r.text, `"payload_too_large"`, "of the call, not of the request")
	require.Equal(t, "payload_too_large", d.do("POST", "/v1/evaluate", "agent", pad(maxBodies+1)).problem(t).Code)
	single := `{"toolName":"read","params":{"p":"` + strings.Repeat("x", maxBody) + `"}}`
	for _, path := range []string{"/v1/evaluate", "/v1/approvals"} {
		require.Equal(t, "payload_too_large", d.do("POST", path, "agent", single).problem(t).Code)
	}

	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := d.srv.evaluateAll(&call{ctx: gone, who: core.Caller{MayRequest: true}}, onlyCalls([]byte(`{"calls":[`+one+`]}`)))
	require.ErrorIs(t, err, context.Canceled, "nobody waits for it")
}
