package fakechat

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

// TelegramCall is one call of the bot, in the order of arrival.
type TelegramCall struct {
	// Method as the bot wrote it.
	Method string
	// Params are the parameters; nested ones are JSON text.
	Params map[string]string
	// Files are the uploaded files by form field.
	Files map[string]TelegramFile
	// At is the fake's time of arrival.
	At time.Time
	// Done says that the call was answered or broken off.
	Done bool
	// Status is the HTTP status that went out, 0 if no answer did.
	Status int
	// Description is the error text of the answer, if it was an error.
	Description string
	// Fault names the scripted fault that hit the call.
	Fault string
	// Via is "webhook" for a call made in the answer to a webhook request.
	Via string
}

// record begins the journal entry of a call; it takes the lock.
func (tg *Telegram) record(q *tgQuery, via string) *TelegramCall {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	call := &TelegramCall{Method: q.method, Params: q.copyParams(), Files: maps.Clone(q.files), At: tg.now(), Via: via}
	tg.journal = append(tg.journal, call)
	tg.wake()
	return call
}

// finish completes a journal entry; it takes the lock.
func (tg *Telegram) finish(call *TelegramCall, err *apiError, fault string) {
	status, description := http.StatusOK, ""
	if err != nil {
		status, description = err.code, err.description
	}
	tg.finishRaw(call, status, description, fault)
}

func (tg *Telegram) finishRaw(call *TelegramCall, status int, description, fault string) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	call.Done, call.Status, call.Description, call.Fault = true, status, description, fault
	tg.wake()
}

// Journal returns all calls so far, running ones included.
func (tg *Telegram) Journal() []TelegramCall { return tg.Calls("") }

// Calls returns the calls of one method; the case of the name does not matter,
// as on the server. An empty name means all methods.
func (tg *Telegram) Calls(method string) []TelegramCall {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	var calls []TelegramCall
	for _, call := range tg.journal {
		if method == "" || strings.EqualFold(call.Method, method) {
			calls = append(calls, *call)
		}
	}
	return calls
}
