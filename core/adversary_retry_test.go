package core_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/proof"
)

// ran has the agent claim a call under that name and report how it went; no status: it
// reports nothing.
func (d *fixture) ran(t *testing.T, a approval.Approval, claimID, status string) {
	t.Helper()
	_, err := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: claimID})
	require.NoError(t, err)
	if status != "" {
		_, err = d.Report(t.Context(), agent, a.ID, claimID, approval.Result{Status: status})
		require.NoError(t, err)
	}
}

// allowed is a call that alice, and bob where two are needed, allowed.
func (d *fixture) allowed(t *testing.T, tool string, more ...func(*approval.Call)) approval.Approval {
	t.Helper()
	a := d.submit(t, tool, more...)
	for _, who := range []core.Caller{alice, bob} {
		if a.Status == approval.Pending {
			var err error
			a, err = d.VoteAs(t.Context(), who, a.Code, approval.AllowOnce, "", "")
			require.NoError(t, err)
		}
	}
	require.Equal(t, approval.Approved, a.Status)
	return a
}

// why gives the code of a refusal, and why a call is not claimable; "": there is none.
func why(err error) string {
	if e, is := err.(*approval.Error); is && e.Why != "" { //nolint:errorlint // the Gate gives them bare
		return string(e.Code) + " " + e.Why
	}
	return string(approval.CodeOf(err))
}

// again is a person's signed retry.
func (d *signing) again(t *testing.T, who string, a approval.Approval) (approval.Approval, error) {
	t.Helper()
	now, err := d.ByKey(t.Context(), a.Key)
	require.NoError(t, err)
	shown := d.shown(a)
	shown.Retry, shown.After = true, len(now.RetriedBy)
	y, err := d.Pages().BeginYes(t.Context(), signedInAs(who), a.Code, shown)
	require.NoError(t, err)
	yes := d.sign(t, who, y)
	yes.Retry = true
	return d.Pages().VoteSigned(t.Context(), signedInAs(who), a.Code, yes, "")
}

// T3: each run needs signatures of its own, over "retry", by the whole quorum; and its
// receipt has these.
func TestAdversary_T3_EachRunHasItsOwnSignatures(t *testing.T) {
	d := newSigning(t, "alice", "bob")
	a := d.submit(t, "signed-twice")
	for _, who := range []string{"alice", "bob"} {
		_, err := d.yes(t, who, a)
		require.NoError(t, err)
	}
	d.ran(t, a, "1", "failed")
	_, err := d.Retry(t.Context(), alice, a.Code, false)
	require.Equal(t, "step_up_required", why(err))
	require.Equal(t, deskURL+"/a/"+a.Code, err.(*approval.Error).URL)

	// A signature over allow-once is none over retry, and the other way round.
	yes := d.sign(t, "alice", d.begin(t, "alice", d.submit(t, "signed-twice", func(c *approval.Call) { c.SessionKey = "other" })))
	yes.Retry = true
	_, err = d.Pages().VoteSigned(t.Context(), signedInAs("alice"), a.Code, yes, "")
	require.Equal(t, "step_up_required", why(err))

	for run := 2; run <= 4; run++ {
		got, err := d.again(t, "alice", a)
		require.NoError(t, err)
		require.NotNil(t, got.Round)
		_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "x"})
		require.Equal(t, "already_used", why(err), "one signature of two")
		got, err = d.again(t, "bob", a)
		require.NoError(t, err)
		require.Nil(t, got.Round)
		require.Equal(t, approval.AllowOnce, got.Decision)

		r, err := proof.ReceiptFor(got, "desk")
		require.NoError(t, err)
		require.Len(t, r.Retries, run-1)
		require.Len(t, r.Signed, 2)
		require.Equal(t, proof.Quorum{Needed: 2, Got: 2}, r.Quorum)
		for _, s := range r.Signed {
			require.Equal(t, "retry", r.Yes(s).Decision)
			require.NoError(t, s.Signed(r.Yes(s)))
		}
		d.ran(t, a, string(rune('0'+run)), "failed")
	}
	_, err = d.again(t, "alice", a)
	require.Equal(t, "not_claimable late", why(err), "three retries are the most")
}

