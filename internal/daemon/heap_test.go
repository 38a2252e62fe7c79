package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeapFloor(t *testing.T) {
	for live, want := range map[uint64]int{0: 100, 1 << 20: 800, 8 << 20: 300, 16 << 20: 100, 1 << 30: 100} {
		require.Equal(t, want, percentOf(live, 100), live)
	}
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	keepHeapFloor("50")
	require.Equal(t, 100, percentNow(), "the operator has said how much")
	keepHeapFloor("")
	for range 1000 { // finalizers run beside it
		if percentNow() > 100 {
			return
		}
		runtime.GC()
	}
	t.Fatal("a small heap is collected as often as ever")
}

func percentNow() int {
	percent := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(percent)
	return int(percent[0].Value.Uint64())
}
