package core_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// From the yes to the result, and what an operator may still do.
func TestTheLifeOfAYes(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "two", func(c *approval.Call) { c.Origin = &ops })
	_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
	a, err = d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "fine", "")
	require.NoError(t, err)
	require.Equal(t, "1 of 2 yes (alice)", people.TallyText(a, d.rules.People))
	a, err = d.Vote(
		t.Context(), a.Key,
		core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.AllowOnce, Code: a.Code},
	)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, a.Status)
	require.Contains(t, card.Ending(a), "allowed once by alice, bob")

	got, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "c"})
	require.NoError(t, err)
	require.JSONEq(t, `{"path":"a"}`, string(got.Params))
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "d"})
	require.Equal(t, approval.CodeAlreadyUsed, approval.CodeOf(err))
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: strings.Repeat("c", 129)})
	require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
	_, err = d.Report(t.Context(), agent, a.ID, "", approval.Result{Status: "maybe"})
	require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err))
	_, err = d.Report(t.Context(), agent, a.ID, "", approval.Result{Status: "failed", Summary: "no network"})
	require.NoError(t, err)
	_, err = d.Revoke(t.Context(), alice, a.Code, "")
	require.Equal(t, approval.CodeAlreadyUsed, approval.CodeOf(err), "what was handed out is not taken back")

	_, err = d.Retry(t.Context(), agent, a.ID, false)
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
	_, err = d.Retry(t.Context(), core.Caller{Token: "agent", MayDecide: true}, a.Code, false)
	require.Equal(t, approval.CodeSelfApproval, approval.CodeOf(err))
	a, err = d.Retry(t.Context(), alice, a.Code, false)
	require.NoError(t, err)
	require.Contains(t, a.Votes[0].Decision, "allow", "one of two does not make it run again")
	a, err = d.Retry(t.Context(), bob, a.Code, false)
	require.NoError(t, err)
	a, err = d.Revoke(t.Context(), bob, a.Code, "enough")
	require.NoError(t, err)
	require.Contains(t, card.Ending(a), "then revoked by bob")
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.Equal(t, "revoked", err.(*approval.Error).Why)
	_, err = d.Revoke(t.Context(), agent, a.ID, "")
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
}

// What the rules of today refuse is not handed out, whoever allowed it.
func TestTheRulesOfTodayCountAtTheClaim(t *testing.T) {
	d := newFixture(t)
	allowed := d.submit(t, "allow")
	voted := d.submit(t, "ask")
	_, err := d.VoteAs(t.Context(), alice, voted.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "2", denied: "allow"} })
	_, err = d.Claim(t.Context(), agent, allowed.ID, core.ClaimInput{})
	require.ErrorContains(t, err, "Policy now refuses this call: not here")
	_, err = d.Claim(t.Context(), agent, voted.ID, core.ClaimInput{})
	require.NoError(t, err, "an approver's yes stands")

	open := d.submit(t, "ask", func(c *approval.Call) { c.SessionKey = "t" })
	late := d.submit(t, "two", func(c *approval.Call) { c.SessionKey = "t" })
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "3", denied: "ask"} })
	require.NoError(t, d.Upkeep().Rejudge(t.Context()))
	open, err = d.ByKey(t.Context(), open.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Denied, open.Status)
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "4", denied: "two"} })
	_, err = d.VoteAs(t.Context(), alice, late.Code, approval.AllowOnce, "", "")
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err), "a vote finds the rules of today")

	d.use(func(r *core.Rules) { r.Enabled = false })
	_, err = d.Claim(t.Context(), agent, voted.ID, core.ClaimInput{})
	require.ErrorContains(t, err, "claimed before")
}

