//go:build linux

package confine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// needsConfinement says loudly if nothing can be confined here.
func needsConfinement(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	err := Check(context.Background(), filepath.Join(dir, "state"), dir)
	if err != nil && os.Getenv("APPROVALBOT_REQUIRE_CONFINE") != "" {
		t.Fatal(err)
	}
	if err != nil {
		t.Skipf("confined calls: not tested, %v", err)
	}
}

// wrapped is the wrapper's process for a script in the workspace, not started yet.
func (m machine) wrapped(script string, env ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", m.state, m.ws, "sh", "-c", script)
	cmd.Dir, cmd.Env = m.ws, append(m.env(env...), asWrapper+"=1")
	return cmd
}

// confined runs a script confined, and gives what it printed and its exit status.
func (m machine) confined(t *testing.T, script string, env ...string) (string, int) {
	t.Helper()
	cmd := m.wrapped(script, env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		require.NoError(t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// during runs a script confined, and one of the host before it has ended.
func (m machine) during(t *testing.T, call, host string, then ...func()) (string, int) {
	t.Helper()
	cmd := m.wrapped(call + `; echo ready; cat`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	var said strings.Builder
	cmd.Stderr = &said
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 6))
	require.NoError(t, err)
	m.sh(t, m.ws, host)
	for _, do := range then {
		do()
	}
	require.NoError(t, in.Close())
	_ = cmd.Wait()
	return said.String(), cmd.ProcessState.ExitCode()
}

// The command's own streams and exit status come through.
func TestRun_IsTheCommandsOwn(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	cmd := m.wrapped(`cat; echo err >&2; exit 7`)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("in"), &out, &errs
	require.Error(t, cmd.Run())
	require.Equal(t, []any{"in", "err\n", 7}, []any{out.String(), errs.String(), cmd.ProcessState.ExitCode()})
	said, code := m.confined(t, `kill -9 $$`)
	require.Equal(t, 137, code, said)
	said, code = m.confined(t, `echo new >new.txt && echo done`)
	require.Equal(t, []any{"done\n", 0}, []any{said, code})
	require.FileExists(t, m.ws+"/new.txt")
	said, code = m.confined(t, `cat .envrc; git status --short`)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "export A=1", "what is in the repository's objects is no secret from it")
	m.sh(t, m.ws, `echo `+secretText+` >>.envrc; git gc -q`)
	said, _ = m.confined(t, `cat .envrc pkg/a/b/.envrc`)
	require.NotContains(t, said, secretText)
	require.Contains(t, said, "export B=1")
}

const secretText = "SECRET-5f2b"

// K1: no secret of a furnished home and machine is read.
func TestK1_NoSecretIsRead(t *testing.T) {
	needsConfinement(t)
	furnished := func(t *testing.T) machine {
		m := newMachine(t)
		m.sh(t, m.home, `
mkdir -p .ssh .aws .config/gh .cache/x .docker other
for f in .ssh/id_ed25519 .aws/credentials .netrc .config/gh/hosts.yml .cache/x/token .docker/config.json .bash_history other/file .npmrc; do echo `+secretText+` >$f; done
cd ws; echo `+secretText+` >.env; echo `+secretText+` >prod.pem; ln .env innocent.txt; ln -s .env link; mkdir conf linked; echo `+secretText+` >conf/dev.vars2; ln -s ../conf/dev.vars2 linked/.env; mkdir k d bare bare/logs bare/refs; echo `+secretText+` >k/config; ln -s k .kube; echo `+secretText+` >d/other; ln -s other d/config.json; ln -s d .docker; echo x >bare/HEAD; echo `+secretText+` >bare/logs/id_rsa; echo `+secretText+` >bare/refs/server.pem; ln -s $HOME/.ssh/id_ed25519 key
mkdir -p creds pn pm/deep; echo `+secretText+` >pm/deep/v.json; ln -s ../pn creds/two; ln -s ../pm pn/up; ln -s . creds/loop; mkdir conf; echo `+secretText+` >conf/client.yaml; ln -s conf approvalbot
for f in approvalbot.operator.yaml approvalbot.yaml approvalbot.db approvalbot.operator.token; do echo `+secretText+` >$f; done
mkdir deep; echo `+secretText+` >deep/credentials.json; ln -s $HOME up; echo `+secretText+` >pkg/.npmrc`)
		require.NoError(t, os.WriteFile(m.dir+"/beside", []byte(secretText), 0o644))
		return m
	}
	ways := strings.Split(`cat $HOME/.ssh/id_ed25519 $HOME/.aws/credentials $HOME/.netrc
cat $HOME/.config/gh/hosts.yml $HOME/.docker/config.json $HOME/.bash_history
cat $HOME/.cache/x/token $HOME/.npmrc $HOME/other/file
cat .env
cat prod.pem deep/credentials.json pkg/.npmrc
cat approvalbot.operator.yaml approvalbot.yaml approvalbot.db approvalbot.operator.token
cat approvalbot/client.yaml conf/client.yaml
cat creds/two/up/deep/v.json pm/deep/v.json creds/loop/two/up/deep/v.json
cat innocent.txt
cat link key
cat conf/dev.vars2; cat linked/.env
cat .kube/config k/config .docker/config.json d/config.json d/other
cat bare/logs/id_rsa bare/refs/server.pem
cat up/.netrc up/other/file
cat ../.netrc ../../beside
cp .env x; cat x
ln .env x; cat x
mv .env x; cat x
mv deep d2; cat d2/credentials.json
cp -r deep d3; cat d3/credentials.json
tar cf - . | cat
rm -f .env; cat .env
umount .env; cat .env
umount -l .env; cat .env
mount --bind / /tmp; cat /tmp$HOME/.netrc
unshare -Ur mount -t tmpfs x /tmp; unshare -Ur umount .env; cat .env
unshare -Um cat .env
nsenter -t 1 -m cat $HOME/.netrc
cat /proc/1/root$HOME/.netrc /proc/self/root$HOME/.netrc /proc/*/root$HOME/.netrc
cat /proc/*/cwd/.env /proc/*/cwd/../.netrc
cat /proc/*/environ
cat /proc/*/cmdline
for f in /proc/*/fd/*; do timeout 1 head -c 4096 $f/.netrc $f/../.netrc; done
for n in 3 4 5 6 7 8 9; do head -c 4096 /proc/self/fd/$n; head -c 4096 <&$n; done 2>/dev/null
env
git add -f .env && git show :.env
git stash -u -a; git show stash@{0}:.env; git show stash@{0}^3:.env
git diff --no-index /dev/null .env
find / -xdev -type f -size -4k 2>/dev/null | grep -v ^/proc | grep -v ^/usr | xargs -d '\n' grep -l `+secretText+`  | xargs cat
grep -r `+secretText+` /home /root /srv /var /run /mnt /media /tmp 2>/dev/null
cat /proc/keys /proc/1/maps; keyctl show
cat /dev/sd* /dev/vd* /dev/mem /dev/kmsg
mknod d b 254 0; cat d
chroot / cat $HOME/.netrc
cat /etc/shadow /etc/ssh/ssh_host_*_key /etc/ssl/private/*
python3 -c 'import os,sys
for p in range(1,200):
    try: print(open("/proc/%d/mem"%p,"rb").read(10))
    except Exception: pass'
python3 -c 'import os; f=os.open("/",os.O_RDONLY); print(os.listdir("/proc/self/fd")); os.chdir("/proc/self/fd/%d"%f); print(open(".."+os.environ["HOME"]+"/.netrc").read())'
cat /proc/self/mountinfo | head -0; exec 9<.env; cat <&9
perl -e 'open F,"<",".env"; print <F>; sysopen F,"prod.pem",2; print <F>'`, "\n")
	for i := 0; i < len(ways); i++ {
		way := ways[i]
		for strings.Count(way, "'")%2 == 1 { // a script of several lines
			i++
			way += "\n" + ways[i]
		}
		t.Run(strings.ReplaceAll(way, "$", ""), func(t *testing.T) { // its folder is called so
			t.Parallel()
			said, code := furnished(t).confined(t, "( "+way+" )", "FOO="+secretText, "AWS_SECRET_ACCESS_KEY="+secretText)
			require.NotContains(t, said, secretText)
			require.False(t, code == NotConfined && strings.Contains(said, "approvalbot:"), said)
		})
	}
}

// K1: a secret that gets another name on the host while a call runs is not read by that: what the call prints then is
// withheld, and nothing is kept. Other changes of the host do no harm.
func TestK1_NoSecretIsReadByANewName(t *testing.T) {
	needsConfinement(t)
	for change, code := range map[string]int{
		`mv app app2`: NothingKept, `cp -r app app2`: NothingKept, `mv app/.env app/notes`: NothingKept, `ln app/.env notes`: NothingKept, `mv app app2; mv app2 app`: NothingKept,
		`mkdir -p m/n; cp app/.env m/n/.env`: NothingKept, `mv plain secrets`: NothingKept, `cp app/.env fix/.env`: NothingKept, `mv app/.env fix/.env`: NothingKept,
		`cp -r app bare/refs/`: NothingKept, `echo x >.env.new; rm .env.new`: NothingKept, `cp -r app app3; rm -r app3`: NothingKept,
		`mv docs app2`: 0, `mkdir -p new/x; echo x >new/x/y; echo x >app/more`: 0, `cat app/.env >e; echo y >>e; mv e app/.env`: NothingKept, `mkdir -m 300 shut`: NothingKept, `mv docs ../docs; cp -r app ../docs/`: NothingKept, `mkdir -p .git/git-crypt; cp app/.env .git/git-crypt/k`: NothingKept, `cat app/.env >e; cat e >app/.env`: 0,
	} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, `mkdir app docs plain; echo '`+secretText+`' | tee app/.env >plain/x.json; echo x >docs/x; mkdir -p bare/refs; echo x >bare/HEAD; mkdir fix; echo dummy >fix/.env; git add -f fix/.env`)
			cmd := m.wrapped(`cat fix/.env >/dev/null && echo ready; read x; cat app*/.env app/notes notes m/n/.env secrets/x.json fix/.env bare/refs/app/.env docs/app/.env .git/git-crypt/k 2>&1 | tee ~/.cache/told; echo x >made; echo end`)
			in, err := cmd.StdinPipe()
			require.NoError(t, err)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = io.ReadFull(out, make([]byte, len("ready\n")))
			require.NoError(t, err)
			m.sh(t, m.ws, change)
			_, _ = io.WriteString(in, "\n")
			said, _ := io.ReadAll(out)
			_ = cmd.Wait()
			require.Equal(t, code, cmd.ProcessState.ExitCode(), "%s", said)
			if code != 0 {
				require.Empty(t, string(said))
				require.NoFileExists(t, m.ws+"/made")
				quarantined, err := filepath.Glob(stateOf(m.state, m.ws) + "/quarantine/*")
				require.NoError(t, err)
				require.Empty(t, quarantined)
				told, _ := m.confined(t, `cat ~/.cache/told 2>&1`)
				require.NotContains(t, told, secretText)
				return
			}
			require.NotContains(t, string(said), secretText)
			require.Contains(t, string(said), "end")
		})
	}
}

