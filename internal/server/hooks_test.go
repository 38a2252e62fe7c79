package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/hook"
)

const claudePre = "/hooks/claude-code/PreToolUse"

// claudeBody is a PreToolUse body of Claude Code for a tool.
func claudeBody(tool, input, session, id string) string {
	return fmt.Sprintf(`{"session_id":%q,"cwd":"/work/app","hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s,"tool_use_id":%q,"effort":{"level":"high"}}`,
		session, tool, input, id)
}

func qwenBody(tool, input, session, id string) string {
	return strings.Replace(claudeBody(tool, input, session, id), "tool_use_id", "tool_call_id", 1)
}

// hookDecision is what a Claude-shaped answer says.
func hookDecision(t testing.TB, r reply) (allow bool, why string) {
	t.Helper()
	require.Equal(t, http.StatusOK, r.StatusCode, r.text)
	require.Equal(t, "application/json", r.Header.Get("Content-Type"))
	var a struct {
		HookSpecificOutput struct {
			HookEventName, PermissionDecision, PermissionDecisionReason string
			Decision                                                    struct{ Behavior, Message string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.text), &a))
	out := a.HookSpecificOutput
	switch out.HookEventName {
	case "PreToolUse":
		require.Contains(t, []string{"allow", "deny"}, out.PermissionDecision, r.text)
		require.NotEmpty(t, out.PermissionDecisionReason)
		return out.PermissionDecision == "allow", out.PermissionDecisionReason
	case "PermissionRequest":
		require.Contains(t, []string{"allow", "deny"}, out.Decision.Behavior, r.text)
		return out.Decision.Behavior == "allow", out.Decision.Message
	}
	require.Fail(t, "not a decision", r.text)
	return false, ""
}

func denies(t testing.TB, r reply, why string) {
	t.Helper()
	allow, got := hookDecision(t, r)
	require.False(t, allow, r.text)
	require.Contains(t, got, why)
}

// the is the one approval there is with that id.
func (d *desk) the(id string) api.Approval {
	d.t.Helper()
	a, err := d.agent.Get(d.t.Context(), id, 0)
	require.NoError(d.t, err)
	return a
}

func (d *desk) rule(id string, as api.Decision) {
	d.t.Helper()
	_, err := d.alice.Resolve(d.t.Context(), id, api.ResolveRequest{Decision: as, Reason: "use staging"})
	require.NoError(d.t, err)
}

// What policy answers is answered at once, and claimed before it is allowed; what the
// body says is where an approval has it.
func TestHook_Policy(t *testing.T) {
	d := newDesk(t)
	r := d.do("POST", claudePre, "agent", claudeBody("read", `{"file":"a"}`, "s1", "toolu_1"))
	allow, why := hookDecision(t, r)
	require.True(t, allow)
	require.Equal(t, "allowed by policy", why)
	a := d.the("toolu_1")
	require.Equal(t, "s1", a.SessionKey)
	require.Equal(t, "/work/app", *a.Bind.Workdir)
	require.NotZero(t, a.ClaimedAtMs)

	denies(t, d.do("POST", claudePre, "agent", claudeBody("rm", `{}`, "s1", "toolu_2")), "denied by policy: never")
	for path, want := range map[string]string{
		"/hooks/claude/PermissionRequest": `"behavior":"allow"`, "/hooks/copilot/preToolUse": `{"permissionDecision":"allow"}`,
		"/hooks/copilot-cli/permissionRequest": `{"behavior":"allow"}`, "/hooks/copilot/PermissionRequest": `{"behavior":"allow"}`,
		"/hooks/Copilot/PreToolUse": `"permissionDecision":"allow"`, "/hooks/qwen/PreToolUse": `"permissionDecision":"allow"`,
	} {
		body := claudeBody("read", `{}`, "s", "")
		switch {
		case strings.HasSuffix(path, "preToolUse"):
			body = `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"read","toolArgs":{}}`
		case strings.Contains(strings.ToLower(path), "copilot") && strings.HasSuffix(path, "Request"):
			body = `{"hookName":"permissionRequest","sessionId":"s","timestamp":1,"cwd":"/w","toolName":"read","toolInput":{}}`
		case strings.HasSuffix(path, "Request"):
			body = strings.Replace(body, "PreToolUse", "PermissionRequest", 1)
		}
		r := d.do("POST", path, "agent", body)
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, r.text, want, path)
	}
}

