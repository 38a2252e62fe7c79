package core_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/signin"
)

const deskURL = "https://desk.example.org"

// signing is a desk where every yes to the tool "signed" wants a passkey, and so do those
// of "signed-twice", of which two are needed.
type signing struct {
	*fixture
	keys map[string]*softkey.Passkey
}

func newSigning(t *testing.T, holders ...string) *signing {
	t.Helper()
	d := &signing{fixture: newFixture(t), keys: map[string]*softkey.Passkey{}}
	site, err := assertion.SiteOf(deskURL)
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.Site, r.Policy = site, signedByName{byName{hash: "1"}} })
	for _, who := range holders {
		d.enrol(t, who)
	}
	return d
}

// enrol gives a person a passkey.
func (d *signing) enrol(t *testing.T, who string) {
	t.Helper()
	key := softkey.New(t, assertion.ES256)
	_, err := d.door.Enrol(t.Context(), begun(signin.Session{ID: "enrols-" + who, Person: who, How: "link", Enrols: true}), passkeyOf(t, key, "phone"))
	require.NoError(t, err)
	d.keys[who] = key
}

func passkeyOf(t *testing.T, key *softkey.Passkey, name string) signin.Passkey {
	t.Helper()
	k := key.Key(t)
	return signin.Passkey{ID: key.ID, Name: name, PublicKey: k.PublicKey, Algorithm: k.Algorithm, SignCount: k.SignCount}
}

// signedByName is byName with tools whose yes must be signed.
type signedByName struct{ byName }

func (p signedByName) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	switch c.ToolName {
	case "signed-twice":
		j.Rule.MinApprovals = 2
		fallthrough
	case "signed":
		j.Rule.StepUp, j.Unreached = true, approval.OutcomeAllow
	}
	return j
}

func (p signedByName) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}

// begun is a session that has begun just now.
func begun(s signin.Session) signin.Session {
	s.CreatedMs = time.Now().UnixMilli()
	return s
}

func signedInAs(who string) core.WebUser { return core.WebUser{Person: who, Session: "of-" + who} }

// begin begins the ceremony of a person's yes.
func (d *signing) begin(t *testing.T, who string, a approval.Approval) core.YesToSign {
	t.Helper()
	y, err := d.Pages().BeginYes(t.Context(), signedInAs(who), a.Code, d.shown(a))
	require.NoError(t, err)
	return y
}

func (d *signing) shown(a approval.Approval) core.ShownCall {
	return core.ShownCall{Fingerprint: a.Fingerprint, PolicyHash: d.PolicyHash()}
}

// sign has the person's passkey sign what was begun.
func (d *signing) sign(t *testing.T, who string, y core.YesToSign) core.SignedYes {
	t.Helper()
	return core.SignedYes{Nonce: y.Nonce, Response: d.keys[who].Sign(t, y.Site, y.Challenge)}
}

// yes is a person's signed yes.
func (d *signing) yes(t *testing.T, who string, a approval.Approval) (approval.Approval, error) {
	t.Helper()
	return d.Pages().VoteSigned(t.Context(), signedInAs(who), a.Code, d.sign(t, who, d.begin(t, who, a)), "")
}

// events gives the log's entries of a type.
func (d *signing) events(t *testing.T, of approval.EventType) (out []approval.Entry) {
	t.Helper()
	log, err := d.store.Log(t.Context(), 0, 1000)
	require.NoError(t, err)
	for _, e := range log {
		if e.Type == of {
			out = append(out, e)
		}
	}
	return out
}

