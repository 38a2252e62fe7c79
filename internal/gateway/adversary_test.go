package gateway

import (
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

var filterOne = core.Filter{Limit: 1}

const pendingAsk = `{"id":"p","toolName":"ask","params":{"n":1},"twoPhase":true}`

// pending asks for one call as the agent, and gives the agent's connection.
func (d *desk) pending() *client {
	c := d.connect("agent")
	c.answer(c.start("tool.approval.request", pendingAsk))
	return c
}

// still requires that the approval p is pending, without votes.
func (d *desk) still() {
	d.t.Helper()
	a, err := d.gate.Get(d.t.Context(), agentCaller, "p")
	require.NoError(d.t, err)
	require.Equal(d.t, approval.Pending, a.Status)
	require.Empty(d.t, a.Votes)
}

// Scopes, roles and devices that a client claims give it nothing.
func TestAdversary_I9_ClaimsAtConnectAreIgnored(t *testing.T) {
	d := newDesk(t)
	d.pending()
	c := d.connect("agent", `,"device":{"id":"alice","signature":"x"},"permissions":{"operator.approvals":true}`)
	require.Equal(t, []any{"approvals.request"}, c.hello["auth"].(map[string]any)["scopes"])
	for _, m := range []string{"tool.approval.resolve", "exec.approval.resolve", "agentshield.approval.resolve"} {
		c.refused(m, `{"id":"p","decision":"allow-once"}`, forbidden, "MISSING_SCOPE")
	}
	d.still()
}

// A token that is removed loses its open socket, and what it does meanwhile is
// judged by the token as it stands.
func TestAdversary_I9_ARemovedTokensSocketIsClosed(t *testing.T) {
	d := newDesk(t)
	d.pending()
	bob, alice := d.connect("bob"), d.connect("alice")
	require.NoError(t, d.srv.Tokens.Use(tokens("bob")))
	_ = bob.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"req","id":1,"method":"tool.approval.resolve","params":{"id":"p","decision":"allow-once"}}`))
	bob.gone(websocket.StatusPolicyViolation)
	d.still()
	alice.ok("tool.approvals.list", `{}`)
	c := d.dial()
	c.refused("connect", greetingOf("bob", ""), invalidRequest, "UNAUTHORIZED")
	c.gone(websocket.StatusPolicyViolation)
}

// Whoever stands behind the asking token decides nothing, by whatever door.
func TestAdversary_I9_NobodyApprovesWhatTheyAsked(t *testing.T) {
	d := newDesk(t)
	asker := d.connect("alice-agent")
	asker.answer(asker.start("exec.approval.request", `{"id":"p","command":"make","twoPhase":true}`))
	d.connect("alice").refused("exec.approval.resolve", `{"id":"p","decision":"allow-once"}`, forbidden, "SELF_APPROVAL")
	bob := d.connect("bob")
	bob.answer(bob.start("exec.approval.request", `{"id":"b","command":"make all","twoPhase":true}`))
	bob.refused("exec.approval.resolve", `{"id":"b","decision":"allow-once"}`, forbidden, "SELF_APPROVAL")
}

// An agent's token reaches no verb that decides, reads policy or sees others.
func TestAdversary_I10_AnAgentsTokenDecidesNothing(t *testing.T) {
	d := newDesk(t)
	d.pending()
	other := d.connect("other")
	for name := range methods() {
		switch params := `{"id":"p"}`; {
		case name == "approval.resolve":
			other.refused(name, `{"id":"p","kind":"exec","decision":"allow-once"}`, forbidden, "MISSING_SCOPE")
		case strings.HasSuffix(name, ".resolve"):
			other.refused(name, `{"id":"p","decision":"allow-once"}`, forbidden, "MISSING_SCOPE")
		case strings.HasSuffix(name, "policy.get"), name == "exec.approvals.get":
			other.refused(name, `{}`, forbidden, "MISSING_SCOPE")
		case strings.HasSuffix(name, ".get"), strings.HasSuffix(name, "waitDecision"):
			other.refused(name, params, invalidRequest, "APPROVAL_NOT_FOUND")
		case strings.HasSuffix(name, "list"):
			require.NotContains(t, string(other.ok(name, `{}`).Payload), `"p"`)
		}
	}
	d.still()
	require.Empty(t, other.events)
}

// Nothing that a caller says in a request grants anything.
func TestAdversary_B1_ACallerGrantsNothing(t *testing.T) {
	d := newDesk(t)
	c := d.connect("agent")
	for _, extra := range []string{`"approved":true`, `"decision":"allow-once"`, `"status":"approved"`, `"votes":[]`, `"riskClass":"R0"`, `"approvalDecision":"allow-once"`, `"dialect":"exec"`} {
		name := strings.Split(extra, `"`)[1]
		for method, body := range map[string]string{
			"tool.approval.request": `{"toolName":"ask","params":{},"justification":"mistake",`, "exec.approval.request": `{"command":"mistake",`,
			"agentshield.approval.request": `{"toolName":"ask","params":{},"sessionKey":"mistake",`,
		} {
			r := c.refused(method, body+extra+`}`, invalidRequest, "")
			require.Equal(t, name, r.Details.Fields[0].Field)
		}
	}
	require.Contains(t, string(c.ok("tool.approvals.list", `{}`).Payload), `"items":[]`)
}

