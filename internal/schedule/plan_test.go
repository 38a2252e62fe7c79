package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const quarter = 15 * time.Minute

// contact is a group, alice and bob in turns, leads, and quiet nights of alice's.
func contact(t require.TestingT) Contact {
	rota := berlin()
	rota.Order = []string{"alice", "bob"}
	r, err := NewRotation(rota)
	require.NoError(t, err)
	night, err := ParseDaily("22:00-07:00", "Europe/Berlin")
	require.NoError(t, err)
	return Contact{
		Groups:      []string{"ops"},
		RemindAfter: []time.Duration{12 * time.Minute},
		Escalate: []Escalation{
			{10 * time.Minute, Recipient{Role: "leads"}}, {5 * time.Minute, Recipient{Duty: "ops"}}, {14 * time.Minute, Recipient{Chat: "telegram:-100"}},
		},
		Duty:  NewDuty(Roster{Name: "ops", Among: []string{"alice", "bob", "carol"}, Zone: r.zone, Rotation: r}),
		Roles: map[string][]string{"leads": {"alice", "bob", "mallory"}},
		Quiet: map[string]Window{"alice": night},
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	const sunday, monday = "2026-11-22T03:10:00+01:00", "2026-11-23T06:52:00+01:00"
	all := []string{"alice", "bob"}
	for _, c := range []struct {
		name, now string
		expires   time.Duration
		breaks    bool
		eligible  []string
		change    func(*Contact)
		want      string
	}{
		{"R4 on a Sunday at 03:10", sunday, quarter, true, all, nil,
			"ops at once → alice on duty at +5 min → bob at +10 min → reminder to alice, bob at +12 min → telegram:-100 at +14 min → expires at +15 min"},
		{"R3 leaves alice alone", sunday, quarter, false, all, nil,
			"ops at once → nobody on duty at +5 min (not alice: quiet hours) → bob at +10 min (not alice: quiet hours) → " +
				"reminder to bob at +12 min (not alice: quiet hours) → telegram:-100 at +14 min → expires at +15 min"},
		{"quiet hours end meanwhile", monday, quarter, false, []string{"alice"}, func(c *Contact) { c.Escalate, c.RemindAfter = nil, []time.Duration{5 * time.Minute} },
			"ops at once (silently) → reminder to nobody at +5 min (not alice: quiet hours; nobody is left to remind) → alice after quiet hours at +8 min → expires at +15 min"},
		{"nobody else is there", sunday, quarter, false, []string{"alice"}, func(c *Contact) { c.RemindAfter = nil },
			"ops at once (silently) → alice on duty at +5 min (silently) → nobody at +10 min (nobody is left to ask) → telegram:-100 at +14 min (silently) → expires at +15 min"},
		{"who could not decide is not asked", sunday, quarter, true, []string{"bob"}, func(c *Contact) { c.RemindAfter = nil },
			"ops at once → bob at +5 min (none of its recipients can be asked, so everyone is asked) → " +
				"nobody at +10 min (nobody is left to ask) → telegram:-100 at +14 min → expires at +15 min"},
		{"what comes too late", sunday, 5 * time.Minute, true, all, nil,
			"ops at once → expires at +5 min (4 later steps never happen)"},
		{"a handover in between", "2026-11-23T08:57:00+01:00", quarter, true, all, func(c *Contact) { c.RemindAfter, c.Escalate = nil, c.Escalate[1:2] },
			"ops at once → bob on duty at +5 min → expires at +15 min"},
		{"nothing configured", sunday, 90 * time.Second, false, all, func(c *Contact) { *c = Contact{} }, "expires at +90 s"},
		{"who is on duty is not known", sunday, quarter, true, []string{"alice", "bob", "carol"}, func(c *Contact) {
			c.RemindAfter, c.Escalate = nil, c.Escalate[1:2]
			c.Duty = NewDuty(Roster{Name: "ops", Among: []string{"alice", "bob", "carol"}, Calendar: NewCalendar("", nil, time.UTC)})
		}, "ops at once → alice, bob, carol on duty at +5 min (the calendar was not read yet) → expires at +15 min"},
	} {
		with := contact(t)
		if c.change != nil {
			c.change(&with)
		}
		steps := Plan(with, Ask{At: at(t, c.now), Expires: c.expires, BreaksQuiet: c.breaks, Eligible: c.eligible})
		require.Equal(t, c.want, Line(steps), c.name)
	}
}

// Of an ask that has waited, the plan is what is left to do, by who is there now.
func TestPlan_OfAnAskThatHasWaited(t *testing.T) {
	t.Parallel()
	const sunday, monday = "2026-11-22T03:10:00+01:00", "2026-11-23T06:52:00+01:00"
	for _, c := range []struct {
		name, at string
		ask      Ask
		change   func(*Contact)
		want     string
	}{
		{"what was done is not done again", sunday, Ask{BreaksQuiet: true, Now: 6 * time.Minute, Done: 6 * time.Minute, Asked: []string{"alice"}}, nil,
			"bob at +10 min → reminder to alice, bob, carol at +12 min → telegram:-100 at +14 min → expires at +15 min"},
		{"overdue: each escalation, the latest reminder", sunday, Ask{BreaksQuiet: true, Now: 13 * time.Minute}, func(c *Contact) {
			c.RemindAfter = []time.Duration{time.Minute, 12 * time.Minute, 3 * time.Minute}
		}, "ops at once → alice on duty at +13 min → bob at +13 min → reminder to alice, bob, carol at +13 min → telegram:-100 at +14 min → expires at +15 min"},
		{"overdue: who is on duty now", "2026-11-23T08:50:00+01:00", Ask{BreaksQuiet: true, Now: 11 * time.Minute, Done: time.Minute}, func(c *Contact) {
			c.RemindAfter, c.Escalate = nil, c.Escalate[1:2]
		}, "bob on duty at +11 min → expires at +15 min"},
		{"who waited hears at the end of quiet hours, and once", monday, Ask{Now: 6 * time.Minute, Done: 6 * time.Minute, Held: []string{"alice"}}, nil,
			"alice after quiet hours at +8 min → bob at +10 min → reminder to alice, bob, carol at +12 min → telegram:-100 at +14 min → expires at +15 min"},
		{"quiet hours ended while no desk ran", monday, Ask{Now: 9 * time.Minute, Done: 6 * time.Minute, Held: []string{"alice"}}, func(c *Contact) { c.Escalate, c.RemindAfter = nil, nil },
			"alice after quiet hours at +9 min → expires at +15 min"},
		{"who has voted meanwhile is not asked", monday, Ask{Now: 6 * time.Minute, Done: 6 * time.Minute, Held: []string{"dora"}}, func(c *Contact) { c.Escalate, c.RemindAfter = nil, nil },
			"expires at +15 min"},
	} {
		with := contact(t)
		if c.change != nil {
			c.change(&with)
		}
		c.ask.At, c.ask.Expires, c.ask.Eligible = at(t, c.at), quarter, []string{"alice", "bob", "carol"}
		require.Equal(t, c.want, Line(Plan(with, c.ask)), c.name)
	}
}

func TestParseRecipient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text    string
		rosters []string
		want    Recipient
		ok      bool
	}{
		{"onDuty", []string{"ops"}, Recipient{Duty: "ops"}, true},
		{"onDuty", []string{"ops", "dev"}, Recipient{}, false},
		{"onDuty", nil, Recipient{}, false},
		{"onDuty:dev", []string{"ops", "dev"}, Recipient{Duty: "dev"}, true},
		{"onDuty:x", []string{"ops", "dev"}, Recipient{}, false},
		{"role:leads", nil, Recipient{Role: "leads"}, true},
		{"role:", nil, Recipient{}, false},
		{"", nil, Recipient{}, false},
		{"telegram:-100", nil, Recipient{Chat: "telegram:-100"}, true},
	} {
		got, err := ParseRecipient(c.text, c.rosters)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, c.ok, err == nil, c.text)
	}
}

