//go:build linux

package confine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// attack is one way to leave something in the workspace $W that a later call obeys. $EVIL is a program that leaves a mark.
type attack struct {
	name   string
	script string
	obeyed bool // git runs the program if nothing takes it away
}

// readOnly are attacks on a repository that was there: the call itself cannot write there.
var readOnly = []attack{
	{"bare layout below refs", `mkdir -p $W/.git/refs/heads/x && cd $W/.git/refs/heads/x && mkdir objects refs && echo "ref: refs/heads/m" >HEAD && printf '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = %s\n' "$EVIL" >config`, true},
	{"config by writing", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >>$W/.git/config`, true},
	{"config of the same size in place", `perl -e 'open F,"+<",$ARGV[0] or die $!;local $/;$_=<F>;s/name = tester/name = hacker/;seek F,0,0;print F $_' $W/.git/config`, false},
	{"config by rename", `cp $W/.git/config c && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c && mv c $W/.git/config`, true},
	{"config by a symlink", `cp $W/.git/config c && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c && ln -sf $PWD/c $W/.git/config`, true},
	{"config by a hard link", `cp $W/.git/config c && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c && ln -f c $W/.git/config`, true},
	{"commondir", `cp -r $W/.git other && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>other/config && echo $PWD/other >$W/.git/commondir`, true},
	{"hook", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/.git/hooks/post-index-change && chmod +x $W/.git/hooks/post-index-change && touch $W/main.go`, false},
	{"hooks by a symlink", `mkdir h && printf '#!/bin/sh\n%s\n' "$EVIL" >h/post-index-change && chmod +x h/post-index-change && rm -rf $W/.git/hooks && ln -s $PWD/h $W/.git/hooks && touch $W/main.go`, false},
	{".git replaced by a file", `cp -r $W/.git moved && rm -rf $W/.git && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>moved/config && echo "gitdir: $PWD/moved" >$W/.git`, true},
	{".git replaced by a symlink", `mv $W/.git moved && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>moved/config && ln -s $PWD/moved $W/.git`, true},
	{".git file of a worktree", `git worktree add -q wt && printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/.git/worktrees/wt/config.worktree && git config extensions.worktreeConfig true`, true},
	{"submodule's own directory", `git init -q n && cd n && echo a >a && git add a && git commit -qm a && mkdir -p $W/.git/modules && mv .git $W/.git/modules/n && echo "gitdir: $W/.git/modules/n" >.git && printf '[core]\nworktree=%s\nfsmonitor = %s\n' "$PWD" "$EVIL" >$W/.git/modules/n/config && cd .. && git add n`, true},
	{"known embedded repository", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >>$W/vendor/lib/.git/config`, true},
	{"known bare repository", `printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >>$W/fixtures/repo.git/config`, true},
	{"a folder with a known repository, replaced by a symlink", `cp -r $W/vendor/lib evil && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>evil/.git/config && rm -rf $W/vendor/lib && ln -s $PWD/evil $W/vendor/lib`, true},
	{"log that is a symlink", `rm -f $W/.git/logs/HEAD; mkdir -p $W/.git/logs; ln -s $HOME/.bashrc $W/.git/logs/HEAD`, false},
	{"index by hand", `mv $W/.git/index i; cp main.go i; cp i $W/.git/index`, false},
	{"objects by a link in their place", `cd $W/.git; mv objects ../objs; ln -s ../objs objects; mkdir -p ../objs/info; echo /elsewhere >../objs/info/alternates`, false},
	{"an index entry that leads out", `git update-index --add --cacheinfo 100644,$(git hash-object -w --stdin </dev/null),.env`, false},
	{"a commit", `echo x >x; git add x; git commit -qm x`, false},
	{"a file of a repository that is nobody's rule", `echo x >$W/.git/description; mkfifo $W/.git/p; mkdir $W/.git/modules; rm $W/.git/HEAD; chmod 700 $W/.git; touch $W/.git/info/new`, false},
}

var attacks = []attack{
	{"embedded repository with fsmonitor", `git init -q n && cd n && echo a >a && git add a && git commit -qm a && git config core.fsmonitor "$EVIL" && cd .. && git add n`, true},
	{"embedded repository, gitlink made by plumbing", `git init -q n && cd n && echo a >a && git add a && git commit -qm a && git config core.fsmonitor "$EVIL" && o=$(git rev-parse HEAD) && cd .. && git update-index --add --cacheinfo 160000,$o,"$(git rev-parse --show-prefix)n"`, true},
	{"bare layout", `git init -q --bare bare && git -C bare config core.fsmonitor "$EVIL" && git -C bare config core.bare false && git -C bare config core.worktree ..`, true},
	{"bare layout by commondir", `mkdir c d && cd d && mkdir objects refs && printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >config && echo "ref: refs/heads/m" >HEAD && cd ../c && echo ../d >commondir && echo "ref: refs/heads/m" >HEAD`, true},
	{"what a hook's link leads to", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/hook.sh; mkdir m; echo "$EVIL" >m/real.sh; rm -f $W/way; ln -s $PWD/m $W/way`, false},
	{"a folder closed over a plant", `mkdir -p src/new && echo x >src/.envrc && cd src/new && git init -q . && git config core.fsmonitor "$EVIL" && cd ../.. && chmod 444 src`, false},
	{"the workspace closed over a plant", `mkdir -p pkg2 && echo x >pkg2/.envrc && chmod 444 $W`, false},
	{"a folder closed to be looked into by the next call", `mkdir v && echo x >v/f && chmod 333 v`, false},
	{"a secret by a harmless name", `ln -s $W/.env notes.txt`, false},
	{"a folder of secrets by a harmless name", `mkdir secrets; ln -s secrets y`, false},
	{"a folder that becomes programs by its link", `mkdir -p vv/bin; echo "$EVIL" >vv/bin/python; ln -s vv .venv`, false},
	{"who may log in", `echo x >sudoers; echo x >authorized_keys; mkdir sudoers.d; echo x >sudoers.d/x`, false},
	{"secrets", `echo K=evil >.env; echo x >server.pem; mkdir secrets; echo x >secrets/x.json`, false},
	{"a secret that is another name of a file", `echo x >n; ln n k.pem`, false},
	{"options by their names", `echo x >--checkpoint=1; echo x >'--checkpoint-action=exec=sh evil.sh'`, false},
	{"names that are words", `echo x >'a b/../c'; echo x >'a -rf'; echo x >"it's"; echo x >'a$HOME'`, false},
	{"a folder opened to other users", `chmod 777 $W/pkg`, false},
	{"the workspace opened to other users", `chmod 777 $W`, false},
	{"a file opened to other users", `chmod 666 $W/main.go`, false},
	{"the desk's own files", `echo x >approvalbot.yaml; echo x >approvalbot.db`, false},
	{"a client's file beside a project", `echo url: http://evil >approvalbot.client.yaml`, false},
	{"a client's file in a folder of its own", `mkdir approvalbot-hook && echo url: http://evil >approvalbot-hook/operator.yaml`, false},
	{"a desk's token", `echo evil >approvalbot.operator.token`, false},
	{"names that are words of two folders", `mkdir -p 'foo /etc' && echo x >'foo /etc/passwd'`, false},
	{"a name that is an address with its folder", `mkdir http: && echo x >http:/y`, false},
	{"a folder with a HEAD, that is no repository", `mkdir fix && echo x >fix/HEAD && echo x >fix/flake.nix`, false},
	{"compiled Python beside its source", `mkdir -p src/__pycache__ && echo x >src/__pycache__/m.cpython-311.pyc; echo x >old.pyc`, false},
	{"huge file", `truncate -s 4T .npmrc; rm $W/.envrc; truncate -s 4T $W/.envrc`, false},
	{"a folder with a HEAD becomes a repository", `cd $W/half && mkdir objects refs && printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >config`, true},
	{".envrc in a new folder", `mkdir fresh && echo "$EVIL" >fresh/.envrc`, false},
	{".envrc in a new folder, by a rename of its parent", `mkdir -p t/x && echo "$EVIL" >t/x/.envrc && mv t u`, false},
	{"letter case, and what is not seen", `mkdir .GIT .Claude && echo "$EVIL" >.ENVRC && printf x >.Claude/Settings.json && printf x >"$(printf '.env\342\200\213rc')"`, false},
	{"names that are no text", `d=$(printf 'odd\n\377b') && mkdir "$d" && echo "$EVIL" >"$d/.envrc" && git init -q "$d"`, false},
	{"settings, CI, instructions", `mkdir -p .claude .github/workflows .vscode && echo {} >.claude/settings.json && echo x >.github/workflows/x.yml && echo {} >.vscode/tasks.json && echo x >AGENTS.md && echo x >.gitlab-ci.yml`, false},
	{"removed", `rm -rf $W/.claude $W/.github $W/.envrc $W/pkg/a/b/.envrc`, false},
	{"folder replaced by a new one", `rm -rf $W/pkg/a; mkdir -p $W/pkg/a/b; echo x >$W/pkg/a/b/b.go`, false},
	{"folder moved", `mv $W/pkg/a $W/elsewhere`, false},
	{"folder above folders moved", `mv $W/pkg $W/elsewhere`, false},
	{"folder replaced by a file", `rm -rf $W/pkg/a; echo x >$W/pkg/a`, false},
	{"symlink with a harmless name to secrets", `ln -s $HOME/.ssh docs`, false},
	{"names with lines", "mkdir \"$(printf 'a\\nb')\"; echo x >\"$(printf 'a\\nb')/.envrc\"", false},
	{"removed with its folder", `rm -rf $W/pkg/a`, false},
	{"folder nobody may look into", `mkdir -p shut/in && echo "$EVIL" >shut/in/.envrc && chmod 000 shut/in shut`, false},
	{"folder nobody may write to", `mkdir -p shut/.claude && echo {} >shut/.claude/settings.json && chmod 555 shut/.claude shut`, false},
	{"file nobody may read", `echo x >$W/.envrc && chmod 000 $W/.envrc && echo y >.npmrc && chmod 000 .npmrc`, false},
	{"symlink out of the workspace", `ln -s $HOME/.bashrc notes.txt; ln -s $W/.git/hooks build; ln -s $W/.git build2; ln -s / r`, false},
	{"a folder's symlink now leads elsewhere", `rm $W/current && ln -s .git/hooks $W/current`, false},
	{"pipes and sockets", `mkfifo .envrc2 .npmrc; python3 -c 'import socket;socket.socket(socket.AF_UNIX).bind(".mise.toml")'; rm -f $W/.github/workflows/ci.yml; mkfifo $W/.github/workflows/ci.yml`, false},
	{"times set back", `t=$(stat -c %Y $W/.envrc); echo "$EVIL" >$W/.envrc; touch -d @$t $W/.envrc $W; mkdir q; echo x >q/.envrc; touch -d @1 q q/.envrc`, false},
	{"very deep", `python3 -c '
import os
for i in range(2000):
    os.mkdir("d"); os.chdir("d")
os.mkdir(".git"); open(".envrc","w").write("x")'`, false},
	{"very long", `python3 -c '
import os
for i in range(20):
    os.mkdir("d" * 250); os.chdir("d" * 250)
open("f","w").write("x")'`, false},
	{"a file called as standard input is", `echo x >-`, false},
	{"mmap", `python3 -c '
import mmap,os
f=open(os.environ["W"]+"/.envrc","r+b"); m=mmap.mmap(f.fileno(),0); m[0:3]=b"xyz"; m.close()'`, false},
	{"content and mode exchanged between two", `cd $W; mv .envrc x && mv pkg/a/b/.envrc .envrc && mv x pkg/a/b/.envrc`, false},
	{"folder in place of a file, file in place of a folder", `cd $W; rm .envrc; mkdir .envrc; echo x >.envrc/x; rm -r .claude; echo x >.claude`, false},
}

