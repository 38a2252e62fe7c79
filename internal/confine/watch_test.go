//go:build linux

package confine

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call whose wrapper was killed is compared by the next one before that begins.
func TestWatch_TheNextCallFinishesAKilledOne(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `mkdir fresh; echo x >fresh/.envrc; rm -r .claude; git config core.fsmonitor "$EVIL"`)
	w.close() // as the kernel does for a process that is killed

	w, err = begin(m.state, m.ws)
	require.NoError(t, err)
	require.Equal(t, []string{".claude", ".claude/settings.json", ".git/config", "fresh/.envrc"}, w.Left.Names)
	require.FileExists(t, filepath.Join(w.Left.Quarantine, "names"))
	require.False(t, m.obeyed(t))
	require.FileExists(t, m.ws+"/.claude/settings.json")
	_, err = w.End()
	require.NoError(t, err)
	m.clean(t)
}

// begin is [Begin] with nothing that ends it.
func begin(state, root string) (*Watch, error) {
	return Begin(context.Background(), state, root, io.Discard)
}

// A second call waits for the end of the first, also if its state lies elsewhere, and ends with its context.
func TestWatch_OneCallAtATime(t *testing.T) {
	m := newMachine(t)
	first, err := begin(m.state, m.ws)
	require.NoError(t, err)
	for _, state := range []string{m.state, t.TempDir()} {
		ctx, stop := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		var said strings.Builder
		_, err = Begin(ctx, state, m.ws, &said)
		stop()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Contains(t, said.String(), "waiting")
	}
	m.sh(t, m.ws, `echo x >pkg/.envrc`)
	second := make(chan *Watch, 1)
	go func() {
		w, err := begin(m.state, m.ws)
		assert.NoError(t, err)
		second <- w
	}()
	found, err := first.End()
	require.NoError(t, err)
	require.Equal(t, []string{"pkg/.envrc"}, found.Names)
	w := <-second
	require.Empty(t, w.Left.Names)
	found, err = w.End()
	require.NoError(t, err)
	require.Empty(t, found.Names)
	m.clean(t)
}

// A process of the host renames folders all the while; what was planted in them is found.
func TestWatch_AHostProcessRenamesMeanwhile(t *testing.T) {
	for i := range 20 {
		m := newMachine(t)
		w, err := begin(m.state, m.ws)
		require.NoError(t, err)
		m.sh(t, m.ws, `for i in 0 1 2 3 4 5 6 7 8 9; do mkdir -p zz/$i/x a0; echo x >zz/$i/x/.envrc; done`)
		var stop atomic.Bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := 0; !stop.Load() && n < 200+i*50; n++ {
				for d := range 10 {
					from, to := fmt.Sprintf("%s/zz/%d", m.ws, d), fmt.Sprintf("%s/a0/%d", m.ws, d)
					if n%2 == 1 {
						from, to = to, from
					}
					_ = os.Rename(from, to)
				}
			}
		}()
		found, err := w.End()
		stop.Store(true)
		<-done
		if err != nil { // then it says so, and nothing further begins
			require.ErrorContains(t, err, "does not come to rest")
			_, err = begin(m.state, m.ws)
			require.ErrorIs(t, err, ErrMarked)
			continue
		}
		require.NotEmpty(t, found.Names)
		for file := range m.seenFiles() {
			require.False(t, strings.HasPrefix(file, "zz") && strings.HasSuffix(file, ".envrc") || strings.HasPrefix(file, "a0") && strings.HasSuffix(file, ".envrc"), file)
		}
	}
}

// Where the state of confined calls lies on another file system, what is planted is copied there.
func TestWatch_QuarantineOnAnotherFileSystem(t *testing.T) {
	if os.Getenv("HOME") == "" || !isDir("/dev/shm") {
		t.Log("not tested on this machine: no /dev/shm")
		return
	}
	m := newMachine(t)
	state, err := os.MkdirTemp("/dev/shm", "confine-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	m.state = state
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `mkdir n; git init -q n; git -C n config core.fsmonitor "$EVIL"; ln -s / n/.git/out; mkfifo n/.git/pipe; echo x >pkg/.envrc; rm .envrc; chmod 000 n/.git/hooks`)
	found, err := w.End()
	require.NoError(t, err)
	require.Equal(t, []string{".envrc", "n/.git", "pkg/.envrc"}, found.Names)
	require.False(t, m.obeyed(t))
	kept, err := os.ReadDir(found.Quarantine)
	require.NoError(t, err)
	require.Len(t, kept, 3)
	m.clean(t)
}

