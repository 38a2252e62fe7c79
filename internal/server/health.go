package server

import (
	"net/http"

	"approvalbot/api"
	"approvalbot/internal/server/auth"
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

// scrape answers with the metrics. Anyone may read them, but the names of people need an
// operator's token: a web page with a rebound name could read them, too. A request with any
// other token is answered as if it had no token, so that alerts go on while a scraper's
// token is wrong.
func (s *Server) scrape(w http.ResponseWriter, r *http.Request) {
	who, _, err := s.Tokens.Authenticate(r.Header.Values("Authorization"))
	s.metrics.Serve(w, r, err == nil && (who.MayDecide || who.MayAudit || who.MayAdmin))
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

// tokenInfo says what the caller's own token is. Its secret is in no answer.
func (s *Server) tokenInfo(c *call) (answer, error) {
	info := api.TokenInfo{Name: c.who.Token, AgentID: c.who.AgentID, Person: c.who.Person, Scopes: auth.ScopesOf(c.who), MayConfine: c.who.MayConfine}
	return answer{status: http.StatusOK, body: info}, nil
}
