package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// bobsShift is a calendar in which bob is on duty now, for an hour.
func bobsShift() string {
	const form = "20060102T150405Z"
	now := time.Now().UTC()
	return fmt.Sprintf("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:%s\r\nDTEND:%s\r\nATTENDEE:mailto:bob@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		now.Add(-time.Hour).Format(form), now.Add(time.Hour).Format(form))
}

// onDuty gives the desk a roster of turns, which are all alice's, and one of a calendar;
// a deploy needs whoever is on duty by the calendar.
func onDuty(r *rig) {
	r.tools = `    onDuty:
      - {name: ops, among: [alice, bob], timezone: Europe/Berlin, rotation: [alice], handoff: "Mon 09:00"}
      - {name: web, among: [alice, bob], timezone: Europe/Berlin, calendar: web.ics}
    rules: [{name: deploys, match: {tool: deploy}, outcome: ask, role: "onDuty:web"}]
`
}

// duty waits until the calendar says what it should.
func (r *rig) duty(want func(api.Duty) bool) api.Duties {
	r.t.Helper()
	var d api.Duties
	require.Eventually(r.t, func() bool {
		var err error
		d, err = r.operator().Duty(r.ctx())
		return err == nil && len(d.Rosters) == 2 && want(d.Rosters[1])
	}, patient, 5*time.Millisecond)
	return d
}

func TestFlow_Duty(t *testing.T) {
	t.Parallel()
	r := newRig(t, onDuty, func(r *rig) {
		require.NoError(t, os.WriteFile(filepath.Join(r.dir, "web.ics"), []byte("nothing"), 0o600))
	})
	unread := r.duty(func(d api.Duty) bool {
		return d.Unknown == "the calendar cannot be read: it is not a calendar in iCalendar form"
	})
	require.Equal(t, []string{"alice", "bob"}, unread.Rosters[1].OnDuty, "never nobody")
	require.Equal(t, api.Duty{Name: "ops", Among: []string{"alice", "bob"}, OnDuty: []string{"alice"}, Next: []string{}, Timezone: "Europe/Berlin"}, unread.Rosters[0])
	_, err := r.agent().Duty(r.ctx())
	require.ErrorContains(t, err, "operator.approvals")
	require.Contains(t, r.reply(r.group, r.alice.Say(r.group, "/duty@approval_test_bot")).Text,
		"ops: alice\nweb: all of alice, bob, since the calendar cannot be read: it is not a calendar in iCalendar form")
	require.Contains(t, r.reply(r.group, r.mallory.Say(r.group, "/duty@approval_test_bot")).Text, "You are not authorized")
	require.Contains(t, r.logs.String(), "could not read a duty calendar")

	require.NoError(t, os.WriteFile(filepath.Join(r.dir, "web.ics"), []byte(bobsShift()), 0o600))
	r.people = fmt.Sprintf("  - {name: alice, telegram: %d, timezone: Asia/Tokyo}\n  - {name: bob, telegram: %d, email: Bob@example.org}\n", r.alice.ID, r.bob.ID)
	r.write(r.yaml()) // the calendar of other people is another one, and read anew
	_, err = r.desk.Reload(r.ctx(), "token:test")
	require.NoError(t, err)
	known := r.duty(func(d api.Duty) bool { return d.Unknown == "" }).Rosters[1]
	require.Equal(t, []string{"bob"}, known.OnDuty)
	require.InDelta(t, time.Now().Add(time.Hour).UnixMilli(), known.UntilMs, 2*60*1000)
	said := r.cli(operatorSecret, nil, "duty")
	require.Zero(t, said.code, said.errors)
	require.Contains(t, said.out, "ops: alice\nweb: bob until ")
	require.Regexp(t, ` CES?T`, said.out, "in the roster's zone")
	require.Regexp(t, `web: bob until \w+ \d\d:\d\d JST`, r.reply(r.group, r.alice.Say(r.group, "/duty@approval_test_bot")).Text, "in hers")

	r.stop()
	require.NoError(t, os.Remove(filepath.Join(r.dir, "web.ics")))
	r.start()
	require.Equal(t, []string{"bob"}, r.duty(func(api.Duty) bool { return true }).Rosters[1].OnDuty, "the last good copy")

	a := r.ask(`{"n":1}`, func(c *api.CreateRequest) { c.ToolName = "deploy" })
	card := r.card(a)
	r.tap(r.alice, r.group, card.ID, "Allow once")
	require.EqualValues(t, "pending", r.get(a).Status)
	r.tap(r.bob, r.group, card.ID, "Allow once")
	done := r.final(a)
	require.EqualValues(t, "approved", done.Status)
	require.Equal(t, []string{"ops"}, done.Votes[0].OnDuty)
	require.Equal(t, []string{"web"}, done.Votes[1].OnDuty)
}
