package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func TestHandshake(t *testing.T) {
	d := newDesk(t, atUsualPace)
	c := d.connect("alice")
	h := c.hello
	require.EqualValues(t, 4, h["protocol"])
	require.Equal(t, map[string]any{"role": "operator", "scopes": []any{"operator.approvals"}}, h["auth"], "the token's scopes, not the claimed ones")
	require.Subset(t, h["features"].(map[string]any)["methods"], []any{"connect", "tool.approval.request", "exec.approval.resolve", "agentshield.approval.list"})
	require.Subset(t, h["features"].(map[string]any)["events"], []any{"connect.challenge", "tool.approval.expired", "exec.approval.requested"})
	require.EqualValues(t, 30_000, h["policy"].(map[string]any)["tickIntervalMs"])
	c.refused("connect", greetingOf("alice", ""), invalidRequest, "ALREADY_CONNECTED")
}

func TestProtocolIsNegotiated(t *testing.T) {
	d := newDesk(t)
	for low, high := range map[int]int{1: 3, 3: 3, 4: 9, 2: 4} {
		f := d.dial().do("connect", fmt.Sprintf(`{"minProtocol":%d,"maxProtocol":%d,"auth":{"token":%q}}`, low, high, secretOf("alice")))
		require.True(t, f.OK, f.Error)
		require.EqualValues(t, min(high, 4), f.get("protocol"))
	}
	for low, high := range map[int]int{1: 2, 5: 9} {
		c := d.dial()
		r := c.refused("connect", fmt.Sprintf(`{"minProtocol":%d,"maxProtocol":%d,"auth":{"token":%q}}`, low, high, secretOf("alice")), invalidRequest, "PROTOCOL_MISMATCH")
		require.Equal(t, 4, r.Details.ExpectedProtocol)
		require.Contains(t, c.gone(websocket.StatusProtocolError), "speaks 3 to 4")
	}
}

func TestConnectRefuses(t *testing.T) {
	d := newDesk(t)
	for why, c := range map[string]struct{ method, params, code, reason string }{
		"no token":        {"connect", `{"minProtocol":3,"maxProtocol":4,"auth":{"password":"mistake"}}`, invalidRequest, "UNAUTHORIZED"},
		"no auth":         {"connect", `{"minProtocol":3,"maxProtocol":4,"userAgent":"mistake"}`, invalidRequest, "UNAUTHORIZED"},
		"unknown token":   {"connect", `{"minProtocol":3,"maxProtocol":4,"auth":{"token":"guess"}}`, invalidRequest, "UNAUTHORIZED"},
		"no scope":        {"connect", greetingOf("auditor", ""), forbidden, "MISSING_SCOPE"},
		"no version":      {"connect", `{"auth":{"token":"mistake"}}`, invalidRequest, ""},
		"a node":          {"connect", `{"minProtocol":3,"maxProtocol":4,"role":"node","userAgent":"mistake","auth":{"token":"` + secretOf("alice") + `"}}`, invalidRequest, ""},
		"unknown member":  {"connect", greetingOf("alice", `,"approved":"mistake"`), invalidRequest, ""},
		"not heard event": {"connect", greetingOf("alice", `,"lastSeq":99`), invalidRequest, ""},
		"not connect":     {"tool.approvals.list", `{}`, invalidRequest, ""},
	} {
		t.Run(why, func(t *testing.T) {
			conn := d.dial()
			conn.refused(c.method, c.params, c.code, c.reason)
			conn.gone(websocket.StatusPolicyViolation)
		})
	}
	c := d.dial()
	require.NoError(t, c.ws.Write(t.Context(), websocket.MessageText, []byte(`{"pad":"`+strings.Repeat("x", maxGreeting)+`"}`)))
	c.gone(websocket.StatusMessageTooBig)
}

