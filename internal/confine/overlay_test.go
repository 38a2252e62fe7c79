//go:build linux

package confine

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// While a call runs, the host sees nothing of what it does: a prompt's git status obeys no plant.
func TestOverlay_TheHostSeesNothingMeanwhile(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	before := m.seenFiles()
	cmd := m.wrapped(m.inside(`echo x >.envrc; echo y >main.go; git init -q n; git -C n config core.fsmonitor "$EVIL"; echo ready; sleep 1000`))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 6))
	require.NoError(t, err)
	require.Empty(t, differs(before, m.seenFiles()))
	require.False(t, m.obeyed(t))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	_ = cmd.Wait()
	require.Equal(t, NothingKept, cmd.ProcessState.ExitCode())
	require.Empty(t, differs(before, m.seenFiles()))
}

// What bwrap is told of its processes is of those in its namespace. It did not start where the host had no process of the
// number that its first one has in there.
func TestOverlay_ProcessesAreItsOwn(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	defer w.close()
	cmd := overlaid("/usr/bin/readlink", []*Watch{w}, nil, []string{"/proc/self"})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	said, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "1\n", string(said))
	require.NoError(t, w.drop())
}

// A file that has another name, in the workspace or outside, is not written through it: the call's file is another one.
func TestOverlay_HardLinksAreNotWrittenThrough(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir $HOME/store; echo good >$HOME/store/x; ln $HOME/store/x x; ln $HOME/store/x y; ln .git/config notes`)
	said, code := m.confined(t, `echo evil >x; chmod 755 y; echo evil >notes; ln main.go twin; echo done`)
	require.Equal(t, []any{"done\n", 0}, []any{said, code})
	m.sh(t, m.ws, `test "$(cat $HOME/store/x y)" = "$(printf 'good\ngood')"; test "$(stat -c %a $HOME/store/x)" = 644
test "$(cat x notes)" = "$(printf 'evil\nevil')"; test main.go -ef twin; ! grep evil .git/config`)
	// A link to a protected file is a copy afterwards, so a program of the host that writes to it writes to nothing else.
	said, code = m.confined(t, `ln .envrc linked; ln .git/config no`)
	require.NotZero(t, code, said)
	m.sh(t, m.ws, `! test linked -ef .envrc; cmp linked .envrc; test ! -e no`)
}

// A protected file that is written again with what was in it, or whose times change, is no change.
func TestOverlay_TheSameContentIsNoChange(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	before := m.seenFiles()
	said, code := m.confined(t, `touch .envrc; cp .envrc c; cat c >.envrc; rm c; rm -r .claude; mkdir .claude; echo '{}' >.claude/settings.json; ls -d .claude`)
	require.Equal(t, 0, code, said)
	require.Empty(t, differs(before, m.seenFiles()))
}

// What a call cannot say by the overlay's own notes: its attributes have other names on disk, and are not copied.
func TestOverlay_AttributesOfTheOverlayAreNotTheCalls(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	said, code := m.confined(t, `mkdir n; echo x >n/f; echo y >>main.go; chmod 400 n/f; python3 -c '
import os
for name in ("pkg", "pkg/a", "n", "n/f", "main.go"):
    for key in ("user.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect", "user.overlay.origin", "user.own", "user.virtfs.mode", "user.containers.override_stat"):
        try: os.setxattr(name, key, b"y")
        except OSError as e: pass
for dev in (0, 1):
    try: os.mknod("w", 0o20666, dev)
    except OSError as e: print("no device")'; ls pkg/a/b`)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "no device\nno device\nb.go\n")
	for _, name := range []string{"", "/pkg", "/pkg/a", "/n", "/n/f", "/main.go"} {
		var buf [4096]byte
		n, err := unix.Listxattr(m.ws+name, buf[:])
		require.NoError(t, err)
		require.NotContains(t, string(buf[:n]), "overlay", name)
		require.NotContains(t, string(buf[:n]), "virtfs", name)
		require.NotContains(t, string(buf[:n]), "containers", name)
	}
	require.FileExists(t, m.ws+"/pkg/a/b/b.go")
	require.FileExists(t, m.ws+"/pkg/a/b/.envrc")
}

