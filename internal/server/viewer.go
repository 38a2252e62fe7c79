package server

import (
	"net/http"
	"time"

	"approvalbot/api"
	"approvalbot/core"
)

// viewerToken gives the caller a token that shows which approvals of one of its sessions
// are pending.
func (s *Server) viewerToken(c *call, in api.ViewerTokenRequest) (answer, error) {
	v, err := core.NewViewer(c.who, in.SessionKey, time.Now().UnixMilli())
	if err != nil {
		return answer{}, err
	}
	token, err := s.cfg.Viewers.Token(v)
	return answer{status: http.StatusCreated, body: api.ViewerToken{Token: token, ExpiresAtMs: v.EndsMs}}, err
}
