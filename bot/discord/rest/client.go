// Package rest makes calls of Discord's REST API, version 10, with discordgo, and interprets its
// refusals (https://discord.com/developers/docs). It obeys a context, enforces only
// limits that Discord announces, and keeps the token out of every error.
package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/core"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Times and sizes of the wire.
const (
	Timeout       = 15 * time.Second // of a call
	MaxRetryAfter = 24 * time.Hour   // longest wait that is accepted from Discord
	ProxyPause    = time.Minute      // rest after a refusal that is not Discord's own (a 429 or 403 page)
)

const maxBody = 8 << 20 // of an answer

// userAgent is the header that Discord asks bots to send (Reference, User Agent).
const userAgent = "DiscordBot (https://github.com/approvalbot/approvalbot, 1)"

// Error is an answer of Discord that is not a result.
type Error struct {
	Status     int
	Code       int // JSON error code (Topics, Opcodes and Status Codes); 0 for a general error
	Message    string
	RetryAfter time.Duration
	Global     bool
}

func (e *Error) Error() string {
	return fmt.Sprintf("Discord answered %d (code %d): %s", e.Status, e.Code, e.Message)
}

// Is reports whether Discord answered that it is in trouble itself.
func (e *Error) Is(target error) bool {
	return target == core.ErrPlatform && e.Status >= http.StatusInternalServerError
}

// Unanswered is the error of an answer that did not come, or not whole: the request
// may have succeeded all the same.
func Unanswered(what string) error { return &errUnreachable{what} }

// errUnreachable says that no complete answer came. The request may have
// succeeded all the same.
type errUnreachable struct{ what string }

func (e *errUnreachable) Error() string { return "Discord gave no answer: " + e.what }

// Client makes REST calls through discordgo's session. It turns everything that is not
// a result into an *Error or *errUnreachable, and keeps the token out of both.
type Client struct {
	session *discordgo.Session
	base    string
	token   string
}

// New makes a Client of the API at that address, for the bot with that token;
// if transport is nil, it has connections of its own.
func New(apiURL, token string, transport http.RoundTripper) *Client {
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 16
		transport = own
	}
	s, _ := discordgo.New("Bot " + token)                                 // never fails
	s.ShouldRetryOnRateLimit, s.MaxRestRetries, s.LogLevel = false, 0, -1 // callers retry, and log
	s.UserAgent, s.Client = userAgent, &http.Client{Transport: transport, Timeout: Timeout}
	return &Client{session: s, base: apiURL + "/api/v10", token: token}
}

// Limit sets how long a call may take, at most.
func (c *Client) Limit(d time.Duration) { c.session.Client.Timeout = d }

// Close closes idle connections.
func (c *Client) Close() { c.session.Client.CloseIdleConnections() }

// Call makes a call with a JSON body (nil: no body) and reads its result (nil:
// dropped). path may contain an interaction's token, which errors do not show.
func (c *Client) Call(ctx context.Context, method, path string, body, result any) error {
	_, err := c.Send(ctx, method, path, body, result)
	return err
}

// Send is Call, with the headers of the answer.
func (c *Client) Send(ctx context.Context, method, path string, body, result any) (http.Header, error) {
	kind, data := "", []byte(nil)
	switch body := body.(type) {
	case nil:
	case form:
		kind, data = body.kind, body.data
	default:
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
		kind = "application/json"
	}
	x := &exchange{transport: c.session.Client.Transport}
	bucket := &discordgo.Bucket{} // a new one never makes the library sleep
	bucket.Lock()
	data, err := c.session.RequestWithLockedBucket(method, c.base+path, kind, data, bucket, 0,
		func(call *discordgo.RequestConfig) {
			call.Request = call.Request.WithContext(ctx)
			call.Client = &http.Client{Transport: x, Timeout: call.Client.Timeout}
			if strings.HasPrefix(path, "/interactions/") || strings.HasPrefix(path, "/webhooks/") {
				call.Request.Header.Del("Authorization")
			}
		})
	switch {
	case x.status == 0:
		return nil, c.Unreachable(err)
	case x.status >= 300:
		return x.header, c.refusal(x, data)
	case result == nil || x.status == http.StatusNoContent:
		return x.header, nil
	case len(data) > maxBody || json.Unmarshal(data, result) != nil:
		return x.header, &errUnreachable{"the answer is cut off or has another form than documented"}
	}
	return x.header, nil
}

// exchange is the transport of one call. It reads the whole answer, and keeps its headers
// from the library, which would follow a redirect with the token, and takes a message
// for lost that came back with a rate limit that it cannot read.
type exchange struct {
	transport http.RoundTripper
	status    int // 0 if no whole answer came
	header    http.Header
}

func (x *exchange) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := x.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, err
	}
	x.status, x.header = resp.StatusCode, resp.Header
	resp.Header, resp.Body = nil, io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// refusal reads an error (Topics, Rate Limits; Reference, Error Messages). A page
// instead of JSON comes from a proxy before Discord.
func (c *Client) refusal(x *exchange, body []byte) *Error {
	var answer struct {
		Code       int             `json:"code"`
		Message    string          `json:"message"`
		RetryAfter float64         `json:"retry_after"`
		Global     bool            `json:"global"`
		Errors     json.RawMessage `json:"errors"`
	}
	err := json.Unmarshal(body, &answer)
	e := &Error{Status: x.status, Code: answer.Code, Message: c.Clean(answer.Message), Global: answer.Global}
	if len(answer.Errors) > 0 {
		e.Message = c.Clean(e.Message + " " + string(answer.Errors))
	}
	if e.Message == "" {
		e.Message = http.StatusText(x.status)
	}
	seconds := answer.RetryAfter
	if seconds <= 0 {
		seconds, _ = strconv.ParseFloat(x.header.Get("Retry-After"), 64)
	}
	e.RetryAfter = time.Duration(min(max(seconds, 0), MaxRetryAfter.Seconds()) * float64(time.Second))
	if e.Status == http.StatusTooManyRequests {
		e.Global = e.Global || x.header.Get("X-RateLimit-Global") == "true"
		if e.RetryAfter == 0 {
			e.RetryAfter = time.Second
		}
	}
	if err != nil && (e.Status == http.StatusTooManyRequests || e.Status == http.StatusForbidden) {
		e.Status, e.Global, e.RetryAfter = http.StatusTooManyRequests, true, max(e.RetryAfter, ProxyPause)
	}
	return e
}

// Unreachable makes an error without the address, since that of an interaction
// contains its token.
func (c *Client) Unreachable(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		err = withURL.Err
	}
	return &errUnreachable{c.Clean(err.Error())}
}

// Clean cuts a text of the wire to one short line without the token.
func (c *Client) Clean(s string) string {
	s = strings.ReplaceAll(s, c.token, "<token>")
	short, _ := display.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), 300)
	return short
}

// form is a multipart body.
type form struct {
	kind string
	data []byte
}

// Upload makes a multipart body of a message and its file.
func Upload(message any, f card.File) (form, error) {
	file := discordgo.File{Name: f.Name, ContentType: "text/plain; charset=utf-8", Reader: strings.NewReader(f.Text)}
	kind, data, err := discordgo.MultipartBodyWithJSON(message, []*discordgo.File{&file})
	return form{kind, data}, err
}
