package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func list(t testing.TB, f frame) (out []map[string]any) {
	require.NoError(t, json.Unmarshal(f.Payload, &out), "%s", f.Payload)
	return out
}

// exec's dialect with every field that existing clients know.
const wholeExec = `{"id":"exec-1","command":"git push \"my branch\"","commandArgv":["git","push","my branch"],
	"systemRunPlan":{"argv":["git","push","my branch"],"cwd":"/work","commandText":"git push","agentId":"main","sessionKey":"s"},
	"env":{"TOKEN":"hunter2hunter2"},"cwd":"/work","nodeId":"node-7","host":"node","security":"allowlist","ask":"always","warningText":"pushes","scope":"external-post",
	"unavailableDecisions":["allow-always"],"commandSpans":[{"startIndex":0,"endIndex":3}],"agentId":"main","resolvedPath":"/usr/bin/git","sessionKey":"s",
	"sessionId":"x","runId":"r","toolCallId":"c","turnSourceChannel":"telegram","turnSourceTo":"telegram:-100777","turnSourceAccountId":null,"turnSourceThreadId":42,
	"approvalReviewerDeviceIds":[],"requireDeliveryRoute":false,"suppressDelivery":null,"deliverToApprovalClientsOnly":false,"timeoutMs":60000,"twoPhase":true}`

func TestExecDialect(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	id := agent.start("exec.approval.request", wholeExec)
	first := agent.answer(id)
	require.Equal(t, "accepted", first.get("status"))
	require.Equal(t, "exec-1", first.get("id"))
	require.Equal(t, "forwarder", first.get("deliveryRoute"))

	tool := operator.event("tool.approval.requested")
	require.Equal(t, "exec", tool.get("dialect"))
	require.Equal(t, "telegram", tool.get("channel"))
	asked := operator.event("exec.approval.requested")
	require.Equal(t, "exec-1", asked.get("id"))
	request := asked.get("request").(map[string]any)
	require.Equal(t, map[string]any{"command": `env "TOKEN=[REDACTED]" git push 'my branch'`, "cwd": "/work", "host": "node", "nodeId": "node-7", "envKeys": []any{"TOKEN"},
		"security": "allowlist", "ask": "always", "warningText": "pushes", "scope": "external-post", "agentId": "main", "sessionKey": "s",
		"turnSourceChannel": "telegram", "turnSourceTo": "-100777", "turnSourceThreadId": "42",
		"allowedDecisions": []any{"allow-once", "allow-always", "deny"}}, request)

	pending := list(t, operator.ok("exec.approval.list", `{}`))
	require.Len(t, pending, 1)
	require.Equal(t, request, pending[0]["request"])
	one := operator.ok("exec.approval.get", `{"id":"exec-1"}`)
	require.Equal(t, request["command"], one.get("commandText"))
	a, err := d.gate.Get(t.Context(), agentCaller, "exec-1")
	require.NoError(t, err)
	require.Equal(t, "telegram:-100777:42", a.Origin.String())
	require.EqualValues(t, 60_000, a.ExpiresAtMs-a.CreatedAtMs)

	operator.refused("exec.approval.resolve", `{"id":"exec-1","decision":"allow-always","grantExpiresInDays":3}`, invalidRequest, "")
	operator.ok("exec.approval.resolve", `{"id":"exec-1","decision":"allow-session","reviewer":{"channel":"telegram","senderId":"333"}}`)
	require.Equal(t, "allow-once", agent.answer(id).get("decision"), "exec's clients know no sessions")
	require.Equal(t, "allow-once", agent.ok("exec.approval.waitDecision", `{"id":"exec-1"}`).get("decision"))
	require.Equal(t, "allow-session", operator.event("tool.approval.resolved").get("decision"))
	end := operator.event("exec.approval.resolved")
	require.Equal(t, "allow-once", end.get("decision"))
	require.Equal(t, "person:alice", end.get("resolvedBy"), "the token's person, whatever reviewer was named")
	require.Equal(t, request, end.get("request"))
	operator.refused("exec.approval.get", `{"id":"exec-1"}`, invalidRequest, "APPROVAL_NOT_FOUND")
	require.Empty(t, list(t, operator.ok("exec.approval.list", `{}`)))
}

