package proof

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
)

// signedBy is claimed, with a yes that each of those people's passkeys signed.
func signedBy(t *testing.T, people ...string) approval.Approval {
	t.Helper()
	a := claimed()
	site, err := assertion.SiteOf("https://desk.example")
	require.NoError(t, err)
	a.Rule.StepUp, a.DecidedBy, a.Votes = true, nil, nil
	for i, who := range people {
		key := softkey.New(t, assertion.Algorithms()[i%3])
		s := assertion.Signature{Person: who, PolicyHash: a.PolicyHash, Nonce: "nonce-" + who, SiteID: site.ID, Origin: site.Origin,
			Key: key.Key(t)}
		s.Response = key.Sign(t, site, assertion.Yes{ApprovalID: a.ID, Decision: "allow-once", Fingerprint: a.Fingerprint,
			Nonce: s.Nonce, Person: who, PolicyHash: a.PolicyHash}.Challenge())
		a.Votes = append(a.Votes, approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Decision: approval.AllowOnce,
			Voter: &approval.Voter{Person: who, Channel: "web", UserID: who}, Signature: &s})
		a.DecidedBy = append(a.DecidedBy, "person:"+who)
	}
	return a
}

// A receipt has what each passkey signed, and whoever holds it checks that alone.
func TestReceipt_Signed(t *testing.T) {
	t.Parallel()
	r, err := ReceiptFor(signedBy(t, "alice", "bob"), "https://desk.example")
	require.NoError(t, err)
	s := signer(t, 1, Receipts)
	jws, err := s.Sign(r)
	require.NoError(t, err)
	got, err := Verify(jws, KeysOf(s.Public()), midway, callPrint())
	require.NoError(t, err)
	require.True(t, got.StepUp)
	require.Equal(t, r.Signed, got.Signed)
	require.Len(t, got.Signed, 2)
	require.Len(t, got.Signed[0].Thumbprint(), 64)
}

// What policy allowed, or a grant, has a receipt though a yes of that class would have to be
// signed: nobody gave one, and it does not say that anybody did.
func TestReceipt_NobodyWasToSign(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"policy", "grant:7"} {
		a := claimed()
		a.Rule.StepUp, a.DecidedBy = true, []string{by}
		r, err := ReceiptFor(a, "https://desk.example")
		require.NoError(t, err)
		require.False(t, r.StepUp)
		r.StepUp = true
		require.ErrorContains(t, r.check(), "one signature of each person")
	}
}

// N4: the desk's own key does not make another call, person, key, policy or signature
// out of what a passkey signed, nor a yes without one.
func TestAdversary_N4_Receipts(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Receipt){
		"call":      func(r *Receipt) { r.Fingerprint = callPrint()[:63] + "0" },
		"approval":  func(r *Receipt) { r.Approval = "deploy-8" },
		"policy":    func(r *Receipt) { r.PolicyHash = "cd34" },
		"decision":  func(r *Receipt) { r.Decision = approval.AllowAlways },
		"person":    func(r *Receipt) { r.Signed[0].Person, r.By[0] = "mallory", "person:mallory" },
		"key":       func(r *Receipt) { r.Signed[0].Key = softkey.New(t, assertion.ES256).Key(t) },
		"nonce":     func(r *Receipt) { r.Signed[0].Nonce = "another" },
		"challenge": func(r *Receipt) { r.Signed[0].ClientDataJSON = r.Signed[1].ClientDataJSON },
		"signature": func(r *Receipt) { r.Signed[0].Signature = r.Signed[1].Signature },
		"flags": func(r *Receipt) {
			r.Signed[0].AuthenticatorData = r.Signed[0].AuthenticatorData[:43] + "B" + r.Signed[0].AuthenticatorData[44:]
		},
		"count":     func(r *Receipt) { r.Signed[0].SignCount = 7 },
		"origin":    func(r *Receipt) { r.Signed[0].Origin = "https://evil.example" },
		"one less":  func(r *Receipt) { r.Signed = r.Signed[1:] },
		"none":      func(r *Receipt) { r.Signed = nil },
		"one twice": func(r *Receipt) { r.Signed = append(r.Signed, r.Signed[0]) },
		"by a tap":  func(r *Receipt) { r.By[1] = "telegram:333" },
	} {
		r, err := ReceiptFor(signedBy(t, "alice", "bob"), "https://desk.example")
		require.NoError(t, err)
		change(&r)
		s := signer(t, 1, Receipts)
		_, err = s.Sign(r)
		require.Error(t, err, "the desk signs no such thing: %s", name)
		_, err = Verify(forged(t, s, r), KeysOf(s.Public()), midway, r.Fingerprint)
		require.ErrorContains(t, err, "no valid receipt", name)
		require.Regexp(t, "passkey's signature|one signature of each person", err.Error(), name)
	}
}

// forged signs whatever it is given.
func forged(t *testing.T, s Signer, r Receipt) string {
	t.Helper()
	head, err := encode(joseHeader{"EdDSA", s.KeyID(), receiptType})
	require.NoError(t, err)
	claims, err := encode(r)
	require.NoError(t, err)
	return head + "." + claims + "." + base64.RawURLEncoding.EncodeToString(s.sign([]byte(head+"."+claims)))
}
