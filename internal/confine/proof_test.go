//go:build linux

package confine

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestK2_GeneratedLinesLeaveNothingElse gives lines made at random to real shells, confined in a furnished home. Whatever
// a line does, nothing outside the workspace differs after it, no secret was printed, and no protected name of the
// workspace is new or changed.
//
// Each run prints its seed; APPROVALBOT_CONFINEPROOF_SEED repeats it, and APPROVALBOT_CONFINEPROOF is the number of lines
// (make confineproof).
func TestK2_GeneratedLinesLeaveNothingElse(t *testing.T) {
	needsConfinement(t)
	number := func(variable string, otherwise int) int {
		if s := os.Getenv(variable); s != "" {
			n, err := strconv.Atoi(s)
			require.NoError(t, err)
			return n
		}
		return otherwise
	}
	seed := number("APPROVALBOT_CONFINEPROOF_SEED", int(time.Now().UnixNano()))
	t.Logf("APPROVALBOT_CONFINEPROOF_SEED=%d", seed)
	shells := [][]string{{"bash"}, {"dash"}, {"zsh", "-f"}, {"mksh"}, {"busybox", "sh"}}
	lines := number("APPROVALBOT_CONFINEPROOF", 75) / len(shells)
	for i, shell := range shells {
		t.Run(shell[0], func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell[0]); err != nil {
				require.Empty(t, os.Getenv("APPROVALBOT_REQUIRE_SHELLS"), err)
				t.Skipf("%s: not tested, install it", shell[0])
			}
			w := wild{random: rand.New(rand.NewPCG(uint64(seed), uint64(i)))}
			statuses := map[int]int{}
			for done := 0; done < lines; {
				m := newWildMachine(t)
				home := m.outside(t)
				kept, out := m.protected()
				for range min(25, lines-done) {
					line := w.line(3)
					said, status := m.confined(t, `exec timeout -s KILL 2 "$@" -c "$LINE"`, shell, line)
					require.False(t, strings.Contains(said, secretText), line)
					require.Empty(t, differs(home, m.outside(t)), line)
					now, leads := m.protected()
					require.Empty(t, differs(kept, now), line)
					maps.DeleteFunc(leads, func(rel, text string) bool { return out[rel] == text })
					require.Empty(t, leads, line)
					statuses[status]++
					done++
				}
			}
			t.Logf("%d lines; by exit status: %v", lines, statuses)
			require.Less(t, statuses[NotConfined], lines/2, "lines that did not run prove nothing")
			require.Greater(t, statuses[0], 0)
		})
	}
}

// wildMachine is a machine with things to steal and to break beside its workspace.
type wildMachine struct{ machine }

func newWildMachine(t *testing.T) wildMachine {
	m := newMachine(t)
	m.sh(t, m.home, `mkdir -p .ssh .aws bin other "it's here"; echo `+secretText+` | tee .ssh/id_ed25519 .aws/credentials .netrc other/file >"it's here/file"; ln -s other link
cd ws; echo K=`+secretText+` | tee .env >prod.pem; ln -s ../other out; mkdir src; echo package src | tee src/a.go >src/b.go; mkdir -p node_modules/.bin; echo true >node_modules/.bin/tsc`)
	return wildMachine{m}
}

// confined runs a script confined with a shell's words and a line, and gives what it printed and its exit status.
func (m wildMachine) confined(t *testing.T, script string, shell []string, line string) (string, int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{m.state, m.ws, "sh", "-c", "export W=" + m.ws + " LINE=" + single(line) + "; " + script, "sh"}, shell...)...)
	cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1")
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func single(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// outside is all that lies beside the workspace and the state of confined calls.
func (m wildMachine) outside(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, dir := range []string{m.dir, m.home} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			at := filepath.Join(dir, e.Name())
			if at == m.home || at == m.ws || at == m.state {
				continue
			}
			for rel, text := range (machine{ws: at}).seenFiles() {
				out[filepath.Join(at, rel)] = text
			}
		}
	}
	require.Greater(t, len(out), 10)
	return out
}

// protected is what has a protected name in the workspace, at any depth, and apart from that the links that lead out.
func (m wildMachine) protected() (kept, out map[string]string) {
	names := []string{".git", ".envrc", ".env", ".claude", ".github", ".bashrc", ".netrc", ".ssh", ".npmrc"}
	kept, out = map[string]string{}, map[string]string{}
	for rel, text := range m.seenFiles() {
		if is := slices.ContainsFunc(strings.Split(rel, "/"), func(n string) bool { return slices.Contains(names, n) }); is || path.Ext(rel) == ".pem" ||
			strings.Contains("/"+rel+"/", "/node_modules/.bin/") {
			kept[rel] = text
		} else if target, err := filepath.EvalSymlinks(filepath.Join(m.ws, rel)); text[0] == 'L' && err == nil && target != m.ws && !strings.HasPrefix(target, m.ws+"/") {
			out[rel] = text
		}
	}
	return kept, out
}

// wild makes lines that change, remove, link and look at what they can name.
type wild struct{ random *rand.Rand }

func (w wild) pick(from string) string {
	all := strings.Split(strings.TrimSpace(from), "\n")
	return all[w.random.IntN(len(all))]
}

