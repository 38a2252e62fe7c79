package answer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
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

// body is a call as a hook's body says it, also behind it.
func body(t *testing.T, event, id, line string, more ...string) hook.Call {
	t.Helper()
	rt, _ := hook.Find("claude-code")
	e, ok := rt.Event(event)
	require.True(t, ok)
	response := strings.Join(append(more, `"tool_response": {"stdout": ""}`), ",")
	c, err := e.Decode(fmt.Appendf(nil, `{"hook_event_name": %q, "tool_use_id": %q, "session_id": "s", "tool_name": "Bash", "tool_input": {"command": %q}, %s}`,
		event, id, line, response))
	require.NoError(t, err)
	return c
}

// client is this test as a client, on a machine where nothing else runs.
func client(dir string) running {
	own := func() (map[int]start, bool) {
		out := map[int]start{}
		all, _ := processes()
		for pid, s := range all {
			above := pid
			for above > 1 && above != os.Getpid() {
				above = all[above].parent
			}
			if above == os.Getpid() {
				out[pid] = s
			}
		}
		return out, true
	}
	return running{dir: filepath.Join(dir, "1.calls"), client: os.Getpid(), all: own}
}

// An unconfined call counts until the client says that it has ended; and if it says that it goes on, or that it failed in another
// way than with a status, until no process is left that began after it was allowed.
func TestRunning_Unconfined(t *testing.T) {
	r := client(t.TempDir())
	allow := func(id, line string, kind confine.Kind) hook.Call {
		t.Helper()
		c := body(t, "PreToolUse", id, line)
		require.NoError(t, r.begin(once(), c, kind))
		return c
	}
	next := body(t, "PreToolUse", "next", "./x")
	require.True(t, r.free(t.Context(), next))
	require.False(t, r.free(t.Context(), hook.Call{Tool: "Bash", Params: next.Params}), "nobody could say that it has ended")
	a := allow("a", "mv a b", confine.Unconfined)
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(r.file(a), hourAgo, hourAgo))
	require.False(t, r.free(t.Context(), next), "the client may start it late")
	require.True(t, r.free(t.Context(), a), "the same call again")
	allow("b", "mv b c", confine.Unconfined)
	r.over(body(t, "PostToolUse", "b", "mv b c"))
	require.False(t, r.free(t.Context(), next))
	r.over(body(t, "PostToolUse", "a", "mv a b"))
	require.True(t, r.free(t.Context(), next))

	var child int
	for event, more := range map[string]string{
		"PostToolUseFailure": `"error": "interrupted", "is_interrupt": true`,
		"PostToolUse":        `"tool_response": {"backgroundTaskId": "1"}`,
	} {
		cmd := exec.Command("cat")
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		a = allow("a", "mv a b", confine.Unconfined)
		require.NoError(t, cmd.Start())
		child = cmd.Process.Pid
		text := fmt.Sprintf(`{"hook_event_name": %q, "tool_use_id": "a", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "mv a b"}, %s}`, event, more)
		rt, _ := hook.Find("claude-code")
		e, _ := rt.Event(event)
		c, err := e.Decode([]byte(text))
		require.NoError(t, err)
		r.over(c)
		require.FileExists(t, r.file(a), event)
		r.over(c) // said twice
		require.False(t, r.free(t.Context(), next), event)
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait())
		require.NoError(t, os.Remove(r.file(a)))
	}

	// Its user interrupts it, or stops the subagent whose call it is, which no event says.
	record := filepath.Join(t.TempDir(), "a[1]*", "said.jsonl")
	ofAgent := filepath.Join(strings.TrimSuffix(record, ".jsonl"), "subagents", "agent-1.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(ofAgent), 0o700))
	for _, file := range []string{record, ofAgent} {
		r.record = record
		allow("a", "mv a b", confine.Unconfined)
		r.record = "another" // as behind /clear
		require.False(t, r.free(t.Context(), next))
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
			require.False(t, r.free(t.Context(), next), text)
		}
		said("{\n" + `{"type":"user","message":{"content":[{"tool_use_id":"a","type":"tool_result","content":"[Request interrupted by user for tool use]"}]}}` + "\n")
		me := r.client
		r.client = child // which has no processes
		require.True(t, r.free(t.Context(), next))
		r.client = me
		said("")
	}
	require.NoError(t, os.WriteFile(r.file(body(t, "PreToolUse", "0", "ls")), nil, 0o600))
	require.False(t, r.free(t.Context(), next), "nothing is said of a call, as on a full disk")
	require.NoError(t, os.Remove(r.file(body(t, "PreToolUse", "0", "ls"))))
	require.True(t, r.free(t.Context(), next))
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(r.dir, 0))
		require.False(t, r.free(t.Context(), next), "it cannot be read")
		require.NoError(t, os.Chmod(r.dir, 0o700))
	}
}

// A confined call keeps unconfined ones from running until it has ended. If it does not start within half a minute, it does
// not run at all.
func TestRunning_Confined(t *testing.T) {
	dir := t.TempDir()
	r := client(filepath.Join(dir, "ns"))
	c, move := body(t, "PreToolUse", "c", "./x"), body(t, "PreToolUse", "d", "mv a b")
	moves := func() bool { return r.begin(once(), move, confine.Unconfined) == nil }
	starts := func() (leave func(), err error) { return enterAsked(t.Context(), dir, r.asked(c), io.Discard) }
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
	_, err = enterAsked(t.Context(), dir, "../x", io.Discard)
	require.ErrorContains(t, err, "names no call")
}

