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
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

// lending is a desk of alice, bob, carl and dave, approvers on Telegram; alice and dave
// are of ops, carl is of dev. Erin is of ops and no approver, frank is one of ops by a
// role of the chat alone, and account 9 may decide and is nobody's. Alice and bob take turns on duty.
func lending(t testing.TB) *people.Directory {
	t.Helper()
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1", "discord": "11"}, Roles: []string{"ops", "onDuty:web"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			{Name: "carl", Accounts: map[string]string{"telegram": "3"}, Roles: []string{"dev"}},
			{Name: "dave", Accounts: map[string]string{"telegram": "4"}, Roles: []string{"ops"}},
			{Name: "erin", Accounts: map[string]string{"telegram": "5"}, Roles: []string{"ops"}},
			{Name: "frank", Accounts: map[string]string{"discord": "66"}, Roles: []string{"ops"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2", "3", "4", "9"}, "discord": {"11"}},
		AllowedRoles: map[string][]string{"discord": {"77"}},
		Verifiers:    map[string][]string{"": {"telegram:1"}},
		Duty:         schedule.NewDuty(schedule.Roster{Name: "web", Among: []string{"alice"}}),
	})
	require.NoError(t, err)
	return d
}

var accounts = map[string]approval.Voter{
	"alice": on("telegram", "1"), "bob": on("telegram", "2"), "carl": on("telegram", "3"), "dave": on("telegram", "4"),
	"erin": on("telegram", "5"), "frank": {Channel: "discord", UserID: "66", Roles: []string{"77"}}, "nobody": on("telegram", "9"),
}

// away reads "alice>bob carl": alice is away and bob stands in for her, carl is away. All
// of it lasts from 100 to 200.
func away(text string) (out []people.Absence) {
	for _, word := range strings.Fields(text) {
		person, to, _ := strings.Cut(word, ">")
		out = append(out, people.Absence{Person: person, To: to, SinceMs: 100, UntilMs: 200, By: "person:" + person})
	}
	return out
}

func needs(text string) (out []approval.Need) {
	for _, word := range strings.Fields(text) {
		role, n, several := strings.Cut(word, "=")
		need := approval.Need{Role: role, Min: 1}
		if several {
			fmt.Sscan(n, &need.Min)
		}
		out = append(out, need)
	}
	return out
}

// sayYes gives the approval with the yes of each person of the text, at that time: "bob", or
// "bob@90".
func sayYes(a approval.Approval, text string, d *people.Directory, absences []people.Absence) approval.Approval {
	for _, word := range strings.Fields(text) {
		name, at, timed := strings.Cut(word, "@")
		now := int64(150)
		if timed {
			fmt.Sscan(at, &now)
		}
		view := d.At(time.UnixMilli(now), absences...)
		a = count(a, Ballot{Voter: accounts[name], Decision: approval.AllowOnce, ReceivedMs: 1}, view, now).Approval
	}
	return a
}

