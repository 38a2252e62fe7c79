package routing

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// A notice is tried again as long as it may get through, and no longer than a day.
func TestNoticeIsTriedAgain(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_000_000_000)
	for name, c := range map[string]struct {
		x    core.Notice
		err  error
		want time.Duration
	}{
		"posted":           {core.Notice{}, nil, 0},
		"no answer":        {core.Notice{}, errors.New("timeout"), time.Second},
		"no answer again":  {core.Notice{Attempts: 3}, errors.New("timeout"), 8 * time.Second},
		"no answer for ay": {core.Notice{Attempts: 400}, errors.New("timeout"), time.Minute},
		"too soon":         {core.Notice{}, &core.DeliveryError{RetryAfter: 7 * time.Second}, 7 * time.Second},
		"blocked":          {core.Notice{}, &core.DeliveryError{Gone: true}, 0},
	} {
		c.x.CreatedMs = now.UnixMilli() - 1000
		due := (&Notices{}).after(c.x, c.err, now)
		if c.want == 0 {
			require.Zero(t, due, name)
		} else {
			require.Equal(t, now.Add(c.want).UnixMilli(), due, name)
		}
		c.x.CreatedMs = now.Add(-25 * time.Hour).UnixMilli()
		require.Zero(t, (&Notices{}).after(c.x, c.err, now), name)
	}
}
