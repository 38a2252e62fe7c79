package server

import (
	"net/http"

	"approvalbot/api"
)

func (s *Server) callbacks(c *call) (answer, error) {
	if s.cfg.Callbacks == nil {
		return answer{}, errNotHere
	}
	list, err := s.cfg.Callbacks.Callbacks(c.ctx, pageMax)
	if err != nil {
		return answer{}, err
	}
	out := api.Callbacks{Items: []api.Callback{}}
	for _, d := range list {
		a, err := s.gate.ByKey(c.ctx, d.Key)
		if err != nil {
			return answer{}, err
		}
		out.Items = append(out.Items, api.Callback{ID: d.ID, Code: a.Code, Owner: a.Owner, State: string(d.State),
			Error: d.Error, CreatedAtMs: d.CreatedMs, NextAtMs: d.DueMs})
	}
	return answer{status: http.StatusOK, body: out}, nil
}

func (s *Server) retryCallback(c *call, _ api.Empty) (answer, error) {
	if s.cfg.Callbacks == nil {
		return answer{}, errNotHere
	}
	_, err := s.cfg.Callbacks.RetryCallback(c.ctx, c.id)
	if err == nil {
		s.cfg.CallbackDue()
	}
	return answer{status: http.StatusOK, body: api.Empty{}}, err
}