// What the host changed while a call changed it too is the host's: nothing is kept.
func TestOverlay_AConflictKeepsNothing(t *testing.T) {
	needsConfinement(t)
	for _, a := range []struct{ name, call, host, want string }{
		{"both write", `echo call >main.go`, `echo host >main.go`, "main.go"},
		{"call removes", `rm main.go`, `echo host >main.go`, "main.go"},
		{"call removes the folder", `rm -r tools`, `echo host >tools/new`, "tools/new"},
		{"host removes", `echo call >>main.go`, `rm main.go`, "main.go"},
		{"host makes the same", `echo call >both`, `echo host >both`, "both"},
		{"host removes the folder", `echo call >builds/x; chmod 700 builds`, `rm -r builds`, "builds"},
		{"host exchanges a folder that the call writes in", `echo call >>src/f`, `mv src src.bak; mv src.new src`, "src"},
		{"host exchanges a folder that the call replaces", `rm -rf build; mkdir build; echo n >build/new`, `mv build build.1; mv results build`, "build"},
		{"host exchanges a folder that the call removes", `rm -r src`, `mv src src.bak; mv src.new src`, "src"},
		{"both change a mode", `chmod 711 src`, `chmod 700 src`, "src"},
		{"host makes it a folder", `echo call >both`, `mkdir both; echo host >both/x`, "both"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, `git config --unset include.path more; rm tools/git.inc tools/*.sh; git rm -rq --cached tools; printf '[core]\n' >.git/config; rm .git/hooks/*`)
			m.sh(t, m.ws, `mkdir src src.new build results; echo old >src/f; echo new >src.new/f; echo kept >src.new/g; echo o >build/old; echo kept >results/data`)
			var before map[string]string
			said, code := m.during(t, a.call+`; echo other >other`, a.host, func() { before = m.seenFiles() })
			require.Equal(t, NothingKept, code, said)
			require.Contains(t, said, "meanwhile")
			require.Contains(t, said, fmt.Sprintf("%q", a.want))
			require.Empty(t, differs(before, m.seenFiles()))
		})
	}
	m := newMachine(t) // others' work beside it is none
	said, code := m.during(t, `echo call >mine; mkdir -p pkg/n; rm main.go`, `echo host >theirs; mkdir -p pkg/n; echo host >pkg/n/theirs; chmod 700 pkg .`)
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `test -e mine -a -e theirs -a -e pkg/n/theirs -a ! -e main.go; test "$(stat -c %a . pkg pkg/n | tr '\n' ' ')" = "700 700 755 "`)
}

// What the host changes while work is copied back is the host's too: the copy ends there, and says so.
func TestOverlay_WhatChangesDuringTheCopyIsTheHosts(t *testing.T) {
	needsConfinement(t)
	for _, a := range []struct{ name, call, host, see string }{
		{"an older file is renamed over", `echo call >t/f`, `cp -p $HOME/old t/tmp; mv t/tmp t/f`, `test "$(cat t/f)" = older`},
		{"a file is written to", `echo call >t/f`, `echo host >>t/f`, `grep host t/f`},
		{"a file that is removed is replaced", `rm t/f`, `cp -p $HOME/old t/tmp; mv t/tmp t/f`, `test "$(cat t/f)" = older`},
		{"a folder that is removed gets a file", `rm -r t`, `echo host >t/host`, `test -e t/host -a ! -e t/none`},
		{"a folder is exchanged", `echo call >t/f`, `mv t t.bak; mkdir t; cp -p $HOME/old t/f`, `test "$(cat t/f)" = older`},
		{"a new name is taken", `echo call >t/n`, `cp -p $HOME/old t/n`, `test "$(cat t/n)" = older`},
		{"a hidden file is replaced", `rm -r t; mkdir t; echo call >t/n`, `cp -p $HOME/old t/tmp; mv t/tmp t/f`, `test "$(cat t/f)" = older`},
		{"a name is taken in a folder that is not written to", `chmod 755 ro; echo call >ro/n; chmod 555 ro`, `chmod 755 ro; echo host >ro/n; chmod 555 ro`, `test "$(cat ro/n)" = host -a $(stat -c %a ro) = 555`},
		{"a mode is changed", `chmod 711 t`, `chmod 700 t`, `test $(stat -c %a t) = 700`},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, `echo older >../old; touch -d 2020-01-01 ../old; mkdir t; echo f >t/f; mkdir ro; chmod 555 ro`)
			said, code := m.confined(t, a.call+`; echo z >zz`, m.whileCopied(t, a.host), mayRemove+"=1")
			require.Equal(t, NothingKept, code, said)
			require.Contains(t, said, "was copied back")
			m.sh(t, m.ws, a.see)
		})
	}
}