const evilMark = "planted-program-ran"

// machine is a folder with a home, the state of confined calls, and a workspace that has what real ones have.
type machine struct{ dir, home, state, ws, mark string }

func newMachine(t *testing.T) machine {
	t.Helper()
	template, dir := aMachine(), t.TempDir()
	t.Cleanup(func() { opened(t, dir) })
	m := machine{dir, dir + "/home", dir + "/home/state", dir + "/home/ws", dir + "/" + evilMark}
	require.NoError(t, exec.Command("cp", "-a", template+"/home", dir).Run())
	return m
}

// opened allows the owner of all folders below one to look into them and to change what is in them, so that the test's
// end can remove them.
func opened(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil { // before it is read
			err = os.Chmod(path, 0700)
		}
		if errors.Is(err, syscall.ENAMETOOLONG) { // of what is so deep all folders are open
			return filepath.SkipDir
		}
		return err
	})
	assert.NoError(t, err)
}

// inShm makes a folder in memory, which is another file system than that of a machine; without one the test is skipped.
func inShm(t *testing.T) string {
	t.Helper()
	if unix.Access("/dev/shm", unix.W_OK) != nil {
		t.Skip("/dev/shm cannot be written to")
	}
	dir, err := os.MkdirTemp("/dev/shm", "confine-")
	require.NoError(t, err)
	t.Cleanup(func() { opened(t, dir); assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// aMachine makes the folder that all are copies of.
var aMachine = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "confine-machine-")
	if err != nil {
		panic(err)
	}
	m := machine{home: dir + "/home"}
	if err := os.MkdirAll(m.home+"/state", 0700); err != nil {
		panic(err)
	}
	cmd := exec.Command("sh", "-ec", `
echo original >.bashrc
git init -q -b main ws && cd ws
git config user.name tester
printf '#!/bin/sh\nexit 0\n' >.git/hooks/old; chmod 644 .git/hooks/old
mkdir -p pkg/a/b .github/workflows .claude vendor fixtures tools builds
ln -s ../../tools/hook.sh .git/hooks/pre-push; echo true >tools/hook.sh; mkdir ways; echo true >ways/real.sh; ln -s ways way; ln -s ../../way/real.sh .git/hooks/post-merge
mkdir half; echo "ref: refs/heads/m" >half/HEAD
echo 'export A=1' >.envrc; echo 'export B=1' >pkg/a/b/.envrc; chmod 640 .envrc
echo 'on: push' >.github/workflows/ci.yml; echo '{}' >.claude/settings.json
echo 'package main' >main.go; echo 'package b' >pkg/a/b/b.go; ln -s builds current
git init -q vendor/lib && (cd vendor/lib && echo l >l && git add l && git commit -qm l)
git init -q --bare fixtures/repo.git
git add -A 2>/dev/null; git commit -qm first`)
	cmd.Dir, cmd.Env = m.home, m.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		panic(string(out))
	}
	return dir
})

