package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook"
	"approvalbot/internal/hook/install"
)

// hookBody is what Claude Code sends before it publishes a package.
const hookBody = `{"session_id":"s1","cwd":"/work","hook_event_name":"PreToolUse","tool_name":"Bash",` +
	`"tool_input":{"command":"npm publish","description":"ship it"},"tool_use_id":"toolu_1"}`

// hooking is the real program, answering a hook.
type hooking struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

// hookArgs are a hook's words and flags for the rig's desk.
func (r *rig) hookArgs(server string, words ...string) []string {
	r.t.Helper()
	token := filepath.Join(r.t.TempDir(), "token")
	require.NoError(r.t, os.WriteFile(token, []byte(agentSecret+"\n"), 0o600))
	return append([]string{"hook"}, append(words, "--server", server, "--token-file", token)...)
}

func (r *rig) hook(body string, words ...string) *hooking {
	r.t.Helper()
	return r.started(exec.Command("approvalbot", r.hookArgs(r.url, words...)...), body)
}

func (r *rig) started(cmd *exec.Cmd, body string) *hooking {
	r.t.Helper()
	h := &hooking{Cmd: cmd}
	h.Stdin, h.Stdout, h.Stderr = strings.NewReader(body), &h.stdout, &h.stderr
	h.Env = append(os.Environ(), "SECRET_IN_THE_ENVIRONMENT=x-secret-y")
	require.NoError(r.t, h.Start())
	r.t.Cleanup(func() { _ = h.Process.Kill(); _ = h.Wait() })
	return h
}

// output waits for the end of the program and gives its exit status and its words.
func (h *hooking) output(t *testing.T) (code int, stdout string) {
	t.Helper()
	_ = h.Wait()
	require.NotContains(t, h.stdout.String()+h.stderr.String(), "x-secret-y")
	require.NotContains(t, h.stdout.String()+h.stderr.String(), agentSecret)
	return h.ProcessState.ExitCode(), h.stdout.String()
}

// askedAs waits until the desk has the approval of that id.
func (r *rig) askedAs(id string) (a api.Approval) {
	r.t.Helper()
	agent, ctx := r.agent(), r.ctx()
	require.Eventually(r.t, func() bool {
		var err error
		a, err = agent.Get(ctx, id, 0)
		return err == nil
	}, patient, 5*time.Millisecond)
	return a
}

// A tap in a chat lets a call of Claude Code run, or keeps it from running, and its
// model reads who it was. The desk may be started again meanwhile.
func TestHookFlow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	yes := r.hook(hookBody, "claude-code", "PreToolUse", "--limit", "1h")
	a := r.askedAs("toolu_1")
	require.Equal(t, "s1", a.SessionKey)
	require.Equal(t, "ship it", a.Justification)
	card := r.card(a)
	require.Contains(t, card.Text, "npm publish")
	r.stop()
	r.start()
	require.Contains(t, r.tap(r.alice, r.group, card.ID, "Allow once").Text, "Allowed. It may run once")
	code, out := yes.output(t)
	require.Zero(t, code)
	require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","permissionDecisionReason":"allowed by alice in Telegram"}}`, out)
	require.NotZero(t, r.get(a).ClaimedAtMs)

	post := r.hook(strings.Replace(hookBody, "PreToolUse", "PostToolUse", 1), "claude-code", "PostToolUse")
	_, out = post.output(t)
	require.JSONEq(t, `{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`, out)
	r.settled(r.group, card.ID, "succeeded")

	no := r.hook(strings.Replace(hookBody, "toolu_1", "toolu_2", 1), "claude-code", "PreToolUse")
	r.tap(r.bob, r.group, r.card(r.askedAs("toolu_2")).ID, "Deny")
	_, out = no.output(t)
	require.Contains(t, out, `"permissionDecision":"deny","permissionDecisionReason":"denied by bob in Telegram`)
}

