package core

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

const sundayNight = "2026-11-22T03:10:00+01:00"

// shift is the desk of these tests, where an R3 was asked by erin on a Sunday at 03:10,
// and has a card in a group of each platform: alice and carol have accounts on both, dora
// may not decide, and erin asked. It is alice's night, and bob is on duty.
func shift(t require.TestingT) (approval.Approval, *Rules) {
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1", "discord": "11"}}, {Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			{Name: "carol", Accounts: map[string]string{"telegram": "3", "discord": "33"}}, {Name: "dora", Accounts: map[string]string{"telegram": "4"}},
			{Name: "erin", Accounts: map[string]string{"telegram": "5"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2", "3", "5", "9"}, "discord": {"11", "33"}},
		Tokens:       map[string]string{"frank-laptop": "frank"},
	})
	require.NoError(t, err)
	night, err := schedule.ParseDaily("22:00-07:00", "Europe/Berlin")
	require.NoError(t, err)
	turns, err := schedule.NewRotation(schedule.Rota{Among: []string{"bob"}, Order: []string{"bob"}, Timezone: "UTC", Handoff: "09:00"})
	require.NoError(t, err)
	asked, err := time.Parse(time.RFC3339, sundayNight)
	require.NoError(t, err)
	a := approval.Approval{
		Names:  approval.Names{Key: "k", Code: "7KQ2AB"},
		Ended:  approval.Ended{Status: approval.Pending},
		Asked:  approval.Asked{CreatedAtMs: asked.UnixMilli(), ExpiresAtMs: asked.Add(15 * time.Minute).UnixMilli(), Askers: []approval.Requester{{Person: "erin"}}},
		Judged: approval.Judged{Rule: approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: 2, RequiresHuman: true}, Assessment: approval.Assessment{RiskClass: approval.R3}},
		Contact: approval.Contact{Deliveries: []approval.Delivery{
			{Kind: approval.CardDelivery, Target: approval.Target{Channel: "telegram", To: "-100"}, State: approval.Sent, MessageID: "7"},
			{Kind: approval.CardDelivery, Target: approval.Target{Channel: "discord", To: "42"}, State: approval.Sent, MessageID: "8"},
		}},
	}
	return a, &Rules{People: d, BreaksQuiet: approval.R4, Contact: schedule.Contact{
		Duty:  schedule.NewDuty(schedule.Roster{Name: "ops", Among: []string{"bob"}, Zone: time.UTC, Rotation: turns}),
		Roles: map[string][]string{"leads": {"carol", "dora", "erin", "frank"}, "others": {"dora", "erin"}},
		Quiet: map[string]schedule.Window{"alice": night},
	}}
}

// at gives what is done so many minutes after the ask, one line each, and the approval
// then.
func at(a approval.Approval, minutes int, rules *Rules) (lines []string, _ approval.Approval) {
	now := a.CreatedAtMs + int64(minutes)*60_000
	c, _ := Change{Approval: a.Clone()}.follow(rules, now)
	for _, d := range c.Deliveries {
		line := fmt.Sprint(d.Kind, " ", d.Target)
		for _, id := range d.Mention {
			line += " @" + id
		}
		if d.Silent {
			line += " silently"
		}
		lines = append(lines, line)
	}
	for _, e := range c.Events {
		name := strings.TrimPrefix(string(e.Type), "tool.approval.")
		lines = append(lines, "= "+name)
	}
	next := c.Approval
	next.Deliveries = append(slices.Clone(a.Deliveries), c.Deliveries...)
	return lines, next
}

func after(minutes int, to schedule.Recipient) schedule.Escalation {
	return schedule.Escalation{After: time.Duration(minutes) * time.Minute, To: to}
}