func (m machine) env(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "W=" + m.ws, "EVIL=touch " + m.mark + ";", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t"}, more...)
}

func (m machine) sh(t *testing.T, dir, script string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir, cmd.Env = dir, m.env()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// obeyed runs what people and agents run unasked in the workspace, and reports whether the planted program ran.
func (m machine) obeyed(t *testing.T) bool {
	t.Helper()
	_ = filepath.WalkDir(m.ws, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || strings.Count(p, "/") > strings.Count(m.ws, "/")+8 {
			return nil
		}
		if strings.Contains(p, "/.git/") && !strings.Contains(p, "/x") || strings.Contains(p, "/objects") {
			return nil
		}
		lines := []string{"status", "diff", "add -A -n"}
		if p != m.ws && !slices.ContainsFunc([]string{"HEAD", ".git", "commondir"}, func(n string) bool { _, e := os.Lstat(p + "/" + n); return e == nil }) {
			return nil
		}
		for _, line := range lines {
			cmd := exec.Command("git", strings.Fields(line)...)
			cmd.Dir, cmd.Env = p, m.env()
			_ = cmd.Run() // a repository that is broken is no harm
		}
		return nil
	})
	_, err := os.Lstat(m.mark)
	_ = os.Remove(m.mark)
	return err == nil
}