// Whatever is configured: a plan ends with the expiry and nothing at or after it, only
// those who could decide are asked, each once, and nobody's quiet hours are broken but
// by a class that may, or without a sound.
func TestPlan_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		names := []string{"alice", "bob", "carol"}
		c := contact(t)
		c.Escalate, c.RemindAfter = nil, nil
		minutes := rapid.IntRange(0, 40)
		for range rapid.IntRange(0, 6).Draw(t, "escalations") {
			to := rapid.SampledFrom([]Recipient{{Duty: "ops"}, {Role: "leads"}, {Role: "nobody"}, {Chat: "x"}}).Draw(t, "to")
			c.Escalate = append(c.Escalate, Escalation{time.Duration(minutes.Draw(t, "after")) * time.Minute, to})
		}
		for range rapid.IntRange(0, 3).Draw(t, "reminders") {
			c.RemindAfter = append(c.RemindAfter, time.Duration(minutes.Draw(t, "remind"))*time.Minute)
		}
		for _, name := range names {
			hour, long := rapid.IntRange(0, 23).Draw(t, "hour"), rapid.IntRange(1, 23).Draw(t, "long")
			w, err := Daily(fmt.Sprintf("%02d:00-%02d:00", hour, (hour+long)%24), "Australia/Lord_Howe")
			require.NoError(t, err)
			c.Quiet[name] = w
		}
		ask := Ask{
			At: time.Unix(rapid.Int64Range(1767225600, 1830297600).Draw(t, "at"), 0), Expires: time.Duration(rapid.IntRange(1, 60).Draw(t, "expires")) * time.Minute,
			BreaksQuiet: rapid.Bool().Draw(t, "breaks"), Eligible: names[:rapid.IntRange(0, 3).Draw(t, "eligible")],
		}
		steps := Plan(c, ask)
		require.Equal(t, steps, Plan(c, ask), "the same plan")
		require.Equal(t, StepExpire, steps[len(steps)-1].Kind)
		require.Equal(t, ask.Expires, steps[len(steps)-1].After)
		times := map[string]int{}
		for i, s := range steps[:len(steps)-1] {
			require.Less(t, s.After, ask.Expires)
			require.True(t, i == 0 || steps[i-1].After <= s.After, "in order")
			for _, name := range s.People {
				require.True(t, slices.Contains(ask.Eligible, name))
				quiet := c.Quiet[name].Contains(ask.At.Add(s.After))
				require.True(t, !quiet || ask.BreaksQuiet || s.Silent, "%s: %v", name, s)
				if s.Kind == StepEscalate || s.Kind == StepSumUp {
					times[name]++
				}
			}
		}
		for name, n := range times {
			require.Equal(t, 1, n, "%s is asked once", name)
		}
	})
}
