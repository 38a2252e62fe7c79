package core

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/schedule"
)

// weekly is a desk of alice, bob and carl, approvers on Telegram, of whom alice and bob
// take turns: bob has the week of 23 November 2026, alice the next one. Alice has a
// token, too; dora has nothing but one, and erin an account that may not decide.
func weekly(t testing.TB) *people.Directory {
	t.Helper()
	turns, err := schedule.NewRotation(schedule.Rota{
		Among: []string{"alice", "bob"}, Order: []string{"alice", "bob"}, Timezone: "UTC", Handoff: "Mon 09:00",
	})
	require.NoError(t, err)
	d, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{Name: "alice", Accounts: map[string]string{"telegram": "1"}, Roles: []string{"leads"}},
			{Name: "bob", Accounts: map[string]string{"telegram": "2"}},
			{Name: "carl", Accounts: map[string]string{"telegram": "3"}},
			{Name: "erin", Accounts: map[string]string{"telegram": "5", "discord": "55"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2", "3", "9"}},
		Tokens:       map[string]string{"alice-laptop": "alice", "dora-laptop": "dora"},
		Duty:         schedule.NewDuty(schedule.Roster{Name: "ops", Among: []string{"alice", "bob"}, Zone: time.UTC, Rotation: turns}),
	})
	require.NoError(t, err)
	return d
}

var (
	bobsWeek   = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	alicesWeek = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
)

// forDuty waits for so many yes, one of them of whoever is on duty.
func forDuty(quorum int) approval.Approval {
	a := needing(quorum, nil)
	a.Rule.Needs = []approval.Need{{Role: people.RoleOnDuty("ops"), Min: 1}}
	return a
}

// Whoever is on duty when they say yes meets the need, and nobody else does.
func TestOnDutyCountsAsAtTheVote(t *testing.T) {
	d := weekly(t)
	type vote struct {
		user string
		at   time.Time
	}
	for name, c := range map[string]struct {
		quorum int
		votes  []vote
		want   approval.Status
		tally  string
	}{
		"who is on duty":                   {1, []vote{{"2", bobsWeek}}, approval.Approved, "1 of 1 yes (bob)"},
		"in the other's week":              {1, []vote{{"1", bobsWeek}}, approval.Pending, "1 of 1 yes (alice); needs 1 on duty (ops)"},
		"who never is":                     {1, []vote{{"3", bobsWeek}}, approval.Pending, "1 of 1 yes (carl); needs 1 on duty (ops)"},
		"beside another":                   {1, []vote{{"3", bobsWeek}, {"2", bobsWeek}}, approval.Approved, "2 of 1 yes (carl, bob)"},
		"a handover takes nothing back":    {2, []vote{{"2", bobsWeek}, {"3", alicesWeek}}, approval.Approved, "2 of 2 yes (bob, carl)"},
		"nor does the same again after it": {2, []vote{{"2", bobsWeek}, {"2", alicesWeek}}, approval.Pending, "1 of 2 yes (bob)"},
		"and gives nothing either":         {2, []vote{{"1", bobsWeek}, {"3", alicesWeek}}, approval.Pending, "2 of 2 yes (alice, carl); needs 1 on duty (ops)"},
		"until they say it again":          {2, []vote{{"1", bobsWeek}, {"3", alicesWeek}, {"1", alicesWeek}}, approval.Approved, "2 of 2 yes (carl, alice)"},
		"an account of nobody":             {1, []vote{{"9", bobsWeek}}, approval.Pending, "1 of 1 yes (telegram user 9); needs 1 on duty (ops)"},
		"no time, nobody on duty":          {1, []vote{{"2", time.Time{}}}, approval.Pending, "1 of 1 yes (bob); needs 1 on duty (ops)"},
		"whoever":                          {1, []vote{{"1", time.Time{}}}, approval.Pending, "1 of 1 yes (alice); needs 1 on duty (ops)"},
	} {
		a := forDuty(c.quorum)
		for _, v := range c.votes {
			a = count(a, Ballot{Voter: on("telegram", v.user), Decision: approval.AllowOnce, ReceivedMs: 1}, d.At(v.at), 1).Approval
		}
		require.Equal(t, c.want, a.Status, name)
		require.Equal(t, c.tally, people.TallyText(a, d.At(alicesWeek)), name)
	}
	a := count(forDuty(2), Ballot{Voter: on("telegram", "2"), Decision: approval.AllowOnce, ReceivedMs: 1}, d.At(bobsWeek), 1)
	require.Equal(t, []string{"ops"}, a.Approval.Votes[0].OnDuty)
	require.Contains(t, string(a.Events[0].Data), `"onDuty":["ops"]`, "it is on record")
	fewer := weekly(t)
	fewer.Duty = schedule.NewDuty(schedule.Roster{Name: "ops", Among: []string{"alice"}})
	require.Equal(t, []string{"1 on duty (ops)"}, people.TallyOf(a.Approval, fewer).Missing, "nobody is on duty who may not be any more")
}

