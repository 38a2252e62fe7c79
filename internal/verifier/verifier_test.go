package verifier

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func TestRequestIsExactlyAsPromised(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	cfg := Config{Settings: hooked(a.URL + "/verify?x=1")}
	cfg.Webhook.Secret = "hmac secret"
	cfg.Webhook.Headers = map[string]string{"Authorization": "Bearer abc"}
	v := mustVerifier(t, cfg)

	out := v.Verify(t.Context(), execCall(), approval.R2)
	out.Consulted = nil
	require.Equal(t, approval.Verification{Asked: true, Steps: []approval.Step{{Stage: "verifier", Rule: "webhook", Outcome: "allow", Text: "The verifier allowed the call."}}}, out)

	body, head := a.last(t)
	var q map[string]any
	require.NoError(t, json.Unmarshal(body, &q))
	at, err := time.Parse("2006-01-02T15:04:05Z", q["timestamp"].(string))
	require.NoError(t, err)
	require.False(t, at.IsZero())
	id, err := uuid.Parse(q["requestId"].(string))
	require.NoError(t, err)
	require.EqualValues(t, 4, id.Version())
	delete(q, "timestamp")
	delete(q, "requestId")
	require.Equal(t, map[string]any{
		"version": 1.0,
		"tool":    map[string]any{"name": "exec", "params": map[string]any{"command": "curl https://example.com", "workdir": "/workspace"}},
		"context": map[string]any{"agentId": "main", "sessionKey": "agent:main:main", "messageProvider": "telegram"},
	}, q)

	mac := hmac.New(sha256.New, []byte("hmac secret"))
	mac.Write(body)
	require.Equal(t, hex.EncodeToString(mac.Sum(nil)), head.Get("X-OpenClaw-Signature"))
	require.Equal(t, "Bearer abc", head.Get("Authorization"))
	require.Equal(t, "application/json", head.Get("Content-Type"))
}

func TestWithoutSecretNothingIsSigned(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	v := mustVerifier(t, Config{Settings: hooked(a.URL)})
	call := execCall()
	call.Origin = nil
	require.False(t, v.Verify(t.Context(), call, approval.R2).Denied)
	body, head := a.last(t)
	require.NotContains(t, head, "X-Openclaw-Signature")
	require.Contains(t, string(body), `"messageProvider":""`)
}

func TestDenyShowsItsReasonSafely(t *testing.T) {
	for said, want := range map[string]string{
		`{"decision":"deny","reason":"not on Fridays"}`:                          "not on Fridays",
		`{"decision":"deny"}`:                                                    "The verifier refused the call.",
		`{"decision":"deny","reason":null}`:                                      "The verifier refused the call.",
		`{"decision":"deny","reason":"a\u202Eb"}`:                                `a\u{202E}b`,
		`{"decision":"deny","reason":"password=hunter2hunter2"}`:                 "password=[REDACTED]",
		`{"decision":"deny","reason":"` + strings.Repeat("ä", 600) + `"}`:        strings.Repeat("ä", 499) + "…",
		`{"decision":"deny","reason":"` + strings.Repeat(`\n`, 400) + `","x":1}`: strings.Repeat(`\u{A}`, 99) + `\u{A` + "…",
	} {
		a := newAuthority(t, says(200, said))
		v := mustVerifier(t, Config{Settings: Settings{Enabled: true, FailMode: "allow", Webhook: Webhook{URL: a.URL}}})
		out := v.Verify(t.Context(), execCall(), approval.R2)
		require.True(t, out.Denied, said)
		require.False(t, out.Open)
		require.Equal(t, want, out.Reason)
		require.LessOrEqual(t, len([]rune(out.Reason)), 500)
	}
}

