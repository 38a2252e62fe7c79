package fakechat_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func callbackPath(i *fakechat.DiscordInteraction) string {
	return "/interactions/" + i.ID + "/" + i.Token + "/callback"
}

func (r *rest) webhook(i *fakechat.DiscordInteraction) string {
	return "/webhooks/" + r.dc.ApplicationID() + "/" + i.Token
}

func ephemeral(content string) params {
	return params{"type": 4, "data": params{"content": content, "flags": 64}}
}

func TestD5ClickAndEphemeralAnswer(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	click := r.ann.Click(r.channel, r.post("card", "Yes"), "Yes")
	require.NoError(t, click.Err)
	require.False(t, click.Failed())
	r.refused("POST", r.webhook(click), params{"content": "early"}, 404, 10015)
	require.Equal(t, 204, r.call("POST", callbackPath(click), ephemeral("counted")).Status)
	r.refused("POST", callbackPath(click), ephemeral("twice"), 400, 40060)

	response, err := click.Response(testContext(t))
	require.NoError(t, err)
	require.Equal(t, fakechat.CallbackMessage, response.Type)
	require.True(t, response.Ephemeral)
	text, err := click.EphemeralText(testContext(t))
	require.NoError(t, err)
	require.Equal(t, "counted", text)
	require.Len(t, r.channel.Messages(), 1)
	require.Len(t, r.ann.Sees(r.channel), 2)
	bob := r.dc.AddUser(fakechat.DiscordProfile{})
	require.Len(t, bob.Sees(r.channel), 1)
	r.refused("GET", r.messages()+"/"+response.Message.ID, nil, 404, 10008)
	require.Equal(t, response.Message.ID, r.must("GET", r.webhook(click)+"/messages/@original", nil))

	r.must("PATCH", r.webhook(click)+"/messages/@original", params{"content": "counted twice"})
	r.must("POST", r.webhook(click), params{"content": "more", "flags": 64})
	require.Len(t, click.Followups(), 1)
	require.Len(t, click.Replies(), 2)
	r.must("DELETE", r.webhook(click)+"/messages/@original", nil)
	require.Len(t, click.Replies(), 1)

	r.dc.Advance(15 * time.Minute)
	r.refused("PATCH", r.webhook(click)+"/messages/@original", params{"content": "late"}, 401, 50027)
	require.Equal(t, "card", r.channel.FromBot()[0].Text())
}

func TestD5LateAndUnknown(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	click := r.ann.ClickData(r.channel, r.post("card", "Yes"), "stale")
	r.refused("POST", "/interactions/1/x/callback", ephemeral("x"), 404, 10062)
	r.dc.Advance(3 * time.Second)
	require.True(t, click.Failed())
	r.refused("POST", callbackPath(click), ephemeral("late"), 404, 10062)
	_, err := click.Response(testContext(t))
	require.ErrorIs(t, err, fakechat.ErrInteractionFailed)
	_, err = click.EphemeralText(testContext(t))
	require.ErrorIs(t, err, fakechat.ErrInteractionFailed)
}

func TestD5DeferredAndUpdate(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	id := r.post("card", "Yes")
	click := r.ann.Click(r.channel, id, "Yes")
	a := r.call("POST", callbackPath(click)+"?with_response=true", params{"type": 5, "data": params{"flags": 64}})
	require.Contains(t, a.Raw, `"response_message_loading":true`)
	require.Empty(t, click.Replies())
	original, ok := click.Original()
	require.True(t, ok)
	require.True(t, original.Loading)
	require.Equal(t, original.ID, r.must("POST", r.webhook(click), params{"content": "filled"}))
	require.Empty(t, click.Followups())
	text, err := click.EphemeralText(testContext(t))
	require.NoError(t, err)
	require.Equal(t, "filled", text)

	click = r.ann.Click(r.channel, id, "Yes")
	r.must("POST", callbackPath(click), params{"type": 6})
	require.Equal(t, id, r.must("PATCH", r.webhook(click)+"/messages/@original", params{"content": "resolving"}))
	click = r.ann.Click(r.channel, id, "Yes")
	r.must("POST", callbackPath(click), params{"type": 7, "data": params{"content": "resolved", "components": []params{}}})
	require.Equal(t, "resolved", r.channel.FromBot()[0].Text())
	require.Empty(t, r.channel.FromBot()[0].Labels())
}

func TestD5Modal(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	id := r.post("card", "Deny")
	open := params{"type": 9, "data": params{"custom_id": "reason", "title": "Why?", "components": []params{
		{"type": 18, "label": "Reason", "component": params{"type": 4, "style": 2, "custom_id": "text"}},
		{"type": 1, "components": []params{{"type": 4, "style": 1, "custom_id": "short", "label": "Short"}}},
	}}}
	click := r.ann.Click(r.channel, id, "Deny")
	a := r.refused("POST", callbackPath(click), params{"type": 9, "data": params{"custom_id": "x", "title": strings.Repeat("x", 46)}}, 400, 50035)
	require.Contains(t, string(a.Errors["data"]), "title")
	r.must("POST", callbackPath(click), open)
	response, err := click.Response(testContext(t))
	require.NoError(t, err)
	require.Equal(t, "Why?", response.Modal.Title)
	require.Equal(t, "Reason", response.Modal.Inputs[0].Label)
	require.Equal(t, "Short", response.Modal.Inputs[1].Label)

	submit := r.ann.SubmitModal(click, map[string]string{"text": "because"})
	r.refused("POST", callbackPath(submit), open, 400, 50035)
	r.must("POST", callbackPath(submit), params{"type": 7, "data": params{"content": "denied: because"}})
	require.Equal(t, "denied: because", r.channel.FromBot()[0].Text())
}