// With --silent-allow a call that policy allows is left to the runtime's own rules; what a person says is
// said, and so is every deny.
func TestHookFlow_T30_SilentAllow(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	quiet := strings.Replace(strings.Replace(hookBody, "npm publish", "ls", 1), "toolu_1", "toolu_0", 1)
	code, out := r.hook(quiet, "claude-code", "PreToolUse", "--silent-allow").output(t)
	require.Zero(t, code)
	require.Empty(t, out)
	_, out = r.hook(quiet, "claude-code", "PreToolUse").output(t)
	require.Contains(t, out, `"permissionDecision":"allow"`)

	for _, tap := range []struct{ button, decision string }{{"Allow once", "allow"}, {"Deny", "deny"}} { // the deny last: it refuses the same call
		body := strings.Replace(hookBody, "toolu_1", "toolu_"+tap.decision, 1)
		h := r.hook(body, "claude-code", "PreToolUse", "--silent-allow", "--limit", "1h")
		r.tap(r.alice, r.group, r.card(r.askedAs("toolu_"+tap.decision)).ID, tap.button)
		_, out = h.output(t)
		require.Contains(t, out, `"permissionDecision":"`+tap.decision+`"`)
	}
	_, out = r.hook(`{"a":1}`, "claude-code", "PreToolUse", "--silent-allow").output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	_, out = r.hook(strings.Replace(quiet, "PreToolUse", "PermissionRequest", 1), "claude-code", "PermissionRequest", "--silent-allow").output(t)
	require.Contains(t, out, `"behavior":"allow"`, "silence there is a no")
}

// The card says which agent asks and where it works, as claims: the runtime by the hook's own name, its subagent as the
// body says, branch and worktree by git's files. None of it makes another call of it.
func TestHookFlow_T30_WhoAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git"), 0o700))
	head := filepath.Join(dir, ".git", "HEAD")
	require.NoError(t, os.WriteFile(head, []byte("ref: refs/heads/fix/login\n"), 0o600))
	body := strings.Replace(strings.Replace(hookBody, `"/work"`, `"`+dir+`"`, 1), `{"session_id"`, `{"agent_id":"a7","agent_type":"Explore","session_id"`, 1)
	h := r.hook(body, "claude-code", "PreToolUse")
	a := r.askedAs("toolu_1")
	require.Equal(t, &api.From{Runtime: "Claude Code", SubagentType: "Explore", SubagentID: "a7", Branch: "fix/login"}, a.From)
	card := r.card(a)
	require.Contains(t, card.Text, "💬 From: Claude Code (Explore) on fix/login")
	seen, err := r.operator().Get(r.ctx(), a.ID, 0)
	require.NoError(t, err)
	require.Contains(t, seen.Card.Claims, "claimed: in Claude Code (Explore) on fix/login")

	require.NoError(t, os.WriteFile(head, []byte("ref: refs/heads/other\n"), 0o600))
	again := r.hook(strings.Replace(body, "toolu_1", "toolu_2", 1), "claude-code", "PreToolUse")
	require.Equal(t, a.Code, r.askedAs("toolu_2").Code, "the same call, from another branch")
	r.tap(r.alice, r.group, card.ID, "Deny")
	h.output(t)
	again.output(t)
}

// The runtime ends its hook, or is gone: the card is withdrawn.
func TestAdversary_H4_AnEndedHookWithdraws(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, how := range []string{"TERM", "HUP", "the runtime is killed"} {
		id := fmt.Sprint("toolu_", i)
		body := strings.Replace(strings.Replace(hookBody, "toolu_1", id, 1), "npm", fmt.Sprint("npm", i), 1)
		var h *hooking
		if i < 2 {
			h = r.hook(body, "claude-code", "PreToolUse")
		} else { // a shell stands for the runtime; what it starts reads its own stdin
			line := `exec 3<&0; approvalbot "$@" <&3 >/dev/null & wait`
			h = r.started(exec.Command("sh", append([]string{"-c", line, "sh"}, r.hookArgs(r.url, "claude-code", "PreToolUse")...)...), body)
		}
		card := r.card(r.askedAs(id))
		switch i {
		case 0:
			require.NoError(t, h.Process.Signal(syscall.SIGTERM))
		case 1:
			require.NoError(t, h.Process.Signal(syscall.SIGHUP))
		default:
			require.NoError(t, h.Process.Kill())
		}
		r.settled(r.group, card.ID, "ithdrawn")
		if i < 2 {
			_, out := h.output(t)
			require.Contains(t, out, `"permissionDecision":"deny","permissionDecisionReason":"interrupted`, how)
		}
	}
}