// Whatever goes wrong is a 200 with the deny of that event, in that event's own words.
func TestAdversary_H2_EveryFailureIsTheDialectsDeny(t *testing.T) {
	d := newDesk(t)
	good := claudeBody("read", `{}`, "s", "")
	for name, c := range map[string]struct {
		as, query, body string
		headers         []string
		why             string
	}{
		"no token":            {"", "", good, nil, "API token"},
		"bad token":           {"nobody", "", good, nil, "desk does not know"},
		"no right":            {"auditor", "", good, nil, "approvals.request"},
		"no body":             {"agent", "", "", nil, "not a JSON object"},
		"not JSON":            {"agent", "", "hello", nil, "not a JSON object"},
		"another event":       {"agent", "", strings.Replace(good, "PreToolUse", "Stop", 1), nil, "another runtime or event"},
		"another runtime":     {"agent", "", `{"toolName":"read","toolArgs":{}}`, nil, "another runtime or event"},
		"2 MB of padding":     {"agent", "", good + strings.Repeat(" ", 2<<20), nil, "larger than"},
		"10 MB of input":      {"agent", "", claudeBody("read", `{"x":"`+strings.Repeat("x", 10<<20)+`"}`, "s", ""), nil, "larger than"},
		"coded":               {"agent", "", good, []string{"Content-Encoding", "gzip"}, "Content-Encoding"},
		"another type":        {"agent", "", good, []string{"Content-Type", "image/png"}, "application/json"},
		"a bad tool":          {"agent", "", claudeBody("no tool", `{}`, "s", ""), nil, "toolName"},
		"a bad number":        {"agent", "", claudeBody("read", `{"n":9007199254740993}`, "s", ""), nil, "canonical form"},
		"an unknown query":    {"agent", "?wait=1s", good, nil, "is not a parameter"},
		"a bad limit":         {"agent", "?limit=-1s", good, nil, "must be a duration"},
		"a long session":      {"agent", "", claudeBody("read", `{}`, strings.Repeat("s", 300), ""), nil, "sessionKey"},
		"the padding unasked": {"", "", good + strings.Repeat(" ", 2<<20), nil, "API token"},
	} {
		t.Run(name, func(t *testing.T) {
			r := d.do("POST", claudePre+c.query, c.as, c.body, c.headers...)
			denies(t, r, c.why)
			require.NotContains(t, r.text, secretOf("agent"))
			r = d.do("POST", "/hooks/copilot/permissionRequest"+c.query, c.as, c.body, c.headers...)
			require.Equal(t, 200, r.StatusCode)
			require.Regexp(t, `"(behavior|permissionDecision)":"deny"`, r.text, "in the words of the event whose body it is")
		})
	}
	d.rules.Enabled = false
	d.gate.Use(d.rules)
	denies(t, d.do("POST", claudePre, "agent", good), "approvals disabled")
	for _, rt := range hook.Runtimes() {
		for _, e := range rt.Events {
			r := d.do("POST", "/hooks/"+rt.Name+"/"+e.Name, "nobody", "{}")
			if !e.HTTP {
				require.Equal(t, 404, r.StatusCode, e.Name)
				continue
			}
			require.Equal(t, 200, r.StatusCode)
			if e.Phase == hook.After { // it decides nothing
				require.Contains(t, r.text, "approvalbot gave no decision")
				continue
			}
			require.Regexp(t, `"(deny|block)"`, r.text)
		}
	}
	for _, path := range []string{"/hooks/claude-code/pretooluse", "/hooks/claude-code/Stop", "/hooks/nobody/PreToolUse", "/hooks/claude-code", "/hooks/codex/PreToolUse"} {
		require.Equal(t, 404, d.do("POST", path, "agent", good).StatusCode, path)
	}
	require.Equal(t, 405, d.do("GET", claudePre, "agent", "").StatusCode)
}

func TestAdversary_H2_ThePaceAndAPanicDeny(t *testing.T) {
	d := newDesk(t)
	tokens := testTokens()
	tokens[0].RequestsPerSecond = 1
	require.NoError(t, d.srv.Tokens.Use(tokens))
	body := claudeBody("read", `{}`, "s", "")
	for range 3 {
		d.do("POST", claudePre, "agent", body)
	}
	denies(t, d.do("POST", claudePre, "agent", body), "slow down")
	d.srv.gate = nil // whatever is asked of it panics
	r := d.do("POST", claudePre, "other", body)
	denies(t, r, "cannot answer this request")
	require.Contains(t, d.logs.String(), `"panic":`)
}