// T3: a signed yes that was not claimed in time is not opened again; neither is a signed retry.
func TestAdversary_T3_ASignedYesThatWasNotClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSigning(t, "alice", "bob")
		a, b := d.submit(t, "signed"), d.submit(t, "signed", func(c *approval.Call) { c.SessionKey = "b" })
		for _, x := range []approval.Approval{a, b} {
			_, err := d.yes(t, "alice", x)
			require.NoError(t, err)
		}
		d.ran(t, b, "1", "failed")
		_, err := d.again(t, "bob", b)
		require.NoError(t, err)
		unsigned := d.allowed(t, "ask")
		time.Sleep(6 * time.Minute)
		for _, x := range []approval.Approval{a, b} {
			_, err := d.again(t, "alice", x)
			require.Equal(t, "not_claimable late", why(err))
		}
		_, err = d.Retry(t.Context(), alice, unsigned.Code, false)
		require.NoError(t, err, "nothing was signed, and nothing has run")
		d.ran(t, unsigned, "1", "succeeded")
	})
}

// T3: what does not run again, and why.
func TestAdversary_T3_WhatIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		tool    string // ask if empty
		call    func(*approval.Call)
		before  func(*testing.T, *fixture, approval.Approval) // after the run
		result  string                                        // failed if empty; none: not reported; unclaimed: it was not claimed
		who     core.Caller                                   // alice if empty
		without bool
		want    string
		clean   bool // no record is made of it
	}{
		"after a failure":             {want: ""},
		"a token without the scope":   {who: agent, want: "forbidden", clean: true},
		"a token that is nobody's":    {who: core.Caller{Token: "looker", MayDecide: true}, want: "not_an_approver"},
		"a person who may not decide": {who: core.Caller{Token: "carols", Person: "carol", MayDecide: true}, want: "not_an_approver"},
		"the asker's own token":       {who: core.Caller{Token: "agent", MayDecide: true}, want: "self_approval"},
		"the requester":               {call: func(c *approval.Call) { c.Requester = &approval.Requester{Person: "alice"} }, who: alice, want: "self_approval"},
		"the requester's account":     {call: func(c *approval.Call) { c.Requester = &approval.Requester{Channel: "telegram", UserID: "1"} }, want: "self_approval"},
		"a drill":                     {tool: approval.DrillTool, result: "unclaimed", want: "not_claimable policy", clean: true},
		"what succeeded":              {result: "succeeded", want: "retry_data_gone", clean: true},
		"without a result":            {result: "none", want: "not_claimable pending", clean: true},
		"without a result, as said":   {result: "none", without: true, want: ""},
		"what may still be claimed":   {result: "unclaimed", want: "not_claimable pending", clean: true},
		"a call that is taken back": {result: "unclaimed", want: "not_claimable revoked", clean: true, before: func(t *testing.T, d *fixture, a approval.Approval) {
			_, err := d.Revoke(t.Context(), bob, a.Code, "")
			require.NoError(t, err)
		}},
		"policy denies it": {want: "not_claimable policy", before: func(_ *testing.T, d *fixture, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.Policy = byName{hash: "2", denied: "ask"} })
		}},
		"approvals are disabled":   {want: "not_claimable policy", before: func(_ *testing.T, d *fixture, _ approval.Approval) { d.use(func(r *core.Rules) { r.Enabled = false }) }},
		"the quorum cannot be met": {tool: "two", want: "not_claimable policy", before: func(t *testing.T, d *fixture, _ approval.Approval) { d.only(t, "alice") }},
		"the asking token is gone": {want: "not_claimable policy", clean: true, before: func(_ *testing.T, d *fixture, _ approval.Approval) { d.use(func(r *core.Rules) { r.Owners = nil }) }},
		"it is another person's": {want: "not_claimable policy", clean: true, before: func(_ *testing.T, d *fixture, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.Owners = map[string]string{"agent": "bob"} })
		}},
		"the requester is removed": {call: func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} }, want: "not_claimable policy", clean: true, before: func(t *testing.T, d *fixture, _ approval.Approval) { d.only(t, "alice") }},
		"the time for it is over": {want: "retry_data_gone", clean: true, before: func(_ *testing.T, d *fixture, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.RetryWindowMs = 1 })
			time.Sleep(time.Second)
		}},
		"a person denied it lately": {want: "not_claimable denied", clean: true, before: deniedAgain},
		"that deny is over": {want: "", before: func(t *testing.T, d *fixture, a approval.Approval) {
			deniedAgain(t, d, a)
			time.Sleep(11 * time.Minute)
		}},
		"nobody had been asked":          {tool: "allow", want: ""},
		"but who asked for it is barred": {tool: "allow", call: func(c *approval.Call) { c.Requester = &approval.Requester{Person: "alice"} }, want: "self_approval"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFixture(t)
				d.use(func(r *core.Rules) { r.RetryWindowMs = time.Hour.Milliseconds() })
				tool, who := c.tool, c.who
				if tool == "" {
					tool = "ask"
				}
				if who.Token == "" {
					who = alice
				}
				a := d.submit(t, tool, func(x *approval.Call) {
					if x.ToolName == approval.DrillTool {
						x.SessionKey = ""
					}
					if c.call != nil {
						c.call(x)
					}
				})
				for _, giver := range []core.Caller{bob, alice} {
					if a.Status == approval.Pending && approval.CodeOf(vote(t, d, giver, &a)) == approval.CodeSelfApproval {
						continue
					}
				}
				require.Equal(t, approval.Approved, a.Status)
				if c.result != "unclaimed" {
					status := map[string]string{"": "failed", "none": "", "succeeded": "succeeded"}[c.result]
					d.ran(t, a, "1", status)
				}
				if c.before != nil {
					c.before(t, d, a)
				}
				before := d.refusals(t)
				got, err := d.Retry(t.Context(), who, a.Code, c.without)
				require.Equal(t, c.want, why(err), "%v", err)
				if c.want != "" {
					recorded := 1
					if c.clean {
						recorded = 0
					}
					require.Equal(t, before+recorded, d.refusals(t), "attempts on record")
					now, err := d.ByKey(t.Context(), a.Key)
					require.NoError(t, err)
					require.Nil(t, now.Round)
					require.Zero(t, now.Retries)
					return
				}
				require.Equal(t, []string{"person:alice"}, got.RetriedBy[0].By)
				d.ran(t, a, "2", "succeeded")
			})
		})
	}
}