// seenFiles is the workspace as it means something, without what git status on the host refreshes.
func (m machine) seenFiles() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(m.ws, func(p string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, m.ws), "/")
		if err != nil || strings.HasSuffix(rel, ".git/index") {
			return nil
		}
		info, err := os.Lstat(p)
		if err != nil {
			return nil
		}
		text := ""
		switch {
		case info.Mode().IsRegular():
			b, _ := os.ReadFile(p)
			text = fmt.Sprintf("%x %q", sha256.Sum256(b), b[:min(len(b), 30)])
		case info.Mode()&fs.ModeSymlink != 0:
			text, _ = os.Readlink(p)
		}
		out[rel] = info.Mode().String() + " " + text
		return nil
	})
	return out
}

// differs gives what is not as it was.
func differs(before, after map[string]string) (out []string) {
	for rel := range maps.Keys(after) {
		if before[rel] != after[rel] {
			out = append(out, fmt.Sprintf("%q: %s instead of %q", rel, after[rel], before[rel]))
		}
	}
	for rel := range before {
		if _, is := after[rel]; !is {
			out = append(out, fmt.Sprintf("%q is gone", rel))
		}
	}
	return out
}

// refused runs a script confined, in a directory of the workspace, and requires that nothing of it is kept and that the
// call says why.
func (m machine) refused(t *testing.T, dir, script, why string) {
	t.Helper()
	before := m.seenFiles()
	said, code := m.confined(t, m.inside("cd "+dir+"; "+script))
	require.Equal(t, NothingKept, code, said)
	require.Contains(t, said, why)
	require.Empty(t, differs(before, m.seenFiles()), said)
	require.NoFileExists(t, m.state+"/call", said)
}

