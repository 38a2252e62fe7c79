package core_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

var (
	admin    = core.Caller{Token: "admin", MayAdmin: true}
	bobAdmin = core.Caller{Token: "bob-admin", Person: "bob", MayAdmin: true}
	hour     = time.Hour.Milliseconds()
)

// needing has the tool "ops" need somebody with that role, and gives it to alice.
func (d *fixture) needing(t *testing.T) {
	t.Helper()
	d.needingBeside(t, people.Person{Name: "carl", Accounts: map[string]string{"telegram": "3"}})
}

// needingBeside is needing with one person more, who may decide by API if they have a role.
func (d *fixture) needingBeside(t *testing.T, more people.Person) {
	t.Helper()
	tokens := map[string]string{"alice-laptop": "alice", "bob-laptop": "bob"}
	if len(more.Roles) > 0 {
		tokens[more.Name+"-laptop"] = more.Name
	}
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1"}, Roles: []string{"ops"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			more,
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2", "9"}},
		Tokens:       tokens,
	})
	require.NoError(t, err)
	d.use(func(r *core.Rules) {
		r.People, r.Policy = people, opsPolicy{byName{hash: "1"}}
		r.Classes = []core.ClassRule{{Class: approval.R2, Rule: ruleOf(1)}, {Class: approval.R4, Rule: ruleOf(2)}}
	})
}

func ruleOf(quorum int) approval.Rule {
	return approval.Rule{Effective: []approval.Factor{approval.UserRequest}, MinApprovals: quorum, RequiresHuman: true}
}

// opsPolicy is byName with the tool "ops", which needs that role.
type opsPolicy struct{ byName }

func (p opsPolicy) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	if c.ToolName == "ops" {
		j.Rule.Needs = []approval.Need{{Role: "ops", Min: 1}}
	}
	return j
}

func (d *fixture) away(t *testing.T, who core.Caller, person, to string) core.Left {
	t.Helper()
	left, err := d.Absences().SetAway(t.Context(), who, core.Leave{Person: person, To: to, UntilMs: time.Now().UnixMilli() + hour})
	require.NoError(t, err)
	return left
}

func (d *fixture) allow(t *testing.T, a approval.Approval, who core.Caller) approval.Approval {
	t.Helper()
	a, err := d.VoteAs(t.Context(), who, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	return a
}

// another is a second instance on the same store, which knows nothing yet.
func (d *fixture) another() *fixture {
	return &fixture{core.NewGate(d.store.CoreStores(), d.rules, slog.New(slog.DiscardHandler)), d.store, d.rules, nil}
}

// Who may say that somebody is away: they themselves with a token that may decide, and an
// operator, but not to be lent what is another's.
func TestAdversary_I10_WhoSaysThatSomebodyIsAway(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	for name, c := range map[string]struct {
		who        core.Caller
		person, to string
		want       approval.Code
	}{
		"oneself":                       {alice, "alice", "bob", ""},
		"an operator":                   {admin, "alice", "bob", ""},
		"another":                       {bob, "alice", "bob", approval.CodeForbidden},
		"another, lending nothing":      {bob, "alice", "", approval.CodeForbidden},
		"an operator, to themselves":    {bobAdmin, "alice", "bob", approval.CodeForbidden},
		"an operator, for themselves":   {bobAdmin, "bob", "alice", ""},
		"an agent with nobody's token":  {agent, "alice", "bob", approval.CodeForbidden},
		"an agent with alice's token":   {core.Caller{Token: "agent", Person: "alice", MayRequest: true}, "alice", "bob", approval.CodeForbidden},
		"a token of nobody that may":    {core.Caller{Token: "ops", MayDecide: true}, "", "bob", approval.CodeForbidden},
		"an auditor with alice's token": {core.Caller{Token: "audit", Person: "alice", MayAudit: true}, "alice", "", approval.CodeForbidden},
		"a person that there is not":    {admin, "zoe", "", approval.CodeNotFound},
		"to one who is no approver":     {alice, "alice", "carl", approval.CodeInvalidRequest},
		"to one who is nobody":          {alice, "alice", "zoe", approval.CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.Absences().SetAway(t.Context(), c.who, core.Leave{Person: c.person, To: c.to, UntilMs: time.Now().UnixMilli() + hour})
			require.Equal(t, c.want, approval.CodeOf(err), "%v", err)
			was, err := d.Absences().SetBack(t.Context(), admin, cmp.Or(c.person, "alice"))
			require.Equal(t, c.want == "", was)
			require.Contains(t, []approval.Code{"", approval.CodeNotFound}, approval.CodeOf(err))
		})
	}
	d.away(t, alice, "alice", "bob")
	for _, who := range []core.Caller{agent, bob, {Token: "agent", Person: "alice", MayRequest: true}, {Token: "ops", MayDecide: true}} {
		_, err := d.Absences().SetBack(t.Context(), who, "alice")
		require.Equal(t, approval.CodeForbidden, approval.CodeOf(err), who.Token)
	}
	was, err := d.Absences().SetBack(t.Context(), alice, "alice")
	require.NoError(t, err)
	require.True(t, was)
	all, err := d.store.Absences(t.Context())
	require.NoError(t, err)
	require.Empty(t, all.All)
}

