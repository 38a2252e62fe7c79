package telegram

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
)

func TestNewSaysWhichSettingIsWrong(t *testing.T) {
	good := Config{Token: "123456:" + secretPart}
	for name, c := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"good":           {func(*Config) {}, ""},
		"no token":       {func(c *Config) { c.Token = "" }, "bot token"},
		"half a token":   {func(c *Config) { c.Token = "123456" }, "bot token"},
		"path in it":     {func(c *Config) { c.Token = "123456:" + secretPart + "/../x" }, "bot token"},
		"huge bot id":    {func(c *Config) { c.Token = "99999999999999999999:" + secretPart }, "bot id"},
		"address":        {func(c *Config) { c.APIURL = "api.telegram.org" }, "API address"},
		"other updates":  {func(c *Config) { c.Updates = "pigeon" }, "polling or webhook"},
		"hook no url":    {func(c *Config) { c.Updates, c.WebhookSecret = Webhook, "s" }, "url"},
		"hook no secret": {func(c *Config) { c.Updates, c.WebhookURL = Webhook, "https://x" }, "secret"},
		"hook bad secret": {func(c *Config) {
			c.Updates, c.WebhookURL, c.WebhookSecret = Webhook, "https://x", "with space"
		}, "secret"},
	} {
		cfg := good
		c.change(&cfg)
		_, err := New(cfg, nil, nil, nil, slog.New(slog.DiscardHandler))
		switch {
		case (err == nil) != (c.want == ""), err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case err != nil && strings.Contains(err.Error(), secretPart):
			t.Errorf("%s: the token is in %v", name, err)
		}
	}
}

// answers is a transport that gives one answer to everything.
type answers struct {
	status int
	header http.Header
	body   string
	err    error
	calls  int
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	a.calls++
	if a.err != nil {
		return nil, fmt.Errorf("%w: %s", a.err, req.URL) // the worst a transport could say
	}
	rec := &http.Response{StatusCode: a.status, Header: a.header, Body: http.NoBody, Request: req}
	rec.Body = readCloser{strings.NewReader(a.body)}
	return rec, nil
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// Whatever comes back, the error of a send is short, says nothing of the token,
// and is of the right kind.
func TestErrorsOfTheWire(t *testing.T) {
	body := func(code int, text, more string) string {
		return fmt.Sprintf(`{"ok":false,"error_code":%d,"description":%q%s}`, code, text, more)
	}
	retry := func(d time.Duration) string { return "retry " + d.String() }
	for name, c := range map[string]struct {
		answer answers
		want   string // what kindOf says
	}{
		"unreachable":         {answers{err: errors.New("dial")}, "passing"},
		"html 502":            {answers{status: 502, body: "<html>" + strings.Repeat("x", 9000)}, "trouble"},
		"empty 200":           {answers{status: 200}, "passing"},
		"no envelope":         {answers{status: 200, body: `{}`}, "passing"},
		"half":                {answers{status: 200, body: `{"ok":true,"resu`}, "passing"},
		"odd result":          {answers{status: 200, body: `{"ok":true,"result":"` + secretPart + `"}`}, "passing"},
		"odd text":            {answers{status: 200, body: `{"ok":true,"result":{"message_id":7,"text":"` + "\xff" + `","text":"\ud800"}}`}, "none"}, // it stands in the chat
		"redirect":            {answers{status: 302, header: http.Header{"Location": {"https://evil.example/"}}}, "passing"},
		"token in the answer": {answers{status: 500, body: body(500, "x 123456:"+secretPart, "")}, "trouble"},
		"429":                 {answers{status: 429, body: body(429, "Too Many Requests", `,"parameters":{"retry_after":3}`)}, retry(3 * time.Second)},
		"429 by a front end":  {answers{status: 429, header: http.Header{"Retry-After": {"9"}}, body: "<html>"}, retry(9 * time.Second)},
		"429 without a time":  {answers{status: 429, body: body(429, "Too Many Requests", "")}, retry(time.Second)},
		"429 absurd":          {answers{status: 429, body: body(429, "x", `,"parameters":{"retry_after":1e300}`)}, retry(maxRetryAfter)},
		"ok false with 200":   {answers{status: 200, body: body(403, "Forbidden: bot was blocked by the user", "")}, "gone"},
		"404 for the token":   {answers{status: 404, body: body(404, "Not Found", "")}, "passing"},
		"413":                 {answers{status: 413, body: "<html>"}, "refused"},
		"new 403":             {answers{status: 403, body: body(403, "Forbidden: because", "")}, "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Token: "123456:" + secretPart, Transport: &c.answer}
			logs := &lockedBuffer{}
			b, err := New(cfg, nil, nil, nil, slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
			if err != nil {
				t.Fatal(err)
			}
			_, err = b.Post(context.Background(), target(7), core.Posting{Card: pendingCard()})
			if got := kindOf(err); got != c.want {
				t.Errorf("%s: %v, want %s", got, err, c.want)
			}
			if s := fmt.Sprintf("%v %+v %#v %s %+v", err, err, err, logs, b.State()); strings.Contains(s, secretPart) || len(s) > 2000 {
				t.Errorf("the error says %s", s)
			}
			if c.answer.calls != 1 {
				t.Errorf("%d calls", c.answer.calls)
			}
		})
	}
}

func kindOf(err error) string {
	var d *core.DeliveryError
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, core.ErrPlatform):
		return "trouble"
	case !errors.As(err, &d):
		return "passing"
	case d.RetryAfter > 0:
		return "retry " + d.RetryAfter.String()
	case d.Gone:
		return "gone"
	case d.Refused:
		return "refused"
	case d.NoFiles:
		return "no files"
	case d.MessageGone:
		return "message gone"
	case d.Moved != nil:
		return "moved"
	}
	return "nothing"
}

