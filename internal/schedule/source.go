package schedule

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// How often a calendar is read, and for how long its last good copy counts.
const (
	RefreshEvery = 15 * time.Minute
	StaleAfter   = 24 * time.Hour
)

// Fetch gives the text of a calendar, at most [MaxCalendar] bytes of it and one more.
// Its error is shown to people: it holds no address and no secret.
type Fetch func(ctx context.Context, source string) ([]byte, error)

// Calendar tells who is on duty by an iCalendar from another server. If reading it
// fails, its last good copy is used for [StaleAfter]. After that, and before the first
// reading, it is not known who is on duty. Safe for concurrent use.
type Calendar struct {
	source string
	emails map[string]string // to names
	zone   *time.Location

	mu     sync.Mutex
	shifts []Shift
	read   time.Time // of the good copy
	tried  time.Time
	failed string // why the last try failed
}

// NewCalendar makes a Calendar that was not read yet. The emails, in lower case, name
// those who can be on duty.
func NewCalendar(source string, emails map[string]string, zone *time.Location) *Calendar {
	return &Calendar{source: source, emails: maps.Clone(emails), zone: zone}
}

// Due reports whether it is time to read the calendar.
func (c *Calendar) Due(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tried.IsZero() || !now.Before(c.tried.Add(RefreshEvery))
}

// Refresh reads the calendar. If the new copy cannot be read, the last good one stays;
// the error gives the reason.
func (c *Calendar) Refresh(ctx context.Context, now time.Time, fetch Fetch) error {
	text, err := fetch(ctx, c.source)
	var shifts []Shift
	if err == nil {
		shifts, err = ReadCalendar(text, c.emails, c.zone, now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tried = now
	if err != nil {
		c.failed = err.Error()
		return fmt.Errorf("the calendar cannot be read: %w", err)
	}
	c.shifts, c.read, c.failed = merged(shifts), now, ""
	return nil
}

// Copy is what was read of a calendar, and when: small enough to be kept.
type Copy struct {
	Read   time.Time `json:"read"`
	Shifts []Shift   `json:"shifts"`
}

// Key names what a copy is of: another source, zone or people make another one. The
// source cannot be told from it.
func (c *Calendar) Key() string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q", c.source, c.zone)
	for _, address := range slices.Sorted(maps.Keys(c.emails)) {
		fmt.Fprintf(sum, " %q %q", address, c.emails[address])
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Copy gives the last good copy, if there is one.
func (c *Calendar) Copy() (Copy, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Copy{c.read, slices.Clone(c.shifts)}, !c.read.IsZero()
}

// Restore uses a copy of this calendar as the last good one, if the Calendar has no
// newer one. The calendar is still due to be read.
func (c *Calendar) Restore(from Copy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if from.Read.After(c.read) {
		c.shifts, c.read = merged(from.Shifts), from.Read
	}
}

// Failing reports whether the last try to read the calendar failed.
func (c *Calendar) Failing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed != ""
}

// duty is who is on duty by the calendar.
func (c *Calendar) duty(now time.Time) OnDuty {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.read.IsZero() && c.failed == "":
		return OnDuty{Unknown: "the calendar was not read yet"}
	case c.read.IsZero():
		return OnDuty{Unknown: "the calendar cannot be read: " + c.failed}
	case !now.Before(c.read.Add(StaleAfter)):
		return OnDuty{Unknown: "the calendar was not read since " + Moment(c.read, now, c.zone) + ": " + c.failed}
	}
	people := on(c.shifts, now)
	if len(people) == 0 {
		return OnDuty{Unknown: "the calendar names no person of the roster for now"}
	}
	d := OnDuty{People: people}
	for _, t := range changes(c.shifts, now) {
		if next := on(c.shifts, t); !slices.Equal(next, people) {
			d.Until, d.Next = t, next
			break
		}
	}
	return d
}

// merged joins those shifts of one person that meet: the next change of who is on duty is
// then the first shift that begins or ends.
func merged(shifts []Shift) (out []Shift) {
	ordered := slices.SortedFunc(slices.Values(shifts), func(a, b Shift) int {
		return cmp.Or(strings.Compare(a.Who, b.Who), a.From.Compare(b.From))
	})
	for _, s := range ordered {
		last := len(out) - 1
		if last < 0 || out[last].Who != s.Who || out[last].Until.Before(s.From) {
			out = append(out, s)
		} else if s.Until.After(out[last].Until) {
			out[last].Until = s.Until
		}
	}
	return out
}

// on are those who have a shift at that moment, by name, each once.
func on(shifts []Shift, t time.Time) (who []string) {
	for _, s := range shifts {
		if !s.From.After(t) && s.Until.After(t) {
			who = append(who, s.Who)
		}
	}
	slices.Sort(who)
	return slices.Compact(who)
}

// changes are the moments after now at which a shift begins or ends, in order.
func changes(shifts []Shift, now time.Time) (out []time.Time) {
	for _, s := range shifts {
		for _, t := range []time.Time{s.From, s.Until} {
			if t.After(now) {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, time.Time.Compare)
	return slices.CompactFunc(out, time.Time.Equal)
}