// A folder that is protected keeps its time.
func TestOverlay_AProtectedFolderKeepsItsTime(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p .claude/x secrets lib; touch -d @7 .claude/x .claude secrets lib`)
	said, code := m.confined(t, `touch -d @8 .claude/x .claude secrets lib .github`)
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `test "$(stat -c %Y .claude/x .claude secrets lib | xargs)" = '7 7 7 8' -a "$(stat -c %Y .github)" -gt 8`)
}

// whileCopied has a script run before the first change of the workspace.
func (m machine) whileCopied(t *testing.T, script string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(m.dir+"/during.sh", []byte(script), 0o600))
	return whileCopied + "=" + m.dir + "/during.sh"
}

// Names of one file are written one after the other, also if the file has a time to come.
func TestOverlay_OurOwnChangesEndNoCopy(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `echo x >a1; ln a1 a2; ln a1 a3`)
	for _, script := range []string{
		`echo x >p; ln p q; touch -d 2099-01-01 p`,
		`echo y >p; echo y >q; chmod 600 p; echo n >n; echo 1 >a1; echo 2 >a2; rm a3`,
		`rm p q`,
	} {
		said, code := m.confined(t, script, mayRemove+"=1")
		require.Equal(t, 0, code, said)
	}
	m.sh(t, m.ws, `test "$(cat a1 a2 n | tr '\n' ' ')" = "1 2 n " -a ! -e p -a ! -e a3`)
}

// Work that cannot be moved into the quarantine stays where it is, which is said, until it can.
func TestOverlay_WorkIsNeverDroppedForWantOfAQuarantine(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	dir := stateOf(m.state, m.ws)
	said, code := m.during(t, `echo x >.envrc; echo precious >work`, "chmod 500 "+dir+"/quarantine")
	require.Equal(t, NothingKept, code, said)
	require.Contains(t, said, dir+"/call/upper")
	require.FileExists(t, dir+"/call/upper/work")
	said, code = m.confined(t, `true`)
	require.Equal(t, NotConfined, code, said)
	require.FileExists(t, dir+"/call/upper/work")
	m.sh(t, m.ws, "chmod 700 "+dir+"/quarantine")
	said, code = m.confined(t, `true`)
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, "cd "+dir+"/quarantine; chmod 700 *; cat */work")
}

// A file that was being copied from another file system is removed by the next call; holes stay holes.
func TestOverlay_FromAnotherFileSystem(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.state = inShm(t)
	said, code := m.confined(t, `truncate -s 300M holes; echo x >h1; dd if=/dev/zero of=holes bs=4k count=1 seek=9 conv=notrunc 2>/dev/null`)
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `test $(stat -c %s holes) = 314572800 -a $(stat -c %b holes) -lt 1000`)
	_, code = m.confined(t, `echo y >h1; echo y >h2`, killedAt+"=2")
	require.Equal(t, -1, code)
	m.sh(t, m.ws, `echo half >"$(cat `+stateOf(m.state, m.ws)+`/call/keep)"; ls -A | grep approvalbot-`)
	said, code = m.confined(t, `true`)
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `! ls -A | grep approvalbot-`)
}

// lister prints a tree as it means something: names, kinds, modes, times, contents, targets.
const lister = `
import os, hashlib, stat
def show(path):
    s = os.lstat(path)
    what = ""
    if stat.S_ISREG(s.st_mode): what = hashlib.sha256(open(path, "rb").read()).hexdigest()[:12]
    if stat.S_ISLNK(s.st_mode): what = os.readlink(path)
    print(ascii(path), oct(s.st_mode), s.st_mtime_ns, what)
    if stat.S_ISDIR(s.st_mode):
        for name in sorted(os.listdir(path)): show(os.path.join(path, name))
`

// worker changes a tree at random.
const worker = lister + `
import random, shutil, sys
r = random.Random(int(sys.argv[1]))
def places():
    return [d for d, _, _ in os.walk(".")]
def things():
    return [os.path.join(d, n) for d, ds, fs in os.walk(".") for n in ds + fs]
for i in range(200):
    d, name = r.choice(places()), r.choice(["a", "b b", "c \u00e9"]) + str(r.randrange(2))
    path, all = os.path.join(d, name), things()
    one = r.choice(all) if all else path
    try:
        match r.randrange(13):
            case 0 | 1: os.mkdir(path)
            case 2 | 3 | 4: open(path, "w").write(str(r.random()) * r.randrange(50))
            case 5: open(one, "a").write("more")
            case 6: open(one, "r+").truncate(r.randrange(9))
            case 7: shutil.rmtree(one) if os.path.isdir(one) and not os.path.islink(one) else os.unlink(one)
            case 8: os.rename(one, path)
            case 9: shutil.move(one, path)
            case 10: os.chmod(one, r.choice([0o755, 0o555] if os.path.isdir(one) else [0o644, 0o755, 0o600, 0o444, 0o555, 0o700, 0o750]))
            case 11: os.utime(one, ns=(r.randrange(10**18), r.randrange(10**18)), follow_symlinks=False)
            case 12: os.link(one, path)
    except (OSError, shutil.Error): pass
for d, _, _ in os.walk("."):
    if r.randrange(4) == 0 and d != ".": os.chmod(d, 0o555)
show(".")
`

// After a call the workspace is what the call saw at its end: a property of random changes, calls in a row, with the
// state on the same file system and on another.
func TestOverlay_TheWorkspaceIsWhatTheCallSaw(t *testing.T) {
	needsConfinement(t)
	states := []string{""}
	if unix.Access("/dev/shm", unix.W_OK) == nil {
		states = append(states, "/dev/shm")
	}
	for _, other := range states {
		for seed := range 6 {
			t.Run(fmt.Sprint(other, seed), func(t *testing.T) {
				t.Parallel()
				m := newMachine(t)
				m.ws = m.home + "/random"
				require.NoError(t, os.Mkdir(m.ws, 0o755))
				if other != "" {
					state, err := os.MkdirTemp(other, "confine-")
					require.NoError(t, err)
					t.Cleanup(func() { opened(t, state); assert.NoError(t, os.RemoveAll(state)) })
					m.state = state
				}
				for call := range 4 {
					cmd := exec.Command("/proc/self/exe", m.state, m.ws, "python3", "-c", worker, fmt.Sprint(seed*10+call))
					cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1", mayRemove+"=1")
					seen, err := cmd.CombinedOutput()
					require.NoError(t, err, "%s", seen)
					show := exec.Command("python3", "-c", lister+`show(".")`)
					show.Dir = m.ws
					is, err := show.CombinedOutput()
					require.NoError(t, err)
					require.Equal(t, string(seen), string(is))
				}
			})
		}
	}
}

// A wrapper that is killed while it copies back leaves each file as it was or as the call left it; the rest is in the
// quarantine, and the next call does not go on with it.
func TestOverlay_AKilledCopyIsNotGoneOnWith(t *testing.T) {
	needsConfinement(t)
	const script = `mkdir -p new/x/y; for i in 1 2 3; do echo $i >new/x/$i; echo $i >new/x/y/$i; done; rm main.go; rm -r builds; mkdir builds; echo b >builds/b
rm -r ways2; mkdir ways2; echo kept >ways2/two; echo three >ways2/three; rm way2; mkdir way2; echo x >way2/x; echo more >>clean2.sh; chmod 755 clean2.sh; rm -r gone; mkdir -p gone/in; echo n >gone/in/n`
	before := `mkdir ways2 gone gone/in; echo one >ways2/one; echo two >ways2/two; echo w >way2; echo c >clean2.sh; echo g >gone/in/g`
	whole := newMachine(t)
	whole.sh(t, whole.ws, before)
	said, code := whole.confined(t, script, mayRemove+"=1")
	require.Equal(t, 0, code, said)
	want := whole.seenFiles()
	for at := range 30 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, before)
			was := m.seenFiles()
			_, code := m.confined(t, script, killedAt+"="+fmt.Sprint(at), mayRemove+"=1")
			left := m.seenFiles()
			said, next := m.confined(t, `true`)
			require.Equal(t, 0, next, said)
			require.Equal(t, code == -1, strings.Contains(said, "copied back in part, and the rest is in "+m.state), said)
			require.Empty(t, differs(left, m.seenFiles()))
			if code != -1 {
				require.Empty(t, differs(want, left))
			}
			for rel, is := range left {
				if strings.HasPrefix(is, "-") { // a folder may have the mode and time that it has meanwhile
					require.Contains(t, []string{was[rel], want[rel]}, is, rel)
				}
			}
		})
	}
}

// The newest five of the calls of which nothing was kept are in the quarantine, closed, and what is deep is removed too.
func TestOverlay_TheQuarantineIsClosedAndBounded(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	deep := `python3 -c '
import os
for i in range(3000):
    os.mkdir("d"); os.chdir("d")
open("f","w").write("x")'`
	for i := range mostQuarantined + 2 {
		said, code := m.confined(t, deep+`; mkdir -m 0 shut; echo x >.envrc`)
		require.Equal(t, NothingKept, code, said)
		all, err := os.ReadDir(stateOf(m.state, m.ws) + "/quarantine")
		require.NoError(t, err)
		require.Len(t, all, min(i+1, mostQuarantined))
		for _, f := range all {
			info, err := f.Info()
			require.NoError(t, err)
			require.Equal(t, os.ModeDir, info.Mode())
		}
	}
	require.NoError(t, os.Chmod(stateOf(m.state, m.ws), 0o700))
	left, err := os.ReadDir(stateOf(m.state, m.ws))
	require.NoError(t, err)
	for _, f := range left {
		require.NotEqual(t, "call", f.Name())
	}
	left, err = os.ReadDir(stateOf(m.state, m.ws) + "/deep")
	require.NoError(t, err)
	require.Empty(t, left)
}