// What cannot be moved away is set aside in its place, and nothing further begins.
func TestWatch_WhatCannotBeMovedMarksTheWorkspace(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(w.path("quarantine"), 0500))
	m.sh(t, m.ws, `git init -q n; git -C n config core.fsmonitor "$EVIL"; git add n 2>/dev/null; true`)
	_, err = w.End()
	require.ErrorContains(t, err, "n/.git")
	require.False(t, m.obeyed(t))
	_, err = begin(m.state, m.ws)
	require.ErrorIs(t, err, ErrMarked)

	require.NoError(t, os.Chmod(w.path("quarantine"), 0700))
	require.NoError(t, os.Remove(w.path("mark"))) // somebody looked at it
	w, err = begin(m.state, m.ws)
	require.NoError(t, err)
	_, err = w.End()
	require.NoError(t, err)
}

// What a confined call is for leaves nothing to report: files, commits, branches, a build.
func TestWatch_OrdinaryWorkIsNotReported(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `echo x >new.go; mkdir -p build/x node_modules/.bin; ln -s ../a/b.js node_modules/.bin/a; ln -s /usr/bin/python3 build/python
git add new.go; git commit -qm second; git checkout -q -b side; git commit -qm third --allow-empty; git checkout -q main; git merge -q side
git tag v1; git branch config; git branch hooks/x; git stash list; git gc -q; touch -d @5 main.go; chmod 755 main.go; rm new.go`)
	found, err := w.End()
	require.NoError(t, err)
	require.Empty(t, found.Names)
}

func isDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir()
}

// Settings lead through a link above the workspace, or from a repository that the workspace is a part of.
func TestWatch_SettingsFromOutsideNameFilesInside(t *testing.T) {
	m := newMachine(t)
	m.sh(t, m.ws, `ln -s $HOME $HOME/above; git config diff.above.command $HOME/above/ws/tools/above.sh; git config diff.sub.command pkg/sub.sh; git config core.hooksPath pkg/h`)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `echo x >tools/above.sh`)
	found, err := w.End()
	require.NoError(t, err)
	require.Equal(t, []string{"tools/above.sh"}, found.Names)
	w, err = begin(m.state, m.ws+"/pkg")
	require.NoError(t, err)
	m.sh(t, m.ws, `echo x >pkg/sub.sh; mkdir pkg/h; echo x >pkg/h/pre-push`)
	found, err = w.End()
	require.NoError(t, err)
	require.Equal(t, []string{"h", "sub.sh"}, found.Names)
}

// What outlived a wrapper that was killed is dead before the next call compares.
func TestWatch_TheNextCallEndsSurvivors(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	survivor := exec.Command("sleep", "1000")
	require.NoError(t, survivor.Start())
	require.NoError(t, w.record(survivor.Process.Pid))
	w.close()
	w, err = begin(m.state, m.ws)
	require.NoError(t, err)
	require.Empty(t, process(survivor.Process.Pid))
	require.ErrorContains(t, survivor.Wait(), "killed")
	_, err = w.End()
	require.NoError(t, err)
}

// A workspace in or above one in which a call runs, or was killed, is refused.
func TestWatch_NestedWorkspacesAtOnceAreRefused(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	_, err = begin(m.state, m.ws+"/pkg")
	require.ErrorContains(t, err, m.ws)
	_, err = w.End()
	require.NoError(t, err)
	w, err = begin(m.state, m.ws+"/pkg")
	require.NoError(t, err)
	w.close()
	_, err = begin(m.state, m.ws)
	require.ErrorContains(t, err, m.ws+"/pkg")
}

// One change that cannot be undone keeps no other from being undone, and the mark needs no space.
func TestWatch_AFailedUndoStopsNoOther(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	all, err := filepath.Glob(w.path("kept/*"))
	require.NoError(t, err)
	for _, file := range all {
		require.NoError(t, os.Remove(file))
	}
	require.NoError(t, os.Mkdir(w.path("quarantine"), 0700))
	require.FileExists(t, w.path("unmarked"))
	m.sh(t, m.ws, `rm .claude/settings.json; mkdir zz; echo x >zz/.envrc; echo x >.mcp.json`)
	_, err = w.End()
	require.ErrorContains(t, err, "settings.json")
	require.NoFileExists(t, m.ws+"/zz/.envrc")
	require.NoFileExists(t, m.ws+"/.mcp.json")
	require.NoFileExists(t, w.path("unmarked"), "it became the mark")
}

// Links that lead through more folders than can be looked at end the comparison with a mark.
func TestWatch_LinksWithoutEndMarkTheWorkspace(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `python3 -c '
import os
os.mkdir("x"); os.mkdir("l")
os.symlink("../"+"x/../"*700+"l/0","l/0")
for i in range(1,3000): os.link("l/0","l/%d"%i,follow_symlinks=False)'`)
	_, err = w.End()
	require.ErrorContains(t, err, "links")
	_, err = begin(m.state, m.ws)
	require.ErrorIs(t, err, ErrMarked)
}
