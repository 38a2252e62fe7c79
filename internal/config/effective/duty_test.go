package effective

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/schedule"
)

// dutyText is a configuration of alice, bob (no account, no email) and a chat, with
// more of approvals.tools as given.
const dutyText = `people:
  - {name: alice, telegram: 111, roles: [leads], email: alice@example.org, timezone: Europe/Berlin, quiet: "22:00-07:00"}
  - {name: bob}
channels: {telegram: {botToken: "1:A", allowedUserIds: [111]}}
approvals:
  tools: {%s}
`

const (
	turns     = `name: ops, among: [alice, bob], timezone: Europe/Berlin, rotation: [alice, bob], handoff: "Mon 09:00"`
	rosterKey = "f.yaml:6: approvals.tools.onDuty[0]"
	routeKey  = "f.yaml:6: approvals.tools.routing."
)

// What is wrong with who is on duty, when, and who hears of what.
func TestMistakesOfDutyAndContacts(t *testing.T) {
	t.Parallel()
	const never = "never happens, because an approval expires after 15m0s (approvals.tools.timeoutMs)"
	for name, c := range map[string]struct{ tools, want string }{
		"nobody":                 {"onDuty: [{name: ops, among: [], timezone: UTC, rotation: [], handoff: '09:00'}]", ".among: is empty; name the people who can be on duty"},
		"a rotation of nobody":   {"onDuty: [{name: ops, among: [alice], timezone: UTC, rotation: [], handoff: '09:00'}]", ".rotation: is empty, so no person would ever be on duty; name the people in their order"},
		"a calendar of nobody":   {"onDuty: [{name: ops, timezone: UTC, calendar: ops.ics}]", ".among: is empty; name the people who can be on duty"},
		"an unknown person":      {"onDuty: [{name: ops, among: [alice, bobb], timezone: UTC, rotation: [alice], handoff: '09:00'}]", ".among[1]: names no person under people (did you mean bob?)"},
		"a roster in a roster":   {"onDuty: [{name: ops, among: [\"onDuty:ops\"], timezone: UTC, rotation: [\"onDuty:ops\"], handoff: '09:00'}]", ".among[0]: names no person under people"},
		"a turn of another":      {"onDuty: [{name: ops, among: [alice], timezone: UTC, rotation: [alice, bob], handoff: '09:00'}]", ".rotation[1]: is not one of among"},
		"no name":                {"onDuty: [{among: [alice], timezone: UTC, rotation: [alice], handoff: '09:00'}]", ".name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first"},
		"neither":                {"onDuty: [{name: ops, among: [alice], timezone: UTC}]", ": needs a rotation of people, or a calendar"},
		"both":                   {"onDuty: [{" + turns + ", calendar: ops.ics}]", ".calendar: contradicts rotation, handoff and overrides; use one or the other"},
		"no zone":                {"onDuty: [{name: ops, among: [alice], calendar: ops.ics}]", ".timezone: must be a timezone of the IANA database, such as Europe/Berlin"},
		"another zone":           {"onDuty: [{name: ops, among: [alice], timezone: Local, rotation: [alice], handoff: '09:00'}]", ".timezone: must be a timezone of the IANA database, such as Europe/Berlin"},
		"no handoff":             {"onDuty: [{name: ops, among: [alice], timezone: UTC, rotation: [alice]}]", ".handoff: must be a time of the week or day, such as Mon 09:00 or 09:00"},
		"a calendar in clear":    {"onDuty: [{name: ops, among: [alice], timezone: UTC, calendar: \"http://example.org/secret.ics\"}]", ".calendar: must be a file's path, or an https address without a user and a fragment"},
		"a calendar by password": {"onDuty: [{name: ops, among: [alice], timezone: UTC, calendar: \"https://a:b@example.org/ops.ics\"}]", ".calendar: must be a file's path, or an https address without a user and a fragment"},
		"an override for ever":   {"onDuty: [{" + turns + ", overrides: [{who: bob, from: '2026-12-24T09:00:00Z', to: '2026-12-24T09:00:00Z'}]}]", ".overrides[0]: ends before it begins, or when it begins"},
		"an override of another": {"onDuty: [{" + turns + ", overrides: [{who: eve, from: '2026-12-24T09:00:00Z', to: '2026-12-25T09:00:00Z'}]}]", ".overrides[0].who: is not one of among"},

		"a reminder at once":          {"routing: {remindAfter: [0]}", "remindAfter[0]: must be longer than 0s"},
		"a reminder after the expiry": {"routing: {remindAfter: [5m, 16m]}", "remindAfter[1]: " + never},
		"an escalation at the expiry": {"routing: {escalate: [{after: 15m, to: \"role:leads\"}]}", "escalate[0].after: " + never},
		"an escalation at no time":    {"routing: {escalate: [{to: \"role:leads\"}]}", "escalate[0]: needs after: how long the request must be undecided, such as 5m"},
		"an escalation to nobody":     {"routing: {escalate: [{after: 5m}]}", "escalate[0].to: must be onDuty, onDuty:NAME, role:NAME, or a chat such as telegram:-1001234567890"},
		"to no role":                  {"routing: {escalate: [{after: 5m, to: \"role:x\"}]}", "escalate[0].to: is a role that no person under people has"},
		"to no roster": {"routing: {escalate: [{after: 5m, to: onDuty}]}", "escalate[0].to: must " +
			"name the roster, such as onDuty:NAME, because there is no roster or more than one"},
		"to an unknown roster":         {"routing: {escalate: [{after: 5m, to: \"onDuty:x\"}]}, onDuty: [{" + turns + "}]", "escalate[0].to: names a roster that is not in approvals.tools.onDuty"},
		"to a person":                  {"routing: {escalate: [{after: 5m, to: alice}]}", "escalate[0].to: must be onDuty, onDuty:NAME, role:NAME, or a chat with numeric ids such as telegram:-1001234567890"},
		"the same twice":               {"routing: {escalate: [{after: 5m, to: \"role:leads\"}, {after: 5m, to: \"role:leads\"}]}", "escalate[1]: is the same as approvals.tools.routing.escalate[0]"},
		"fewer than no digest":         {"routing: {digestAbove: -1}", "digestAbove: must be 0 or more"},
		"a target in no zone":          {"routing: {targets: [{channel: telegram, to: -5, timezone: Mars}]}", "targets[0].timezone: must be a timezone of the IANA database, such as Europe/Berlin"},
		"a rule for an unknown roster": {"rules: [{name: a, match: {tool: x}, role: \"onDuty:opz\"}], onDuty: [{" + turns + "}]", "f.yaml:6: approvals.tools.rules[0].role: names a roster that is not in approvals.tools.onDuty (did you mean ops?)"},
		"no share":                     {"slo: {share: 1}", "f.yaml:6: approvals.tools.slo.share: must be more than 0 and less than 1, such as 0.95"},
		"no time to drill":             {"drill: {cron: weekly}", "f.yaml:6: approvals.tools.drill.cron: must have five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * MON"},
		"a drill on 30 February":       {"drill: {cron: \"0 9 30 2 *\"}", "f.yaml:6: approvals.tools.drill.cron: never happens, because no month has such a day"},
		"a quiet class":                {"policy: {breaksQuietAtOrAbove: never}", "f.yaml:6: approvals.tools.policy.breaksQuietAtOrAbove: must be R0, R1, R2, R3 or R4"},
	} {
		_, _, err := Parse("f.yaml", fmt.Appendf(nil, dutyText, c.tools), nil, nil)
		var got config.Mistakes
		require.ErrorAs(t, err, &got, name)
		want := c.want
		switch {
		case strings.HasPrefix(c.tools, "onDuty"):
			want = rosterKey + want
		case strings.HasPrefix(c.tools, "routing"):
			want = routeKey + want
		}
		require.Contains(t, got.Error()+"\n", want+"\n", name)
		require.NotContains(t, got.Error(), "secret.ics", "what only some may read is not told")
	}
	for person, want := range map[string]string{
		`name: a, timezone: Berlin`:             "timezone: must be a timezone of the IANA database, such as Europe/Berlin",
		`name: a, quiet: "22:00-07:00"`:         "quiet: needs a timezone, which must be a timezone of the IANA database, such as Europe/Berlin",
		`name: a, quiet: "22:00-22:00 UTC"`:     "quiet: begins and ends at the same time: it would be empty, or never end",
		`name: a, quiet: "00:00-24:00 UTC"`:     "quiet: begins and ends at the same time: it would be empty, or never end",
		`name: a, quiet: "at night"`:            "quiet: must be two times of the day such as 22:00-07:00",
		`name: a, email: alice`:                 "email: must be an e-mail address such as alice@example.org",
		`name: a, email: Alice@example.org`:     "email: belongs to alice already; one account is one person",
		`name: a, roles: [ops, "onDuty:leads"]`: "roles[1]: begins with onDuty:, a role that only approvals.tools.onDuty can give",
	} {
		text := "people: [{name: alice, email: alice@example.org}, {" + person + "}]"
		_, _, err := Parse("f.yaml", []byte(text), nil, nil)
		require.EqualError(t, err, "f.yaml:1: people[1]."+want, person)
	}
}