func vote(t *testing.T, d *fixture, who core.Caller, a *approval.Approval) error {
	t.Helper()
	got, err := d.VoteAs(t.Context(), who, a.Code, approval.AllowOnce, "", "")
	if err == nil {
		*a = got
	}
	return err
}

// deniedAgain has bob deny the same call of another session.
func deniedAgain(t *testing.T, d *fixture, _ approval.Approval) {
	t.Helper()
	same := d.submit(t, "ask", func(c *approval.Call) { c.SessionKey = "other" })
	_, err := d.VoteAs(t.Context(), bob, same.Code, approval.Deny, "", "")
	require.NoError(t, err)
}

// only leaves these people alone in the configuration.
func (d *fixture) only(t *testing.T, names ...string) {
	t.Helper()
	tokens := map[string]string{}
	var directory []people.Person
	for _, n := range names {
		tokens[n+"-laptop"], directory = n, append(directory, people.Person{Name: n})
	}
	left, err := people.NewDirectory(people.Rights{People: directory, Tokens: tokens})
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.People = left })
}

// refusals counts the attempts on record.
func (d *fixture) refusals(t *testing.T) (n int) {
	t.Helper()
	log, err := d.store.Log(t.Context(), 0, 200)
	require.NoError(t, err)
	for _, e := range log {
		if e.Type == approval.EventRefused {
			n++
		}
	}
	return n
}