// A person's yes and no reach the model with their words; what was waited for is
// claimed.
func TestHook_People(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		yes := d.begin(t.Context(), "POST", claudePre+"?limit=24h", "agent", claudeBody("ask", `{"a":1}`, "s", "toolu_1"))
		time.Sleep(10 * time.Minute) // longer than any one wait
		require.False(t, yes.done.Load())
		d.rule("toolu_1", api.AllowOnce)
		synctest.Wait()
		allow, why := hookDecision(t, yes.r)
		require.True(t, allow)
		require.Equal(t, "allowed by alice: use staging", why)
		require.NotZero(t, d.the("toolu_1").ClaimedAtMs)
		no := d.begin(t.Context(), "POST", claudePre, "agent", claudeBody("ask", `{"a":2}`, "s", "toolu_2"))
		d.rule("toolu_2", api.Deny)
		synctest.Wait()
		denies(t, no.r, "denied by alice: use staging")

		// The result.
		post := strings.Replace(claudeBody("ask", `{"a":1}`, "s", "toolu_1"), "PreToolUse", "PostToolUse", 1)
		for _, id := range []string{"toolu_1", "toolu_1", "toolu_2", "toolu_3", ""} { // again, denied, never seen, not named
			r := d.do("POST", "/hooks/claude/PostToolUse", "agent", strings.Replace(post, "toolu_1", id, 1))
			require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, r.text, id)
		}
		require.Equal(t, "succeeded", d.the("toolu_1").Result.Status)
		require.Contains(t, d.do("POST", "/hooks/claude/PostToolUse", "nobody", post).text, `"decision":"block"`)
	})
}

// Before the runtime's limit the answer names the approval, the same call joins it, and
// takes it once when a person has allowed it meanwhile.
func TestHook_ShortLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		const path = "/hooks/qwen/PreToolUse"
		ask := func(id, session string) *asked {
			return d.begin(t.Context(), "POST", path+"?limit=24h", "agent", qwenBody("ask", `{"a":1}`, session, id))
		}
		first := ask("c1", "s")
		time.Sleep(54 * time.Second)
		synctest.Wait()
		require.False(t, first.done.Load())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		a := d.the("c1")
		require.Equal(t, api.Pending, a.Status)
		denies(t, first.r, "waiting for approval "+a.Code+"; make the same call again")

		joined := ask("c2", "s")
		require.False(t, joined.done.Load())
		time.Sleep(time.Minute)
		synctest.Wait()
		denies(t, joined.r, "waiting for approval "+a.Code)
		d.rule(a.ID, api.AllowOnce)
		stranger := ask("c3", "another")
		require.False(t, stranger.done.Load(), "another session asks by itself")
		taken := ask("c4", "s")
		allow, why := hookDecision(t, taken.r)
		require.True(t, allow)
		require.Equal(t, "allowed by alice: use staging", why)
		require.Equal(t, a.Code, d.the("c4").Code, "its own id finds it")
		again := ask("c5", "s")
		require.False(t, again.done.Load(), "an approval is taken once")
		time.Sleep(time.Minute)
		synctest.Wait()
		denies(t, again.r, "waiting for approval "+d.the("c5").Code)
		require.NotEqual(t, a.Code, d.the("c5").Code)

		// Too late to claim it: asked anew.
		d.rule("c5", api.AllowOnce)
		time.Sleep(6 * time.Minute)
		synctest.Wait()
		late := ask("c6", "s")
		require.False(t, late.done.Load())
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NotEqual(t, d.the("c5").Code, d.the("c6").Code)

		// Without a session nobody could ask for it again.
		alone := d.begin(t.Context(), "POST", path, "agent", strings.Replace(qwenBody("ask", `{"a":2}`, "", "c7"), `"session_id":"",`, "", 1))
		time.Sleep(time.Minute)
		synctest.Wait()
		allow, _ = hookDecision(t, alone.r)
		require.False(t, allow)
		require.Contains(t, []api.Status{api.Withdrawn, api.Expired}, d.the("c7").Status)
	})
}

