package verifier

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

// drip is a body that gives one byte a second, and ends with its request.
type drip struct {
	ctx  context.Context
	left string
}

func (d *drip) Read(p []byte) (int, error) {
	select {
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	case <-time.After(time.Second):
	}
	if d.left == "" {
		return 0, io.EOF
	}
	p[0], d.left = d.left[0], d.left[1:]
	return 1, nil
}

func (d *drip) Close() error { return nil }

func bothModes(t *testing.T, url, what string) {
	t.Helper()
	for _, mode := range []string{"", "deny", "allow"} {
		v := mustVerifier(t, Config{Settings: Settings{Enabled: true, FailMode: mode, Webhook: Webhook{URL: url}}})
		out := v.Verify(t.Context(), execCall(), approval.R2)
		require.Equal(t, mode != "allow", out.Denied, "%s, failMode %q", what, mode)
		require.Equal(t, mode == "allow", out.Open, "%s, failMode %q", what, mode)
		require.Equal(t, mode == "allow", out.Reason == "", what)
	}
}

func TestAdversary_W8_WhatIsNoAnswerIsDecidedByFailMode(t *testing.T) {
	allow := `{"decision":"allow"}`
	for what, answer := range map[string]http.HandlerFunc{
		"garbage":             says(200, "<html>ok</html>"),
		"nothing":             says(200, ""),
		"no content":          says(204, ""),
		"null":                says(200, "null"),
		"text":                says(200, `"allow"`),
		"list":                says(200, `[{"decision":"allow"}]`),
		"empty object":        says(200, `{}`),
		"unknown decision":    says(200, `{"decision":"ALLOW"}`),
		"other member's case": says(200, `{"Decision":"allow"}`),
		"decision of a type":  says(200, `{"decision":true}`),
		"decision null":       says(200, `{"decision":null}`),
		"reason of a type":    says(200, `{"decision":"allow","reason":{}}`),
		"twice":               says(200, `{"decision":"deny","decision":"allow"}`),
		"twice within":        says(200, `{"decision":"allow","x":{"a":1,"a":2}}`),
		"trailing":            says(200, allow+allow),
		"trailing text":       says(200, allow+" trust me"),
		"not UTF-8":           says(200, "{\"decision\":\"allow\",\"reason\":\"\xff\"}"),
		"64 KiB and one":      says(200, allow+strings.Repeat(" ", 64<<10+1-len(allow))),
		"10 MB":               says(200, `{"decision":"allow","reason":"`+strings.Repeat("x", 10<<20)+`"}`),
		"allow with a 500":    says(500, allow),
		"allow with a 404":    says(404, allow),
		"allow with a 304":    says(304, ""),
		"broken off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, allow)
		},
		"hangs up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = io.WriteString(w, "\x1f\x8b\x08\x00")
		},
	} {
		bothModes(t, newAuthority(t, answer).URL, what)
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	bothModes(t, gone.URL, "nobody there")
}

func TestAdversary_W8_ExactlySixtyFourKiBIsAnAnswer(t *testing.T) {
	allow := `{"decision":"allow"}`
	a := newAuthority(t, says(201, allow+strings.Repeat(" ", 64<<10-len(allow))))
	v := mustVerifier(t, Config{Settings: hooked(a.URL)})
	require.False(t, v.Verify(t.Context(), execCall(), approval.R2).Denied)
}

func TestAdversary_W8_NoRedirectIsFollowed(t *testing.T) {
	elsewhere := newAuthority(t, says(200, `{"decision":"allow"}`))
	for _, status := range []int{301, 302, 303, 307, 308} {
		bothModes(t, newAuthority(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, status)
		}).URL, fmt.Sprint(status))
	}
	require.Zero(t, elsewhere.asked())
}

func TestAdversary_W8_SlowDripEndsAtTheTimeout(t *testing.T) {
	for _, mode := range []string{"deny", "allow"} {
		for name, answer := range map[string]tripper{
			"drip": func(r *http.Request) (*http.Response, error) {
				res := response(r, 200, "")
				res.Body = &drip{r.Context(), `{"decision":"allow"}`}
				return res, nil
			},
			"silence": silent,
		} {
			synctest.Test(t, func(t *testing.T) {
				v, _, err := newVerifier(Config{Settings: Settings{Enabled: true, FailMode: mode, Webhook: Webhook{URL: "https://v.test", Timeout: 7}}}, quiet, answer)
				require.NoError(t, err)
				start := time.Now()
				out := v.Verify(t.Context(), execCall(), approval.R2)
				require.Equal(t, 7*time.Second, time.Since(start), name)
				require.Equal(t, mode == "deny", out.Denied)
				require.Equal(t, "webhook-timeout", out.Steps[0].Rule)
			})
		}
	}
}