// In a chat an approver says so of themselves, and nobody else does; refusals are on record,
// and what came in is handled in the same commit.
func TestAway_InAChat(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	until := time.Now().UnixMilli() + hour
	ref := func(id int64) *approval.InboundRef {
		return &approval.InboundRef{Source: "telegram:1", ID: id, Unstored: &approval.Inbound{}}
	}
	left, err := d.Chats().VoterAway(t.Context(), approval.Voter{Channel: "telegram", UserID: "1"}, "bob", until, ref(1))
	require.NoError(t, err)
	require.Equal(t, people.Absence{Person: "alice", To: "bob", SinceMs: left.Absence.SinceMs, UntilMs: until, By: "person:alice"}, left.Absence)
	_, err = d.Chats().VoterAway(t.Context(), approval.Voter{Channel: "telegram", UserID: "1"}, "", until, ref(1))
	require.ErrorIs(t, err, approval.ErrHandled)
	for id, v := range map[int64]approval.Voter{
		2: {Channel: "telegram", UserID: "3"}, 3: {Channel: "telegram", UserID: "9"}, // carl is no approver, and 9 nobody
	} {
		_, err = d.Chats().VoterAway(t.Context(), v, "", until, ref(id))
		require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err))
		_, err = d.Chats().VoterBack(t.Context(), v, ref(id))
		require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err))
	}
	_, err = d.Chats().VoterAway(t.Context(), approval.Voter{Channel: "telegram", UserID: "2"}, "alice", until, ref(4))
	require.ErrorContains(t, err, "bob, alice would be each other's delegates")
	was, err := d.Chats().VoterBack(t.Context(), approval.Voter{Channel: "telegram", UserID: "1"}, ref(5))
	require.NoError(t, err)
	require.True(t, was)
	was, err = d.Chats().VoterBack(t.Context(), approval.Voter{Channel: "telegram", UserID: "1"}, ref(6))
	require.NoError(t, err)
	require.False(t, was, "there was nothing to end")

	log, err := d.store.Log(t.Context(), 0, 100)
	require.NoError(t, err)
	var types []approval.EventType
	for _, e := range log {
		types = append(types, e.Type)
	}
	require.Equal(t, []approval.EventType{approval.EventAway, approval.EventRefused, approval.EventRefused, approval.EventRefused, approval.EventBack}, types)
	var said, ended map[string]any
	require.NoError(t, json.Unmarshal(log[0].Data, &said))
	require.NoError(t, json.Unmarshal(log[4].Data, &ended))
	require.Equal(t, "bob", said["to"])
	require.Equal(t, "person:alice", ended["endedBy"])
}

