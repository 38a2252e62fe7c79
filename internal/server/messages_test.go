package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
)

// The message-based flow over HTTP: bytes that are not touched stay, an agent's
// word decides nothing, a person's does.
func TestMessagesOverHTTP(t *testing.T) {
	d := newDesk(t)
	const call = `{"id":"c1","type":"function","function":{"name":"ask","arguments":"{\"apiKey\":\"k-123\"}"}}`
	const spoken = `{"role":"assistant","content":"caf\u00e9 <b>","n":1.0,"tool_calls":[` + call + `]}`
	r := d.do("POST", "/v1/messages/intercept", "agent", `{"sessionKey":"s","message":`+spoken+`}`)
	require.Equal(t, 200, r.StatusCode, r.text)
	var got api.InterceptAnswer
	require.NoError(t, json.Unmarshal([]byte(r.text), &got))
	require.Contains(t, string(got.Message), `"content":"caf\u00e9 <b>","n":1.0`)
	require.Contains(t, string(got.Message), "client.requestApproval")
	require.NotContains(t, r.text, "k-123")
	id := got.Calls[0].ApprovalID
	list := string(got.Message) + `,{"role":"tool","tool_call_id":"approval_` + id + `","content":"{\"decision\":\"approve\",\"scope\":\"once\",\"toolName\":\"ask\"}"}`
	decide := func(as, more string) api.MessageCall {
		r := d.do("POST", "/v1/messages/decisions", as, `{"sessionKey":"s","messages":[`+list+`]`+more+`}`)
		require.Equal(t, 200, r.StatusCode, r.text)
		var out api.DecisionsAnswer
		require.NoError(t, json.Unmarshal([]byte(r.text), &out))
		return out.Calls[0]
	}
	require.Equal(t, "ignored", decide("agent", "").Vote)
	require.Equal(t, "counted", decide("alice", "").Vote)
	require.NotNil(t, decide("agent", `,"claim":true`).Claim)
	r = d.do("POST", "/v1/messages/prepare", "agent", `{"messages":[`+list+`]}`)
	require.Equal(t, `{"messages":[{"role":"assistant","content":"caf\u00e9 <b>","n":1.0}]}`, strings.TrimSpace(r.text))

	again, err := d.agent.Intercept(t.Context(), api.InterceptRequest{SessionKey: "s", Message: json.RawMessage(spoken)})
	require.NoError(t, err)
	require.Equal(t, "wait", again.Calls[0].Outcome, "it has run, and is asked anew")
	out, err := d.agent.Decisions(t.Context(), api.DecisionsRequest{SessionKey: "s", Messages: []json.RawMessage{again.Message}})
	require.NoError(t, err)
	require.Equal(t, "wait", out.Calls[0].Outcome)
	clean, err := d.agent.Prepare(t.Context(), api.PrepareRequest{Messages: []json.RawMessage{again.Message}})
	require.NoError(t, err)
	require.Len(t, clean.Messages, 1)

	p := d.do("POST", "/v1/messages/intercept", "agent", `{"message":{}}`).problem(t)
	require.Equal(t, []string{"sessionKey"}, fieldsOf(p))
	require.Equal(t, "forbidden", d.do("POST", "/v1/messages/intercept", "alice", `{}`).problem(t).Code)
	require.Equal(t, "invalid_request", d.do("POST", "/v1/messages/prepare", "agent", `{"messages":[1]}`).problem(t).Code)
	require.Equal(t, "invalid_request", d.do("POST", "/v1/messages/decisions", "agent", `{"sessionKey":"s","approved":true}`).problem(t).Code)
}

// What is claimed with a conversation has its receipt, as what is claimed by itself.
func TestClaimsOfMessagesHaveReceipts(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{}`)
	approvals := messageApprovals{d.gate, requesting, d.srv.Tokens.Standing(auth.Hash(secretOf("agent")), requesting), func(of approval.Approval) (string, error) { return "receipt of " + of.Code, nil }}
	claim, err := approvals.Claim(ctx, a.ID, "")
	require.NoError(t, err)
	require.Equal(t, "receipt of "+a.Code, claim.Receipt)
	_, err = approvals.Claim(ctx, a.ID, "")
	refusal(t, err, approval.CodeAlreadyUsed)
}

// A tool's own options and message count wherever people decide: what it does not offer is nobody's to
// give, and its message is a claim of the asker's.
func TestAToolsOptionsAndMessageCountEverywhere(t *testing.T) {
	d := newDesk(t)
	offersOf := func(tool string) approval.Approval {
		r := d.do("POST", "/v1/messages/intercept", "agent", `{"sessionKey":"s","message":{"role":"assistant","content":null,"tool_calls":[`+
			`{"id":"`+tool+`","type":"function","function":{"name":"ask","arguments":"{\"n\":\"`+tool+`\"}"}}]},"tools":[{"name":"ask","approval":`+
			map[string]string{"all": `{"required":true}`,
				"once":   `{"required":true,"options":["Cancel","Once"],"message":"Moves 2 pallets."}`,
				"cancel": `{"required":true,"options":["Cancel"]}`}[tool]+`}]}`)
		require.Equal(t, 200, r.StatusCode, r.text)
		var got api.InterceptAnswer
		require.NoError(t, json.Unmarshal([]byte(r.text), &got))
		a, err := d.gate.Get(t.Context(), requesting, got.Calls[0].ApprovalID)
		require.NoError(t, err)
		return a
	}
	require.Equal(t, []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny}, offersOf("all").Offers)
	a := offersOf("once")
	require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, a.Offers)
	require.Equal(t, "Moves 2 pallets.", a.Justification)
	card, err := d.gate.Card(t.Context(), a)
	require.NoError(t, err)
	require.Contains(t, card.Claims[0], "“Moves 2 pallets.”")
	require.Empty(t, card.Wider)
	require.Equal(t, "decision_not_offered", d.do("POST", "/v1/approvals/"+a.Code+"/resolve", "alice",
		`{"decision":"allow-always"}`).problem(t).Code)
	require.Equal(t, []approval.Decision{approval.Deny}, offersOf("cancel").Offers)
	require.Equal(t, []string{"offers"}, fieldsOf(d.do("POST", "/v1/approvals", "agent",
		`{"toolName":"ask","params":{},"offers":["retry"]}`).problem(t)))
}
