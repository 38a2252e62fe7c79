package telegram

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

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/core"
	"approvalbot/internal/display"
)

// Times of the wire. Telegram holds a getUpdates call for at most 50 seconds
// (Bot API, getUpdates.timeout; telegram-bot-api caps it there).
const (
	holdSeconds   = 50
	pollTimeout   = (holdSeconds + 15) * time.Second
	sendTimeout   = 20 * time.Second
	maxRetryAfter = 24 * time.Hour
	maxBody       = 16 << 20 // of an answer: a hundred updates are far smaller
)

// apiError is an answer of Telegram that is not a result.
type apiError struct {
	Code        int // HTTP status and error_code, which are equal (Bot API, Making requests)
	Description string
	RetryAfter  time.Duration // Bot API, ResponseParameters.retry_after
	MigrateTo   int64         // Bot API, ResponseParameters.migrate_to_chat_id
}

func (e *apiError) Error() string {
	return fmt.Sprintf("Telegram answered %d: %s", e.Code, e.Description)
}

// Is reports whether Telegram answered that it is in trouble itself.
func (e *apiError) Is(target error) bool {
	return target == core.ErrPlatform && e.Code >= http.StatusInternalServerError
}

// errUnreachable says that no complete answer came. The request may have
// succeeded all the same.
type errUnreachable struct{ what string }

func (e *errUnreachable) Error() string { return "Telegram gave no answer: " + e.what }

// wire makes Bot API calls. It turns everything that is not a result into an
// *apiError or *errUnreachable, and keeps the token, which is part of every
// address, out of both.
type wire struct {
	transport http.RoundTripper // not a client: a redirect would carry the token elsewhere
	timeout   time.Duration     // of a call
	base      string
	token     string
}

// newWire makes a wire with connections of its own; stop closes the idle ones.
func newWire(cfg Config, timeout time.Duration) (w *wire, stop func()) {
	transport := cfg.Transport
	if transport == nil {
		own := http.DefaultTransport.(*http.Transport).Clone()
		own.MaxIdleConnsPerHost = 16
		transport = own
	}
	stop = (&http.Client{Transport: transport}).CloseIdleConnections
	return &wire{transport: transport, timeout: timeout, base: cfg.APIURL, token: cfg.Token}, stop
}

// Do makes a request and gives the response of a call that succeeded, its body
// read and checked. It is what the Telegram library sends through.
func (w *wire) Do(req *http.Request) (*http.Response, error) {
	resp, body, err := w.call(req, nil)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// call makes a request, reads the result of its answer and gives all of the answer.
func (w *wire) call(req *http.Request, result any) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(req.Context(), w.timeout)
	defer cancel()
	resp, err := w.transport.RoundTrip(req.WithContext(ctx))
	if err != nil {
		return nil, nil, w.unreachable(err)
	}
	defer resp.Body.Close()
	body := bytes.NewBuffer(make([]byte, 0, min(max(resp.ContentLength, 0), maxBody)+bytes.MinRead))
	if _, err := body.ReadFrom(io.LimitReader(resp.Body, maxBody+1)); err != nil {
		return nil, nil, w.unreachable(err)
	}
	return resp, body.Bytes(), w.check(resp, body.Bytes(), result)
}

// check reads the result of an answer, unless result is nil, and gives the error
// in it (Bot API, Making requests).
func (w *wire) check(resp *http.Response, body []byte, result any) error {
	var answer struct {
		OK          bool   `json:"ok"`
		Code        int    `json:"error_code"`
		Description string `json:"description"`
		Parameters  struct {
			RetryAfter float64 `json:"retry_after"`
			MigrateTo  int64   `json:"migrate_to_chat_id"`
		} `json:"parameters"`
		Result any `json:"result"`
	}
	answer.Result = result
	if result == nil {
		answer.Result = new(jsontext.Value) // else it would be read in full
	}
	// The request has succeeded, so an answer is accepted in any readable form.
	err := jsonv2.Unmarshal(body, &answer, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case err == nil && answer.OK && resp.StatusCode < 300:
		return nil
	case answer.OK && resp.StatusCode < 300 && errors.As(err, new(*jsonv2.SemanticError)):
		return &errUnreachable{"the result has another form than documented"}
	case resp.StatusCode < 300 && (err != nil || answer.Code == 0), len(body) > maxBody:
		return &errUnreachable{"the answer is cut off, or is not of the Bot API's form"}
	}
	e := &apiError{Code: resp.StatusCode, Description: w.clean(answer.Description),
		MigrateTo: answer.Parameters.MigrateTo}
	if err != nil || e.Description == "" {
		e.Description = http.StatusText(resp.StatusCode)
	}
	if answer.Code != 0 {
		e.Code = answer.Code
	}
	seconds := answer.Parameters.RetryAfter
	if seconds == 0 {
		seconds, _ = strconv.ParseFloat(resp.Header.Get("Retry-After"), 64)
	}
	e.RetryAfter = time.Duration(min(max(seconds, 0), maxRetryAfter.Seconds()) * float64(time.Second))
	return e
}

// unreachable makes an error without the token, which the address holds.
func (w *wire) unreachable(err error) error {
	return &errUnreachable{w.clean(err.Error())}
}

// clean cuts a text of the wire to one short line without the token.
func (w *wire) clean(s string) string {
	_, secret, _ := strings.Cut(w.token, ":")
	s = strings.ReplaceAll(s, w.token, "<token>")
	s = strings.ReplaceAll(s, url.PathEscape(w.token), "<token>")
	s = strings.ReplaceAll(s, secret, "<token>")
	short, _ := display.Clip(strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " "), 300)
	return short
}

// post calls a method with JSON parameters and reads its result, unless result is
// nil. The library would send a form of many parts, put together by reflection.
func (w *wire) post(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	return w.postJSON(ctx, method, body, result)
}

// postJSON is post of parameters that are JSON already.
func (w *wire) postJSON(ctx context.Context, method string, body []byte, result any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.base+"/bot"+w.token+"/"+method,
		bytes.NewReader(body))
	if err != nil {
		return errors.New("the Telegram API address cannot be used")
	}
	req.Header.Set("Content-Type", "application/json")
	_, _, err = w.call(req, result)
	return err
}