// Folders that their owner may not write to or look into come back as the call left them.
func TestOverlay_ClosedFolders(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p old/in; echo x >old/in/f; chmod 555 old old/in`)
	said, code := m.confined(t, `mkdir -p new/in; echo z >new/in/f; chmod 555 new; chmod 755 old/in; rm old/in/f; chmod 500 old/in`, mayRemove+"=1")
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `test "$(stat -c %a new old old/in | tr '\n' ' ')" = "555 555 500 "; cat new/in/f; test ! -e old/in/f`)
	m.refused(t, ".", `mkdir v; echo SECRET >v/.env; chmod 444 v`, `made the folder "v" unreadable`)
	m.sh(t, m.ws, `mkdir shut; echo x >shut/.env; chmod 444 shut`)
	said, code = m.confined(t, `chmod 755 shut; cat shut/.env`)
	require.Equal(t, NotConfined, code, said)
	require.Contains(t, said, `has a folder "shut" that cannot be looked into; allow it with chmod u+rx`)
}

// Sockets, pipes, devices and set-id bits of a call are not copied; a pipe and a socket of the host are not reached.
func TestOverlay_SpecialFilesAreNotCopied(t *testing.T) {
	needsConfinement(t)
	host := newMachine(t)
	host.sh(t, host.ws, `mkdir data; mkfifo data/p; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("data/s")'`)
	touched, code := host.confined(t, `chmod -R u+rwX data; touch data/s data/p`)
	require.Equal(t, 0, code, touched)
	host.sh(t, host.ws, `test -p data/p -a -S data/s`)
	for _, line := range []string{`mv data/s data/t`, `mv data new`, `mv data/p data/t; echo x >data/p`, `mv data/s t; mkdir data/s`, `mv -f data/p main.go`,
		`mv -f data/s data/p`, `mv -f data/p data/s`, `mv data/s x; mv data/p data/s; mv x data/p`, `rm data/s; mkfifo data/s`, `rm data/p; rm data/s; mkfifo data/s`} {
		moved, code := host.confined(t, line)
		require.Equal(t, NothingKept, code, moved)
		require.Contains(t, moved, "moved a socket or a pipe")
		host.sh(t, host.ws, `test -p data/p -a -S data/s`)
	}
	removed, code := host.confined(t, `rm data/s; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("data/s")'`)
	require.Equal(t, 0, code, removed)
	for _, line := range []string{`rm data/s`, `rm data/p`, `rm data/p; echo x >data/p`, `rm -r data`} { // a service is reached by them
		host.refused(t, ".", line, "may not change without asking")
	}
	host.sh(t, host.ws, `mkdir tmp; mkfifo tmp/p`)
	removed, code = host.confined(t, `rm tmp/p`)
	require.Equal(t, 0, code, removed)
	m := newMachine(t)
	m.sh(t, m.ws, `mkfifo theirs`)
	reader := exec.Command("cat", m.ws+"/theirs")
	var got strings.Builder
	reader.Stdout = &got
	require.NoError(t, reader.Start())
	said, code := m.confined(t, `timeout 1 sh -c 'echo x >theirs'; mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'
echo x >id; chmod 6755 id; rm main.go; mkfifo main.go; mkdir -p d; chmod 2775 d; echo done`)
	require.Equal(t, []any{"done\n", 0}, []any{said, code})
	_ = reader.Process.Kill()
	_ = reader.Wait()
	require.Empty(t, got.String())
	m.sh(t, m.ws, `test "$(stat -c %a id)" = 755; test ! -e pipe -a ! -e s -a -p theirs -a ! -e main.go`)
}

