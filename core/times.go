package core

import "math/bits"

// Spread is how times are spread. Each but the count is that of a class of times, see [times]: up to 1.6 per cent
// more than the time itself, exact below 128 ms.
type Spread struct {
	Count    int
	MedianMs int64 // 0 if the count is 0
	P90Ms    int64 // nine of ten took no longer
	P95Ms    int64 // nineteen of twenty took no longer
}

// times is how many times there are of each class: below 128 ms each millisecond is one, above that
// a power of two has 64. So times of any number of approvals are added up in little room.
type times []int

// fine is how many classes a power of two has.
const fine = 64

// classOf is the class of a time in milliseconds, which is 0 if two clocks differ.
func classOf(ms int64) int {
	ms = max(ms, 0)
	if ms < 2*fine {
		return int(ms)
	}
	shift := bits.Len64(uint64(ms)) - bits.Len(fine)
	return shift*fine + int(ms>>shift)
}

// longest is the longest time of a class.
func longest(class int) int64 {
	if class < 2*fine {
		return int64(class)
	}
	shift := class/fine - 1
	return int64(class-shift*fine+1)<<shift - 1
}

func (t *times) add(ms int64) { t.addClass(classOf(ms), 1) }

func (t *times) addClass(class, n int) {
	if more := class + 1 - len(*t); more > 0 {
		*t = append(*t, make([]int, more)...)
	}
	(*t)[class] += n
}

func (t times) count() (n int) {
	for _, x := range t {
		n += x
	}
	return n
}

func (t times) spread() Spread {
	n := t.count()
	return Spread{Count: n, MedianMs: t.quantile(n, 50), P90Ms: t.quantile(n, 90), P95Ms: t.quantile(n, 95)}
}

// quantile is the longest time of the first class that so many of a hundred of all n times do not
// exceed; 0 if n is 0.
func (t times) quantile(n, percent int) int64 {
	rank := max(1, (n*percent+99)/100)
	for class, x := range t {
		if rank -= x; rank <= 0 {
			return longest(class)
		}
	}
	return 0
}
