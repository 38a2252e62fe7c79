package core

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Level says how bad a diagnostic is.
type Level string

// The levels.
const (
	LevelOK   Level = "ok"
	LevelWarn Level = "warn" // approvals work, and something else does not
	LevelFail Level = "FAIL" // approvals would not work there
)

// Diagnostic is one thing that was looked at in the desk's surroundings, and how it
// is. It holds no secret, and texts from outside only on one line.
type Diagnostic struct {
	Level Level  `json:"level"`
	What  string `json:"what"`           // what was looked at: "telegram", "telegram:-100123:7", "telegram user 111"
	Text  string `json:"text"`           // how it is, and why
	Fix   string `json:"mend,omitempty"` // the way out, if there is something to do
}

// OK is a diagnostic that says all is well.
func OK(what, text string) Diagnostic { return Diagnostic{Level: LevelOK, What: what, Text: text} }

// Warn is a diagnostic that says that something other than approvals suffers.
func Warn(what, text, fix string) Diagnostic {
	return Diagnostic{Level: LevelWarn, What: what, Text: text, Fix: fix}
}

// Fail is a diagnostic that says that approvals would not work there.
func Fail(what, text, fix string) Diagnostic {
	return Diagnostic{Level: LevelFail, What: what, Text: text, Fix: fix}
}

// maxClockSkew is how far two clocks may differ: expiry times on cards are told to the
// minute, and signatures of callbacks and webhooks live for minutes.
const maxClockSkew = 5 * time.Second

// ClockDiagnostic compares this machine's clock with the Date that a server put on its
// answer to a request that was made between asked and answered. It gives no diagnostic if
// the server gave no date.
func ClockDiagnostic(server string, date, asked, answered time.Time) []Diagnostic {
	if date.IsZero() {
		return nil
	}
	// The server's clock was in that second, at some moment between the two.
	ahead, behind := asked.Sub(date.Add(time.Second)), date.Sub(answered)
	off := max(ahead, behind, 0).Round(time.Second)
	switch {
	case off <= maxClockSkew:
		return []Diagnostic{OK("clock", "agrees with "+server+"'s")}
	case ahead > behind:
		return clockOff(fmt.Sprintf("is %s ahead of %s's, so requests expire early", off, server))
	}
	return clockOff(fmt.Sprintf("is %s behind %s's, so requests expire late", off, server))
}

func clockOff(text string) []Diagnostic {
	return []Diagnostic{Warn("clock", text, "let NTP set this machine's clock")}
}

// Gather has a look at several things, at most atOnce at a time, and gives what
// was found in the order of the looks.
func Gather(atOnce int, looks ...func() []Diagnostic) []Diagnostic {
	found := make([][]Diagnostic, len(looks))
	turns := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, look := range looks {
		all.Go(func() {
			turns <- struct{}{}
			found[i] = look()
			<-turns
		})
	}
	all.Wait()
	return slices.Concat(found...)
}