// A new file or folder is not one that all may write to, by one call or two: policy asks about such a mode.
func TestOverlay_NewFilesAreNotForAllToWrite(t *testing.T) {
	needsConfinement(t)
	for _, state := range []string{"", inShm(t)} {
		m := newMachine(t)
		if state != "" {
			m.state = state
		}
		said, code := m.confined(t, `umask 0; echo x >n; mkdir -p d/e; echo x >d/f; chmod 1777 d/e; rm main.go`)
		require.Equal(t, 0, code, said)
		said, code = m.confined(t, `echo x >main.go; chmod 777 main.go`)
		require.Equal(t, 0, code, said)
		m.sh(t, m.ws, `test "$(stat -c %a n d d/f d/e main.go | tr '\n' ' ')" = "664 775 664 1775 775 "`)
	}
}

// No folder that is shown has the state in it, or the workspace as it is without masks.
func TestOverlay_NoOtherPathLeadsToTheWorkspace(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.dir, `mkdir -p srv/state srv/app; echo `+secretText+` >srv/app/.env; echo shown >srv/text; chmod 755 .`)
	m.state, m.ws = m.dir+"/srv/state", m.dir+"/srv/app"
	said, code := m.confined(t, `cat ../text; echo x >new; find .. -name 'upper*'; ls ../state; grep -r `+secretText[:6]+` /proc/self/cwd/.. 2>/dev/null; grep -c overlay /proc/self/mountinfo; echo x >../y`, shows+"="+m.dir+"/srv")
	require.NotContains(t, said, secretText)
	require.NotContains(t, said, "upper")
	require.Contains(t, said, "shown")
	require.NotZero(t, code)
	require.FileExists(t, m.ws+"/new")
}

