package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// cliConnect is how OpenClaw's command line (2026.9.6) greets, as it was heard on
// the wire.
const cliConnect = `{"minProtocol":4,"maxProtocol":4,"client":{"id":"cli","version":"2026.9.6","platform":"linux",
	"deviceFamily":"Linux","mode":"cli","instanceId":"9590c8a9-eb91-40c1-bc17-fae80a94f941"},"caps":[],
	"auth":{"token":%q},"role":"operator","scopes":["operator.admin","operator.approvals"]}`

// cli is one run of that command line: each request has a connection of its own.
func (d *desk) cli(method, params string) frame {
	d.t.Helper()
	c := d.dial()
	greeting := fmt.Sprintf(cliConnect, secretOf("alice"))
	require.True(d.t, c.do("connect", greeting).OK)
	return c.do(method, params)
}

func (d *desk) askExec(params string) approval.Approval {
	d.t.Helper()
	a, _, err := d.gate.Submit(d.t.Context(), agentCaller, approval.Call{ToolName: "exec", Params: json.RawMessage(params),
		AgentID: "main", SessionKey: "s", Justification: "weekly push"})
	require.NoError(d.t, err)
	return a
}

func recordOf(t *testing.T, f frame) (out record) {
	t.Helper()
	require.True(t, f.OK, "%+v", f.Error)
	var answer recordAnswer
	require.NoError(t, json.Unmarshal(f.Payload, &answer))
	return answer.Approval
}

// The frames of `openclaw approvals pending`, `get --gateway` and `resolve`.
func TestOpenClawsCommandLine(t *testing.T) {
	d := newDesk(t)
	a := d.askExec(`{"command":"git push","workdir":"/srv","env":{"GIT_SSH_COMMAND":"/tmp/x # y"}}`)

	pending := list(t, d.cli("exec.approval.list", `{}`))
	require.Len(t, pending, 1, "also what was not asked in exec's words")
	require.Equal(t, a.ID, pending[0]["id"])
	request := pending[0]["request"].(map[string]any)
	require.Equal(t, `env "GIT_SSH_COMMAND=/tmp/x # y" git push`, request["command"], "nothing that would run is left out")
	for _, none := range []string{"plugin.approval.list", "openclaw.approval.list"} {
		require.JSONEq(t, `[]`, string(d.cli(none, `{}`).Payload))
	}
	require.JSONEq(t, `{"path":"approvals.exec (the desk's configuration)","exists":true,"hash":"7e57","file":{"version":1,
		"defaults":{"security":"allowlist","ask":"on-miss","askFallback":"deny"},"agents":{"*":{"allowlist":[{"pattern":"git status"}]}}}}`,
		string(d.cli("exec.approvals.get", `{}`).Payload))

	r := recordOf(t, d.cli("approval.get", `{"id":"`+a.ID+`"}`))
	require.Equal(t, "pending", r.Status)
	require.Equal(t, presentation{"exec", `env "GIT_SSH_COMMAND=/tmp/x # y" git push`,
		"working directory: /srv\nThe asker says: weekly push", "", "", "main",
		[]approval.Decision{approval.AllowOnce, approval.AllowAlways, approval.Deny}}, r.Presentation)

	resolve := `{"id":"` + a.ID + `","kind":"exec","decision":"allow-once"}`
	first := d.cli("approval.resolve", resolve)
	require.Equal(t, true, first.get("applied"))
	r = recordOf(t, first)
	require.Equal(t, []any{"allowed", approval.AllowOnce, "user"}, []any{r.Status, r.Decision, r.Reason})
	require.Equal(t, &resolver{"device", "person:alice"}, r.Resolver)
	require.NotZero(t, r.ResolvedAtMs)
	for _, late := range []string{resolve, strings.Replace(resolve, "allow-once", "deny", 1)} {
		again := d.cli("approval.resolve", late)
		require.Equal(t, false, again.get("applied"))
		require.Equal(t, approval.AllowOnce, recordOf(t, again).Decision, "as it ended")
	}
	require.JSONEq(t, `[]`, string(d.cli("exec.approval.list", `{}`).Payload))
}

// Each way to end has its status, and none that is no allow looks like one.
func TestRecordsSayHowItEnded(t *testing.T) {
	end := func(a approval.Approval) record {
		r := record{Status: "pending"}
		a.Assessment.ReasonCodes = append(a.Assessment.ReasonCodes, "test")
		r.end(a)
		return r
	}
	deny := approval.Approval{Ended: approval.Ended{Status: approval.Denied, Decision: approval.Deny, DecidedBy: []string{"policy"}}}
	lone := deny
	lone.Assessment.ReasonCodes = []string{approval.ReasonInsufficient}
	back := approval.Approval{Ended: approval.Ended{Status: approval.Approved, Decision: approval.AllowAlways, RevokedAtMs: 1, RevokedBy: "person:bob", DecidedBy: []string{"person:alice"}}}
	for want, a := range map[string]approval.Approval{
		"allowed allow-once user":   {Ended: approval.Ended{Status: approval.Approved, Decision: approval.AllowSession}},
		"allowed allow-always user": {Ended: approval.Ended{Status: approval.Approved, Decision: approval.AllowAlways}},
		"denied deny user":          deny,
		"denied deny no-route":      lone,
		"expired  timeout":          {Ended: approval.Ended{Status: approval.Expired}},
		"cancelled  run-aborted":    back,
	} {
		r := end(a)
		require.Equal(t, want, fmt.Sprintf("%s %s %s", r.Status, r.Decision, r.Reason))
	}
	require.Equal(t, "cancelled", end(approval.Approval{Ended: approval.Ended{Status: approval.Withdrawn}}).Status)
	require.Equal(t, "denied", end(approval.Approval{
		Ended: approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce},
		Asked: approval.Asked{ToolName: approval.DrillTool},
	}).Status)
	require.Equal(t, &resolver{"system", "policy"}, end(deny).Resolver)
	require.Equal(t, &resolver{"system", "person:bob"}, end(back).Resolver)
	tap := approval.Approval{
		Ended: approval.Ended{Status: approval.Denied, Decision: approval.Deny, DecidedBy: []string{"person:alice"}},
		Voted: approval.Voted{Votes: []approval.Vote{{Voter: &approval.Voter{Person: "alice", Channel: "telegram", UserID: "111"}}}},
	}
	require.Equal(t, &resolver{"channel", "person:alice"}, end(tap).Resolver)
}