// Cline's body names the repository, and its commands run in the folder in which it starts the hook: the yes is for that.
func TestHookFlow_ClineRunsWhereItsHookRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cmd := exec.Command("approvalbot", r.hookArgs(r.url, "cline", "PreToolUse")...)
	cmd.Dir = t.TempDir()
	h := r.started(cmd, `{"hookName":"tool_call","taskId":"s1","workspaceRoots":["/work/repository"],
		"tool_call":{"id":"call_1","name":"run_commands","input":{"commands":["npm publish"]}}}`)
	a := r.askedAs("call_1")
	require.Equal(t, cmd.Dir, *a.Bind.Workdir)
	r.tap(r.alice, r.group, r.card(a).ID, "Allow once")
	_, out := h.output(t)
	require.Equal(t, "{}", out)
}

// A runtime that kills its hooks' process group as it ends, as Qwen Code does, leaves no process that could tell the hook:
// it is in a group of its own, and sees that the shell before it has gone.
func TestHookFlow_AKilledGroupWithdraws(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for i, program := range []string{"approvalbot hook", "approvalbot-hook"} {
		id := fmt.Sprint("call_", i)
		body := fmt.Sprintf(`{"session_id":"s1","hook_event_name":"PreToolUse","tool_name":"run_shell_command","tool_call_id":%q,
			"tool_input":{"command":"npm%d publish"}}`, id, i)
		// Qwen Code starts a shell that leads a session; what that starts in the background would read /dev/null.
		shell := exec.Command("sh", append([]string{"-c", program + ` "$@"; exit 2`, "sh"}, r.hookArgs(r.url, "qwen-code", "PreToolUse")[1:]...)...)
		shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		h := r.started(shell, body)
		card := r.card(r.askedAs(id))
		require.NoError(t, syscall.Kill(-h.Process.Pid, syscall.SIGKILL))
		_, err := h.Process.Wait()
		require.NoError(t, err)
		r.settled(r.group, card.ID, "ithdrawn")
	}
}