// K1: what a call kept in its private caches whose wrapper was killed, so that it is not known what it read, is not used.
func TestK1_CachesOfAKilledCallAreEmptied(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	said, code := m.confined(t, `echo x >~/.cache/kept`)
	require.Equal(t, 0, code, said)
	said, _ = m.confined(t, `ls -A ~/.cache`)
	require.Equal(t, "kept\n", said)
	cmd := m.wrapped(`echo ready; sleep 1000`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("ready\n")))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	said, _ = m.confined(t, `ls -A ~/.cache; echo end`)
	require.Contains(t, said, "end")
	require.NotContains(t, said, "kept")
}

// K1: nor is one by a name that changes while calls begin.
func TestK1_NoSecretIsReadWhileACallBegins(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir app; echo `+secretText+` >app/.env; for i in $(seq 50); do mkdir d$i; done`)
	cmd := exec.Command("sh", "-c", `until test -e ../end; do mv app app2; mv app2 app; done`)
	cmd.Dir = m.ws
	require.NoError(t, cmd.Start())
	defer func() { m.sh(t, m.home, `touch end`); _ = cmd.Wait() }()
	for range 12 {
		said, code := m.confined(t, `cat app*/.env; ls -R | grep -c env`)
		require.NotContains(t, said, secretText)
		require.NotZero(t, code, "a folder was renamed all the time: %s", said)
	}
}

// K1: a descriptor that the wrapper inherited does not go on to the command.
func TestK1_NoDescriptorIsInherited(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.home, `echo `+secretText+` >.netrc`)
	cmd := m.wrapped(`for n in 3 4 5 6 7 8 9 10 11 12; do cat /proc/self/fd/$n/.netrc; cat /proc/self/fd/$n; echo x >/proc/self/fd/$n/.evil; done 2>/dev/null; python3 -c '
import os
for n in range(3, 20):
    try: print(os.read(os.open(".netrc", os.O_RDONLY, dir_fd=n), 99))
    except OSError: pass
    try: print(os.read(n, 99))
    except OSError: pass'`)
	for range 8 { // bwrap's own take the first numbers
		dir, err := os.Open(m.home)
		require.NoError(t, err)
		file, err := os.Open(m.home + "/.netrc")
		require.NoError(t, err)
		cmd.ExtraFiles = append(cmd.ExtraFiles, dir, file)
	}
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.NotContains(t, string(said), secretText)
	require.NoFileExists(t, m.home+"/.evil")
}

