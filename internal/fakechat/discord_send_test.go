package fakechat_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

func v2(content string, more ...params) params {
	inner := append([]params{{"type": 10, "content": content}}, more...)
	return params{"flags": 1 << 15, "components": []params{{"type": 17, "components": inner}}}
}

func TestD3Validation(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	button := func(extra params) params {
		b := params{"type": 2, "style": 1, "label": "ok", "custom_id": "a"}
		for name, value := range extra {
			b[name] = value
		}
		return params{"components": []params{{"type": 1, "components": []params{b}}}}
	}
	long := func(n int) string { return strings.Repeat("é", n) }
	many := make([]params, 40)
	for i := range many {
		many[i] = params{"type": 10, "content": "x"}
	}
	for name, test := range map[string]struct {
		body params
		path string
		code string
	}{
		"content":            {params{"content": long(2001)}, "content", "BASE_TYPE_MAX_LENGTH"},
		"content type":       {params{"content": 5}, "content", "BASE_TYPE_CONVERT"},
		"title":              {params{"embeds": []params{{"title": long(257)}}}, "embeds.0.title", "BASE_TYPE_MAX_LENGTH"},
		"field":              {params{"embeds": []params{{"fields": []params{{"name": "a", "value": ""}}}}}, "embeds.0.fields.0.value", "BASE_TYPE_REQUIRED"},
		"eleven embeds":      {params{"embeds": make([]struct{}, 11)}, "embeds", "BASE_TYPE_MAX_LENGTH"},
		"embed sum":          {params{"embeds": []params{{"description": long(4000)}, {"description": long(2001)}}}, "embeds", "MAX_EMBED_SIZE_EXCEEDED"},
		"custom id missing":  {button(params{"custom_id": nil}), "components.0.components.0.custom_id", "BASE_TYPE_REQUIRED"},
		"custom id too long": {button(params{"custom_id": long(101)}), "components.0.components.0.custom_id", "BASE_TYPE_BAD_LENGTH"},
		"label too long":     {button(params{"label": long(81)}), "components.0.components.0.label", "BASE_TYPE_MAX_LENGTH"},
		"no label":           {button(params{"label": ""}), "components.0.components.0", "BUTTON_COMPONENT_LABEL_EMOJI_REQUIRED"},
		"style":              {button(params{"style": 9}), "components.0.components.0.style", "BASE_TYPE_CHOICES"},
		"url with custom id": {button(params{"style": 5, "url": "https://example.org"}), "components.0.components.0", "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE"},
		"duplicates":         {params{"components": []params{buttonRow("a", "a")}}, "components.0.components.1.custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED"},
		"six buttons":        {params{"components": []params{buttonRow("a", "b", "c", "d", "e", "f")}}, "components.0.components", "BASE_TYPE_BAD_LENGTH"},
		"bare button":        {params{"components": []params{{"type": 2}}}, "components.0.type", "BASE_TYPE_CHOICES"},
		"text without V2":    {params{"components": []params{{"type": 10, "content": "x"}}}, "components.0.type", "BASE_TYPE_CHOICES"},
		"V2 with content":    {params{"flags": 1 << 15, "content": "x", "components": []params{{"type": 10, "content": "x"}}}, "content", "MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2"},
		"V2 too many":        {v2("x", many...), "components", "COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED"},
		"mentions":           {params{"content": "x", "allowed_mentions": params{"parse": []string{"users"}, "users": []string{"1"}}}, "allowed_mentions", "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE"},
		"nonce":              {params{"content": "x", "nonce": long(26)}, "nonce", "BASE_TYPE_MAX_LENGTH"},
		"reply":              {params{"content": "x", "message_reference": params{"message_id": "1"}}, "message_reference", "REPLIES_UNKNOWN_MESSAGE"},
	} {
		t.Run(name, func(t *testing.T) {
			a := r.refused("POST", r.messages(), test.body, 400, 50035)
			require.Equal(t, "Invalid Form Body", a.Message)
			var at any
			require.NoError(t, json.Unmarshal([]byte(a.Raw), &at))
			at = at.(map[string]any)["errors"]
			for part := range strings.SplitSeq(test.path, ".") {
				require.Contains(t, at, part, a.Raw)
				at = at.(map[string]any)[part]
			}
			list := at.(map[string]any)["_errors"].([]any)
			require.Equal(t, test.code, list[0].(map[string]any)["code"])
		})
	}
	r.refused("POST", r.messages(), params{"content": "  "}, 400, 50006)
	r.refused("POST", r.messages(), params{"flags": 1 << 15}, 400, 50006)
	request := r.request("POST", r.messages(), nil)
	a, err := r.try(request)
	require.NoError(t, err)
	require.Equal(t, 50006, a.Code)
	require.Empty(t, r.channel.Messages())
	r.must("POST", r.messages(), params{"content": long(2000), "components": []params{buttonRow("a", "b", "c", "d", "e")}})
}

