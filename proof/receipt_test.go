package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

const (
	issuedMs = 1_790_000_000_500
	untilMs  = issuedMs + 300_000
	theCall  = `{"toolName":"exec","params":{"argv":["git","push"]}}`
)

var midway = time.UnixMilli(issuedMs + 60_000)

func callPrint() string {
	f, err := FingerprintCall([]byte(theCall))
	if err != nil {
		panic(err)
	}
	return f
}

func claimed() approval.Approval {
	return approval.Approval{
		Names:  approval.Names{Key: "3f2c", ID: "deploy-7", Code: "K7QX2M", Owner: "main-agent"},
		Ended:  approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce, DecidedBy: []string{"person:alice", "person:bob"}, ResolvedAtMs: issuedMs, ClaimUntilMs: untilMs},
		Asked:  approval.Asked{ToolName: "exec", Fingerprint: callPrint()},
		Judged: approval.Judged{PolicyHash: "ab12", Assessment: approval.Assessment{RiskClass: approval.R3}, Rule: approval.Rule{MinApprovals: 2}},
	}
}

func receipt() Receipt {
	r, err := ReceiptFor(claimed(), "https://desk.example")
	if err != nil {
		panic(err)
	}
	return r
}

func TestReceipt(t *testing.T) {
	s := signer(t, 1, Receipts)
	want := Receipt{
		Issuer: "https://desk.example", ID: "3f2c.0", Approval: "deploy-7", Code: "K7QX2M", Owner: "main-agent", Fingerprint: callPrint(),
		Tool: "exec", Decision: approval.AllowOnce, By: []string{"person:alice", "person:bob"}, Quorum: Quorum{2, 2}, PolicyHash: "ab12", RiskClass: approval.R3,
		ClaimUntilMs: untilMs, IssuedAt: 1_790_000_000, NotBefore: 1_790_000_000, Expires: 1_790_000_300,
	}
	require.Equal(t, want, receipt())
	jws, err := s.Sign(want)
	require.NoError(t, err)
	stays, err := os.ReadFile("testdata/receipt.golden")
	require.NoError(t, err)
	require.Equal(t, string(stays), jws+"\n", "a receipt's bytes stay: whoever has one compares it")
	got, err := Verify(jws, KeysOf(signer(t, 2, Receipts).Public(), s.Public()), midway, callPrint())
	require.NoError(t, err)
	require.Equal(t, want, got)

	again, err := s.Sign(receipt())
	require.NoError(t, err)
	require.Equal(t, jws, again, "a repeated claim gives the same receipt")
	head, err := base64.RawURLEncoding.DecodeString(strings.Split(jws, ".")[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"alg":"EdDSA","typ":"approvalbot-receipt+jwt","kid":"`+s.KeyID()+`"}`, string(head))
}

func TestReceiptOfPolicyAndGrantsHasNoQuorum(t *testing.T) {
	for _, by := range []string{"policy", "grant:7"} {
		a := claimed()
		a.DecidedBy, a.Rule.MinApprovals = []string{by}, 2
		r, err := ReceiptFor(a, "desk")
		require.NoError(t, err)
		require.Equal(t, Quorum{}, r.Quorum)
	}
}

func TestNoReceiptWithoutAnApprovalThatStands(t *testing.T) {
	for name, change := range map[string]func(*approval.Approval){
		"pending":         func(a *approval.Approval) { a.Status = approval.Pending },
		"denied":          func(a *approval.Approval) { a.Status, a.Decision = approval.Denied, approval.Deny },
		"no decision":     func(a *approval.Approval) { a.Decision = "" },
		"not ended":       func(a *approval.Approval) { a.ResolvedAtMs = 0 },
		"revoked":         func(a *approval.Approval) { a.RevokedAtMs = 1 },
		"nobody":          func(a *approval.Approval) { a.DecidedBy = nil },
		"quorum not met":  func(a *approval.Approval) { a.Rule.MinApprovals = 3 },
		"no fingerprint":  func(a *approval.Approval) { a.Fingerprint = "" },
		"big fingerprint": func(a *approval.Approval) { a.Fingerprint = strings.ToUpper(a.Fingerprint) },
		"no end":          func(a *approval.Approval) { a.ClaimUntilMs = 0 },
		"no policy":       func(a *approval.Approval) { a.PolicyHash = "" },
	} {
		t.Run(name, func(t *testing.T) {
			a := claimed()
			change(&a)
			_, err := ReceiptFor(a, "desk")
			require.Error(t, err)
		})
	}
}

// forge signs any header and claims with the desk's key: what is refused then is
// refused for its form.
func forge(t testing.TB, s Signer, head, claims string) string {
	t.Helper()
	text := b64(head) + "." + b64(claims)
	return text + "." + b64(string(s.sign([]byte(text))))
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func TestVerifyRefuses(t *testing.T) {
	s, other := signer(t, 1, Receipts), signer(t, 2, Receipts)
	keys := KeysOf(s.Public())
	good, err := s.Sign(receipt())
	require.NoError(t, err)
	part := strings.Split(good, ".")
	head := marshal(t, joseHeader{"EdDSA", s.KeyID(), receiptType})
	claims := marshal(t, receipt())
	foreign, err := other.Sign(receipt())
	require.NoError(t, err)

	text := b64(strings.Replace(head, "EdDSA", "HS256", 1)) + "." + part[1]
	mac := hmac.New(sha256.New, s.Public())
	mac.Write([]byte(text))
	hs256 := text + "." + b64(string(mac.Sum(nil)))
	none := b64(strings.Replace(head, "EdDSA", "none", 1)) + "." + part[1] + "."
	// The last of 86 characters has 4 bits that carry nothing.
	last := part[2][85]
	loose := part[2][:85] + string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", last)+1])
	changed := func(old, new string) string {
		require.Contains(t, claims, old)
		return forge(t, s, head, strings.Replace(claims, old, new, 1))
	}

	for name, c := range map[string]struct {
		jws, want string
	}{
		"nothing":                {"", "compact JWS"},
		"two dots too many":      {good + "..", "compact JWS"},
		"huge":                   {good + strings.Repeat("A", maxReceipt), "compact JWS"},
		"alg none":               {none, "not EdDSA"},
		"HS256 by public key":    {hs256, "not EdDSA"},
		"other spelling of alg":  {forge(t, s, strings.Replace(head, "EdDSA", "eddsa", 1), claims), "not EdDSA"},
		"other typ":              {forge(t, s, strings.Replace(head, receiptType, "JWT", 1), claims), "typ is not"},
		"crit":                   {forge(t, s, strings.Replace(head, `{`, `{"crit":["x"],`, 1), claims), "more in it"},
		"own key in the header":  {forge(t, other, strings.Replace(head, `{`, `{"jwk":{},`, 1), claims), "more in it"},
		"alg twice":              {forge(t, s, strings.Replace(head, `{`, `{"alg":"none",`, 1), claims), "more in it"},
		"unknown kid":            {foreign, "not in the key set"},
		"another's kid":          {forge(t, other, head, claims), "signature does not fit"},
		"no kid":                 {forge(t, s, strings.Replace(head, s.KeyID(), "", 1), claims), "not in the key set"},
		"no signature":           {part[0] + "." + part[1] + ".", "not 64 bytes"},
		"no third part":          {part[0] + "." + part[1], "compact JWS"},
		"short signature":        {good[:len(good)-4], "not 64 bytes"},
		"loose last bits":        {part[0] + "." + part[1] + "." + loose, "canonical base64url"},
		"line break":             {part[0] + "." + part[1] + "." + part[2][:40] + "\n" + part[2][40:], "canonical base64url"},
		"padding":                {good + "==", "canonical base64url"},
		"space in front":         {" " + good, "header is not JSON"},
		"break in the header":    {part[0][:4] + "\r\n" + part[0][4:] + "." + part[1] + "." + part[2], "header is not JSON"},
		"other claims":           {part[0] + "." + b64(strings.Replace(claims, "alice", "mallory", 1)) + "." + part[2], "signature does not fit"},
		"claim twice":            {changed(`{`, `{"tool":"rm",`), "is there twice"},
		"claim in another case":  {changed(`"tool"`, `"Tool"`), "is there twice"},
		"unknown claim":          {changed(`{`, `{"admin":true,`), "is there twice"},
		"claim left out":         {changed(`"code":"K7QX2M",`, ``), "is there twice"},
		"more after the claims":  {forge(t, s, head, claims+"{}"), "claims are not those"},
		"claims are no object":   {forge(t, s, head, `[]`), "claims are not those"},
		"risk class R9":          {changed(`"R3"`, `"R9"`), "claims are not those"},
		"a deny":                 {changed(`"allow-once"`, `"deny"`), "one that allows"},
		"by nobody":              {changed(`["person:alice","person:bob"]`, `[]`), "who allowed"},
		"quorum not met":         {changed(`"got":2`, `"got":1`), "quorum"},
		"exp beyond the window":  {changed(`"exp":1790000300`, `"exp":1790009999`), "times must fit"},
		"fingerprint is no hash": {changed(callPrint(), "x"), "SHA-256"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Verify(c.jws, keys, midway, callPrint())
			require.ErrorContains(t, err, "no valid receipt: ")
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "alice")
		})
	}
}

func TestVerifyComparesTimeAndCall(t *testing.T) {
	s := signer(t, 1, Receipts)
	keys := KeysOf(s.Public())
	jws, err := s.Sign(receipt())
	require.NoError(t, err)
	at := func(sec int64) time.Time { return time.Unix(sec, 0) }
	for name, c := range map[string]struct {
		keys  Keys
		now   time.Time
		print string
		want  string
	}{
		"good":                {keys, midway, callPrint(), ""},
		"its last moment":     {keys, at(1_790_000_299), callPrint(), ""},
		"its end":             {keys, at(1_790_000_300), callPrint(), "it expired at 2026-09-21T"},
		"a slow clock":        {keys, at(1_790_000_000 - 60), callPrint(), ""},
		"too early":           {keys, at(1_790_000_000 - 61), callPrint(), "not valid yet"},
		"no clock":            {keys, time.Time{}, callPrint(), "not valid yet"},
		"another call":        {keys, midway, strings.Repeat("0", 64), "another call"},
		"no call":             {keys, midway, "", "cannot be compared"},
		"upper case":          {keys, midway, strings.ToUpper(callPrint()), "cannot be compared"},
		"no keys":             {nil, midway, callPrint(), "not in the key set"},
		"a key that is short": {Keys{s.KeyID(): s.Public()[:5]}, midway, callPrint(), "not in the key set"},
		"checkpoint key":      {KeysOf(signer(t, 1, Checkpoints).Public()), midway, callPrint(), "not in the key set"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Verify(jws, c.keys, c.now, c.print)
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.want)
			}
		})
	}
}

// Nothing but the very text that the desk signed is ever accepted.
func FuzzVerify(f *testing.F) {
	s := signer(f, 1, Receipts)
	good, err := s.Sign(receipt())
	require.NoError(f, err)
	f.Add(good)
	f.Add(good[:len(good)-1] + "B")
	f.Add(good + "=")
	f.Add(strings.Replace(good, ".", "\n.", 1))
	f.Add(b64(`{"alg":"none"}`) + "." + b64(`{}`) + ".")
	f.Add("..")
	keys, want := KeysOf(s.Public()), callPrint()
	f.Fuzz(func(t *testing.T, jws string) {
		r, err := Verify(jws, keys, midway, want)
		require.Equal(t, jws == good, err == nil)
		require.Equal(t, err == nil, r.ID != "")
	})
}

// Whoever can make the desk sign other JSON gets nothing accepted but receipts in
// their one spelling.
func FuzzVerifySigned(f *testing.F) {
	s := signer(f, 1, Receipts)
	head := marshal(f, joseHeader{"EdDSA", s.KeyID(), receiptType})
	f.Add(head, marshal(f, receipt()))
	f.Add(head, `{"decision":"deny"}`)
	f.Add(`{"alg":"EdDSA"}`, `null`)
	f.Fuzz(func(t *testing.T, head, claims string) {
		r, err := Verify(forge(t, s, head, claims), KeysOf(s.Public()), midway, callPrint())
		if err == nil {
			require.Equal(t, claims, marshal(t, r))
			require.True(t, r.Decision.Allows())
		}
	})
}
