package api

import (
	"testing"
	"time"
)

// An answer is waited for half a minute longer than the desk was asked to wait, and as long as it may work on it.
func TestPatience(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		call call
		want time.Duration
	}{
		{call{}, 30 * time.Second},
		{call{wait: 20 * time.Second}, 50 * time.Second},
		{call{wait: time.Hour}, 90 * time.Second},
		{call{wait: -time.Hour}, 30 * time.Second},
		{call{work: checkTime}, time.Hour},
	} {
		if got := tt.call.patience(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.call, got, tt.want)
		}
	}
}