// K1: the wrapper starts no program that a call has put into a folder of PATH.
func TestK1_NoProgramOfTheWorkspaceRunsOutside(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p node_modules/.bin; echo `+secretText+` >.env
for p in git bwrap; do printf '#!/bin/sh\ntouch `+m.mark+`\n' >node_modules/.bin/$p; chmod +x node_modules/.bin/$p; done`)
	said, code := m.confined(t, `true`, "PATH="+m.ws+"/node_modules/.bin:"+os.Getenv("PATH"))
	require.Equal(t, 0, code, said)
	require.NoFileExists(t, m.mark)
}

// K2: file systems are asked nothing by which contents change and times do not; terminals work.
func TestK2_RequestsToFileSystemsAreRefused(t *testing.T) {
	needsConfinement(t)
	said, _ := newMachine(t).confined(t, `python3 -c '
import fcntl, os, errno, termios
f = os.open("main.go", os.O_RDWR)
for request in (0xc028660f, 0x6611, 0xc0c0586d, 0x40285881, 0xc020f509, 0x40046602, 0x5412, 0x541c):
    try: fcntl.ioctl(f, request, bytes(200)); print("went")
    except OSError as e: print(hex(request), errno.errorcode[e.errno])
a, b = os.openpty()
print(termios.tcgetwinsize(b), len(termios.tcgetattr(b)), os.isatty(b))
try: fcntl.ioctl(b, 0x5423, bytes([27, 0, 0, 0])); print("went")
except OSError as e: print(errno.errorcode[e.errno])
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for call in (425, 444, 445, 446, 463, 469, 1000, 0x40000027): print(call, libc.syscall(call, 0, 0, 0, 0, 0, 0), errno.errorcode[ctypes.get_errno()])
import socket
net = socket.socket()
for family, kind, protocol in ((2, 1, 0), (2, 1, 6), (10, 2, 17), (2, 1, 262), (16, 3, 0), (1, 1, 0), (2, 1, 132), (2, 2, 136), (16, 3, 16), (16, 3, 9), (40, 1, 0), (10, 1, 132), (2, 10, 0), (2, 2 | 0o2004000, 0), (2, 2, 58), (2, 3, 1)):
    try: socket.socket(family, kind, protocol).close(); print("made", end=" ")
    except OSError as e: print(errno.errorcode[e.errno], end=" ")
print()
for request in (0x8940, 0x8941, 0x8982, 0x8983, 0x89a0, 0x89a3, 0x8912):
    try: fcntl.ioctl(net, request, bytes(40)); print("went")
    except OSError as e: print(hex(request), errno.errorcode[e.errno])
net.setsockopt(6, 1, 1)
for option in (38, 40):
    try: net.setsockopt(6, option, bytes(300)); print("went")
    except OSError as e: print(option, errno.errorcode[e.errno])
print(libc.prctl(22, 2, 0, 0, 0), errno.errorcode[ctypes.get_errno()])'`)
	require.Contains(t, said, "0xc028660f ENOTTY\n0x6611 ENOTTY\n0xc0c0586d ENOTTY\n0x40285881 ENOTTY\n0xc020f509 ENOTTY\n0x40046602 ENOTTY\n0x5412 ENOTTY\n0x541c ENOTTY\n(0, 0) 7 True\nENOTTY\n"+
		"425 -1 ENOSYS\n444 -1 ENOSYS\n445 -1 ENOSYS\n446 -1 ENOSYS\n463 -1 ENOSYS\n469 -1 ENOSYS\n1000 -1 ENOSYS\n1073741863 -1 ENOSYS\n"+
		"made made made made made made EPROTONOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT EAFNOSUPPORT EPROTONOSUPPORT EPROTONOSUPPORT made EPROTONOSUPPORT EPROTONOSUPPORT \n"+
		"0x8940 ENOTTY\n0x8941 ENOTTY\n0x8982 ENOTTY\n0x8983 ENOTTY\n0x89a0 ENOTTY\n0x89a3 ENOTTY\nwent\n38 ENOPROTOOPT\n40 ENOPROTOOPT\n-1 EINVAL\n",
		"io_uring_setup, those of Landlock, setxattrat, file_setattr, what no kernel has yet, getpid of x32, and a filter of its own: the kernel logs for which it kills")
}