// inside is a script with the variables that it has outside.
func (m machine) inside(script string) string {
	return "export W=" + m.ws + " EVIL='touch " + m.mark + ";' GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t; " + script
}

// Nothing that a call leaves behind is obeyed after it, at any depth: nothing of it is kept, and the call is reported.
func TestK2_NothingPlantedIsObeyed(t *testing.T) {
	needsConfinement(t)
	for _, depth := range []string{".", "pkg/a/b"} {
		t.Run(depth, func(t *testing.T) {
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) {
					t.Parallel()
					m := newMachine(t)
					m.refused(t, depth, a.script, "nothing that the command did")
					require.False(t, m.obeyed(t))
				})
			}
		})
	}
}

// A repository that was there is what it was after each call, for each attack on it: git says why.
func TestK2_RepositoriesAreReadOnly(t *testing.T) {
	needsConfinement(t)
	for _, a := range readOnly {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			whole := func() string {
				out, err := exec.Command("sh", "-c", "cd "+m.ws+"; tar c --sort=name .git vendor/lib/.git fixtures/repo.git | sha256sum").Output()
				require.NoError(t, err)
				return string(out)
			}
			before := whole()
			said, _ := m.confined(t, m.inside(a.script))
			require.Regexp(t, "(Read-only file system|Device or resource busy|cross-device|[Uu]nable to|could not lock|nothing that the command did)", said)
			require.Equal(t, before, whole(), said)
			require.False(t, m.obeyed(t))
		})
	}
}

// What only reads a repository works, and so does a repository in the call's own places.
func TestRun_GitReads(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	said, code := m.confined(t, `set -e; echo 'package x' >main.go; touch pkg/a/b/b.go; git status --short; git diff --stat; git describe --always >/dev/null; git log --oneline | wc -l; git stash list; git grep -c package
git init -q /tmp/r; cd /tmp/r; git -c user.name=t -c user.email=t@t commit -qm x --allow-empty`)
	require.Equal(t, 0, code, said)
	require.Contains(t, said, " M main.go\n")
	said, code = m.confined(t, `echo y >y; git add y`)
	require.NotZero(t, code)
	require.Contains(t, said, "Read-only file system")
	require.FileExists(t, m.ws+"/y")
}

// The rows are worth something: without the judgement git runs what they plant.
func TestK2_RowsAreAttacks(t *testing.T) {
	for _, a := range append(readOnly, attacks...) {
		if a.obeyed {
			t.Run(a.name, func(t *testing.T) {
				t.Parallel()
				m := newMachine(t)
				m.sh(t, filepath.Join(m.ws, "pkg"), a.script)
				require.True(t, m.obeyed(t))
			})
		}
	}
}

