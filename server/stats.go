package server

import (
	"net/http"
	"strconv"
	"time"

	"approvalbot/core"
	"approvalbot/server/view"
)

// statsDefault is how far back is counted where the request does not say.
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
	var n view.Counter
	f := core.Filter{Limit: pageMax}
	for {
		page, err := s.gate.List(c.ctx, c.who, f)
		if err != nil {
			return answer{}, err
		}
		older := false
		for _, a := range page.Items {
			if older = a.CreatedAtMs < since; older {
				break
			}
			n.Add(a)
		}
		if f.Cursor = page.Next; older || f.Cursor == "" {
			return answer{status: http.StatusOK, body: n.Stats(since)}, nil
		}
	}
}

func checkTime(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err != nil || n < 0 {
		return "must be a time in Unix milliseconds"
	}
	return ""
}