// A standing grant lets the same run again without a person, until it is ended.
func TestAGrantAllowsTheNextCall(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowSession, "", "")
	require.NoError(t, err)
	next := d.submit(t, "ask", func(c *approval.Call) { c.Params = []byte(`{"path":"b"}`) })
	require.Equal(t, approval.Approved, next.Status)
	require.Contains(t, next.DecidedBy[0], "grant:")
	preview, err := d.Evaluate(t.Context(), agent, call("ask"))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeAllow, preview.Outcome)
	require.Equal(t, next.DecidedBy[0], preview.By)

	_, err = d.Grants().List(t.Context(), agent, core.GrantFilter{})
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
	grants, err := d.Grants().List(t.Context(), alice, core.GrantFilter{})
	require.NoError(t, err)
	require.Len(t, grants, 1)
	_, err = d.Grants().Drop(t.Context(), core.Caller{}, core.GrantFilter{ID: grants[0].ID})
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
	n, err := d.Grants().Drop(t.Context(), alice, core.GrantFilter{ID: grants[0].ID})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = d.Grants().Drop(t.Context(), agent, core.GrantFilter{ID: grants[0].ID})
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	_, err = d.Claim(t.Context(), agent, next.ID, core.ClaimInput{})
	require.ErrorContains(t, err, "the grant that allowed the call has ended")
}

// A deny refuses that very call for ten minutes; an owner cannot lift that, a person may.
func TestADenyCoolsDown(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	a, err := d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "", "")
	require.NoError(t, err)
	a, err = d.Chats().AddReason(t.Context(), a.Key, approval.Voter{Channel: "api", UserID: "alice-laptop"}, "not today", nil)
	require.NoError(t, err)
	require.Equal(t, "not today", a.Reason)
	again := d.submit(t, "ask")
	require.Equal(t, approval.Denied, again.Status)
	require.Regexp(t, `^alice denied this very call 0 s ago: not today; it is refused without asking again until [^;]*$`, again.Reason)
	require.Regexp(t, `^denied: alice denied `, card.Ending(again), "no grant denied it")
	elsewhere := call("ask")
	elsewhere.SessionKey = "another"
	other, _, err := d.Submit(t.Context(), agent, elsewhere)
	require.NoError(t, err)
	require.Equal(t, again.Reason, other.Reason, "a new session is no way round it")
	preview, err := d.Evaluate(t.Context(), alice, call("ask"))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeAsk, preview.Outcome, "it is the agent's, and alice's token is another owner")
	preview, err = d.Evaluate(t.Context(), agent, call("ask"))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeDeny, preview.Outcome)
	require.NotContains(t, preview.Reason, "allowlist remove")
	n, err := d.Grants().Drop(t.Context(), agent, core.GrantFilter{Owner: "agent"})
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = d.Grants().Drop(t.Context(), alice, core.GrantFilter{Owner: "agent"})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, approval.Pending, d.submit(t, "ask").Status)
}

// Whoever withdraws does so once, and only what is open.
func TestWithdrawIsTheOwners(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	_, err := d.Withdraw(t.Context(), core.Caller{Token: "other", MayRequest: true}, a.ID, "")
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	for range 2 {
		a, err = d.Withdraw(t.Context(), agent, a.ID, "not needed")
		require.NoError(t, err)
		require.Equal(t, approval.Withdrawn, a.Status)
	}
	settled := d.submit(t, "deny")
	_, err = d.Withdraw(t.Context(), agent, settled.ID, "")
	require.Equal(t, approval.CodeAlreadyResolved, approval.CodeOf(err))
}

// A card that the desk did not know is adopted where one was to stand, and nowhere else.
func TestATapOnAnUnknownCard(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "two")
	elsewhere := approval.Target{Channel: "telegram", To: "-9"}
	ballot := core.Ballot{
		Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Decision: approval.AllowOnce, Card: "77", Chat: &elsewhere,
		Code: a.Code,
	}
	_, err := d.Vote(t.Context(), a.Key, ballot)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err))
	ballot.Chat = &ops
	a, err = d.Vote(t.Context(), a.Key, ballot)
	require.NoError(t, err)
	require.Len(t, a.Votes, 1)
	ballot.Code = "000000"
	_, err = d.Vote(t.Context(), a.Key, ballot)
	require.Equal(t, approval.CodeNotFound, approval.CodeOf(err), "the card is another approval's")
}

