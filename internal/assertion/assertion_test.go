package assertion_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/assertion"
	"approvalbot/internal/assertion/softkey"
)

func desk(t *testing.T) assertion.Site {
	t.Helper()
	s, err := assertion.SiteOf("https://desk.example.org")
	require.NoError(t, err)
	return s
}

// A challenge is SHA-256 of the RFC 8785 form: names in order, nothing between them.
func TestChallenge(t *testing.T) {
	t.Parallel()
	y := assertion.Yes{ApprovalID: "job-17", Decision: "allow-once", Fingerprint: "f", Nonce: "n", Person: "ålice", PolicyHash: "p"}
	require.Equal(t, sum(`{"approvalId":"job-17","decision":"allow-once","fingerprint":"f","nonce":"n","person":"ålice","policyHash":"p"}`),
		y.Challenge())
}

// Keys of each algorithm sign, counting or not.
func TestVerify(t *testing.T) {
	t.Parallel()
	for name, algorithm := range map[string]int{"ES256": assertion.ES256, "EdDSA": assertion.EdDSA, "RS256": assertion.RS256} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, counts := range []bool{true, false} {
				p := softkey.New(t, algorithm)
				p.Counts = counts
				for range 2 {
					before := p.Key(t)
					seen, err := p.Sign(t, desk(t), []byte("challenge")).Verify(before, desk(t), []byte("challenge"))
					require.NoError(t, err)
					require.Equal(t, assertion.Seen{SignCount: p.Count}, seen)
				}
			}
		})
	}
}