// T3: "retry" counts nowhere but in a round: not on what waits, not before somebody opened
// one, and from no chat.
func TestAdversary_T3_RetryIsNoOtherVote(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.submit(t, "two")
	_, err := d.VoteAs(ctx, alice, a.Code, approval.Retry, "", "")
	require.Equal(t, "decision_not_offered", why(err))
	_, err = d.Pages().Vote(ctx, signedInAs("alice"), a.Code, core.WebBallot{Decision: approval.Retry})
	require.Equal(t, "invalid_request", why(err))
	require.NotContains(t, a.Offers, approval.Retry)
	require.False(t, approval.Retry.Allows())
	a = d.allowed(t, "two")
	d.ran(t, a, "1", "failed")
	_, err = d.VoteAs(ctx, alice, a.Code, approval.Retry, "", "")
	require.Equal(t, "decision_not_offered", why(err), "that opens none")
	_, err = d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	_, err = d.Vote(ctx, a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.Retry, Chat: &ops})
	require.Equal(t, "decision_not_offered", why(err))
	_, err = d.VoteAs(ctx, bob, a.Code, approval.AllowOnce, "", "")
	require.Equal(t, "already_resolved", why(err), "a yes to the call is none to one more run, and is not answered as one")
	got, err := d.ByKey(ctx, a.Key)
	require.NoError(t, err)
	require.Len(t, got.Round.Votes, 1)
	_, err = d.Pages().Retry(ctx, signedInAs("bob"), a.Code, "", "", false, true)
	require.Equal(t, "unseen_payload", why(err))
	got, err = d.VoteAs(ctx, bob, a.Code, approval.Retry, "", "")
	require.NoError(t, err)
	require.Equal(t, []string{"person:alice", "person:bob"}, got.DecidedBy)
	_, err = d.VoteAs(ctx, bob, a.Code, approval.Retry, "", "")
	require.NoError(t, err)
	_, err = d.Retry(ctx, bob, a.Code, false)
	require.NoError(t, err, "an answer that was lost is given again")
	require.Empty(t, got.Round)
	grants, err := d.store.Grants(ctx, core.GrantFilter{})
	require.NoError(t, err)
	require.Empty(t, grants, "it leaves none behind")
}

// T3: a deny ends the round, and the same call is refused for ten minutes. A tap in a chat
// and the asker's word do as well.
func TestAdversary_T3_ADenyEndsTheRound(t *testing.T) {
	for name, deny := range map[string]core.Ballot{
		"by API":       {Voter: approval.Voter{Channel: "api", UserID: "bob-laptop"}},
		"from a chat":  {Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Chat: &ops},
		"of an asker":  {Voter: approval.Voter{Channel: "telegram", UserID: "9"}},
		"of the giver": {Voter: approval.Voter{Channel: "api", UserID: "alice-laptop"}},
	} {
		t.Run(name, func(t *testing.T) {
			d, ctx := newFixture(t), t.Context()
			a := d.allowed(t, "two", func(c *approval.Call) { c.Requester = &approval.Requester{Channel: "telegram", UserID: "9"} })
			d.ran(t, a, "1", "failed")
			_, err := d.Retry(ctx, alice, a.Code, false)
			require.NoError(t, err)
			deny.Decision, deny.ReceivedMs = approval.Deny, time.Now().UnixMilli()
			got, err := d.Vote(ctx, a.Key, deny)
			require.NoError(t, err)
			require.Nil(t, got.Round)
			require.Equal(t, approval.Approved, got.Status, "what was decided stays")
			require.Contains(t, card.VotedText(got, approval.Voter{}, approval.Deny, d.rules.People, time.Now().UnixMilli()), "does not run again")
			_, err = d.Retry(ctx, bob, a.Code, false)
			require.Equal(t, "not_claimable denied", why(err))
			same := d.submit(t, "two", func(c *approval.Call) { c.SessionKey = "other" })
			require.Equal(t, approval.Denied, same.Status)
			_, err = d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: "2"})
			require.Equal(t, "already_used", why(err))
		})
	}
}