// K4: an end that is asked for comes, though the output is read by no program.
func TestK4_AnOutputThatIsNotReadKeepsNoCall(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	cmd := m.wrapped(`mkdir fresh; echo x >fresh/.envrc; echo ready; exec yes`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 6))
	require.NoError(t, err)
	defer out.Close()
	require.NoError(t, exec.Command("sleep", "0.3").Run()) // the pipes fill
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	state, err := cmd.Process.Wait()
	require.NoError(t, err)
	require.Equal(t, NothingKept, state.ExitCode())
	require.NoFileExists(t, m.ws+"/fresh/.envrc")
}

// K3: no service of the host is reached.
func TestK3_NoServiceIsReached(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = c.Write([]byte(secretText))
				_ = c.Close()
			}
		}()
		return l
	}
	tcp := listen("tcp", "127.0.0.1:0")
	listen("unix", m.home+"/agent.sock")
	listen("unix", m.ws+"/in.sock")
	abstract := "@confine-test-" + filepath.Base(m.dir)
	listen("unix", abstract)
	m.sh(t, m.ws, "mkfifo pipe")
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	unix := func(path string) string {
		return fmt.Sprintf(`python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(%s); print(s.recv(99))'`, path)
	}
	for _, way := range []string{
		`python3 -c 'import socket; s=socket.create_connection(("127.0.0.1",` + port + `)); print(s.recv(99))'`,
		unix(`"` + m.home + `/agent.sock"`), unix(`"` + m.ws + `/in.sock"`), unix(`"\0` + abstract[1:] + `"`),
		unix(`"/run/docker.sock"`), unix(`"/var/run/docker.sock"`), unix(`"/run/dbus/system_bus_socket"`), unix(`"\0/tmp/.X11-unix/X0"`), unix(`"/tmp/.X11-unix/X0"`),
		`ssh-add -l`, `getent hosts example.com`, `python3 -c 'import socket; print(socket.gethostbyname("example.com"))'`,
		`python3 -c 'import socket; s=socket.socket(40,1); s.connect((2,22))'`,
		`python3 -c 'import socket; s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW)'`,
		`python3 -c 'import errno, socket, sys
try: socket.socketpair(socket.AF_NETLINK, socket.SOCK_RAW)
except OSError as e: sys.exit(e.errno == errno.EAFNOSUPPORT)'`,
		`python3 -c 'import socket; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.sendto(b"x",("192.0.2.1",53))'`,
		`timeout 1 sh -c 'echo x >pipe'`,
		`cat /proc/keys /proc/key-users | grep .`,
	} {
		said, code := m.confined(t, way, "SSH_AUTH_SOCK="+m.home+"/agent.sock")
		require.NotContains(t, said, secretText, way)
		require.NotContains(t, []int{0, NotConfined}, code, "%s: %s", way, said)
	}
	said, code := m.confined(t, `python3 -c 'import socket,threading
l=socket.create_server(("127.0.0.1",0)); s=socket.create_connection(l.getsockname()); print("own loopback")'`)
	require.Equal(t, []any{"own loopback\n", 0}, []any{said, code})
}

