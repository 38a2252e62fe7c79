package fakechat

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxTelegramBody is the size of a request the server accepts: bots can send
// files of up to 50 MB (Bot API, "Sending files"), plus the form around it.
const maxTelegramBody = 52 << 20

// apiError is an error answer: HTTP status and body have the same code
// (telegram-bot-api Query.h, JsonQueryError).
type apiError struct {
	code        int
	description string
	retryAfter  int
	migrateTo   int64
	notBefore   time.Time // the server answers no earlier
}

// okResult is a success with the optional description of setWebhook.
type okResult struct {
	value       any
	description string
}

func badRequest(description string) *apiError {
	return &apiError{code: http.StatusBadRequest, description: "Bad Request: " + description}
}

func forbidden(description string) *apiError {
	return &apiError{code: http.StatusForbidden, description: "Forbidden: " + description}
}

func unauthorized() *apiError {
	return &apiError{code: http.StatusUnauthorized, description: "Unauthorized"}
}

func tooManyRequests(retryAfter int) *apiError {
	return &apiError{
		code:        http.StatusTooManyRequests,
		description: "Too Many Requests: retry after " + strconv.Itoa(retryAfter),
		retryAfter:  retryAfter,
	}
}

// malformedToken follows telegram-bot-api ClientManager.cpp.
func malformedToken(token string) bool {
	return token == "" || token[0] == '0' || len(token) > 80 || !strings.Contains(token, ":")
}

// splitBotPath splits /bot<token>/[test/]<method> (HttpConnection.cpp). The
// test environment is accepted and treated like the normal one.
func splitBotPath(path string) (token, method string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/bot")
	if !ok {
		return "", "", false
	}
	token, method, ok = strings.Cut(rest, "/")
	return token, strings.TrimPrefix(method, "test/"), ok
}

// serve is the HTTP handler; it runs without the lock.
func (tg *Telegram) serve(w http.ResponseWriter, r *http.Request) {
	if !tg.enter() {
		panic(http.ErrAbortHandler)
	}
	defer tg.running.Done()
	w.Header().Set("Date", tg.Now().UTC().Format(http.TimeFormat))
	r.Body = http.MaxBytesReader(w, r.Body, maxTelegramBody)
	token, name, ok := splitBotPath(r.URL.Path)
	if !ok {
		writeAnswer(w, nil, &apiError{code: http.StatusNotFound, description: "Not Found"})
		return
	}
	query, err := readQuery(r, name)
	if err != nil {
		writeAnswer(w, nil, err)
		return
	}
	call := tg.record(query, "")
	if err := tg.checkToken(token); err != nil {
		tg.finish(call, err, "")
		writeAnswer(w, nil, err)
		return
	}
	tg.perform(w, r, query, call)
}

func (tg *Telegram) checkToken(token string) *apiError {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	if malformedToken(token) {
		return &apiError{code: http.StatusUnauthorized, description: "Unauthorized: invalid token specified"}
	}
	if tg.revoked || token != tg.token {
		return unauthorized()
	}
	return nil
}

// perform runs a call with its scripted fault, if there is one.
func (tg *Telegram) perform(w http.ResponseWriter, r *http.Request, query *tgQuery, call *TelegramCall) {
	fault := tg.takeFault(query)
	if fault.is(Before) && tg.strike(w, r, fault, call, nil) {
		return
	}
	value, err := tg.run(r.Context(), query)
	if err != nil && !err.notBefore.IsZero() {
		tg.sleepUntil(r.Context(), err.notBefore)
	}
	if fault.is(After) && tg.strike(w, r, fault, call, newReply(value, err)) {
		return
	}
	tg.finish(call, err, fault.name())
	writeAnswer(w, value, err)
}

// run executes a call without faults; it is called without the lock.
func (tg *Telegram) run(ctx context.Context, query *tgQuery) (any, *apiError) {
	method, ok := tg.methods[strings.ToLower(query.method)]
	if !ok {
		return nil, &apiError{code: http.StatusNotFound, description: "Not Found: method not found"}
	}
	if method.waits != nil {
		return method.waits(tg, ctx, query)
	}
	tg.mu.Lock()
	defer tg.mu.Unlock()
	defer tg.wake()
	if err := tg.limits.take(tg.now(), method.weight, tg.findChat(query.params["chat_id"])); err != nil {
		return nil, err
	}
	return method.run(tg, query)
}

// answerBody encodes an answer: {"ok":true,"result":…} or
// {"ok":false,"error_code":…,"description":…,"parameters":…}, in that order.
func answerBody(value any, err *apiError) []byte {
	type parameters struct {
		MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
		RetryAfter int   `json:"retry_after,omitempty"`
	}
	if err != nil {
		answer := struct {
			OK          bool        `json:"ok"`
			ErrorCode   int         `json:"error_code"`
			Description string      `json:"description"`
			Parameters  *parameters `json:"parameters,omitempty"`
		}{ErrorCode: err.code, Description: err.description}
		if err.retryAfter > 0 || err.migrateTo != 0 {
			answer.Parameters = &parameters{MigrateTo: err.migrateTo, RetryAfter: err.retryAfter}
		}
		return encodeJSON(answer)
	}
	answer := struct {
		OK          bool   `json:"ok"`
		Result      any    `json:"result"`
		Description string `json:"description,omitempty"`
	}{OK: true, Result: value}
	if result, ok := value.(okResult); ok {
		answer.Result, answer.Description = result.value, result.description
	}
	return encodeJSON(answer)
}

// encodeJSON encodes without escaping <, > and &, which Telegram leaves alone.
func encodeJSON(value any) []byte {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err) // only values of this package are encoded
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

func newReply(value any, err *apiError) *reply {
	code := http.StatusOK
	if err != nil {
		code = err.code
	}
	return &reply{code: code, body: answerBody(value, err)}
}

func writeAnswer(w http.ResponseWriter, value any, err *apiError) {
	if err != nil && err.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(err.retryAfter))
	}
	reply := newReply(value, err)
	writeRaw(w, reply.code, "application/json", reply.body)
}

func writeRaw(w http.ResponseWriter, code int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	w.Write(body)
}
