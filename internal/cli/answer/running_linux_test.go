package answer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/confine"
	"approvalbot/internal/hook"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "beside" { // which the shell of a call starts
		os.Exit(Command(context.Background(), os.Args[1:], Streams{os.Stdin, os.Stdout, os.Stderr}))
	}
	os.Exit(m.Run())
}

// body is a call as a hook's body says it, also behind it.
func body(t *testing.T, event, id, line string, more ...string) hook.Call {
	t.Helper()
	rt, _ := hook.Find("claude-code")
	e, ok := rt.Event(event)
	require.True(t, ok)
	response := cmp.Or(strings.Join(more, ","), `"tool_response": {"stdout": ""}`)
	c, err := e.Decode(fmt.Appendf(nil, `{"hook_event_name": %q, "tool_use_id": %q, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": %q}, %s}`,
		event, id, line, response))
	require.NoError(t, err)
	return c
}

// session is a process of Claude Code of which nothing is noted.
func session(dir string) running { return running{dir: filepath.Join(dir, "ns", "1.calls")} }

// once is a context in which one try is made.
func once() context.Context {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	return ctx
}

// opened opens a file as a shell does.
func opened(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	return f
}

// of is a call of another tool.
func of(tool, id, input string) hook.Call {
	return hook.Call{Tool: tool, ID: id, Params: []byte(input)}
}

// A call that the client runs by itself counts until the client says that it has ended, and if what it runs may go on
// after its answer, as long as the client.
func TestRunning_CallsOfTheClient(t *testing.T) {
	r := session(t.TempDir())
	allow := func(c hook.Call) hook.Call {
		t.Helper()
		require.NoError(t, r.begin(once(), c, confine.Unconfined))
		return c
	}
	next := body(t, "PreToolUse", "next", "./x")
	free := func() bool { return r.free(t.Context(), next) }
	require.True(t, free())
	require.False(t, r.free(t.Context(), hook.Call{Tool: "Bash", Params: next.Params}), "nobody could say that it has ended")
	a := allow(of("mcp__files__move", "a", "{}"))
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(r.file(a), hourAgo, hourAgo))
	require.False(t, free(), "it takes as long as it takes")
	require.True(t, r.free(t.Context(), a), "the same call again")
	allow(of("Skill", "b", "{}"))
	r.over(body(t, "PostToolUse", "b", ""))
	require.False(t, free())
	r.over(body(t, "PostToolUseFailure", "a", "", `"error": "no such file"`))
	require.True(t, free())

	for name, c := range map[string]hook.Call{
		"a tool that watches": of("Monitor", "m", `{"command": "tail -f x"}`),
		"a tool of tomorrow":  of("Frob", "m", "{}"),
		"not rewritten":       body(t, "PreToolUse", "m", "sleep 9"),
	} {
		allow(c)
		r.over(body(t, "PostToolUse", "m", ""))
		require.False(t, free(), name)
		require.NoError(t, os.Remove(r.file(c)))
	}
	worktree := of("Agent", "w", `{"isolation": "worktree"}`)
	allow(worktree)
	late := body(t, "PostToolUse", "w", "", `"tool_response": {"status": "async_launched"}`)
	late.Tool, late.Params = worktree.Tool, worktree.Params
	for range 2 { // also if another hook has found in the record that it is answered, and removed what is noted
		r.over(late)
		require.False(t, free())
		require.NoError(t, os.Remove(r.file(worktree)))
	}
	allow(of("mcp__a__b", "twice", "{}"))
	allow(of("mcp__a__c", "twice", "{}"))
	r.over(body(t, "PostToolUse", "twice", ""))
	require.False(t, free(), "another call of that name runs")
	require.ErrorContains(t, r.begin(once(), of("Bash", "twice", `{"command": "./x"}`), confine.Confined), "another call of that name")
	command := body(t, "PreToolUse", "twice", "ls")
	command.Instead = []byte("{}")
	allow(command)
	lock := opened(t, r.lock())
	require.NoError(t, enterBeside(t.Context(), r.file(command), int(lock.Fd()), io.Discard))
	require.NoError(t, lock.Close())
	r.over(body(t, "PostToolUse", "twice", "ls"))
	require.False(t, free(), "the other call of that name may still run")
	require.NoError(t, os.Remove(r.file(of("", "twice", ""))))

	for _, e := range [][2]string{
		{"PostToolUseFailure", `"error": "tool timed out after 2s"`}, {"PostToolUse", `"tool_response": {"interrupted": true}`},
		{"PostToolUseFailure", `"error": "Error POSTing to endpoint: {}"`}, {"PostToolUseFailure", `"error": "ECONNRESET: The socket connection was closed unexpectedly"`},
	} {
		event, more := e[0], e[1]
		call := allow(of("mcp__files__move", "m", "{}"))
		ended := body(t, event, "m", "", more)
		ended.Tool, ended.Params = call.Tool, call.Params
		r.over(ended)
		require.False(t, free(), "its server may go on")
		require.NoError(t, os.Remove(r.file(call)))
	}

	// Its user interrupts it, or stops the subagent whose call it is, which no event says.
	record := filepath.Join(t.TempDir(), "a[1]*", "said.jsonl")
	ofAgent := filepath.Join(strings.TrimSuffix(record, ".jsonl"), "subagents", "agent-1.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(ofAgent), 0o700))
	for _, file := range []string{record, ofAgent} {
		r.record = record
		allow(of("Skill", "a", "{}"))
		r.record = "another" // as behind /clear
		require.False(t, free())
		said := func(text string) {
			t.Helper()
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		}
		for _, text := range []string{
			`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"a","input":{"tool_use_id":"a","type":"tool_result"}}]}}`,
			`{"type":"user","message":{"content":"\"tool_use_id\":\"a\""}}`,
			`{"type":"user","message":{"content":[{"tool_use_id":"b","type":"tool_result","content":[{"tool_use_id":"a","type":"tool_result"}]}]}}`,
		} {
			said(text)
			require.False(t, free(), text)
		}
		said("{\n" + `{"type":"user","message":{"content":[{"tool_use_id":"a","type":"tool_result","content":"[Request interrupted by user for tool use]"}]}}` + "\n")
		require.True(t, free())
		said("")
	}
	require.NoError(t, os.WriteFile(r.file(body(t, "PreToolUse", "0", "ls")), nil, 0o600))
	require.False(t, free(), "nothing is said of a call, as on a full disk")
	require.NoError(t, os.Remove(r.file(body(t, "PreToolUse", "0", "ls"))))
	require.True(t, free())
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(r.dir, 0))
		require.False(t, free(), "it cannot be read")
		require.NoError(t, os.Chmod(r.dir, 0o700))
	}
}

