package effective

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
)

// timelineText is a desk of alice, who sleeps at night, and bob, whose week it is; carol
// has no account that may decide.
const timelineText = `people:
  - {name: alice, telegram: 111, roles: [leads], timezone: Europe/Berlin, quiet: "22:00-07:00"}
  - {name: bob, telegram: 222, discord: "333"}
  - {name: carol, telegram: 444}
server: {tokens: [{name: laptop, token: 0123456789abcdef, scopes: [operator.approvals], person: bob}]}
channels: {telegram: {botToken: "1:A", allowedUserIds: [111, 222]}}
approvals:
  tools:
    policy: {requireApprovalAtOrAbove: R2}
    onDuty: [{name: ops, among: [alice, bob], timezone: Europe/Berlin, rotation: [alice, bob], handoff: "Mon 09:00"}]
    routing: {mode: targets, targets: ["telegram:-5", "discord:6"], remindAfter: [12m], escalate: [{after: 5m, to: onDuty}, {after: 10m, to: "role:leads"}]}
`

var tuesday = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// Each class has its line, and two where the night is another matter.
func TestTimelines(t *testing.T) {
	t.Parallel()
	cfg, _ := load(t, timelineText)
	got, err := Timelines(cfg, Duty(cfg), tuesday)
	require.NoError(t, err)
	const day = "telegram:-5 at once → bob on duty at +5 min → alice at +10 min → reminder to alice, bob at +12 min → expires at +15 min"
	const night = "telegram:-5 at once → bob on duty at +5 min → nobody at +10 min (not alice: quiet hours) → " +
		"reminder to bob at +12 min (not alice: quiet hours) → expires at +15 min"
	require.Equal(t, []Timeline{
		{"R2 now", day}, {"R2 on a Sunday at 03:10", night}, {"R3 now", day}, {"R3 on a Sunday at 03:10", night}, {"R4", day},
	}, got, "R4 breaks quiet hours")

	away := func(person, to string) people.Absence {
		return people.Absence{Person: person, To: to, UntilMs: tuesday.Add(5 * time.Hour).UnixMilli()}
	}
	got, err = Timelines(cfg, Duty(cfg), tuesday, away("bob", "alice"))
	require.NoError(t, err)
	require.Equal(t, Timeline{"away", "bob until Tue 18:00 CET, delegate alice"}, got[0])
	require.Equal(t, Timeline{"R3 now", "telegram:-5 at once → alice at +5 min (none of its recipients can be asked, so everyone is asked) → " +
		"nobody at +10 min (nobody is left to ask) → reminder to alice at +12 min → expires at +15 min"}, got[3])
	require.Equal(t, Timeline{"R3 on a Sunday at 03:10", night}, got[4], "bob is back by then")
	got, err = Timelines(cfg, Duty(cfg), tuesday, away("bob", ""), away("alice", ""))
	require.NoError(t, err)
	require.Equal(t, []Timeline{{"away", "alice until Tue 18:00 CET; bob until Tue 18:00 CET"}, {"R2 now", day}}, got[:2], "never nobody")

	plain, err := Timelines(config.Defaults(), Duty(config.Defaults()), tuesday)
	require.NoError(t, err)
	require.Empty(t, plain, "nobody is asked")
}

func TestSundayNight(t *testing.T) {
	t.Parallel()
	for now, want := range map[string]string{
		"2026-11-24T12:00:00Z": "2026-11-29T03:10:00Z",
		"2026-11-29T03:09:00Z": "2026-11-29T03:10:00Z",
		"2026-11-29T03:10:00Z": "2026-12-06T03:10:00Z",
	} {
		at, err := time.Parse(time.RFC3339, now)
		require.NoError(t, err)
		require.Equal(t, want, sundayNight(at).Format(time.RFC3339))
	}
}