// T3: what changes between two votes counts at the last one: time, people, policy, the
// result, and who is away.
func TestAdversary_T3_BetweenTwoVotes(t *testing.T) {
	for name, c := range map[string]struct {
		between func(*testing.T, *signing, approval.Approval)
		want    string // of bob's vote
		open    bool   // the round goes on
	}{
		"nothing":           {},
		"the round is over": {open: true, between: func(*testing.T, *signing, approval.Approval) { time.Sleep(15 * time.Minute) }},
		"the window is over": {want: "retry_data_gone", between: func(_ *testing.T, d *signing, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.RetryWindowMs = 1000 })
			time.Sleep(time.Minute)
		}},
		"the giver is removed":              {want: "not_claimable policy", between: func(t *testing.T, d *signing, _ approval.Approval) { d.only(t, "bob") }},
		"the giver is back by another name": {open: true, between: func(t *testing.T, d *signing, _ approval.Approval) { d.only(t, "bob", "carol") }},
		"policy denies it": {want: "not_claimable policy", between: func(_ *testing.T, d *signing, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.Policy = signedByName{byName{hash: "2", denied: "two"}} })
		}},
		"policy is another, and asks the same": {between: func(_ *testing.T, d *signing, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.Policy = signedByName{byName{hash: "2"}} })
		}},
		"policy has a higher class for it": {open: true, between: func(_ *testing.T, d *signing, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.Policy = twoIsGrave{byName{hash: "2"}} })
		}},
		"it has succeeded after all": {want: "retry_data_gone", between: func(t *testing.T, d *signing, a approval.Approval) {
			_, err := d.Report(t.Context(), agent, a.ID, "1", approval.Result{Status: "succeeded"})
			require.NoError(t, err)
		}},
		"it has failed": {between: func(t *testing.T, d *signing, a approval.Approval) {
			_, err := d.Report(t.Context(), agent, a.ID, "1", approval.Result{Status: "failed"})
			require.NoError(t, err)
		}},
		"the same call is denied": {want: "not_claimable denied", between: func(t *testing.T, d *signing, _ approval.Approval) {
			same := d.submit(t, "two", func(c *approval.Call) { c.SessionKey = "other" })
			_, err := d.VoteAs(t.Context(), bob, same.Code, approval.Deny, "", "")
			require.NoError(t, err)
		}},
		"alice goes away and bob stands in": {open: true, between: func(t *testing.T, d *signing, _ approval.Approval) {
			_, err := d.Absences().SetAway(t.Context(), alice, core.Leave{Person: "alice", To: "bob", UntilMs: time.Now().Add(time.Hour).UnixMilli()})
			require.NoError(t, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newSigning(t)
				d.use(func(r *core.Rules) { r.RetryWindowMs = time.Hour.Milliseconds() })
				require.NoError(t, d.Absences().Learn(t.Context()))
				a := d.allowed(t, "two")
				d.ran(t, a, "1", "")
				_, err := d.Retry(t.Context(), alice, a.Code, true)
				require.NoError(t, err)
				if c.between != nil {
					c.between(t, d, a)
				}
				got, err := d.Retry(t.Context(), bob, a.Code, true)
				require.Equal(t, c.want, why(err), "%v", err)
				_, claimed := d.Claim(t.Context(), agent, a.ID, core.ClaimInput{ClaimID: "2"})
				if c.want != "" || c.open {
					require.Error(t, claimed)
				} else {
					require.NoError(t, claimed)
				}
				if c.open {
					require.Len(t, got.RetriedBy, 0)
					require.NotNil(t, got.Round)
				}
			})
		})
	}
}

// T3: a policy that wants a signature by now wants one of each giver, also of those who
// have voted without.
func TestAdversary_T3_ASignatureIsWantedByNow(t *testing.T) {
	d := newSigning(t, "alice", "bob")
	a := d.allowed(t, "two")
	d.ran(t, a, "1", "failed")
	_, err := d.Retry(t.Context(), alice, a.Code, false)
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.Policy = twoIsSigned{byName{hash: "2"}} })
	_, err = d.Retry(t.Context(), bob, a.Code, false)
	require.Equal(t, "step_up_required", why(err))
	got, err := d.again(t, "bob", a)
	require.NoError(t, err)
	require.NotNil(t, got.Round, "alice has not signed")
	got, err = d.again(t, "alice", a)
	require.NoError(t, err)
	require.Nil(t, got.Round)
	d.ran(t, a, "2", "failed")
}

// twoIsGrave is byName with a higher class for "two".
type twoIsGrave struct{ byName }

func (p twoIsGrave) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	j.Assessment.RiskClass = approval.R4
	return j
}

// twoIsSigned is byName where a yes to "two" must be signed.
type twoIsSigned struct{ byName }

func (p twoIsSigned) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	j.Rule.StepUp = true
	return j
}