// Whether somebody could meet the need hangs on who may be on duty, not on who is.
func TestEnoughForDuty(t *testing.T) {
	d := weekly(t).At(bobsWeek)
	require.Equal(t, 2, d.Having(people.RoleOnDuty("ops"), nil))
	require.Zero(t, d.Having(people.RoleOnDuty("web"), nil), "a roster that there is not")
	bob := func(v approval.Voter) bool { return v.Person == "bob" }
	require.Equal(t, 1, d.Having(people.RoleOnDuty("ops"), bob))
	a := forDuty(1)
	a.Askers = []approval.Requester{{Person: "alice"}, {Person: "bob"}}
	require.Equal(t, "There are too few approvers for this: it needs 1 on duty (ops) beside the askers.", people.QuorumImpossible(a, d))
}

// Whom asking makes sense.
func TestContacts(t *testing.T) {
	d := weekly(t)
	d.Verifiers = map[string][]string{"": {"telegram:5"}}
	yes := func(a approval.Approval, user string) approval.Approval {
		return count(a, Ballot{Voter: on("telegram", user), Decision: approval.AllowOnce, ReceivedMs: 1}, d.At(bobsWeek), 1).Approval
	}
	asked := func(a approval.Approval, by string) approval.Approval {
		a.Askers = []approval.Requester{{Person: by}}
		return a
	}
	all := []string{"alice", "bob", "carl", "dora"}
	ended := forDuty(1)
	ended.Status = approval.Expired
	for name, c := range map[string]struct {
		a     approval.Approval
		roles map[string][]string
		not   string // an account that may not decide any more
		want  []string
	}{
		"everybody who could":        {a: forDuty(1), want: all},
		"but who asked":              {a: asked(forDuty(1), "bob"), want: []string{"alice", "carl", "dora"}},
		"unless they may":            {a: func() approval.Approval { a := asked(forDuty(1), "bob"); a.Solo = true; return a }(), want: all},
		"and who has said something": {a: yes(yes(forDuty(3), "1"), "3"), want: []string{"bob", "dora"}},
		"who has, and may no more":   {a: yes(forDuty(3), "3"), not: "3", want: []string{"alice", "bob", "dora"}},
		"where they may by a token":  {a: yes(forDuty(3), "1"), not: "1", want: all},
		"nobody any more":            {a: ended},
		"the verifier's, too":        {a: needing(1, &approval.VerifierNeed{Accounts: []string{"telegram:5"}}), want: append(append([]string{}, all...), "erin")},
		"the verifier's alone":       {a: needing(1, &approval.VerifierNeed{Accounts: []string{"telegram:5"}, Instead: "policy"}), want: []string{"erin"}},
		"whom a chat's role may let": {a: forDuty(1), roles: map[string][]string{"discord": {"77"}}, want: append(append([]string{}, all...), "erin")},
		"none where no person may": {a: approval.Approval{
			Ended:  approval.Ended{Status: approval.Pending},
			Judged: approval.Judged{Rule: approval.Rule{Effective: []approval.Factor{approval.RulesBased}}},
		}},
	} {
		of := *d
		of.Roles, of.Live = c.roles, map[string]bool{"telegram": true, "discord": c.roles != nil}
		of.Users = map[string][]string{"telegram": slices.DeleteFunc([]string{"1", "2", "3", "9"}, func(id string) bool { return id == c.not })}
		var names []string
		for _, p := range people.Contacts(c.a, of.At(bobsWeek)) {
			names = append(names, p.Name)
		}
		require.Equal(t, c.want, names, name)
	}
}
