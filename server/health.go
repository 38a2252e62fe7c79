package server

import (
	"net/http"

	"approvalbot/api"
)

// health says that the process lives.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// ready says whether the desk can take requests, and how each chat is.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	state := api.Ready{Ready: true, Store: "ok", Policy: "ok"}
	if s.cfg.Ready != nil {
		state = s.cfg.Ready(r.Context())
	}
	status := http.StatusOK
	if !state.Ready || s.closing.Err() != nil {
		state.Ready, status = false, http.StatusServiceUnavailable
	}
	s.write(w, r, status, plainJSON, state)
}

// describe gives the OpenAPI description.
func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	doc, err := s.spec()
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(doc)
}