// A process of the shell that became the wrapper is not waited for.
func TestRun_WaitsForItsOwnProcessesAlone(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	cmd := m.wrapped("true")
	self, err := os.Executable()
	require.NoError(t, err)
	words := []string{"sh", "-c", `sleep 600 >/dev/null 2>&1 & echo $! >&2; exec "$0" "$@"`, self}
	cmd.Path, cmd.Args = "/bin/sh", append(words, cmd.Args[1:]...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
	pid, err := strconv.Atoi(strings.TrimSpace(string(said)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGKILL), "it still runs")
}

// In the background of a terminal the wrapper is not stopped because it reads the command's input there.
func TestRun_InTheBackgroundOfATerminal(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := m.wrapped("sleep 0.5")
	cmd.Path, cmd.Args = "/usr/bin/python3", append([]string{"python3", "-c", `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.execv(sys.argv[1], sys.argv[1:])
    status = os.waitpid(job, os.WUNTRACED)[1]
    os._exit(99 if os.WIFSTOPPED(status) else os.waitstatus_to_exitcode(status))
try:
    while os.read(terminal, 4096): pass
except OSError: pass
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`, self}, cmd.Args[1:]...)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// K4: nothing outlives the call, is signalled by it or goes on growing.
func TestK4_NothingOutlivesTheCall(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	for _, way := range []string{
		`(while :; do echo x >>alive; done) & sleep 0.05`,
		`setsid sh -c 'while :; do echo x >>alive; done' </dev/null >/dev/null 2>&1 & sleep 0.05`,
		`nohup sh -c 'trap "" TERM HUP INT; while :; do echo x >>alive; done' >/dev/null 2>&1 & sleep 0.05`,
		`python3 -c 'import os,time
if os.fork(): time.sleep(0.05); os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
while True: open("alive","a").write("x")'`,
	} {
		said, code := m.confined(t, way)
		require.Equal(t, 0, code, said)
		before, err := os.ReadFile(m.ws + "/alive")
		require.NoError(t, err)
		require.NotEmpty(t, before)
		after, err := exec.Command("sh", "-c", "sleep 0.2; cat "+m.ws+"/alive").Output()
		require.NoError(t, err)
		require.Equal(t, len(before), len(after), way)
	}
	// A wrapper that is killed takes all with it, and nothing of it is kept.
	cmd := m.wrapped(`mkdir fresh; echo x >fresh/.envrc; echo ready; while :; do echo x >>alive; done`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 6))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	said, code := m.confined(t, `true`)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, "killed")
	require.NoDirExists(t, m.ws+"/fresh")
	size := func() int64 { i, _ := os.Stat(m.ws + "/alive"); return i.Size() }
	before := size()
	require.NoError(t, exec.Command("sleep", "0.2").Run())
	require.Equal(t, before, size())

	victim := exec.Command("sleep", "100")
	require.NoError(t, victim.Start())
	said, _ = m.confined(t, fmt.Sprintf(`kill -9 %d; kill -9 -1; ls /proc | grep -c '^[0-9]'`, victim.Process.Pid))
	require.NoError(t, victim.Process.Signal(syscall.Signal(0)), said)
	_ = victim.Process.Kill()
	_ = victim.Wait()

	said, _ = m.confined(t, `dd if=/dev/zero of=/tmp/x bs=1M count=1100 2>&1; dd if=/dev/zero of=$HOME/x bs=1M count=1100 2>&1; python3 -c 'import resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); print(r.getrlimit(r.RLIMIT_NPROC)[1], r.getrlimit(r.RLIMIT_NOFILE)[1], *r.getrlimit(r.RLIMIT_CORE), int(open("/proc/self/coredump_filter").read(), 16)); open("/proc/self/coredump_filter", "w")'`)
	require.Equal(t, 2, strings.Count(said, "No space left"), said)
	require.Contains(t, said, "4096 4096 1 1 0\n", "without a limit of one byte, the host's core_pattern may start a program")
	require.Contains(t, said, "Read-only file system", "what a core file holds the command cannot set")
	said, _ = m.confined(t, `python3 -c '
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def tries(f, *args):
    try: print(f(*args), end=" ")
    except OSError as e: print(errno.errorcode[e.errno], end=" ")
tries(os.sched_setscheduler, 1, os.SCHED_IDLE, os.sched_param(0)), tries(os.sched_setparam, 1, os.sched_param(0))
for which, who in (os.PRIO_PROCESS, 1), (os.PRIO_PGRP, 0), (os.PRIO_USER, 0), (os.PRIO_PROCESS, 0): tries(os.setpriority, which, who, 19)
tries(os.sched_setscheduler, 0, os.SCHED_BATCH, os.sched_param(0))
print(libc.klogctl(10, 0, 0), errno.errorcode[ctypes.get_errno()])'; nice -n 5 true && echo nice; (echo 19 >/proc/self/autogroup) 2>/dev/null && echo written`)
	require.Equal(t, "EPERM EPERM EPERM EPERM EPERM None None -1 ENOSYS\nnice\n", said, "processes that are not the caller's own keep their place")
	said, _ = m.confined(t, `dd if=/dev/zero of=/dev/shm/x bs=1M count=1100 2>&1; echo x >/dev/shm/y; echo x >/dev/x && echo written; echo x >/dev/null`)
	require.Contains(t, said, "No space left")
	require.NotContains(t, said, "written")
	for _, file := range []string{"/usr/x", "/etc/x", "/x", "/var/x", "/proc/sys/kernel/core_pattern", "/run/x"} {
		said, _ := m.confined(t, `echo x >`+file+` && echo written`)
		require.NotContains(t, said, "written", file)
	}
	_, _ = m.confined(t, `echo x >$HOME/../x; echo x >/tmp/x; echo x >$HOME/x`)
	for _, file := range []string{m.dir + "/x", m.home + "/x"} {
		require.NoFileExists(t, file)
	}
}

