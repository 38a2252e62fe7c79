package server

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
)

func inSession(session string) func(*api.CreateRequest) {
	return func(r *api.CreateRequest) { r.SessionKey = session }
}

// decide asks for a call and has alice decide it.
func (d *desk) decide(params string, decision api.Decision, more ...func(*api.CreateRequest)) api.Approval {
	d.t.Helper()
	a := d.ask("ask", params, more...)
	require.Equal(d.t, api.Pending, a.Status)
	a, err := d.alice.Resolve(d.t.Context(), a.ID, api.ResolveRequest{Decision: decision})
	require.NoError(d.t, err)
	return a
}

func (d *desk) grantList() []api.Grant {
	d.t.Helper()
	l, err := d.alice.Grants(d.t.Context(), api.GrantFilter{})
	require.NoError(d.t, err)
	return l.Items
}

func TestSessionGrant(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.AllowSession, inSession("s1"))
	grants := d.grantList()
	require.Len(t, grants, 1)
	require.Equal(t, "session", grants[0].Kind)
	require.Equal(t, []string{"person:alice"}, grants[0].By)
	require.EqualValues(t, 12*60*60*1000, grants[0].ExpiresAtMs-grants[0].CreatedAtMs)

	again := d.ask("ask", `{"a":2}`, inSession("s1"))
	require.Equal(t, api.Approved, again.Status)
	require.Equal(t, []string{"grant:" + grants[0].ID}, again.DecidedBy)
	claim, err := d.agent.Claim(ctx, again.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":2}`, string(claim.Params))

	n, err := d.alice.EndSession(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, api.Pending, d.ask("ask", `{"a":3}`, inSession("s1")).Status)
}

// W6: a session grant used by another session, agent, owner, program, without a
// session, for a higher class, or when policy no longer offers it, asks again.
func TestAdversary_W6_GrantsDoNotReachFurther(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.AllowSession, inSession("s1"))
	require.Equal(t, api.Pending, d.ask("ask", `{"a":2}`, inSession("s2")).Status, "another session")
	require.Equal(t, api.Pending, d.ask("ask", `{"a":2}`).Status, "no session")
	require.Equal(t, api.Pending, d.ask("mail.send", `{"a":2}`, inSession("s1")).Status, "another tool")
	require.Equal(t, api.Pending, d.ask("ask", `{"a":2}`, inSession("s1"), func(r *api.CreateRequest) { r.AgentID = "other" }).Status, "another agent")
	other, err := d.other.Create(ctx, request("ask", `{"a":2}`, inSession("s1")), api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, api.Pending, other.Status, "another owner")

	for name, change := range map[string]func(*approval.Judgement){
		"a higher class":       func(j *approval.Judgement) { j.Assessment.RiskClass = approval.R4 },
		"a higher quorum":      func(j *approval.Judgement) { j.Rule.MinApprovals = 2 },
		"a scope not offered":  func(j *approval.Judgement) { j.Offers = []approval.Decision{approval.AllowOnce, approval.Deny} },
		"a wrapper by reading": func(j *approval.Judgement) { j.GrantScope = approval.GrantScope{Subject: "-"} },
	} {
		d.judge.change("ask", change)
		require.Equal(t, api.Pending, d.ask("ask", `{"name":"`+name+`"}`, inSession("s1")).Status, name)
		d.judge.change("ask", nil)
		require.Equal(t, api.Approved, d.ask("ask", `{"back":"`+name+`"}`, inSession("s1")).Status, "without "+name)
	}
	_, err = d.alice.Resolve(ctx, d.ask("ask", `{"b":1}`).ID, api.ResolveRequest{Decision: api.AllowSession})
	refusal(t, err, approval.CodeDecisionNotOffered)
}