// A person who is away lends their roles to one approver: whose yes may then be taken for
// theirs, instead of that approver's own, and never for both.
func TestDelegation(t *testing.T) {
	d := lending(t)
	for _, c := range []struct {
		name         string
		quorum       int
		needs, away  string
		asker, votes string
		allowed      bool
		tally        string
	}{
		{"a delegate's yes stands for the lender's", 1, "ops", "alice>bob", "", "bob", true, "1 of 1 yes (bob for alice)"},
		{"nobody else's does", 1, "ops", "alice>bob", "", "carl", false, "1 of 1 yes (carl); needs 1 with role ops"},
		{"without a delegation it does not", 1, "ops", "alice", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"before it has begun it does not", 1, "ops", "alice>bob", "", "bob@99", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"when it is over it does not", 1, "ops", "alice>bob", "", "bob@200", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"what was said before counts as it was meant", 2, "ops", "alice>bob", "", "bob@99 carl", false, "2 of 2 yes (bob, carl); needs 1 with role ops"},
		{"until it is said again", 2, "ops", "alice>bob", "", "bob@99 carl bob", true, "2 of 2 yes (carl, bob for alice)"},
		{"what was said in it is void after it", 2, "ops", "alice>bob", "", "bob carl@200", false, "2 of 2 yes (bob, carl); needs 1 with role ops"},

		// Who lends, and to whom.
		{"who is no approver lends nothing", 1, "ops", "erin>bob", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"nor who is one by a chat's role, unseen", 1, "ops", "frank>bob", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"who is no approver becomes none", 1, "ops", "alice>erin", "", "erin", false, "0 of 1 yes; needs 1 with role ops"},
		{"an account of nobody is lent nothing", 1, "ops", "alice>", "", "nobody", false, "1 of 1 yes (telegram user 9); needs 1 with role ops"},
		{"nor somebody who is gone", 1, "ops", "alice>zoe", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"who is gone lends nothing", 1, "ops", "zoe>bob", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"nobody stands in for themselves", 1, "dev", "bob>bob", "", "bob", false, "1 of 1 yes (bob); needs 1 with role dev"},
		{"duty is not lent", 1, "onDuty:web", "alice>bob", "", "bob", false, "1 of 1 yes (bob); needs 1 on duty (web)"},

		// Not on to a third.
		{"what is lent is not lent on", 1, "ops", "alice>bob bob>carl", "", "carl", false, "1 of 1 yes (carl); needs 1 with role ops"},
		{"the second still has it", 1, "ops", "alice>bob bob>carl", "", "bob", true, "1 of 1 yes (bob for alice)"},
		{"two in a circle lend nothing", 1, "ops", "alice>bob bob>alice", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"nor three", 1, "ops", "alice>bob bob>carl carl>alice", "", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"who leads into a circle lends", 1, "ops", "dave>bob bob>carl carl>bob", "", "bob", true, "1 of 1 yes (bob for dave)"},

		// One seat.
		{"they fill one seat of a quorum", 2, "", "alice>bob", "", "alice bob", false, "1 of 2 yes (alice, bob with alice)"},
		{"whoever is first", 2, "", "alice>bob", "", "bob alice", false, "1 of 2 yes (bob, alice with bob)"},
		{"also when she voted before she left", 2, "", "alice>bob", "", "alice@50 bob", false, "1 of 2 yes (alice, bob with alice)"},
		{"and of a need", 1, "ops=2", "alice>bob", "", "alice bob", false, "1 of 1 yes (alice, bob with alice); needs 1 with role ops"},
		{"another one fills the next", 2, "", "alice>bob", "", "alice bob carl", true, "2 of 2 yes (alice, bob with alice, carl)"},
		{"all whom delegations join fill one", 2, "", "alice>bob bob>carl", "", "alice carl", false, "1 of 2 yes (alice, carl with alice)"},
		{"and those who lend to the same", 2, "", "alice>bob carl>bob", "", "alice carl", false, "1 of 2 yes (alice, carl with alice)"},
		{"who come back have seats of their own", 2, "", "alice>bob", "", "alice bob bob@200", true, "2 of 2 yes (alice, bob)"},
		{"nor had they one before", 2, "", "alice>bob", "", "alice@98 bob@99", true, "2 of 2 yes (alice, bob)"},
		{"who is gone joins nobody", 2, "", "alice>zoe carl>zoe", "", "alice carl", true, "2 of 2 yes (alice, carl)"},
		{"an absence without a delegate joins nobody", 2, "", "alice bob", "", "alice bob", true, "2 of 2 yes (alice, bob)"},

		// One yes is one person's.
		{"not the lender's and the delegate's at once", 1, "ops dev", "alice>carl", "", "carl", false, "1 of 1 yes (carl for alice); needs 1 with role ops"},
		{"also where both say yes", 1, "ops dev", "alice>carl", "", "carl alice", false, "1 of 1 yes (carl for alice, alice with carl); needs 1 with role ops"},
		{"whichever the others leave to be met", 2, "ops dev", "alice>carl", "", "carl dave", true, "2 of 2 yes (carl for alice, dave)"},
		{"nor that of two lenders", 1, "ops=2", "alice>bob dave>bob", "", "bob", false, "1 of 1 yes (bob for alice or dave); needs 1 with role ops"},
		{"two delegates stand for two", 2, "ops=2", "alice>bob dave>carl", "", "bob carl", true, "2 of 2 yes (bob for alice, carl for dave)"},

		// Who asked.
		{"void where the lender asked", 1, "ops", "alice>bob", "alice", "bob", false, "1 of 1 yes (bob); needs 1 with role ops"},
		{"the delegate who asked decides nothing", 1, "ops", "alice>bob", "bob", "bob", false, "0 of 1 yes; needs 1 with role ops"},
		{"nor for who lends to another", 1, "ops", "alice>bob dave>carl", "alice", "bob carl", true, "2 of 1 yes (bob, carl for dave)"},
		{"somebody else who asked changes nothing", 1, "ops", "alice>bob", "carl", "bob", true, "1 of 1 yes (bob for alice)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := needing(c.quorum, nil)
			a.Rule.Needs = needs(c.needs)
			if c.asker != "" {
				a.Askers = []approval.Requester{{Channel: accounts[c.asker].Channel, UserID: accounts[c.asker].UserID}}
			}
			absences := away(c.away)
			a = sayYes(a, c.votes, d, absences)
			require.Equal(t, map[bool]approval.Status{true: approval.Approved, false: approval.Pending}[c.allowed], a.Status)
			last := map[bool]int64{true: 200, false: 150}[strings.Contains(c.votes, "@200")]
			require.Equal(t, c.tally, people.TallyText(a, d.At(time.UnixMilli(last), absences...)))
		})
	}
}

