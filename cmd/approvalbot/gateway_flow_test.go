package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

var apiPending = api.Filter{Status: api.Pending}

// frame is a gateway frame as a client reads it.
type frame struct {
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	OK      bool            `json:"ok"`
	Event   string          `json:"event"`
	Payload json.RawMessage `json:"payload"`
}

func (f frame) field(name string) any {
	var m map[string]any
	_ = json.Unmarshal(f.Payload, &m)
	return m[name]
}

// wire is a client of the gateway.
type wire struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
}

func (r *rig) gateway(token string) *wire {
	r.t.Helper()
	conn, res, err := websocket.Dial(r.ctx(), "ws"+strings.TrimPrefix(r.url, "http")+"/v1/gateway", nil)
	require.NoError(r.t, err)
	if res.Body != nil {
		res.Body.Close()
	}
	r.t.Cleanup(func() { conn.CloseNow() })
	w := &wire{r.t, r.ctx(), conn}
	require.Equal(r.t, "connect.challenge", w.read().Event)
	w.send("1", "connect", `{"minProtocol":3,"maxProtocol":3,"client":{"id":"test","version":"1","platform":"linux","mode":"cli"},"role":"operator","scopes":["operator.admin"],"auth":{"token":"`+token+`"}}`)
	require.True(r.t, w.answer("1").OK)
	return w
}

func (w *wire) send(id, method, params string) {
	w.t.Helper()
	require.NoError(w.t, w.conn.Write(w.ctx, websocket.MessageText, []byte(`{"type":"req","id":"`+id+`","method":"`+method+`","params":`+params+`}`)))
}

func (w *wire) read() (f frame) {
	w.t.Helper()
	_, b, err := w.conn.Read(w.ctx)
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(b, &f))
	return f
}

// answer waits for the next answer to a request, past events.
func (w *wire) answer(id string) frame {
	w.t.Helper()
	for {
		if f := w.read(); f.Type == "res" && f.ID == id {
			return f
		}
	}
}

// An existing gateway client asks in exec's dialect, in two phases; a person taps
// in the chat; the client is told on the same request.
func TestFlow_AGatewayClientAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	agent := r.gateway(agentSecret)
	agent.send("7", "exec.approval.request", `{"id":"job-1","command":"git push origin main","cwd":"/srv","host":"gateway","security":"allowlist","ask":"on-miss","agentId":"main","sessionKey":"agent:main:main","timeoutMs":60000,"twoPhase":true}`)
	require.Equal(t, "accepted", agent.answer("7").field("status"))
	page, err := r.operator().List(r.ctx(), apiPending)
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	card := r.card(page.Items[0])
	r.tap(r.alice, r.group, card.ID, "Allow once")
	require.Equal(t, "allow-once", agent.answer("7").field("decision"))
	r.settled(r.group, card.ID, "Allowed once by alice")
}

// The fingerprint-only dialect shows no chat what would run, and no chat may allow it.
func TestFlow_AgentShieldShowsFingerprintsOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig) { r.after = "  agentshield: {enabled: true}\n" })
	agent := r.gateway(agentSecret)
	agent.send("1", "agentshield.approval.request", `{"toolName":"http_post","params":{"url":"https://example.com","body":"top-secret-words"},"agentId":"main"}`)
	answer := agent.answer("1")
	require.Equal(t, "approval-pending", answer.field("status"))
	page, err := r.operator().List(r.ctx(), apiPending)
	require.NoError(t, err)
	card := r.card(page.Items[0])
	require.Equal(t, []string{"Deny", "More"}, card.Labels())
	require.NotContains(t, r.tg.Transcript(), "top-secret-words")
	require.NotContains(t, r.logs.String(), "top-secret-words")
	r.tap(r.alice, r.group, card.ID, "Deny")
	require.EqualValues(t, "denied", r.final(page.Items[0]).Status)
}