// What is done at a step, by what is configured and by who is there.
func TestStepsOfThePlan(t *testing.T) {
	t.Parallel()
	remind := func(minutes ...int) func(*approval.Approval, *Rules) {
		return func(_ *approval.Approval, r *Rules) {
			for _, m := range minutes {
				r.Contact.RemindAfter = append(r.Contact.RemindAfter, time.Duration(m)*time.Minute)
			}
		}
	}
	escalate := func(e ...schedule.Escalation) func(*approval.Approval, *Rules) {
		return func(_ *approval.Approval, r *Rules) { r.Contact.Escalate = e }
	}
	both := func(all ...func(*approval.Approval, *Rules)) func(*approval.Approval, *Rules) {
		return func(a *approval.Approval, r *Rules) {
			for _, f := range all {
				f(a, r)
			}
		}
	}
	r4 := func(a *approval.Approval, _ *Rules) { a.Assessment.RiskClass = approval.R4 }
	voted := func(who, id string) func(*approval.Approval, *Rules) {
		return func(a *approval.Approval, _ *Rules) {
			a.Votes = append(a.Votes, approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Voter: &approval.Voter{Person: who, Channel: "telegram", UserID: id}})
		}
	}
	dm := func(to string, s approval.DeliveryState) func(*approval.Approval, *Rules) {
		return func(a *approval.Approval, _ *Rules) {
			target, err := approval.ParseTarget(to)
			require.NoError(t, err)
			a.Deliveries = append(a.Deliveries, approval.Delivery{Kind: approval.CardDelivery, Target: target, State: s, MessageID: map[bool]string{true: "9"}[s == approval.Sent]})
		}
	}
	also := func(names ...string) func(*approval.Approval, *Rules) {
		return func(a *approval.Approval, _ *Rules) {
			a.AlsoAsked, a.PlanDoneMs = names, a.CreatedAtMs+1
		}
	}
	duty, leads, room := schedule.Recipient{Duty: "ops"}, schedule.Recipient{Role: "leads"}, schedule.Recipient{Chat: "telegram:-200"}
	for _, c := range []struct {
		name string
		set  func(*approval.Approval, *Rules)
		at   int
		want []string
		also []string
		why  string
		next int // minutes after the ask
	}{
		{"nothing is due before its time", remind(5, 12), 4, nil, nil, "", 5},
		{"a reminder mentions who has not voted, where they are", both(r4, remind(5, 12), voted("carol", "3")), 5,
			[]string{"reminder telegram:-100 @1 @2", "reminder discord:42 @11", "= reminded"}, nil, "", 12},
		{"not who sleeps", remind(5), 5, []string{"reminder telegram:-100 @2 @3", "reminder discord:42 @33", "= reminded"}, nil, "", 0},
		{"but who sleeps is not woken later than the expiry", both(remind(5), voted("bob", "2"), voted("carol", "3")), 5, []string{"= reminded"}, nil, "", 0},
		{"of overdue reminders the last one", both(r4, remind(2, 5, 12)), 11,
			[]string{"reminder telegram:-100 @1 @2 @3", "reminder discord:42 @11 @33", "= reminded"}, nil, "", 12},
		{"a card that did not arrive is not answered", both(r4, remind(5), func(a *approval.Approval, _ *Rules) {
			a.Deliveries[0].State, a.Deliveries[0].MessageID = approval.Queued, ""
		}), 5,
			[]string{"reminder discord:42 @11 @33", "= reminded"}, nil, "", 0},
		{"nor twice at once", both(r4, remind(5), func(a *approval.Approval, _ *Rules) {
			a.Deliveries = append(a.Deliveries, approval.Delivery{Kind: approval.ReminderDelivery, Target: a.Deliveries[0].Target, State: approval.Queued, ReplyTo: "7"})
		}), 5, []string{"reminder discord:42 @11 @33", "= reminded"}, nil, "", 0},
		{"where nobody who is named is left, groups hear all the same", both(r4, remind(5), voted("alice", "1"), voted("bob", "2"), voted("carol", "3")), 5,
			[]string{"reminder telegram:-100", "reminder discord:42", "= reminded"}, nil, "", 0},
		{"an escalation asks who is on duty", escalate(after(5, duty), after(10, leads)), 5, []string{"card telegram:2", "= escalated"}, []string{"bob"}, "", 10},
		{"of a role who could decide", escalate(after(5, leads)), 5, []string{"card telegram:3", "= escalated"}, []string{"carol"}, "", 0},
		{"a chat", escalate(after(5, room)), 5, []string{"card telegram:-200", "= escalated"}, []string{"telegram:-200"}, "", 0},
		{"not the direct messages of who asked, but everybody", both(r4, escalate(after(5, schedule.Recipient{Chat: "telegram:5"}))), 5,
			[]string{"card telegram:1", "card telegram:2", "card telegram:3", "= escalated"}, []string{"alice", "bob", "carol"},
			"none of its recipients can be asked, so everyone is asked", 0},
		{"nor of who may not decide", both(r4, escalate(after(5, schedule.Recipient{Chat: "telegram:4"}))), 5,
			[]string{"card telegram:1", "card telegram:2", "card telegram:3", "= escalated"}, []string{"alice", "bob", "carol"},
			"none of its recipients can be asked, so everyone is asked", 0},
		{"nor of who has voted", both(r4, escalate(after(5, schedule.Recipient{Chat: "telegram:2"})), voted("bob", "2")), 5,
			[]string{"card telegram:1", "card telegram:3", "= escalated"}, []string{"alice", "carol"},
			"none of its recipients can be asked, so everyone is asked", 0},
		{"nor of who is away", both(r4, escalate(after(5, schedule.Recipient{Chat: "telegram:2"})), func(a *approval.Approval, r *Rules) {
			r.People = r.People.At(time.UnixMilli(a.CreatedAtMs), people.Absence{Person: "bob", UntilMs: a.ExpiresAtMs})
		}), 5, []string{"card telegram:1", "card telegram:3", "= escalated"}, []string{"alice", "carol"},
			"none of its recipients can be asked, so everyone is asked", 0},
		{"those of who could decide", escalate(after(5, schedule.Recipient{Chat: "telegram:2"})), 5, []string{"card telegram:2", "= escalated"}, []string{"telegram:2"}, "", 0},
		{"of an account that is nobody's, too", both(escalate(after(5, schedule.Recipient{Chat: "telegram:9"})), func(a *approval.Approval, _ *Rules) { a.Rule.MinApprovals = 1 }), 5, []string{"card telegram:9", "= escalated"}, []string{"telegram:9"}, "", 0},
		{"without a sound where they sleep", escalate(after(5, schedule.Recipient{Chat: "telegram:1"})), 5, []string{"card telegram:1 silently", "= escalated"}, []string{"telegram:1"}, "", 0},
		{"a chat, without a sound where all sleep", both(escalate(after(5, room)), func(_ *approval.Approval, r *Rules) {
			r.Contact.Quiet["bob"], r.Contact.Quiet["carol"] = r.Contact.Quiet["alice"], r.Contact.Quiet["alice"]
		}), 5, []string{"card telegram:-200 silently", "= escalated"}, []string{"telegram:-200"}, "", 0},
		{"not one that has a card", both(escalate(after(5, room)), dm("telegram:-200", approval.Queued)), 5, []string{"= escalated"}, nil, "", 0},
		{"overdue escalations each, in one step", escalate(after(5, duty), after(6, leads), after(7, room)), 9,
			[]string{"card telegram:2", "card telegram:3", "card telegram:-200", "= escalated", "= escalated", "= escalated"},
			[]string{"bob", "carol", "telegram:-200"}, "", 0},
		{"where nobody of them could decide everybody is asked, and it is said", both(r4, escalate(after(5, schedule.Recipient{Role: "others"}))), 5,
			[]string{"card telegram:1", "card telegram:2", "card telegram:3", "= escalated"}, []string{"alice", "bob", "carol"},
			"none of its recipients can be asked, so everyone is asked", 0},
		{"a roster that is no more asks everybody too", both(r4, escalate(after(5, schedule.Recipient{Duty: "gone"}))), 5,
			[]string{"card telegram:1", "card telegram:2", "card telegram:3", "= escalated"}, []string{"alice", "bob", "carol"},
			"none of its recipients can be asked, so everyone is asked", 0},
		{"who is on duty is not known", both(r4, escalate(after(5, duty)), func(_ *approval.Approval, r *Rules) {
			r.Contact.Duty = schedule.NewDuty(schedule.Roster{Name: "ops", Among: []string{"alice", "bob", "dora"}, Calendar: schedule.NewCalendar("", nil, time.UTC)})
		}), 5, []string{"card telegram:1", "card telegram:2", "= escalated"}, []string{"alice", "bob"}, "it is not known who is on duty: the calendar was not read yet", 0},
		{"who sleeps is asked without a sound where nobody else was reached", both(escalate(after(5, schedule.Recipient{Role: "night"})), func(a *approval.Approval, r *Rules) {
			r.Contact.Roles["night"], a.Deliveries = []string{"alice"}, nil
		}), 5, []string{"card telegram:1 silently", "= escalated"}, []string{"alice"}, "", 0},
		{"else not", both(escalate(after(5, schedule.Recipient{Role: "night"})), func(_ *approval.Approval, r *Rules) { r.Contact.Roles["night"] = []string{"alice"} }), 5,
			[]string{"= escalated"}, nil, "", 0},
		{"a direct message that failed for good goes to the next channel", both(also("carol"), dm("telegram:3", approval.Failed)), 6, []string{"card discord:dm:33"}, []string{"carol"}, "", 0},
		{"and where none is left to everybody", both(r4, also("carol"), dm("telegram:3", approval.Failed), dm("discord:dm:33", approval.Failed)), 6,
			[]string{"card telegram:1", "card telegram:2", "= escalated"}, []string{"alice", "bob"}, "carol cannot be reached, so everyone is asked", 0},
		{"without a sound where all of them sleep", both(also("carol"), dm("telegram:3", approval.Failed), dm("discord:dm:33", approval.Failed), func(_ *approval.Approval, r *Rules) {
			r.Contact.Quiet["bob"] = r.Contact.Quiet["alice"]
		}), 6, []string{"card telegram:1 silently", "card telegram:2 silently", "= escalated"}, []string{"alice", "bob"}, "carol cannot be reached, so everyone is asked", 0},
		{"so does a chat that takes no card", both(r4, also("bob", "telegram:-200"), dm("telegram:2", approval.Sent), dm("telegram:-200", approval.Failed)), 6,
			[]string{"card telegram:1", "card telegram:3", "= escalated"}, []string{"bob", "alice", "carol"}, "telegram:-200 cannot be reached, so everyone is asked", 0},
		{"but one that is on its way", both(r4, also("telegram:-200"), dm("telegram:-200", approval.Queued)), 6, nil, []string{"telegram:-200"}, "", 0},
		{"one that is on its way is waited for", both(also("carol"), dm("telegram:3", approval.Queued)), 6, nil, []string{"carol"}, "", 0},
		{"who has a card already is reminded of it", both(escalate(after(5, leads)), dm("telegram:3", approval.Sent)), 5,
			[]string{"reminder telegram:3 @3", "= escalated"}, []string{"carol"}, "", 0},
		{"a reminder goes to direct messages too, of who could decide", both(remind(5), func(a *approval.Approval, _ *Rules) { a.Rule.MinApprovals = 1 }, dm("telegram:3", approval.Sent), dm("telegram:1", approval.Sent), dm("telegram:5", approval.Sent), dm("telegram:9", approval.Sent)), 5,
			[]string{"reminder telegram:-100 @2 @3", "reminder discord:42 @33", "reminder telegram:3 @3", "reminder telegram:9", "= reminded"}, nil, "", 0},
		{"what only the verifier's people decide goes to no further chat", both(escalate(after(5, room)), func(a *approval.Approval, _ *Rules) {
			a.Rule.Verifier = &approval.VerifierNeed{Accounts: []string{"telegram:7"}, Instead: "policy"}
		}), 5, []string{"= escalated"}, nil, "", 0},
		{"a drill has asked everybody", both(remind(5), func(a *approval.Approval, _ *Rules) { a.ToolName = approval.DrillTool }), 5, nil, nil, "", 0},
		{"what has ended takes no step", both(remind(5), escalate(after(5, duty)), func(a *approval.Approval, _ *Rules) { a.Status = approval.Approved }), 5, nil, nil, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, rules := shift(t)
			c.set(&a, rules)
			lines, then := at(a, c.at, rules)
			require.Equal(t, c.want, lines)
			require.Equal(t, c.also, then.AlsoAsked)
			require.Equal(t, c.why, then.AskedWhy)
			next := int64(0)
			if c.next > 0 {
				next = a.CreatedAtMs + int64(c.next)*60_000
			}
			require.Equal(t, next, then.PlanMs)
			again, _ := at(then, c.at, rules)
			require.Empty(t, again, "nothing is done twice")
		})
	}
}

