package routing_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/schedule"
	"approvalbot/routing"
)

// planned is a world in which people are reminded and asked as the contact says: alice,
// bob and carol, whose roles are their names.
func planned(t *testing.T, start string, contact schedule.Contact, test func(w *world)) {
	t.Helper()
	table := &routing.Table{Mode: routing.Targets, Targets: []approval.Target{ops}, FallbackAfterMs: 20_000}
	contact.Roles = map[string][]string{"alice": {"alice"}, "bob": {"bob"}, "carol": {"carol"}, "all": {"alice", "bob", "carol"}}
	began, err := time.Parse(time.RFC3339, start)
	require.NoError(t, err)
	bubble(t, setting{quorum: 2, table: table, start: began, rules: func(r *core.Rules) { r.Contact, r.BreaksQuiet = contact, approval.R4 }}, test)
}

// story is what the platforms were sent by when: "+5m0s reminder telegram:-100 @alice".
func (w *world) story(since time.Time) (out []string) {
	for _, c := range w.chats {
		c.mu.Lock()
		for i, p := range c.postings {
			line := fmt.Sprint("+", c.at[i].Sub(since).Truncate(time.Second), " ", map[bool]string{true: "card", false: "text"}[p.Card != nil], " ", c.posts[i])
			for _, m := range p.Mention {
				line += " @" + m.Name
			}
			if p.Silent {
				line += " silently"
			}
			out = append(out, line)
		}
		c.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b string) int { // by when, since chats are served side by side
		return cmp.Or(cmp.Compare(elapsed(a), elapsed(b)), strings.Compare(a, b))
	})
	return out
}

func elapsed(line string) time.Duration {
	text, _, _ := strings.Cut(line[1:], " ")
	d, _ := time.ParseDuration(text)
	return d
}

func daily(t *testing.T, span, zone string) schedule.Window {
	w, err := schedule.Daily(span, zone)
	require.NoError(t, err)
	return w
}

// Steps come when they are due, by the real time that has passed, and quiet hours by the
// clocks of their zone: also where these are set, and at a year's end.
func TestThePlanInTime(t *testing.T) {
	const spring, autumn, newYear = "2001-03-25T00:50:00Z", "2001-10-28T00:50:00Z", "2000-12-31T22:50:00Z"
	escalate := func(minutes int, role string) schedule.Escalation {
		return schedule.Escalation{After: time.Duration(minutes) * time.Minute, To: schedule.Recipient{Role: role}}
	}
	for name, c := range map[string]struct {
		start string
		with  schedule.Contact
		want  []string
	}{
		"clocks go forward at +10m: quiet hours until 02:30 end when they do": {spring, schedule.Contact{
			RemindAfter: []time.Duration{5 * time.Minute, 12 * time.Minute}, Quiet: map[string]schedule.Window{"alice": daily(t, "01:00-02:30", "Europe/Berlin")},
		}, []string{"+0s card telegram:-100", "+5m0s text telegram:-100 @bob @carol", "+10m1s card telegram:1", "+12m0s text telegram:-100 @alice @bob @carol"}},
		"clocks go back at +10m: quiet hours until 03:00 take the hour twice": {autumn, schedule.Contact{
			RemindAfter: []time.Duration{5 * time.Minute, 12 * time.Minute}, Escalate: []schedule.Escalation{escalate(13, "alice")},
			Quiet: map[string]schedule.Window{"alice": daily(t, "01:00-03:00", "Europe/Berlin")},
		}, []string{"+0s card telegram:-100", "+5m0s text telegram:-100 @bob @carol", "+12m0s text telegram:-100 @bob @carol"}},
		"a year ends at +10m": {newYear, schedule.Contact{
			RemindAfter: []time.Duration{9 * time.Minute, 11 * time.Minute}, Escalate: []schedule.Escalation{escalate(10, "bob")},
			Quiet: map[string]schedule.Window{"alice": daily(t, "00:00-06:00", "Europe/Berlin"), "bob": daily(t, "22:00-00:00", "Europe/Berlin")},
		}, []string{"+0s card telegram:-100", "+9m0s text telegram:-100 @alice @carol", "+10m0s card telegram:2", "+11m0s text telegram:-100 @bob @carol", "+11m0s text telegram:2 @bob"}},
		"all sleep": {newYear, schedule.Contact{
			Escalate: []schedule.Escalation{escalate(5, "alice"), escalate(6, "all")}, Quiet: map[string]schedule.Window{
				"alice": daily(t, "22:00-06:00", "UTC"), "bob": daily(t, "22:00-23:02", "UTC"), "carol": daily(t, "22:00-23:30", "UTC")},
		}, []string{"+0s card telegram:-100 silently", "+5m0s card telegram:1 silently", "+6m0s card telegram:2 silently", "+6m0s card telegram:3 silently"}},
	} {
		t.Run(name, func(t *testing.T) {
			planned(t, c.start, c.with, func(w *world) {
				a, began := w.ask(1), time.Now()
				time.Sleep(16 * time.Minute)
				synctest.Wait()
				require.Equal(w.t, c.want, w.story(began))
				require.Equal(w.t, approval.Expired, w.get(a).Status)
			})
		})
	}
}