func TestD6Commands(t *testing.T) {
	t.Parallel()
	opts := still()
	opts.Limits = &fakechat.DiscordLimits{CommandCreates: 2}
	r := newRest(t, opts)
	guild := "/applications/" + r.dc.ApplicationID() + "/guilds/" + r.guild.ID + "/commands"
	option := params{"type": 3, "name": "code", "description": "of the card", "required": true}
	command := func(name string) params {
		return params{"name": name, "description": "d", "options": []params{option}}
	}
	a := r.refused("PUT", guild, []params{command("approve"), command("Not OK")}, 400, 50035)
	require.Contains(t, string(a.Errors["1"]), "APPLICATION_COMMAND_INVALID_NAME")
	r.refused("PUT", guild, []params{command("a"), command("a")}, 400, 50035)
	r.must("PUT", guild, []params{command("approve")})
	r.must("PUT", guild, []params{command("approve"), command("deny")})
	require.Equal(t, []string{"approve", "deny"}, r.dc.Commands(r.guild))
	r.refused("POST", guild, command("third"), 400, 30034)

	slash := r.ann.Slash(r.channel, "approve", fakechat.DiscordArgs{"code": "7KQ2"})
	require.NoError(t, slash.Err)
	r.must("POST", callbackPath(slash), params{"type": 4, "data": params{"content": "ok"}})
	require.Equal(t, "ok", r.channel.FromBot()[0].Text())
	r.refused("POST", callbackPath(r.ann.Slash(r.channel, "deny", nil)), params{"type": 7}, 400, 50035)
	typing := r.ann.Autocomplete(r.channel, "approve", fakechat.DiscordArgs{"code": "7"}, "code")
	r.must("POST", callbackPath(typing), params{"type": 8, "data": params{"choices": []params{{"name": "7KQ2", "value": "7KQ2"}}}})
	response, err := typing.Response(testContext(t))
	require.NoError(t, err)
	require.Equal(t, []string{"7KQ2"}, response.Choices)
	require.Error(t, r.ann.Slash(r.ann.DM(), "approve", nil).Err)

	r.must("PUT", "/applications/"+r.dc.ApplicationID()+"/commands", []params{command("status")})
	require.NoError(t, r.ann.Slash(r.ann.DM(), "status", fakechat.DiscordArgs{"code": "1"}).Err)
}

func TestD10InstalledFollowups(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	click := r.ann.Installed().Click(r.channel, r.post("card", "Yes"), "Yes")
	r.must("POST", callbackPath(click), ephemeral("ok"))
	for range 5 {
		r.must("POST", r.webhook(click), params{"content": "x", "flags": 64})
	}
	r.refused("POST", r.webhook(click), params{"content": "x"}, 400, 40094)
}

func TestD10DisabledAndLinkButtons(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	id := r.must("POST", r.messages(), params{"content": "card", "components": []params{{"type": 1, "components": []params{
		{"type": 2, "style": 3, "label": "Off", "custom_id": "off", "disabled": true},
		{"type": 2, "style": 5, "label": "Open", "url": "https://example.org"},
	}}}})
	require.Error(t, r.ann.Click(r.channel, id, "Off").Err)
	require.Error(t, r.ann.Click(r.channel, id, "Open").Err)
}

// endpoint is a small HTTP interactions endpoint.
type endpoint struct {
	key    ed25519.PublicKey
	answer string
	status int

	mu   sync.Mutex
	seen []string
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	signature, _ := hex.DecodeString(r.Header.Get("X-Signature-Ed25519"))
	stamp := r.Header.Get("X-Signature-Timestamp")
	if !ed25519.Verify(e.key, append([]byte(stamp), body...), signature) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var interaction struct{ Type int }
	_ = json.Unmarshal(body, &interaction)
	if interaction.Type == 1 {
		fmt.Fprint(w, `{"type": 1}`)
		return
	}
	e.mu.Lock()
	e.seen = append(e.seen, stamp)
	e.mu.Unlock()
	w.WriteHeader(e.status)
	fmt.Fprint(w, e.answer)
}

func TestD9HTTPInteractions(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	key, err := hex.DecodeString(r.dc.PublicKey())
	require.NoError(t, err)
	e := &endpoint{key: key, status: 200, answer: `{"type":4,"data":{"content":"inline","flags":64}}`}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	ctx := testContext(t)
	require.NoError(t, r.dc.SetEndpoint(ctx, server.URL))
	id := r.post("card", "Yes")
	click := r.ann.Click(r.channel, id, "Yes")
	text, err := click.EphemeralText(ctx)
	require.NoError(t, err)
	require.Equal(t, "inline", text)

	status, _, err := click.Replay(ctx)
	require.NoError(t, err)
	require.Equal(t, 200, status) // this endpoint does not notice
	require.Equal(t, e.seen[0], e.seen[1])

	e.status, e.answer = 202, ""
	r.dc.SkewTimestamps(-time.Hour)
	click = r.ann.Click(r.channel, id, "Yes")
	require.NoError(t, r.dc.WaitFor(ctx, func() bool { return click.EndpointStatus() == 202 }))
	require.NotEqual(t, e.seen[0], e.seen[2])
	r.must("POST", callbackPath(click), ephemeral("by REST"))

	careless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"type":1}`) }))
	t.Cleanup(careless.Close)
	require.ErrorContains(t, r.dc.SetEndpoint(ctx, careless.URL), "bad signature")
}