// While a no still counts, the same call again gets it at once and makes one record, of
// its own id.
func TestHook_ANoThatStillCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ask := func(id string) *asked {
			return d.begin(t.Context(), "POST", "/hooks/qwen/PreToolUse", "agent", qwenBody("ask", `{"a":1}`, "s", id))
		}
		first := ask("c1")
		synctest.Wait()
		d.rule("c1", api.Deny)
		synctest.Wait()
		denies(t, first.r, "denied by alice")
		second := ask("c2")
		synctest.Wait()
		require.True(t, second.done.Load())
		allow, _ := hookDecision(t, second.r)
		require.False(t, allow)
		require.Equal(t, api.Denied, d.the("c2").Status)
		all, err := d.store.List(t.Context(), core.Filter{Limit: 10})
		require.NoError(t, err)
		require.Len(t, all.Items, 2)
	})
}

// A yes that nobody has used is not for whom it was not, nor for what policy has become
// stricter about.
func TestResume(t *testing.T) {
	d := newDesk(t)
	resume := func(c *api.Client, more ...func(*api.CreateRequest)) (api.Approval, error) {
		return c.Create(t.Context(), request("ask", `{"a":1}`, more...), api.CreateOptions{Claim: true, Resume: true})
	}
	fresh := func(a api.Approval, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, api.Pending, a.Status)
		_, err = (&api.Client{Server: d.agent.Server, Token: secretOf(a.Owner), HTTP: d.agent.HTTP}).Withdraw(t.Context(), a.ID, api.WithdrawRequest{})
		require.NoError(t, err)
	}
	d.allow(`{"a":1}`, inSession("s"))
	fresh(resume(d.agent))
	fresh(resume(d.agent, inSession("t")))
	fresh(resume(d.other, inSession("s")))
	fresh(resume(d.agent, inSession("s"), func(r *api.CreateRequest) { r.AgentID = "x" }))
	fresh(resume(d.agent, inSession("s"), func(r *api.CreateRequest) { r.Bind = &api.Bind{Workdir: new("/w")} }))
	fresh(resume(d.agent, inSession("s"), func(r *api.CreateRequest) { r.Requester = &api.Requester{Person: "alice"} }))
	fresh(d.agent.Create(t.Context(), request("ask", `{"a":1}`, inSession("s")), api.CreateOptions{Claim: true}))
	d.judge.change("ask", func(j *approval.Judgement) { j.Assessment.RiskClass = approval.R4 })
	fresh(resume(d.agent, inSession("s")))
	d.judge.change("ask", func(j *approval.Judgement) { j.Assessment.RiskClass = approval.R3; j.Rule.MinApprovals = 2 })
	fresh(resume(d.agent, inSession("s")))
	d.judge.change("ask", func(j *approval.Judgement) { j.Rule.MinApprovals = 1 })
	got, err := resume(d.agent, inSession("s"))
	require.NoError(t, err)
	require.NotNil(t, got.Claim)
	fresh(resume(d.agent, inSession("s")))

	d.judge.change("ask", func(j *approval.Judgement) { j.Outcome = approval.OutcomeAllow })
	require.Equal(t, api.Approved, d.ask("ask", `{"a":1}`, inSession("s")).Status)
	d.judge.change("ask", func(j *approval.Judgement) { j.Outcome = approval.OutcomeAsk })
	fresh(resume(d.agent, inSession("s"))) // what policy allowed then, it does not now

	revoked := d.allow(`{"a":1}`, inSession("s"))
	_, err = d.alice.Revoke(t.Context(), revoked.ID, api.RevokeRequest{})
	require.NoError(t, err)
	fresh(resume(d.agent, inSession("s")))
	_, err = d.agent.Create(t.Context(), request("ask", `{}`), api.CreateOptions{})
	require.NoError(t, err)
	require.Equal(t, 422, d.do("POST", "/v1/approvals?resume=1", "agent", `{"toolName":"ask","params":{}}`).StatusCode)
	d.judge.turn("ask")
	d.judge.change("ask", func(j *approval.Judgement) { j.Outcome = approval.OutcomeAsk })
	d.allow(`{"a":1}`, inSession("s"))
	d.judge.turn("ask")
	denied, err := resume(d.agent, inSession("s"))
	require.NoError(t, err)
	require.Equal(t, api.Denied, denied.Status)
}