// Whoever votes is left alone from then on, and nothing follows the end.
func TestThePlanStopsAtTheEnd(t *testing.T) {
	with := schedule.Contact{RemindAfter: []time.Duration{5 * time.Minute, 7 * time.Minute}, Escalate: []schedule.Escalation{
		{After: 6 * time.Minute, To: schedule.Recipient{Role: "all"}}, {After: 10 * time.Minute, To: schedule.Recipient{Chat: other.String()}}}}
	planned(t, "2001-01-01T00:00:00Z", with, func(w *world) {
		a, began := w.ask(1), time.Now()
		time.Sleep(time.Minute)
		w.vote(a, "1", ops)
		time.Sleep(8 * time.Minute)
		synctest.Wait()
		got := w.get(a)
		require.Equal(w.t, []string{"bob", "carol"}, got.AlsoAsked)
		require.Equal(w.t, began.Add(10*time.Minute).UnixMilli(), got.PlanMs)
		_, edits := w.chats["telegram"].sent()
		require.Contains(w.t, edits[len(edits)-1].State.Also, "also asked: bob, carol")
		w.vote(a, "2", ops)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		require.Equal(w.t, []string{
			"+0s card telegram:-100", "+5m0s text telegram:-100 @bob @carol", "+6m0s card telegram:2", "+6m0s card telegram:3",
			"+7m0s text telegram:-100 @bob @carol", "+7m0s text telegram:2 @bob", "+7m0s text telegram:3 @carol",
		}, w.story(began))
		require.Zero(w.t, core.TimerMs(w.get(a)))
	})
}

// A reminder that waits for a limited chat is sent once, and not at all where it has
// become needless.
func TestAReminderThatWaits(t *testing.T) {
	with := schedule.Contact{RemindAfter: []time.Duration{2 * time.Minute, 3 * time.Minute, 4 * time.Minute}}
	planned(t, "2001-01-01T00:00:00Z", with, func(w *world) {
		a, b, began := w.ask(1), w.ask(2), time.Now()
		synctest.Wait()
		w.chats["telegram"].set(func(approval.Target) error {
			return &core.DeliveryError{Message: "slow down", RetryAfter: 5 * time.Minute}
		})
		time.Sleep(4*time.Minute + time.Second)
		w.vote(a, "1", ops)
		w.vote(a, "2", ops)
		w.chats["telegram"].set(nil)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		story := w.story(began)
		require.Equal(w.t, []string{"+0s card telegram:-100", "+0s card telegram:-100"}, story[:2])
		require.Len(w.t, story, 3, "%v", story)
		require.Contains(w.t, story[2], "text telegram:-100 @alice @bob @carol")
		require.Equal(w.t, approval.Approved, w.get(a).Status)
		require.Equal(w.t, approval.Pending, w.get(b).Status)
	})
}

// A direct message that is refused for good goes to the person's next channel.
func TestADirectMessageGoesToTheNextChannel(t *testing.T) {
	with := schedule.Contact{Escalate: []schedule.Escalation{{After: time.Minute, To: schedule.Recipient{Role: "carol"}}}}
	planned(t, "2001-01-01T00:00:00Z", with, func(w *world) {
		w.chats["telegram"].set(func(to approval.Target) error {
			if to.To == "3" {
				return &core.DeliveryError{Message: "the bot was blocked by the user", Gone: true}
			}
			return nil
		})
		a, began := w.ask(1), time.Now()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(w.t, []string{"+0s card telegram:-100", "+1m0s card discord:dm:33"}, w.story(began))
		require.Equal(w.t, []string{"carol"}, w.get(a).AlsoAsked)
		require.False(w.t, slices.ContainsFunc(w.get(a).Deliveries, func(d approval.Delivery) bool { return d.Target.To == "1" }))
	})
}

// Where no desk ran, what is overdue comes at the start: the last reminder, each escalation.
func TestThePlanAfterAStandstill(t *testing.T) {
	with := schedule.Contact{RemindAfter: []time.Duration{2 * time.Minute, 5 * time.Minute, 14 * time.Minute}, Escalate: []schedule.Escalation{
		{After: 3 * time.Minute, To: schedule.Recipient{Role: "bob"}}, {After: 4 * time.Minute, To: schedule.Recipient{Role: "carol"}}}}
	planned(t, "2001-01-01T00:00:00Z", with, func(w *world) {
		var began time.Time
		w.standstill(func() { // the timers' lease is nobody's
			a := w.ask(1)
			began = time.Now()
			time.Sleep(10 * time.Minute)
			require.Empty(w.t, w.get(a).AlsoAsked)
		})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(w.t, []string{"+0s card telegram:-100", "+10m0s card telegram:2", "+10m0s card telegram:3", "+10m0s text telegram:-100 @alice @bob @carol"}, w.story(began))
	})
}