// Where a yes must be signed, no other way of saying it counts; each is on record and
// answered with the page where it can be signed. A deny counts everywhere.
func TestStepUp_OnlyASignatureCounts(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice")
	a := d.submit(t, "signed")
	require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, a.Offers)
	for name, b := range map[string]core.Ballot{
		"tap": {Voter: approval.Voter{Channel: "telegram", UserID: "1"}, Decision: approval.AllowOnce, Chat: &ops},
		"web": {Voter: approval.Voter{Channel: approval.WebChannel, UserID: "alice"}, Decision: approval.AllowOnce},
	} {
		b.ReceivedMs = a.CreatedAtMs
		_, err := d.Vote(t.Context(), a.Key, b)
		requireStepUp(t, err, a, name)
	}
	_, err := d.VoteAs(t.Context(), alice, a.ID, approval.AllowOnce, "", "")
	requireStepUp(t, err, a, "api")
	require.Len(t, d.events(t, approval.EventRefused), 3)

	after, err := d.yes(t, "alice", a)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, after.Status)
	require.Equal(t, []string{"person:alice"}, after.DecidedBy)
	s := after.Votes[0].Signature
	require.NoError(t, s.Signed(assertion.Yes{ApprovalID: a.ID, Decision: "allow-once", Fingerprint: a.Fingerprint, Nonce: s.Nonce,
		Person: "alice", PolicyHash: "1"}))
	require.Contains(t, string(d.events(t, approval.EventVote)[0].Data), s.Response.Signature, "the log has what was signed")
	require.Equal(t, a.Key, d.events(t, approval.EventPasskeyUsed)[0].Key)
	held, err := d.door.PasskeysOf(t.Context(), signin.Session{Person: "alice"})
	require.NoError(t, err)
	require.EqualValues(t, 1, held.Held[0].SignCount)
	require.NotZero(t, held.Held[0].UsedMs)

	b := d.submit(t, "signed", func(c *approval.Call) { c.Params = json.RawMessage(`{"path":"b"}`) })
	after, err = d.VoteAs(t.Context(), alice, b.ID, approval.Deny, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Denied, after.Status)
}

func requireStepUp(t *testing.T, err error, a approval.Approval, name string) {
	t.Helper()
	var e *approval.Error
	require.ErrorAs(t, err, &e, name)
	require.Equal(t, approval.CodeStepUpRequired, e.Code, "%s: %s", name, e.Message)
	require.Equal(t, deskURL+"/a/"+a.Code, e.URL, name)
	require.Contains(t, e.Message, e.URL, name)
	require.LessOrEqual(t, len(e.Message), 200, "a tap's answer has no more room")
}

// Of a quorum each yes has its own signature.
func TestStepUp_Quorum(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice", "bob")
	a := d.submit(t, "signed-twice")
	after, err := d.yes(t, "alice", a)
	require.NoError(t, err)
	require.Equal(t, approval.Pending, after.Status)
	_, err = d.VoteAs(t.Context(), bob, a.ID, approval.AllowOnce, "", "")
	requireStepUp(t, err, a, "the second")
	after, err = d.yes(t, "bob", a)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, after.Status)
	require.NotEqual(t, after.Votes[0].Signature.CredentialID, after.Votes[1].Signature.CredentialID)
}

// A quorum that only people without passkeys could meet is refused at once.
func TestStepUp_TooFewPasskeys(t *testing.T) {
	t.Parallel()
	d := newSigning(t)
	a := d.submit(t, "signed")
	require.Equal(t, approval.Denied, a.Status)
	require.Contains(t, a.Assessment.ReasonCodes, approval.ReasonInsufficient)
	require.Contains(t, a.Reason, "login --enrol")
	d.enrol(t, "alice")
	require.Equal(t, approval.Pending, d.submit(t, "signed").Status)
	require.Equal(t, approval.Denied, d.submit(t, "signed-twice").Status)
	p, err := d.Evaluate(t.Context(), agent, call("signed-twice"))
	require.NoError(t, err)
	require.Equal(t, approval.OutcomeDeny, p.Outcome)
	mine := d.submit(t, "signed", func(c *approval.Call) { c.SessionKey, c.Requester = "t", &approval.Requester{Person: "alice"} })
	require.Equal(t, approval.Denied, mine.Status, "who asked signs nothing")
}