// Who was left alone hears of it when their quiet hours end, once.
func TestTheEndOfQuietHours(t *testing.T) {
	t.Parallel()
	a, rules := shift(t)
	morning, err := time.Parse(time.RFC3339, "2026-11-23T06:52:00+01:00")
	require.NoError(t, err)
	a.CreatedAtMs, a.ExpiresAtMs = morning.UnixMilli(), morning.Add(15*time.Minute).UnixMilli()
	rules.Contact.RemindAfter = []time.Duration{5 * time.Minute, 10 * time.Minute}
	lines, a := at(a, 5, rules)
	require.Equal(t, []string{"reminder telegram:-100 @2 @3", "reminder discord:42 @33", "= reminded"}, lines)
	require.Equal(t, []string{"alice"}, a.Held)
	require.Equal(t, a.CreatedAtMs+8*60_000, a.PlanMs)
	require.Equal(t, a.PlanMs, TimerMs(a))
	lines, a = at(a, 8, rules)
	require.Equal(t, []string{"card telegram:1", "= escalated"}, lines)
	require.Empty(t, a.Held)
	require.Equal(t, []string{"alice"}, a.AlsoAsked)
	for i := range a.Deliveries {
		a.Deliveries[i].State, a.Deliveries[i].MessageID = approval.Sent, fmt.Sprint(i)
	}
	lines, _ = at(a, 10, rules)
	require.Equal(t, []string{"reminder telegram:-100 @1 @2 @3", "reminder discord:42 @11 @33", "reminder telegram:1 @1", "= reminded"}, lines)
}

