package daemon

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// heapFloor is the size in bytes to which the heap grows before it is collected, also if little of it is in use. A desk
// has some 6 MB in use, and at GOGC=100 it would collect for each further 6: a fifth of what a busy one computes.
const heapFloor = 32 << 20

// keepHeapFloor sets the collector's percentage after each collection, so that the next one comes at heapFloor, or at
// the usual percentage if more than half of that is in use. It lasts as long as the process. GOGC in the environment
// is the operator's word and goes before it.
func keepHeapFloor(gogc string) {
	if gogc == "" {
		floorKept.Do(followHeap)
	}
}

var floorKept sync.Once // the percentage is the process's, however many desks are in it

func followHeap() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	const usual = 100
	set := usual
	var collected func(*mark)
	collected = func(*mark) {
		metrics.Read(live)
		if want := percentOf(live[0].Value.Uint64(), usual); want > set+set/10 || want < set-set/10 {
			set = want
			debug.SetGCPercent(want)
		}
		runtime.SetFinalizer(new(mark), collected) // runs after the next one
	}
	collected(nil)
}

// mark is an object of which only the end is of interest. It has a pointer, so that it shares its memory with no other.
type mark struct{ _ *int }

// percentOf gives the percentage by which the heap may grow from what is in use, at least the usual one.
func percentOf(live uint64, usual int) int {
	if live == 0 {
		return usual
	}
	return max(usual, min(int(heapFloor*100/live)-100, 800))
}