// A Gate that was given no signers takes nobody for a holder of a passkey, and counts no signature.
func TestStepUp_WithoutSignIn(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice")
	a := d.submit(t, "signed")
	yes := d.sign(t, "alice", d.begin(t, "alice", a))
	alone := core.NewGate(d.store.CoreStores(), d.rules, slog.New(slog.DiscardHandler))
	_, err := alone.Pages().VoteSigned(t.Context(), signedInAs("alice"), a.Code, yes, "")
	requireStepUp(t, err, a, "a signature")
	_, err = alone.Pages().BeginYes(t.Context(), signedInAs("alice"), a.Code, d.shown(a))
	require.ErrorContains(t, err, "You have no passkey")
	b, _, err := alone.Submit(t.Context(), agent, call("signed", func(c *approval.Call) { c.SessionKey = "another" }))
	require.NoError(t, err)
	require.Equal(t, approval.Denied, b.Status)
	require.Contains(t, b.Assessment.ReasonCodes, approval.ReasonInsufficient)
}

// The verifier's people sign as everybody does.
func TestStepUp_VerifiersPeople(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice")
	d.use(func(r *core.Rules) { r.Verifier = wantsBob{} })
	a := d.submit(t, "signed")
	require.Equal(t, approval.Denied, a.Status)
	require.Contains(t, a.Reason, "one of the verifier's people beside the askers, and with a passkey")
	d.enrol(t, "bob")
	a = d.submit(t, "signed")
	_, err := d.yes(t, "alice", a)
	require.NoError(t, err)
	_, err = d.VoteAs(t.Context(), bob, a.ID, approval.AllowOnce, "", "")
	requireStepUp(t, err, a, "the verifier's")
	after, err := d.yes(t, "bob", a)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, after.Status)
	require.Equal(t, []string{"person:alice", "person:bob"}, after.DecidedBy)
}

// wantsBob is a verifier whose only person is bob.
type wantsBob struct{}

func (wantsBob) Wants(approval.Call) approval.Verification {
	return wantsBob{}.Verify(context.Background(), approval.Call{}, 0)
}
func (wantsBob) Chats() []approval.VerifierPeople { return nil }
func (wantsBob) Verify(context.Context, approval.Call, approval.RiskClass) approval.Verification {
	return approval.Verification{Asked: true, People: &approval.VerifierPeople{Place: ops, Accounts: []string{"telegram:2"}}}
}

// No grant stands for a signature: neither one given before it was wanted, nor any other.
func TestStepUp_NoGrant(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice")
	policy := d.rules.Policy
	d.use(func(r *core.Rules) { r.Policy = byName{hash: "0"} })
	a := d.submit(t, "signed")
	_, err := d.VoteAs(t.Context(), alice, a.ID, approval.AllowAlways, "", "")
	require.NoError(t, err)
	require.Equal(t, approval.Approved, d.submit(t, "signed").Status, "it is covered")
	d.use(func(r *core.Rules) { r.Policy = policy })
	b := d.submit(t, "signed", func(c *approval.Call) { c.MustAsk = false })
	require.Equal(t, approval.Pending, b.Status)
	_, err = d.VoteAs(t.Context(), alice, b.ID, approval.AllowAlways, "", "")
	require.Equal(t, approval.CodeDecisionNotOffered, approval.CodeOf(err))
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.Equal(t, approval.CodeNotClaimable, approval.CodeOf(err), "what was allowed unsigned is not handed out any more")
}

// Rules that come to want a signature void what was said without one, and one that was
// given under other rules; what nobody could sign ends.
func TestStepUp_OtherRules(t *testing.T) {
	t.Parallel()
	d := newSigning(t, "alice", "bob")
	a := d.submit(t, "signed-twice")
	_, err := d.yes(t, "alice", a)
	require.NoError(t, err)
	begun := d.begin(t, "bob", a)
	d.use(func(r *core.Rules) { r.Policy = signedByName{byName{hash: "2"}} })
	_, err = d.Pages().VoteSigned(t.Context(), signedInAs("bob"), a.Code, d.sign(t, "bob", begun), "")
	requireStepUp(t, err, a, "begun under the old rules")
	after, err := d.yes(t, "bob", a)
	require.NoError(t, err)
	require.Equal(t, approval.Pending, after.Status, "alice's is under rules that are gone")
	after, err = d.yes(t, "alice", a)
	require.NoError(t, err)
	require.Equal(t, approval.Approved, after.Status)

	d.use(func(r *core.Rules) { r.Policy = byName{hash: "3"} })
	b := d.submit(t, "two")
	_, err = d.VoteAs(t.Context(), alice, b.ID, approval.AllowOnce, "", "")
	require.NoError(t, err)
	d.use(func(r *core.Rules) { r.Policy = alwaysSigned{byName{hash: "4"}} })
	require.NoError(t, d.Upkeep().Rejudge(t.Context()))
	got, err := d.ByKey(t.Context(), b.Key)
	require.NoError(t, err)
	require.Empty(t, got.Votes)
	require.Equal(t, []approval.Decision{approval.AllowOnce, approval.Deny}, got.Offers)
	_, err = d.VoteAs(t.Context(), alice, b.ID, approval.AllowOnce, "", "")
	requireStepUp(t, err, b, "after the rules changed")
}

