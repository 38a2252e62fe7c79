package server

import (
	"net/http"
	"time"

	"approvalbot/api"
)

func (s *Server) duty(*call) (answer, error) {
	duty, now := s.gate.Rules().Contact.Duty, time.Now()
	out := api.Duties{Rosters: []api.Duty{}}
	for _, r := range duty.Rosters() {
		on, _ := duty.WhoNow(r.Name, now)
		next := append([]string{}, on.Next...)
		d := api.Duty{Name: r.Name, Among: r.Among, OnDuty: on.People, Next: next, Timezone: r.Zone.String(), Unknown: on.Unknown}
		if !on.Until.IsZero() {
			d.UntilMs = on.Until.UnixMilli()
		}
		out.Rosters = append(out.Rosters, d)
	}
	return answer{status: http.StatusOK, body: out}, nil
}
