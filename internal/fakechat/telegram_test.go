package fakechat_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/fakechat"
)

// answer is what a call got.
type answer struct {
	Status      int             `json:"-"`
	Header      http.Header     `json:"-"`
	Raw         string          `json:"-"`
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// client is a bot made of nothing but HTTP requests.
type client struct {
	t  *testing.T
	tg *fakechat.Telegram
	*http.Client
}

type params map[string]any

func newClient(t *testing.T, opts fakechat.TelegramOptions) *client {
	t.Helper()
	tg := fakechat.NewTelegram(t, opts)
	c := &client{t: t, tg: tg, Client: tg.HTTPClient()}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// frozen is a clock that only Advance moves.
func frozen() fakechat.TelegramOptions {
	start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	return fakechat.TelegramOptions{Now: func() time.Time { return start }}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (c *client) path(method string) string {
	return c.tg.URL() + "/bot" + c.tg.Token() + "/" + method
}

// do sends a request and reads the answer; it may be used from any goroutine.
func (c *client) do(request *http.Request) (answer, error) {
	response, err := c.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a := answer{Status: response.StatusCode, Header: response.Header, Raw: string(body)}
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(body, &a)
}

func (c *client) try(ctx context.Context, method string, p params) (answer, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.path(method), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	return c.do(request)
}

func (c *client) call(method string, p params) answer {
	c.t.Helper()
	a, err := c.try(c.t.Context(), method, p)
	require.NoError(c.t, err, "%s", a.Raw)
	require.Equal(c.t, "application/json", a.Header.Get("Content-Type"))
	if !a.OK {
		require.Equal(c.t, a.Status, a.ErrorCode)
	}
	return a
}

// must makes a call that succeeds and decodes its result.
func (c *client) must(method string, p params) map[string]any {
	c.t.Helper()
	a := c.call(method, p)
	require.True(c.t, a.OK, a.Raw)
	var result map[string]any
	if json.Unmarshal(a.Result, &result) != nil {
		return nil
	}
	return result
}

// refused makes a call that fails and checks code and description.
func (c *client) refused(method string, p params, code int, description string) answer {
	c.t.Helper()
	a := c.call(method, p)
	require.False(c.t, a.OK, a.Raw)
	require.Equal(c.t, code, a.ErrorCode, a.Raw)
	require.Equal(c.t, description, a.Description)
	return a
}

// send sends a text with buttons (label, data, label, data …) and returns its id.
func (c *client) send(chat *fakechat.TelegramChat, text string, buttons ...string) int {
	c.t.Helper()
	p := params{"chat_id": chat.ID, "text": text}
	if len(buttons) > 0 {
		p["reply_markup"] = keyboard(buttons...)
	}
	return int(c.must("sendMessage", p)["message_id"].(float64))
}

func keyboard(buttons ...string) params {
	var row []params
	for i := 0; i < len(buttons); i += 2 {
		row = append(row, params{"text": buttons[i], "callback_data": buttons[i+1]})
	}
	return params{"inline_keyboard": [][]params{row}}
}

type update struct {
	ID       int            `json:"update_id"`
	Message  map[string]any `json:"message"`
	Edited   map[string]any `json:"edited_message"`
	Post     map[string]any `json:"channel_post"`
	Callback map[string]any `json:"callback_query"`
	Member   map[string]any `json:"my_chat_member"`
}

// updates makes a getUpdates call that succeeds.
func (c *client) updates(p params) []update {
	c.t.Helper()
	a := c.call("getUpdates", p)
	require.True(c.t, a.OK, a.Raw)
	var list []update
	require.NoError(c.t, json.Unmarshal(a.Result, &list))
	return list
}

func ids(list []update) []int {
	ids := []int{}
	for _, u := range list {
		ids = append(ids, u.ID)
	}
	return ids
}

// poll starts a getUpdates call and returns where its answer comes. Its context
// ends with the test.
func (c *client) poll(ctx context.Context, p params) <-chan answer {
	answers := make(chan answer, 1)
	go func() {
		a, _ := c.try(ctx, "getUpdates", p)
		answers <- a
	}()
	return answers
}

func TestTelegramT1_WaysToCall(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{})
	group := c.tg.AddGroup("Ops")
	id := strconv.FormatInt(group.ID, 10)
	form := func(r *http.Request) *http.Request {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return r
	}
	multi := func() *http.Request {
		var body bytes.Buffer
		w := multipart.NewWriter(&body)
		require.NoError(t, w.WriteField("chat_id", id))
		require.NoError(t, w.WriteField("text", "hello"))
		require.NoError(t, w.WriteField("reply_markup", `{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}`))
		require.NoError(t, w.Close())
		r, _ := http.NewRequest(http.MethodPost, c.path("sendMessage"), &body)
		r.Header.Set("Content-Type", w.FormDataContentType())
		return r
	}
	markup := `{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}`
	values := url.Values{"chat_id": {id}, "text": {"hello"}, "reply_markup": {markup}, "no_such_parameter": {"1"}}.Encode()
	request := func(verb, url, body string) *http.Request {
		r, err := http.NewRequest(verb, url, strings.NewReader(body))
		require.NoError(t, err)
		return r
	}
	asJSON := func(body string) *http.Request {
		r := request(http.MethodPost, c.path("sendMessage"), body)
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		return r
	}
	quoted, _ := json.Marshal(markup)
	for name, r := range map[string]*http.Request{
		"query":           request(http.MethodGet, c.path("sendMessage")+"?"+values, ""),
		"urlencoded":      form(request(http.MethodPost, c.path("sendMessage"), values)),
		"put":             form(request(http.MethodPut, c.path("sendMessage"), values)),
		"multipart":       multi(),
		"json object":     asJSON(`{"chat_id":` + id + `,"text":"hello","reply_markup":` + markup + `,"unknown":null}`),
		"json string":     asJSON(`{"chat_id":"` + id + `","text":"hello","reply_markup":` + string(quoted) + `}`),
		"method's case":   request(http.MethodGet, c.path("SENDmessage")+"?"+values, ""),
		"test path":       request(http.MethodGet, c.path("test/sendMessage")+"?"+values, ""),
		"method in body":  form(request(http.MethodPost, c.path(""), values+"&method=sendMessage")),
		"query and body":  form(request(http.MethodPost, c.path("sendMessage")+"?text=hello", "chat_id="+id+"&reply_markup="+url.QueryEscape(markup))),
		"query over body": form(request(http.MethodPost, c.path("sendMessage")+"?text=hello", values+"&text=other")),
	} {
		t.Run(name, func(t *testing.T) {
			before := len(group.Messages())
			a, err := c.do(r)
			require.NoError(t, err)
			require.True(t, a.OK, a.Raw)
			messages := group.Messages()
			require.Len(t, messages, before+1)
			require.Equal(t, "hello", messages[before].Text)
			require.Equal(t, []string{"Yes"}, messages[before].Labels())
		})
	}
}

func TestTelegramT1_ErrorBodies(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{})
	a := c.refused("noSuchMethod", nil, 404, "Not Found: method not found")
	require.Equal(t, `{"ok":false,"error_code":404,"description":"Not Found: method not found"}`, a.Raw)
	for _, path := range []string{"/", "/file", "/bot" + c.tg.Token()} {
		r, _ := http.NewRequest(http.MethodGet, c.tg.URL()+path, nil)
		a, err := c.do(r)
		require.NoError(t, err)
		require.Equal(t, 404, a.Status, path)
		require.Equal(t, "Not Found", a.Description, path)
	}
	c.tg.Fault(fakechat.TelegramFault{Kind: fakechat.TooManyRequests, RetryAfter: 35})
	a = c.call("sendMessage", nil)
	require.Equal(t, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`, a.Raw)
	require.Equal(t, "35", a.Header.Get("Retry-After"))
}

func TestTelegramT2_Token(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{Token: "42:AAA"})
	get := func(token string) answer {
		r, _ := http.NewRequest(http.MethodGet, c.tg.URL()+"/bot"+token+"/getMe", nil)
		a, err := c.do(r)
		require.NoError(t, err)
		return a
	}
	require.True(t, get("42:AAA").OK)
	for token, description := range map[string]string{
		"42:BBB":                       "Unauthorized",
		"nonsense":                     "Unauthorized: invalid token specified",
		"042:AAA":                      "Unauthorized: invalid token specified",
		"4:" + strings.Repeat("A", 80): "Unauthorized: invalid token specified",
	} {
		a := get(token)
		require.Equal(t, 401, a.Status)
		require.Equal(t, description, a.Description)
	}
	ctx := testContext(t)
	waiting := c.poll(ctx, params{"timeout": 50})
	require.NoError(t, c.tg.WaitFor(ctx, c.tg.Polling))
	c.tg.RevokeToken()
	require.Equal(t, 401, (<-waiting).ErrorCode)
	require.Equal(t, "Unauthorized", get("42:AAA").Description)
	c.tg.SetToken("42:NEW")
	require.Equal(t, 401, get("42:AAA").Status)
	require.True(t, get("42:NEW").OK)
}

func TestTelegramT3_GetMe(t *testing.T) {
	c := newClient(t, fakechat.TelegramOptions{Token: "42:AAA", Username: "judge_bot", Name: "Judge"})
	me := c.must("getMe", nil)
	require.EqualValues(t, 42, me["id"])
	require.Equal(t, true, me["is_bot"])
	require.Equal(t, "judge_bot", me["username"])
	require.Equal(t, "Judge", me["first_name"])
	require.Equal(t, false, me["can_read_all_group_messages"])
	c = newClient(t, fakechat.TelegramOptions{CanReadAllGroupMessages: true})
	require.Equal(t, true, c.must("getMe", nil)["can_read_all_group_messages"])
}