// A call's id that was used before, in this session or another, names another call: no
// yes is used twice, and none by another session.
func TestAdversary_H6_AnIDThatComesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		ask := func(input, session string) *asked {
			return d.begin(t.Context(), "POST", claudePre+"?limit=60s", "agent", claudeBody("ask", input, session, "call_1"))
		}
		one, twin := ask(`{"a":1}`, "s"), ask(`{"a":1}`, "s")
		other := ask(`{"a":1}`, "o")
		d.rule("call_1", api.AllowOnce)
		synctest.Wait()
		require.False(t, other.done.Load(), "a yes for one session is none for another")
		synctest.Wait()
		for _, a := range []*asked{one, twin} { // two hooks for one call
			allow, _ := hookDecision(t, a.r)
			require.True(t, allow)
		}
		for _, next := range []*asked{ask(`{"a":1}`, "s"), ask(`{"a":1}`, "t"), ask(`{"a":2}`, "s")} {
			require.False(t, next.done.Load(), "it is asked anew")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		pending, err := d.agent.List(t.Context(), api.Filter{Status: api.Pending})
		require.NoError(t, err)
		require.Len(t, pending.Items, 4)
		for _, a := range pending.Items {
			d.rule(a.ID, api.Deny)
		}
		refused := d.begin(t.Context(), "POST", claudePre, "agent", claudeBody("ask", `{"a":3}`, "s", "call_2"))
		d.rule("call_2", api.Deny)
		synctest.Wait()
		denies(t, refused.r, "denied by alice")
		time.Sleep(time.Hour) // longer than the cool-down
		again := d.begin(t.Context(), "POST", claudePre+"?limit=60s", "agent", claudeBody("ask", `{"a":3}`, "s", "call_2"))
		require.False(t, again.done.Load(), "a deny of then is not one of now")
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}

// Two calls that are the same and name no id have one approval, and it runs one of them.
func TestHook_TwiceInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		body := strings.Replace(claudeBody("ask", `{"a":1}`, "s", ""), "PreToolUse", "PermissionRequest", 1)
		one := d.begin(t.Context(), "POST", "/hooks/claude/PermissionRequest", "agent", body)
		two := d.begin(t.Context(), "POST", "/hooks/claude/PermissionRequest", "agent", body)
		pending, err := d.agent.List(t.Context(), api.Filter{Status: api.Pending})
		require.NoError(t, err)
		require.Len(t, pending.Items, 1)
		d.rule(pending.Items[0].ID, api.AllowOnce)
		synctest.Wait()
		allowed := 0
		for _, a := range []*asked{one, two} {
			if allow, why := hookDecision(t, a.r); allow {
				allowed++
			} else {
				require.Contains(t, why, "claimed before")
			}
		}
		require.Equal(t, 1, allowed)
	})
}

// A yes in the terminal closes no connection: the card goes when the call has run, and no
// card of another call or session goes with it.
func TestHook_ACallThatHasRunNeedsNoYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		event := func(name, session, input string) string {
			body := strings.Replace(claudeBody("ask", input, session, "toolu_1"), "PreToolUse", name, 1)
			return strings.Replace(body, `"effort"`, `"prompt_id":"p","effort"`, 1)
		}
		var dialogs []*asked
		for _, of := range [][2]string{{"s", `{"a":1}`}, {"s", `{"a":2}`}, {"t", `{"a":1}`}} {
			dialogs = append(dialogs, d.begin(t.Context(), "POST", "/hooks/claude/PermissionRequest", "agent", event("PermissionRequest", of[0], of[1])))
		}
		ran := d.begin(t.Context(), "POST", "/hooks/claude/PostToolUse", "agent", event("PostToolUse", "s", `{"a":1}`))
		synctest.Wait()
		require.True(t, ran.done.Load())
		denies(t, dialogs[0].r, "withdrawn")
		pending, err := d.agent.List(t.Context(), api.Filter{Status: api.Pending})
		require.NoError(t, err)
		require.Len(t, pending.Items, 2)
		for _, a := range pending.Items {
			d.rule(a.ID, api.AllowOnce)
		}
		synctest.Wait()
		for _, a := range dialogs[1:] {
			allow, why := hookDecision(t, a.r)
			require.True(t, allow, why)
		}
		ran = d.begin(t.Context(), "POST", "/hooks/claude/PostToolUse", "agent", event("PostToolUse", "s", `{"a":2}`))
		synctest.Wait()
		require.True(t, ran.done.Load())
		for _, a := range pending.Items {
			require.Equal(t, a.SessionKey == "s", d.the(a.ID).Result != nil, "the call that ran has a result")
		}
	})
}

