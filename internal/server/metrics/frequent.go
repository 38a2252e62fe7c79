package metrics

import (
	"sync"

	"approvalbot/internal/lazy"
)

const (
	frequentAfter = 20  // calls since the start, of which one more has the name in its label
	maxFrequent   = 50  // names that get one
	maxCounted    = 500 // names that are counted at a time
)

// plainName is what a tool's name in a label may be: no secret and no sentence is one.
var plainName = lazy.Pattern(`^[A-Za-z][A-Za-z0-9_.:/-]{0,47}$`)

// frequent finds the names of tools that are called often although no configuration names them.
// Names that callers send become at most maxFrequent labels. Safe for concurrent use.
type frequent struct {
	mu     sync.Mutex
	often  map[string]bool
	counts map[string]int
}

// asked counts one call of a tool and gives its label.
func (f *frequent) asked(name string, configured bool) string {
	if configured {
		return name
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.often[name]:
		return name
	case len(f.often) == maxFrequent || !plainName.MatchString(name):
		return "other"
	case f.counts == nil || len(f.counts) == maxCounted:
		f.counts = map[string]int{} // a flood of names costs rare ones their count
	}
	if f.counts[name]++; f.counts[name] > frequentAfter {
		if f.often == nil {
			f.often = map[string]bool{}
		}
		f.often[name] = true
		delete(f.counts, name)
		return name
	}
	return "other"
}

// frequent reports whether the name has a label.
func (f *frequent) frequent(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.often[name]
}