// A yes for somebody who joins the call as its asker afterwards is the delegate's own again,
// also where people may approve their own.
func TestAdversary_I5_ALenderWhoAskedIsNobodysExcuse(t *testing.T) {
	d, absences := lending(t), away("alice>bob")
	a := needing(2, nil)
	a.Rule.Needs = needs("ops")
	a = sayYes(a, "bob", d, absences)
	require.Equal(t, []string{"alice"}, a.Votes[0].For)
	for _, solo := range []bool{false, true} {
		joined := a.Clone()
		joined.Solo, joined.Askers = solo, []approval.Requester{{Channel: "discord", UserID: "11"}}
		joined = sayYes(joined, "carl", d, absences)
		require.Equal(t, approval.Pending, joined.Status)
		require.Equal(t, "2 of 2 yes (bob, carl); needs 1 with role ops", people.TallyText(joined, d.At(time.UnixMilli(150), absences...)))
	}
	require.Equal(t, approval.Approved, sayYes(a, "carl", d, absences).Status, "and it would have been enough")
	both := sayYes(a, "alice", d, absences)
	both.Askers = []approval.Requester{{Person: "alice"}}
	require.Equal(t, "1 of 2 yes (bob); needs 1 with role ops", people.TallyText(both, d.At(time.UnixMilli(150), absences...)))
	both.Askers = []approval.Requester{{Person: "bob"}}
	require.Equal(t, "1 of 2 yes (alice)", people.TallyText(both, d.At(time.UnixMilli(150), absences...)), "who asked fills nobody's seat")

	solo := needing(1, nil)
	solo.Rule.Needs, solo.Solo, solo.Askers = needs("ops"), true, []approval.Requester{{Person: "bob"}}
	require.Equal(t, approval.Pending, sayYes(solo, "bob", d, absences).Status, "who may approve their own is lent nothing for it")
}

// What a delegate's yes leaves serves nobody in whose stead it was given: a grant, and a
// yes that nobody has used.
func TestAdversary_I5_ALenderHasNothingByTheirDelegate(t *testing.T) {
	d, absences := lending(t), away("alice>bob")
	a := needing(1, nil)
	a.Rule.Needs, a.SessionKey, a.Subject, a.ToolName, a.Owner = needs("ops"), "s", "deploy", "deploy", "agent"
	view := d.At(time.UnixMilli(150), absences...)
	c := count(a, Ballot{Voter: accounts["bob"], Decision: approval.AllowSession, ReceivedMs: 1}, view, 150)
	require.Equal(t, approval.Approved, c.Approval.Status)
	require.Equal(t, []string{"person:bob"}, c.Approval.DecidedBy)
	require.Len(t, c.Grants, 1)
	require.Equal(t, []string{"person:alice"}, c.Grants[0].Behind)
	require.Contains(t, string(c.Events[0].Data), `"for":["alice"]`, "it is on record")

	no := count(a, Ballot{Voter: accounts["bob"], Decision: approval.Deny, ReceivedMs: 1}, view, 150)
	require.Equal(t, approval.Denied, no.Approval.Status)
	require.NotContains(t, string(no.Events[0].Data), `"for":`, "a no is one's own")

	again := a
	again.Status = approval.Pending
	for asker, covers := range map[string]bool{"": true, "carl": true, "bob": false, "alice": false} {
		again.Askers = nil
		if asker != "" {
			again.Askers = []approval.Requester{{Person: asker}}
		}
		require.Equal(t, covers, people.Covers(c.Grants[0], again, approval.GrantScope{}, d, 160), asker)
		require.Equal(t, !covers, people.GivenByAsker(again, c.Approval.DecidedBy, people.LentTo(c.Approval.Votes), d), asker)
	}
	gone := *d
	gone.People = map[string]people.Person{"bob": d.People["bob"]}
	again.Askers = nil
	require.False(t, people.Covers(c.Grants[0], again, approval.GrantScope{}, &gone, 160), "alice is nobody any more")
}