// Who answers in the terminal, presses Esc or goes closes the connection: the card is
// withdrawn.
func TestAdversary_H4_AClosedConnectionWithdraws(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	ctx, hangUp := context.WithCancel(t.Context())
	body := claudeBody("ask", `{"a":1}`, "s", "toolu_1")
	ended := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://"+addr+claudePre, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+secretOf("agent"))
		_, err := http.DefaultClient.Do(req)
		ended <- err
	}()
	d.untilWaiting()
	hangUp()
	require.Error(t, <-ended)
	require.Eventually(t, func() bool { return d.the("toolu_1").Status == api.Withdrawn }, time.Minute, time.Millisecond)
}

// A desk that stops denies, and keeps what a repeated call can come back to.
func TestAdversary_H2_AStoppingDeskDenies(t *testing.T) {
	d := newDesk(t)
	addr, stop := d.serving(d.srv)
	send := func(session, id string) *bufio.Reader {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { conn.Close() })
		body := claudeBody("ask", `{"a":1}`, session, id)
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", claudePre, secretOf("agent"), len(body), body)
		return bufio.NewReader(conn)
	}
	kept, alone := send("s", "toolu_1"), send("", "toolu_2")
	d.untilMetrics("approvalbot_waiting_requests 2")
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	read := func(b *bufio.Reader) reply {
		res, err := http.ReadResponse(b, nil)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return reply{res, string(text)}
	}
	denies(t, read(kept), "make the same call again")
	denies(t, read(alone), "is stopping")
	require.NoError(t, <-stopped)
	require.Equal(t, api.Pending, d.the("toolu_1").Status)
	require.Equal(t, api.Withdrawn, d.the("toolu_2").Status)
}

// A client that is still sending when its request is refused reads the deny all the
// same: a broken connection would run the call.
func TestAdversary_H2_PaddingIsReadBeforeTheDeny(t *testing.T) {
	d := newDesk(t)
	addr, _ := d.serving(d.srv)
	for _, as := range []string{"agent", "nobody"} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		const size = 24 << 20 // more than any buffer on the way
		head := "POST %s HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n"
		fmt.Fprintf(conn, head, claudePre, secretOf(as), size)
		chunk := []byte(strings.Repeat(" ", 1<<20))
		for range size / len(chunk) {
			_, err := conn.Write(chunk)
			require.NoError(t, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		allow, _ := hookDecision(t, reply{res, string(text)})
		require.False(t, allow)
	}
}

// A hook waits for as long as its runtime does: nothing on the way cuts it off.
func TestHook_LongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		l := d.piped(d.srv)
		answer := make(chan string, 1)
		body := claudeBody("ask", `{"a":1}`, "s", "toolu_1")
		go func() {
			_, text := l.ask(t, "192.0.2.1", fmt.Sprintf("POST %s?limit=24h HTTP/1.1\r\nHost: desk\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
				claudePre, secretOf("agent"), len(body), body))
			answer <- text
		}()
		time.Sleep(14 * time.Minute)
		synctest.Wait()
		d.rule("toolu_1", api.AllowOnce)
		require.Contains(t, <-answer, `"allowed by alice: use staging"`)
	})
}

// A URL that names another event than the body is denied in the words of the event that
// came: any others run the call.
func TestAdversary_H1_AURLOfAnotherEventDeniesInTheEventsOwnWords(t *testing.T) {
	d := newDesk(t)
	asked := `{"hookName":"permissionRequest","sessionId":"s","cwd":"/w","toolName":"read","toolInput":{}}`
	for path, want := range map[string]string{"preToolUse": `"behavior":"deny"`, "PreToolUse": `"behavior":"deny"`} {
		r := d.do("POST", "/hooks/copilot-cli/"+path, "agent", asked)
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, r.text, want)
	}
	r := d.do("POST", "/hooks/copilot-cli/permissionRequest", "agent", `{"sessionId":"s","cwd":"/w","toolName":"read","toolArgs":{}}`)
	require.Contains(t, r.text, `"permissionDecision":"deny"`)
}