func TestWarningsOfDutyAndContacts(t *testing.T) {
	t.Parallel()
	for tools, want := range map[string]string{
		"onDuty: [{name: ops, among: [bob], timezone: UTC, rotation: [bob], handoff: '09:00'}]":                                                 ": approvals.tools.onDuty[0].among: names no person who may decide in a chat (allowedUserIds) or with a token (operator.approvals and a person)",
		"onDuty: [{name: ops, among: [alice, bob], timezone: UTC, calendar: ops.ics}]":                                                          ": approvals.tools.onDuty[0].among[1]: has no email (people[].email), so the calendar cannot name this person",
		"routing: {escalate: [{after: 5m, to: \"discord:5\"}]}":                                                                                 ": approvals.tools.routing.escalate[0].to: discord is off: no card goes there",
		"onDuty: [{name: ops, among: [bob], timezone: UTC, rotation: [bob], handoff: '09:00'}], routing: {escalate: [{after: 5m, to: onDuty}]}": ": approvals.tools.routing.escalate[0].to: names no person who has an account in a chat that is on, so the desk can send no direct message",
	} {
		_, warnings, err := Parse("f.yaml", fmt.Appendf(nil, dutyText, tools), nil, nil)
		require.NoError(t, err, tools)
		require.Contains(t, fmt.Sprint(warnings), want, tools)
	}
}