// A whole life as an operator's client and an asker's client see it.
func TestToolApproval(t *testing.T) {
	d := newDesk(t)
	operator, agent, other := d.connect("alice"), d.connect("agent"), d.connect("other")
	id := agent.start("tool.approval.request", `{"toolName":"mail.send","params":{"to":"a@b.c","password":"hunter2hunter2"},"agentId":"main","sessionKey":"s","twoPhase":true}`)
	first := agent.answer(id)
	require.Equal(t, "accepted", first.get("status"))

	asked := operator.event("tool.approval.requested")
	require.EqualValues(t, 2, asked.Seq)
	require.Equal(t, first.get("id"), asked.get("id"))
	require.Equal(t, "mail.send", asked.get("toolName"))
	require.Equal(t, first.get("createdAtMs"), asked.get("createdAtMs"))
	require.Contains(t, asked.get("paramsSummary"), "a@b.c")

	approval := fmt.Sprint(first.get("id"))
	list := operator.ok("tool.approvals.list", `{"status":"pending"}`)
	require.Contains(t, string(list.Payload), approval)
	require.Contains(t, string(operator.ok("tool.approvals.get", `{"id":"`+approval[:8]+`"}`).Payload), `"riskClass":"R3"`)
	require.Equal(t, "always", operator.ok("tool.approvals.policy.get", `{}`).get("mode"))
	require.JSONEq(t, `{"ok":true}`, string(operator.ok("tool.approval.resolve", `{"id":"`+approval+`","decision":"allow-session","reason":"fine"}`).Payload))
	require.JSONEq(t, `{"ok":true}`, string(operator.ok("tool.approval.resolve", `{"id":"`+approval+`","decision":"allow-session"}`).Payload), "the same vote again")
	operator.refused("tool.approval.resolve", `{"id":"`+approval+`","decision":"deny"}`, invalidRequest, "APPROVAL_ALREADY_RESOLVED")

	last := agent.answer(id)
	require.Equal(t, "allow-session", last.get("decision"))
	again := agent.ok("tool.approval.waitDecision", `{"id":"`+approval+`"}`)
	require.JSONEq(t, string(last.Payload), string(again.Payload))
	for _, c := range []*client{operator, agent} {
		if c == agent {
			c.event("tool.approval.requested")
		}
		end := c.event("tool.approval.resolved")
		require.Equal(t, "allow-session", end.get("decision"))
		require.Equal(t, "person:alice", end.get("resolvedBy"))
	}
	other.refused("tool.approval.waitDecision", `{"id":"`+approval+`"}`, invalidRequest, "APPROVAL_NOT_FOUND")
	require.Empty(t, other.events)
}

func TestPolicyDecidesAtOnce(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	require.Equal(t, "allow-once", c.ok("tool.approval.request", `{"toolName":"read","params":{}}`).get("decision"))
	denied := c.ok("tool.approval.request", `{"toolName":"rm","params":{}}`)
	require.Equal(t, "deny", denied.get("decision"))
	require.Equal(t, "never", denied.get("reason"))
	id := c.start("tool.approval.request", `{"toolName":"read","params":{"n":2},"twoPhase":true}`)
	require.Equal(t, "accepted", c.answer(id).get("status"))
	require.Equal(t, "allow-once", c.answer(id).get("decision"))
}

// What a model may be shown, as POST /v1/tools says it.
func TestToolsEffective(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	out := c.ok("tools.effective", `{"tools":["read","rm","read"],"agentId":"main","context":{"group":"-100"}}`)
	require.JSONEq(t, `{"allowed":["read"],"denied":[{"tool":"rm","reason":"never"}]}`, string(out.Payload))
	c.refused("tools.effective", `{"tools":["read"],"params":"mistake"}`, invalidRequest, "")
	c.refused("tools.effective", `{"agentId":"mistake"}`, invalidRequest, "")
}

