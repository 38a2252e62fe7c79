package server

import (
	"net/http"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/server/view"
)

func (s *Server) setAway(c *call, in api.AwayRequest) (answer, error) {
	left, err := s.gate.Absences().SetAway(c.ctx, c.who, core.Leave{Person: c.id, To: in.To, UntilMs: in.UntilMs})
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: api.Away{
		Absence: view.AbsenceOf(left.Absence), Notes: view.Names(left.Notes),
	}}, nil
}

func (s *Server) setBack(c *call) (answer, error) {
	was, err := s.gate.Absences().SetBack(c.ctx, c.who, c.id)
	return answer{status: http.StatusOK, body: api.Back{Person: c.id, Ended: was}}, err
}