// The verifier's people are asked as themselves: nobody stands in for them.
func TestNobodyStandsInForTheVerifiersPeople(t *testing.T) {
	d, absences := lending(t), away("alice>bob")
	a := sayYes(needing(1, &approval.VerifierNeed{Accounts: []string{"telegram:1"}}), "bob", d, absences)
	require.Equal(t, approval.Pending, a.Status)
	require.Equal(t, "approvers: 1 of 1 yes (bob); verifier's people: 0 of 1 yes", people.TallyText(a, d.At(time.UnixMilli(150), absences...)))
	require.Equal(t, approval.Approved, sayYes(a, "alice", d, absences).Status)

	d.Verifiers = map[string][]string{"": {"telegram:5"}}
	own := needing(1, &approval.VerifierNeed{Accounts: []string{"telegram:5"}})
	own.Rule.Needs = needs("ops")
	own = sayYes(own, "erin", d, away("alice>erin"))
	require.True(t, own.Votes[0].VerifierOnly)
	require.Empty(t, own.Votes[0].For, "nor do they for an approver")
}

// What has ended says how it was counted, whatever is said of anybody afterwards.
func TestADecisionStaysAsItWasCounted(t *testing.T) {
	d, absences := lending(t), away("alice>bob")
	a := needing(2, nil)
	a.Rule.Needs = needs("ops")
	a = sayYes(a, "alice bob carl", d, absences)
	require.Equal(t, approval.Approved, a.Status)
	for _, later := range []*people.Directory{d, d.At(time.UnixMilli(150), absences...), d.At(time.UnixMilli(300), absences...)} {
		require.Equal(t, "2 of 2 yes (alice, bob with alice, carl)", people.TallyText(a, later))
	}
	require.Equal(t, []string{"person:alice", "person:bob", "person:carl"}, a.DecidedBy)
	require.Equal(t, "alice", a.Votes[1].With)
}

// Another absence of the same person, or another delegate, counts nothing that was said
// in the one before.
func TestAYesIsGivenInOneAbsence(t *testing.T) {
	d := lending(t)
	a := needing(2, nil)
	a.Rule.Needs = needs("ops")
	a = sayYes(a, "bob", d, away("alice>bob"))
	again := []people.Absence{{Person: "alice", To: "bob", SinceMs: 160, UntilMs: 300}}
	require.Equal(t, approval.Pending, sayYes(a, "carl@170", d, again).Status)
	require.Equal(t, approval.Approved, sayYes(a, "carl@170 bob@180", d, again).Status)
	other, plain := []people.Absence{{Person: "alice", To: "carl", SinceMs: 160, UntilMs: 300}}, lending(t)
	dave := plain.People["dave"]
	dave.Roles = nil
	plain.People["dave"] = dave
	a = sayYes(a, "dave@170", plain, other)
	require.Equal(t, "2 of 2 yes (bob, dave); needs 1 with role ops", people.TallyText(a, plain.At(time.UnixMilli(170), other...)))
}

// Who is asked leaves out who is away, as long as somebody is left.
func TestContacts_LeaveOutWhoIsAway(t *testing.T) {
	d := lending(t)
	names := func(absences string, askers ...string) (out []string) {
		a := needing(1, nil)
		for _, name := range askers {
			a.Askers = append(a.Askers, approval.Requester{Person: name})
		}
		for _, p := range people.Contacts(a, d.At(time.UnixMilli(150), away(absences)...)) {
			out = append(out, p.Name)
		}
		return out
	}
	require.Equal(t, []string{"alice", "bob", "carl", "dave", "frank"}, names(""))
	require.Equal(t, []string{"carl", "dave", "frank"}, names("alice>carl bob"))
	require.Equal(t, []string{"alice"}, names("alice", "bob", "carl", "dave", "frank"), "never nobody")
}