// What people and rosters are configured to be arrives where it counts.
func TestDutyAndContactsArrive(t *testing.T) {
	t.Parallel()
	text := fmt.Appendf(nil, dutyText, `onDuty: [{`+turns+`}, {name: web, among: [alice], timezone: UTC, calendar: duty/web.ics}],
    rules: [{name: deploys, match: {tool: deploy}, outcome: ask, role: "onDuty:ops"}],
    policy: {breaksQuietAtOrAbove: R3}, slo: {decidedWithin: 5m, share: 0.5}, drill: {cron: "0 9 * * MON"},
    routing: {targets: [{channel: telegram, to: -5, timezone: Europe/Berlin}, "telegram:-6"], digestAbove: 3, remindAfter: [5m],
              escalate: [{after: 1m, to: "onDuty:ops"}, {after: 2m, to: "role:leads"}, {after: 3m, to: "telegram:-05"}]}`)
	file := filepath.Join(t.TempDir(), "f.yaml")
	cfg, _, err := Parse(file, text, nil, nil)
	require.NoError(t, err)
	calendar := filepath.Join(filepath.Dir(file), "duty/web.ics")
	require.Equal(t, calendar, cfg.Approvals.Tools.OnDuty[1].CalendarFile(), "it counts from the configuration")
	require.Contains(t, Policy(cfg).Protected.Files, calendar, "who writes it says who decides")

	rules, err := Rules(cfg, Table(cfg))
	require.NoError(t, err)
	now := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	require.True(t, rules.Contact.Quiet["alice"].Contains(now))
	require.Equal(t, map[string][]string{"leads": {"alice"}}, rules.Contact.Roles)
	require.Equal(t, []time.Duration{5 * time.Minute}, rules.Contact.RemindAfter)
	require.Equal(t, []schedule.Escalation{
		{After: time.Minute, To: schedule.Recipient{Duty: "ops"}}, {After: 2 * time.Minute, To: schedule.Recipient{Role: "leads"}},
		{After: 3 * time.Minute, To: schedule.Recipient{Chat: "telegram:-5"}},
	}, rules.Contact.Escalate)
	on, known := rules.Contact.Duty.WhoNow("ops", now)
	require.True(t, known)
	require.Equal(t, "bob until Mon 30 Nov 2026 09:00 CET, then alice", on.String(now, zoneOf("Europe/Berlin")))
	require.Equal(t, approval.R3, rules.BreaksQuiet)
	require.Equal(t, 3, rules.DigestAbove)
	require.Equal(t, core.Objective{DecidedWithin: 5 * time.Minute, Share: 0.5}, rules.Objective)
	require.Equal(t, time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC), rules.Drill.Next(now))
	require.Equal(t, map[approval.Target]*time.Location{{Channel: "telegram", To: "-5"}: zoneOf("Europe/Berlin")}, rules.Zones)
	person := Rights(cfg).People[0]
	require.Equal(t, "alice@example.org", person.Email)
	require.Equal(t, "Europe/Berlin", person.Zone.String())
	require.Nil(t, Rights(cfg).People[1].Zone)

	plain, err := Rules(config.Defaults(), Table(config.Defaults()))
	require.NoError(t, err)
	require.Equal(t, approval.R4, plain.BreaksQuiet)
	require.Equal(t, 5, plain.DigestAbove)
	require.True(t, plain.Drill.IsZero())
	require.Equal(t, core.Objective{DecidedWithin: 10 * time.Minute, Share: 0.95}, plain.Objective)
	require.Empty(t, plain.Contact.Escalate)
	require.Empty(t, plain.Contact.RemindAfter)
}