// The first cards make no sound where everybody who could decide sleeps.
func TestFirstCardsInQuietHours(t *testing.T) {
	t.Parallel()
	group, direct := approval.Target{Channel: "telegram", To: "-100"}, approval.Target{Channel: "telegram", To: "1"}
	for _, c := range []struct {
		name         string
		class        approval.RiskClass
		sleeps       []string
		group, alice bool
	}{
		{"all sleep", approval.R3, []string{"alice", "bob", "carol"}, true, true},
		{"a class that may wake them", approval.R4, []string{"alice", "bob", "carol"}, false, false},
		{"one is awake", approval.R3, []string{"alice", "bob"}, false, true},
		{"only whoever asked, and who may not decide, are awake", approval.R3, []string{"alice", "bob", "carol"}, true, true},
		{"nobody sleeps", approval.R3, nil, false, false},
	} {
		a, rules := shift(t)
		night := rules.Contact.Quiet["alice"]
		clear(rules.Contact.Quiet)
		for _, name := range c.sleeps {
			rules.Contact.Quiet[name] = night
		}
		a.Assessment.RiskClass, a.Deliveries = c.class, nil
		got := Change{Approval: a}.cards([]approval.Target{group, direct}, nil, rules, a.CreatedAtMs).Deliveries
		require.Equal(t, []bool{c.group, c.alice}, []bool{got[0].Silent, got[1].Silent}, c.name)
	}
}

