package answer

import (
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// An unconfined call counts until the client says that it has ended; and if it says that it goes on, or that it failed in another
// way than with a status, until no process is left that began after it was allowed.
func TestRunning_Unconfined(t *testing.T) {
	r := running{dir: filepath.Join(t.TempDir(), "1.calls"), client: os.Getpid()}
	allow := func(id, line string, kind confine.Kind) hook.Call {
		t.Helper()
		c := body(t, "PreToolUse", id, line)
		require.NoError(t, r.begin(once(), c, kind))
		return c
	}
	next := body(t, "PreToolUse", "next", "./x")
	require.True(t, r.free(next))
	require.False(t, r.free(hook.Call{Tool: "Bash", Params: next.Params}), "nobody could say that it has ended")
	a := allow("a", "mv a b", confine.Unconfined)
	hourAgo := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(r.file(a), hourAgo, hourAgo))
	require.False(t, r.free(next), "the client may start it late")
	require.True(t, r.free(a), "the same call again")
	allow("b", "mv b c", confine.Unconfined)
	r.over(body(t, "PostToolUse", "b", "mv b c"))
	require.False(t, r.free(next))
	r.over(body(t, "PostToolUse", "a", "mv a b"))
	require.True(t, r.free(next))

	for event, more := range map[string]string{
		"PostToolUseFailure": `"error": "interrupted", "is_interrupt": true`,
		"PostToolUse":        `"tool_response": {"backgroundTaskId": "1"}`,
	} {
		child := exec.Command("cat")
		stdin, err := child.StdinPipe()
		require.NoError(t, err)
		a = allow("a", "mv a b", confine.Unconfined)
		require.NoError(t, child.Start())
		text := fmt.Sprintf(`{"hook_event_name": %q, "tool_use_id": "a", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "mv a b"}, %s}`, event, more)
		rt, _ := hook.Find("claude-code")
		e, _ := rt.Event(event)
		c, err := e.Decode([]byte(text))
		require.NoError(t, err)
		r.over(c)
		require.FileExists(t, r.file(a), event)
		require.False(t, r.free(next), event)
		require.NoError(t, stdin.Close())
		require.NoError(t, child.Wait())
		require.NoError(t, os.Remove(r.file(a)))
	}

	a = allow("a", "setsid mv a b", confine.Unconfined)
	r.over(body(t, "PostToolUse", "a", "setsid mv a b"))
	require.False(t, r.free(next), "it may have left processes that nobody finds")
	require.NoError(t, os.Remove(r.file(a)))
	if os.Geteuid() != 0 {
		require.NoError(t, os.Chmod(r.dir, 0))
		require.False(t, r.free(next), "it cannot be read")
		require.NoError(t, os.Chmod(r.dir, 0o700))
	}
}

// A confined call keeps unconfined ones from running until it has ended. If it does not start within half a minute, it does
// not run at all.
func TestRunning_Confined(t *testing.T) {
	dir := t.TempDir()
	r := running{dir: filepath.Join(dir, "ns", "1.calls"), client: os.Getpid()}
	c, move := body(t, "PreToolUse", "c", "./x"), body(t, "PreToolUse", "d", "mv a b")
	moves := func() bool { return r.begin(once(), move, confine.Unconfined) == nil }
	starts := func() (leave func(), err error) { return enterAsked(t.Context(), dir, r.asked(c), io.Discard) }
	allow := func() {
		t.Helper()
		require.NoError(t, r.begin(once(), c, confine.Confined))
	}
	allow()
	require.False(t, moves())
	require.True(t, r.free(body(t, "PreToolUse", "e", "./y")))
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

// A process of a call is one that the client has started since, or that such a one has left: no other one is.
func TestAfterwards(t *testing.T) {
	t.Parallel()
	allowed := time.Now()
	before, after := allowed.Add(-time.Hour), allowed.Add(time.Minute)
	me := os.Getpid()
	const login, client, server, shell, child, hook, daemon = 10, 20, 21, 30, 31, 40, 50
	usual := map[int]start{1: {before, 0, 1, ""}, login: {before, 1, login, ""}, client: {before, login, login, ""}, server: {before, client, login, ""},
		hook: {after, client, hook, ""}, me: {after, hook, hook, ""}, daemon: {after, 1, daemon, ""}}
	for name, c := range map[string]struct {
		more map[int]start
		yes  bool
	}{
		"none":                               {nil, false},
		"a shell":                            {map[int]start{shell: {after, client, shell, ""}}, true},
		"a shell from before":                {map[int]start{shell: {before, client, shell, ""}}, false},
		"a child of a server":                {map[int]start{child: {after, server, login, ""}}, true},
		"what a killed shell left":           {map[int]start{os.Getppid(): {after, 1, shell, ""}}, true},
		"what it left in the client's":       {map[int]start{child: {after, 1, login, ""}}, true},
		"what another user's shell left":     {map[int]start{1 << 30: {after, 1, shell, ""}}, false},
		"what a killed shell left before it": {map[int]start{os.Getppid(): {before, 1, shell, ""}}, false},
	} {
		all := maps.Clone(usual)
		maps.Copy(all, c.more)
		require.Equal(t, c.yes, afterwards(all, client, me, allowed), name)
	}
}
