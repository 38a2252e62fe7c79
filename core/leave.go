package core

import (
	"fmt"
	"strings"
	"time"

	"approvalbot/internal/schedule"
)

// ReadLeave reads what a person says when they go away: how long or until when, in the zone
// that they live in, and who stands in for them: "until 18:00", "2h to bob". The words after
// the last "to" are a person's name.
func ReadLeave(text string, now time.Time, zone *time.Location) (until time.Time, to string, err error) {
	words := strings.Fields(text)
	for i := len(words) - 2; i >= 0; i-- {
		if strings.EqualFold(words[i], "to") {
			words, to = words[:i], strings.Join(words[i+1:], " ")
			break
		}
	}
	if len(words) > 0 && (strings.EqualFold(words[0], "until") || strings.EqualFold(words[0], "for")) {
		words = words[1:]
	}
	until, err = schedule.ParseUntil(words, now, zone)
	return until, to, err
}

// Text says what came of going away, to people who live in that zone.
func (l Left) Text(zone *time.Location) string {
	a := l.Absence
	at := schedule.Moment(time.UnixMilli(a.UntilMs), time.UnixMilli(a.SinceMs), zone)
	s := fmt.Sprintf("%s is away until %s", a.Person, at)
	if a.To != "" {
		s += "; the delegate is " + a.To
	}
	return strings.Join(append([]string{s + "."}, l.Notes...), " ")
}
