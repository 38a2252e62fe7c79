package answer

import (
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
	allow("a", "mv a b", time.Minute)
	require.True(t, r.free(next))
	require.NoFileExists(t, r.file(call("a", "")))

	child := exec.Command("sh", "-c", "cat & wait")
	stdin, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	allow("a", "mv a b", time.Minute)
	require.False(t, r.free(next))
	require.NoError(t, r.begin(once(), call("b", "mv b c"), confine.Unconfined, false))
	r.end(call("b", ""))
	require.NoError(t, stdin.Close())
	_ = child.Process.Kill()
	_ = child.Wait()
	require.True(t, r.free(next))

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