// What was asked in the newer words has no twin in the older ones.
func TestExecTwinsAreForThatDialectOnly(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	id := agent.start("tool.approval.request", `{"toolName":"exec","params":{"command":"make"},"twoPhase":true}`)
	agent.answer(id)
	_ = agent.start("exec.approval.request", `{"command":"make test","id":"e"}`)
	operator.event("tool.approval.requested")
	operator.event("tool.approval.requested")
	operator.event("exec.approval.requested")
	require.Len(t, list(t, operator.ok("exec.approval.list", `{}`)), 2, "listed they are: nothing waits unseen")
	agent.ok("exec.approval.get", `{"id":"e"}`)
}

func TestExecRefuses(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	for params, field := range map[string]string{
		`{"cwd":"/mistake"}`: "command",
		`{"command":"rm -rf /","commandArgv":["echo","mistake"]}`:                                                  "command",
		`{"commandArgv":[],"cwd":"/mistake"}`:                                                                      "commandArgv",
		`{"commandArgv":["ls"],"systemRunPlan":{"argv":["rm","mistake"]}}`:                                         "systemRunPlan",
		`{"command":"ls","cwd":"/a","systemRunPlan":{"cwd":"/mistake"}}`:                                           "systemRunPlan",
		`{"command":"ls","systemRunPlan":["mistake"]}`:                                                             "systemRunPlan",
		`{"command":"ls","security":"mistake"}`:                                                                    "security",
		`{"command":"ls","timeoutMs":0,"cwd":"/mistake"}`:                                                          "timeoutMs",
		`{"command":"ls","approved":"mistake"}`:                                                                    "approved",
		`{"command":"ls","env":{"A":1},"cwd":"mistake"}`:                                                           "env",
		`{"command":"ls","turnSourceChannel":"telegram","turnSourceTo":"@mistake"}`:                                "turnSourceTo",
		`{"command":"ls","turnSourceChannel":"discord","turnSourceTo":"channel:1","turnSourceThreadId":"mistake"}`: "turnSourceTo",
	} {
		r := c.refused("exec.approval.request", params, invalidRequest, "")
		require.Equal(t, field, r.Details.Fields[0].Field, params)
	}
	r := c.refused("exec.approval.request", `{"command":"ls","id":"mistake !"}`, invalidRequest, "INVALID_APPROVAL_ID")
	require.Equal(t, "EXEC_APPROVAL_ID_INVALID", r.Details.Code)
	c.refused("exec.approval.request", `{"command":"ls","turnSourceChannel":"telegram","turnSourceTo":"-100999"}`, forbidden, "ORIGIN_NOT_ALLOWED")
}

func TestExecOrigins(t *testing.T) {
	for given, want := range map[[3]string]string{
		{"telegram", "-100777", ""}:            "telegram:-100777",
		{"telegram", "telegram:-100777", `42`}: "telegram:-100777:42",
		{"telegram", "-100777:topic:9", ""}:    "telegram:-100777:9",
		{"discord", "channel:123", ""}:         "discord:123",
		{"discord", "user:22", ""}:             "discord:dm:22",
		{"discord", "dm:22", "null"}:           "discord:dm:22",
		{"discord", "123", `"456"`}:            "discord:123:456",
		{"webchat", "x", ""}:                   "",
		{"telegram", "", ""}:                   "",
	} {
		got, err := execAsk{TurnSourceChannel: given[0], TurnSourceTo: given[1], TurnSourceThreadID: json.RawMessage(given[2])}.origin()
		require.NoError(t, err, given)
		if want == "" {
			require.Nil(t, got)
		} else {
			require.Equal(t, want, got.String())
		}
	}
}

func TestSaysTheSame(t *testing.T) {
	for _, c := range []struct {
		command string
		argv    []string
		same    bool
	}{
		{"git push", []string{"git", "push"}, true},
		{" git\tpush ", []string{"git", "push"}, true},
		{"git 'a b' \"c \\\" d\" e\\ f", []string{"git", "a b", `c " d`, "e f"}, true},
		{`echo $HOME "a b"`, []string{"echo", "$HOME", "a b"}, true},
		{`printf ""`, []string{"printf", ""}, true},
		{"echo hi | sh", []string{"/bin/sh", "-lc", "echo hi | sh"}, true},
		{"echo hi | sh", []string{"/bin/evil", "-lc", "echo hi | sh"}, false},
		{"echo hi", []string{"/bin/sh", "-c", "echo hi", "x"}, false},
		{"rm -rf a b", []string{"rm", "-rf", "a b"}, false},
		{"git push", []string{"git", "push", "--force"}, false},
		{"git push; ls", []string{"git", "push;", "ls"}, true}, // as existing clients write it
		{"git push \\; ls", []string{"git", "push", ";", "ls"}, true},
		{"git 'push", []string{"git", "push"}, false},
		{"git \"push", []string{"git", "push"}, false},
		{"git push\\", []string{"git", "push"}, false},
		{"", nil, true},
	} {
		require.Equal(t, c.same, saysTheSame(c.command, c.argv), c.command)
	}
}