// A delegation holds on every instance as soon as it is said, and no longer than until its
// person is back: what another instance knows of it does not count.
func TestAdversary_D3_BackOnAnotherInstance(t *testing.T) {
	here := newFixture(t)
	here.needing(t)
	there := here.another()
	a, b, c := here.submit(t, "ops"), here.submit(t, "ops", session("b")), here.submit(t, "two", session("c"))

	here.away(t, alice, "alice", "bob")
	a = there.allow(t, a, bob)
	require.Equal(t, approval.Approved, a.Status, "the other instance hears of it in time")
	require.Equal(t, []string{"alice"}, a.Votes[0].For)

	require.Equal(t, approval.Pending, here.allow(t, c, alice).Status)
	stale := here.another() // thinks that nobody is away
	c = stale.allow(t, c, bob)
	require.Equal(t, approval.Pending, c.Status, "alice and bob fill one seat, whatever it thinks")

	_, err := here.Absences().SetBack(t.Context(), alice, "alice")
	require.NoError(t, err)
	b = there.allow(t, b, bob) // which thinks that she is away still
	require.Equal(t, approval.Pending, b.Status)
	require.Empty(t, b.Votes[0].For)
	c = there.allow(t, c, bob)
	require.Equal(t, approval.Approved, c.Status, "they have a seat each, once one of them says so")
}

func session(key string) func(*approval.Call) { return func(c *approval.Call) { c.SessionKey = key } }

// What was allowed in alice's stead is not hers to have: not the very call by its id, nor
// a yes that waits to be used, nor a grant, also where she joins those who asked later.
func TestAdversary_I5_WhatADelegateAllowedIsNotTheLenders(t *testing.T) {
	d := newFixture(t)
	d.needingBeside(t, people.Person{Name: "dora", Roles: []string{"ops"}})
	d.away(t, alice, "alice", "bob")
	forAlice := func(c *approval.Call) { c.Requester = &approval.Requester{Person: "alice"} }
	named := func(id string, resume bool) func(*approval.Call) {
		return func(c *approval.Call) { c.ID, c.Resume = id, resume }
	}
	first := d.allow(t, d.submit(t, "ops", named("first", false)), bob)
	require.Equal(t, approval.Approved, first.Status)
	require.Equal(t, []string{"alice"}, first.Votes[0].For)

	_, _, err := d.Submit(t.Context(), agent, call("ops", named("first", false), forAlice))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(err))
	require.Equal(t, approval.Approved, d.submit(t, "ops", named("", true), session("s")).Status, "it answers others")
	require.Equal(t, approval.Pending, d.submit(t, "ops", named("second", true), forAlice).Status)

	granting, err := d.VoteAs(t.Context(), bob, d.submit(t, "ops", session("g")).Code, approval.AllowSession, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Approved, granting.Status)
	granted := d.submit(t, "ops", session("g"), other)
	require.Equal(t, approval.Approved, granted.Status)
	require.Equal(t, approval.Pending, d.submit(t, "ops", session("g"), other, forAlice).Status)
	_, err = d.store.Update(t.Context(), granted.Key, func(a approval.Approval) (core.Change, error) {
		a.Askers = append(a.Askers, approval.Requester{Person: "alice"})
		return core.Change{Approval: a}, nil
	})
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), agent, granted.ID, core.ClaimInput{})
	require.ErrorContains(t, err, "now asks for the call")
}

func other(c *approval.Call) { c.Params = json.RawMessage(`{"path":"b"}`) }

// unreadable is a store whose absences cannot be read.
type unreadable struct{ core.AbsenceStore }

func (unreadable) Absences(context.Context) (people.Absences, error) {
	return people.Absences{}, errors.New("the table is gone")
}

// As long as nobody can read who is away, no yes counts; a no does.
func TestAdversary_D4_UnreadableAbsencesAllowNothing(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	a, b := d.submit(t, "ask"), d.submit(t, "ask", session("b"))
	stores := d.store.CoreStores()
	stores.AbsenceStore = unreadable{stores.AbsenceStore}
	blind := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
	_, err := blind.VoteAs(t.Context(), bob, a.Code, approval.AllowOnce, "", "")
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err))
	a, err = d.Get(t.Context(), alice, a.Code)
	require.NoError(t, err)
	require.Empty(t, a.Votes)
	b, err = blind.VoteAs(t.Context(), bob, b.Code, approval.Deny, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Denied, b.Status)
}