// So do those at fallback targets, and the ones in the direct messages of who is away.
func TestFallbackCardsInQuietHours(t *testing.T) {
	t.Parallel()
	spare, alice, bob := approval.Target{Channel: "telegram", To: "-300"}, approval.Target{Channel: "telegram", To: "1"}, approval.Target{Channel: "telegram", To: "2"}
	silent := func(set func(*approval.Approval, *Rules)) (out []bool) {
		a, rules := shift(t)
		set(&a, rules)
		for _, place := range []approval.Target{spare, alice, bob} {
			d := furtherCard(a, place, a.CreatedAtMs)
			d.Fallback = true
			cards := []approval.Delivery{d}
			hush(a, cards, rules, a.CreatedAtMs+1)
			out = append(out, cards[0].Silent)
		}
		return out
	}
	require.Equal(t, []bool{false, true, false}, silent(func(*approval.Approval, *Rules) {}))
	all := func(_ *approval.Approval, r *Rules) {
		r.Contact.Quiet["bob"], r.Contact.Quiet["carol"] = r.Contact.Quiet["alice"], r.Contact.Quiet["alice"]
	}
	require.Equal(t, []bool{true, true, true}, silent(all))
	require.Equal(t, []bool{false, false, false}, silent(func(a *approval.Approval, r *Rules) { all(a, r); a.Assessment.RiskClass = approval.R4 }))
	gone := func(names ...string) func(*approval.Approval, *Rules) {
		return func(a *approval.Approval, r *Rules) {
			var absences []people.Absence
			for _, name := range names {
				absences = append(absences, people.Absence{Person: name, UntilMs: a.ExpiresAtMs})
			}
			clear(r.Contact.Quiet)
			r.People = r.People.At(time.UnixMilli(a.CreatedAtMs), absences...)
		}
	}
	require.Equal(t, []bool{false, false, true}, silent(gone("bob")))
	require.Equal(t, []bool{false, false, false}, silent(gone("alice", "bob", "carol", "frank")), "never nobody")
}