// Who wants two of those on duty, of whom there is one a turn, hears of it; of a calendar
// it is not known how many it names.
func TestWarningsOfTwoOnDuty(t *testing.T) {
	t.Parallel()
	warn := func(roster string, of int) string {
		_, warnings := load(t, fmt.Sprintf(`people: [{name: alice, telegram: 111, email: a@x.org}, {name: bob, telegram: 222, email: b@x.org}]
channels: {telegram: {botToken: "1:A", allowedUserIds: [111, 222]}}
approvals:
  tools:
    onDuty: [{name: ops, among: [alice, bob], timezone: UTC, %s}]
    rules: [{name: r, match: {tool: deploy}, outcome: ask, role: "onDuty:ops", minApprovals: %d}]
`, roster, of))
		return fmt.Sprint(warnings)
	}
	const turns, calendar, why = `rotation: [alice, bob], handoff: "09:00"`, `calendar: "https://x.org/a.ics"`,
		"approvals.tools.rules[0].minApprovals: needs 2 people on duty by the roster ops, but one person is on duty at a time"
	require.Contains(t, warn(turns, 2), why)
	require.NotContains(t, warn(turns, 1), why)
	require.NotContains(t, warn(calendar, 2), why)
}

func TestLooserDuty(t *testing.T) {
	t.Parallel()
	with := func(names ...string) config.Config {
		c := config.Defaults()
		tools := c.ApprovalTools()
		tools.OnDuty = []config.Roster{{Name: "ops", Among: names}}
		c.Approvals.Tools = &tools
		return c
	}
	require.Empty(t, Looser(with("alice", "bob"), with("bob")))
	require.Equal(t, []string{"more people may be on duty by ops"}, Looser(with("alice"), with("alice", "bob")))
}
