package server

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// outside is a verifier and a classifier that count how often they are asked.
type outside struct {
	mu       sync.Mutex
	verified int
	assessed int
	class    approval.RiskClass
	people   *approval.VerifierPeople
	verdicts []bool        // of each question in turn; then: allow
	meet     chan struct{} // when set, the first question waits for the second
}

func (o *outside) Wants(approval.Call) approval.Verification {
	return approval.Verification{Asked: true, People: o.people}
}

func (o *outside) Chats() []approval.VerifierPeople { return nil }

func (o *outside) Verify(context.Context, approval.Call, approval.RiskClass) approval.Verification {
	o.mu.Lock()
	n := o.verified
	o.verified++
	o.mu.Unlock()
	switch {
	case o.meet != nil && n == 0:
		<-o.meet
	case o.meet != nil && n == 1:
		close(o.meet)
	}
	out := approval.Verification{Asked: true, People: o.people, Consulted: []approval.Consultation{
		{Authority: core.AuthorityWebhook, Endpoint: "verifier.test/v", RequestID: "r-1", Verdict: "allow", Cause: "allowed", LatencyMs: 7, AtMs: 1}}}
	if n < len(o.verdicts) && !o.verdicts[n] {
		out.Denied, out.Reason = true, "the verifier says no"
		out.Consulted[0].Verdict, out.Consulted[0].Cause = "deny", "denied"
	}
	return out
}

func (o *outside) Classify(context.Context, approval.Call, approval.Judgement) approval.Opinion {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.assessed++
	return approval.Opinion{Assessment: approval.Assessment{RiskClass: o.class, Confidence: 1, Source: "classifier"},
		Consulted: []approval.Consultation{{Authority: core.AuthorityClassifier, Verdict: o.class.String(), Cause: "assessed"}}}
}

func (o *outside) asked() [2]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return [2]int{o.verified, o.assessed}
}

// consulting puts a verifier and a classifier before the desk.
func (d *desk) consulting(o *outside) {
	rules := d.rules
	rules.Verifier, rules.Classifier = o, o
	d.gate.Use(rules)
}

// unsure makes static rules unsure about a tool. A classifier decides by its class.
func (d *desk) unsure(tool string) {
	d.judge.change(tool, func(j *approval.Judgement) { j.Unsure = true })
}

func asID(id string) func(*api.CreateRequest) { return func(r *api.CreateRequest) { r.ID = id } }

// An id is asked about once, however often it is sent, and after its end too.
func TestAuthoritiesAreAskedOncePerApproval(t *testing.T) {
	for name, tool := range map[string]string{"waits": "ask", "allowed": "read"} {
		t.Run(name, func(t *testing.T) {
			d, o := newDesk(t), &outside{class: approval.R3, verdicts: []bool{true, false, false}}
			d.unsure(tool)
			d.consulting(o)
			first := d.ask(tool, `{"n":1}`, asID("job"))
			for range 3 {
				require.Equal(t, first.Status, d.ask(tool, `{"n":1}`, asID("job")).Status)
			}
			if first.Status == api.Pending {
				_, err := d.alice.Resolve(t.Context(), first.Code, api.ResolveRequest{Decision: api.AllowOnce})
				require.NoError(t, err)
			}
			require.Equal(t, api.Approved, d.ask(tool, `{"n":1}`, asID("job")).Status)
			require.Equal(t, [2]int{1, 1}, o.asked())
		})
	}
}

// What the verifier refused stays refused, and it is not asked again.
func TestADenyOfTheVerifierIsAskedOnce(t *testing.T) {
	d, o := newDesk(t), &outside{verdicts: []bool{false}}
	d.consulting(o)
	for range 3 {
		require.Equal(t, api.Denied, d.ask("read", `{"n":1}`, asID("job")).Status)
	}
	require.Equal(t, [2]int{1, 0}, o.asked())
}

