package fakechat_test

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// rest is a bot made of nothing but HTTP requests.
type rest struct {
	t  *testing.T
	dc *fakechat.Discord
	*http.Client
	guild   *fakechat.DiscordGuild
	channel *fakechat.DiscordChannel
	ann     *fakechat.DiscordUser
}

// restAnswer is what a request got.
type restAnswer struct {
	Status  int
	Header  http.Header
	Raw     string
	Code    int                        `json:"code"`
	Message string                     `json:"message"`
	Errors  map[string]json.RawMessage `json:"errors"`
	Wait    float64                    `json:"retry_after"`
	Global  bool                       `json:"global"`
	ID      string                     `json:"id"`
}

func newRest(t *testing.T, opts fakechat.DiscordOptions) *rest {
	t.Helper()
	dc := fakechat.NewDiscord(t, opts)
	r := &rest{t: t, dc: dc, Client: dc.HTTPClient()}
	t.Cleanup(r.CloseIdleConnections)
	r.ann = dc.AddUser(fakechat.DiscordProfile{Username: "ann", GlobalName: "Ann"})
	r.guild = dc.AddGuild("guild", r.ann)
	r.channel = r.guild.AddChannel("ops")
	return r
}

// still is a clock that only Advance moves.
func still() fakechat.DiscordOptions {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return fakechat.DiscordOptions{Now: func() time.Time { return start }}
}

func (r *rest) request(method, path string, body any) *http.Request {
	r.t.Helper()
	data := []byte(nil)
	if body != nil {
		var err error
		data, err = json.Marshal(body)
		require.NoError(r.t, err)
	}
	request, err := http.NewRequestWithContext(r.t.Context(), method, r.dc.URL()+"/api/v10"+path, bytes.NewReader(data))
	require.NoError(r.t, err)
	request.Header.Set("Authorization", "Bot "+r.dc.Token())
	request.Header.Set("User-Agent", "DiscordBot (https://example.org, 1)")
	request.Header.Set("Content-Type", "application/json")
	return request
}