// It ends by itself, at its very millisecond, and then lends nothing, also where nobody
// said a word.
func TestAnAbsenceEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		d.needing(t)
		d.use(func(r *core.Rules) { r.TimeoutMs = 2 * hour })
		last, late := d.submit(t, "ops"), d.submit(t, "ops", session("late"))
		d.away(t, alice, "alice", "bob")
		time.Sleep(time.Hour - time.Millisecond)
		require.Equal(t, approval.Approved, d.allow(t, last, bob).Status)
		time.Sleep(time.Millisecond)
		require.Equal(t, approval.Pending, d.allow(t, late, bob).Status)
		was, err := d.Absences().SetBack(t.Context(), alice, "alice")
		require.NoError(t, err)
		require.False(t, was, "it was over")
	})
}

// What nobody present can allow is said at once: to whoever leaves, and on what is asked
// meanwhile, which waits all the same.
func TestWhatNobodyPresentCanAllowIsSaid(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	waiting := d.submit(t, "two")
	left := d.away(t, alice, "alice", "")
	require.Len(t, left.Notes, 2)
	require.Equal(t, "No available approver can allow R4 until then.", left.Notes[0], "until when, the absence says, in its reader's zone")
	require.Equal(t, "Of the waiting requests, no available approver can allow "+waiting.Code+".", left.Notes[1])

	a := d.submit(t, "ops")
	require.Equal(t, approval.Pending, a.Status)
	require.Contains(t, a.Assessment.ReasonCodes, approval.ReasonAway)
	require.Contains(t, a.Why[0], "No available approver can allow this: away are alice until ")
	require.NotContains(t, d.submit(t, "ask").Assessment.ReasonCodes, approval.ReasonAway)
	require.Equal(t, approval.Approved, d.allow(t, a, alice).Status, "who is away may answer all the same")

	require.Len(t, d.away(t, alice, "alice", "bob").Notes, 2, "bob alone is no two")
	require.NotContains(t, d.submit(t, "ops", session("b")).Assessment.ReasonCodes, approval.ReasonAway, "bob stands in")
}

func TestReadLeave(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string][2]string{
		"until 18:00":        {"18:00", ""},
		"2h":                 {"14:00", ""},
		"for 2h":             {"14:00", ""},
		"2h to bob":          {"14:00", "bob"},
		"until 18:00 TO Bob": {"18:00", "Bob"},
		"2h to bob the ops":  {"14:00", "bob the ops"},
		"until tue 18:00":    {"18:00", ""},
		"to bob":             {"", ""},
		"2h to":              {"", ""},
		"":                   {"", ""},
		"until":              {"", ""},
	} {
		until, to, err := core.ReadLeave(text, now, time.UTC)
		if want[0] == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, [2]string{until.Format("15:04"), to}, text)
	}
	left := core.Left{Absence: people.Absence{Person: "alice", To: "bob", SinceMs: now.UnixMilli(), UntilMs: now.Add(time.Hour).UnixMilli()},
		Notes: []string{"A note."}}
	require.Equal(t, "alice is away until Tue 13:00 UTC; the delegate is bob. A note.", left.Text(time.UTC))
}

// waiting is a store in which a vote waits for its turn as long as an absence lasts.
type waiting struct{ core.Changes }

func (s waiting) Update(
	ctx context.Context, key string, fn func(approval.Approval) (core.Change, error),
) (approval.Approval, error) {
	time.Sleep(time.Hour)
	return s.Changes.Update(ctx, key, fn)
}

// A vote counts by who is away when it is counted, not when it was given.
func TestAdversary_D5_AnAbsenceThatEndsWhileAVoteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		d.needing(t)
		a := d.submit(t, "ops", func(c *approval.Call) { c.TimeoutMs = 3 * hour })
		d.away(t, alice, "alice", "bob")
		stores := d.store.CoreStores()
		stores.Changes = waiting{stores.Changes}
		slow := core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
		require.NoError(t, slow.Absences().Learn(t.Context()))
		a, err := slow.VoteAs(t.Context(), bob, a.Code, approval.AllowOnce, "", "")
		require.NoError(t, err)
		require.Equal(t, approval.Pending, a.Status)
		require.Empty(t, a.Votes[0].For)
	})
}

// What the API and terminals show of a card counts as the vote does: under who is away.
func TestAdversary_D7_ACardByAPIKnowsWhoIsAway(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	d.away(t, alice, "alice", "bob")
	a := d.submit(t, "two")
	d.allow(t, a, alice)
	a = d.allow(t, a, bob)
	require.Equal(t, approval.Pending, a.Status)
	card, err := d.Card(t.Context(), a)
	require.NoError(t, err)
	require.Equal(t, "1 of 2 yes (alice, bob with alice)", card.State.Votes)
}