func TestD3ComponentsV2(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	id := r.must("POST", r.messages(), v2("# Card", buttonRow("Yes", "No")))
	m, _ := r.channel.Message(id)
	require.Equal(t, "# Card", m.Text())
	require.Equal(t, []string{"Yes", "No"}, m.Labels())
	require.Contains(t, string(m.Components), `"id":1`)

	path := r.messages() + "/" + id
	r.refused("PATCH", path, params{"flags": 0}, 400, 50035)
	r.refused("PATCH", path, params{"content": "x"}, 400, 50035)
	r.must("PATCH", path, params{"components": []params{{"type": 10, "content": "Done"}}})
	m, _ = r.channel.Message(id)
	require.Equal(t, "Done", m.Text())
	require.Empty(t, m.Labels())
	require.Equal(t, 1, m.Edits)

	old := r.messages() + "/" + r.post("legacy")
	r.refused("PATCH", old, v2("new"), 400, 50035)
	body := v2("new")
	body["content"] = nil
	r.must("PATCH", old, body)
}

func TestD3MentionsAndNonce(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	text := "<@" + r.ann.ID + "> @everyone <@&" + r.guild.ID + ">"
	pings := func(body params) []string {
		m, _ := r.channel.Message(r.must("POST", r.messages(), body))
		return m.Pings
	}
	require.Equal(t, []string{r.ann.ID, r.guild.ID, "everyone"}, pings(params{"content": text}))
	require.Empty(t, pings(params{"content": text, "allowed_mentions": params{"parse": []string{}}}))
	require.Equal(t, []string{r.ann.ID}, pings(params{"content": text, "allowed_mentions": params{"parse": []string{}, "users": []string{r.ann.ID}}}))

	body := params{"content": "once", "nonce": "approval-1", "enforce_nonce": true}
	first := r.must("POST", r.messages(), body)
	r.dc.Advance(time.Minute)
	require.Equal(t, first, r.must("POST", r.messages(), body))
	r.dc.Advance(5 * time.Minute)
	require.NotEqual(t, first, r.must("POST", r.messages(), body))
	delete(body, "enforce_nonce")
	second := r.must("POST", r.messages(), body)
	require.NotEqual(t, second, r.must("POST", r.messages(), body))
}

func TestD3EditDeleteGet(t *testing.T) {
	t.Parallel()
	opts := still()
	opts.Limits = &fakechat.DiscordLimits{OldEdits: 1}
	r := newRest(t, opts)
	id := r.post("card", "Yes")
	path := r.messages() + "/" + id
	r.must("PATCH", path, params{"content": "card, resolved", "components": []params{}})
	require.Equal(t, "card, resolved", r.channel.FromBot()[0].Text())
	require.Empty(t, r.channel.FromBot()[0].Labels())
	require.Equal(t, id, r.must("GET", path, nil))

	said := r.ann.Say(r.channel, "hello")
	r.refused("PATCH", r.messages()+"/"+said.ID, params{"content": "x"}, 403, 50005)
	r.refused("DELETE", r.messages()+"/"+said.ID, nil, 403, 50013)
	r.refused("PATCH", r.messages()+"/1", params{"content": "x"}, 404, 10008)

	r.dc.Advance(time.Hour)
	r.must("PATCH", path, params{"content": "old"})
	a := r.refused("PATCH", path, params{"content": "older"}, 429, 30046)
	require.Positive(t, a.Wait)
	r.dc.SetLimits(nil)
	r.must("PATCH", path, params{"content": "older"})

	require.Equal(t, 204, r.call("DELETE", path, nil).Status)
	r.refused("GET", path, nil, 404, 10008)
	require.Contains(t, r.call("GET", r.messages(), nil).Raw, said.ID)
}