// Links that protected names lead through, and names that only some tools obey are protected too, and so is what is not
// there yet.
func TestK2_WhatOthersLeadTo(t *testing.T) {
	needsConfinement(t)
	for _, a := range []struct{ name, before, call, want string }{
		{"home reached by a link", `ln -s $HOME $HOME/alias; mkdir impl; echo true >impl/pc; ln -s $HOME/alias/ws/impl/pc .git/hooks/pre-commit`, `echo x >impl/pc`, "impl/pc"},
		{"start-up file reached by a link of the host", `ln -s $W $HOME/alias; mkdir conf; echo true >conf/rc; rm .envrc; ln -s $HOME/alias/conf/rc .envrc; git add conf/rc`, `echo x >conf/rc`, "conf/rc"},
		{"programs of the project", `mkdir -p .venv/bin node_modules/.bin`, `echo x >.venv/bin/git; echo x >node_modules/.bin/eslint; echo x >gradlew; mkdir -p v/bin; echo x >v/bin/ok`, ".venv/bin/git"},
		{"a link by whose name something is a secret", `mkdir config; echo K=1 >config/dev; ln -s config/dev .env`, `rm .env`, ".env"},
		{"a linked folder by whose name something is a secret", `mkdir k; echo K=1 >k/config; ln -s k .kube`, `mv .kube x`, ".kube"},
		{"editors and agents", "", `mkdir .helix .agent; echo x >.helix/languages.toml; echo x >.gitpod.yml; echo x >.mise.production.toml`, ".helix"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, a.before)
			m.refused(t, ".", a.call, fmt.Sprintf("%q", a.want))
		})
	}
}

// Links are not made, changed, removed or moved, whatever they lead to; that is written as usual.
func TestK2_LinksStayAsTheyAre(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir dir; ln -s ../main.go dir/up; ln -s none dangling`)
	for _, script := range []string{
		`ln -s main.go new`, `ln -s /usr/bin/env new`, `ln -s /dev/null new`, `mkdir fresh; ln -s ../dir fresh/new`,
		`ln -sfn dir current`, `rm current`, `rm dangling`, `rm -r dir`, `mv current c`, `mv dir d`, `cp -a dir d`,
		`rm current; mkdir current`, `rm current; echo x >current`, `rm current; mkfifo current`, `echo x >x; mv -T x current`,
		`ln -P current c`, `rm main.go; ln -s dir/up main.go`, `rmdir builds; ln -s dir builds`, `rm -r dir; ln -s builds dir`,
	} {
		m.refused(t, ".", script, "because it changed files that an agent may not change")
	}
	said, code := m.confined(t, `echo x >current/x; echo x >>dir/up; echo x >dangling; rm current; ln -s builds current; touch -h dir/up; cp -L dir/up copy; mkdir made; mv made moved`)
	require.Equal(t, 0, code, said)
	m.sh(t, m.ws, `test -f builds/x -a -f none -a -f copy -a -d moved -a "$(readlink current)" = builds`)
}

// What a link makes a secret is one by each way on which the link leads back into the workspace.
func TestK1_SecretsByALinkThatLeadsBack(t *testing.T) {
	needsConfinement(t)
	m, other := newMachine(t), inShm(t)
	m.sh(t, m.ws, `mkdir conf x; for f in conf/a.txt conf/b.txt x/config x/credentials; do echo marker >$f; done; ln -s "$W" `+other+`/back; ln -s "$W" $HOME/near
ln -s `+other+`/back/conf/a.txt .env; ln -s $HOME/near/conf/b.txt .netrc; ln -s `+other+`/back/x .aws`)
	said, _ := m.confined(t, `cat conf/a.txt conf/b.txt x/config x/credentials 2>&1`)
	require.NotContains(t, said, "marker")
}

// Each link of a way by which something is a secret stays as it is: else the next call would read that.
func TestK1_AWayToASecretIsNotChanged(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir x data other; echo marker >data/tok; echo none >other/tok; ln -s data cur; ln -s x approvalbot; ln -s ../cur/tok x/client.yaml`)
	for _, script := range []string{`ln -sfn data/none x/client.yaml`, `ln -sfn other cur`, `ln -sfn other approvalbot`, `rm x/client.yaml`, `mv x y`} {
		said, code := m.confined(t, script)
		require.Equal(t, NothingKept, code, "%s: %s", script, said)
	}
	said, _ := m.confined(t, `cat data/tok 2>&1`)
	require.NotContains(t, said, "marker")
	said, code := m.confined(t, `echo x >data/more; echo x >x/more`)
	require.Equal(t, 0, code, said)
}