// A card that an escalation sends to somebody leaves only if they could still decide then,
// whatever was drawn for others.
func TestAdversary_D9_AnEscalationReachesNobodyWhoLostTheRight(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	a := d.submit(t, "ask")
	skip := func(to, message string) string {
		t.Helper()
		c := approval.Delivery{Key: a.Key, Kind: approval.CardDelivery, Target: approval.Target{Channel: "telegram", To: to}, MessageID: message, Version: a.Version}
		drawing, err := d.Draw(t.Context(), c)
		require.NoError(t, err)
		return drawing.Skip
	}
	require.Empty(t, skip("-100", ""))
	require.Empty(t, skip("2", ""))
	others, err := people.NewDirectory(people.Rights{ // bob is gone, and carl never might
		People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}}, {Name: "carl", Accounts: map[string]string{"telegram": "3"}}},
		AllowedUsers: map[string][]string{"telegram": {"1"}},
	})
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.People = others })
	require.Empty(t, skip("-100", ""))
	require.Empty(t, skip("1", ""))
	for _, id := range []string{"2", "3"} {
		require.Equal(t, "the people who were to be asked can no longer decide it", skip(id, ""))
		require.Empty(t, skip(id, "7"), "a card that stands shows how it ends")
	}
	d.use(func(r *core.Rules) { r.Router = toOpsThen{spare: approval.Target{Channel: "telegram", To: "3"}} })
	require.Empty(t, skip("3", ""), "a chat that routing names gets its card, whosever it is")
}

// A reload plans anew what waits, once over all instances: what is overdue by the new
// times comes at once, and what is no more is not done.
func TestReload_PlansAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		a := d.submit(t, "ask")
		require.Zero(t, a.PlanMs)
		time.Sleep(5 * time.Minute)
		remind := func(minutes ...time.Duration) func(*core.Rules) {
			return func(r *core.Rules) {
				r.Contact.RemindAfter = nil
				for _, m := range minutes {
					r.Contact.RemindAfter = append(r.Contact.RemindAfter, m*time.Minute)
				}
			}
		}
		reload := func(change func(*core.Rules)) approval.Approval {
			t.Helper()
			d.use(change)
			there := d.another()
			require.NoError(t, d.Upkeep().Rejudge(t.Context()))
			require.NoError(t, there.Upkeep().Rejudge(t.Context()))
			now, err := d.store.Get(t.Context(), a.Key)
			require.NoError(t, err)
			return now
		}
		was := reload(remind(8))
		require.Equal(t, a.CreatedAtMs+8*60_000, was.PlanMs)
		require.Equal(t, was.Version, reload(remind(8)).Version, "the same plan changes nothing")
		require.Zero(t, reload(remind()).PlanMs)

		now := reload(remind(3, 10))
		require.Equal(t, time.Now().UnixMilli(), now.PlanMs, "it is overdue by now")
		require.NoError(t, d.Tick(t.Context(), a.Key))
		require.NoError(t, d.another().Tick(t.Context(), a.Key))
		now = reload(remind(3, 10))
		require.Equal(t, a.CreatedAtMs+10*60_000, now.PlanMs)
		require.Equal(t, 1, d.count(t, approval.EventReminded))
		require.Zero(t, reload(remind(3)).PlanMs, "what was done is not done again")
	})
}

// Who waits for the end of their quiet hours, and was away then, hears of it when they are
// back.
func TestAdversary_D12_WhoComesBackAfterQuietHoursIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t) // synctest begins at midnight of 1 January 2000, UTC
		night, err := schedule.ParseDaily("22:00-00:10", "UTC")
		require.NoError(t, err)
		d.use(func(r *core.Rules) {
			r.Contact.RemindAfter, r.Contact.Quiet = []time.Duration{5 * time.Minute}, map[string]schedule.Window{"alice": night}
			r.BreaksQuiet = approval.R4
		})
		a := d.submit(t, "ask")
		time.Sleep(5 * time.Minute)
		require.NoError(t, d.Tick(t.Context(), a.Key))
		d.away(t, alice, "alice", "")
		time.Sleep(6 * time.Minute)
		require.NoError(t, d.Tick(t.Context(), a.Key))
		require.Zero(t, d.count(t, approval.EventEscalated))
		_, err = d.Absences().SetBack(t.Context(), alice, "alice")
		require.NoError(t, err)
		a, err = d.store.Get(t.Context(), a.Key)
		require.NoError(t, err)
		require.Equal(t, time.Now().UnixMilli(), a.PlanMs)
		require.NoError(t, d.Tick(t.Context(), a.Key))
		require.Equal(t, 1, d.count(t, approval.EventEscalated))
	})
}