// T3: whatever people, the asker and the operator do, in any order, a call runs once and
// then once for each round that its whole quorum agreed in; each of them with votes, and
// signatures where they are wanted, of that round alone.
func TestAdversary_T3_NoRunWithoutItsQuorum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newSigning(t, "alice", "bob")
		both, n, most := d.rules.People, 0, 0
		d.use(func(r *core.Rules) { r.RetryWindowMs = time.Hour.Milliseconds() })
		rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { // without t.Deadline, which a bubble has not
			ctx := t.Context()
			n++
			hash := 1
			d.use(func(r *core.Rules) { r.People, r.Policy = both, signedByName{byName{hash: "1"}} })
			tool := rapid.SampledFrom([]string{"two", "signed-twice"}).Draw(rt, "tool")
			a := d.submit(t, tool, func(c *approval.Call) { c.AgentID = fmt.Sprint("agent", n) })
			say := func(who string, again bool) {
				switch {
				case tool == "signed-twice" && again:
					is, err := d.ByKey(ctx, a.Key)
					require.NoError(rt, err)
					y, err := d.Pages().BeginYes(ctx, signedInAs(who), a.Code, core.ShownCall{Fingerprint: a.Fingerprint,
						PolicyHash: d.PolicyHash(), Retry: true, After: len(is.RetriedBy)})
					if err != nil {
						return
					}
					yes := d.sign(t, who, y)
					yes.Retry, yes.WithoutResult = true, true
					_, _ = d.Pages().VoteSigned(ctx, signedInAs(who), a.Code, yes, "")
				case tool == "signed-twice":
					_, _ = d.yes(t, who, a)
				case again:
					_, _ = d.Retry(ctx, map[string]core.Caller{"alice": alice, "bob": bob}[who], a.Code, true)
				default:
					_, _ = d.VoteAs(ctx, map[string]core.Caller{"alice": alice, "bob": bob}[who], a.Code, approval.AllowOnce, "", "")
				}
			}
			say("alice", false)
			time.Sleep(time.Second)
			say("bob", false)
			var claims []string
			nonces, votedAt := map[string]bool{}, map[int64]bool{}
			who := rapid.SampledFrom([]string{"alice", "bob"})
			for step := range rapid.IntRange(5, 40).Draw(rt, "steps") {
				time.Sleep(time.Second) // no two votes at the same time
				switch rapid.SampledFrom([]string{"retry", "retry", "retry", "claim", "claim", "claim", "failed", "succeeded",
					"late", "deny", "reload", "remove", "back", "wait", "nobody"}).Draw(rt, "step") {
				case "retry":
					say(who.Draw(rt, "who"), true)
				case "nobody":
					_, _ = d.Retry(ctx, core.Caller{Token: "looker", MayDecide: true}, a.Code, true)
				case "claim":
					id := fmt.Sprint("run", step)
					got, err := d.Claim(ctx, agent, a.ID, core.ClaimInput{ClaimID: id})
					if err != nil {
						continue
					}
					claims = append(claims, id)
					voters := map[string]bool{}
					for _, v := range got.Approval.Votes {
						voters[v.Voter.Person] = true
						require.False(t, votedAt[v.DecidedAtMs], "a vote lets one run through")
						votedAt[v.DecidedAtMs] = true
						require.Equal(t, len(got.Approval.RetriedBy) > 0, v.Decision == approval.Retry)
						require.Equal(t, tool == "signed-twice", v.Signature != nil)
						if v.Signature != nil {
							require.False(t, nonces[v.Signature.Nonce])
							nonces[v.Signature.Nonce] = true
						}
					}
					require.Equal(t, map[string]bool{"alice": true, "bob": true}, voters)
				case "failed", "succeeded":
					status := rapid.SampledFrom([]string{"failed", "failed", "failed", "succeeded"}).Draw(rt, "status")
					_, _ = d.Report(ctx, agent, a.ID, "", approval.Result{Status: status})
				case "late":
					if len(claims) > 0 {
						_, _ = d.Report(ctx, agent, a.ID, claims[0], approval.Result{Status: "failed"})
					}
				case "deny":
					if rapid.IntRange(0, 3).Draw(rt, "meant") == 0 {
						_, _ = d.VoteAs(ctx, alice, a.Code, approval.Deny, "", "")
					}
				case "reload":
					hash++
					d.use(func(r *core.Rules) { r.Policy = signedByName{byName{hash: fmt.Sprint(hash)}} })
				case "remove":
					d.only(t, who.Draw(rt, "who"))
				case "back":
					d.use(func(r *core.Rules) { r.People = both })
				case "wait":
					time.Sleep(time.Duration(rapid.IntRange(1, 16).Draw(rt, "minutes")) * time.Minute)
				}
			}
			now, err := d.ByKey(ctx, a.Key)
			require.NoError(t, err)
			require.LessOrEqual(t, len(claims), 1+len(now.RetriedBy))
			require.LessOrEqual(t, len(now.RetriedBy), 3)
			most = max(most, len(claims))
		})
		require.Greater(t, most, 1, "some ran again")
	})
}