// A repository is not made in two calls.
func TestK2_ARepositoryIsNotMadeInTwoSteps(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	said, code := m.confined(t, `mkdir n n/refs n/objects; printf '[core]\nfsmonitor = x\n' >n/config`)
	require.Equal(t, 0, code, said)
	m.refused(t, ".", `echo "ref: refs/heads/main" >n/HEAD`, `"n/HEAD"`)
	m.refused(t, ".", `mkdir half/refs`, `"half/HEAD"`)
	m.sh(t, m.ws, `mkdir small; echo x >small/head`)
	m.refused(t, ".", `mkdir small/refs`, `"small/HEAD"`) // to the next call, and on file systems without letter case
}

// A repository whose parts are not in place refuses the call.
func TestK2_RepositoriesThatCannotBeKept(t *testing.T) {
	needsConfinement(t)
	for _, a := range []struct {
		name, before, call string
		code               int
		want               string
	}{
		{"a repository whose folder is a link", `mv vendor/lib/.git real; ln -s ../../real vendor/lib/.git`, `true`, NotConfined, "symbolic link"},
		{"a repository behind a link", `mv vendor/lib/.git real; ln -s real way2; echo "gitdir: ../../way2" >vendor/lib/.git`, `true`, NotConfined, "symbolic link"},
		{"a repository behind a link that is left again", `mkdir -p x/y; ln -s x/y l; mv vendor/lib/.git x/real; echo "gitdir: ../../l/../real" >vendor/lib/.git`, `true`, NotConfined, "symbolic link"},
		{"a repository beside its file", `mv vendor/lib/.git real; rm real/HEAD; echo "gitdir: ../../real" >vendor/lib/.git`, `echo x >real/HEAD; mv real r; echo kept >kept`, 0, ""},
		{"a repository whose common folder is not there", `mkdir -p wt gd; echo "gitdir: ../gd" >wt/.git; echo "ref: refs/heads/m" >gd/HEAD; echo ../common >gd/commondir`, `true`, NotConfined, "does not exist"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, a.before)
			before := m.seenFiles()
			said, code := m.confined(t, a.call)
			require.Equal(t, a.code, code, said)
			if a.code == 0 {
				return
			}
			require.Contains(t, said, a.want)
			require.Empty(t, differs(before, m.seenFiles()), said)
		})
	}
}