// Whether those who are here could allow a call.
func TestWhoIsHereCouldAllow(t *testing.T) {
	closed := lending(t)
	closed.Roles = nil // else there may be more of them than can be named
	closed.All = closed.Count(nil, nil)
	for _, c := range []struct {
		name               string
		quorum             int
		needs, away, voted string
		asker              string
		can                bool
	}{
		{"all are here", 4, "", "", "", "", true},
		{"one is away", 4, "", "alice", "", "", false},
		{"who has said yes before", 4, "", "alice", "alice", "", true},
		{"the one with the role", 1, "ops", "alice dave", "", "", false},
		{"who lent it", 1, "ops", "alice>bob dave", "", "", true},
		{"to one who is away, too", 1, "ops", "alice>bob bob dave", "", "", false},
		{"who asked lends nothing", 1, "ops", "alice>bob dave", "", "alice", false},
		{"a delegate is one person", 4, "", "alice>bob", "", "", false},
		{"an account of nobody", 1, "", "alice bob carl dave", "", "", true},
		{"is none in a quorum", 2, "", "alice bob carl", "", "", false},
		{"who may be on duty", 1, "onDuty:web", "bob", "", "", true},
		{"and is away", 1, "onDuty:web", "alice>bob", "", "", false},
	} {
		a := needing(c.quorum, nil)
		a.Rule.Needs = needs(c.needs)
		if c.asker != "" {
			a.Askers = []approval.Requester{{Person: c.asker}}
		}
		view := closed.At(time.UnixMilli(150), away(c.away)...)
		a = sayYes(a, c.voted, closed, away(c.away))
		require.Equal(t, c.can, people.MetNow(a, view), c.name)
		said := people.WithoutApprovers(a, view)
		require.Equal(t, !c.can, slices.Contains(said.Assessment.ReasonCodes, approval.ReasonAway), c.name)
		require.Equal(t, approval.Pending, said.Status, "it may still be answered: "+c.name)
	}
	a := needing(1, nil)
	a.Rule.Needs = needs("ops")
	require.True(t, people.MetNow(a, lending(t).At(time.UnixMilli(150), away("alice dave")...)), "a role of the chat may let somebody")
	require.True(t, people.MetNow(needing(9, nil), lending(t).At(time.UnixMilli(150), away("alice")...)), "or many")
	why := people.WithoutApprovers(a, closed.At(time.UnixMilli(150), away("alice dave>alice")...)).Why[0]
	require.Contains(t, why, "No available approver can allow this: away are alice until ")
	require.Contains(t, why, ", dave until ")
	verified := needing(1, &approval.VerifierNeed{Accounts: []string{"telegram:1"}})
	require.True(t, people.MetNow(verified, closed.At(time.UnixMilli(150))))
	require.False(t, people.MetNow(verified, closed.At(time.UnixMilli(150), away("alice>bob")...)))
}

// What may be said of an absence.
func TestAdmitsAbsence(t *testing.T) {
	d := lending(t)
	const day = 24 * 60 * 60 * 1000
	for _, c := range []struct {
		say    string
		until  int64
		others string
		want   string
	}{
		{"alice", 200, "", ""},
		{"alice>bob", 200, "", ""},
		{"erin", 200, "", ""},
		{"alice>frank", 200, "", ""}, // who may hold the chat's role
		{"alice>bob", 200, "bob>carl", ""},
		{"alice>bob", 200, "carl>bob", ""},
		{"alice>bob", 200, "alice>carl", ""},
		{"alice>bob", 366*day + 150, "", ""},
		{"alice", 150, "", "must be a time in the future"},
		{"alice", 0, "", "must be a time in the future"},
		{"alice", 366*day + 151, "", "within the next 366 days"},
		{"zoe", 200, "", `no person named "zoe"`},
		{"alice>alice", 200, "", "must be another person"},
		{"alice>zoe", 200, "", "must be an approver already"},
		{"alice>erin", 200, "", "must be an approver already"},
		{"erin>bob", 200, "", "has no right to lend"},
		{"frank>bob", 200, "", "has no right to lend"},
		{"alice>bob", 200, "bob>alice", "alice, bob would be each other's delegates"},
		{"alice>bob", 200, "bob>carl carl>alice", "alice, bob, carl would be each other's delegates"},
	} {
		a := away(c.say)[0]
		a.SinceMs, a.UntilMs = 150, c.until
		refusal := d.AdmitsAbsence(a, people.Absences{All: away(c.others)})
		if c.want == "" {
			require.Nil(t, refusal, c.say)
			continue
		}
		require.ErrorContains(t, refusal, c.want, c.say)
	}
	over := people.Absences{All: []people.Absence{{Person: "bob", To: "alice", SinceMs: 1, UntilMs: 150}}}
	require.Nil(t, d.AdmitsAbsence(people.Absence{Person: "alice", To: "bob", SinceMs: 150, UntilMs: 200}, over), "what is over leads nowhere")
}