// The table, row by row where no scene shows it.
func TestVerdicts(t *testing.T) {
	b := &Bot{log: slog.New(slog.DiscardHandler)}
	b.health = textcmd.NewHealth("Telegram", b.log)
	for _, c := range []struct {
		op   operation
		code int
		text string
		want string
	}{
		{editing, 400, "Bad Request: message is not modified: specified new …", "none"},
		{posting, 400, "Bad Request: message is not modified", "refused"},
		{editing, 400, "Bad Request: message to edit not found", "message gone"},
		{editing, 400, "Bad Request: message can't be edited", "message gone"},
		{editing, 400, "Bad Request: MESSAGE_ID_INVALID", "message gone"},
		{editing, 403, "Forbidden: bot was kicked from the supergroup chat", "gone"},
		{editing, 400, "Bad Request: can't parse entities: Unsupported start tag", "refused"},
		{answering, 400, "Bad Request: query is too old and response timeout expired or query ID is invalid", "none"},
		{attaching, 400, "Bad Request: not enough rights to send documents to the chat", "no files"},
		{attaching, 413, "Request Entity Too Large", "no files"},
		{attaching, 400, "Bad Request: chat not found", "gone"},
		{attaching, 400, "Bad Request: CHAT_RESTRICTED", "gone"},
		{attaching, 400, "Bad Request: file must be non-empty", "no files"},
		{posting, 400, "Bad Request: private chat not found", "gone"},
		{posting, 400, "Bad Request: TOPIC_CLOSED", "gone"},
		{posting, 400, "Bad Request: CHAT_WRITE_FORBIDDEN", "gone"},
		{posting, 404, "Not Found: method not found", "passing"},
		{posting, 401, "Unauthorized", "passing"},
		{posting, 500, "Internal Server Error: sent message was immediately deleted and can't be returned", "trouble"},
		{posting, 504, "Gateway Timeout", "trouble"},
	} {
		err := b.judge(c.op, fmt.Errorf("the library: %w", &apiError{Code: c.code, Description: c.text}))
		if got := kindOf(err); got != c.want {
			t.Errorf("%d %s: %s (%v), want %s", c.code, c.text, got, err, c.want)
		}
	}
}