// What is not exactly what was asked for is refused, and the error says which part.
func TestVerify_Refuses(t *testing.T) {
	t.Parallel()
	honest := func(challenge string) softkey.Client {
		return softkey.Client{Type: "webauthn.get", Challenge: encode([]byte(challenge)), Origin: desk(t).Origin}
	}
	for name, c := range map[string]struct {
		sign func(*softkey.Passkey) assertion.Response
		want string
	}{
		"another challenge": {func(p *softkey.Passkey) assertion.Response {
			return p.Sign(t, desk(t), []byte("another"))
		}, "another question than the one the desk asked"},
		"another site": {func(p *softkey.Passkey) assertion.Response {
			return p.SignAs(t, "evil.example.org", honest("challenge"))
		}, "for another site"},
		"another origin": {func(p *softkey.Passkey) assertion.Response {
			c := honest("challenge")
			c.Origin = "https://desk.example.org.evil.example"
			return p.SignAs(t, desk(t).ID, c)
		}, "is not the desk's, or that another site shows"},
		"a frame": {func(p *softkey.Passkey) assertion.Response {
			c := honest("challenge")
			c.CrossOrigin = true
			return p.SignAs(t, desk(t).ID, c)
		}, "is not the desk's, or that another site shows"},
		"an enrolment": {func(p *softkey.Passkey) assertion.Response {
			c := honest("challenge")
			c.Type = "webauthn.create"
			return p.SignAs(t, desk(t).ID, c)
		}, "sent no signature"},
		"nobody there": {func(p *softkey.Passkey) assertion.Response {
			p.Flags = softkey.Verified
			return p.Sign(t, desk(t), []byte("challenge"))
		}, "did not confirm that its owner was there"},
		"nobody verified": {func(p *softkey.Passkey) assertion.Response {
			p.Flags = softkey.Present
			return p.Sign(t, desk(t), []byte("challenge"))
		}, "did not confirm that its owner was there"},
		"a copy of the key": {func(p *softkey.Passkey) assertion.Response {
			p.Count -= 2
			return p.Sign(t, desk(t), []byte("challenge"))
		}, "there may be a copy"},
		"backed up without being able to be": {func(p *softkey.Passkey) assertion.Response {
			p.Flags |= 1 << 4
			return p.Sign(t, desk(t), []byte("challenge"))
		}, "contradicts itself"},
		"another key": {func(*softkey.Passkey) assertion.Response {
			other := softkey.New(t, assertion.ES256)
			other.Count = 9
			return other.Sign(t, desk(t), []byte("challenge"))
		}, "made with another passkey"},
		"bytes behind the authenticator's data": {func(p *softkey.Passkey) assertion.Response {
			r := p.Sign(t, desk(t), []byte("challenge"))
			r.AuthenticatorData = encode(append(decode(t, r.AuthenticatorData), 0))
			return r
		}, "sent no signature"},
		"a name twice": {func(p *softkey.Passkey) assertion.Response {
			r := p.Sign(t, desk(t), []byte("challenge"))
			r.ClientDataJSON = encode([]byte(`{"type":"webauthn.get",` + string(decode(t, r.ClientDataJSON)[1:])))
			return r
		}, "the data that the browser sent with the signature cannot be read"},
		"no base64url": {func(*softkey.Passkey) assertion.Response {
			return assertion.Response{ClientDataJSON: "e30=", AuthenticatorData: "AA", Signature: "AA"}
		}, "not in base64url"},
		"nothing": {func(*softkey.Passkey) assertion.Response { return assertion.Response{} }, "not in base64url"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := softkey.New(t, assertion.ES256)
			p.Count = 5
			key := p.Key(t)
			_, err := c.sign(p).Verify(key, desk(t), []byte("challenge"))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Keys that are too weak, or not of the algorithm that they name, are none.
func TestMarshalKey_Refuses(t *testing.T) {
	t.Parallel()
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	_, err = assertion.MarshalKey(assertion.RS256, &short.PublicKey)
	require.ErrorContains(t, err, "the key must be ES256")
	long, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	for _, algorithm := range []int{assertion.ES256, assertion.RS256, -35} {
		_, err = assertion.MarshalKey(algorithm, &long.PublicKey)
		require.Error(t, err)
	}
}

func TestSiteOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]assertion.Site{
		"https://desk.example.org":       {ID: "desk.example.org", Origin: "https://desk.example.org"},
		"https://Desk.Example.org:443/":  {ID: "desk.example.org", Origin: "https://desk.example.org"},
		"https://desk.example.org:8443":  {ID: "desk.example.org", Origin: "https://desk.example.org:8443"},
		"http://localhost:8787":          {ID: "localhost", Origin: "http://localhost:8787"},
		"https://desk.example.org/under": {ID: "desk.example.org", Origin: "https://desk.example.org"},
	} {
		got, err := assertion.SiteOf(url)
		require.NoError(t, err, url)
		require.Equal(t, [2]string{want.ID, want.Origin}, [2]string{got.ID, got.Origin}, url)
	}
	for url, want := range map[string]string{
		"": "must be the URL", "desk.example.org": "must be the URL", "http://desk.example.org": "must begin with https",
		"https://192.0.2.1": "for an IP address", "https://[::1]:8787": "for an IP address", "https://desk": "whole DNS name",
	} {
		_, err := assertion.SiteOf(url)
		require.ErrorContains(t, err, want, url)
	}
	under, err := assertion.SiteOf("https://desk.example.org/under/")
	require.NoError(t, err)
	require.Equal(t, "https://desk.example.org/under/a/K7QX2M", under.Link("/a/K7QX2M"))
}

// A signature that is kept can be checked again, and says nothing else than it did.
func TestSignature(t *testing.T) {
	t.Parallel()
	p := softkey.New(t, assertion.ES256)
	y := assertion.Yes{ApprovalID: "job-17", Decision: "allow-once", Fingerprint: "f", Nonce: "n", Person: "alice", PolicyHash: "p"}
	good := assertion.Signature{Person: "alice", PolicyHash: "p", Nonce: "n", SiteID: desk(t).ID, Origin: desk(t).Origin, Key: p.Key(t)}
	good.Response = p.Sign(t, desk(t), y.Challenge())
	text, err := json.Marshal(good)
	require.NoError(t, err)
	var again assertion.Signature
	require.NoError(t, json.Unmarshal(text, &again))
	require.NoError(t, again.Signed(y))
	require.EqualValues(t, 1, again.Seen().SignCount)
	for name, change := range map[string]func(*assertion.Yes, *assertion.Signature){
		"call":     func(y *assertion.Yes, _ *assertion.Signature) { y.Fingerprint = "g" },
		"approval": func(y *assertion.Yes, _ *assertion.Signature) { y.ApprovalID = "job-18" },
		"decision": func(y *assertion.Yes, _ *assertion.Signature) { y.Decision = "allow-always" },
		"person":   func(y *assertion.Yes, s *assertion.Signature) { y.Person, s.Person = "bob", "bob" },
		"policy":   func(y *assertion.Yes, s *assertion.Signature) { y.PolicyHash, s.PolicyHash = "q", "q" },
		"nonce":    func(y *assertion.Yes, s *assertion.Signature) { y.Nonce, s.Nonce = "m", "m" },
		"key":      func(_ *assertion.Yes, s *assertion.Signature) { s.Key = softkey.New(t, assertion.ES256).Key(t) },
		"count":    func(_ *assertion.Yes, s *assertion.Signature) { s.SignCount = 1 },
		"origin":   func(_ *assertion.Yes, s *assertion.Signature) { s.Origin = "https://evil.example.org" },
		"site":     func(_ *assertion.Yes, s *assertion.Signature) { s.SiteID = "evil.example.org" },
	} {
		other, s := y, again
		change(&other, &s)
		require.Error(t, s.Signed(other), name)
	}
}

func sum(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:]
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	require.NoError(t, err)
	return b
}