// A reminder is drawn for who could still decide when it leaves.
func TestAReminderIsForWhoHasNotVoted(t *testing.T) {
	t.Parallel()
	a, rules := shift(t)
	d := approval.Delivery{Kind: approval.ReminderDelivery, Target: a.Deliveries[0].Target, Mention: []string{"1", "2", "5", "9"}}
	got := card.Draw(a, d, nil, card.Reader{People: rules.People, Zone: time.UTC})
	require.Equal(t, []card.Mentioned{{Name: "alice", UserID: "1"}, {Name: "bob", UserID: "2"}}, got.Mention, "not who asked")
	require.Contains(t, got.Text, "7KQ2AB still waits for a decision, until ")
	for _, v := range []approval.Voter{{Person: "alice", Channel: "telegram", UserID: "1"}, {Person: "bob", Channel: "telegram", UserID: "2"}} {
		a.Votes = append(a.Votes, approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Voter: &v})
	}
	require.Equal(t, "all who were to be reminded have voted", card.Draw(a, d, nil, card.Reader{People: rules.People, Zone: time.UTC}).Skip)
	a.Status = approval.Approved
	require.Equal(t, "it has ended", card.Draw(a, d, nil, card.Reader{People: rules.People, Zone: time.UTC}).Skip)
}

// The card says whom escalations have asked, and why others.
func TestACardSaysWhoWasAskedToo(t *testing.T) {
	t.Parallel()
	a, rules := shift(t)
	a.AlsoAsked, a.AskedWhy = []string{"bob", "telegram:-200"}, "it is not known who is on duty"
	card := card.Draw(a, approval.Delivery{Kind: approval.CardDelivery, MessageID: "7", Shown: true}, nil, card.Reader{People: rules.People, Zone: time.UTC}).Card
	require.Contains(t, card.State.Also, "also asked: bob, telegram:-200 (it is not known who is on duty)")
}

