package verifier

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// opinionOf is an opinion without who gave it.
func opinionOf(o approval.Opinion) approval.Opinion {
	o.Consulted = nil
	return o
}

// What a webhook said, why that counts and how long it took is told, also where it
// allowed the call, and where failMode lets it pass.
func TestEveryAnswerOfAWebhookIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		answer         tripper
		failMode       string
		verdict, cause string
		latencyMs      int64
	}{
		"allow":    {replies(200, `{"decision":"allow"}`), "", "allow", "allowed", 40},
		"deny":     {replies(200, `{"decision":"deny"}`), "", "deny", "denied", 40},
		"HTTP 500": {replies(500, ``), "", "deny", "HTTP 500", 40},
		"open":     {replies(500, ``), "allow", "allow", "HTTP 500", 40},
		"nonsense": {replies(200, `{}`), "", "deny", "invalid", 40},
		"silence":  {silent, "", "deny", "timeout", 30_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hooked("https://desk.test/verify/v1?key=k-secret")
				s.FailMode = c.failMode
				v, _, err := newVerifier(Config{Settings: s}, quiet, c.answer)
				require.NoError(t, err)
				out := v.Verify(t.Context(), execCall(), approval.R2)
				require.Len(t, out.Consulted, 1)
				got := out.Consulted[0]
				require.NoError(t, uuid.Validate(got.RequestID))
				got.RequestID = ""
				require.Equal(t, approval.Consultation{Authority: "webhook", Endpoint: "desk.test/verify/v1", Verdict: c.verdict, Cause: c.cause,
					LatencyMs: c.latencyMs, AtMs: time.Now().UnixMilli()}, got)
			})
		})
	}
}

// replies answers after 40 ms.
func replies(status int, body string) tripper {
	return func(r *http.Request) (*http.Response, error) {
		time.Sleep(40 * time.Millisecond) // virtual
		_, _ = io.Copy(io.Discard, r.Body)
		return response(r, status, body), nil
	}
}

// An allow that is remembered says so, and names no request.
func TestACachedAllowIsTold(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	s := hooked(a.URL)
	s.Webhook.CacheTTL = 60
	v := mustVerifier(t, Config{Settings: s})
	require.Equal(t, "allowed", v.Verify(t.Context(), execCall(), approval.R1).Consulted[0].Cause)
	got := v.Verify(t.Context(), execCall(), approval.R1).Consulted
	require.Len(t, got, 1)
	require.Equal(t, []string{"allow", "cached", ""}, []string{got[0].Verdict, got[0].Cause, got[0].RequestID})
}

// Every webhook that was asked is told, in order, up to the one that refused.
func TestEachWebhookIsToldByItself(t *testing.T) {
	yes, no := newAuthority(t, says(200, `{"decision":"allow"}`)), newAuthority(t, says(200, `{"decision":"deny"}`))
	own := Settings{Webhook: Webhook{URL: no.URL}}
	v := mustVerifier(t, Config{Settings: hooked(yes.URL), Agents: map[string]Settings{"main": own}})
	got := v.Verify(t.Context(), execCall(), approval.R2).Consulted
	require.Len(t, got, 2)
	require.Equal(t, []string{"allow", "deny"}, []string{got[0].Verdict, got[1].Verdict})
}

func TestEveryOpinionOfAClassifierIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		answer         tripper
		verdict, cause string
	}{
		"opinion": {replies(200, completed(fine)), "R1", "assessed"}, "HTTP 503": {replies(503, ""), "none", "HTTP 503"},
		"nonsense": {replies(200, "{}"), "none", "invalid"}, "silence": {silent, "none", "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got := virtual(t, ClassifierConfig{}, c.answer).Classify(t.Context(), execCall(), unsure()).Consulted
				require.Len(t, got, 1)
				require.Equal(t, []string{"classifier", c.verdict, c.cause}, []string{got[0].Authority, got[0].Verdict, got[0].Cause})
				require.Equal(t, "api.openai.com/v1/chat/completions", got[0].Endpoint)
				require.Positive(t, got[0].LatencyMs)
			})
		})
	}
}

// An address stands on approvals without what could be a key.
func TestEndpointsHoldNoKeys(t *testing.T) {
	for raw, want := range map[string]string{
		"https://v.example.com/verify":                                          "v.example.com/verify",
		"https://u:p@v.example.com:8443/a/b?token=x#y":                          "v.example.com:8443/a/b",
		"https://hooks.example.com/services/T00000000/XXXXXXXXXXXX4XXXXXXXXXXX": "hooks.example.com/services/T00000000/…",
		"https://v.example.com/my-secret/verify":                                "v.example.com/…/verify",
	} {
		require.Equal(t, want, endpointOf(raw))
	}
}
