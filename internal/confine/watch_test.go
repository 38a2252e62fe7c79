//go:build linux

package confine

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// begin is [Begin] with nothing that ends it.
func begin(state, root string) (*Watch, error) {
	return Begin(context.Background(), state, root, io.Discard)
}

// A second call waits for the end of the first, also if its state lies elsewhere, and ends with its context.
func TestWatch_OneCallAtATime(t *testing.T) {
	m := newMachine(t)
	first, err := begin(m.state, m.ws)
	require.NoError(t, err)
	for _, state := range []string{m.state, m.home + "/state2"} {
		ctx, stop := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		var said strings.Builder
		_, err = Begin(ctx, state, m.ws, &said)
		stop()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Contains(t, said.String(), "waiting")
	}
	second := make(chan *Watch, 1)
	go func() {
		w, err := begin(m.state, m.ws)
		assert.NoError(t, err)
		second <- w
	}()
	require.NoError(t, first.drop())
	first.close()
	w := <-second
	require.Empty(t, w.Left)
	require.NoError(t, w.drop())
	w.close()
}

// What outlived a wrapper that was killed is dead before the next call begins.
func TestWatch_TheNextCallEndsSurvivors(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	survivor := exec.Command("sleep", "1000")
	require.NoError(t, survivor.Start())
	require.NoError(t, w.record(survivor.Process.Pid))
	w.close() // as the kernel does for a process that is killed
	w, err = begin(m.state, m.ws)
	require.NoError(t, err)
	require.Empty(t, process(survivor.Process.Pid))
	require.ErrorContains(t, survivor.Wait(), "killed")
	require.Contains(t, w.Left, "dropped")
	require.NoError(t, w.drop())
	w.close()
}

// A workspace in or above one in which a call runs, or was killed, is refused.
func TestWatch_NestedWorkspacesAtOnceAreRefused(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	_, err = begin(m.state, m.ws+"/pkg")
	require.ErrorContains(t, err, m.ws)
	require.NoError(t, w.drop())
	w.close()
	w, err = begin(m.state, m.ws+"/pkg")
	require.NoError(t, err)
	w.close()
	_, err = begin(m.state, m.ws)
	require.ErrorContains(t, err, m.ws+"/pkg")
}

// The kernel gets each lookout back, though it frees it after close has returned: a user has few (fs.inotify.max_user_instances).
func TestWatch_LookoutsAreGivenBack(t *testing.T) {
	m := newMachine(t)
	root, err := openDir(m.ws)
	require.NoError(t, err)
	defer root.Close()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	require.NoError(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	for range min(most, 1000) + 1 {
		var l *lookout
		require.Eventually(t, func() bool {
			l, err = newLookout(&Watch{Root: m.ws, root: root})
			return err == nil
		}, 10*time.Second, time.Millisecond, "the kernel got none back")
		require.NoError(t, l.add(int(root.Fd()), ".", ""))
		l.close()
	}
}

// A folder that another program removes while the workspace is listed is none of it (git gc does so after a commit).
func TestWatch_AFolderGoesWhileItIsListed(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	defer w.close()
	dir := filepath.Join(m.ws, "sub")
	require.NoError(t, os.Mkdir(dir, 0o700))
	sub, err := openDir(dir)
	require.NoError(t, err)
	defer sub.Close()
	require.NoError(t, os.Remove(dir))
	listing := walker{guard: &w.guard, out: newList(), looks: w.looks}
	require.NoError(t, listing.dir(int(sub.Fd()), "sub", w.guard.top(), 1))
	require.Empty(t, listing.out.secrets)
	require.NoError(t, w.drop())
}