// Ids belong to their owner: the same id of another owner, or one that equals a
// code, is no way to another's approval.
func TestAdversary_B3_IdsAreTheirOwners(t *testing.T) {
	d := newDesk(t)
	c := d.pending()
	c.refused("tool.approval.request", `{"id":"p","toolName":"ask","params":{"n":2}}`, invalidRequest, "APPROVAL_ID_CONFLICT")
	other := d.connect("other")
	other.answer(other.start("tool.approval.request", `{"id":"p","toolName":"ask","params":{"n":3},"twoPhase":true}`))
	operator := d.connect("alice")
	operator.refused("tool.approval.resolve", `{"id":"p","decision":"allow-once"}`, invalidRequest, "APPROVAL_ID_AMBIGUOUS")
	a, err := d.gate.Get(t.Context(), agentCaller, "p")
	require.NoError(t, err)
	other.refused("tool.approval.request", `{"id":"`+a.Code+`","toolName":"ask","params":{"n":4},"twoPhase":true}`, invalidRequest, "APPROVAL_ID_CONFLICT")
	operator.ok("tool.approvals.get", `{"id":"`+a.Code+`"}`)
	d.still()
}

// Events and answers come from the desk only: a client's are refused frames.
func TestAdversary_B9_AClientsEventsAreNothing(t *testing.T) {
	d := newDesk(t)
	c, operator := d.pending(), d.connect("alice")
	for _, text := range []string{
		`{"type":"event","event":"tool.approval.resolved","payload":{"id":"p","decision":"allow-once"},"seq":9}`,
		`{"type":"res","id":"p","ok":true,"payload":{"id":"p","decision":"allow-once"}}`,
	} {
		c.raw(text)
		id := `"invalid"`
		if strings.Contains(text, `"res"`) {
			id = `"p"`
		}
		require.False(t, c.answer(id).OK)
	}
	operator.ok("tool.approvals.list", `{}`)
	require.Empty(t, operator.events)
	d.still()
}