func TestScope(t *testing.T) {
	for _, c := range []struct {
		scope Scope
		tool  string
		want  bool
	}{
		{Scope{}, "anything", true},
		{Scope{Include: []string{}}, "anything", true},
		{Scope{Include: []string{"exec", "apply_patch"}}, "exec", true},
		{Scope{Include: []string{"exec", "apply_patch"}}, "Apply-Patch", true},
		{Scope{Include: []string{"exec", "apply_patch"}}, "applyPatch", true},
		{Scope{Include: []string{"exec"}}, "read", false},
		{Scope{Include: []string{"exec"}}, "mcp__exec", false},
		{Scope{Include: []string{"exec"}}, "Bash", true}, // what other runtimes call it
		{Scope{Include: []string{"exec"}}, "run_shell_command", true},
		{Scope{Include: []string{"bash"}}, "exec", false},
		{Scope{Exclude: []string{"exec"}}, "bash", true},
		{Scope{Include: []string{"mcp__x__y"}}, "mcp__x__y", true},
		{Scope{Exclude: []string{"Read", "session_status"}}, "read", false},
		{Scope{Exclude: []string{"Read", "session_status"}}, "sessionStatus", false},
		{Scope{Exclude: []string{"read"}}, "exec", true},
		{Scope{Exclude: []string{"read"}}, "other.read", true},
	} {
		v := mustVerifier(t, Config{Settings: Settings{Enabled: true, Scope: c.scope, Webhook: Webhook{URL: "https://verifier.test"}}})
		require.Equal(t, c.want, v.Wants(approval.Call{ToolName: c.tool}).Asked, "%v %s", c.scope, c.tool)
		if !c.want {
			require.Zero(t, v.Verify(t.Context(), approval.Call{ToolName: c.tool}, approval.R4))
		}
	}
}

func TestDisabledAsksNobody(t *testing.T) {
	v := mustVerifier(t, Config{})
	require.Zero(t, v.Wants(execCall()))
	require.Zero(t, v.Verify(t.Context(), execCall(), approval.R4))
	require.Empty(t, v.Test(t.Context()))
}

func TestPeopleAreNamedWhenTheWebhookAllows(t *testing.T) {
	decision := "allow"
	a := newAuthority(t, func(w http.ResponseWriter, r *http.Request) {
		says(200, fmt.Sprintf(`{"decision":%q}`, decision))(w, r)
	})
	s := hooked(a.URL)
	s.Chat = Chat{Enabled: true, ChatID: "-100123", Timeout: 7, AllowedUserIDs: []string{"11", "22"}}
	v := mustVerifier(t, Config{Settings: s})
	people := &approval.VerifierPeople{Place: approval.Target{Channel: "telegram", To: "-100123"}, Accounts: []string{"telegram:11", "telegram:22"}, TimeoutMs: 7000}
	require.Equal(t, people, v.Wants(execCall()).People)
	require.Zero(t, a.asked())
	out := v.Verify(t.Context(), execCall(), approval.R2)
	require.False(t, out.Denied)
	require.Equal(t, people, out.People)
	out.People.Accounts[0] = "telegram:666"
	require.Equal(t, people, v.Wants(execCall()).People, "the plan is not shared with callers")

	decision = "deny"
	out = v.Verify(t.Context(), execCall(), approval.R2)
	require.True(t, out.Denied)
	require.Nil(t, out.People)
}

func TestPeopleAlone(t *testing.T) {
	v := mustVerifier(t, Config{Settings: Settings{Enabled: true, Chat: Chat{Enabled: true, ChatID: "5", AllowedUserIDs: []string{"5"}}}})
	out := v.Verify(t.Context(), execCall(), approval.R0)
	require.True(t, out.Asked)
	require.EqualValues(t, 120_000, out.People.TimeoutMs)
}