// anyDesk draws a desk of five approvers with roles, who is away, and who asked.
func anyDesk(t *rapid.T) (d *people.Directory, absences []people.Absence, a approval.Approval) {
	names, roles := []string{"a", "b", "c", "d", "e"}, []string{"x", "y"}
	r := people.Rights{AllowedUsers: map[string][]string{"telegram": nil}}
	for i, name := range names {
		id := fmt.Sprint(i)
		p := people.Person{Name: name, Accounts: map[string]string{"telegram": id}}
		for _, role := range roles {
			if rapid.Bool().Draw(t, name+" is "+role) {
				p.Roles = append(p.Roles, role)
			}
		}
		r.People = append(r.People, p)
		if rapid.IntRange(0, 4).Draw(t, name+" may decide") > 0 {
			r.AllowedUsers["telegram"] = append(r.AllowedUsers["telegram"], id)
		}
		if to := rapid.SampledFrom(append([]string{"", "stays"}, names...)).Draw(t, name+" to"); to != "stays" {
			since := int64(rapid.IntRange(0, 20).Draw(t, "since"))
			until := since + int64(rapid.IntRange(0, 30).Draw(t, "for"))
			absences = append(absences, people.Absence{Person: name, To: to, SinceMs: since, UntilMs: until})
		}
	}
	d, err := people.NewDirectory(r)
	require.NoError(t, err)
	a = needing(rapid.IntRange(1, 3).Draw(t, "quorum"), nil)
	for _, role := range roles {
		if n := rapid.IntRange(0, 2).Draw(t, "needs "+role); n > 0 {
			a.Rule.Needs = append(a.Rule.Needs, approval.Need{Role: role, Min: n})
		}
	}
	if who := rapid.SampledFrom(append([]string{""}, names...)).Draw(t, "asker"); who != "" {
		a.Askers = []approval.Requester{{Person: who}}
	}
	return d, absences, a
}

// votes draws who says yes, in order of time.
func votes(t *rapid.T) (text string) {
	at := 0
	for range rapid.IntRange(0, 7).Draw(t, "votes") {
		at += rapid.IntRange(0, 6).Draw(t, "later")
		text += fmt.Sprintf(" %s@%d", rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "who"), at)
	}
	return text
}

func init() {
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		accounts[name] = on("telegram", fmt.Sprint(i))
	}
}

// Whatever is lent, what it lets through would have got through had each lender said
// themselves what was said in their stead: for every approval there are as many different
// people as it needs, each of whom may decide it and did not ask, with the roles that it
// needs, each of whom said yes, or lent to somebody who did and stands for nobody else.
func TestAdversary_D1_NoDelegationAllowsWhatTheAbsentCouldNot(t *testing.T) {
	approved := 0
	rapid.Check(t, func(t *rapid.T) {
		d, absences, a := anyDesk(t)
		a = sayYes(a, votes(t), d, absences)
		if a.Status != approval.Approved {
			return
		}
		view := d.At(time.UnixMilli(a.ResolvedAtMs), absences...)
		var said []string // who said yes, and may
		for _, v := range a.Votes {
			if who := v.Voter.Person; view.MayDecide(*v.Voter) && !view.IsAsker(*v.Voter, a.Askers) && !slices.Contains(said, who) {
				said = append(said, who)
			}
		}
		var try func(i int, as []string) bool
		try = func(i int, as []string) bool {
			if i == len(said) {
				return satisfied(a, d, as)
			}
			if try(i+1, as) { // another one fills the seat
				return true
			}
			stands := []string{said[i]}
			for _, l := range absences {
				if l.To == said[i] && l.Lasts(a.ResolvedAtMs) {
					stands = append(stands, l.Person)
				}
			}
			return slices.ContainsFunc(stands, func(who string) bool {
				return !slices.Contains(as, who) && try(i+1, append(slices.Clip(as), who))
			})
		}
		if !try(0, nil) {
			t.Fatalf("approved by %v with %+v", said, a.Votes)
		}
		// Lender and delegate are never two of them.
		n := len(said)
		for _, l := range absences {
			joined := view.StandsIn(l.Person) != "" && slices.Contains(said, l.Person) && slices.Contains(said, l.To)
			if joined {
				n--
			}
		}
		require.GreaterOrEqual(t, n, a.Rule.MinApprovals, "%+v", a.Votes)
		approved++
	})
	require.Positive(t, approved)
}