// The same call of the same session joins without another question, also where static
// rules are unsure and a classifier made less of it, and under another id.
func TestADuplicateIsNotAskedAbout(t *testing.T) {
	d, o := newDesk(t), &outside{class: approval.R2}
	d.unsure("ask")
	d.judge.heed("ask")
	d.consulting(o)
	first := d.ask("ask", `{"n":1}`, inSession("s"))
	require.Equal(t, first.Code, d.ask("ask", `{"n":1}`, inSession("s")).Code)
	require.Equal(t, first.Code, d.ask("ask", `{"n":1}`, inSession("s"), asID("mine")).Code)
	require.Equal(t, [2]int{1, 1}, o.asked())
	other := d.ask("ask", `{"n":1}`, inSession("s"), func(r *api.CreateRequest) { r.Context = &api.Context{Subagent: true} })
	require.Equal(t, 2, o.asked()[1], "policy sees another context, so the classifier is asked about it")
	require.NotEmpty(t, other.ID)
}

// What is refused without them is not sent to anybody outside.
func TestWhatIsRefusedAnywayIsNotAskedAbout(t *testing.T) {
	d, o := newDesk(t), &outside{class: approval.R1}
	d.unsure("ask")
	d.unsure("pair")
	d.decide(`{"n":1}`, api.Deny)
	d.consulting(o)
	a := d.ask("ask", `{"n":1}`)
	require.Contains(t, a.ReasonCodes, approval.ReasonRecentlyDenied)
	require.Equal(t, [2]int{}, o.asked(), "a cool-down")

	d.judge.change("ask", func(j *approval.Judgement) { j.OnMiss, j.Unsure = "not on the list", true })
	require.Equal(t, api.Denied, d.ask("ask", `{"n":2}`).Status)
	require.Equal(t, [2]int{}, o.asked(), "ask: off")

	byAlice := func(r *api.CreateRequest) { r.Requester = &api.Requester{Person: "alice"} }
	a = d.ask("pair", `{"n":3}`, byAlice)
	require.Contains(t, a.ReasonCodes, approval.ReasonInsufficient)
	require.Equal(t, [2]int{}, o.asked(), "a quorum that nobody could meet")

	_, err := d.agent.Create(t.Context(), request("read", `{}`, func(r *api.CreateRequest) { r.Supersedes = "nothing" }), api.CreateOptions{})
	refusal(t, err, approval.CodeInvalidRequest)
	d.ask("rm", `{}`)
	require.Equal(t, [2]int{}, o.asked())
}

// A classifier that could make an allow of what policy would refuse is still asked.
func TestAClassifierIsAskedWhereItsOpinionCounts(t *testing.T) {
	d, o := newDesk(t), &outside{class: approval.R0}
	d.consulting(o)
	d.judge.change("ask", func(j *approval.Judgement) { j.OnMiss, j.Unsure = "not on the list", true })
	d.judge.heed("ask")
	require.Equal(t, api.Approved, d.ask("ask", `{"n":1}`).Status)
	require.Equal(t, [2]int{1, 1}, o.asked())
}

// A grant spares the classifier; the verifier has the last word on it.
func TestAGrantSparesTheClassifierOnly(t *testing.T) {
	d, o := newDesk(t), &outside{class: approval.R4}
	d.unsure("ask")
	d.decide(`{"n":1}`, api.AllowAlways)
	d.consulting(o)
	require.Equal(t, api.Approved, d.ask("ask", `{"n":1}`).Status)
	require.Equal(t, [2]int{1, 0}, o.asked())
}

// Who was asked, and what came of it, stands on the approval and in the log also
// where the call was allowed. Askers are not told where authorities are.
func TestConsultationsAreOnRecord(t *testing.T) {
	d, o, ctx := newDesk(t), &outside{class: approval.R1}, t.Context()
	d.unsure("read")
	d.consulting(o)
	a := d.ask("read", `{}`)
	require.Equal(t, api.Approved, a.Status)
	require.Equal(t, []api.Consultation{
		{Authority: "classifier", Verdict: "R1", Cause: "assessed"},
		{Authority: "webhook", RequestID: "r-1", Verdict: "allow", Cause: "allowed", LatencyMs: 7, AtMs: 1},
	}, a.Consulted)
	seen, err := d.alice.Get(ctx, a.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "verifier.test/v", seen.Consulted[1].Endpoint)
	log, err := d.store.Log(ctx, 0, 100)
	require.NoError(t, err)
	require.Len(t, log, 1)
	require.Contains(t, string(log[0].Data), `"endpoint":"verifier.test/v","requestId":"r-1","verdict":"allow"`)
}