// If the first of two workspaces is not all copied back, by a kill or an error, the other's work goes to the quarantine.
func TestOverlay_TheSecondWorkspaceIsNotCopiedAfterTheFirstFailed(t *testing.T) {
	needsConfinement(t)
	for _, env := range []string{killedAt + "=1", ""} {
		m := newMachine(t)
		if env == "" {
			env = m.whileCopied(t, "echo host >first")
		}
		other := m.home + "/zother"
		require.NoError(t, os.Mkdir(other, 0o755))
		run := func(script, env string) string {
			cmd := exec.Command("/proc/self/exe", m.state, m.ws, "sh", "-c", script)
			cmd.Dir, cmd.Env = m.ws, append(m.env(env), asWrapper+"=1", more+"="+other)
			said, _ := cmd.CombinedOutput()
			return string(said)
		}
		said := run("echo x >first; echo precious >"+other+"/made", env)
		require.NoFileExists(t, other+"/made", said)
		said += run("true", "")
		require.NoFileExists(t, other+"/made", said)
		m.sh(t, m.ws, "cd "+stateOf(m.state, other)+"/quarantine; chmod 700 *; cat */made")
	}
}

// A file with a name in each of two workspaces, as uv and pnpm make them, is written in both.
func TestOverlay_AFileWithANameInEachWorkspaceIsKept(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	other := m.home + "/other"
	m.sh(t, m.ws, "mkdir "+other+"; echo v1 >shared; ln shared "+other+"/shared")
	cmd := exec.Command("/proc/self/exe", m.state, m.ws, "sh", "-c", "echo new >shared; echo new >"+other+"/shared")
	cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1", more+"="+other)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	for _, dir := range []string{m.ws, other} {
		text, err := os.ReadFile(dir + "/shared")
		require.NoError(t, err)
		require.Equal(t, "new\n", string(text), dir)
	}
}

