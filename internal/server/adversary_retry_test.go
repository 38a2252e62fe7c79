package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// retryAs asks for a retry as that token, and gives the refusal's code, or "".
func (d *desk) retryAs(who, id, body string) (code string, detail string) {
	d.t.Helper()
	r := d.do("POST", "/v1/approvals/"+id+"/retry", who, body)
	if r.StatusCode == http.StatusOK {
		return "", ""
	}
	p := r.problem(d.t)
	return p.Code, p.Detail
}

// people puts other people in force.
func (d *desk) people(names ...string) {
	d.t.Helper()
	r := people.Rights{AllowedUsers: map[string][]string{"telegram": {"111", "333"}}, Tokens: map[string]string{}}
	accounts := map[string]string{"alice": "111", "bob": "333", "carol": "444"}
	for _, n := range names {
		r.People = append(r.People, people.Person{Name: n, Accounts: map[string]string{"telegram": accounts[n]}})
		r.Tokens[n] = n
	}
	people, err := people.NewDirectory(r)
	require.NoError(d.t, err)
	d.rules.People = people
	d.gate.Use(d.rules)
}

// handedOut claims the call under a new name, and says whether it was handed out.
func (d *desk) handedOut(id, claimID string) bool {
	_, err := d.agent.Claim(d.t.Context(), id, api.ClaimRequest{ClaimID: claimID})
	return err == nil
}

// T3: a token that is nobody's does not make anything run again, and the attempt is on record.
func TestAdversary_T3_ATokenThatIsNobodys(t *testing.T) {
	d := newDesk(t)
	a := d.allow(`{"n":1}`)
	d.run(a.ID, "failed")
	code, _ := d.retryAs("viewer", a.Code, "")
	require.Equal(t, "not_an_approver", code)
	require.False(t, d.handedOut(a.ID, "again"))
	log, err := d.store.Log(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, approval.EventRefused, log[len(log)-1].Type)
}

// T3: one signature lets a call run once, however often a retry is asked for.
func TestAdversary_T3_FiveRunsOnOneSignature(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	site, err := assertion.SiteOf("https://desk.example.org")
	require.NoError(t, err)
	d.rules.Site = site
	d.gate.Use(d.rules)
	d.judge.change("ask", func(j *approval.Judgement) {
		j.Rule.StepUp, j.Offers = true, []approval.Decision{approval.AllowOnce, approval.Deny}
	})
	key := softkey.New(t, assertion.ES256)
	k, now := key.Key(t), time.Now().UnixMilli()
	door := signin.New(d.store.SignInStores(), d.gate)
	d.gate.TrustSigners(door)
	_, err = door.Enrol(ctx, signin.Session{ID: "e", Person: "alice", How: "link", Enrols: true, CreatedMs: now},
		signin.Passkey{ID: key.ID, Name: "phone", PublicKey: k.PublicKey, Algorithm: k.Algorithm, SignCount: k.SignCount})
	require.NoError(t, err)
	a := d.ask("ask", `{"n":1}`)
	s := signin.Session{ID: "s", Person: "alice", How: "link"}
	shown := core.ShownCall{Fingerprint: a.ArgsFingerprint, PolicyHash: d.gate.PolicyHash()}
	y, err := d.gate.Pages().BeginYes(ctx, s.WebUser(), a.Code, shown)
	require.NoError(t, err)
	_, err = d.gate.Pages().VoteSigned(ctx, s.WebUser(), a.Code, core.SignedYes{Nonce: y.Nonce, Response: key.Sign(t, y.Site, y.Challenge)}, "")
	require.NoError(t, err)

	runs := 0
	for n := range 5 {
		if d.handedOut(a.ID, fmt.Sprint("run ", n)) {
			runs++
			_, err = d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "failed"})
			require.NoError(t, err)
		}
		d.retryAs("viewer", a.Code, "")
		d.retryAs("alice", a.Code, "")
	}
	require.Equal(t, 1, runs, "one signature, one run")
	r := d.do("POST", "/v1/approvals/"+a.Code+"/retry", "alice", "")
	require.Equal(t, "step_up_required", r.problem(t).Code)
	require.Contains(t, r.text, "https://desk.example.org/a/"+a.Code)
}