// K5: what is written to caches and the home is seen by confined calls alone.
func TestK5_CachesAreItsOwn(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.home, `mkdir -p .cache/go-build .npm .cargo/bin go/bin; echo real >.cache/go-build/x`)
	before, err := exec.Command("sh", "-c", "cd "+m.home+"; find . -path ./ws -prune -o -path ./state -prune -o -print | sort; cat .bashrc .cache/go-build/x").Output()
	require.NoError(t, err)
	_, _ = m.confined(t, `cd; cat .cache/go-build/x; mkdir -p .cache/go-build .npm/_npx .cargo/bin go/bin; for f in .cache/go-build/x .npm/_npx/x .cargo/bin/cargo go/bin/x .bashrc .profile; do echo evil >$f; done; ls -la`)
	after, err := exec.Command("sh", "-c", "cd "+m.home+"; find . -path ./ws -prune -o -path ./state -prune -o -print | sort; cat .bashrc .cache/go-build/x").Output()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
	_, err = os.ReadDir(stateOf(m.state, m.ws))
	require.ErrorIs(t, err, os.ErrPermission, "no program of the host that walks the home finds them")
	said, _ := m.confined(t, `cat ~/.cache/go-build/x`)
	require.Equal(t, "evil\n", said, "a cache is kept for the next confined call")
	m.sh(t, m.home, "mkdir ws2")
	said, _ = m.confined(t, `cat ~/.cache/go-build/x; echo both >~/.cache/both`, more+"="+m.home+"/ws2")
	require.NotContains(t, said, "evil", "a call that may change another workspace too does not run what this one left")
	said, _ = m.confined(t, `cat ~/.cache/both`)
	require.NotContains(t, said, "both\n")
	said, _ = m.confined(t, `cat ~/.cache/both`, more+"="+m.home+"/ws2")
	require.Equal(t, "both\n", said)
}