func TestCacheRemembersOnlyAllowsOfTheSameCallBelowR3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, decision := 0, "allow"
		v, _, err := newVerifier(Config{Settings: Settings{Enabled: true, Webhook: Webhook{URL: "https://v.test", CacheTTL: 60}}}, quiet,
			tripper(func(r *http.Request) (*http.Response, error) {
				asked++
				return response(r, 200, fmt.Sprintf(`{"decision":%q}`, decision)), nil
			}))
		require.NoError(t, err)
		ask := func(call approval.Call, class approval.RiskClass) int {
			before := asked
			out := v.Verify(t.Context(), call, class)
			require.Equal(t, decision == "deny" && asked > before, out.Denied)
			return asked - before
		}
		call := execCall()
		require.Equal(t, 1, ask(call, approval.R2))
		require.Equal(t, 0, ask(call, approval.R2))
		reordered := call
		reordered.Params = []byte(`{ "workdir":"/workspace", "command":"curl https://example.com" }`)
		require.Equal(t, 0, ask(reordered, approval.R1), "the same call in another order")
		for name, change := range map[string]func(*approval.Call){
			"params":   func(c *approval.Call) { c.Params = []byte(`{"command":"curl https://example.org"}`) },
			"tool":     func(c *approval.Call) { c.ToolName = "exec2" },
			"agent":    func(c *approval.Call) { c.AgentID = "other" },
			"session":  func(c *approval.Call) { c.SessionKey = "agent:main:other" },
			"provider": func(c *approval.Call) { c.Origin = nil },
			"bind":     func(c *approval.Call) { c.Bind = &approval.Bind{Workdir: new("/")} },
		} {
			other := call
			change(&other)
			require.Equal(t, 1, ask(other, approval.R2), name)
		}
		require.Equal(t, 1, ask(call, approval.R3), "never from R3 on")
		require.Equal(t, 1, ask(call, approval.R4))
		require.Equal(t, 1, ask(call, approval.RiskClass(-1)), "nor for a class that is none")
		time.Sleep(60 * time.Second)
		decision = "deny"
		require.Equal(t, 1, ask(call, approval.R2))
		require.Equal(t, 1, ask(call, approval.R2), "a deny is not remembered")
	})
}

func TestHiddenContentsAreNotOneCall(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	s := hooked(a.URL)
	s.Webhook.CacheTTL = 60
	v := mustVerifier(t, Config{Settings: s})
	for _, content := range []string{"aaa", "bbb"} {
		v.Verify(t.Context(), approval.Call{ToolName: "write", Params: []byte(`{"path":"x","content":"` + content + `"}`)}, approval.R1)
	}
	require.Equal(t, 2, a.asked(), "the webhook sees the same, but the calls differ")
}