// T3: the whole quorum says so anew. Who was removed counts for nothing, and those who are
// left are too few.
func TestAdversary_T3_AQuorumOfTwoAfterOneWasRemoved(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.ask("pair", `{"n":1}`)
	for _, c := range []*api.Client{d.alice, d.bob} {
		_, err := c.Resolve(ctx, a.ID, api.ResolveRequest{Decision: api.AllowOnce})
		require.NoError(t, err)
	}
	require.True(t, d.handedOut(a.ID, "first"))
	_, err := d.agent.Result(ctx, a.ID, api.ResultRequest{Status: "failed"})
	require.NoError(t, err)

	d.people("alice")
	d.retryAs("viewer", a.Code, "")
	_, detail := d.retryAs("alice", a.Code, "")
	require.Contains(t, detail, "too few")
	require.False(t, d.handedOut(a.ID, "second"))

	d.people("alice", "bob")
	code, _ := d.retryAs("alice", a.Code, "")
	require.Empty(t, code)
	require.False(t, d.handedOut(a.ID, "second"), "one of two")
	d.people("bob", "carol") // alice, who has voted for the retry, is removed
	code, _ = d.retryAs("bob", a.Code, "")
	require.Empty(t, code)
	require.False(t, d.handedOut(a.ID, "second"), "her vote counts for nothing any more")
	d.people("alice", "bob")
	code, _ = d.retryAs("alice", a.Code, "")
	require.Empty(t, code)
	require.True(t, d.handedOut(a.ID, "second"))
	stored, err := d.gate.ByKey(ctx, a.ID)
	require.NoError(t, err)
	require.Len(t, stored.DecidedBy, 2)
	require.Len(t, stored.RetriedBy, 1)
}

// T3b: a late result of an earlier run is that run's.
func TestAdversary_T3b_ALateResultOfAnEarlierRun(t *testing.T) {
	d, ctx := newDesk(t), t.Context()
	a := d.allow(`{"n":1}`)
	require.True(t, d.handedOut(a.ID, "first"))
	code, _ := d.retryAs("alice", a.Code, `{"withoutResult":true}`)
	require.Empty(t, code)
	require.True(t, d.handedOut(a.ID, "second"))
	report := func(body string) int {
		return d.do("POST", "/v1/approvals/"+a.ID+"/result", "agent", body).StatusCode
	}
	late := `{"status":"failed","summary":"of the first","claimId":"first"}`
	require.Equal(t, 200, report(late))
	require.Equal(t, 200, report(late), "the same again")
	require.Equal(t, 409, report(strings.Replace(late, "of the", "another of the", 1)))
	require.Equal(t, 404, report(`{"status":"failed","claimId":"third"}`))
	got, err := d.agent.Get(ctx, a.ID, 0)
	require.NoError(t, err)
	require.Nil(t, got.Result, "the second runs on")
	require.Equal(t, "of the first", got.Retries[0].Result.Summary)
	require.False(t, d.handedOut(a.ID, "first"), "its id is spent")
	require.Equal(t, 200, report(`{"status":"succeeded","claimId":"second"}`))
	got, err = d.agent.Get(ctx, a.ID, 0)
	require.NoError(t, err)
	require.Equal(t, "succeeded", got.Result.Status)
	require.Equal(t, "failed", got.Retries[0].Result.Status)
	log, err := d.store.Log(ctx, 0, 100)
	require.NoError(t, err)
	last := string(log[len(log)-1].Data)
	require.Contains(t, last, `"claimId":"second"`)
}

// T3b: those who said retry believed that the run had failed. If it has succeeded after
// all before the retry was claimed, the retry is taken back.
func TestAdversary_T3b_AnEarlierRunSucceedsAfterAll(t *testing.T) {
	for name, body := range map[string]string{
		"named": `{"status":"succeeded","claimId":"first"}`, "the newest that was claimed": `{"status":"succeeded"}`,
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			a := d.allow(`{"n":1}`)
			require.True(t, d.handedOut(a.ID, "first"))
			code, _ := d.retryAs("alice", a.Code, `{"withoutResult":true}`)
			require.Empty(t, code)
			require.Equal(t, 200, d.do("POST", "/v1/approvals/"+a.ID+"/result", "agent", body).StatusCode)
			r := d.do("POST", "/v1/approvals/"+a.ID+"/claim", "agent", `{"claimId":"second"}`)
			require.Contains(t, r.problem(t).Detail, "succeeded after all")
			d.gone(a.ID)
		})
	}
}
