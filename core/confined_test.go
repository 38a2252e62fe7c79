package core_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// confiner is an agent whose word about confining counts.
var confiner = core.Caller{Token: "agent", MayRequest: true, MayConfine: true}

func confine(c *approval.Call) { c.Context.Confine = approval.ConfineV1 }

// confined submits a call of an asker that can confine it.
func (d *fixture) confined(t *testing.T, tool string, more ...func(*approval.Call)) approval.Approval {
	t.Helper()
	a, _, err := d.Submit(t.Context(), confiner, call(tool, append([]func(*approval.Call){confine}, more...)...))
	require.NoError(t, err)
	return a
}

func (d *fixture) ranConfined(t *testing.T, a approval.Approval, exit int) approval.Approval {
	t.Helper()
	_, err := d.Claim(t.Context(), confiner, a.ID, core.ClaimInput{Confine: "v1", ClaimID: "run"})
	require.NoError(t, err)
	status := map[bool]string{true: "succeeded", false: "failed"}[exit == 0]
	a, err = d.Report(t.Context(), confiner, a.ID, "run", approval.Result{Status: status, ExitCode: &exit, Summary: "no such host",
		Confined: &approval.RanConfined{Changed: 3}})
	require.NoError(t, err)
	return a
}

// What policy allows confined is handed out to who says that it confines, and to no other.
func TestConfinedIsHandedOutToWhoConfines(t *testing.T) {
	d := newFixture(t)
	a := d.confined(t, "unknown")
	require.Equal(t, approval.Approved, a.Status)
	require.Equal(t, []string{"/workspace"}, a.Confined.Writable)
	for name, c := range map[string]struct {
		who core.Caller
		in  core.ClaimInput
	}{
		"an older program":             {confiner, core.ClaimInput{}},
		"another profile":              {confiner, core.ClaimInput{Confine: "v2"}},
		"a token that lost mayConfine": {agent, core.ClaimInput{Confine: "v1"}},
	} {
		_, err := d.Claim(t.Context(), c.who, a.ID, c.in)
		require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err), name)
	}
	got, err := d.Claim(t.Context(), confiner, a.ID, core.ClaimInput{Confine: "v1"})
	require.NoError(t, err)
	require.NotNil(t, got.Approval.Confined)
}

// From a token without mayConfine the word changes nothing, to the letter.
func TestConfineOfAnotherTokenChangesNothing(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "unknown", confine)
	require.Equal(t, approval.Pending, a.Status)
	require.Nil(t, a.Confined)
	require.Empty(t, a.Context.Confine)
	again := d.submit(t, "unknown")
	require.Equal(t, a.Key, again.Key, "it is joined as any other")
	p, err := d.Evaluate(t.Context(), agent, call("unknown", confine))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeAsk, p.Outcome)
}