// No decision is null, and says why.
func TestNoDecision(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	id := c.start("tool.approval.request", `{"id":"w","toolName":"ask","params":{},"twoPhase":true}`)
	c.answer(id)
	_, err := d.gate.Withdraw(t.Context(), agentCaller, "w", "not needed")
	require.NoError(t, err)
	end := c.answer(id)
	require.Nil(t, end.get("decision"))
	require.Equal(t, "withdrawn", end.get("terminalReason"))
	c.event("tool.approval.requested")
	gone := c.event("tool.approval.resolved")
	require.Nil(t, gone.get("decision"))
	require.Equal(t, "withdrawn", gone.get("status"))

	id = c.start("tool.approval.request", `{"id":"e","toolName":"ask","params":{"n":1},"timeoutMs":1,"twoPhase":true}`)
	key := d.keyOf("e", c.answer(id))
	require.NoError(t, d.gate.Tick(t.Context(), key)) // its time is over: see overdue
	end = c.answer(id)
	require.Nil(t, end.get("decision"))
	require.Equal(t, "expired", end.get("terminalReason"))
	c.event("tool.approval.requested")
	require.Equal(t, "expired", c.event("tool.approval.expired").get("status"))
}

// An approval that was taken back is no allow any more, however it is asked for.
func TestARevokedApprovalIsNoDecision(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	id := agent.start("tool.approval.request", `{"id":"r","toolName":"ask","params":{},"twoPhase":true}`)
	agent.answer(id)
	operator.ok("tool.approval.resolve", `{"id":"r","decision":"allow-once"}`)
	require.Equal(t, "allow-once", agent.answer(id).get("decision"))
	_, err := d.gate.Revoke(t.Context(), aliceCaller, "r", "")
	require.NoError(t, err)
	end := agent.ok("tool.approval.waitDecision", `{"id":"r"}`)
	require.Nil(t, end.get("decision"))
	require.Equal(t, "revoked", end.get("terminalReason"))
}

// What people allowed of a drill is no leave to run it.
func TestADrillIsNeverAllowed(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	id := agent.start("tool.approval.request", `{"id":"d","toolName":"approvalbot.drill","params":{"drill":true},"twoPhase":true}`)
	agent.answer(id)
	operator.ok("tool.approval.resolve", `{"id":"d","decision":"allow-once"}`)
	for _, end := range []frame{agent.answer(id), agent.ok("tool.approval.waitDecision", `{"id":"d"}`)} {
		require.Equal(t, "deny", end.get("decision"))
		require.Equal(t, approval.WasDrill, end.get("reason"))
	}
}

// Registering an id that is pending joins it; with another call it is refused.
func TestJoining(t *testing.T) {
	d := newDesk(t)
	operator, one, two := d.connect("alice"), d.connect("agent"), d.connect("agent")
	const ask = `{"id":"job-1","toolName":"ask","params":{"n":1},"twoPhase":true}`
	a := one.start("tool.approval.request", ask)
	first := one.answer(a)
	b := two.start("tool.approval.request", ask)
	require.JSONEq(t, string(first.Payload), string(two.answer(b).Payload))
	two.refused("tool.approval.request", `{"id":"job-1","toolName":"ask","params":{"n":2}}`, invalidRequest, "APPROVAL_ID_CONFLICT")
	operator.ok("tool.approval.resolve", `{"id":"job-1","decision":"deny","reason":"no"}`)
	for _, end := range []frame{one.answer(a), two.answer(b)} {
		require.Equal(t, "deny", end.get("decision"))
		require.Equal(t, "no", end.get("reason"))
	}
}

func TestIDsAndPrefixes(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	start := func(params string) string {
		id := agent.start("tool.approval.request", params)
		return fmt.Sprint(agent.answer(id).get("id"))
	}
	a := start(`{"toolName":"ask","params":{"n":1},"twoPhase":true}`)
	get := func(ref string) string { return `{"id":"` + ref + `"}` }
	operator.refused("tool.approvals.get", get(a[:7]), invalidRequest, "APPROVAL_NOT_FOUND")
	operator.ok("tool.approvals.get", get(a[:8]))
	operator.ok("tool.approvals.get", get(strings.ToUpper(a[:12])))
	agent.refused("tool.approvals.get", get(a[:8]), invalidRequest, "APPROVAL_NOT_FOUND")
	operator.refused("tool.approvals.get", get(""), invalidRequest, "APPROVAL_NOT_FOUND")
	operator.refused("tool.approvals.get", get("mistake ../../x"), invalidRequest, "APPROVAL_NOT_FOUND")

	// An own id that looks like another's prefix is refused.
	agent.refused("tool.approval.request", `{"id":"`+a[:9]+`","toolName":"ask","params":{"n":2},"twoPhase":true}`, invalidRequest, "APPROVAL_ID_CONFLICT")
	operator.ok("tool.approval.resolve", `{"id":"`+a+`","decision":"deny"}`)
	operator.refused("tool.approval.resolve", `{"id":"`+a+`","decision":"allow-once"}`, invalidRequest, "APPROVAL_ALREADY_RESOLVED")
}

