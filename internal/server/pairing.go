package server

import (
	"context"
	"net/http"

	"approvalbot/api"
	"approvalbot/core"
)

// noPairings are those of a desk without a configuration.
type noPairings struct{}

func (noPairings) Start(context.Context, core.Caller) (api.PairingCode, error) {
	return api.PairingCode{}, errNotHere
}

func (noPairings) Get(context.Context, string) (api.Pairing, error) {
	return api.Pairing{}, errNotHere
}

func (noPairings) Accept(context.Context, core.Caller, string) (api.Reloaded, error) {
	return api.Reloaded{}, errNotHere
}

func (s *Server) startPairing(c *call, _ api.Empty) (answer, error) {
	p, err := s.cfg.Pairings.Start(c.ctx, c.who)
	return answer{status: http.StatusCreated, body: p}, err
}

func (s *Server) pairing(c *call) (answer, error) {
	p, err := s.cfg.Pairings.Get(c.ctx, c.id)
	return answer{status: http.StatusOK, body: p}, err
}

func (s *Server) acceptPairing(c *call, _ api.Empty) (answer, error) {
	r, err := s.cfg.Pairings.Accept(c.ctx, c.who, c.id)
	return answer{status: http.StatusOK, body: r}, err
}