func TestAlwaysGrantCoversTheExactCall(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.decide(`{"a":1}`, api.AllowAlways)
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1.0}`).Status, "the same value")
	require.Equal(t, api.Pending, d.ask("ask", `{"a":2}`).Status)
	require.Equal(t, api.Pending, d.ask("ask", `{"a":1}`, func(r *api.CreateRequest) { r.Bind = &api.Bind{Workdir: new("/x")} }).Status)

	_, err := d.alice.Revoke(ctx, a.ID, api.RevokeRequest{Reason: "mistake"})
	require.NoError(t, err)
	require.Empty(t, d.grantList(), "a revoke ends the grant it left")
	require.Equal(t, api.Pending, d.ask("ask", `{"a":1}`).Status)
}

// W10: after a person's deny the same call is refused without a card, in every
// session, and the agent cannot remove that.
func TestAdversary_W10_AskedAgainAfterADeny(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.Deny, inSession("s1"))
	for _, session := range []string{"s1", "s2", ""} {
		again := d.ask("ask", `{"a":1}`, inSession(session))
		require.Equal(t, api.Denied, again.Status)
		require.Contains(t, again.ReasonCodes, "recently-denied")
		require.Empty(t, again.Deliveries)
	}
	require.Equal(t, api.Pending, d.ask("ask", `{"a":2}`, inSession("s1")).Status, "another call")
	other, err := d.other.Create(ctx, request("ask", `{"a":1}`), api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, api.Pending, other.Status, "another owner")

	down := d.grantList()
	require.Len(t, down, 1)
	require.Equal(t, "cooldown", down[0].Kind)
	refusal(t, d.agent.EndGrant(ctx, down[0].ID), approval.CodeNotFound)
	n, err := d.agent.EndSession(ctx, "s1")
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, api.Denied, d.ask("ask", `{"a":1}`).Status)

	require.NoError(t, d.alice.EndGrant(ctx, down[0].ID))
	require.Equal(t, api.Pending, d.ask("ask", `{"a":1}`).Status)
}

func TestAnOwnerEndsItsOwnGrantsOnly(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.AllowAlways)
	id := d.grantList()[0].ID
	refusal(t, d.other.EndGrant(ctx, id), approval.CodeNotFound)
	_, err := d.agent.Grants(ctx, api.GrantFilter{})
	refusal(t, err, approval.CodeForbidden)
	require.NoError(t, d.agent.EndGrant(ctx, id))
	require.Empty(t, d.grantList())
}

func TestEvaluateChangesNothing(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	e, err := d.agent.Evaluate(ctx, request("ask", `{"a":1}`))
	require.NoError(t, err)
	require.Equal(t, "ask", e.Outcome)
	require.Equal(t, "R3", e.Assessment.RiskClass)
	require.Equal(t, 1, e.Approvers.MinApprovals)
	require.Empty(t, e.Trace, "the trace is the operator's")
	for tool, want := range map[string]string{"read": "allow", "rm": "deny", "ask": "ask"} {
		e, err := d.bob.Evaluate(ctx, request(tool, `{}`))
		require.NoError(t, err)
		require.Equal(t, want, e.Outcome)
		require.NotEmpty(t, e.Trace)
	}
	l, err := d.alice.List(ctx, api.Filter{})
	require.NoError(t, err)
	require.Empty(t, l.Items)

	d.decide(`{"a":1}`, api.AllowAlways)
	e, err = d.agent.Evaluate(ctx, request("ask", `{"a":1}`))
	require.NoError(t, err)
	require.Equal(t, "allow", e.Outcome)
	require.Contains(t, e.By, "grant:")
}

func TestRetryMakesAnApprovedCallClaimableAgain(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{"a":1}`)
	_, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	refusal(t, err, approval.CodeAlreadyUsed)

	_, err = d.alice.Retry(ctx, a.Code)
	require.Contains(t, refusal(t, err, approval.CodeNotClaimable).Detail, "--without-result")
	again, err := d.alice.RetryWithoutResult(ctx, a.Code)
	require.NoError(t, err)
	require.GreaterOrEqual(t, again.ClaimUntilMs, a.ClaimUntilMs)
	require.Zero(t, again.ClaimedAtMs)
	claim, err := d.agent.Claim(ctx, a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.JSONEq(t, `{"a":1}`, string(claim.Params))
	_, err = d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "succeeded"})
	require.NoError(t, err)
	_, err = d.alice.Retry(ctx, a.ID)
	refusal(t, err, approval.CodeRetryDataGone)

	pending := d.ask("ask", `{"a":2}`)
	_, err = d.alice.Retry(ctx, pending.ID)
	refusal(t, err, approval.CodeNotClaimable)
	late := d.allow(`{"a":3}`)
	_, err = d.alice.Retry(ctx, late.ID)
	require.Contains(t, refusal(t, err, approval.CodeNotClaimable).Detail, "can still be claimed")
	d.run(late.ID, "failed")
	d.judge.turn("ask")
	_, err = d.alice.Retry(ctx, late.ID)
	require.Contains(t, refusal(t, err, approval.CodeNotClaimable).Detail, "no longer")
	_, err = d.agent.Retry(ctx, late.ID)
	refusal(t, err, approval.CodeForbidden)
}