func TestErrorsAsExistingClientsKnowThem(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	agent.ok("tool.approvals.list", `{}`)
	agent.refused("tool.approval.resolve", `{"id":"x","decision":"allow-once"}`, forbidden, "MISSING_SCOPE")
	agent.refused("tool.approvals.policy.get", `{}`, forbidden, "MISSING_SCOPE")
	operator.refused("tool.approval.request", `{"toolName":"ask","params":{}}`, forbidden, "MISSING_SCOPE")
	operator.refused("no.such.method", `{}`, invalidRequest, "UNKNOWN_METHOD")
	operator.refused("tool.approval.resolve", `{"id":"none-such","decision":"deny"}`, invalidRequest, "APPROVAL_NOT_FOUND")
	agent.refused("tool.approval.request", `{"toolName":"ask","params":{},"origin":{"channel":"telegram","to":"-1999"}}`, forbidden, "ORIGIN_NOT_ALLOWED")
	r := agent.refused("tool.approval.request", `{"toolName":"ask","params":{},"id":"mistake !","timeoutMs":-1}`, invalidRequest, "")
	require.Equal(t, "invalid_request", r.Details.Code)
	require.Len(t, r.Details.Fields, 2)
	operator.refused("tool.approvals.list", `{"limit":0,"toolName":"mistake"}`, invalidRequest, "")
	operator.refused("tool.approvals.list", `{"status":"mistake"}`, invalidRequest, "")

	id := agent.start("tool.approval.request", `{"id":"o","toolName":"once","params":{},"twoPhase":true}`)
	agent.answer(id)
	operator.refused("tool.approval.resolve", `{"id":"o","decision":"allow-always"}`, invalidRequest, "APPROVAL_ALLOW_ALWAYS_UNAVAILABLE")
	operator.refused("tool.approval.resolve", `{"id":"o","decision":"allow-session"}`, invalidRequest, "APPROVAL_DECISION_UNAVAILABLE")
	operator.refused("tool.approval.resolve", `{"id":"o","decision":"mistake"}`, invalidRequest, "")
	require.Equal(t, "pending", operator.ok("tool.approvals.get", `{"id":"o"}`).get("status"), "what is not offered denies nothing")
}

func TestMalformedFrames(t *testing.T) {
	d := newDesk(t)
	c := d.connect("alice")
	for text, id := range map[string]string{
		`not json`: `"invalid"`, `[]`: `"invalid"`, `{}`: `"invalid"`, `"x"`: `"invalid"`, `{"type":"req"}`: `"invalid"`,
		`{"type":"req","id":7}`: `7`,
		`{"type":"req","id":"a","method":"tool.approvals.list","x":1}`:      `"a"`,
		`{"type":"req","id":true,"method":"tool.approvals.list"}`:           `"invalid"`,
		`{"type":"req","id":"","method":"tool.approvals.list"}`:             `"invalid"`,
		`{"type":"req","id":{"a":1},"method":"tool.approvals.list"}`:        `"invalid"`,
		`{"type":"res","id":"b","ok":true}`:                                 `"b"`,
		`{"type":"req","id":"c","id":"d","method":"m"}`:                     `"d"`,
		`{"type":"req","id":"e","method":"tool.approvals.get"} {}`:          `"invalid"`,
		`{"TYPE":"req","id":"f","method":"tool.approvals.list"}`:            `"f"`,
		`{"type":"req","id":"g","method":"tool.approvals.get","params":[]}`: `"g"`,
	} {
		c.raw(text)
		f := c.answer(id)
		require.False(t, f.OK, text)
		require.Equal(t, invalidRequest, f.Error.Code, text)
	}
	c.raw(`{"type":"req","id":-1.5e3,"method":"tool.approvals.list","params":null,"traceparent":"00-1","expectedProfileId":"p"}`)
	c.asked["-1.5e3"] = "tool.approvals.list"
	require.True(t, c.answer("-1.5e3").OK)

	require.NoError(t, c.ws.Write(t.Context(), websocket.MessageBinary, []byte(`{}`)))
	c.gone(websocket.StatusUnsupportedData)
	c = d.connect("alice")
	require.NoError(t, c.ws.Write(t.Context(), websocket.MessageText, make([]byte, maxPayload+10)))
	c.gone(websocket.StatusMessageTooBig)
}