// K6: words arrive as they are.
func TestK6_WordsArriveUnchanged(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	words := []string{"", " ", "--", "--help", "--ro-bind", "a b", `'"\`, "$HOME `id` $(id)", "*", "~", "\n\t", "\xff\xfe", "--args", "-c", "é", ";", strings.Repeat("x", 100000)}
	args := append([]string{m.state, m.ws, "printf", `%s\0`}, words...)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, strings.Join(words, "\x00")+"\x00", string(out))
}

// Where it would hold nothing, it runs nothing.
func TestRun_RefusesWhatItCannotHold(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	require.NoError(t, os.Rename(m.home, m.dir+"/real")) // a home that is a link
	require.NoError(t, os.Symlink("real", m.home))
	m.sh(t, m.ws, `mkdir -p .vscode .husky ../.config ../bin ../other/bin pkg/.helix`)
	for _, ws := range []string{m.home, m.dir + "/real", m.dir, "/", "/usr/share", m.ws + "/missing", m.state, m.home + "/.config", m.home + "/bin",
		m.home + "/other/bin", m.ws + "/.vscode", m.ws + "/.husky", m.ws + "/.github", m.ws + "/.github/workflows", m.ws + "/.git", m.ws + "/.git/hooks",
		m.ws + "/pkg/.helix", m.ws + "/fixtures/repo.git/refs"} {
		cmd := exec.Command("/proc/self/exe", m.state, ws, "touch", m.mark)
		cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1", "PATH="+m.home+"/other/bin:"+os.Getenv("PATH"))
		out, _ := cmd.CombinedOutput()
		require.Equal(t, NotConfined, cmd.ProcessState.ExitCode(), "%s: %s", ws, out)
		require.NoFileExists(t, m.mark)
	}
}

// Nothing is shown that has the home in it, or is the kernel's.
func TestRun_RefusesToShowAHome(t *testing.T) {
	m := newMachine(t)
	t.Setenv("HOME", m.home)
	for _, show := range []string{"/", m.dir, m.home, "/proc", "/proc/self", "/dev"} {
		_, err := (&Call{Workspaces: []string{m.ws}, Show: []string{show}, Dir: m.ws}).check()
		require.ErrorContains(t, err, "--show", show)
	}
	_, err := (&Call{Workspaces: []string{m.ws}, Show: []string{m.home + "/ws/pkg"}, Dir: m.ws}).check()
	require.NoError(t, err)
	_, err = (&Call{Workspaces: []string{"/"}, Dir: m.ws}).check()
	require.ErrorContains(t, err, "home")
}

// Pid 1 of the call, by whose death all of it dies, cannot be reached from within.
func TestK4_Pid1IsOutOfReach(t *testing.T) {
	needsConfinement(t)
	said, _ := newMachine(t).confined(t, `ls /proc/1; for f in mem fd/6 root maps task/1/mem; do test -e /proc/1/$f && echo reached $f; done
umount /proc/1 2>/dev/null && echo reached
python3 -c '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
for n in [101, 310, 311, 312, 438, 440]:  # amd64: ptrace, process_vm_readv and writev, kcmp, pidfd_getfd, process_madvise
    ctypes.set_errno(0); r = c.syscall(n, 16, 1, 0, 0, 0, 0); print(r, ctypes.get_errno())' | sort -u`)
	if runtime.GOARCH == "amd64" {
		require.Equal(t, "-1 38\n", said)
	}
	require.NotContains(t, said, "reached")
}

// A signal ends the call at once, and through the judgement; a closed output ends the command alone.
func TestK4_SignalsEndThroughTheJudgement(t *testing.T) {
	needsConfinement(t)
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			last := "sleep 1000"
			if sig == syscall.SIGPIPE {
				last = "while echo x; do :; done"
			}
			cmd := m.wrapped(`mkdir fresh; echo x >fresh/.envrc; echo ready; ` + last)
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			_, err = out.Read(make([]byte, 6))
			require.NoError(t, err)
			if sig == syscall.SIGPIPE {
				require.NoError(t, out.Close())
			}
			require.NoError(t, cmd.Process.Signal(sig))
			_ = cmd.Wait()
			require.Equal(t, NothingKept, cmd.ProcessState.ExitCode())
			require.NoFileExists(t, m.ws+"/fresh/.envrc")
		})
	}
}

