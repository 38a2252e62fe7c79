package fakechat_test

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// gateway is a bot at the gateway that reads frame by frame.
type gateway struct {
	*rest
	ws *websocket.Conn
}

type frame struct {
	Op   int            `json:"op"`
	Data map[string]any `json:"-"`
	Raw  json.RawMessage
	Seq  int    `json:"s"`
	Type string `json:"t"`
	Zlib bool   `json:"-"`
}

func (r *rest) dial(url string) *gateway {
	r.t.Helper()
	ws, _, err := websocket.Dial(testContext(r.t), url+"/?v=10&encoding=json", &websocket.DialOptions{HTTPClient: r.Client})
	require.NoError(r.t, err)
	ws.SetReadLimit(1 << 20)
	r.t.Cleanup(func() { ws.CloseNow() })
	return &gateway{r, ws}
}

func (g *gateway) send(op int, data any) {
	g.t.Helper()
	body, err := json.Marshal(params{"op": op, "d": data})
	require.NoError(g.t, err)
	require.NoError(g.t, g.ws.Write(testContext(g.t), websocket.MessageText, body))
}

func (g *gateway) read() frame {
	g.t.Helper()
	kind, body, err := g.ws.Read(testContext(g.t))
	require.NoError(g.t, err)
	f := frame{Zlib: kind == websocket.MessageBinary}
	if f.Zlib {
		unpacked, err := zlib.NewReader(bytes.NewReader(body))
		require.NoError(g.t, err)
		body, err = io.ReadAll(unpacked)
		require.NoError(g.t, err)
	}
	var whole struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
		Seq  int             `json:"s"`
		Type string          `json:"t"`
	}
	require.NoError(g.t, json.Unmarshal(body, &whole))
	f.Op, f.Raw, f.Seq, f.Type = whole.Op, whole.Data, whole.Seq, whole.Type
	_ = json.Unmarshal(whole.Data, &f.Data) // op 9 has a bool
	return f
}

// event reads an event that must be the next one.
func (g *gateway) event(name string) frame {
	g.t.Helper()
	f := g.read()
	require.Equal(g.t, []any{0, name}, []any{f.Op, f.Type}, string(f.Raw))
	return f
}

func (g *gateway) closed() int {
	g.t.Helper()
	_, _, err := g.ws.Read(testContext(g.t))
	require.Error(g.t, err)
	return int(websocket.CloseStatus(err))
}

func (r *rest) identify(intents int, more ...params) (*gateway, frame) {
	r.t.Helper()
	g := r.dial(r.dc.GatewayURL())
	require.Equal(r.t, 10, g.read().Op)
	d := params{"token": r.dc.Token(), "intents": intents, "properties": params{"os": "linux"}}
	for _, p := range more {
		for name, value := range p {
			d[name] = value
		}
	}
	g.send(2, d)
	return g, g.event("READY")
}

func (r *rest) resume(ready frame, seq int) *gateway {
	r.t.Helper()
	g := r.dial(ready.Data["resume_gateway_url"].(string))
	require.Equal(r.t, 10, g.read().Op)
	g.send(6, params{"token": r.dc.Token(), "session_id": ready.Data["session_id"], "seq": seq})
	return g
}

func TestD7InteractionNeedsNoIntent(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	g, ready := r.identify(0)
	require.Equal(t, 1, ready.Seq)
	role := r.guild.AddRole("approver", fakechat.PermissionManageGuild)
	r.guild.AddMember(r.ann, role)
	id := r.post("card", "Yes")
	r.ann.Click(r.channel, id, "Yes")
	f := g.event("INTERACTION_CREATE")
	member := f.Data["member"].(map[string]any)
	require.Equal(t, []any{role.ID}, member["roles"])
	require.NotEqual(t, "0", member["permissions"])
	require.NotContains(t, f.Data, "user")
	require.Equal(t, id, f.Data["message"].(map[string]any)["id"])

	r.guild.RemoveRole(r.ann, role)
	r.ann.ClickData(r.channel, id, "stale")
	require.Empty(t, g.event("INTERACTION_CREATE").Data["member"].(map[string]any)["roles"])

	dm := r.ann.DM()
	id = r.must("POST", "/channels/"+dm.ID+"/messages", params{"content": "card", "components": []params{buttonRow("Yes")}})
	r.ann.Click(dm, id, "Yes")
	f = g.event("INTERACTION_CREATE")
	require.NotContains(t, f.Data, "member")
	require.Equal(t, r.ann.ID, f.Data["user"].(map[string]any)["id"])
	r.ann.Installed().Click(dm, id, "Yes")
	f = g.event("INTERACTION_CREATE")
	require.Equal(t, map[string]any{"1": r.ann.ID}, f.Data["authorizing_integration_owners"])
}