// Whatever is configured and happens: nobody is asked who could not decide, nothing
// follows the end, no person gets two cards in one place, and the next step lies ahead.
func TestSteps_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, rules := shift(t)
		minutes := rapid.IntRange(1, 14)
		for range rapid.IntRange(0, 5).Draw(t, "escalations") {
			to := rapid.SampledFrom([]schedule.Recipient{{Duty: "ops"}, {Role: "leads"}, {Role: "others"}, {Duty: "x"}, {Chat: "telegram:-200"}}).Draw(t, "to")
			rules.Contact.Escalate = append(rules.Contact.Escalate, after(minutes.Draw(t, "after"), to))
		}
		for range rapid.IntRange(0, 3).Draw(t, "reminders") {
			rules.Contact.RemindAfter = append(rules.Contact.RemindAfter, time.Duration(minutes.Draw(t, "remind"))*time.Minute)
		}
		for _, name := range []string{"bob", "carol"} {
			if rapid.Bool().Draw(t, "sleeps") {
				rules.Contact.Quiet[name] = rules.Contact.Quiet["alice"]
			}
		}
		a.Assessment.RiskClass = rapid.SampledFrom([]approval.RiskClass{approval.R2, approval.R4}).Draw(t, "class")
		for minute := 1; minute <= 20; minute += rapid.IntRange(1, 6).Draw(t, "later") {
			now := a.CreatedAtMs + int64(minute)*60_000
			c := Change{Approval: a.Clone()}
			if now >= a.ExpiresAtMs {
				c = expire(a, now)
			}
			events := len(c.Events)
			c, _ = c.follow(rules, now)
			if c.Approval.Final() {
				require.Equal(t, events, len(c.Events), "no step follows the end")
				return
			}
			require.True(t, c.Approval.PlanMs == 0 || c.Approval.PlanMs > now)
			for _, d := range c.Deliveries {
				if r, private := d.Target.Direct(); private {
					who := rules.People.Identify(approval.Voter{Channel: r.Channel, UserID: r.UserID}).Person
					require.Contains(t, []string{"alice", "bob", "carol"}, who)
					require.True(t, d.Silent || !quiet(a, who, rules, now), "%s sleeps", who)
				}
				if d.Kind == approval.CardDelivery {
					require.False(t, Change{Approval: a}.hasCardAt(d.Target))
				}
				for _, id := range d.Mention {
					require.Contains(t, []string{"1", "2", "3", "11", "33"}, id)
				}
			}
			a = c.Approval
			for _, d := range c.Deliveries {
				d.State = rapid.SampledFrom([]approval.DeliveryState{approval.Queued, approval.Sent, approval.Failed}).Draw(t, "state")
				d.MessageID = map[bool]string{true: fmt.Sprint("m", len(a.Deliveries))}[d.State == approval.Sent]
				a.Deliveries = append(a.Deliveries, d)
			}
		}
	})
}

// R4 has a card of its own also where the end of quiet hours comes after other rules have
// made it one.
func TestAdversary_D10_AnR4IsSummedUpByItsOwnCard(t *testing.T) {
	t.Parallel()
	for class, want := range map[approval.RiskClass]approval.DeliveryState{approval.R3: approval.Folded, approval.R4: approval.Queued} {
		a, rules := shift(t)
		rules.Contact.RemindAfter = []time.Duration{5 * time.Minute}
		_, a = at(a, 5, rules)
		require.Equal(t, []string{"alice"}, a.Held)
		a.Assessment.RiskClass = class
		clear(rules.Contact.Quiet)
		c, _ := Change{Approval: a}.follow(rules, a.CreatedAtMs+6*60_000)
		require.Len(t, c.Deliveries, 1)
		require.Equal(t, want, c.Deliveries[0].State, class.String())
	}
}