// T3: who asks for the same call again, and is answered by what was allowed already, stands
// behind it too, and lets nothing run again.
func TestAdversary_T3_WhoAskedAgainDoesNotRetry(t *testing.T) {
	from := func(person string, resume bool) func(*approval.Call) {
		return func(c *approval.Call) { c.Requester, c.Resume = &approval.Requester{Person: person}, resume }
	}
	for name, again := range map[string]func(*approval.Call){
		"by resuming it": from("bob", true),
		"by its id":      func(c *approval.Call) { from("bob", false)(c); c.ID = "job" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			a := d.submit(t, "ask", func(c *approval.Call) { c.ID = "job" })
			require.NoError(t, vote(t, d, alice, &a))
			same := d.submit(t, "ask", again)
			require.Equal(t, a.Key, same.Key)
			d.ran(t, a, "1", "failed")
			_, err := d.Retry(t.Context(), bob, a.Code, false)
			require.Equal(t, "self_approval", why(err))
			_, err = d.Retry(t.Context(), alice, a.Code, false)
			require.NoError(t, err)
		})
	}
}

// T3: rounds that two instances open at once are one, and its quorum lets one run through.
func TestAdversary_T3_TwoInstancesOpenOneRound(t *testing.T) {
	d := newFixture(t)
	other := core.NewGate(d.store.CoreStores(), d.rules, slog.New(slog.DiscardHandler))
	for n := range 10 {
		a := d.allowed(t, "two", func(c *approval.Call) { c.AgentID = fmt.Sprint(n) })
		d.ran(t, a, "1", "failed")
		var both sync.WaitGroup
		errs := make([]error, 4)
		for i, who := range []core.Caller{alice, bob, alice, bob} {
			g := []*core.Gate{d.Gate, other}[i%2]
			both.Go(func() { _, errs[i] = g.Retry(t.Context(), who, a.Code, false) })
		}
		both.Wait()
		for _, err := range errs {
			require.NoError(t, err)
		}
		got, err := d.ByKey(t.Context(), a.Key)
		require.NoError(t, err)
		require.Len(t, got.RetriedBy, 1)
		require.ElementsMatch(t, []string{"person:alice", "person:bob"}, got.DecidedBy)
		d.ran(t, a, "2", "succeeded")
	}
}

// Who may not know of a round hears of it below the card, or in the chats that routing
// names; the card says so too, and neither does once the round is over.
func TestARoundIsTold(t *testing.T) {
	d, ctx := newFixture(t), t.Context()
	a := d.allowed(t, "two")
	d.ran(t, a, "1", "failed")
	a, err := d.Retry(ctx, alice, a.Code, false)
	require.NoError(t, err)
	told := func() (texts []string) {
		got, err := d.ByKey(ctx, a.Key)
		require.NoError(t, err)
		for _, x := range got.Deliveries {
			if x.Kind == approval.RetryAskedDelivery {
				what, err := d.Draw(ctx, x)
				require.NoError(t, err)
				require.Equal(t, ops, x.Target)
				texts = append(texts, what.Text+what.Skip)
			}
		}
		return texts
	}
	require.Len(t, told(), 1)
	require.Contains(t, told()[0], "alice asks to run it again (reported failed). 1 of 2 yes (alice), until ")
	require.Contains(t, told()[0], "approvalbot retry "+a.Code)
	card, err := d.Card(ctx, a)
	require.NoError(t, err)
	require.Contains(t, card.Outcome.String(), "🔁 retry asked by alice, 1 of 2 yes (alice), until ")
	a, err = d.Retry(ctx, bob, a.Code, false)
	require.NoError(t, err)
	require.Equal(t, []string{"the retry was decided, or its time is over"}, told())
	card, err = d.Card(ctx, a)
	require.NoError(t, err)
	require.Contains(t, card.Outcome.String(), "Allowed once by alice, bob")
	require.Contains(t, card.Outcome.String(), "alice, bob let the agent run it again, until ")
}