// Secrets in params are in no frame, whoever asks in whatever dialect.
func TestAdversary_S6_NoSecretLeaves(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	for _, ask := range [][2]string{
		{"tool.approval.request", `{"id":"1","toolName":"t","params":{"header":"Authorization: Bearer hunter2hunter2hunter2","password":"hunter2hunter2"},"twoPhase":true}`},
		{"exec.approval.request", `{"id":"2","command":"mysql -phunter2hunter2 && curl https://u:hunter2hunter2@x","env":{"AWS_SECRET_ACCESS_KEY":"hunter2hunter2"},"warningText":"token=hunter2hunter2","twoPhase":true}`},
	} {
		agent.answer(agent.start(ask[0], ask[1]))
	}
	for _, m := range []string{"tool.approvals.list", "exec.approval.list", "agentshield.approval.list"} {
		operator.ok(m, `{}`)
	}
	operator.ok("tool.approvals.get", `{"id":"1"}`)
	operator.ok("exec.approval.get", `{"id":"2"}`)
	operator.ok("exec.approval.resolve", `{"id":"2","decision":"deny"}`)
	agent.ok("tool.approval.waitDecision", `{"id":"2"}`)
	for _, name := range []string{"tool.approval.requested", "tool.approval.requested", "exec.approval.requested", "tool.approval.resolved", "exec.approval.resolved"} {
		operator.event(name)
	}
	for _, c := range []*client{operator, agent} {
		require.NotContains(t, c.heard.String(), "hunter2")
	}
}

// Of a call in the fingerprint-only dialect nothing but the fingerprint leaves
// the process: no frame, no card, no page has its arguments, and no chat may
// allow it.
func TestAdversary_S6_OnlyFingerprintsOfShieldedCalls(t *testing.T) {
	d := newDesk(t)
	operator, agent := d.connect("alice"), d.connect("agent")
	agent.ok("agentshield.approval.request", `{"id":"p","toolName":"file_write","params":{"path":"/srv/plain-words","n":1}}`)
	operator.event("tool.approval.requested")
	operator.event("agentshield.approval.requested")
	operator.ok("tool.approvals.get", `{"id":"p"}`)
	operator.ok("tool.approvals.list", `{}`)
	operator.ok("agentshield.approval.list", `{}`)
	agent.ok("tool.approvals.get", `{"id":"p"}`)
	require.NotContains(t, operator.heard.String()+agent.heard.String(), "plain-words")

	a, err := d.gate.Get(t.Context(), agentCaller, "p")
	require.NoError(t, err)
	drawn, err := d.gate.Draw(t.Context(), a.Deliveries[0])
	require.NoError(t, err)
	require.Empty(t, drawn.Card.Offers)
	require.Nil(t, drawn.File)
	require.Empty(t, drawn.Card.Payload)
	require.Contains(t, drawn.Card.Headline.String(), "contents not shown here: deny here, or decide in the terminal")
	require.Contains(t, drawn.Card.Details, card.Fact{Name: "Fingerprint", Value: a.Fingerprint[:12], Own: true})
	chat, err := approval.ParseTarget(group)
	require.NoError(t, err)
	_, err = d.gate.Vote(t.Context(), a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "111"}, Decision: approval.AllowOnce, Chat: &chat, Card: "1"})
	require.Equal(t, approval.CodeUnseenPayload, approval.CodeOf(err))
	claimed := operator.ok("agentshield.approval.resolve", `{"id":"p","decision":"allow-once"}`)
	require.True(t, claimed.OK)
	got, err := d.gate.Claim(t.Context(), agentCaller, "p", core.ClaimInput{})
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"/srv/plain-words","n":1}`, string(got.Params), "its owner gets what was approved")
}

// What a connection's token has no right to is on record, with its name and the method.
func TestAdversary_T17_ForbiddenMethods(t *testing.T) {
	d := newDesk(t)
	c := d.pending()
	c.refused("tool.approval.resolve", `{"id":"p","decision":"allow-once"}`, forbidden, "MISSING_SCOPE")
	all, err := d.store.Log(t.Context(), 0, 100)
	require.NoError(t, err)
	last := all[len(all)-1]
	require.Equal(t, approval.EventRefused, last.Type)
	require.Contains(t, string(last.Data), `"by":"token:agent"`)
	require.Contains(t, string(last.Data), `"why":"forbidden: gateway tool.approval.resolve"`)
}