func TestD7MessageContent(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{PrivilegedIntents: fakechat.IntentMessageContent})
	g, _ := r.identify(1<<9 | 1<<12)
	all, _ := r.identify(1<<9 | 1<<15)
	content := func(g *gateway) any { g.t.Helper(); return g.event("MESSAGE_CREATE").Data["content"] }
	r.ann.Say(r.channel, "secret")
	require.Equal(t, "", content(g))
	require.Equal(t, "secret", content(all))
	r.ann.Say(r.channel, "approve 7KQ2", fakechat.DiscordSay{MentionBot: true})
	require.Equal(t, "<@"+r.dc.BotUserID()+"> approve 7KQ2", content(g))
	r.ann.Say(r.ann.DM(), "hello")
	require.Equal(t, "hello", content(g))
	r.post("mine")
	require.Equal(t, "mine", content(g))

	r.channel.SayWebhook("hook", "<@"+r.dc.BotUserID()+"> approve")
	f := g.event("MESSAGE_CREATE")
	require.NotContains(t, f.Data, "member")
	require.NotEmpty(t, f.Data["webhook_id"])
	bot := r.dc.AddUser(fakechat.DiscordProfile{Bot: true})
	r.guild.AddMember(bot)
	said := bot.Say(r.channel, "beep")
	f = g.event("MESSAGE_CREATE")
	require.Contains(t, f.Data, "member")
	require.Equal(t, true, f.Data["author"].(map[string]any)["bot"])
	bot.Edit(r.channel, said.ID, "boop")
	g.event("MESSAGE_UPDATE")
	bot.Delete(r.channel, said.ID)
	require.Equal(t, said.ID, g.event("MESSAGE_DELETE").Data["id"])
}

func TestD7ResumeReplays(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	g, ready := r.identify(1 << 9)
	r.post("seen")
	last := g.event("MESSAGE_CREATE").Seq
	r.dc.Gateway().Drop()
	require.Equal(t, -1, g.closed())
	id := r.post("missed", "Yes")
	r.ann.Click(r.channel, id, "Yes")
	g = r.resume(ready, last)
	require.Equal(t, last+1, g.event("MESSAGE_CREATE").Seq)
	g.event("INTERACTION_CREATE")
	g.event("RESUMED")
	log := r.dc.Gateway().Log(fakechat.GatewayResumed)
	require.Len(t, log, 1)
	require.True(t, log[0].Resume)
	require.Equal(t, 1, r.dc.Gateway().Identifies())

	require.NoError(t, g.ws.Close(websocket.StatusNormalClosure, ""))
	require.NoError(t, r.dc.WaitFor(testContext(t), func() bool { return len(r.dc.Gateway().Log(fakechat.GatewayDisconnected)) == 2 }))
	g = r.resume(ready, last)
	f := g.read()
	require.Equal(t, []any{9, "false"}, []any{f.Op, string(f.Raw)})
}

func TestD7HeartbeatsAndServerOpcodes(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	g, ready := r.identify(0)
	g.send(1, nil)
	require.Equal(t, 11, g.read().Op)
	r.dc.Gateway().RequestHeartbeat()
	require.Equal(t, 1, g.read().Op)
	r.dc.Gateway().StopAcks(true)
	g.send(1, 1)
	require.NoError(t, r.dc.WaitFor(testContext(t), func() bool { return r.dc.Gateway().Heartbeats() == 2 }))
	r.dc.Gateway().Reconnect()
	require.Equal(t, 7, g.read().Op) // and no ACK before it
	r.dc.Gateway().InvalidSession(true)
	require.Equal(t, "true", string(g.read().Raw))
	r.resume(ready, 1).event("RESUMED")

	_, other := r.identify(0)
	r.dc.Gateway().EndSessions()
	require.Equal(t, 9, r.resume(other, 1).read().Op)
}

