package main

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
	"approvalbot/internal/signin"
)

// signedDeploys wants the yes to every deploy signed.
func signedDeploys(r *rig) {
	r.tokens = "  publicUrl: \"https://desk.example.org\"\n"
	r.tools = "    rules: [{name: signed, match: {tool: deploy}, outcome: ask, stepUp: true}]\n"
}

// enrolled gives a person of the desk a passkey.
func (r *rig) enrolled(who string) *softkey.Passkey {
	r.t.Helper()
	p := softkey.New(r.t, assertion.ES256)
	k := p.Key(r.t)
	s := signin.Session{ID: "link", Person: who, How: "link", Enrols: true, CreatedMs: time.Now().UnixMilli()}
	_, err := r.desk.SignIn.Enrol(r.ctx(), s,
		signin.Passkey{ID: p.ID, Name: "phone", PublicKey: k.PublicKey, Algorithm: k.Algorithm})
	require.NoError(r.t, err)
	return p
}

// Where a yes must be signed, taps, typed words and the API are answered with the page
// where it can be; the signature is in the receipt, and its holder checks it.
func TestStepUp_EverywhereTheSameSentence(t *testing.T) {
	t.Parallel()
	r := newRig(t, withDiscord, signedDeploys)
	key := r.enrolled("alice")
	a := r.ask(`{"n":1}`)
	page := "https://desk.example.org/a/" + a.Code
	for _, name := range []string{"telegram", "discord"} {
		c := r.chatOn(name)
		card := c.card(a)
		require.Contains(t, card.text, "counts only when a passkey signs it")
		require.Contains(t, card.text, page)
		for _, answer := range []string{c.tap("alice", card.id, "Allow once"), c.say("alice", "/approve "+a.Code)} {
			require.Contains(t, answer, "A yes to this counts only when your passkey signs it", name)
			require.Contains(t, answer, page, name)
		}
	}
	_, err := r.client(aliceSecret).Resolve(r.ctx(), a.Code, api.ResolveRequest{Decision: api.AllowOnce})
	requireProblem(t, err, "step_up_required")
	var refused *api.Problem
	require.True(t, errors.As(err, &refused))
	require.Equal(t, [2]any{403, page}, [2]any{refused.Status, refused.URL})
	require.Empty(t, r.get(a).Votes)
	require.True(t, r.get(a).Approvers.StepUp)

	s := signin.Session{ID: "alice's", Person: "alice", How: "passkey", CreatedMs: time.Now().UnixMilli()}
	y, err := r.desk.Gate.Pages().BeginYes(r.ctx(), s.WebUser(), a.Code, core.ShownCall{Fingerprint: a.ArgsFingerprint, PolicyHash: r.desk.Gate.PolicyHash()})
	require.NoError(t, err)
	_, err = r.desk.Gate.Pages().VoteSigned(r.ctx(), s.WebUser(), a.Code, core.SignedYes{Nonce: y.Nonce, Response: key.Sign(t, y.Site, y.Challenge)}, "")
	require.NoError(t, err)
	for _, name := range []string{"telegram", "discord"} {
		r.chatOn(name).settled(r.chatOn(name).waitText("Allowed once by alice").id, "Allowed once by alice")
	}
	require.Equal(t, key.ID, r.final(a).Votes[0].Passkey)
	claim, err := r.agent().Claim(r.ctx(), a.ID, api.ClaimRequest{})
	require.NoError(t, err)
	call, err := json.Marshal(claim)
	require.NoError(t, err)
	said := r.good("receipt", "verify", "--jwks", r.url+"/.well-known/jwks.json", "--params", r.file("call.json", string(call)), claim.Receipt)
	require.Contains(t, said, "Signed by alice on https://desk.example.org with the passkey "+key.ID)
}

// What nobody could sign is refused at once.
func TestStepUp_NobodyHasAPasskey(t *testing.T) {
	t.Parallel()
	r := newRig(t, signedDeploys)
	a, err := r.agent().Create(r.ctx(), api.CreateRequest{ToolName: "deploy", Params: []byte(`{"n":1}`)}, api.CreateOptions{})
	require.NoError(t, err)
	require.EqualValues(t, "denied", a.Status)
	require.Contains(t, a.ReasonCodes, approval.ReasonInsufficient)
}