// What the programs of an environment of Python or conda load is as protected as they are, however the folder is called.
func TestK2_EnvironmentsStayAsTheyAre(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p tools/py/lib/python3/encodings box/lib box/conda-meta && touch tools/py/pyvenv.cfg`)
	for _, script := range []string{`echo x >tools/py/lib/python3/encodings/__init__.py`, `echo x >box/lib/libx.so`, `mv box box2`, `rm -r box`, `echo x >tools/py/new`,
		`mkdir -p e/conda-meta; echo x >e/conda-meta/state`, `echo x >shell.nix`, `mkdir -p src/sitecustomize; echo x >src/sitecustomize/__init__.py`, `echo tools >.venv`, `echo ../../x >.java-version`, `echo x >lefthook-local.toml`, `mkdir -p .lsp; echo x >.lsp/config.edn`, `echo x >.miserc.toml`, `mkdir .volta; echo {} >.volta/hooks.json`, `mkdir mise; echo x >mise/config.toml`, `mkdir -p _opam/.opam-switch; echo x >_opam/.opam-switch/environment`,
		`mkdir -p e/lib/python3.11; echo x >e/lib/python3.11/os.py`} {
		m.refused(t, ".", script, "may not change without asking")
	}
	said, code := m.confined(t, `mkdir tools/lib; echo x >tools/lib/x; echo x >config.toml`)
	require.Equal(t, 0, code, said)
	m = newMachine(t)
	m.sh(t, m.ws, `mkdir -p bin lib/foo && touch pyvenv.cfg bin/activate`) // the workspace itself is one
	for _, script := range []string{`echo x >>bin/activate`, `echo x >bin/new`, `echo x >lib/foo/x.so`, `mkdir share; echo x >share/x`} {
		m.refused(t, ".", script, "may not change without asking")
	}
	said, code = m.confined(t, `mkdir src; echo x >src/x; echo x >main.py`)
	require.Equal(t, 0, code, said)
}

// A call leaves no more folders than the kernel lets the user watch, as no later call would run.
func TestK4_FoldersStayFewEnoughToBeWatched(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	limit := filepath.Join(m.home, "watches")
	require.NoError(t, os.WriteFile(limit, []byte("300\n"), 0o644))
	said, code := m.confined(t, `mkdir $(seq 40)`, watched+"="+limit)
	require.Equal(t, 0, code, said)
	said, code = m.confined(t, `mkdir $(seq 41 341)`, watched+"="+limit)
	require.Equal(t, NothingKept, code, said)
	require.Contains(t, said, "more folders than the kernel lets this user watch (300)")
	said, code = m.confined(t, `rmdir $(seq 40); mkdir x`, watched+"="+limit)
	require.Equal(t, 0, code, said)
}

// A folder of the workspace in which the caller looks for programs is protected, also by a relative name or a link, and before it is there.
func TestK5_FoldersOfPathStayAsTheyAre(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `mkdir -p bin opt/progs target/debug scripts; ln -s opt/progs progs; echo x >scripts/tool.sh; ln -s ../scripts/tool.sh bin/tool; ln -s $PWD ../lk`)
	path := "PATH=.::" + m.ws + "/bin:progs:later/bin:" + m.home + "/lk/by/link:no/../tt:target/debug:~" + strings.TrimPrefix(m.ws, m.home) + "/tilde/bin:~+/plus:" + os.Getenv("PATH")
	for _, script := range []string{`echo x >bin/ls`, `echo evil >scripts/tool.sh`, `mkdir -p by/link; echo x >by/link/ls`, `mkdir tt no; echo x >tt/ls`, `echo x >opt/progs/ls`, `mkdir -p later/bin; echo x >later/bin/ls`, `mkdir -p tilde/bin; echo x >tilde/bin/ls`, `mkdir plus; echo x >plus/ls`, `mv opt opt2`} {
		said, code := m.confined(t, script, path)
		require.Equal(t, NothingKept, code, "%s: %s", script, said)
	}
	said, code := m.confined(t, `echo x >target/debug/app; echo x >tools/x`, path)
	require.Equal(t, 0, code, said)
}

// Who may read, write and remove files stays as it was: a call that writes a file anew does not take its access control list away,
// and no folder loses the bit by which others remove only their own files.
func TestK2_WhoMayStaysAsItWas(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `echo x >a.txt; echo x >b.txt; chmod 644 a.txt; mkdir shared; chmod 1777 shared`)
	var list bytes.Buffer // acl(5), as linux/posix_acl_xattr.h has it
	_ = binary.Write(&list, binary.LittleEndian, uint32(2))
	for _, e := range []struct {
		Tag, Perm uint16
		ID        uint32
	}{{1, 6, 1<<32 - 1}, {2, 0, 12345}, {4, 4, 1<<32 - 1}, {16, 4, 1<<32 - 1}, {32, 4, 1<<32 - 1}} {
		_ = binary.Write(&list, binary.LittleEndian, e)
	}
	require.NoError(t, unix.Setxattr(filepath.Join(m.ws, "a.txt"), aclName, list.Bytes(), 0))
	for _, script := range []string{`cp a.txt t; mv -f t a.txt`, `rm a.txt; echo x >a.txt`, `chmod 777 shared`} {
		m.refused(t, ".", script, "may not change without asking")
	}
	said, code := m.confined(t, `cp b.txt t; mv -f t b.txt; echo more >>a.txt; chmod 1770 shared; echo x >shared/x`)
	require.Equal(t, 0, code, said)
	var buf [100]byte
	n, err := unix.Lgetxattr(filepath.Join(m.ws, "a.txt"), aclName, buf[:])
	require.NoError(t, err)
	require.Equal(t, list.Bytes(), buf[:n], "it keeps its list")
	m.state = inShm(t)
	said, code = m.confined(t, `echo more >>a.txt; echo x >new`)
	require.Equal(t, 0, code, said)
	n, err = unix.Lgetxattr(filepath.Join(m.ws, "a.txt"), aclName, buf[:])
	require.NoError(t, err)
	require.Equal(t, list.Bytes(), buf[:n], "also from another file system")
}