func TestD7CloseCodes(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	hello := func() *gateway {
		g := r.dial(r.dc.GatewayURL())
		require.Equal(t, 10, g.read().Op)
		return g
	}
	identify := func(d params) int {
		g := hello()
		g.send(2, d)
		return g.closed()
	}
	properties := params{"os": "linux"}
	require.Equal(t, 4004, identify(params{"token": "wrong", "intents": 0, "properties": properties}))
	require.Equal(t, 4013, identify(params{"token": r.dc.Token(), "intents": 1 << 40, "properties": properties}))
	require.Equal(t, 4014, identify(params{"token": r.dc.Token(), "intents": 1 << 15, "properties": properties}))
	require.Equal(t, 4010, identify(params{"token": r.dc.Token(), "intents": 0, "properties": properties, "shard": []int{2, 1}}))
	require.Equal(t, 4002, identify(params{"token": strings.Repeat("x", 4096), "intents": 0, "properties": properties}))
	g := hello()
	g.send(8, params{})
	require.Equal(t, 4003, g.closed())
	g = hello()
	g.send(99, nil)
	require.Equal(t, 4001, g.closed())
	g = hello()
	for range 121 {
		g.send(1, nil)
	}
	for range 120 {
		require.Equal(t, 11, g.read().Op)
	}
	require.Equal(t, 4008, g.closed())

	r.dc.Gateway().RefuseWith(4000, 1)
	require.Equal(t, 4000, identify(params{"token": r.dc.Token(), "intents": 0, "properties": properties}))
	g, ready := r.identify(0)
	r.dc.Gateway().CloseWith(4009)
	require.Equal(t, 4009, g.closed())
	require.Equal(t, 9, r.resume(ready, 1).read().Op)
	_, ready = r.identify(0)
	require.Equal(t, 4007, r.resume(ready, 99).closed())
	g, _ = r.identify(0)
	r.dc.RevokeToken()
	require.Equal(t, 4004, g.closed())
}

func TestD7SessionStartLimitAndConcurrency(t *testing.T) {
	t.Parallel()
	opts := still()
	opts.Limits = &fakechat.DiscordLimits{Identifies: 1}
	r := newRest(t, opts)
	r.identify(0)
	require.Contains(t, r.call("GET", "/gateway/bot", nil).Raw, `"remaining":999`)
	g := r.dial(r.dc.GatewayURL())
	require.Equal(t, 10, g.read().Op)
	body := params{"token": r.dc.Token(), "intents": 0, "properties": params{"os": "linux"}}
	g.send(2, body)
	require.Equal(t, 9, g.read().Op)
	r.dc.Advance(5 * time.Second)
	g.send(2, body)
	g.event("READY")
	r.dc.Advance(5 * time.Second)
	r.dc.Gateway().SpendIdentifies(997)
	g = r.dial(r.dc.GatewayURL())
	require.Equal(t, 10, g.read().Op)
	r.dc.Advance(5 * time.Second)
	r.dc.Gateway().SpendIdentifies(1)
	g.send(2, body)
	require.Equal(t, 4004, g.closed())
	r.refused("GET", "/users/@me", nil, 401, 0)
}

func TestD7Compress(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	g, ready := r.identify(1, params{"compress": true})
	require.True(t, ready.Zlib)
	created := g.event("GUILD_CREATE")
	require.True(t, created.Zlib)
	require.Equal(t, r.guild.ID, created.Data["id"])
	r.channel.Delete()
	g.event("CHANNEL_DELETE")
}

func TestD7HoldHelloAndZombie(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	r.dc.Gateway().HoldHello(true)
	g := r.dial(r.dc.GatewayURL())
	r.dc.Gateway().HoldHello(false)
	require.Equal(t, 10, g.read().Op)
	r.dc.Gateway().Zombie(true)
	g.send(1, nil)
	require.NoError(t, r.dc.WaitFor(testContext(t), func() bool { return r.dc.Gateway().Heartbeats() == 1 }))
	require.False(t, r.dc.Gateway().Ready())
	r.dc.Gateway().Zombie(false)
	g.send(1, nil)
	require.Equal(t, 11, g.read().Op)
}

func TestD7InMemoryUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRest(t, fakechat.DiscordOptions{InMemory: true})
		g, _ := r.identify(0)
		click := r.ann.Click(r.channel, r.post("card", "Yes"), "Yes")
		g.event("INTERACTION_CREATE")
		_, err := click.EphemeralText(t.Context()) // its three seconds pass at once
		require.ErrorIs(t, err, fakechat.ErrInteractionFailed)
		require.NoError(t, g.ws.CloseNow())
	})
}

func TestD5ManyClicksAtOnce(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{AckWindow: time.Minute})
	g, _ := r.identify(0)
	id := r.post("card", "Yes")
	const people = 50
	var clicks sync.WaitGroup
	for range people {
		person := r.dc.AddUser(fakechat.DiscordProfile{})
		clicks.Go(func() {
			_, err := person.Click(r.channel, id, "Yes").EphemeralText(testContext(t))
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range people {
		f := g.event("INTERACTION_CREATE")
		r.must("POST", "/interactions/"+f.Data["id"].(string)+"/"+f.Data["token"].(string)+"/callback", ephemeral("counted"))
	}
	clicks.Wait()
	require.Len(t, r.channel.Messages(), 1)
}
