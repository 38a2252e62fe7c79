package schedule

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"approvalbot/internal/lazy"
)

// Rota is how people take turns: in Order, each until the next Handoff.
type Rota struct {
	Among     []string // who can be on duty at all
	Order     []string // each of Among; one may come several times
	Timezone  string
	Handoff   string // "Mon 09:00" each week, "09:00" each day
	Overrides []Override
}

// Override puts one person in another's place, from one moment to another (RFC
// 3339).
type Override struct{ Who, From, To string }

// Rotation tells who has the turn at a moment. Turns are counted from the handoff in
// the week of Monday, 1 January 2024, when the first of the order begins. If clocks
// skip a handoff, it happens at the moment of the skip; if they show it twice, it
// happens the first time.
type Rotation struct {
	order     []string
	zone      *time.Location
	period    int // in days
	handoff   int // in minutes from the period's first midnight
	overrides []turn
}

// turn is one person's time on duty. Its end is exclusive; zero if no one else
// follows.
type turn struct {
	who         string
	from, until time.Time
}

const (
	maxAmong     = 100
	maxOverrides = 200
)

// firstWeek is the Monday from which turns are counted.
var firstWeek = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

var (
	weeklyHandoff = lazy.Pattern(`^([A-Z][a-z]{2}) ` + clockTime + `$`)
	dailyHandoff  = lazy.Pattern(`^` + clockTime + `$`)
)

// Fault is what is wrong with a part of a configuration: Key is the part's path, such
// as rotation[1], and empty for the whole.
type Fault struct{ Key, Text string }

func (f *Fault) Error() string {
	if f.Key == "" {
		return f.Text
	}
	return f.Key + " " + f.Text
}

func fault(key, format string, args ...any) error { return &Fault{key, fmt.Sprintf(format, args...)} }

// NewRotation makes a Rotation. The error is a [*Fault]: the order is empty, a person
// is not in Among, or overrides overlap or end before they begin.
func NewRotation(of Rota) (*Rotation, error) {
	zone, err := Zone(of.Timezone)
	if err != nil {
		return nil, fault("timezone", "%s", err)
	}
	r := &Rotation{order: slices.Clone(of.Order), zone: zone}
	switch {
	case len(of.Among) == 0:
		return nil, fault("among", "is empty; name the people who can be on duty")
	case len(of.Order) == 0:
		return nil, fault("rotation", "is empty, so no person would ever be on duty; name the people in their order")
	case len(of.Among) > maxAmong || len(of.Order) > maxAmong || len(of.Overrides) > maxOverrides:
		return nil, fault("", "has more than %d people or %d overrides", maxAmong, maxOverrides)
	}
	for i, who := range of.Order {
		if !slices.Contains(of.Among, who) {
			return nil, fault(fmt.Sprintf("rotation[%d]", i), "is not one of among")
		}
	}
	var ok bool
	if r.period, r.handoff, ok = handoffOf(of.Handoff); !ok {
		return nil, fault("handoff", "must be a time of the week or day, such as Mon 09:00 or 09:00")
	}
	return r, r.override(of)
}

func handoffOf(text string) (period, minutes int, ok bool) {
	if m := weeklyHandoff.FindStringSubmatch(text); m != nil {
		minutes, ok = weekMinutes(m[1], m[2], m[3], false)
		return 7, minutes, ok
	}
	if m := dailyHandoff.FindStringSubmatch(text); m != nil {
		minutes, ok = minutesOf(m[1], m[2], false)
		return 1, minutes, ok
	}
	return 0, 0, false
}

// override reads who takes whose place, in order of time.
func (r *Rotation) override(of Rota) error {
	for i, o := range of.Overrides {
		key := fmt.Sprintf("overrides[%d]", i)
		from, errFrom := time.Parse(time.RFC3339, o.From)
		to, errTo := time.Parse(time.RFC3339, o.To)
		switch {
		case !slices.Contains(of.Among, o.Who):
			return fault(key+".who", "is not one of among")
		case errors.Join(errFrom, errTo) != nil:
			return fault(key, "%s", errOnce)
		case !from.Before(to):
			return fault(key, "ends before it begins, or when it begins")
		}
		for j, other := range r.overrides {
			if from.Before(other.until) && other.from.Before(to) {
				return fault(key, "overlaps overrides[%d]: two people would be on duty; let one end when the other begins", j)
			}
		}
		r.overrides = append(r.overrides, turn{o.Who, from, to})
	}
	slices.SortFunc(r.overrides, func(a, b turn) int { return a.from.Compare(b.from) })
	return nil
}

// at gives whose turn it is, as one stretch, however many of the order's it covers.
func (r *Rotation) at(t time.Time) turn {
	now := r.piece(t)
	for range (len(r.order) + 1) * (len(r.overrides) + 1) {
		if now.until.IsZero() {
			break
		}
		next := r.piece(now.until)
		if next.who != now.who {
			break
		}
		now.until = next.until
	}
	return now
}

// piece is the override that the moment is in, or what overrides leave of the order's
// turn.
func (r *Rotation) piece(t time.Time) turn {
	now := r.regular(t)
	for _, o := range r.overrides {
		switch {
		case o.until.After(t) && !o.from.After(t):
			return o
		case o.from.After(t) && (now.until.IsZero() || o.from.Before(now.until)):
			now.until = o.from
		}
	}
	return now
}

// regular is the order's turn without overrides.
func (r *Rotation) regular(t time.Time) turn {
	if len(slices.Compact(slices.Clone(r.order))) == 1 {
		return turn{who: r.order[0]}
	}
	days := int(dayOf(t, r.zone).Sub(firstWeek) / (24 * time.Hour))
	n := days/r.period + 1
	for r.begins(n).After(t) {
		n--
	}
	return turn{r.order[((n%len(r.order))+len(r.order))%len(r.order)], r.begins(n), r.begins(n + 1)}
}

// begins is when the nth turn begins.
func (r *Rotation) begins(n int) time.Time {
	return wall(firstWeek.AddDate(0, 0, n*r.period), r.handoff, r.zone, false)
}

// duty is who is on duty by the rotation.
func (r *Rotation) duty(t time.Time) OnDuty {
	now := r.at(t)
	out := OnDuty{People: []string{now.who}, Until: now.until}
	if !now.until.IsZero() {
		out.Next = []string{r.at(now.until).who}
	}
	return out
}