// count is how many events of that type the log has.
func (d *fixture) count(t *testing.T, of approval.EventType) (n int) {
	t.Helper()
	log, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range log {
		if e.Type == of {
			n++
		}
	}
	return n
}

// A card at a fallback target makes no sound where everybody sleeps.
func TestFallback_InQuietHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		night, err := schedule.ParseDaily("22:00-06:00", "UTC")
		require.NoError(t, err)
		spare := approval.Target{Channel: "telegram", To: "-300"}
		d.use(func(r *core.Rules) {
			r.Router, r.BreaksQuiet = toOpsThen{spare}, approval.R4
			r.Contact.Quiet = map[string]schedule.Window{"alice": night, "bob": night}
		})
		for tool, silent := range map[string]bool{"ask": true, "grave": false} {
			a := d.submit(t, tool)
			time.Sleep(31 * time.Second)
			require.NoError(t, d.Tick(t.Context(), a.Key))
			a, err := d.store.Get(t.Context(), a.Key)
			require.NoError(t, err)
			require.Equal(t, spare, a.Deliveries[1].Target)
			require.Equal(t, []bool{silent, silent}, []bool{a.Deliveries[0].Silent, a.Deliveries[1].Silent})
		}
	})
}

// A vote that began under rules that a reload replaces meanwhile does not count by them:
// who has lost their role in it allows nothing any more.
func TestAdversary_D15_AReloadWhileAVoteIsUnderWay(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	a := d.submit(t, "ops")
	require.NoError(t, d.Absences().Learn(t.Context()))
	demoted, err := people.NewDirectory(people.Rights{
		People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "1"}}, {Name: "bob", Accounts: map[string]string{"telegram": "2"}, Roles: []string{"ops"}}},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}}, Tokens: map[string]string{"alice-laptop": "alice", "bob-laptop": "bob"},
	})
	require.NoError(t, err)
	d.use(func(r *core.Rules) { // what the vote finds when it begins
		r.Policy = onJudge{opsPolicy{byName{hash: "2"}}, func() {
			d.use(func(r *core.Rules) { r.Policy, r.People = opsPolicy{byName{hash: "3"}}, demoted })
		}}
	})
	a, err = d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Pending, a.Status)
	require.Equal(t, approval.Approved, d.allow(t, a, bob).Status)
}

// onJudge is a policy that calls a function when it is asked.
type onJudge struct {
	opsPolicy
	called func()
}

func (p onJudge) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	p.called()
	return p.opsPolicy.Judge(ctx, c)
}

// A database that has lost its newest changes, as one that is restored, or a replica that
// took over, is believed: votes count under what it says.
func TestAdversary_D14_ADatabaseThatWentBack(t *testing.T) {
	d := newFixture(t)
	d.needing(t)
	stores := d.store.CoreStores()
	stores.AbsenceStore = &ahead{AbsenceStore: stores.AbsenceStore}
	d.Gate = core.NewGate(stores, d.rules, slog.New(slog.DiscardHandler))
	require.NoError(t, d.Absences().Learn(t.Context()))
	require.Equal(t, approval.Approved, d.allow(t, d.submit(t, "ask"), bob).Status)
}

// ahead is a store whose absences were of a later revision when they were first read.
type ahead struct {
	core.AbsenceStore
	read bool
}

func (s *ahead) Absences(ctx context.Context) (people.Absences, error) {
	all, err := s.AbsenceStore.Absences(ctx)
	if !s.read {
		s.read, all.Revision = true, all.Revision+100
	}
	return all, err
}