// alwaysSigned is byName where every yes must be signed.
type alwaysSigned struct{ byName }

func (p alwaysSigned) Judge(ctx context.Context, c approval.Call) approval.Judgement {
	j := p.byName.Judge(ctx, c)
	j.Rule.StepUp = true
	return j
}

// N4: an assertion for another call, decision, person, policy or site, by an unknown or
// copied key, in another browser, or replayed, is refused, and on record.
func TestAdversary_N4_Assertions(t *testing.T) {
	t.Parallel()
	type attempt struct {
		who string
		yes core.SignedYes
	}
	for name, attack := range map[string]func(t *testing.T, d *signing, a approval.Approval) attempt{
		"another call": func(t *testing.T, d *signing, a approval.Approval) attempt {
			other := d.submit(t, "signed", func(c *approval.Call) { c.Params = json.RawMessage(`{"path":"harmless"}`) })
			return attempt{"alice", d.sign(t, "alice", d.begin(t, "alice", other))}
		},
		"another call, under this one's nonce": func(t *testing.T, d *signing, a approval.Approval) attempt {
			y := d.begin(t, "alice", a)
			y.Challenge = assertion.Yes{ApprovalID: a.ID, Decision: "allow-once", Fingerprint: "0", Nonce: y.Nonce, Person: "alice",
				PolicyHash: "1"}.Challenge()
			return attempt{"alice", d.sign(t, "alice", y)}
		},
		"another decision": func(t *testing.T, d *signing, a approval.Approval) attempt {
			y := d.begin(t, "alice", a)
			y.Challenge = assertion.Yes{ApprovalID: a.ID, Decision: "deny", Fingerprint: a.Fingerprint, Nonce: y.Nonce, Person: "alice",
				PolicyHash: "1"}.Challenge()
			return attempt{"alice", d.sign(t, "alice", y)}
		},
		"another person's key": func(t *testing.T, d *signing, a approval.Approval) attempt {
			y := d.begin(t, "alice", a)
			return attempt{"alice", d.sign(t, "bob", y)}
		},
		"another person's ceremony": func(t *testing.T, d *signing, a approval.Approval) attempt {
			return attempt{"alice", d.sign(t, "bob", d.begin(t, "bob", a))}
		},
		"another policy": func(t *testing.T, d *signing, a approval.Approval) attempt {
			y := d.begin(t, "alice", a)
			y.Challenge = assertion.Yes{ApprovalID: a.ID, Decision: "allow-once", Fingerprint: a.Fingerprint, Nonce: y.Nonce,
				Person: "alice", PolicyHash: "2"}.Challenge()
			return attempt{"alice", d.sign(t, "alice", y)}
		},
		"another site": func(t *testing.T, d *signing, a approval.Approval) attempt {
			y := d.begin(t, "alice", a)
			y.Site.ID, y.Site.Origin = "evil.example.org", "https://evil.example.org"
			return attempt{"alice", d.sign(t, "alice", y)}
		},
		"nobody verified": func(t *testing.T, d *signing, a approval.Approval) attempt {
			d.keys["alice"].Flags = softkey.Present
			return attempt{"alice", d.sign(t, "alice", d.begin(t, "alice", a))}
		},
		"a copied key": func(t *testing.T, d *signing, a approval.Approval) attempt {
			other := d.submit(t, "signed", func(c *approval.Call) { c.Params = json.RawMessage(`{"path":"harmless"}`) })
			_, err := d.yes(t, "alice", other)
			require.NoError(t, err)
			d.keys["alice"].Count = 0
			return attempt{"alice", d.sign(t, "alice", d.begin(t, "alice", a))}
		},
		"a removed key": func(t *testing.T, d *signing, a approval.Approval) attempt {
			yes := d.sign(t, "alice", d.begin(t, "alice", a))
			require.NoError(t, d.door.RemovePasskey(t.Context(), begun(signin.Session{ID: "s", Person: "alice", How: "passkey"}), d.keys["alice"].ID))
			return attempt{"alice", yes}
		},
		"no ceremony": func(t *testing.T, d *signing, a approval.Approval) attempt {
			y := d.begin(t, "alice", a)
			y.Nonce = "made-up"
			return attempt{"alice", d.sign(t, "alice", y)}
		},
		"replayed": func(t *testing.T, d *signing, a approval.Approval) attempt {
			other := d.submit(t, "signed-twice")
			yes := d.sign(t, "alice", d.begin(t, "alice", other))
			_, err := d.Pages().VoteSigned(t.Context(), signedInAs("alice"), other.Code, yes, "")
			require.NoError(t, err)
			return attempt{"alice", yes}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSigning(t, "alice", "bob")
			a := d.submit(t, "signed")
			try := attack(t, d, a)
			before := len(d.events(t, approval.EventRefused))
			_, err := d.Pages().VoteSigned(t.Context(), signedInAs(try.who), a.Code, try.yes, "")
			requireStepUp(t, err, a, name)
			require.Len(t, d.events(t, approval.EventRefused), before+1)
			got, err := d.ByKey(t.Context(), a.Key)
			require.NoError(t, err)
			require.Equal(t, approval.Pending, got.Status)
			require.Empty(t, got.Votes)
			_, err = d.Pages().VoteSigned(t.Context(), signedInAs(try.who), a.Code, try.yes, "")
			requireStepUp(t, err, a, "again")
		})
	}
	t.Run("another browser", func(t *testing.T) {
		t.Parallel()
		d := newSigning(t, "alice")
		a := d.submit(t, "signed")
		yes := d.sign(t, "alice", d.begin(t, "alice", a))
		_, err := d.Pages().VoteSigned(t.Context(), core.WebUser{Session: "stolen", Person: "alice"}, a.Code, yes, "")
		requireStepUp(t, err, a, "another session")
	})
	t.Run("replayed at the same time", func(t *testing.T) {
		t.Parallel()
		d := newSigning(t, "alice", "bob")
		a := d.submit(t, "signed-twice")
		yes := d.sign(t, "alice", d.begin(t, "alice", a))
		var all sync.WaitGroup
		counted := make(chan error, 8)
		for range cap(counted) {
			all.Go(func() {
				_, err := d.Pages().VoteSigned(t.Context(), signedInAs("alice"), a.Code, yes, "")
				counted <- err
			})
		}
		all.Wait()
		close(counted)
		good := 0
		for err := range counted {
			if err == nil {
				good++
			} else {
				requireStepUp(t, err, a, "the slower")
			}
		}
		require.Equal(t, 1, good)
	})
	t.Run("a page of another call", func(t *testing.T) {
		t.Parallel()
		d := newSigning(t, "alice")
		a, b := d.submit(t, "signed"), d.submit(t, "ask")
		_, err := d.Pages().BeginYes(t.Context(), signedInAs("alice"), a.Code, d.shown(b))
		require.Equal(t, approval.CodeUnseenPayload, approval.CodeOf(err))
	})
	t.Run("who may not decide", func(t *testing.T) {
		t.Parallel()
		d := newSigning(t, "alice", "bob")
		a := d.submit(t, "signed", func(c *approval.Call) { c.Requester = &approval.Requester{Person: "alice"} })
		_, err := d.yes(t, "alice", a)
		require.Equal(t, approval.CodeSelfApproval, approval.CodeOf(err))
	})
}