func (r *rest) try(request *http.Request) (restAnswer, error) {
	response, err := r.Do(request)
	if err != nil {
		return restAnswer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a := restAnswer{Status: response.StatusCode, Header: response.Header, Raw: string(body)}
	_ = json.Unmarshal(body, &a) // pages are no JSON
	return a, err
}

func (r *rest) call(method, path string, body any) restAnswer {
	r.t.Helper()
	a, err := r.try(r.request(method, path, body))
	require.NoError(r.t, err)
	return a
}

// must makes a call that succeeds and returns the id in the answer.
func (r *rest) must(method, path string, body any) string {
	r.t.Helper()
	a := r.call(method, path, body)
	require.Less(r.t, a.Status, 300, a.Raw)
	return a.ID
}

// refused makes a call that fails.
func (r *rest) refused(method, path string, body any, status, code int) restAnswer {
	r.t.Helper()
	a := r.call(method, path, body)
	require.Equal(r.t, []int{status, code}, []int{a.Status, a.Code}, a.Raw)
	return a
}

func (r *rest) messages() string { return "/channels/" + r.channel.ID + "/messages" }

// post sends a card with a button for each label; its custom_id is the label in
// lower case.
func (r *rest) post(content string, labels ...string) string {
	r.t.Helper()
	body := params{"content": content}
	if len(labels) > 0 {
		body["components"] = []params{buttonRow(labels...)}
	}
	return r.must("POST", r.messages(), body)
}

func buttonRow(labels ...string) params {
	var list []params
	for _, label := range labels {
		list = append(list, params{"type": 2, "style": 3, "label": label, "custom_id": strings.ToLower(label)})
	}
	return params{"type": 1, "components": list}
}

func TestD1VersionsTokenAndUserAgent(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	for _, version := range []string{"/api/v9", "/api/v10"} {
		request := r.request("GET", "/users/@me", nil)
		request.URL.Path = version + "/users/@me"
		a, err := r.try(request)
		require.NoError(t, err)
		require.Equal(t, 200, a.Status, a.Raw)
		require.Equal(t, r.dc.BotUserID(), a.ID)
	}
	r.refused("GET", "/nothing", nil, 404, 0)
	r.refused("PUT", r.messages(), nil, 405, 0)

	request := r.request("GET", "/users/@me", nil)
	request.Header.Set("Authorization", "Bot wrong")
	a, err := r.try(request)
	require.NoError(t, err)
	require.Equal(t, 401, a.Status)
	require.JSONEq(t, `{"message":"401: Unauthorized","code":0}`, a.Raw)

	request = r.request("GET", "/users/@me", nil)
	request.Header.Set("User-Agent", "curl/8")
	a, err = r.try(request)
	require.NoError(t, err)
	require.Equal(t, []int{403, 40333}, []int{a.Status, a.Code})

	r.dc.RevokeToken()
	r.refused("GET", "/users/@me", nil, 401, 0)
	r.dc.SetToken("another")
	r.must("GET", "/users/@me", nil)
}

func TestD2Lookups(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	require.Contains(t, r.call("GET", "/gateway", nil).Raw, r.dc.GatewayURL())
	require.Contains(t, r.call("GET", "/gateway/bot", nil).Raw, `"remaining":1000`)
	require.Contains(t, r.call("GET", "/applications/@me", nil).Raw, r.dc.PublicKey())
	role := r.guild.AddRole("approver", 0)
	r.guild.AddMember(r.ann, role)
	member := "/guilds/" + r.guild.ID + "/members/" + r.ann.ID
	require.Contains(t, r.call("GET", member, nil).Raw, `"roles":["`+role.ID+`"]`)
	r.guild.RemoveRole(r.ann, role)
	require.Contains(t, r.call("GET", member, nil).Raw, `"roles":[]`)
	r.guild.RemoveMember(r.ann)
	r.refused("GET", member, nil, 404, 10007)
	r.refused("GET", "/guilds/1", nil, 404, 10004)
	require.Equal(t, r.channel.ID, r.must("GET", "/channels/"+r.channel.ID, nil))
}

func TestD8HeadersOnEveryAnswer(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	for _, a := range []restAnswer{r.call("GET", "/users/@me", nil), r.refused("GET", r.messages()+"/1", nil, 404, 10008)} {
		for _, name := range []string{"Limit", "Remaining", "Reset", "Reset-After", "Bucket"} {
			require.NotEmpty(t, a.Header.Get("X-RateLimit-"+name), name)
		}
		require.NotEqual(t, "0", a.Header.Get("X-RateLimit-Remaining"))
	}
}

func TestD8Buckets(t *testing.T) {
	t.Parallel()
	opts := still()
	opts.Limits = &fakechat.DiscordLimits{Bucket: 2, Global: 50}
	r := newRest(t, opts)
	other := r.guild.AddChannel("other")
	r.post("1")
	r.post("2")
	a := r.refused("POST", r.messages(), params{"content": "3"}, 429, 0)
	require.Equal(t, "You are being rate limited.", a.Message)
	require.Equal(t, 5.0, a.Wait)
	require.Equal(t, "5", a.Header.Get("Retry-After"))
	require.Equal(t, "user", a.Header.Get("X-RateLimit-Scope"))
	require.Equal(t, 1, r.dc.InvalidRequests())
	r.must("POST", "/channels/"+other.ID+"/messages", params{"content": "elsewhere"})
	r.dc.Advance(5 * time.Second)
	r.post("3")
	require.Len(t, r.channel.FromBot(), 3)
}

func TestD8GlobalAndInvalidRequests(t *testing.T) {
	t.Parallel()
	opts := still()
	opts.Limits = &fakechat.DiscordLimits{Global: 1, InvalidRequests: 2}
	r := newRest(t, opts)
	r.must("GET", "/users/@me", nil)
	for range 2 {
		a := r.refused("POST", r.messages(), params{"content": "1"}, 429, 0)
		require.True(t, a.Global)
		require.Equal(t, "true", a.Header.Get("X-RateLimit-Global"))
	}
	a := r.call("GET", "/users/@me", nil)
	require.Equal(t, 403, a.Status)
	require.Contains(t, a.Header.Get("Content-Type"), "text/html")
	require.Contains(t, a.Raw, "1015")
	r.dc.Advance(10 * time.Minute)
	r.must("GET", "/users/@me", nil)
}

func TestD11Faults(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	fault := func(kind fakechat.FaultKind, when fakechat.FaultWhen) *fakechat.FaultHandle {
		return r.dc.Fault(fakechat.DiscordFault{Method: "POST", Route: fakechat.RouteMessages, Channel: r.channel.ID, Kind: kind, When: when, RetryAfter: 0.25, Scope: "shared"})
	}
	send := func() (restAnswer, error) { return r.try(r.request("POST", r.messages(), params{"content": "x"})) }

	fault(fakechat.TooManyRequests, fakechat.Before)
	a, err := send()
	require.NoError(t, err)
	require.Equal(t, 429, a.Status)
	require.Equal(t, 0.25, a.Wait)
	require.Equal(t, "The resource is being rate limited.", a.Message)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Zero(t, r.dc.InvalidRequests())

	fault(fakechat.HTML429, fakechat.Before)
	a, err = send()
	require.NoError(t, err)
	require.Equal(t, 429, a.Status)
	require.Contains(t, a.Raw, "<html>")
	require.Empty(t, r.channel.FromBot())

	fault(fakechat.HTML502, fakechat.After)
	a, err = send()
	require.NoError(t, err)
	require.Equal(t, 502, a.Status)
	require.Len(t, r.channel.FromBot(), 1)

	fault(fakechat.Reset, fakechat.After)
	_, err = send()
	require.Error(t, err)
	require.Len(t, r.channel.FromBot(), 2)

	fault(fakechat.Truncated, fakechat.After)
	a, err = send()
	require.NoError(t, err)
	require.False(t, json.Valid([]byte(a.Raw)))

	hang := fault(fakechat.Hang, fakechat.Before)
	done := make(chan error, 1)
	request := r.request("POST", r.messages(), params{"content": "late"})
	go func() {
		_, err := r.try(request)
		done <- err
	}()
	require.NoError(t, r.dc.WaitFor(testContext(t), func() bool { return hang.Hits() == 1 }))
	require.Len(t, r.channel.FromBot(), 3)
	hang.Release()
	require.NoError(t, <-done)
	require.Len(t, r.channel.FromBot(), 4)

	r.dc.Fault(fakechat.DiscordFault{Method: "PATCH", Kind: fakechat.TooManyRequests, Code: 30046, RetryAfter: 60})
	a = r.refused("PATCH", r.messages()+"/"+r.channel.FromBot()[0].ID, params{"content": "x"}, 429, 30046)
	require.Equal(t, 60.0, a.Wait)
	r.dc.Fault(fakechat.DiscordFault{Kind: fakechat.Custom, Status: 403, Code: 50001, Message: "Missing Access"})
	r.refused("POST", r.messages(), params{"content": "x"}, 403, 50001)
	calls := r.dc.Calls("POST", fakechat.RouteMessages)
	require.Len(t, calls, 7)
	require.Equal(t, "HTML429", calls[1].Fault)
	require.Equal(t, 50001, calls[6].Code)
	require.Empty(t, calls[0].Header.Get("Authorization"))
	require.Contains(t, r.dc.Transcript(), "fault Hang hits POST")
}

func TestD11SlowBodyAndUpload(t *testing.T) {
	t.Parallel()
	r := newRest(t, fakechat.DiscordOptions{})
	r.dc.Fault(fakechat.DiscordFault{Kind: fakechat.SlowBody, Delay: time.Millisecond})
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	require.NoError(t, form.WriteField("payload_json", `{"content":"see","attachments":[{"id":"0","description":"args"}]}`))
	part, err := form.CreateFormFile("files[0]", "args.json")
	require.NoError(t, err)
	_, err = part.Write([]byte("{}"))
	require.NoError(t, err)
	require.NoError(t, form.Close())
	request := r.request("POST", r.messages(), nil)
	request.Body, request.ContentLength = io.NopCloser(&body), int64(body.Len())
	request.Header.Set("Content-Type", form.FormDataContentType())
	a, err := r.try(request)
	require.NoError(t, err)
	m, ok := r.channel.Message(a.ID)
	require.True(t, ok, a.Raw)
	require.Len(t, m.Attachments, 1)
	require.Equal(t, "args.json args {}", m.Attachments[0].Filename+" "+m.Attachments[0].Description+" "+string(m.Attachments[0].Data))
	require.Len(t, r.dc.Calls("POST", fakechat.RouteMessages)[0].Files, 1)
}