// An id, a pending approval and an unclaimed yes answer calls of the same word alone.
func TestConfineIsTheSameForWhatAnswers(t *testing.T) {
	d := newFixture(t)
	a := d.confined(t, "unknown", func(c *approval.Call) { c.ID = "mine" })
	require.Equal(t, a.Key, d.confined(t, "unknown", func(c *approval.Call) { c.ID = "mine" }).Key)
	_, _, err := d.Submit(t.Context(), confiner, call("unknown", func(c *approval.Call) { c.ID = "mine" }))
	require.Equal(t, approval.CodeIDConflict, approval.CodeOf(err))
	plain := d.submit(t, "confined-after-yes")
	after := d.confined(t, "confined-after-yes")
	require.NotEqual(t, plain.Key, after.Key, "people see whether it runs confined")
	for range 2 { // of several that wait, the one that is the same is joined, and no third is asked for
		require.Equal(t, after.Key, d.confined(t, "confined-after-yes").Key)
		require.Equal(t, plain.Key, d.submit(t, "confined-after-yes").Key)
	}
	_, err = d.VoteAs(t.Context(), alice, plain.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	resumed := d.confined(t, "confined-after-yes", func(c *approval.Call) { c.Resume, c.SessionKey = true, "s" })
	require.NotEqual(t, plain.Key, resumed.Key)
}

// A person's yes for later calls lets it run as it is, and a person's no refuses it, confined or not.
func TestAPersonsWordComesBeforeConfining(t *testing.T) {
	d := newFixture(t)
	a := d.submit(t, "unknown")
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowSession, "", "")
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.NoError(t, err)
	granted := d.confined(t, "unknown")
	require.Equal(t, approval.Approved, granted.Status)
	require.Nil(t, granted.Confined)
	require.NotContains(t, granted.DecidedBy, "policy")
	p, err := d.Evaluate(t.Context(), confiner, call("unknown", confine))
	require.NoError(t, err)
	require.Nil(t, p.Confined)
	require.NotEmpty(t, p.By)

	d = newFixture(t)
	a = d.submit(t, "unknown")
	_, err = d.VoteAs(t.Context(), alice, a.Code, approval.Deny, "", "")
	require.NoError(t, err)
	denied := d.confined(t, "unknown")
	require.Equal(t, approval.Denied, denied.Status, "it was denied a moment ago")
	require.Nil(t, denied.Confined)
	p, err = d.Evaluate(t.Context(), confiner, call("unknown", confine))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeDeny, p.Outcome)
	require.Nil(t, p.Confined)
}

// What failed confined asks when it comes again, says what came of it, and runs as it is after a yes.
func TestTriedConfined(t *testing.T) {
	d := newFixture(t)
	d.ranConfined(t, d.confined(t, "unknown"), 0)
	require.Equal(t, approval.Approved, d.confined(t, "unknown").Status, "what went well may go again")
	first := d.ranConfined(t, d.confined(t, "unknown"), 7)
	require.Equal(t, 3, first.Result.Confined.Changed)
	again := d.confined(t, "unknown")
	require.Equal(t, approval.Pending, again.Status)
	require.Nil(t, again.Confined)
	require.Contains(t, again.Assessment.ReasonCodes, approval.ReasonTriedConfined)
	require.Equal(t, &approval.TriedConfined{Exit: new(7), Changed: 3, Code: first.Code, Summary: "no such host"}, again.TriedConfined)
	shown, err := d.Card(t.Context(), again)
	require.NoError(t, err)
	require.Contains(t, shown.Warnings, "Tried confined: exit 7; changed 3 files of the workspace. A yes runs all of it again, not confined.")
	p, err := d.Evaluate(t.Context(), confiner, call("unknown", confine))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeAsk, p.Outcome)
	other, _, err := d.Submit(t.Context(), confiner, call("unknown", confine, func(c *approval.Call) { c.Params = []byte(`{"path":"b"}`) }))
	require.NoError(t, err)
	require.Equal(t, approval.Approved, other.Status, "another call was not tried")
	_, err = d.VoteAs(t.Context(), alice, again.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	got, err := d.Claim(t.Context(), confiner, again.ID, core.ClaimInput{Confine: "v1"})
	require.NoError(t, err)
	require.Nil(t, got.Approval.Confined)
}

// A classifier's word counts for a call that failed confined, and a yes then runs it as it is.
func TestTriedConfinedBesideAClassifier(t *testing.T) {
	d := newFixture(t)
	d.use(func(r *core.Rules) {
		r.Classifier = opinion{says: approval.Opinion{Assessment: approval.Assessment{RiskClass: approval.R4}}}
		r.Policy = byName{hash: "1", unsure: true}
	})
	d.ranConfined(t, d.confined(t, "unknown"), 7)
	a := d.confined(t, "unknown")
	require.Equal(t, approval.Pending, a.Status)
	require.Equal(t, approval.R4, a.Assessment.RiskClass)
	require.Nil(t, a.Confined)
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), confiner, a.ID, core.ClaimInput{})
	require.NoError(t, err)
}