// A bubblewrap that is killed may have run the command: what that did is judged, and the status is not that of a call that
// did not run.
func TestK4_AKilledBubblewrapIsNoCallThatDidNotRun(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	cmd := m.wrapped(`echo x >made; echo ready; sleep 1000`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 6))
	require.NoError(t, err)
	require.NoError(t, exec.Command("pkill", "-9", "-P", fmt.Sprint(cmd.Process.Pid)).Run())
	_ = cmd.Wait()
	require.Equal(t, 137, cmd.ProcessState.ExitCode())
	require.FileExists(t, m.ws+"/made")
}

// A call leaves no workspace in which none can run after it.
func TestRun_ACallThatLeavesTooMuchKeepsNothing(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.refused(t, ".", `for i in $(seq 401); do echo x >f$i.pem; done`, "f1.pem")
	m.refused(t, ".", `echo x >h; for i in $(seq 410); do ln h h$i; done; ln h k.pem`, "k.pem")
	m.refused(t, ".", `mkdir k; for i in $(seq 410); do echo x >k/$i; done; ln -s k .aws`, ".aws")
	said, code := m.confined(t, `seq 20001 | xargs mkdir`)
	require.Equal(t, NothingKept, code, said)
	require.Contains(t, said, "more than 20000 folders")
	m.sh(t, m.ws, `mkdir many; cd many; seq 20001 | xargs mkdir`)
	said, code = m.confined(t, `mv many/1 .; rm -rf many`)
	require.Equal(t, NothingKept, code, said)
	require.Contains(t, said, "removed more than 20000 folders")
	m.sh(t, m.ws, `test -d many/20001; rm -rf many`)
	m.sh(t, m.ws, `mkdir gone`)
	m.ws += "/gone"
	cmd := m.wrapped(`echo ready; sleep 1000`)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = out.Read(make([]byte, 6))
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	m.ws = m.home + "/ws"
	m.sh(t, m.ws, `rm -r gone`)
	said, code = m.confined(t, `true`)
	require.Equal(t, 0, code, said)
}

// Output that cannot be written is no success, as it would be none without the wrapper. The work is kept.
func TestRun_SaysThatOutputIsLost(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	defer full.Close()
	var said strings.Builder
	lost := m.wrapped(`echo x >kept; echo lost`)
	lost.Stdout, lost.Stderr = full, &said
	_ = lost.Run()
	require.Equal(t, 1, lost.ProcessState.ExitCode(), "as without a wrapper")
	require.Contains(t, said.String(), "the command's output could not be written")
	require.FileExists(t, m.ws+"/kept")
}
