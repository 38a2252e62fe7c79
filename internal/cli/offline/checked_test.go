package offline

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The line of a check has one length, and says when the records are done.
func TestBarText(t *testing.T) {
	t.Parallel()
	for _, seq := range []int64{0, 1000, 1_000_000, 1_999_500, 2_000_000} {
		require.Len(t, barText(seq, 2_000_000), len(barText(0, 2_000_000)))
	}
	require.Contains(t, barText(1_000_000, 2_000_000), "[##########          ] record 1000000 of 2000000")
	require.Contains(t, barText(2_000_000, 2_000_000), "[####################] approvals and rows")
}