// As install writes it, a hook stands behind a shell: its answer passes as it is, and it
// ends with the runtime behind that shell.
func TestHookFlow_BehindTheShellThatInstallWrites(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	program, err := exec.LookPath("approvalbot")
	require.NoError(t, err)
	claude, _ := hook.Find("claude-code")
	client := filepath.Join(t.TempDir(), "client.yaml")
	require.NoError(t, os.WriteFile(client, []byte("server: "+r.url+"\ntoken: "+agentSecret+"\n"), 0o600))
	home := t.TempDir()
	changes, err := install.Plan(install.Options{Runtime: claude, Scope: install.User, Program: program, Client: client, Home: home,
		Env: func(string) string { return "" }})
	require.NoError(t, err)
	var settings struct {
		Hooks struct {
			PreToolUse []struct {
				Hooks []struct {
					Command string
					Args    []string
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(changes[0].After, &settings))
	words := settings.Hooks.PreToolUse[0].Hooks[0]

	code, out := r.started(exec.Command(words.Command, words.Args...), strings.Replace(hookBody, "npm publish", "ls", 1)).output(t)
	require.Zero(t, code)
	require.Contains(t, out, `"permissionDecision":"allow"`)
	code, out = r.started(exec.Command(words.Command, words.Args...), "{").output(t)
	require.Zero(t, code)
	require.Contains(t, out, `"permissionDecision":"deny"`)

	// A shell stands for the runtime, and does not become its hook.
	h := r.started(exec.Command("sh", append([]string{"-c", `exec 3<&0; "$0" "$@" <&3 >/dev/null & wait`, words.Command}, words.Args...)...), strings.Replace(hookBody, "toolu_1", "toolu_2", 1))
	card := r.card(r.askedAs("toolu_2"))
	require.NoError(t, h.Process.Kill())
	_, err = h.Process.Wait() // as whatever started a runtime does
	require.NoError(t, err)
	r.settled(r.group, card.ID, "ithdrawn")
}

// A desk that takes connections and says nothing is denied before the runtime's limit.
func TestAdversary_H2_ASilentDeskDenies(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	r := &rig{t: t}
	h := r.started(exec.Command("approvalbot", r.hookArgs("http://"+l.Addr().String(), "cline", "--limit", "2s")...),
		`{"hookName":"tool_call","taskId":"t","tool_call":{"id":"c","name":"run_commands","input":{"commands":["ls"]}}}`)
	code, out := h.output(t)
	require.Zero(t, code)
	require.Equal(t, `{"overrideInput":{"commands":["echo approvalbot: the approval desk did not answer in time, so the call was not allowed >&2; exit 1"]}}`, out)
	// Nor does a body that does not come keep it.
	cmd := exec.Command("approvalbot", r.hookArgs("http://"+l.Addr().String(), "kiro", "preToolUse", "--limit", "2s")...)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
	require.Contains(t, stderr.String(), "did not arrive on stdin in time")
	// Nor does a file with a token that cannot be read.
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, flag := range []string{"--token-file", "--client"} {
		h = r.started(exec.Command("approvalbot", "hook", "claude", "PreToolUse", flag, pipe, "--limit", "2s"), hookBody)
		code, out = h.output(t)
		require.Zero(t, code)
		require.Contains(t, out, `"permissionDecision":"deny"`)
		require.Contains(t, out, "could not be read in time")
	}
	// Nor one that nobody can read the answer of.
	broken, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer broken.Close()
	cmd = exec.Command("approvalbot", "hook", "claude", "PreToolUse")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(hookBody), broken, &stderr
	require.Error(t, cmd.Run())
	require.Equal(t, 2, cmd.ProcessState.ExitCode())
}

// An HTTP hook, with the real policy and store: allowed at once, asked, and without a
// card where policy denies.
func TestHookFlow_HTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	post := func(body string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(r.ctx(), "POST", r.url+"/hooks/claude-code/PreToolUse?limit=24h", strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+agentSecret)
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, 200, res.StatusCode)
		var b bytes.Buffer
		_, err = b.ReadFrom(res.Body)
		require.NoError(t, err)
		return b.String()
	}
	require.Contains(t, post(strings.NewReplacer("npm publish", "ls", "toolu_1", "toolu_0").Replace(hookBody)), `"allowed by policy"`)
	answer := make(chan string, 1)
	go func() { answer <- post(hookBody) }()
	r.tap(r.alice, r.group, r.card(r.askedAs("toolu_1")).ID, "Allow once")
	require.Contains(t, <-answer, `"allowed by alice in Telegram"`)
}

// A command that would put an untracked secret into the repository asks, by run and by a hook, and the card names the
// file: what git prints of it later runs unasked.
func TestFlow_AskersTellWhatGitWouldTake(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	repo := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", repo}, args...)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "-q", "-b", "main")
	env := filepath.Join(repo, ".env")
	require.NoError(t, os.WriteFile(env, []byte("KEY=x"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(repo, "main.go"), []byte("package main"), 0o600))
	n := 0
	hooked := func(line string) *hooking {
		n++
		body := fmt.Sprintf(`{"session_id":"s1","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":"toolu_g%d"}`, repo, line, n)
		return r.hook(body, "claude-code", "PreToolUse", "--limit", "1h")
	}
	denied := func(words string) {
		t.Helper()
		card := r.asked(words)
		require.Contains(t, card.Text, env)
		r.tap(r.alice, r.group, card.ID, "Deny")
	}
	h := hooked("git add .\ngit status")
	denied("git add .")
	_, out := h.output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	nested := filepath.Join(repo, "nested")
	git("init", "-q", nested)
	require.NoError(t, os.WriteFile(filepath.Join(nested, "srv.key"), []byte("KEY=x"), 0o600))
	h = hooked("for d in ed; do git -C nest$d add .; done") // the hook does not see which folder that is
	r.tap(r.alice, r.group, r.asked("for d in ed").ID, "Deny")
	_, out = h.output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	h = hooked("# don't\ntimeout 5 \"gi\"t add .") // nor that it is git
	r.tap(r.alice, r.group, r.asked("timeout 5").ID, "Deny")
	_, out = h.output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	_, out = hooked("git add main.go").output(t)
	require.Contains(t, out, `"permissionDecision":"allow"`, "it does not take that file")

	run := exec.Command("sh", "-c", `APPROVALBOT_SERVER=$1 APPROVALBOT_TOKEN=$2 exec approvalbot run -- git add --all`, "sh", r.url, agentSecret)
	run.Dir = repo
	h = r.started(run, "")
	denied("git add --all")
	code, _ := h.output(t)
	require.NotZero(t, code)

	// No person saw what comes before the answer.
	run = exec.Command("sh", "-c", `APPROVALBOT_SERVER=$1 APPROVALBOT_TOKEN=$2 exec approvalbot run -- git add -v --all`, "sh", r.url, agentSecret)
	run.Dir = repo
	for name, start := range map[string]func() *hooking{"one.pem": func() *hooking { return r.started(run, "") }, "two.pem": func() *hooking { return hooked("git add -v -A .") }} {
		h := start()
		card := r.asked("git add -v")
		require.NoError(t, os.WriteFile(filepath.Join(repo, name), nil, 0o600))
		r.tap(r.alice, r.group, card.ID, "Allow once")
		_, out := h.output(t)
		require.Contains(t, out+h.stderr.String(), "make the same call again", name)
	}
	out2, err := exec.Command("git", "-C", repo, "diff", "--cached", "--name-only").Output()
	require.NoError(t, err)
	require.Empty(t, string(out2))

	require.NoError(t, os.WriteFile(filepath.Join(repo, ".gitignore"), []byte(".env\n*.pem\nnested\n"), 0o600))
	_, out = hooked("git add -A").output(t)
	require.Contains(t, out, `"permissionDecision":"allow"`, "git ignores it")
}

// A program that PATH finds in the project is its code, to run and to a hook, also if it came there while a person was asked.
func TestFlow_AskersTellWhichProgramsAreTheProjects(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := t.TempDir()
	bin := filepath.Join(dir, "node_modules/.bin")
	require.NoError(t, os.MkdirAll(bin, 0o700))
	path := "PATH=" + bin + ":" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH")
	puts := func(name string) {
		require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\necho its own\n"), 0o700))
	}
	puts("which")
	hooked := func(id, line string) *hooking {
		body := fmt.Sprintf(`{"session_id":"s1","cwd":%q,"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":%q},"tool_use_id":%q}`, dir, line, id)
		return r.started(exec.Command("env", append([]string{path, "approvalbot"}, r.hookArgs(r.url, "claude-code", "PreToolUse", "--limit", "1h")...)...), body)
	}
	ran := func(id string, argv ...string) *hooking {
		words := append([]string{path, "APPROVALBOT_SERVER=" + r.url, "APPROVALBOT_TOKEN=" + agentSecret, "approvalbot", "run", "--id", id, "--"}, argv...)
		cmd := exec.Command("env", words...)
		cmd.Dir = dir
		return r.started(cmd, "")
	}
	for name, h := range map[string]*hooking{"hook": hooked("hook", "ls; which x"), "run": ran("run", "which", "x")} {
		_, out := h.output(t)
		require.Regexp(t, `"permissionDecision":"allow"|its own`, out, name)
		require.Contains(t, r.askedAs(name).ReasonCodes, "runs-project-code", name)
	}
	_, _ = hooked("other", "ls; type x").output(t)
	require.NotContains(t, r.askedAs("other").ReasonCodes, "runs-project-code")

	h := hooked("makes", "cp node_modules/.bin/which bin/uname && uname -a") // before it is there
	r.tap(r.alice, r.group, r.asked("bin/uname").ID, "Deny")
	_, out := h.output(t)
	require.Contains(t, out, `"permissionDecision":"deny"`)
	require.Contains(t, r.askedAs("makes").ReasonCodes, "writes-startup")

	for name, start := range map[string]func() *hooking{
		"uptime": func() *hooking { return hooked("late-hook", "frobnicate; uptime") },
		"nl":     func() *hooking { return ran("late-run", "sh", "-c", "frobnicate; nl") },
	} {
		h := start()
		card := r.asked("frobnicate; " + name)
		puts(name)
		r.tap(r.alice, r.group, card.ID, "Allow once")
		_, out := h.output(t)
		require.Contains(t, out+h.stderr.String(), "PATH finds more of its programs in the project; make the same call again", name)
	}
}

// A session's yes for git add covers no call that would take a secret, and a call that waits is not joined by one.
func TestFlow_NoYesCoversAnUntrackedSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	dir := "/work"
	ask := func(id, line string, mustAsk bool, files ...string) api.Approval {
		t.Helper()
		a, err := r.agent().Create(r.ctx(), api.CreateRequest{ID: id, ToolName: "exec", Params: json.RawMessage(fmt.Sprintf(`{"command": %q, "workdir": "/work"}`, line)),
			SessionKey: "s", Bind: &api.Bind{Workdir: &dir}, MustAsk: mustAsk, Context: &api.Context{Untracked: &api.Untracked{Folders: []string{dir}, Files: files}}}, api.CreateOptions{})
		require.NoError(t, err)
		return a
	}
	waits := ask("one", "git add .", true)
	require.Equal(t, api.Pending, waits.Status)
	_, err := r.operator().Resolve(r.ctx(), waits.ID, api.ResolveRequest{Decision: "allow-session"})
	require.NoError(t, err)
	require.Equal(t, api.Approved, ask("three", "git add .", true).Status, "the same call is covered")
	waits = ask("two", "git add -A", false, "/work/.env")
	require.Equal(t, api.Pending, waits.Status)
	require.NotEqual(t, waits.ID, ask("joins", "git add -A", false, "/work/b/.env").ID, "people did not see that file")
	program := func(id string, names ...string) api.Approval {
		a, err := r.agent().Create(r.ctx(), api.CreateRequest{ID: id, ToolName: "exec", Params: json.RawMessage(`{"command": "frobnicate; pytest; which x", "workdir": "/work"}`),
			SessionKey: "s", Bind: &api.Bind{Workdir: &dir}, Context: &api.Context{Programs: names}}, api.CreateOptions{})
		require.NoError(t, err)
		return a
	}
	waits = program("plain")
	require.Equal(t, waits.ID, program("again").ID)
	require.NotEqual(t, waits.ID, program("own", "which").ID, "people did not see that it is a program of the project")
	_, err = r.agent().Create(r.ctx(), api.CreateRequest{ID: "plain", ToolName: "exec", Params: json.RawMessage(`{"command": "frobnicate; pytest; which x", "workdir": "/work"}`),
		SessionKey: "s", Bind: &api.Bind{Workdir: &dir}, Context: &api.Context{Programs: []string{"which"}}}, api.CreateOptions{})
	require.ErrorContains(t, err, "run more programs of the project. Choose another id", "by the same id, too")
	require.Equal(t, waits.ID, program("plain").ID)
	require.Equal(t, api.Pending, ask("four", "git add .", false, "/work/other/.env").Status)
	require.Equal(t, api.Pending, ask("five", "git add .", true, "/work/.env2/id_rsa").Status)
}
