package server

import (
	"bytes"
	"io"
	"net/http"
	"time"

	"approvalbot/api"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/connection"
)

// Knows reports whether a request names a token of this desk.
func (s *Server) Knows(r *http.Request) bool {
	secret, err := auth.Bearer(r.Header.Values("Authorization"))
	if err != nil {
		return false
	}
	_, _, known := s.Tokens.Holder(auth.Hash(secret))
	return known
}

// Client gives a client of this desk in this process, with the token of a request that
// has come in whole: every request of it is admitted, limited and refused as if that
// request's sender had made it over the network. If the token is known, the answer to
// the request has no time limit from then on.
func (s *Server) Client(w http.ResponseWriter, r *http.Request) *api.Client {
	if s.Knows(r) {
		connection.Authenticated(w, r)
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // recorders of tests have no deadline
	}
	secret, _ := auth.Bearer(r.Header.Values("Authorization")) // without one, each of its requests is refused
	return &api.Client{Server: "http://desk.invalid", Token: secret, HTTP: &http.Client{Transport: ownHandler{s}}}
}

// Stopping is closed when waiting requests must end.
func (s *Server) Stopping() <-chan struct{} { return s.closing.Done() }

// ownHandler hands requests to the desk's own handler.
type ownHandler struct{ s *Server }

// RoundTrip implements http.RoundTripper.
func (o ownHandler) RoundTrip(r *http.Request) (*http.Response, error) {
	out := &recorded{header: http.Header{}}
	in := r.Clone(r.Context())
	in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "in process"
	if in.Body == nil {
		in.Body = http.NoBody
	}
	o.s.own().ServeHTTP(out, in)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: http.StatusText(out.status), StatusCode: max(out.status, http.StatusOK), Header: out.header, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&out.body), ContentLength: int64(out.body.Len()),
	}, nil
}

// recorded is an answer in memory.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recorded) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recorded) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *recorded) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