func TestCacheIsBounded(t *testing.T) {
	c := newCache(time.Hour)
	for i := range 3 * maxCached {
		c.add(sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
		require.LessOrEqual(t, len(c.until), maxCached)
	}
}

func TestReport(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"deny","reason":"I do not know this tool"}`))
	broken := newAuthority(t, says(500, `oops`))
	s := hooked(a.URL + "/secret-path?key=k")
	s.Webhook.Secret = "s"
	s.Scope = Scope{Include: []string{"exec"}}
	v := mustVerifier(t, Config{Settings: s, Agents: map[string]Settings{"b": {Webhook: Webhook{URL: broken.URL}}}})
	got := v.Test(t.Context())
	require.Len(t, got, 2)
	require.Equal(t, "tools.verifier", got[0].Name)
	require.Equal(t, a.URL, got[0].Place, "neither path nor query")
	require.Equal(t, 200, got[0].Status)
	require.Equal(t, "deny", got[0].Decision)
	require.Equal(t, "I do not know this tool", got[0].Reason)
	require.True(t, got[0].Signed)
	require.Empty(t, got[0].Problems)
	require.Positive(t, got[0].Latency)
	require.Equal(t, "agents.b.tools.verifier", got[1].Name)
	require.Equal(t, 500, got[1].Status)
	require.Empty(t, got[1].Decision)
	require.Equal(t, []string{"The verifier gave no valid answer: it answered with HTTP status 500.",
		"The request was not signed: set webhook.secret so that the verifier can tell who asks."}, got[1].Problems)

	body, _ := a.last(t)
	var q question
	require.NoError(t, json.Unmarshal(body, &q))
	require.Equal(t, TestTool, q.Tool.Name)
	require.Equal(t, got[0].RequestID, q.RequestID)
}

// What is logged names neither secrets nor the address beyond its host.
func TestLogsHoldNoSecrets(t *testing.T) {
	var log bytes.Buffer
	cfg := Config{Settings: hooked("http://127.0.0.1:1/path-secret?token=query-secret")}
	cfg.Webhook.Secret = "hmac-secret"
	cfg.Webhook.Headers = map[string]string{"Authorization": "header-secret"}
	v, _, err := New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	defer v.Close()
	out := v.Verify(t.Context(), execCall(), approval.R2)
	require.True(t, out.Denied)
	require.NotContains(t, out.Reason, "127.0.0.1", "askers are not told where the verifier is")
	all := log.String() + fmt.Sprint(out, v.Test(t.Context()), v.Wants(execCall()))
	require.Contains(t, log.String(), "place=http://127.0.0.1:1")
	require.NotContains(t, all, "-secret")
}

func TestConcurrentUse(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	s := hooked(a.URL)
	s.Webhook.CacheTTL = 1
	v := mustVerifier(t, Config{Settings: s})
	done := make(chan bool)
	for range 8 {
		go func() { done <- v.Verify(context.Background(), execCall(), approval.R1).Denied }()
	}
	for range 8 {
		require.False(t, <-done)
	}
}

func TestEveryMistakeIsNamed(t *testing.T) {
	bad := Settings{
		Enabled: true, FailMode: "maybe", Scope: Scope{Include: []string{"*"}, Exclude: []string{"group:fs", ""}},
		Webhook: Webhook{URL: "ftp://x", Timeout: -1, CacheTTL: 1 << 40, Headers: map[string]string{"a b": "", "Host": "x", "X-OpenClaw-signature": "x", "ok": "secret\r\nX: y"}},
	}
	_, _, err := New(Config{Settings: bad, Agents: map[string]Settings{
		"idle":  {Webhook: Webhook{Secret: "s"}},
		"chat":  {Chat: Chat{Enabled: true, ChatID: "@name"}},
		"chat2": {Chat: Chat{Enabled: true, ChatID: "1", AllowedUserIDs: []string{"007", "-5"}}},
	}}, quiet)
	require.Error(t, err)
	lines := strings.Split(err.Error(), "\n")
	slices.Sort(lines)
	require.Equal(t, []string{
		`agents.chat.tools.verifier.telegram.allowedUserIds: must name the people who may tap: with an empty list no person can answer`,
		`agents.chat.tools.verifier.telegram.chatId: telegram chat "@name" is not a numeric id (a @name can change hands)`,
		`agents.chat2.tools.verifier.telegram.allowedUserIds: takes numeric Telegram user ids, not "-5"`,
		`agents.chat2.tools.verifier.telegram.allowedUserIds: takes numeric Telegram user ids, not "007"`,
		`agents.idle.tools.verifier.webhook: has a secret, headers or cacheTTL, but no url they belong to`,
		`tools.verifier.failMode: must be deny or allow`,
		`tools.verifier.scope: include and exclude contradict each other; use one of them`,
		`tools.verifier.scope: takes exact tool names, not ""`,
		`tools.verifier.scope: takes exact tool names, not "*"`,
		`tools.verifier.scope: takes exact tool names, not "group:fs"`,
		`tools.verifier.webhook.cacheTTL: must be 1 to 86400 seconds, or 0 for the default`,
		`tools.verifier.webhook.headers: "a b" is not the name of a header`,
		`tools.verifier.webhook.headers: Host is set by the desk itself`,
		`tools.verifier.webhook.headers: X-OpenClaw-signature is set by the desk itself`,
		`tools.verifier.webhook.headers: the value of ok has a line break or another control character`,
		`tools.verifier.webhook.timeout: must be 1 to 3600 seconds, or 0 for the default`,
		`tools.verifier.webhook.url: must be an https address`,
	}, lines)

	for _, s := range []Settings{{Enabled: true}, hooked("https://u:p@x.test"), hooked("https://x.test/#a"), hooked("https://"), hooked("x.test"), hooked("https:x.test"), hooked("https://x\x7f")} {
		_, _, err := New(Config{Settings: s}, quiet)
		require.Error(t, err, s.Webhook.URL)
		require.NotContains(t, err.Error(), "u:p")
	}
}

func TestResponseHeadersAreBounded(t *testing.T) {
	a := newAuthority(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 64 {
			w.Header().Set(fmt.Sprintf("X-Filler-%d", i), strings.Repeat("x", 1<<10))
		}
		_, _ = io.WriteString(w, `{"decision":"allow"}`)
	})
	v := mustVerifier(t, Config{Settings: hooked(a.URL)})
	require.True(t, v.Verify(t.Context(), execCall(), approval.R2).Denied)
}
