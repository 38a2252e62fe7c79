package fakechat

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DiscordCall is one request of the bot to the REST API, in the order of
// arrival.
type DiscordCall struct {
	// Method is the HTTP method.
	Method string
	// Version of the API, "9", "10" or "" if the path has no version.
	Version string
	// Path without /api/v10.
	Path string
	// Route is the pattern of the path, such as [RouteMessages]; "" if there is
	// no such route.
	Route string
	// Query is the query string.
	Query url.Values
	// Header without Authorization.
	Header http.Header
	// Authorized says that there was an Authorization header.
	Authorized bool
	// Body is the JSON of the body, or of payload_json.
	Body json.RawMessage
	// Files are the uploads of a multipart body.
	Files []DiscordAttachment
	// At is the fake's time of arrival.
	At time.Time
	// Done says that the call was answered or broken off.
	Done bool
	// Status is the HTTP status that went out, 0 if no answer did.
	Status int
	// Code and Message are those of the error answer, if it was one.
	Code    int
	Message string
	// Fault names the scripted fault that hit the call.
	Fault string
}

// record begins the journal entry of a call; it takes the lock.
func (dc *Discord) record(call *DiscordCall, header http.Header) {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	call.Header, call.At, call.Authorized = header.Clone(), dc.now(), header.Get("Authorization") != ""
	call.Header.Del("Authorization")
	dc.journal = append(dc.journal, call)
	dc.wake()
}

// finish completes the journal entry; it takes the lock.
func (q *dcQuery) finish(status int, err *dcError, fault string) {
	q.dc.mu.Lock()
	defer q.dc.mu.Unlock()
	q.call.Done, q.call.Status, q.call.Fault = true, status, fault
	if err != nil {
		q.call.Code, q.call.Message = err.code, err.message
	}
	q.dc.limits.countInvalid(q.dc.now(), status, err)
	q.dc.wake()
}

// Journal returns all calls so far, running ones included.
func (dc *Discord) Journal() []DiscordCall { return dc.Calls("", "") }

// Calls returns the calls with this HTTP method and route; an empty string means all of
// them.
func (dc *Discord) Calls(method, route string) []DiscordCall {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	var calls []DiscordCall
	for _, call := range dc.journal {
		if (method == "" || strings.EqualFold(method, call.Method)) && (route == "" || route == call.Route) {
			entry := *call
			entry.Body, entry.Files = slices.Clone(call.Body), slices.Clone(call.Files)
			calls = append(calls, entry)
		}
	}
	return calls
}