// A secret by its link's name alone that lies in the other workspace could be read there, so nothing runs.
func TestOverlay_ASecretOfTheOtherWorkspaceIsNotShown(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	other := m.home + "/other"
	m.sh(t, m.ws, "mkdir "+other+"; echo K=SECRET >"+other+"/envfile; ln -sf "+other+"/envfile pkg/.env")
	cmd := exec.Command("/proc/self/exe", m.state, m.ws, "cat", other+"/envfile")
	cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1", more+"="+other)
	said, _ := cmd.CombinedOutput()
	require.Equal(t, NotConfined, cmd.ProcessState.ExitCode(), "%s", said)
	require.NotContains(t, string(said), "SECRET")
}

// Two workspaces are kept together or not at all.
func TestOverlay_TwoWorkspacesAreKeptTogether(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	other := m.home + "/other"
	require.NoError(t, os.Mkdir(other, 0o755))
	for _, plant := range []string{"", "; echo x >" + other + "/.envrc"} {
		cmd := exec.Command("/proc/self/exe", m.state, m.ws, "sh", "-c", "echo x >made; echo y >"+other+"/made"+plant)
		cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1", more+"="+other)
		said, _ := cmd.CombinedOutput()
		if plant == "" {
			require.Equal(t, 0, cmd.ProcessState.ExitCode(), "%s", said)
			m.sh(t, m.ws, `rm made `+other+`/made`)
			continue
		}
		require.Equal(t, NothingKept, cmd.ProcessState.ExitCode(), "%s", said)
		require.NoFileExists(t, m.ws+"/made")
		require.NoFileExists(t, other+"/made")
	}
}

// A change in the second in which the call began may be one since, where only seconds are told.
func TestOverlay_ChangesSinceTheCallBegan(t *testing.T) {
	j := judgement{began: 100_500_000_000}
	for changed, since := range map[unix.Timespec]bool{{Sec: 100}: true, {Sec: 101}: true, {Sec: 99}: false, {Sec: 100, Nsec: 1}: false,
		{Sec: 100, Nsec: 500_000_000}: true} {
		require.Equal(t, since, j.since(unix.Stat_t{Ctim: changed}), "%v", changed)
	}
}

// Links of the user that are long to follow, by names that may make secrets of files, are refused soon; all others are not
// followed.
func TestLinks_AreFollowedForABoundedTime(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p a/b; python3 -c 'import os
for i in range(3000): os.symlink("b/.." * 1000, "a/l%d" % i)'`)
	said, code := m.confined(t, "true")
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `mv a .a; mkdir -p a/b`)
	said, code = m.confined(t, "true")
	require.Equal(t, NotConfined, code, said)
	require.Contains(t, said, "lead through too many folders")
}

// A folder of many files to which many links lead is not read again and again before each call.
func TestLinks_ToFoldersAreReadForABoundedTime(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir big; (cd big; seq 20000 | xargs touch); for i in $(seq 15); do mkdir a$i; ln -s ../big a$i/.next; done`)
	said, code := m.confined(t, "true")
	require.Equal(t, NotConfined, code, said)
	require.Contains(t, said, "too many links to and in folders of secrets")
}
