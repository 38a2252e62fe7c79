package answer

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/confine"
	"approvalbot/internal/hook"
)

// Of a call that has no end, since its user interrupted it, the client's processes tell: it counts for as long as one began
// after it was allowed, and for half a minute if none has.
func TestRunning_ACallWithoutAnEnd(t *testing.T) {
	state := t.TempDir()
	r := running{dir: filepath.Join(state, "1.calls"), state: state, client: os.Getpid()}
	call := func(id, line string) hook.Call {
		return hook.Call{ID: id, Tool: "Bash", Params: []byte(`{"command":"` + line + `"}`)}
	}
	allow := func(id, line string, ago time.Duration) {
		t.Helper()
		require.NoError(t, r.begin(once(), call(id, line), confine.Unconfined, false))
		at := time.Now().Add(-ago)
		require.NoError(t, os.Chtimes(r.file(call(id, line)), at, at))
	}
	next := call("next", "./x")
	require.True(t, r.free(next))
	require.False(t, r.free(call("", "./x")), "nobody could say that it has ended")
	allow("a", "mv a b", time.Second)
	require.False(t, r.free(next))
	require.True(t, r.free(call("a", "mv a b")), "the same call again")
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	allow("a", "mv a b", time.Minute)
	require.False(t, r.free(next))
	require.NoError(t, r.begin(once(), call("b", "mv b c"), confine.Unconfined, false), "beside each other")
	r.end(call("b", ""))
	require.NoError(t, stdin.Close())
	require.NoError(t, child.Wait())
	r.client = child.Process.Pid // which has none
	allow("a", "mv a b", -2*startTime)
	require.False(t, r.free(next), "it has just been allowed, by a clock that was changed since")

	allow("a", "setsid mv a b", time.Hour)
	r.end(call("a", ""))
	require.False(t, r.free(next), "it may have left processes")
	require.NoError(t, os.Remove(r.file(call("a", ""))))
	require.NoError(t, r.begin(once(), call("a", "mv a b"), confine.Unconfined, true))
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(r.file(call("a", "")), past, past))
	require.False(t, r.free(next), "its user may not have answered yet")
	r.end(call("a", ""))
	require.NoError(t, r.begin(once(), call("c", "./x"), confine.Confined, false))
	require.Error(t, r.begin(once(), call("d", "mv a b"), confine.Unconfined, false))
	require.True(t, r.free(next))
	past = time.Now().Add(-time.Minute)
	require.NoError(t, os.Chtimes(r.file(call("c", "")), past, past))
	leave, err := confine.Enter(once(), state, confine.Confined, os.Stderr, nil) // as the command itself does
	require.NoError(t, err)
	require.Error(t, r.begin(once(), call("d", "mv a b"), confine.Unconfined, false))
	leave()
	require.NoError(t, r.begin(once(), call("d", "mv a b"), confine.Unconfined, false))
	require.NoError(t, os.Chmod(r.dir, 0o600))
	if os.Geteuid() != 0 {
		require.False(t, r.free(next), "it cannot be read")
	}
	require.NoError(t, os.Chmod(r.dir, 0o700))
}

// A process of a call is one that the client has started since, or that such a one has left: no other one is.
func TestBegan(t *testing.T) {
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
		require.Equal(t, c.yes, began(all, client, me, allowed), name)
	}
}