// satisfied reports whether the yes of these people themselves would be enough.
func satisfied(a approval.Approval, d *people.Directory, people []string) bool {
	a.Status, a.Votes = approval.Pending, nil
	for _, name := range people {
		a = count(a, Ballot{Voter: accounts[name], Decision: approval.AllowOnce, ReceivedMs: 1}, d, 1).Approval
	}
	return a.Status == approval.Approved
}

// Coming back, or the end of an absence, allows nothing by itself: what waits goes on
// waiting until somebody says something. Nor does it change what has ended.
func TestAdversary_D2_ComingBackAllowsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, absences, a := anyDesk(t)
		a = sayYes(a, votes(t), d, absences)
		before, view := a.Clone(), d.At(time.UnixMilli(100))
		c, _ := tick(a, Routes{}, nil, 100)
		require.Equal(t, before.Status, c.Approval.Status)
		require.Equal(t, before.DecidedBy, a.DecidedBy)
		if a.Final() {
			require.Equal(t, before.Votes, people.AsOf(a, view))
			return
		}
		for _, v := range people.AsOf(a, view) {
			require.Empty(t, v.For, "nobody stands for who is here")
			require.Empty(t, v.With)
		}
	})
}

// Being away takes nobody's own yes: who has no delegate, and is nobody's, counts as ever.
func TestAnAbsenceAloneChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, absences, a := anyDesk(t)
		for i := range absences {
			absences[i].To = ""
		}
		said := votes(t)
		with, without := sayYes(a, said, d, absences), sayYes(a, said, d, nil)
		require.Equal(t, without.Status, with.Status)
		require.Equal(t, without.Votes, with.Votes)
	})
}

// What a delegate's yes leaves serves neither of the two, also where people may approve
// their own: a grant, a yes that nobody has used, and an id that names it.
func TestAdversary_D6_SoloLendsNothingByAGrant(t *testing.T) {
	d, absences := lending(t), away("alice>bob")
	a := needing(1, nil)
	a.Rule.Needs, a.SessionKey, a.Subject, a.ToolName, a.Owner = needs("ops"), "s", "deploy", "deploy", "agent"
	view := d.At(time.UnixMilli(150), absences...)
	c := count(a, Ballot{Voter: accounts["bob"], Decision: approval.AllowSession, ReceivedMs: 1}, view, 150)
	own := count(a, Ballot{Voter: accounts["dave"], Decision: approval.AllowSession, ReceivedMs: 1}, view, 150)
	rules := &Rules{People: d, Solo: true}
	for _, asker := range []string{"", "alice", "bob", "carl", "dave"} {
		again := a
		again.Solo, again.Askers = true, nil
		if asker != "" {
			again.Askers = []approval.Requester{{Person: asker}}
		}
		free := asker != "alice" && asker != "bob"
		require.Equal(t, free, people.Covers(c.Grants[0], again, approval.GrantScope{}, d, 160), asker)
		require.Equal(t, free, consulted{}.resumedBy(c.Approval, again, again, rules, 160), asker)
		require.True(t, people.Covers(own.Grants[0], again, approval.GrantScope{}, d, 160), "who gave it in nobody's stead: "+asker)
		require.True(t, consulted{}.resumedBy(own.Approval, again, again, rules, 160), asker)
	}
}
