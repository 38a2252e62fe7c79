package web

import (
	"time"

	"approvalbot/internal/card"
)

// stamp is a time as a page shows it: in words that a script keeps true, and exactly for who points at it.
type stamp struct {
	ISO   string // RFC 3339, in UTC; empty if there is no such time
	Exact string // in the zone of the page
	Text  string // as of when the page is made
	Kind  string // how a script writes it anew: "ago", "left", "clock"; see static/pages.js
}

const exactTime = "2 Jan 2006 15:04:05 MST"

func (v reader) stamp(ms int64, kind, text string) stamp {
	if ms == 0 {
		return stamp{}
	}
	then := time.UnixMilli(ms)
	return stamp{ISO: then.UTC().Format(time.RFC3339), Exact: then.In(v.zone).Format(exactTime), Text: text, Kind: kind}
}

// ago is a time that is over: "3 min ago".
func (v reader) ago(ms int64) stamp { return v.stamp(ms, "ago", agoText(v.now.UnixMilli()-ms)) }

// left is a time that comes: "8 min", from now.
func (v reader) left(ms int64) stamp { return v.stamp(ms, "left", card.SpanText(ms-v.now.UnixMilli())) }

// clock is a time of day, below a heading with its day.
func (v reader) clock(ms int64) stamp {
	return v.stamp(ms, "clock", time.UnixMilli(ms).In(v.zone).Format("15:04:05"))
}

// agoText words how long ago a time was, as static/pages.js does.
func agoText(ms int64) string {
	if ms < int64(time.Minute/time.Millisecond) {
		return "just now"
	}
	return card.SpanText(ms) + " ago"
}

// day is the heading of what happened on one day.
func (v reader) day(ms int64) string {
	then, now := time.UnixMilli(ms).In(v.zone), v.now.In(v.zone)
	switch then.Format(time.DateOnly) {
	case now.Format(time.DateOnly):
		return "Today"
	case now.AddDate(0, 0, -1).Format(time.DateOnly):
		return "Yesterday"
	}
	return then.Format("Monday 2 January 2006")
}