// What a call left is told from what else began meanwhile.
func TestSince(t *testing.T) {
	t.Parallel()
	at := time.Now()
	before, after := at.Add(-time.Hour), at.Add(time.Second)
	const me, terminal, login, client, server, shell, child, grandchild, hook, other = 5, 9, 10, 20, 21, 30, 31, 32, 40, 50
	usual := map[int]start{1: {before, 0, ""}, terminal: {before, 1, ""}, login: {before, terminal, ""}, client: {before, login, ""},
		server: {before, client, ""}, other: {before, terminal, ""}, hook: {after, client, ""}, me: {after, hook, ""}}
	for name, c := range map[string]struct {
		more        map[int]start
		left, below bool
	}{
		"none":                           {nil, false, false},
		"a shell":                        {map[int]start{shell: {after, client, ""}}, false, true},
		"a shell from before":            {map[int]start{shell: {before, client, ""}}, false, false},
		"a child of a server":            {map[int]start{child: {after, server, ""}}, false, true},
		"what a killed shell left":       {map[int]start{child: {after, 1, ""}}, true, true},
		"and what that has started":      {map[int]start{child: {after, 1, ""}, grandchild: {after, child, ""}}, true, true},
		"left to an ancestor":            {map[int]start{child: {after, terminal, ""}}, true, true},
		"left while this one looks":      {map[int]start{child: {after, shell, ""}}, true, true},
		"of another shell of the user's": {map[int]start{child: {after, other, ""}, grandchild: {after, child, ""}}, false, false},
		"left before":                    {map[int]start{child: {before, 1, ""}}, false, false},
	} {
		all := maps.Clone(usual)
		maps.Copy(all, c.more)
		ours := func(int) bool { return true }
		require.Equal(t, c.left, since(all, client, me, at, false, ours), name)
		require.Equal(t, c.below, since(all, client, me, at, true, ours), name)
		require.False(t, since(all, client, me, at, false, func(int) bool { return false }), name)
	}
}

// A process can pass on what it does to a new one and end while this one looks, so only a look in which none ends says that
// no process is left.
func TestRunning_AProcessHidesBehindAnother(t *testing.T) {
	r := client(t.TempDir())
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { require.NoError(t, errors.Join(stdin.Close(), cmd.Wait())) }()
	at := time.Now().Add(-time.Minute)
	none := map[int]start{1: {at.Add(-time.Hour), 0, ""}, r.client: {at.Add(-time.Hour), 1, ""}}
	for name, c := range map[string]struct {
		looks []bool // whether each look is whole
		found int    // the look that finds one
		alive bool
	}{
		"whole at once":    {[]bool{true}, -1, false},
		"whole at last":    {[]bool{false, false, true}, -1, false},
		"found the second": {[]bool{false, false}, 1, true},
		"never whole":      {make([]bool, looks), -1, true},
	} {
		n := 0
		r.all = func() (map[int]start, bool) {
			all := maps.Clone(none)
			if n == c.found {
				all[cmd.Process.Pid] = start{time.Now(), 1, ""}
			}
			n++
			return all, c.looks[n-1]
		}
		require.Equal(t, c.alive, r.alive(at, false), name)
		require.Equal(t, len(c.looks), n, name)
	}
	r.all = processes
	require.Positive(t, newest())
	all, _ := processes()
	require.Contains(t, all, os.Getpid())
	require.True(t, vanished(os.Remove(filepath.Join(t.TempDir(), "none"))))
	require.False(t, vanished(nil))
}

// In a container, what was left is given to process 1, which may be the client, or no ancestor of it.
func TestSince_InAContainer(t *testing.T) {
	t.Parallel()
	at := time.Now()
	before, after := at.Add(-time.Hour), at.Add(time.Second)
	ours := func(int) bool { return true }
	first := map[int]start{1: {before, 0, ""}, 5: {after, 1, ""}}
	require.False(t, since(first, 1, 5, at, false, ours))
	first[9] = start{after, 1, ""}
	require.True(t, since(first, 1, 5, at, false, ours), "the client is process 1")
	entered := map[int]start{1: {before, 0, ""}, 7: {before, 0, ""}, 5: {after, 7, ""}}
	require.False(t, since(entered, 7, 5, at, false, ours))
	entered[9] = start{after, 1, ""}
	require.True(t, since(entered, 7, 5, at, false, ours), "the client has entered the container")
}

// A process counts wherever it works, also in a folder whose path is too long to be told.
func TestRunning_AProcessInADeepFolder(t *testing.T) {
	r := client(t.TempDir())
	name := strings.Repeat("x", 250)
	deep := "cd " + t.TempDir() + strings.Repeat("; mkdir "+name+"; cd "+name, 20)
	cmd := exec.Command("bash", "-c", deep+"; echo in; exec cat")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = stdout.Read(make([]byte, 3))
	require.NoError(t, err)
	_, err = os.Readlink(fmt.Sprintf("/proc/%d/cwd", cmd.Process.Pid))
	require.ErrorIs(t, err, syscall.ENAMETOOLONG)
	r.all = func() (map[int]start, bool) {
		return map[int]start{1: {time.Now().Add(-time.Hour), 0, ""}, cmd.Process.Pid: {time.Now(), 1, ""}}, true
	}
	require.True(t, r.alive(time.Now().Add(-time.Minute), false))
	require.NoError(t, errors.Join(stdin.Close(), cmd.Wait()))
}

// once is a context with which something is tried once.
func once() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}

// Where no folder can be made, no call is confined, and none waits; where one can, a call that cannot be noted does not run.
func TestRunning_NothingCanBeNoted(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	r, c := client(filepath.Join(dir, "file")), body(t, "PreToolUse", "a", "mv a b")
	require.Empty(t, r.held(t.Context(), c))
	require.False(t, r.free(t.Context(), c))
	r = client(dir)
	require.NoError(t, os.MkdirAll(r.file(c), 0o700))
	require.Contains(t, r.held(t.Context(), c), "could not be noted")
}
