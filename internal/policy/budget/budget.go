// Package budget bounds the work of one judgement. Each loop of a reader takes a step of
// it, so that a reader that neither consumes nor refuses its text ends all the same, and
// so does one whose caller has gone away.
package budget

// Steps is how many steps a judgement may take. The costliest call that a test knows, a
// line of 16 KiB with a command every two bytes, takes a sixth of it.
const Steps = 1 << 20

// between is how many steps are taken between two looks whether the caller is still there.
const between = 1 << 10

// Spent is what [Budget.Step] panics with. Only [Budget.Within] catches it.
type Spent struct{}

// Budget counts the steps of one judgement. A nil Budget has no bound: it is for readings
// outside of a judgement. It is not safe for concurrent use.
type Budget struct {
	left  int // until the next look
	looks int // that are left
	gone  <-chan struct{}
}

// New is the budget of a judgement. When gone is closed, the judgement ends.
func New(gone <-chan struct{}) Budget { return Budget{looks: Steps / between, gone: gone} }

// Again is a budget of as many steps, which ends when this one's caller goes away.
func (b *Budget) Again() Budget { return New(b.gone) }

// Step takes one step. It panics with Spent if no step is left or the caller has gone.
func (b *Budget) Step() {
	if b == nil {
		return
	}
	if b.left--; b.left < 0 {
		b.look()
	}
}

func (b *Budget) look() {
	select {
	case <-b.gone:
		b.looks = 0
	default:
	}
	if b.looks--; b.looks < 0 {
		panic(Spent{})
	}
	b.left = between - 1 // this one is taken
}

// Within runs read and reports whether the budget was enough for it. What read had set
// before it was cut short stays set.
func (b *Budget) Within(read func()) (enough bool) {
	defer func() {
		if p := recover(); p != nil {
			if _, spent := p.(Spent); !spent {
				panic(p)
			}
		}
	}()
	read()
	return true
}

// Taken is how many steps were taken so far.
func (b *Budget) Taken() int { return Steps - max(b.looks, 0)*between - max(b.left, 0) }