// Everybody who may decide, through what, and what keeps them from hearing of it.
func TestAskedNow(t *testing.T) {
	t.Parallel()
	cfg, _ := load(t, timelineText)
	night := time.Date(2026, 11, 24, 23, 0, 0, 0, time.UTC)
	texts := func(c config.Config, class approval.RiskClass, now time.Time) (out []string) {
		all, err := AskedNow(c, Duty(c), class, now)
		require.NoError(t, err)
		for _, a := range all {
			out = append(out, a.Text(now, Zone(c)))
		}
		return out
	}
	require.Equal(t, []string{"alice by telegram (not on duty by ops)", "bob by telegram and API"}, texts(cfg, approval.R3, tuesday))
	require.Equal(t, []string{"alice by telegram (quiet until Wed 07:00 CET; not on duty by ops)", "bob by telegram and API"}, texts(cfg, approval.R3, night))
	require.Equal(t, "alice by telegram (not on duty by ops)", texts(cfg, approval.R4, night)[0])
	all, err := AskedNow(cfg, Duty(cfg), approval.R3, night, people.Absence{Person: "bob", To: "alice", UntilMs: night.Add(time.Hour).UnixMilli()})
	require.NoError(t, err)
	require.Equal(t, "bob by telegram and API (away until Wed 01:00 CET, delegate alice)", all[1].Text(night, Zone(cfg)))
	require.False(t, all[0].Hears() || all[1].Hears(), "one sleeps, the other is away")
	cfg.Channels.Bots["telegram"] = config.Channel{}
	require.Equal(t, []string{"bob by API"}, texts(cfg, approval.R3, night), "the chat is off")
	cfg.Channels.Bots["discord"] = config.Channel{BotToken: "b", AllowedRoleIDs: []config.ID{"9"}}
	require.Equal(t, []string{"bob by discord and API"}, texts(cfg, approval.R3, night), "a role may let him")
}

// A calendar's file that cannot be read, or is not understood, is a warning: nobody is
// shut out by it.
func TestWarningsOfCalendars(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "ops.ics")
	const text = "people: [{name: alice, email: a@example.org}]\napprovals: {tools: {onDuty: [{name: ops, among: [alice], timezone: UTC, calendar: %s}]}}\n"
	warn := func(calendar string) (config.Config, string) {
		cfg, warnings, err := Parse(filepath.Join(dir, "f.yaml"), fmt.Appendf(nil, text, calendar), nil, nil, Calendars)
		require.NoError(t, err)
		return cfg, fmt.Sprint(warnings)
	}
	const key = "approvals.tools.onDuty[0].calendar: the calendar cannot be read: "
	_, said := warn("ops.ics")
	require.Contains(t, said, key+"no such file or directory; until it can be read, all of the roster are on duty")
	require.NoError(t, os.WriteFile(file, []byte("BEGIN:VCALENDAR\nBEGIN:A\nBEGIN:B\nBEGIN:C\nBEGIN:D\n"), 0o600))
	_, said = warn("ops.ics")
	require.Contains(t, said, key+"it has a BEGIN at a place that iCalendar does not allow")
	require.NoError(t, os.WriteFile(file, make([]byte, 2<<20), 0o600))
	_, said = warn("ops.ics")
	require.Contains(t, said, key+"it is longer than 1048576 bytes")
	require.NoError(t, os.WriteFile(file, []byte(
		"BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261124T080000Z\nDTEND:20261124T160000Z\nATTENDEE:mailto:a@example.org\nEND:VEVENT\nEND:VCALENDAR\n"), 0o600))
	cfg, said := warn("ops.ics")
	require.NotContains(t, said, "calendar")
	on, _ := DutyFromFiles(cfg, tuesday).WhoNow("ops", tuesday)
	require.Empty(t, on.Unknown)
	elsewhere, said := warn(`"https://calendar.example.org/ops.ics"`)
	require.NotContains(t, said, "cannot be read", "a file is looked at, the network is not")
	on, _ = DutyFromFiles(elsewhere, tuesday).WhoNow("ops", tuesday)
	require.Equal(t, "the calendar cannot be read: it is a URL, which only the running desk and doctor read", on.Unknown)
}