func TestTooManyInFlightAndTooFast(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	for i := range maxInFlight {
		c.answer(c.start("tool.approval.request", fmt.Sprintf(`{"toolName":"ask","params":{"n":%d},"twoPhase":true}`, i)))
	}
	r := c.refused("tool.approvals.list", `{}`, unavailable, "RATE_LIMITED")
	require.True(t, r.Retryable)
	require.EqualValues(t, 1000, r.RetryAfterMs)

	slow := d.connect("slow")
	ids, refusals := []string{}, 0
	for range 50 {
		ids = append(ids, slow.start("tool.approvals.list", `{}`))
	}
	for _, id := range ids {
		if f := slow.answer(id); !f.OK {
			require.Equal(t, "RATE_LIMITED", f.Error.Details.Reason)
			refusals++
		}
	}
	require.Positive(t, refusals)
}

func TestUpgrade(t *testing.T) {
	d := newDesk(t)
	res, err := http.Get("http://" + d.addr + "/v1/gateway")
	require.NoError(t, err)
	refused := func(res *http.Response, status int, code string) {
		var p api.Problem
		require.NoError(t, json.NewDecoder(res.Body).Decode(&p))
		require.NoError(t, res.Body.Close())
		require.Equal(t, status, res.StatusCode)
		require.Equal(t, "application/problem+json", res.Header.Get("Content-Type"))
		require.Equal(t, code, p.Code)
		http.DefaultClient.CloseIdleConnections()
	}
	refused(res, http.StatusUpgradeRequired, "upgrade_required")
	for origin, allowed := range map[string]bool{"https://evil.example": false, "null": false, "http://" + d.addr: true} {
		ws, res, err := websocket.Dial(t.Context(), "ws://"+d.addr+"/v1/gateway", &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		require.Equal(t, allowed, err == nil, origin)
		if allowed {
			require.NoError(t, ws.CloseNow())
		} else {
			refused(res, http.StatusForbidden, "forbidden")
		}
	}
}

// Events come from the log: a client that was away hears what it missed, once.
func TestResumingAfterAnEvent(t *testing.T) {
	d := newDesk(t)
	agent := d.connect("agent")
	ask := func(n int) string {
		id := agent.start("tool.approval.request", fmt.Sprintf(`{"toolName":"ask","params":{"n":%d},"twoPhase":true}`, n))
		return fmt.Sprint(agent.answer(id).get("id"))
	}
	operator := d.connect("alice")
	require.Zero(t, operator.ready.LastSeq)
	ask(1)
	seq := operator.event("tool.approval.requested").get("seq")
	require.NoError(t, operator.ws.CloseNow())
	require.EqualValues(t, seq, d.connect("alice").ready.LastSeq, "who hears nothing knows where to go on")
	second, third := ask(2), ask(3)
	operator = d.connect("alice", fmt.Sprintf(`,"lastSeq":%v`, seq))
	require.Equal(t, second, operator.event("tool.approval.requested").get("id"))
	f := operator.event("tool.approval.requested")
	require.Equal(t, third, f.get("id"))
	require.EqualValues(t, 3, f.Seq, "the connection's own count")
	all := d.connect("alice", `,"lastSeq":0`)
	for range 3 {
		all.event("tool.approval.requested")
	}
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(f.Payload, &m))
	require.JSONEq(t, `3`, string(m["seq"]))
}
