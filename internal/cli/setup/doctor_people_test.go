package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
)

// Doctor says who is on duty and who hears of what now, and warns where nobody does.
func TestDoctor_SaysWhoIsAsked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	findings := func(people, onDuty string) (out []string) {
		cfg, _, err := effective.Parse(filepath.Join(dir, "f.yaml"), fmt.Appendf(nil, `
people: [%s]
channels: {telegram: {botToken: "1:a", allowedUserIds: [111]}}
approvals: {tools: {policy: {denyAtOrAbove: R4, breaksQuietAtOrAbove: R4}, onDuty: [%s]}}
`, people, onDuty), nil, nil)
		require.NoError(t, err)
		for _, f := range peopleFindings(t.Context(), cfg) {
			out = append(out, fmt.Sprintf("%s %s: %s — %s", f.Level, f.What, f.Text, f.Fix))
		}
		return out
	}
	const turns = `{name: ops, among: [alice, bob], timezone: UTC, rotation: [bob], handoff: "09:00"}`
	require.Equal(t, []string{"ok on duty ops: bob — ", "ok asked about R3 now: alice by telegram (not on duty by ops) — "},
		findings(`{name: alice, telegram: 111}, {name: bob}`, turns))

	now := time.Now().UTC() // quiet from now on, or a little before
	quiet := fmt.Sprintf(`{name: alice, telegram: 111, quiet: "%02d:00-%02d:00 UTC"}`, now.Hour(), (now.Hour()+2)%24)
	got := findings(quiet, "")
	require.Len(t, got, 1)
	require.Regexp(t, `^warn asked about R3 now: alice by telegram \(quiet until .* UTC\) — all are away or in quiet hours`, got[0])

	require.Equal(t, []string{"ok asked about R3 now: 1 account(s) that no person under people has — "}, findings("", ""))
	const web = `{name: web, among: [bob], timezone: UTC, calendar: web.ics}`
	const bob = `{name: bob, email: bob@example.org}, {name: alice, telegram: 111}`
	require.Equal(t, "warn on duty web: all of bob, since the calendar cannot be read: no such file or directory"+
		" — correct the calendar; a running desk uses its last good copy for a day", findings(bob, web)[0])
	require.NoError(t, os.WriteFile(filepath.Join(dir, "web.ics"), []byte("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"), 0o600))
	require.Equal(t, "warn on duty web: all of bob, since the calendar names no person of the roster for now — "+
		"name one of these people in the calendar",
		findings(bob, web)[0])
	require.Equal(t, core.LevelWarn, askedFinding(effective.ClassPolicy{Class: "R3"}, nil, now, time.UTC).Level)
}

// Doctor knows who is away, and who stands in, from the store, which a desk may have open.
func TestDoctor_SaysWhoIsAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url := "sqlite:" + filepath.Join(dir, "d.db")
	cfg, _, err := effective.Parse(filepath.Join(dir, "f.yaml"), fmt.Appendf(nil, `
store: {url: %q}
people: [{name: alice, telegram: 111}, {name: bob, telegram: 222}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [111, 222]}}
approvals: {tools: {policy: {denyAtOrAbove: R4}}}
`, url), nil, nil)
	require.NoError(t, err)
	finding := func() string {
		found := peopleFindings(t.Context(), cfg)
		require.Len(t, found, 1)
		return fmt.Sprintf("%s %s", found[0].Level, found[0].Text)
	}
	require.Equal(t, "ok alice by telegram, bob by telegram", finding(), "no store is there yet")

	s, err := store.Open(t.Context(), store.Options{URL: url, KeyFile: filepath.Join(dir, "d.key")})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	})
	for _, a := range []people.Absence{{Person: "alice", To: "bob"}, {Person: "bob"}} {
		a.UntilMs = time.Now().Add(time.Hour).UnixMilli()
		_, err := s.Absent(t.Context(), nil, func(people.Absences) (core.AbsenceChange, error) {
			return core.AbsenceChange{Person: a.Person, Absence: &a, Event: approval.Event{AtMs: 1, Type: approval.EventAway, Data: []byte("{}")}}, nil
		})
		require.NoError(t, err)
		if a.Person == "alice" {
			require.Regexp(t, `^ok alice by telegram \(away until .*, delegate bob\), bob by telegram$`, finding())
		}
	}
	require.Regexp(t, `^warn alice by telegram \(away until .*, delegate bob\), bob by telegram \(away until .*\)$`, finding())
}
