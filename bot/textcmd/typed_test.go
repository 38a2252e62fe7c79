package textcmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestUntilSaysTheDateWhereItIsNotToday(t *testing.T) {
	now := time.Date(2026, 11, 22, 6, 31, 0, 0, time.UTC)
	for want, after := range map[string]time.Duration{
		"06:46 UTC": 15 * time.Minute, "23:59 UTC": 17*time.Hour + 28*time.Minute, "23 Nov 06:25 UTC": 24*time.Hour - 6*time.Minute,
		"22 Nov 06:31 UTC": 365 * 24 * time.Hour,
	} {
		require.Equal(t, want, until(now.Add(after), now))
	}
}