func TestD4ChannelStates(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	card := params{"content": "card"}
	r.channel.SetAccess(fakechat.DiscordNoAccess)
	r.refused("POST", r.messages(), card, 403, 50001)
	r.channel.SetAccess(fakechat.DiscordNoSend)
	r.refused("POST", r.messages(), card, 403, 50013)
	r.channel.SetAccess(fakechat.DiscordOpen)

	thread := r.channel.AddThread("incident")
	messages := "/channels/" + thread.ID + "/messages"
	id := r.must("POST", messages, card)
	thread.Archive(false)
	r.refused("PATCH", messages+"/"+id, card, 400, 50083)
	r.must("POST", messages, card)
	require.False(t, thread.Archived())
	thread.Archive(true)
	r.refused("POST", messages, card, 403, 160005)
	thread.Unarchive()
	thread.Lock()
	r.refused("PATCH", messages+"/"+id, card, 403, 160005)

	r.channel.Delete()
	r.refused("POST", r.messages(), card, 404, 10003)
	r.refused("POST", messages, card, 404, 10003)
}

func TestD4Forum(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	forum := r.guild.AddForum("approvals", "open")
	r.refused("POST", "/channels/"+forum.ID+"/messages", params{"content": "x"}, 400, 50008)
	threads := "/channels/" + forum.ID + "/threads"
	post := params{"name": "Deploy", "message": params{"content": "card", "components": []params{buttonRow("Yes")}}}
	r.refused("POST", threads, params{"name": "Deploy"}, 400, 50035)
	forum.RequireTag()
	r.refused("POST", threads, post, 400, 40067)
	post["applied_tags"] = []string{forum.Tags()[0].ID}
	id := r.must("POST", threads, post)
	require.Len(t, forum.Threads(), 1)
	made := forum.Threads()[0]
	require.Equal(t, "Deploy", made.Name())
	require.Equal(t, id, made.FromBot()[0].ID)
	require.Equal(t, []string{"Yes"}, made.FromBot()[0].Labels())
	r.must("PATCH", "/channels/"+id+"/messages/"+id, params{"content": "done", "components": []params{}})
}

func TestD4DirectMessages(t *testing.T) {
	t.Parallel()
	opts := still()
	opts.Limits = &fakechat.DiscordLimits{OpenDMs: 1}
	r := newRest(t, opts)
	open := params{"recipient_id": r.ann.ID}
	id := r.must("POST", "/users/@me/channels", open)
	require.Equal(t, id, r.must("POST", "/users/@me/channels", open))
	require.Equal(t, id, r.ann.DM().ID)
	bob := r.dc.AddUser(fakechat.DiscordProfile{})
	r.refused("POST", "/users/@me/channels", params{"recipient_id": bob.ID}, 400, 40003)

	card := params{"content": "card"}
	r.must("POST", "/channels/"+id+"/messages", card)
	r.ann.CloseDMs(true)
	r.refused("POST", "/channels/"+id+"/messages", card, 403, 50007)
	require.Equal(t, id, r.must("POST", "/users/@me/channels", open))
	r.ann.CloseDMs(false)
	r.ann.Stranger(true)
	r.refused("POST", "/channels/"+id+"/messages", card, 403, 50278)
}

func TestD1SnowflakesGrow(t *testing.T) {
	t.Parallel()
	r := newRest(t, still())
	last := uint64(0)
	for range 10 {
		id, err := strconv.ParseUint(r.post("x"), 10, 64)
		require.NoError(t, err)
		require.Greater(t, id, last)
		require.Equal(t, r.dc.Now().UnixMilli(), int64(id>>22)+1420070400000)
		last = id
	}
}