// The session chat learns of each retry: from its card, or by a message of its own.
func TestRetryIsToldInTheSessionChat(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	drawn := func(chat string) (messages, cards int) {
		place, err := approval.ParseTarget(chat)
		require.NoError(t, err)
		a := d.allow(`{"a":1}`, func(r *api.CreateRequest) { r.Origin = &api.Target{Channel: place.Channel, To: place.To} })
		for range 2 {
			d.run(a.ID, "failed")
			_, err := d.alice.Retry(ctx, a.Code)
			require.NoError(t, err)
		}
		stored, err := d.gate.ByKey(ctx, a.ID)
		require.NoError(t, err)
		for _, delivery := range stored.Deliveries {
			if delivery.Target != place {
				continue
			}
			delivery.MessageID = "1"
			what, err := d.gate.Draw(ctx, delivery)
			require.NoError(t, err)
			if c := what.Card; c != nil {
				require.Contains(t, c.Outcome.String(), " · alice let the agent run it again, until ")
				cards++
			} else if strings.Contains(what.Text, "alice let the agent run it again, until ") {
				messages++
			}
		}
		return messages, cards
	}
	messages, cards := drawn("telegram:-100777")
	require.Equal(t, [2]int{2, 0}, [2]int{messages, cards})
	messages, cards = drawn(group)
	require.Equal(t, [2]int{0, 1}, [2]int{messages, cards}, "the card there says so")
}

// Where the session chat was told in words that a call may run, it is told that it
// may not any more.
func TestARevokeIsToldWhereTheOutcomeWas(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	told := func(a api.Approval) (words []string) {
		_, err := d.alice.Revoke(ctx, a.ID, api.RevokeRequest{Reason: "wrong branch"})
		require.NoError(t, err)
		stored, err := d.gate.ByKey(ctx, a.ID)
		require.NoError(t, err)
		for _, delivery := range stored.Deliveries {
			if delivery.Target.String() == "telegram:-100777" {
				what, err := d.gate.Draw(ctx, delivery)
				require.NoError(t, err)
				require.NotEqual(t, approval.CardDelivery, delivery.Kind)
				words = append(words, string(delivery.Kind)+": "+what.Text)
			}
		}
		return words
	}
	session := func(r *api.CreateRequest) { r.Origin = &api.Target{Channel: "telegram", To: "-100777"} }
	words := told(d.allow(`{"a":1}`, session))
	require.Len(t, words, 2)
	require.Contains(t, words[0], "outcome: ")
	require.Contains(t, words[1], ": allowed once by alice, then revoked by alice\nReason for taking it back: wrong branch\nWhat: ask · a: 1")

	require.Empty(t, told(d.ask("read", `{"a":1}`, session)), "nobody was told that policy allowed it")
}

// B5: the rules change while a request is pending, and nobody votes.
func TestAdversary_B5_RulesChangeWhilePending(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	pair := d.ask("pair", `{}`)
	stays, gone := d.ask("mail.send", `{}`), d.ask("ask", `{}`)
	_, err := d.alice.Resolve(ctx, pair.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)

	d.judge.turn("ask")
	d.judge.change("pair", func(j *approval.Judgement) { j.Rule.MinApprovals = 3; j.Rule.Needs = nil })
	d.judge.change("mail.send", func(j *approval.Judgement) { j.Outcome = approval.OutcomeAllow })
	d.judge.rename("other rules")
	require.NoError(t, d.gate.Upkeep().Rejudge(ctx))

	now := func(a api.Approval) api.Approval {
		a, err := d.alice.Get(ctx, a.ID, 0)
		require.NoError(t, err)
		return a
	}
	require.Equal(t, api.Denied, now(gone).Status, "a stricter policy denies at once")
	require.Equal(t, api.Pending, now(stays).Status, "a looser one never allows by itself")
	require.Equal(t, "other rules", now(stays).PolicyHash)
	voided := now(pair)
	require.Equal(t, api.Denied, voided.Status, "three were never to be had of two")
	require.Contains(t, voided.ReasonCodes, "insufficient-factors")
	require.Empty(t, voided.Votes)
}

// W6: whatever a session is called, its grants can be ended by its key.
func TestAdversary_W6_GrantsOfASessionWhoseKeyLooksLikeAPath(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	wire := httptest.NewServer(d.srv.Handler())
	defer wire.Close()
	alice := &api.Client{Server: wire.URL, Token: secretOf("alice")}
	for _, key := range []string{
		"/home/me/project", "/", "//", "a//b", "a/../b", "..", ".", "../..", "a/.", "%2F", "%2e%2e", "a%2Fb", "x?y=1#z", "a b+c;d", "übung", `C:\work\x`,
	} {
		d.decide(`{"a":1}`, api.AllowSession, inSession(key))
		require.Equal(t, api.Approved, d.ask("ask", `{"a":2}`, inSession(key)).Status, key)
		n, err := alice.EndSession(ctx, key)
		require.NoError(t, err, key)
		require.Equal(t, 1, n, key)
		require.Equal(t, api.Pending, d.ask("ask", `{"a":3}`, inSession(key)).Status, key)
	}
}