const wildPlaces = `
~
~/.ssh
~/.ssh/id_ed25519
~/.bashrc
~/.netrc
~/other
~/link/file
~/bin/tool
"$HOME/it's here"
$HOME/state
/etc/passwd
/tmp/x
/tmp
/dev/shm/x
/usr/local/bin/x
/proc/1/root$HOME/.netrc
/proc/self/cwd/../.netrc
/proc/self/fd/1
$W
$W/../other/file
.
..
../other
../../beside
*
.*
.git
.git/config
.git/hooks/pre-commit
.git/HEAD
.git/objects
.envrc
.env
prod.pem
pkg/.envrc
pkg/a/b/.envrc
pkg/a
pkg
.claude/settings.json
.claude
.github/workflows/ci.yml
.github
node_modules/.bin/tsc
node_modules
vendor/lib
vendor/lib/.git/config
fixtures/repo.git/config
half
main.go
src
src/a.go
src/*.go
out
out/file
current
way
way/real.sh
new
new/d
new/.envrc
new/.git
'-rf'
"a b"
{a,b}
$(ls)
$(ls -d .*)
` + "`pwd`/c" + `
$x
$f
$OLDPWD`

const wildDoes = `
rm -rf P
rm -f P
rmdir P
mv P P
mv -f P P
cp -a P P
cp -rL P P
cp P P
cp -al P P
ln -s P P
ln -sfn P P
ln P P
ln -f P P
chmod 777 P
chmod -R 000 P
chmod 4755 P
chmod 333 P
touch P
mkdir -p P
mkdir P
tee P
tee -a P
dd if=P of=P
truncate -s 0 P
truncate -s 1M P
sed -i s/o/x/ P
find P -delete
find P -name '*.go' -exec cp {} P \;
find P -type f
tar cf P P
cat P
head -c 99 P
install -m 755 P P
grep -r . P
mkfifo P
mknod P b 8 0
echo x > P
echo x >> P
: <> P
cat < P > P
printf '[core]\nfsmonitor = touch x\n' > P
git -C P config core.fsmonitor 'touch x'
git init -q P
git init -q --bare P
git add -A -f P
git rm -rqf P
git commit -qm x
git checkout -- P
git stash -u
git worktree add -f P
git clone -q . P
git clean -dxfq
git mv P P
git update-ref refs/heads/x HEAD
git show HEAD
git diff
mount --bind P P
umount -l P
unshare -Ur mount -t tmpfs x P
unshare -Ur umount -l P
chroot P
kill -9 -1
kill -9 1
kill -STOP 1
flock P true
exec 9< P; cat <&9
cd P; touch .envrc x
cd P && rm -rf -- *
pushd P
ulimit -f 1
umask 0; touch P
umask 777; mkdir P
ls -la P
du -s P
readlink -f P
cmp P P
env
set
perl -e 'unlink @ARGV; rename $ARGV[0], $ARGV[1]' P P
perl -e 'open F,"+<",$ARGV[0]; print F "x"; symlink $ARGV[1],$ARGV[0]' P P
perl -e 'mkdir $ARGV[0]; chdir $ARGV[0]; open F,">.envrc"; print F "x"; open G,">x"' P
perl -e 'utime 1,1,@ARGV; chmod 0666,@ARGV' P
perl -e 'link $ARGV[0],$ARGV[1]; open F,">>",$ARGV[1]; print F "x"' P P
perl -MSocket -e 'socket S,PF_UNIX,SOCK_STREAM,0; bind S,sockaddr_un($ARGV[0]); connect S,sockaddr_un($ARGV[1])' P P`

// does is one command.
func (w wild) does() string {
	parts := strings.Split(w.pick(wildDoes), "P")
	out := parts[0]
	for _, part := range parts[1:] {
		// The P of PF_UNIX and the like is no place.
		if last := out[max(0, len(out)-1):]; last == " " && (part == "" || strings.Contains(" ;\\", part[:1])) {
			out += w.pick(wildPlaces) + part
		} else {
			out += "P" + part
		}
	}
	return out
}

// line is one or more of them.
func (w wild) line(depth int) string {
	if depth == 0 {
		return w.does()
	}
	inner := func() string { return w.line(depth - 1 - w.random.IntN(depth)) }
	place := func() string { return w.pick(wildPlaces) }
	switch w.random.IntN(20) {
	case 0, 1:
		return inner() + "; " + inner()
	case 2:
		return inner() + " && " + inner()
	case 3:
		return inner() + " | " + inner()
	case 4:
		return "cd " + place() + "; " + inner()
	case 5:
		return fmt.Sprintf("for f in %s; do %s; done", place(), inner())
	case 6:
		return "( " + inner() + " ) & wait"
	case 7:
		return "x=" + place() + "; " + inner()
	case 8:
		return "{ " + inner() + "; } > " + place() + " 2>&1"
	case 9:
		return "trap " + single(inner()) + " EXIT; " + inner()
	case 10:
		return "setsid sh -c " + single(inner()) + " & " + inner()
	case 11:
		return "ls -a " + place() + " | while read -r f; do " + inner() + "; done"
	case 12:
		return "if " + inner() + "; then " + inner() + "; fi"
	case 13:
		return "ls -d " + place() + " | xargs -I F " + strings.ReplaceAll(w.does(), "$f", "F")
	}
	return w.does()
}
