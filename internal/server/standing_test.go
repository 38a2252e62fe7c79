package server

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// refuser is a verifier that denies everything and counts how often it was asked.
type refuser struct{ asked int }

func (r *refuser) Wants(approval.Call) approval.Verification {
	return approval.Verification{Asked: true}
}
func (r *refuser) Chats() []approval.VerifierPeople { return nil }

func (r *refuser) Verify(context.Context, approval.Call, approval.RiskClass) approval.Verification {
	r.asked++
	return approval.Verification{Asked: true, Denied: true, Reason: "the verifier says no"}
}

// A call that people are not to be asked about can still be covered by a grant.
// The verifier has its say before that, as on every other way to an allow.
func TestAGrantDoesNotPassTheVerifierWherePeopleAreNotAsked(t *testing.T) {
	d := newDesk(t)
	d.decide(`{"a":1}`, api.AllowAlways)
	d.judge.change("ask", func(j *approval.Judgement) { j.OnMiss = "not on the list" })
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1}`).Status, "the grant counts")
	require.Equal(t, api.Denied, d.ask("ask", `{"a":2}`).Status)

	no := &refuser{}
	rules := d.rules
	rules.Verifier = no
	d.gate.Use(rules)
	a := d.ask("ask", `{"a":1}`)
	require.Equal(t, api.Denied, a.Status)
	require.Contains(t, a.ReasonCodes, approval.ReasonVerifierDenied)
	require.Equal(t, 1, no.asked)
}

// B5: rules that no longer ask people deny what waits for them, and hand out
// nothing that people allowed under the rules before; a grant still counts.
func TestAdversary_B5_RulesThatNoLongerAskPeople(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.AllowAlways)
	waits, allowed, granted := d.ask("ask", `{"a":2}`), d.allow(`{"a":3}`), d.ask("ask", `{"a":1}`)
	require.Equal(t, api.Approved, granted.Status)
	d.judge.change("ask", func(j *approval.Judgement) {
		j.OnMiss, j.Assessment.ReasonCodes = "not on the list", []string{"rule:listed-only"}
	})
	d.judge.rename("other rules")
	require.NoError(t, d.gate.Upkeep().Rejudge(ctx))

	waits, err := d.agent.Get(ctx, waits.ID, 0)
	require.NoError(t, err)
	require.Equal(t, api.Denied, waits.Status)
	require.Equal(t, []string{"test", "rule:listed-only"}, waits.ReasonCodes, "what denied it is among them")
	_, err = d.agent.Claim(ctx, allowed.ID, api.ClaimRequest{})
	require.Contains(t, refusal(t, err, approval.CodeNotClaimable).Detail, "not on the list")
	_, err = d.agent.Claim(ctx, granted.ID, api.ClaimRequest{})
	require.NoError(t, err)
}

// B5: the vote of a rule counts as long as the rule is there.
func TestAdversary_B5_TheVoteOfARuleThatIsGone(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	approves := func(j *approval.Judgement) {
		j.Rule.MinApprovals = 2
		j.Votes = []approval.Vote{{Approver: approval.RulesBased, Verdict: approval.Approve, ReasonCodes: []string{"releases"}}}
	}
	d.judge.change("ask", approves)
	stays, gone := d.ask("ask", `{"a":1}`), d.ask("ask", `{"a":2}`)
	d.judge.rename("the same rule among others")
	require.NoError(t, d.gate.Upkeep().Rejudge(ctx))
	stays, err := d.alice.Resolve(ctx, stays.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Approved, stays.Status)

	d.judge.change("ask", func(j *approval.Judgement) { j.Rule.MinApprovals = 2 })
	d.judge.rename("without the rule")
	require.NoError(t, d.gate.Upkeep().Rejudge(ctx))
	gone, err = d.alice.Resolve(ctx, gone.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Pending, gone.Status, "two people are needed now")
	gone, err = d.bob.Resolve(ctx, gone.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Approved, gone.Status)
}

// I5: a grant is no way to allow one's own request later.
func TestAdversary_I5_AGrantToOneself(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.AllowAlways)
	d.decide(`{"a":1}`, api.AllowSession, inSession("s1"), func(r *api.CreateRequest) { r.AgentID = "second" })
	asAlice := func(r *api.CreateRequest) { r.Requester = &api.Requester{Person: "alice"} }
	onTelegram := func(r *api.CreateRequest) { r.Requester = &api.Requester{Channel: "telegram", UserID: "111"} }
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1}`, func(r *api.CreateRequest) { r.Requester = &api.Requester{Person: "bob"} }).Status)
	for _, who := range []func(*api.CreateRequest){asAlice, onTelegram} {
		e, err := d.agent.Evaluate(ctx, request("ask", `{"a":1}`, who))
		require.NoError(t, err)
		require.Equal(t, "ask", e.Outcome)
		a := d.ask("ask", `{"a":1}`, who)
		require.Equal(t, api.Pending, a.Status, "she gave the grant, so another one must say yes to her request")
		_, err = d.agent.Withdraw(ctx, a.ID, api.WithdrawRequest{})
		require.NoError(t, err)
	}
	solo := d.rules
	solo.Solo = true
	d.gate.Use(solo)
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1}`, asAlice).Status, "the operator lets people approve their own")
}

// I5: who asked does not make the call run once more by a retry.
func TestAdversary_I5_RetryOfOnesOwn(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a, err := d.bob.Create(ctx, request("ask", `{"a":1}`), api.CreateOptions{})
	require.NoError(t, err)
	a, err = d.alice.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, api.Approved, a.Status)
	_, err = d.bob.Claim(ctx, a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	_, err = d.bob.Retry(ctx, a.Code)
	refusal(t, err, approval.CodeSelfApproval)
	_, err = d.bob.Claim(ctx, a.ID, api.ClaimRequest{})
	refusal(t, err, approval.CodeAlreadyUsed)
	_, err = d.alice.RetryWithoutResult(ctx, a.Code)
	require.NoError(t, err)
	_, err = d.bob.Claim(ctx, a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	require.Equal(t, "not_an_approver", d.do("POST", "/v1/approvals/"+a.Code+"/retry", "viewer", "").problem(t).Code)
	log, err := d.store.Log(ctx, 0, 100)
	require.NoError(t, err)
	require.Contains(t, string(log[len(log)-1].Data), `"userId":"viewer"`, "the attempt is on record")

	// A token without a person does not retry what it asked itself, whatever is set.
	solo := d.rules
	solo.Solo = true
	d.gate.Use(solo)
	require.Equal(t, 201, d.do("POST", "/v1/approvals", "both", `{"id":"mine","toolName":"ask","params":{}}`).StatusCode)
	_, err = d.alice.Resolve(ctx, "mine", api.ResolveRequest{Decision: api.AllowOnce})
	require.NoError(t, err)
	require.Equal(t, "self_approval", d.do("POST", "/v1/approvals/mine/retry", "both", "").problem(t).Code)
}

// B8: what a grant allowed is not handed out after the grant was taken away.
func TestAdversary_B8_ClaimAfterTheGrantWasEnded(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	d.decide(`{"a":1}`, api.AllowSession, inSession("s1"))
	first, second := d.ask("ask", `{"a":2}`, inSession("s1")), d.ask("ask", `{"a":3}`, inSession("s1"))
	_, err := d.agent.Claim(ctx, first.ID, api.ClaimRequest{})
	require.NoError(t, err)
	n, err := d.alice.EndSession(ctx, "s1")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	_, err = d.agent.Claim(ctx, second.ID, api.ClaimRequest{})
	require.Contains(t, refusal(t, err, approval.CodeNotClaimable).Detail, "grant")
	_, err = d.bob.Retry(ctx, first.ID)
	refusal(t, err, approval.CodeNotClaimable)
}

// An approval that has ended answers its id to those alone who could not have decided
// it: whoever allowed the call cannot make it their own by asking under the same id.
func TestAdversary_I5_WhoAllowedACallDoesNotAskForItByItsID(t *testing.T) {
	d := newDesk(t)
	from := func(person string) func(*api.CreateRequest) {
		return func(in *api.CreateRequest) { in.ID, in.Requester = "job", &api.Requester{Person: person} }
	}
	d.decide(`{"a":1}`, api.AllowOnce, from("bob"))
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1}`, from("bob")).Status, "the wait loop goes on")
	in := api.CreateRequest{ToolName: "ask", Params: []byte(`{"a":1}`)}
	from("alice")(&in)
	_, err := d.agent.Create(t.Context(), in, api.CreateOptions{})
	var refused *api.Problem
	require.ErrorAs(t, err, &refused)
	require.EqualValues(t, "id_conflict", refused.Code)
}

// A grant ends with the person who gave it: once the configuration does not know them,
// it covers nothing.
func TestAGrantDoesNotOutliveItsGiver(t *testing.T) {
	d := newDesk(t)
	d.decide(`{"a":1}`, api.AllowAlways)
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1}`).Status)
	people, err := people.NewDirectory(people.Rights{
		People:       []people.Person{{Name: "bob", Accounts: map[string]string{"telegram": "333"}}},
		AllowedUsers: map[string][]string{"telegram": {"333"}}, Tokens: map[string]string{"bob": "bob"},
	})
	require.NoError(t, err)
	rules := d.rules
	rules.People = people
	d.gate.Use(rules)
	require.Equal(t, api.Pending, d.ask("ask", `{"a":1}`).Status)
}