// An asker that hangs up does not get past the verifier by it.
func TestAdversary_W8_GivingUpNeverFailsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, _, err := newVerifier(Config{Settings: Settings{Enabled: true, FailMode: "allow", Webhook: Webhook{URL: "https://v.test"}}}, quiet, tripper(silent))
		require.NoError(t, err)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		out := v.Verify(short, execCall(), approval.R2)
		require.True(t, out.Denied)
		require.False(t, out.Open)
		gone, hangUp := context.WithCancel(t.Context())
		hangUp()
		require.True(t, v.Verify(gone, execCall(), approval.R2).Denied)
	})
}

func TestAdversary_W8_UnreadableParamsNeverPass(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	for _, params := range []string{``, `null`, `[]`, `{"a":1,"a":2}`, `{} {}`, `{`, "{\"a\":\"\xff\"}"} {
		v := mustVerifier(t, Config{Settings: Settings{Enabled: true, FailMode: "allow", Webhook: Webhook{URL: a.URL}}})
		call := execCall()
		call.Params = []byte(params)
		require.True(t, v.Verify(t.Context(), call, approval.R0).Denied, params)
	}
	require.Zero(t, a.asked())
}

func TestAdversary_W8_HTTPIsRefusedInProduction(t *testing.T) {
	a := newAuthority(t, says(200, `{"decision":"allow"}`))
	for _, cfg := range []Config{
		{Settings: hooked(a.URL), Production: true},
		{Settings: hooked("https://v.test"), Agents: map[string]Settings{"main": {Webhook: Webhook{URL: a.URL}}}, Production: true},
	} {
		_, _, err := New(cfg, quiet)
		require.ErrorContains(t, err, "webhook.url: must be https in production")
	}
	_, warnings, err := New(Config{Settings: hooked(a.URL)}, quiet)
	require.NoError(t, err)
	require.Equal(t, []string{"tools.verifier.webhook.url: http is for development only: any machine on the way could answer"}, warnings)
	_, _, err = NewClassifier(ClassifierConfig{Model: "m", APIURL: a.URL, Production: true}, quiet)
	require.ErrorContains(t, err, "must be https in production")
}

func TestAdversary_W8_AnUntrustedCertificateIsNoAnswer(t *testing.T) {
	a := httptest.NewUnstartedServer(says(200, `{"decision":"allow"}`))
	a.Config.ErrorLog = log.New(io.Discard, "", 0)
	a.StartTLS()
	defer a.Close()
	bothModes(t, a.URL, "unknown authority")

	v, warnings, err := newVerifier(Config{Settings: hooked(a.URL), Production: true}, quiet, a.Client().Transport)
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.False(t, v.Verify(t.Context(), execCall(), approval.R2).Denied)
}

func TestAdversary_W9_TheMostRestrictiveFailModeWins(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		all, own string
		open     bool
	}{
		{"", "", false}, {"", "allow", false}, {"", "deny", false},
		{"deny", "", false}, {"deny", "allow", false}, {"deny", "deny", false},
		{"allow", "", true}, {"allow", "allow", true}, {"allow", "deny", false},
	} {
		s := hooked(gone.URL)
		s.FailMode = c.all
		v := mustVerifier(t, Config{Settings: s, Agents: map[string]Settings{"main": {FailMode: c.own}}})
		out := v.Verify(t.Context(), execCall(), approval.R2)
		require.Equal(t, c.open, out.Open, "%+v", c)
		require.Equal(t, !c.open, out.Denied, "%+v", c)
	}
	_, warnings, err := New(Config{Settings: hooked("https://v.test"), Agents: map[string]Settings{"main": {FailMode: "allow"}}}, quiet)
	require.NoError(t, err)
	require.Contains(t, warnings, "agents.main.tools.verifier.failMode: allow has no effect: tools.verifier.failMode is deny, and the most restrictive counts")
}

func TestAdversary_W9_AnAgentsWebhookIsAskedBesideTheCommonOne(t *testing.T) {
	common, own := newAuthority(t, says(200, `{"decision":"deny","reason":"common"}`)), newAuthority(t, says(200, `{"decision":"allow"}`))
	v := mustVerifier(t, Config{Settings: hooked(common.URL), Agents: map[string]Settings{
		"main": {Enabled: true, Webhook: Webhook{URL: own.URL}},
	}})
	out := v.Verify(t.Context(), execCall(), approval.R2)
	require.True(t, out.Denied)
	require.Equal(t, "common", out.Reason)
	require.Zero(t, own.asked())

	v = mustVerifier(t, Config{Settings: hooked(own.URL), Agents: map[string]Settings{"main": {Webhook: Webhook{URL: common.URL}}}})
	require.True(t, v.Verify(t.Context(), execCall(), approval.R2).Denied)
	require.Equal(t, 1, own.asked())
}

