package server

import (
	"net/http"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

// errNoPages is the refusal of a desk without pages.
var errNoPages = approval.Refuse(approval.CodeForbidden,
	"This desk has no pages to sign in to: its operator switches them on with server.web.enabled.")

func (s *Server) loginLink(c *call, in api.LoginRequest) (answer, error) {
	if s.cfg.LinkTo == nil {
		return answer{}, errNoPages
	}
	l, secret, err := s.cfg.SignIn.MakeLink(c.ctx, c.who, in.Person, in.Enrol)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusCreated, body: api.LoginLink{URL: s.cfg.LinkTo(secret), ExpiresAtMs: l.EndsMs}}, nil
}