// The verifier's people have their own time, also where policy asks as well.
func TestTheVerifiersTimeCountsWherePolicyAsks(t *testing.T) {
	place, err := approval.ParseTarget("telegram:-1009")
	require.NoError(t, err)
	for _, tool := range []string{"ask", "read"} {
		d := newDesk(t)
		d.consulting(&outside{people: &approval.VerifierPeople{Place: place, Accounts: []string{"telegram:111"}, TimeoutMs: 120_000}})
		a := d.ask(tool, `{}`)
		require.Equal(t, api.Pending, a.Status)
		require.EqualValues(t, 120_000, a.ExpiresAtMs-a.CreatedAtMs, tool)
	}
}

// Two requests of one id at the same time may ask twice. They settle as one approval:
// a deny ends what is pending, and both answers are on record.
func TestAdversary_P12_TwoAsksAtOnceSettleAsOne(t *testing.T) {
	for name, verdicts := range map[string][]bool{"both allow": {true, true}, "the later one denies": {true, false}} {
		t.Run(name, func(t *testing.T) {
			d, o := newDesk(t), &outside{verdicts: verdicts, meet: make(chan struct{})}
			d.consulting(o)
			answers := make(chan api.Approval, 2)
			for range 2 {
				go func() {
					a, err := d.agent.Create(t.Context(), request("ask", `{"n":1}`, asID("job")), api.CreateOptions{})
					if err != nil {
						a.Status = api.Status(err.Error())
					}
					answers <- a
				}()
			}
			one, two := <-answers, <-answers
			require.Equal(t, one.Code, two.Code)
			a, err := d.alice.Get(t.Context(), one.Code, 0)
			require.NoError(t, err)
			want := map[bool]api.Status{true: api.Pending, false: api.Denied}[verdicts[1]]
			if require.Equal(t, want, a.Status); want == api.Pending {
				require.Len(t, a.Consulted, 2)
			}
			all, err := d.alice.List(t.Context(), api.Filter{})
			require.NoError(t, err)
			require.Len(t, all.Items, 1)
		})
	}
}

// Who wants a person to decide gets one: neither policy nor an automatic factor nor
// askFallback is enough, and a deny stays one.
func TestMustAsk(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	must := func(r *api.CreateRequest) { r.MustAsk, r.SessionKey = true, "s" }
	a := d.ask("read", `{}`, must)
	require.Equal(t, api.Pending, a.Status)
	require.Contains(t, a.ReasonCodes, approval.ReasonMustAsk)
	require.True(t, a.Approvers.RequiresHuman)
	_, err := d.alice.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.AllowSession})
	require.NoError(t, err)
	require.Contains(t, d.ask("read", `{"n":2}`, must).DecidedBy[0], "grant:", "a person said yes to the session")
	require.Equal(t, api.Denied, d.ask("rm", `{}`, must).Status)

	d.judge.change("ask", func(j *approval.Judgement) {
		j.Rule.RequiresHuman, j.Unreached = false, approval.OutcomeAllow
		j.Votes = []approval.Vote{{Approver: approval.RulesBased, Verdict: approval.Approve}}
	})
	require.Equal(t, api.Approved, d.ask("ask", `{"n":1}`).Status)
	waits := d.ask("ask", `{"n":1}`, must)
	require.Equal(t, api.Pending, waits.Status)
	stored, err := d.gate.ByKey(ctx, waits.ID)
	require.NoError(t, err)
	require.False(t, stored.Unreached)

	d.ask("read", `{"n":3}`, asID("job"))
	_, err = d.agent.Create(ctx, request("read", `{"n":3}`, asID("job"), must), api.CreateOptions{})
	refusal(t, err, approval.CodeIDConflict)
}
