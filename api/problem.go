package api

import (
	"net/http"
	"strings"
	"time"
)

// Problem is an error answer (RFC 9457). Code is stable and for programs;
// Detail is a sentence for people.
type Problem struct {
	Type   string  `json:"type" doc:"urn:approvalbot:problem: and the code."`
	Title  string  `json:"title"`
	Status int     `json:"status" doc:"The HTTP status."`
	Detail string  `json:"detail" doc:"One sentence for people. Never carries a value of the request."`
	Code   string  `json:"code" doc:"Stable name of the refusal."`
	Why    string  `json:"why,omitzero" enum:"pending,denied,late,revoked,policy" doc:"With not_claimable: why the call cannot be claimed."`
	URL    string  `json:"url,omitzero" doc:"With step_up_required: the page where a passkey can sign the yes."`
	Fields []Field `json:"fields,omitzero" doc:"With invalid_request: every wrong field."`

	RetryAfter time.Duration `json:"-"` // of the Retry-After header; 0 if it has none
}

// Field names one wrong field of a request.
type Field struct {
	Field   string `json:"field" doc:"Dotted path, as in the request."`
	Problem string `json:"problem" doc:"What it must be."`
}

// Error gives the sentence and the code.
func (p *Problem) Error() string {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if p.Code == "" || strings.Contains(text, p.Code) {
		return text
	}
	return text + " (" + p.Code + ")"
}

// passing reports whether the same request may succeed a little later.
func (p *Problem) passing() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	}
	return p.Status == http.StatusServiceUnavailable && p.Code != "approvals_disabled"
}