// A command that runs as it is, and each process that it started, counts until it ends: its shell locks a file first.
func TestRunning_Commands(t *testing.T) {
	for _, shell := range []string{"bash", "zsh"} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(shell + ": not tested, install it")
			}
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("XDG_STATE_HOME", "")
			r := session(filepath.Join(home, ".local/state/approvalbot", clients))
			next := body(t, "PreToolUse", "next", "./x")
			free := func() bool { return r.free(t.Context(), next) }
			allow := func(id, line string) (command string) {
				t.Helper()
				c := body(t, "PreToolUse", id, line)
				c.Allowed, c.Instead = r.file(c), []byte("{}")
				require.NoError(t, r.begin(once(), c, confine.Unconfined))
				var in struct{ Command string }
				require.NoError(t, json.Unmarshal(c.Held([]string{os.Args[0]}, r.lock()), &in))
				return in.Command
			}
			run := func(command string) *exec.Cmd { // as Claude Code does
				return exec.Command(shell, "-c", `eval "$1" && pwd`, "x", command)
			}
			said, err := run(allow("a", "cd /\ntrue")).CombinedOutput()
			require.NoError(t, err, string(said))
			require.Equal(t, "/\n", string(said), "the folder is that of the next command, too")
			require.True(t, free(), "it has ended")
			require.NoFileExists(t, r.file(body(t, "PreToolUse", "a", "x")))

			fifo := filepath.Join(home, "fifo")
			require.NoError(t, syscall.Mkfifo(fifo, 0o600))
			command := allow("b", "(setsid cat "+fifo+" </dev/null >/dev/null 2>&1 &)")
			require.False(t, free(), "it was allowed, and starts in a moment")
			said, err = run(command).CombinedOutput()
			require.NoError(t, err, string(said))
			r.over(body(t, "PostToolUse", "b", command))
			require.False(t, free(), "a process of it is left, without a parent and in a session of its own")
			require.NoError(t, os.WriteFile(fifo, nil, 0o600)) // it ends
			require.Eventually(t, free, 20*time.Second, time.Millisecond)

			confined := body(t, "PreToolUse", "d", "./x")
			require.NoError(t, r.begin(once(), confined, confine.Confined))
			leave, err := enterConfined(t.Context(), r.file(confined), io.Discard)
			require.NoError(t, err)
			waits := run(strings.Replace(command, "cat "+fifo, "cat", 1))
			out, err := waits.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, waits.Start())
			said, err = io.ReadAll(io.LimitReader(out, 11))
			require.NoError(t, err)
			require.Equal(t, "approvalbot", string(said), "it says that it waits for the confined one")
			leave()
			require.NoError(t, waits.Wait())

			leave, err = confine.Enter(t.Context(), r.dir, confine.Confined, io.Discard, nil)
			require.NoError(t, err)
			waiting := body(t, "PreToolUse", "w", "ls")
			waiting.Instead = []byte("{}")
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.begin(ctx, waiting, confine.Unconfined) }()
			require.Eventually(t, func() bool { _, err := os.Stat(r.file(waiting)); return err == nil }, 20*time.Second, time.Millisecond)
			longAgo := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(r.file(waiting), longAgo, longAgo))
			require.False(t, free(), "no other call goes before it, however long it waits")
			leave()
			require.NoError(t, <-done)
			stop()
			require.NoError(t, os.Remove(r.file(waiting)))

			lost := allow("c", "true")
			require.NoError(t, os.RemoveAll(r.dir))
			_, err = run(lost).CombinedOutput()
			require.Error(t, err, "it does not run if it cannot be counted")
		})
	}
}

