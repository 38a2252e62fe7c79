package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
	"approvalbot/internal/store"
)

// peopleFindings says who is on duty. For each class it says who could be asked right
// now, through which chat or token, and what would keep a request from reaching them.
func peopleFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	if !cfg.Approvals.Enabled() {
		return nil
	}
	duty, now := effective.Duty(cfg), time.Now()
	found := dutyFindings(ctx, duty, now)
	away, unread := absences(ctx, cfg)
	if unread != nil {
		found = append(found,
			core.Warn("who is away", "is not known: "+oneLine(unread), "repair what doctor reports of the store"))
	}
	classes, err := effective.Classes(cfg)
	if err != nil {
		return found // policyFindings have said so
	}
	for class, c := range classes {
		if c.Outcome != "ask" {
			continue
		}
		asked, err := effective.AskedNow(cfg, duty, approval.RiskClass(class), now, away...)
		if err != nil {
			return found
		}
		found = append(found, askedFinding(c, asked, now, effective.Zone(cfg)))
	}
	return found
}

// absences reads from the store who is away.
func absences(ctx context.Context, cfg config.Config) ([]people.Absence, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	all, err := store.LookAbsences(ctx, store.Options{URL: cfg.Store.URL})
	return all.All, err
}

// dutyFindings read the calendars as a desk would.
func dutyFindings(ctx context.Context, duty schedule.Duty, now time.Time) (found []core.Diagnostic) {
	failed := map[string]error{}
	for _, c := range duty.Calendars() {
		failed[c.Roster] = c.Refresh(ctx, now, daemon.FetchCalendar)
	}
	for _, r := range duty.Rosters() {
		on, _ := duty.WhoNow(r.Name, now)
		what, text := "on duty "+r.Name, on.String(now, r.Zone)
		switch {
		case failed[r.Name] != nil:
			found = append(found, core.Warn(what, text, "correct the calendar; a running desk uses its last good "+
				"copy for a day"))
		case on.Unknown != "":
			found = append(found, core.Warn(what, text, "name one of these people in the calendar"))
		default:
			found = append(found, core.OK(what, text))
		}
	}
	return found
}

// askedFinding warns if no person would hear of a request of that class now.
func askedFinding(c effective.ClassPolicy, asked []effective.Asked, now time.Time, zone *time.Location) core.Diagnostic {
	var names []string
	for _, a := range asked {
		names = append(names, a.Text(now, zone))
	}
	if c.Unmapped > 0 {
		names = append(names, fmt.Sprintf("%d account(s) that no person under people has", c.Unmapped))
	}
	if c.Open {
		names = append(names, "everyone with an allowed role")
	}
	what, text := "asked about "+c.Class+" now", strings.Join(names, ", ")
	switch {
	case text == "":
		return core.Warn(what, "no approver", "let a person decide in a chat (allowedUserIds) or with a token")
	case c.Unmapped > 0 || c.Open || slices.ContainsFunc(asked, effective.Asked.Hears):
		return core.OK(what, text)
	}
	return core.Warn(what, text, "all are away or in quiet hours: a request may go unnoticed until one of them looks")
}
