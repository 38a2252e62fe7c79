package core

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
)

func TestKeyCode(t *testing.T) {
	require.Equal(t, "000000", KeyCode("00000003-0000-4000-8000-000000000000"))
	require.Equal(t, "000001", KeyCode("00000004-0000-4000-8000-000000000000"))
	require.Equal(t, "ZZZZZZ", KeyCode("ffffffff-ffff-4fff-bfff-ffffffffffff"))
	for _, no := range []string{"", "mine", "deploy-1-and-more"} {
		require.Empty(t, KeyCode(no))
	}
	for _, no := range []string{"", "K7QX2", "K7QX2MM", "NOBODY", "k7qx2m"} {
		first, end := CodeKeys(no)
		require.Empty(t, first+end)
	}
	rapid.Check(t, func(t *rapid.T) {
		a := approval.Approval{Ended: approval.Ended{Status: rapid.SampledFrom([]approval.Status{approval.Pending, approval.Approved}).Draw(t, "status")}}
		key, other := newKey(a), newKey(a)
		first, end := CodeKeys(KeyCode(key))
		require.True(t, first <= key && key < end, "%s is not from %s to %s", key, first, end)
		require.Equal(t, KeyCode(other) == KeyCode(key), first <= other && other < end)
		last := end[:8] + key[8:]
		require.Equal(t, KeyCode(key), KeyCode(last))
	})
}

func TestCodesOfSettledCallsAreNeighbours(t *testing.T) {
	code := func(a approval.Approval) uint32 {
		bits, err := strconv.ParseUint(newKey(a)[:8], 16, 32)
		require.NoError(t, err)
		return uint32(bits >> 2)
	}
	const all, n = 1 << 30, 1000
	before, first := code(approval.Approval{Ended: approval.Ended{Status: approval.Approved}}), code(approval.Approval{Ended: approval.Ended{Status: approval.Pending}})
	near := 0
	for range n {
		after := code(approval.Approval{Ended: approval.Ended{Status: approval.Denied}})
		step := (after - before) % all
		require.True(t, 0 < step && step <= 2*maxStep, "%d after %d", after, before) // twice: REJECT is left out
		before = after
		if pending := code(approval.Approval{Ended: approval.Ended{Status: approval.Pending}}); (pending-first)%all < n*maxStep {
			near++
		}
	}
	require.Less(t, near, 100, "codes of pending approvals are not random") // 4 of 1000 are to be expected
}
