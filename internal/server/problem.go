package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

// Codes that only HTTP knows.
const (
	codeMethodNotAllowed approval.Code = "method_not_allowed"
	codeUpgradeRequired  approval.Code = "upgrade_required"
)

// ErrUpgrade refuses a request to the gateway without a WebSocket.
var ErrUpgrade = approval.Refuse(codeUpgradeRequired, "This is the gateway: connect with a WebSocket, version 13, "+
	"over HTTP/1.1.")

// statusOf is the one table from refusals to HTTP.
var statusOf = sync.OnceValue(func() map[approval.Code]int {
	return map[approval.Code]int{
		approval.CodeMalformed:           http.StatusBadRequest,
		approval.CodeUnauthorized:        http.StatusUnauthorized,
		approval.CodeForbidden:           http.StatusForbidden,
		approval.CodeNotAnApprover:       http.StatusForbidden,
		approval.CodeSelfApproval:        http.StatusForbidden,
		approval.CodeStepUpRequired:      http.StatusForbidden,
		approval.CodeOriginNotAllowed:    http.StatusForbidden,
		approval.CodeNotFound:            http.StatusNotFound,
		codeMethodNotAllowed:             http.StatusMethodNotAllowed,
		approval.CodeAlreadyResolved:     http.StatusConflict,
		approval.CodeNotClaimable:        http.StatusConflict,
		approval.CodeIDConflict:          http.StatusConflict,
		approval.CodeAmbiguousID:         http.StatusConflict,
		approval.CodeFingerprintMismatch: http.StatusConflict,
		approval.CodeAlreadyUsed:         http.StatusConflict,
		approval.CodeDecisionNotOffered:  http.StatusConflict,
		approval.CodeUnseenPayload:       http.StatusConflict,
		approval.CodeRetryDataGone:       http.StatusGone,
		approval.CodePayloadTooLarge:     http.StatusRequestEntityTooLarge,
		approval.CodeInvalidRequest:      http.StatusUnprocessableEntity,
		codeUpgradeRequired:              http.StatusUpgradeRequired,
		approval.CodeRateLimited:         http.StatusTooManyRequests,
		approval.CodeUnavailable:         http.StatusServiceUnavailable,
		approval.CodeApprovalsDisabled:   http.StatusServiceUnavailable,
	}
})

// refuse answers with a problem and gives its status. An error that is not a
// refusal is a fault of the desk: logged with its cause, answered as
// unavailable.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) int {
	var e *approval.Error
	if !errors.As(err, &e) || statusOf()[e.Code] == 0 {
		if !errors.Is(err, context.Canceled) || r.Context().Err() == nil {
			s.log.Error("could not answer a request; the caller was told to try again",
				"method", r.Method, "path", r.URL.Path, "reason", err)
		}
		e = approval.Refuse(approval.CodeUnavailable, "The approval desk cannot answer right now; try again in a moment.")
	}
	p := problem(e)
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Bearer realm="approvalbot"`)
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	}
	s.write(w, r, p.Status, problemJSON, p)
	return p.Status
}

// Refuse answers with a problem, for what is mounted beside the routes.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, err error) { s.refuse(w, r, err) }

func problem(e *approval.Error) api.Problem {
	title := strings.ReplaceAll(string(e.Code), "_", " ")
	p := api.Problem{
		Type: "urn:approvalbot:problem:" + string(e.Code), Title: strings.ToUpper(title[:1]) + title[1:],
		Status: statusOf()[e.Code], Detail: e.Message, Code: string(e.Code), Why: e.Why, URL: e.URL,
	}
	for _, f := range e.Fields {
		p.Fields = append(p.Fields, api.Field{Field: f.Field, Problem: f.Problem})
	}
	return p
}

// nothingHere answers paths that no route has: to browsers as a page, if there are pages.
func (s *Server) nothingHere(w http.ResponseWriter, r *http.Request) {
	read := r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/")
	if s.cfg.NoSuchPage != nil && read && strings.Contains(r.Header.Get("Accept"), "text/html") {
		s.cfg.NoSuchPage.ServeHTTP(w, r)
		return
	}
	s.refuse(w, r, approval.Refuse(approval.CodeNotFound, "This path does not exist; GET /openapi.json describes those that do."))
}
