package verifier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"approvalbot/internal/display"
)

// maxAnswer bounds an answer's body, in bytes.
const maxAnswer = 64 << 10

// newTransport makes the connections of one authority. Answers are never
// decompressed: a small body must not become a large one.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		MaxResponseHeaderBytes: 16 << 10,
	}
}

// newClient makes a client that never follows a redirect: the first answer
// counts, and the request is meant for this server only.
func newClient(t http.RoundTripper) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// failure is the reason why an exchange gave no answer.
type failure struct {
	word string // "timeout", "unreachable", "status", "invalid", "cancelled"
	text string // the same for people, askers included: safe to show, without address or secret

	detail string // more of it, for operators only
}

func problem(word, text string) *failure { return &failure{word: word, text: text} }

// cause is the failure in a word or two: "timeout", or "HTTP 500".
func (f *failure) cause(status int) string {
	if f.word == "status" {
		return fmt.Sprintf("HTTP %d", status)
	}
	return f.word
}

// exchange sends a request and reads the whole answer, within the request's
// context. The status is 0 if no answer came. The body counts only if the
// failure is nil, which includes that the status is 2xx.
func exchange(client *http.Client, req *http.Request) (body []byte, status int, fail *failure) {
	res, err := client.Do(req)
	if err != nil {
		return nil, 0, broken(req.Context(), err)
	}
	defer func() { _ = res.Body.Close() }()
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return nil, res.StatusCode, problem("status", "it answered with a redirect, which is never followed")
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, res.StatusCode, problem("status", fmt.Sprintf("it answered with HTTP status %d", res.StatusCode))
	}
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, res.StatusCode, broken(req.Context(), err)
	case len(body) > maxAnswer:
		return nil, res.StatusCode, problem("invalid", "its answer is larger than 64 KiB")
	}
	return body, res.StatusCode, nil
}

// broken explains an error of the connection. The error's own text may hold the
// address with its query, and bytes that the other side chose.
func broken(ctx context.Context, err error) *failure {
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return problem("cancelled", "the request was given up before it answered")
	case ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		return problem("timeout", "it did not answer in time")
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	text, _ := display.Clip(display.Safe(err.Error()), 200)
	return &failure{word: "unreachable", text: "it cannot be reached", detail: text}
}
