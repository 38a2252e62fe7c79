package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// maxScript bounds what a browser sends, in bytes.
const maxScript = 64 << 10

// scriptDone ends the script.
type scriptDone struct {
	Next string `json:"next,omitempty"` // the page to go to
}

// readScript reads the body of a request from one of our scripts.
func readScript(r *http.Request, into any) error {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if d.Decode(into) != nil || d.Decode(new(any)) != io.EOF {
		return approval.Refuse(approval.CodeMalformed, "The page sent unexpected data; reload it.")
	}
	return nil
}

// script serves what our scripts ask for: an answer, or a refusal in the API's words.
func (p page) script(f func(http.ResponseWriter, *http.Request, signin.Session) (any, error)) serve {
	return func(out http.ResponseWriter, r *http.Request, s signin.Session) {
		r.Body = http.MaxBytesReader(out, r.Body, maxScript)
		body, err := f(out, r, s)
		status := http.StatusOK
		if err != nil {
			status = scriptStatus(err)
			if status == http.StatusInternalServerError {
				p.log.Error("could not answer a page's script; the person was told to look at this log",
					"path", r.Pattern, "person", s.Person, "reason", err)
			}
			no := &approval.Error{}
			_ = errors.As(err, &no)
			body = scriptRefusal{Code: no.Code, Detail: inWords(err), URL: no.URL}
		}
		text, err := json.Marshal(body)
		if err != nil { // plain values always marshal
			panic(err)
		}
		out.Header().Set("Content-Type", "application/json")
		out.WriteHeader(status)
		_, _ = out.Write(text)
	}
}

// scriptRefusal is what a script is told.
type scriptRefusal struct {
	Code   approval.Code `json:"code,omitempty"`
	Detail string        `json:"detail"`
	URL    string        `json:"url,omitempty"`
}

// scriptStatus is the HTTP status of an error; an error that is not a refusal is a fault
// of the desk.
func scriptStatus(err error) int {
	switch approval.CodeOf(err) {
	case "":
		return http.StatusInternalServerError
	case approval.CodeMalformed:
		return http.StatusBadRequest
	case approval.CodeNotFound:
		return http.StatusNotFound
	case approval.CodeAlreadyResolved, approval.CodeUnseenPayload, approval.CodeIDConflict, approval.CodeDecisionNotOffered:
		return http.StatusConflict
	case approval.CodeInvalidRequest:
		return http.StatusUnprocessableEntity
	case approval.CodeRateLimited:
		return http.StatusTooManyRequests
	case approval.CodeUnavailable, approval.CodeApprovalsDisabled:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// inWords is an error in words for people.
func inWords(err error) string {
	if approval.CodeOf(err) == "" {
		return "The desk cannot answer right now; its log says why."
	}
	no := &approval.Error{}
	_ = errors.As(err, &no)
	return no.Message
}

// notThere answers with a page that gives the reason.
func (p page) notThere(out http.ResponseWriter, r *http.Request, s signin.Session, err error) {
	if scriptStatus(err) == http.StatusInternalServerError {
		p.log.Error("could not show a page; the person was told to look at this log",
			"path", r.Pattern, "person", s.Person, "reason", err)
	}
	p.show(out, scriptStatus(err), alertPage(p.head(s, "Not there"), inWords(err)))
}