func TestAgentShieldDialect(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	const params = `{"path":"/etc/secret-place","text":"hunter2hunter2"}`
	answer := agent.ok("agentshield.approval.request", `{"toolName":"file_write","params":`+params+`,"agentId":"main","sessionKey":"s"}`)
	require.Equal(t, "approval-pending", answer.get("status"))
	require.Equal(t, "file_write", answer.get("tool"))
	id := fmt.Sprint(answer.get("approvalId"))

	operator.event("tool.approval.requested")
	asked := operator.event("agentshield.approval.requested")
	require.Equal(t, id, asked.get("id"))
	a, err := d.gate.Get(t.Context(), agentCaller, id)
	require.NoError(t, err)
	require.Equal(t, a.Fingerprint, asked.get("argsFingerprint"))
	pending := list(t, operator.ok("agentshield.approval.list", `{}`))
	require.Len(t, pending, 1)
	require.Equal(t, "pending", pending[0]["status"])
	require.Empty(t, list(t, operator.ok("agentshield.approval.list", `{"status":"approved","limit":3}`)))

	operator.ok("agentshield.approval.resolve", `{"id":"`+id[:8]+`","decision":"allow-once"}`)
	operator.event("tool.approval.resolved")
	require.Equal(t, "allow-once", operator.event("agentshield.approval.resolved").get("decision"))
	require.Equal(t, "allow-once", agent.ok("tool.approval.waitDecision", `{"id":"`+id+`"}`).get("decision"))
	require.Len(t, list(t, operator.ok("agentshield.approval.list", `{"status":"approved"}`)), 1)
	require.Equal(t, "approval-pending", agent.ok("agentshield.approval.request", `{"tool":"read","params":{}}`).get("status"), "a shield that asks gets a person, whatever policy says")
	require.Equal(t, "denied", agent.ok("agentshield.approval.request", `{"toolName":"rm","paramsJSON":"{}"}`).get("status"))
}

func TestAgentShieldFingerprints(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	for _, fp := range []string{sum(`{"a":1,"b":2}`), sum(`{ "b":2, "a":1}`), sum(`{"params":{"a":1,"b":2},"toolName":"t"}`)} {
		c.ok("agentshield.approval.request", fmt.Sprintf(`{"toolName":"t","paramsJSON":%q,"argsFingerprint":%q}`, `{ "b":2, "a":1}`, fp))
	}
	c.refused("agentshield.approval.request", `{"toolName":"t","params":{"a":2},"argsFingerprint":"`+sum(`{"a":1}`)+`"}`, invalidRequest, "FINGERPRINT_MISMATCH")
	c.refused("agentshield.approval.request", `{"toolName":"t","params":{},"paramsJSON":"{}","id":"mistake"}`, invalidRequest, "")
	c.refused("agentshield.approval.request", `{"toolName":"t","tool":"mistake","params":{}}`, invalidRequest, "")
	c.refused("agentshield.approval.request", `{"toolName":"t","paramsJSON":"mistake"}`, invalidRequest, "")
}

func TestAgentShieldIsClosedByDefault(t *testing.T) {
	d := newDesk(t, func(g *Gateway) { g.cfg.AgentShield = func() bool { return false } })
	operator, agent := d.connect("alice"), d.connect("agent")
	require.Equal(t, "approvals disabled", agent.refused("agentshield.approval.request", `{"toolName":"t","params":{}}`, unavailable, "APPROVALS_DISABLED").Message)
	operator.refused("agentshield.approval.resolve", `{"id":"x","decision":"deny"}`, unavailable, "APPROVALS_DISABLED")
	operator.refused("agentshield.approval.list", `{}`, unavailable, "APPROVALS_DISABLED")
	require.Empty(t, list(t, operator.ok("exec.approval.list", `{}`)), "nothing was stored")
	require.Contains(t, string(operator.ok("tool.approvals.list", `{}`).Payload), `"items":[]`)
}