// A policy that confines nothing any more hands out nothing that was allowed so.
func TestConfinedUnderOtherRules(t *testing.T) {
	d := newFixture(t)
	a := d.confined(t, "unknown")
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "2", noConfining: true} })
	_, err := d.Claim(t.Context(), confiner, a.ID, core.ClaimInput{Confine: "v1"})
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))

	d = newFixture(t) // and what ran as it is by an older policy does not under one that confines it
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "0", allows: "unknown"} })
	a = d.confined(t, "unknown")
	require.Equal(t, approval.Approved, a.Status)
	require.Nil(t, a.Confined)
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "1"} })
	_, err = d.Claim(t.Context(), confiner, a.ID, core.ClaimInput{Confine: "v1"})
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
}

// A rule may have a call run confined after people's yes: their card says so, and the claim must.
func TestConfinedAfterAYes(t *testing.T) {
	d := newFixture(t)
	a := d.confined(t, "confined-after-yes")
	require.Equal(t, approval.Pending, a.Status)
	shown, err := d.Card(t.Context(), a)
	require.NoError(t, err)
	require.Contains(t, shown.Warnings, "After a yes it runs confined: it has no network and can change only its workspace.")
	_, err = d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), confiner, a.ID, core.ClaimInput{})
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
	failed := d.ranConfined(t, a, 1)
	require.Equal(t, approval.Pending, d.confined(t, "confined-after-yes").Status)
	require.Nil(t, failed.TriedConfined)
}

// An asker that wants a person gets one, and what that person allows runs as it is.
func TestMustAskBesideConfining(t *testing.T) {
	d := newFixture(t)
	o := opinion{v: approval.Verification{Asked: true, Denied: true}}
	d.use(func(r *core.Rules) { r.Verifier = o })
	require.Equal(t, approval.Denied, d.confined(t, "unknown").Status, "the verifier has the last word on what runs confined, too")
}

// widening is a policy of these tests whose confined calls may change those folders.
type widening struct {
	byName
	folders []string
}

func (p widening) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	if j.Confined != nil {
		j.Confined = &approval.Confined{Profile: "v1", Writable: p.folders, Readonly: []string{}}
	}
	return j
}

// What was allowed confined and not claimed yet is worth no more than the desk would say at the claim.
func TestConfinedAndNotClaimedYet(t *testing.T) {
	claim := core.ClaimInput{Confine: "v1", ClaimID: "late"}
	for name, meanwhile := range map[string]func(*testing.T, *fixture, approval.Approval){
		"fewer folders": func(_ *testing.T, d *fixture, _ approval.Approval) {
			d.use(func(r *core.Rules) { r.Policy = widening{byName{hash: "2"}, []string{"/elsewhere"}} })
		},
		"a person's deny of the very call": func(t *testing.T, d *fixture, _ approval.Approval) {
			plain := d.submit(t, "unknown")
			_, err := d.VoteAs(t.Context(), alice, plain.Code, approval.Deny, "", "")
			require.NoError(t, err)
		},
		"it failed": func(t *testing.T, d *fixture, _ approval.Approval) {
			d.ranConfined(t, d.confined(t, "unknown", func(c *approval.Call) { c.ID = "another" }), 7)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			a := d.confined(t, "unknown")
			meanwhile(t, d, a)
			_, err := d.Claim(t.Context(), confiner, a.ID, claim)
			require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err))
		})
	}
	d := newFixture(t)
	_, err := d.Claim(t.Context(), confiner, d.confined(t, "unknown").ID, claim)
	require.NoError(t, err)
}

// Stricter rules count for a pending call whose asker could confine it, as for any other.
func TestStricterRulesOfACallThatCouldBeConfined(t *testing.T) {
	d := newFixture(t)
	d.ranConfined(t, d.confined(t, "unknown"), 7)
	a := d.confined(t, "unknown")
	require.Equal(t, approval.Pending, a.Status)
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "2", quorum: 2} })
	got, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Pending, got.Status)
}