// Messages that chats ask for are posted once.
func TestChatsAskForMessages(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "ask")
	there := approval.Target{Channel: "telegram", To: "-200"}
	for range 2 {
		_, err := d.Chats().Show(t.Context(), a.Key, there, nil)
		require.NoError(t, err)
		require.NoError(t, d.Chats().AskReason(t.Context(), a.Key, there, "5", "1"))
	}
	require.NoError(t, d.Redraw(t.Context(), a.Key))
	a, err := d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	require.Len(t, a.Deliveries, 3, "its card, the card there, and the question")
	require.NoError(t, d.Chats().Refused(t.Context(), approval.Voter{Channel: "telegram", UserID: "9"}, "forged", nil))
	require.NoError(t, d.Upkeep().Announce(t.Context(), "reload", "2", []string{"x"}))
	log, err := d.store.Log(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, approval.EventPolicy, log[len(log)-1].Type)
	require.Equal(t, approval.EventRefused, log[len(log)-2].Type)
}

// Timers expire what nobody decided in time, and nothing before.
func TestTickExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFixture(t)
		a := d.submit(t, "ask", func(c *approval.Call) { c.TimeoutMs = 60_000 })
		status := func() approval.Status {
			require.NoError(t, d.Tick(t.Context(), a.Key))
			got, err := d.ByKey(t.Context(), a.Key)
			require.NoError(t, err)
			return got.Status
		}
		time.Sleep(time.Minute - time.Millisecond)
		require.Equal(t, approval.Pending, status())
		time.Sleep(time.Millisecond)
		require.Equal(t, approval.Expired, status())
		require.Equal(t, approval.Expired, status(), "again changes nothing")
	})
}

// A pattern is a person's word for commands, shown before it is stored.
func TestAPatternIsAPersonsGrant(t *testing.T) {
	d := newFixture(t)
	exec := func(c *approval.Call) { c.Params = []byte(`{"argv":["git","push","origin"]}`) }
	asked := d.submit(t, "exec", exec)
	r := core.PatternRequest{
		Owner: "agent", ToolName: "exec", Pattern: []string{"git", "push", "*"}, MaxClass: "R2", Preview: true,
		TTLMs: 1000,
	}
	p, err := d.Grants().AddPattern(t.Context(), alice, r)
	require.NoError(t, err)
	require.Nil(t, p.Grant)
	require.Equal(t, asked.Code, p.Covers[0].Code)
	for name, change := range map[string]func(*core.PatternRequest){
		"an owner":         func(r *core.PatternRequest) { r.Owner = "" },
		"a command":        func(r *core.PatternRequest) { r.ToolName = "read" },
		"a class below R4": func(r *core.PatternRequest) { r.MaxClass = "R4" },
		"a time":           func(r *core.PatternRequest) { r.TTLMs = -1 },
		"a program's name": func(r *core.PatternRequest) { r.Pattern = []string{"*"} },
		"whole words":      func(r *core.PatternRequest) { r.Pattern = []string{"git", "pu*"} },
		"a last ** only":   func(r *core.PatternRequest) { r.Pattern = []string{"git", "**", "push"} },
	} {
		bad := r
		change(&bad)
		_, err := d.Grants().AddPattern(t.Context(), alice, bad)
		require.Equal(t, approval.CodeInvalidRequest, approval.CodeOf(err), "it needs "+name)
	}
	_, err = d.Grants().AddPattern(t.Context(), agent, r)
	require.Equal(t, approval.CodeForbidden, approval.CodeOf(err))
	r.Preview = false
	p, err = d.Grants().AddPattern(t.Context(), alice, r)
	require.NoError(t, err)
	require.NotNil(t, p.Grant)
}
