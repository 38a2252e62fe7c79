package people

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

// Seats are filled at best as the rule allows, and never by two choices of one seat.
func TestFill(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var needs []approval.Need
		for range rapid.IntRange(0, 3).Draw(t, "needs") {
			needs = append(needs, approval.Need{Min: rapid.IntRange(0, 3).Draw(t, "min")})
		}
		seats := make([]seat, rapid.IntRange(0, 4).Draw(t, "seats"))
		for i := range seats {
			seats[i].choices = rapid.SliceOfN(rapid.SliceOfN(rapid.Bool(), len(needs), len(needs)), 0, 3).Draw(t, "choices")
		}
		best := 0
		var try func(i int, met []int)
		try = func(i int, met []int) {
			if i == len(seats) {
				n := 0
				for k, need := range needs {
					n += min(need.Min, met[k])
				}
				best = max(best, n)
				return
			}
			try(i+1, met)
			for _, choice := range seats[i].choices {
				more := slices.Clone(met)
				for k, meets := range choice {
					if meets {
						more[k]++
					}
				}
				try(i+1, more)
			}
		}
		try(0, make([]int, len(needs)))
		require.Equal(t, best, sum(fill(needs, seats)))
	})
}
