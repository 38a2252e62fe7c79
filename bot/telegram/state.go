package telegram

import (
	"sync"
	"time"
)

// start watches over catching up with what waited while the desk was down. done
// is closed when that is over, or when there is no hope for it.
type start struct {
	done    chan struct{}
	drained chan struct{} // closed when everything that waited on Telegram is stored

	mu     sync.Mutex
	once   sync.Once
	dry    sync.Once
	giveUp *time.Timer
}

// patience is how long Telegram may be silent before catching up is given up.
const patience = 5 * time.Second

func newStart() *start {
	return &start{done: make(chan struct{}), drained: make(chan struct{})}
}

// begin starts to watch; end stops it and leaves done as it is.
func (s *start) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp = time.AfterFunc(patience, s.finish)
}

func (s *start) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveUp.Stop()
}

// alive says that there is progress, and gives it another while.
func (s *start) alive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if open(s.done) && s.giveUp != nil {
		s.giveUp.Reset(patience)
	}
}

func (s *start) dryUp()  { s.dry.Do(func() { close(s.drained) }) }
func (s *start) finish() { s.once.Do(func() { close(s.done) }) }

// waiting reports whether updates that come now may have waited on Telegram
// while the desk was down. An instance that only takes in a webhook's updates
// never begins.
func (s *start) waiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.giveUp != nil && open(s.drained) && open(s.done)
}

func open(c <-chan struct{}) bool {
	select {
	case <-c:
		return false
	default:
		return true
	}
}

// finishTime is how long what has begun may go on after the end of Run's context.
const finishTime = 5 * time.Second
