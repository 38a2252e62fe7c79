package server

import (
	"net/http"
	"strconv"
	"time"

	"approvalbot/api"
	"approvalbot/internal/server/view"
)

// statsDefault is how far back statistics go if the request does not say.
const statsDefault = 7 * 24 * time.Hour

// stats counts approvals. One count runs at a time: it takes a processor for as long as
// there is to count.
func (s *Server) stats(c *call) (answer, error) {
	select {
	case s.counting <- struct{}{}:
		defer func() { <-s.counting }()
	case <-c.ctx.Done():
		return answer{}, c.ctx.Err()
	}
	since := time.Now().Add(-statsDefault).UnixMilli()
	if text := c.query.text("sinceMs"); text != "" {
		since, _ = strconv.ParseInt(text, 10, 64)
	}
	n, err := s.gate.Stats(c.ctx, c.who, since)
	return answer{status: http.StatusOK, body: view.StatsOf(n)}, err
}

func (s *Server) rebuildStats(c *call, _ api.Empty) (answer, error) {
	return answer{status: http.StatusOK, body: api.Empty{}}, s.gate.Upkeep().RecountStats(c.ctx)
}

func checkTime(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err != nil || n < 0 {
		return "must be a time in Unix milliseconds"
	}
	return ""
}