func TestAdversary_W9_AnAgentsScopeOnlyAdds(t *testing.T) {
	s := hooked("https://v.test")
	s.Scope = Scope{Include: []string{"exec"}}
	for name, c := range map[string]struct {
		all, own Settings
		want     []string
	}{
		"no scope of its own":         {s, Settings{Enabled: true}, []string{"exec"}},
		"another tool":                {s, Settings{Scope: Scope{Include: []string{"write"}}}, []string{"exec", "write"}},
		"excluding what is included":  {s, Settings{Scope: Scope{Exclude: []string{"exec"}}}, []string{"exec", "read", "write"}},
		"enabled for the agent alone": {Settings{Webhook: s.Webhook}, Settings{Enabled: true}, []string{"exec", "read", "write"}},
		"not enabled at all":          {Settings{Webhook: s.Webhook}, Settings{Scope: s.Scope}, nil},
		"its scope where common is off": {Settings{Webhook: s.Webhook}, Settings{Enabled: true, Scope: Scope{Include: []string{"read"}}},
			[]string{"read"}},
	} {
		v := mustVerifier(t, Config{Settings: c.all, Agents: map[string]Settings{"main": c.own}})
		var got []string
		for _, tool := range []string{"exec", "read", "write"} {
			if v.Wants(approval.Call{ToolName: tool, AgentID: "main"}).Asked {
				got = append(got, tool)
			}
		}
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.all.Enabled, v.Wants(approval.Call{ToolName: "exec", AgentID: "another"}).Asked, name)
	}
}

func TestAdversary_W9_AnAgentsTimeoutOnlyTightens(t *testing.T) {
	for _, c := range []struct {
		mode      string
		all, own  int
		effective time.Duration
	}{
		{"deny", 0, 0, 30}, {"deny", 20, 5, 5}, {"deny", 20, 50, 20}, {"deny", 0, 50, 30},
		{"allow", 20, 1, 20}, {"allow", 20, 50, 50}, {"allow", 0, 1, 30},
	} {
		s := hooked("https://v.test")
		s.FailMode, s.Webhook.Timeout = c.mode, c.all
		p := planFor(s, Settings{Webhook: Webhook{Timeout: c.own}}, "")
		require.Equal(t, c.effective*time.Second, p.asked[0].timeout, "%+v", c)
	}
}

func TestAdversary_W9_AnAgentsChatOnlyTightens(t *testing.T) {
	all := Settings{Enabled: true, Chat: Chat{Enabled: true, ChatID: "-5", Timeout: 60, AllowedUserIDs: []string{"1", "2"}}}
	wider := all.Chat
	wider.AllowedUserIDs = []string{"1", "3"}
	_, _, err := New(Config{Settings: all, Agents: map[string]Settings{"main": {Chat: wider}}}, quiet)
	require.ErrorContains(t, err, `names "3", whom tools.verifier.telegram does not allow`)
	_, _, err = New(Config{Settings: all, Agents: map[string]Settings{"main": {Chat: Chat{Enabled: true, ChatID: "-6"}}}}, quiet)
	require.ErrorContains(t, err, "telegram.chatId")

	v := mustVerifier(t, Config{Settings: all, Agents: map[string]Settings{
		"main":  {Chat: Chat{Enabled: true, Timeout: 600, AllowedUserIDs: []string{"2"}}},
		"off":   {Chat: Chat{ChatID: "-7", AllowedUserIDs: []string{"9"}}},
		"brief": {Chat: Chat{Enabled: true, Timeout: 6}},
	}})
	got := func(agent string) string {
		p := v.Wants(approval.Call{ToolName: "x", AgentID: agent}).People
		return fmt.Sprint(p.Place, p.Accounts, p.TimeoutMs)
	}
	require.Equal(t, "telegram:-5 [telegram:2] 60000", got("main"))
	require.Equal(t, "telegram:-5 [telegram:1 telegram:2] 60000", got("off"))
	require.Equal(t, "telegram:-5 [telegram:1 telegram:2] 6000", got("brief"))
}

func TestAnAgentMayHaveAChatWhereTheOthersHaveNone(t *testing.T) {
	v := mustVerifier(t, Config{Settings: hooked("https://v.test"), Agents: map[string]Settings{
		"main": {Chat: Chat{Enabled: true, ChatID: "9", AllowedUserIDs: []string{"9"}}},
	}})
	require.Equal(t, []string{"telegram:9"}, v.Wants(execCall()).People.Accounts)
	require.Nil(t, v.Wants(approval.Call{ToolName: "exec", AgentID: "another"}).People)
	_, _, err := New(Config{Agents: map[string]Settings{"main": {Enabled: true}}}, quiet)
	require.EqualError(t, err, "agents.main.tools.verifier: is enabled, but has no service or person to ask: set webhook.url or telegram.enabled")
}

func TestAdversary_W9_NothingInTheCallTurnsTheVerifierOff(t *testing.T) {
	v := mustVerifier(t, Config{Settings: hooked("https://v.test"), Agents: map[string]Settings{"off": {}}})
	for _, agent := range []string{"", "off", "OFF", "unknown"} {
		require.True(t, v.Wants(approval.Call{ToolName: "exec", AgentID: agent}).Asked, agent)
	}
}