func TestApprovalResolveRefuses(t *testing.T) {
	d := newDesk(t)
	a := d.askExec(`{"command":"git push"}`)
	operator, agent := d.connect("alice"), d.connect("agent")
	id := `{"id":"` + a.ID + `",`
	r := operator.refused("approval.resolve", id+`"kind":"mistake","decision":"deny"}`, invalidRequest, "")
	require.Equal(t, "kind", r.Details.Fields[0].Field)
	operator.refused("approval.resolve", id+`"kind":"exec","decision":"mistake"}`, invalidRequest, "")
	operator.refused("approval.resolve", id+`"kind":"exec","decision":"allow-always","grantExpiresInDays":3}`, invalidRequest, "")
	agent.refused("approval.resolve", id+`"kind":"exec","decision":"allow-once"}`, forbidden, "MISSING_SCOPE")
	require.Equal(t, "pending", recordOf(t, agent.do("approval.get", `{"id":"`+a.ID+`"}`)).Status, "none of them ended it")

	own, _, err := d.gate.Submit(t.Context(), core.Caller{Token: "alice-agent", MayRequest: true, Person: "alice"},
		approval.Call{ToolName: "exec", Params: json.RawMessage(`{"command":"make"}`)})
	require.NoError(t, err)
	operator.refused("approval.resolve", `{"id":"`+own.ID+`","kind":"exec","decision":"allow-once"}`, forbidden, "SELF_APPROVAL")

	for name, call := range map[string]approval.Call{
		"another tool":         {ToolName: "mail.send", Params: json.RawMessage(`{}`)},
		"only its fingerprint": {ToolName: "exec", Params: json.RawMessage(`{"command":"ls /secret"}`), Dialect: approval.DialectAgentShield, MustAsk: true},
	} {
		other, _, err := d.gate.Submit(t.Context(), agentCaller, call)
		require.NoError(t, err)
		for method, params := range map[string]string{"approval.get": `{"id":"` + other.ID + `"}`,
			"approval.resolve": `{"id":"` + other.ID + `","kind":"exec","decision":"allow-once"}`} {
			r := operator.refused(method, params, invalidRequest, "APPROVAL_NOT_FOUND")
			require.Equal(t, "approval not found", r.Message, name)
		}
	}
	require.Len(t, list(t, operator.ok("exec.approval.list", `{}`)), 2)
}

// What existing clients hear when connecting again is of no use, and on what else
// they would connect for ever.
func TestClientsStopOnAWrongToken(t *testing.T) {
	d := newDesk(t)
	for token, code := range map[string]string{"guess": "AUTH_TOKEN_MISMATCH", "": "AUTH_TOKEN_MISSING", secretOf("auditor"): "AUTH_SCOPE_MISMATCH"} {
		c := d.dial()
		f := c.do("connect", fmt.Sprintf(cliConnect, token))
		require.Equal(t, code, f.Error.Details.Code)
		require.False(t, f.Error.Retryable)
		c.gone(websocket.StatusPolicyViolation)
	}
	f := d.dial().do("connect", fmt.Sprintf(strings.NewReplacer(`Protocol":4`, `Protocol":9`).Replace(cliConnect), secretOf("alice")))
	require.Equal(t, "PROTOCOL_MISMATCH", f.Error.Details.Code)
}

// A client that is strict about hello-ok finds nothing that it does not know.
func TestHelloSaysOnlyWhatClientsKnow(t *testing.T) {
	c := newDesk(t).connect("alice")
	names := func(v any) []string { return slices.Sorted(maps.Keys(v.(map[string]any))) }
	require.Equal(t, []string{"auth", "features", "policy", "protocol", "server", "snapshot", "type"}, names(c.hello))
	require.Equal(t, []string{"connId", "version"}, names(c.hello["server"]))
	require.Equal(t, []string{"events", "methods"}, names(c.hello["features"]))
	require.Equal(t, []string{"health", "presence", "stateVersion", "uptimeMs"}, names(c.hello["snapshot"]))
	require.Equal(t, []string{"role", "scopes"}, names(c.hello["auth"]))
	require.Equal(t, []string{"maxBufferedBytes", "maxPayload", "tickIntervalMs"}, names(c.hello["policy"]))
}

func TestAgentShieldWaits(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	id := fmt.Sprint(agent.ok("agentshield.approval.request", `{"toolName":"file_write","params":{"path":"/x"}}`).get("approvalId"))
	wait := agent.start("agentshield.approval.waitDecision", `{"id":"`+id+`"}`)
	operator.ok("agentshield.approval.resolve", `{"id":"`+id+`","decision":"deny","reason":"not there"}`)
	end := agent.answer(wait)
	require.Equal(t, "deny", end.get("decision"))
	require.Equal(t, "not there", end.get("reason"))
}
