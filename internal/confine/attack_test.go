//go:build linux

package confine

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	{"what config includes", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/tools/git.inc`, true},
	{"what config includes, and was not there", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/tools/more.inc`, true},
	{"program that config names", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/diff.sh`, false},
	{"what a hook's link leads to", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/hook.sh; mkdir m; echo "$EVIL" >m/real.sh; rm -f $W/way; ln -s $PWD/m $W/way`, false},
	{"folder that config names, and was not there", `mkdir -p y/none && echo "$EVIL" >y/none/post-index-change && ln -s $PWD/y $W/absent`, false},
	{"a folder closed over a plant", `mkdir -p src/new && echo x >src/.envrc && cd src/new && git init -q . && git config core.fsmonitor "$EVIL" && cd ../.. && chmod 444 src`, false},
	{"the workspace closed over a plant", `mkdir -p pkg2 && echo x >pkg2/.envrc && chmod 444 $W`, false},
	{"a folder closed over links that lead out", `mkdir v && ln -s ~/.netrc v/l && ln -s $W/.git/hooks/pre-commit v/h && chmod 444 v`, false},
	{"a folder closed to be looked into by the next call", `mkdir v && echo x >v/f && chmod 333 v`, false},
	{"a pipe in the place of a link that a link leads through", `ln -s way/hooks2 m2; rm $W/way; mkfifo $W/way; ln -s $W/.git/hooks m3`, false},
	{"a folder with a HEAD, that is no repository", `mkdir fix && echo x >fix/HEAD && echo x >fix/flake.nix`, false},
	{"huge file", `truncate -s 4T .npmrc; rm $W/.envrc; truncate -s 4T $W/.envrc`, false},
	{"a folder that a link leads to becomes a link", `rm -r $W/builds && ln -s .git/hooks $W/builds`, false},
	{"program of an alias", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/alias.sh`, false},
	{"a folder with a HEAD becomes a repository", `cd $W/half && mkdir objects refs && printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >config`, true},
	{"program of a filter without a slash", `echo "$EVIL" >$W/clean.sh`, false},
	{"program of a filter after cd", `echo "$EVIL" >$W/tools/smudge.sh`, false},
	{"program on a continued line", `echo "$EVIL" >$W/tools/continued.sh`, false},
	{"program that an included file names", `echo "$EVIL" >$W/tools/included.sh`, false},
	{"hooks in a folder whose name has a space", `mkdir -p "$W/my hooks"; echo "$EVIL" >"$W/my hooks/post-checkout"`, false},
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
	{"symlinks in a row", `ln -s . here && mkdir -p x/y && ln -s ../../here/x x/y/up && ln -s x/y/up/../../../../.. out; ln -s here/here/.envrc note`, false},
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
	t.Cleanup(func() { _ = exec.Command("sh", "-c", "chmod -R u+rwx "+dir+"; rm -rf "+dir+"/home").Run() })
	m := machine{dir, dir + "/home", dir + "/home/state", dir + "/home/ws", dir + "/" + evilMark}
	require.NoError(t, exec.Command("cp", "-a", template+"/home", dir).Run())
	return m
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
printf '[alias]\nx = status\n' >tools/git.inc; printf '#!/bin/sh\n' >tools/diff.sh; chmod +x tools/diff.sh
git config include.path ../tools/git.inc; git config --add include.path ../tools/more.inc; git config diff.x.command ./tools/diff.sh
ln -s ../../tools/hook.sh .git/hooks/pre-push; echo true >tools/hook.sh; mkdir ways; echo true >ways/real.sh; ln -s ways way; ln -s ../../way/real.sh .git/hooks/post-merge
git config extra.x absent/none/x
git config alias.y '!./tools/alias.sh'; echo true >tools/alias.sh
echo true >clean.sh; git config filter.c.clean 'sh clean.sh'; echo true >tools/smudge.sh; git config filter.c.smudge './tools/smudge.sh %f'
printf '[diff "x]y"] command = \\\n./tools/continued.sh\n[core]\nhooksPath = "my hooks"\n' >>.git/config; echo true >tools/continued.sh
printf '[diff "i"]\ncommand = tools/included.sh\n' >>tools/git.inc; echo true >tools/included.sh
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
					m.refused(t, depth, a.script, "nothing that it did")
					require.False(t, m.obeyed(t))
				})
			}
		})
	}
}

// A repository that was there is what it was after each call, whatever the call did to it: git says why.
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
			require.Regexp(t, "(Read-only file system|Device or resource busy|cross-device|[Uu]nable to|could not lock|nothing that it did)", said)
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

// Settings that git obeys only later, links that protected names lead through, and names that only some tools obey are
// protected too, and so is what is not there yet.
func TestK2_WhatOthersLeadTo(t *testing.T) {
	needsConfinement(t)
	for _, a := range []struct{ name, before, call, want string }{
		{"link in a folder that settings name", `mkdir -p hk impl; echo true >impl/pc; ln -s ../impl/pc hk/pre-commit; git config core.hooksPath hk`, `echo x >impl/pc`, "impl/pc"},
		{"home reached by a link", `ln -s $HOME $HOME/alias; mkdir impl; echo true >impl/pc; ln -s $HOME/alias/ws/impl/pc .git/hooks/pre-commit`, `echo x >impl/pc`, "impl/pc"},
		{"start-up file reached by a link of the host", `ln -s $W $HOME/alias; mkdir conf; echo true >conf/rc; rm .envrc; ln -s $HOME/alias/conf/rc .envrc`, `echo x >conf/rc`, "conf/rc"},
		{"include on a branch that is not yet", `printf '[core]\nhooksPath = bh\n' >b.inc; git config includeIf.onbranch:evil.path ../b.inc`, `mkdir bh; echo x >bh/pre-commit`, "bh"},
		{"include of an include whose condition does not hold", `printf '[include]\npath = c.inc\n' >b.inc; git config includeIf.onbranch:evil.path ../b.inc`, `echo x >c.inc`, "c.inc"},
		{"filter whose program is not there", `git config filter.z.clean 'sh zclean.sh'`, `echo x >zclean.sh`, "zclean.sh"},
		{"filter whose program is not there and has no dot", `git config filter.z.clean 'sh zclean'`, `echo x >zclean`, "zclean"},
		{"template of new repositories", `mkdir -p tpl/hooks; git config init.templateDir $W/tpl`, `echo x >tpl/hooks/post-checkout`, "tpl/hooks/post-checkout"},
		{"program of a submodule's update", `mkdir up; echo true >up/run; git config submodule.s.update '!./up/run'`, `echo x >up/run`, "up/run"},
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

// A repository is not made in two calls.
func TestK2_ARepositoryIsNotMadeInTwoSteps(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	said, code := m.confined(t, `mkdir n n/refs n/objects; printf '[core]\nfsmonitor = x\n' >n/config`)
	require.Equal(t, 0, code, said)
	m.refused(t, ".", `echo "ref: refs/heads/main" >n/HEAD`, `"n/HEAD"`)
	m.refused(t, ".", `mkdir half/refs`, `"half/HEAD"`)
}

// What the host obeys by its environment, its settings of git and links of its home is protected, whether it is there or
// not; what is not named plainly refuses the call.
func TestK2_WhatTheHostObeys(t *testing.T) {
	needsConfinement(t)
	for _, a := range []struct {
		name, env, before, call string
		code                    int
		want                    string
	}{
		{"a folder of PATH", "PATH=$W/.venv/bin:/usr/bin:/bin", `mkdir -p .venv/bin`, `echo x >.venv/bin/git`, NothingKept, `".venv/bin/git"`},
		{"a relative folder of PATH", "PATH=.git/safe/../../bin:/usr/bin:/bin", ``, `mkdir bin; echo x >bin/ls`, NothingKept, `"bin/ls"`},
		{"a folder of PATH by a name that is left again", "PATH=$W/x/../bin:/usr/bin:/bin", ``, `mkdir -p d/er d/bin; echo x >d/bin/ls; ln -s d/er x`, NothingKept, `"x"`},
		{"a folder of PATH that is a link", "PATH=$W/l/bin:/usr/bin:/bin", `mkdir -p r/bin; ln -s r l`, `echo x >r/bin/ls`, NothingKept, `"r/bin/ls"`},
		{"the workspace in PATH", "PATH=/usr/bin:", ``, `echo x >ls`, NotConfined, "PATH"},
		{"the workspace searched for libraries", "LD_LIBRARY_PATH=:/usr/lib", ``, `true`, NotConfined, "LD_LIBRARY_PATH"},
		{"a virtual environment", "VIRTUAL_ENV=$W/.venv", ``, `mkdir .venv; echo x >.venv/x`, NothingKept, `".venv"`},
		{"an option", "NODE_OPTIONS=--require ./x/hook.js", ``, `mkdir x; echo x >x/hook.js`, NothingKept, `"x/hook.js"`},
		{"a file of the working directory", "BASH_ENV=rc", `echo true >rc`, `echo x >rc`, NothingKept, `"rc"`},
		{"what a variable names is a folder's name by chance", "NODE_ENV=tools", ``, `echo x >tools/new`, 0, ""},
		{"git's own settings", "GIT_CONFIG_GLOBAL=$W/gitglobal", ``, `true`, NotConfined, "GIT_CONFIG_GLOBAL"},
		{"a setting of git", "GIT_CONFIG_COUNT=0", ``, `true`, NotConfined, "GIT_CONFIG_COUNT"},
		{"git's editor", "GIT_EDITOR=./ed", ``, `echo x >ed`, NothingKept, `"ed"`},
		{"hooks in the workspace itself", "", `git config core.hooksPath .`, `true`, NotConfined, "core.hookspath"},
		{"hooks of the repository around it, in the workspace itself", "SUB=1", `git config core.hooksPath $W`, `true`, NotConfined, "core.hookspath"},
		{"hooks in another user's home", "", `git config core.hooksPath '~tester/hk'`, `true`, NotConfined, "core.hookspath"},
		{"quoted program", "", `git config core.fsmonitor "'$W/my proj/fsm.sh'"`, `true`, NotConfined, "core.fsmonitor"},
		{"program with a backslash", "", `git config core.fsmonitor "$W/my\\ proj/fsm.sh"`, `true`, NotConfined, "core.fsmonitor"},
		{"program after cd", "", `git config filter.z.clean 'cd tools && ./x.sh'`, `true`, NotConfined, "filter.z.clean"},
		{"program by a variable", "", `git config alias.z '!$HOME/x'`, `true`, NotConfined, "alias.z"},
		{"an alias that is called as a file is", "", `git config alias.profile '!sh prof'`, `echo x >prof`, NothingKept, `"prof"`},
		{"programs that are plain", "", `git config filter.lfs.clean 'git-lfs clean -- %f'; git config credential.helper '!gh auth git-credential'; git config difftool.z.cmd 'meld "$LOCAL" "$REMOTE"'; git config core.pager 'less -F'; git config alias.l 'log --format="%h %s"'; git config core.fsmonitor true`, `mkdir auth; echo x >auth/x`, 0, ""},
		{"hooks outside that are links", "", `mkdir ../hk; ln -s ../ws/pc ../hk/pre-commit; git config core.hooksPath $HOME/hk`, `echo x >pc`, NothingKept, `"pc"`},
		{"a start-up file of the home that is a link", "", `echo true >bashrc; rm ../.bashrc; ln -s ws/bashrc ../.bashrc`, `echo x >bashrc`, NothingKept, `"bashrc"`},
		{"a start-up file of the home by two links", "", `echo true >real; ln -s real l; mkdir ../.config; ln -s $W/l ../.config/x`, `rm l; echo x >l`, NothingKept, `"l"`},
		{"a file in a hidden folder of the home that is a link", "", `mkdir ../.ssh; ln -s ../ws/cfg ../.ssh/config`, `echo x >cfg`, NothingKept, `"cfg"`},
		{"a program of the home that is a link", "", `mkdir -p ../.local/bin; ln -s ../../ws/prog ../.local/bin/prog`, `echo x >prog`, NothingKept, `"prog"`},
		{"a folder of the home that is the workspace", "", `ln -s ws ../.vim`, `true`, NotConfined, ".vim"},
		{"a repository whose folder is a link", "", `mv vendor/lib/.git real; ln -s ../../real vendor/lib/.git`, `true`, NotConfined, "symbolic link"},
		{"a repository behind a link", "", `mv vendor/lib/.git real; ln -s real way2; echo "gitdir: ../../way2" >vendor/lib/.git`, `true`, NotConfined, "symbolic link"},
		{"a repository behind a link that is left again", "", `mkdir -p x/y; ln -s x/y l; mv vendor/lib/.git x/real; echo "gitdir: ../../l/../real" >vendor/lib/.git`, `true`, NotConfined, "symbolic link"},
		{"a repository beside its file", "", `mv vendor/lib/.git real; rm real/HEAD; echo "gitdir: ../../real" >vendor/lib/.git`, `echo x >real/HEAD; mv real r; echo kept >kept`, 0, ""},
		{"link that leads through the kernel", "", ``, `ln -s /proc/self/cwd/.aws/credentials m`, NothingKept, `"m"`},
		{"link to a device", "", ``, `ln -s /dev/fd/9 m`, NothingKept, `"m"`},
		{"link to nothing", "", ``, `ln -s /dev/null m`, 0, ""},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, a.before)
			dir := m.ws
			if a.env == "SUB=1" {
				m.sh(t, m.ws, `git config core.hooksPath pkg`)
				m.ws += "/pkg"
			}
			before := m.seenFiles()
			cmd := m.wrapped(a.call, strings.ReplaceAll(a.env, "$W", dir))
			out, _ := cmd.CombinedOutput()
			if a.code == 0 {
				require.NotContains(t, string(out), "approvalbot:")
				return
			}
			require.Equal(t, a.code, cmd.ProcessState.ExitCode(), "%s", out)
			require.Contains(t, string(out), a.want)
			require.Empty(t, differs(before, m.seenFiles()), "%s", out)
		})
	}
}

// Settings of one workspace name files of another.
func TestK2_SettingsOfOneWorkspaceNameFilesOfAnother(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	other := m.home + "/other"
	m.sh(t, m.ws, `mkdir ../other; git config core.hooksPath $HOME/other/hk; rm .envrc; ln -s ../other/rc .envrc`)
	for _, script := range []string{"mkdir " + other + "/hk; echo x >" + other + "/hk/post-commit", "echo x >" + other + "/rc"} {
		cmd := exec.Command("/proc/self/exe", m.state, m.ws, "sh", "-c", script)
		cmd.Dir, cmd.Env = m.ws, append(m.env(), asWrapper+"=1", more+"="+other)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, NothingKept, cmd.ProcessState.ExitCode(), "%s", out)
		require.NoDirExists(t, other+"/hk")
		require.NoFileExists(t, other+"/rc")
	}
}

// A repository that the host makes while a call runs can name what the call plants without knowing of it.
func TestK2_RepositoriesThatAppearMeanwhile(t *testing.T) {
	needsConfinement(t)
	for _, host := range []string{`git init -q sub; git -C sub config core.hooksPath hk`, `git config diff.new.command sub/hk`} {
		m := newMachine(t)
		said, code := m.during(t, `mkdir -p sub/hk; echo x >sub/hk/post-commit`, host)
		require.Equal(t, NothingKept, code, said)
		require.Contains(t, said, "meanwhile")
		require.NoFileExists(t, m.ws+"/sub/hk/post-commit")
	}
}

// Settings that git cannot read, and a pipe where it would wait, keep a call from running.
func TestK2_SettingsThatCannotBeReadRefuseTheCall(t *testing.T) {
	t.Cleanup(func() { gitTime = 10 * time.Second })
	gitTime = time.Second
	for _, before := range []string{`echo '[broken' >.git/config`, `rm .git/HEAD; mkfifo .git/HEAD`, `mkfifo pipe; git config --replace-all include.path ../pipe`} {
		m := newMachine(t)
		m.sh(t, m.ws, before)
		w, err := begin(m.state, m.ws)
		require.NoError(t, err)
		require.NoError(t, w.list(t.Context()))
		_, err = look(t.Context(), m.env(), []*Watch{w}, []*list{w.before})
		require.Error(t, err, before)
		w.close()
	}
}

// A repository around the workspace has hooks and start-up files that are links into it.
func TestK2_LinksFromAboveTheWorkspace(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `echo true >pkg/pc; echo true >pkg/rc; ln -sf ../../pkg/pc .git/hooks/pre-commit; rm .envrc; ln -s pkg/rc .envrc`)
	m.ws += "/pkg"
	m.refused(t, ".", `echo x >pc; echo x >rc`, `"pc", "rc"`)
}

// Settings lead through a link above the workspace, or from a repository that the workspace is a part of.
func TestK2_SettingsFromOutsideNameFilesInside(t *testing.T) {
	needsConfinement(t)
	m := newMachine(t)
	m.sh(t, m.ws, `ln -s $HOME $HOME/above; git config diff.above.command $HOME/above/ws/tools/above.sh; git config diff.sub.command pkg/sub.sh; git config core.hooksPath pkg/h`)
	m.refused(t, ".", `echo x >tools/above.sh`, `"tools/above.sh"`)
	m.ws += "/pkg"
	m.refused(t, ".", `echo x >sub.sh; mkdir h; echo x >h/pre-push`, `"h", "h/pre-push", "sub.sh"`)
}