// A confined call keeps unconfined ones from running until it has ended. If it does not start within half a minute, it does
// not run at all.
func TestRunning_Confined(t *testing.T) {
	dir := t.TempDir()
	r := session(dir)
	c, move := body(t, "PreToolUse", "c", "./x"), of("mcp__files__move", "d", "{}")
	moves := func() bool { return r.begin(once(), move, confine.Unconfined) == nil }
	starts := func() (leave func(), err error) { return enterConfined(t.Context(), r.file(c), io.Discard) }
	allow := func() {
		t.Helper()
		require.NoError(t, r.begin(once(), c, confine.Confined))
	}
	allow()
	require.False(t, moves())
	require.True(t, r.free(t.Context(), body(t, "PreToolUse", "e", "./y")))
	leave, err := starts()
	require.NoError(t, err)
	_, err = starts()
	require.ErrorContains(t, err, "it runs already")
	require.False(t, moves())
	leave()
	require.True(t, moves())
	r.over(body(t, "PostToolUse", "d", "mv a b"))
	r.over(body(t, "PostToolUse", "c", "./x"))
	require.NoFileExists(t, r.file(c))

	allow()
	past := time.Now().Add(-startTime)
	require.NoError(t, os.Chtimes(r.file(c), past, past))
	require.True(t, moves())
	_, err = starts()
	require.ErrorContains(t, err, "a command must start within 30s after it was allowed")
	_, err = enterConfined(t.Context(), "../x.calls/y.call", io.Discard)
	require.ErrorContains(t, err, "names no call")
}

// A confined command ends with its client: the next one of the same session does not know of it.
func TestRunning_EndsWithItsClient(t *testing.T) {
	sleeper := exec.Command("sleep", "600")
	require.NoError(t, sleeper.Start())
	began, err := startOf(sleeper.Process.Pid)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), fmt.Sprintf("%d-%s%s", sleeper.Process.Pid, began.ticks, callsEnd), "a"+callEnd)
	ctx, stop := whileClient(t.Context(), file)
	defer stop()
	require.NoError(t, ctx.Err())
	require.NoError(t, sleeper.Process.Kill())
	require.Error(t, sleeper.Wait())
	<-ctx.Done()
}

// Where no folder can be made, no call is confined, and none waits; where one can, a call that cannot be noted does not run.
func TestRunning_NothingCanBeNoted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	r, c := session(filepath.Join(dir, "file")), body(t, "PreToolUse", "a", "mv a b")
	why, none := r.held(t.Context(), c)
	require.Empty(t, why)
	require.True(t, none)
	require.False(t, r.free(t.Context(), c))
	r = session(dir)
	require.NoError(t, os.MkdirAll(r.file(c), 0o700))
	why, none = r.held(t.Context(), c)
	require.Contains(t, why, "could not be noted")
	require.False(t, none)
}
