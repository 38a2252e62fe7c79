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
	"golang.org/x/sys/unix"
)

// attack is one way to leave something in a workspace that a later call obeys. It runs with nothing
// but the comparison around it, in the directory $D of the workspace. $EVIL is a program that leaves
// a mark.
type attack struct {
	name   string
	script string
	may    string // paths that it may leave behind, by their beginnings
	obeyed bool   // git runs the program if nothing takes it away
}

var attacks = []attack{
	{"embedded repository with fsmonitor", `git init -q n && cd n && echo a >a && git add a && git commit -qm a && git config core.fsmonitor "$EVIL" && cd .. && git add n`, "n", true},
	{"embedded repository, gitlink made by plumbing", `git init -q n && cd n && echo a >a && git add a && git commit -qm a && git config core.fsmonitor "$EVIL" && o=$(git rev-parse HEAD) && cd .. && git update-index --add --cacheinfo 160000,$o,"$(git rev-parse --show-prefix)n"`, "n", true},
	{"bare layout", `git init -q --bare bare && git -C bare config core.fsmonitor "$EVIL" && git -C bare config core.bare false && git -C bare config core.worktree ..`, "bare/", true},
	{"bare layout below refs", `mkdir -p $W/.git/refs/heads/x && cd $W/.git/refs/heads/x && mkdir objects refs && echo "ref: refs/heads/m" >HEAD && printf '[core]\nrepositoryformatversion = 0\nbare = false\nworktree = ..\nfsmonitor = %s\n' "$EVIL" >config`, ".git/refs/heads/x", true},
	{"bare layout by commondir", `mkdir c d && cd d && mkdir objects refs && printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >config && echo "ref: refs/heads/m" >HEAD && cd ../c && echo ../d >commondir && echo "ref: refs/heads/m" >HEAD`, "c d/", true},
	{"config by writing", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >>$W/.git/config`, "", true},
	{"config of the same size in place", `perl -e 'open F,"+<",$ARGV[0];local $/;$_=<F>;s/name = tester/name = hacker/;seek F,0,0;print F $_' $W/.git/config`, "", false},
	{"config by rename", `cp $W/.git/config c && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c && mv c $W/.git/config`, "", true},
	{"config by a symlink", `cp $W/.git/config c && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c && ln -sf $PWD/c $W/.git/config`, "c", true},
	{"config by a hard link", `cp $W/.git/config c && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>c && ln -f c $W/.git/config`, "c", true},
	{"hard link to config, to be written later", `ln $W/.git/config notes.txt`, "", false},
	{"config.worktree", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/.git/config.worktree; git config extensions.worktreeConfig true`, "", true},
	{"commondir", `cp -r $W/.git other && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>other/config && echo $PWD/other >$W/.git/commondir`, "other/", true},
	{"hook", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/.git/hooks/post-index-change && chmod +x $W/.git/hooks/post-index-change && touch $W/main.go`, "", false},
	{"hooks by renaming their folder", `mkdir h && printf '#!/bin/sh\n%s\n' "$EVIL" >h/post-index-change && chmod +x h/post-index-change && mv $W/.git/hooks $W/.git/away && mv h $W/.git/hooks && touch $W/main.go`, ".git/away", false},
	{"hooks by a symlink", `mkdir h && printf '#!/bin/sh\n%s\n' "$EVIL" >h/post-index-change && chmod +x h/post-index-change && rm -rf $W/.git/hooks && ln -s $PWD/h $W/.git/hooks && touch $W/main.go`, "h", false},
	{"a hook made executable", `chmod +x $W/.git/hooks/old`, "", false},
	{".git replaced by a file", `cp -r $W/.git moved && rm -rf $W/.git && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>moved/config && echo "gitdir: $PWD/moved" >$W/.git`, "moved .git/", true},
	{".git replaced by a symlink", `mv $W/.git moved && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>moved/config && ln -s $PWD/moved $W/.git`, "moved .git/", true},
	{".git file of a worktree", `git worktree add -q wt && printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/.git/worktrees/wt/config.worktree && git config extensions.worktreeConfig true`, "wt .git/worktrees", true},
	{"submodule's own directory", `git init -q n && cd n && echo a >a && git add a && git commit -qm a && mkdir -p $W/.git/modules && mv .git $W/.git/modules/n && echo "gitdir: $W/.git/modules/n" >.git && printf '[core]\nworktree=%s\nfsmonitor = %s\n' "$PWD" "$EVIL" >$W/.git/modules/n/config && cd .. && git add n`, "n .git/modules", true},
	{"known embedded repository", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >>$W/vendor/lib/.git/config`, "", true},
	{"known bare repository", `printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >>$W/fixtures/repo.git/config`, "", true},
	{"a folder with a known repository, replaced by a symlink", `cp -r $W/vendor/lib evil && printf '[core]\nfsmonitor = %s\n' "$EVIL" >>evil/.git/config && rm -rf $W/vendor/lib && ln -s $PWD/evil $W/vendor/lib`, "vendor/lib evil", true},
	{"what config includes", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/tools/git.inc`, "", true},
	{"what config includes, and was not there", `printf '[core]\nfsmonitor = %s\n' "$EVIL" >$W/tools/more.inc`, "", true},
	{"program that config names", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/diff.sh`, "", false},
	{"what a hook's link leads to", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/hook.sh; mkdir m; echo "$EVIL" >m/real.sh; rm -f $W/way; ln -s $PWD/m $W/way`, "m", false},
	{"folder that config names, and was not there", `mkdir -p y/none && echo "$EVIL" >y/none/post-index-change && ln -s $PWD/y $W/absent`, "y", false},
	{"huge file", `truncate -s 4T .npmrc; rm $W/.envrc; truncate -s 4T $W/.envrc`, "", false},
	{"a folder that a link leads to becomes a link", `rm -r $W/builds && ln -s .git/hooks $W/builds`, "@builds", false},
	{"program of an alias", `printf '#!/bin/sh\n%s\n' "$EVIL" >$W/tools/alias.sh`, "", false},
	{"a folder with a HEAD becomes a repository", `cd $W/half && mkdir objects refs && printf '[core]\nrepositoryformatversion = 0\nfsmonitor = %s\nbare=false\nworktree=..\n' "$EVIL" >config`, "half/ @half", true},
	{"a rebase's strategy", `mkdir $W/.git/rebase-merge && echo x/evil >$W/.git/rebase-merge/strategy`, "", false},
	{"program of a filter without a slash", `echo "$EVIL" >$W/clean.sh`, "", false},
	{"program of a filter after cd", `echo "$EVIL" >$W/tools/smudge.sh`, "", false},
	{"program on a continued line", `echo "$EVIL" >$W/tools/continued.sh`, "", false},
	{"program that an included file names", `echo "$EVIL" >$W/tools/included.sh`, "", false},
	{"hooks in a folder whose name has a space", `mkdir -p "$W/my hooks"; echo "$EVIL" >"$W/my hooks/post-checkout"`, "", false},
	{"a rebase's list", `mkdir $W/.git/rebase-merge && echo "exec $EVIL" >$W/.git/rebase-merge/git-rebase-todo`, ".git/rebase-merge", false},
	{".envrc in a new folder", `mkdir fresh && echo "$EVIL" >fresh/.envrc`, "fresh", false},
	{".envrc in a new folder, by a rename of its parent", `mkdir -p t/x && echo "$EVIL" >t/x/.envrc && mv t u`, "u", false},
	{"letter case, and what is not seen", `mkdir .GIT .Claude && echo "$EVIL" >.ENVRC && printf x >.Claude/Settings.json && printf x >"$(printf '.env\342\200\213rc')"`, "", false},
	{"names that are no text", `d=$(printf 'odd\n\377b') && mkdir "$d" && echo "$EVIL" >"$d/.envrc" && git init -q "$d"`, "odd", false},
	{"settings, CI, instructions", `mkdir -p .claude .github/workflows .vscode && echo {} >.claude/settings.json && echo x >.github/workflows/x.yml && echo {} >.vscode/tasks.json && echo x >AGENTS.md && echo x >.gitlab-ci.yml`, "", false},
	{"removed", `rm -rf $W/.claude $W/.github $W/.envrc $W/pkg/a/b/.envrc`, "", false},
	{"removed with its folder", `rm -rf $W/pkg/a`, "@pkg/a/b/b.go", false},
	{"folder nobody may look into", `mkdir -p shut/in && echo "$EVIL" >shut/in/.envrc && chmod 000 shut/in shut`, "shut", false},
	{"folder nobody may write to", `mkdir -p shut/.claude && echo {} >shut/.claude/settings.json && chmod 555 shut/.claude shut`, "shut", false},
	{"file nobody may read", `echo x >$W/.envrc && chmod 000 $W/.envrc && echo y >.npmrc && chmod 000 .npmrc`, "", false},
	{"symlink out of the workspace", `ln -s $HOME/.bashrc notes.txt; ln -s $W/.git/hooks build; ln -s $W/.git build2; ln -s / r`, "", false},
	{"symlinks in a row", `ln -s . here && mkdir -p x/y && ln -s ../../here/x x/y/up && ln -s x/y/up/../../../../.. out; ln -s here/here/.envrc note`, "here x", false},
	{"log that is a symlink", `rm -f $W/.git/logs/HEAD; mkdir -p $W/.git/logs; ln -s $HOME/.bashrc $W/.git/logs/HEAD`, ".git/logs", false},
	{"a folder's symlink now leads elsewhere", `rm $W/current && ln -s .git/hooks $W/current`, "", false},
	{"pipes and sockets", `mkfifo .envrc2 .npmrc; python3 -c 'import socket;socket.socket(socket.AF_UNIX).bind(".mise.toml")'; rm -f $W/.github/workflows/ci.yml; mkfifo $W/.github/workflows/ci.yml`, ".envrc2", false},
	{"times set back", `t=$(stat -c %Y $W/.envrc); echo "$EVIL" >$W/.envrc; touch -d @$t $W/.envrc $W; mkdir q; echo x >q/.envrc; touch -d @1 q q/.envrc`, "q", false},
	{"very deep", `python3 -c '
import os
for i in range(2000):
    os.mkdir("d"); os.chdir("d")
os.mkdir(".git"); open(".envrc","w").write("x")'`, "d", false},
	{"mmap", `python3 -c '
import mmap,os
f=open(os.environ["W"]+"/.envrc","r+b"); m=mmap.mmap(f.fileno(),0); m[0:3]=b"xyz"; m.close()'`, "", false},
	{"content and mode exchanged between two", `cd $W; mv .envrc x && mv pkg/a/b/.envrc .envrc && mv x pkg/a/b/.envrc`, "", false},
	{"folder in place of a file, file in place of a folder", `cd $W; rm .envrc; mkdir .envrc; echo x >.envrc/x; rm -r .claude; echo x >.claude`, "", false},
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
	kept, err := filepath.Glob(m.state + "/*")
	require.NoError(t, err)
	require.NoError(t, os.Rename(kept[0], stateOf(m.state, m.ws))) // its contents need not be kept again
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
echo true >clean.sh; git config filter.c.clean 'sh clean.sh'; echo true >tools/smudge.sh; git config filter.c.smudge 'cd tools && ./smudge.sh'
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
	w, err := begin(m.home+"/state", m.home+"/ws")
	if err == nil {
		_, err = w.End()
	}
	if err != nil {
		panic(err)
	}
	_ = os.Remove(w.path("before"))
	return dir
})

func (m machine) env(more ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home, "W=" + m.ws, "EVIL=touch " + m.mark + ";", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@t", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@t", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always"}, more...)
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

// seenFiles is the workspace as it means something, with what an ordinary commit writes left out.
func (m machine) seenFiles() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(m.ws, func(p string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(p, m.ws), "/")
		for _, own := range []string{"objects/", "index", "refs/", "logs/", "HEAD", "COMMIT_EDITMSG", "ORIG_HEAD", "packed-refs", "info"} {
			if at := strings.Index(rel, ".git/"); at >= 0 && strings.HasPrefix(rel[at+5:], own) && !strings.Contains(rel, "/x") {
				return nil
			}
		}
		if err != nil {
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

// differs gives what is not as it was, without what may be.
func differs(before, after map[string]string, may []string) (out []string) {
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
	return slices.DeleteFunc(out, func(s string) bool {
		return slices.ContainsFunc(may, func(m string) bool {
			return m != "" && strings.HasPrefix(s, strings.TrimSuffix(fmt.Sprintf("%q", m), `"`))
		})
	})
}

// Nothing that a call leaves behind is obeyed after it, at any depth: the planted program does not run,
// every protected name is as it was, and the call is reported with the names.
func TestK2_NothingPlantedIsObeyed(t *testing.T) {
	t.Cleanup(func() { settle = 2 * time.Second })
	for _, depth := range []string{".", "pkg", "pkg/a/b"} {
		t.Run(depth, func(t *testing.T) {
			for _, a := range attacks {
				t.Run(a.name, func(t *testing.T) { t.Parallel(); a.holds(t, depth) })
			}
		})
	}
	settle = 0 // as in a workspace that was not touched for a while: what did not change is not read again
	t.Run("at rest", func(t *testing.T) {
		for _, a := range attacks {
			t.Run(a.name, func(t *testing.T) { t.Parallel(); a.holds(t, "pkg") })
		}
	})
}

func (a attack) holds(t *testing.T, depth string) {
	m := newMachine(t)
	before := m.seenFiles()
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, filepath.Join(m.ws, depth), a.script)
	found, err := w.End()
	require.NoError(t, err)
	require.NotEmpty(t, found.Names, "the call is reported")
	var may []string
	for p := range strings.SplitSeq(a.may, " ") {
		may = append(may, strings.TrimPrefix(p, "@"), filepath.Join(depth, p))
	}
	require.Empty(t, differs(before, m.seenFiles(), may), "%v", found.Names)
	require.False(t, m.obeyed(t), "a planted program ran: %v", found.Names)
	m.clean(t)
}

// clean requires that the next call finds nothing.
func (m machine) clean(t *testing.T) {
	t.Helper()
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	require.Empty(t, w.Left.Names)
	found, err := w.End()
	require.NoError(t, err)
	require.Empty(t, found.Names)
}

// The rows are worth something: without the comparison git runs what they plant.
func TestK2_RowsAreAttacks(t *testing.T) {
	for _, a := range attacks {
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
		{"remotes in the old form", "", `mkdir .git/remotes; echo 'URL: /evil' >.git/remotes/origin`, ".git/remotes"},
		{"branches in the old form", "", `mkdir -p .git/branches; echo /evil >.git/branches/origin`, ".git/branches/origin"},
		{"objects of another repository", "", `echo /elsewhere >.git/objects/info/alternates`, ".git/objects/info/alternates"},
		{"pipe that git waits for", "", `rm .git/HEAD; mkfifo .git/HEAD`, ".git/HEAD"},
		{"editors and agents", "", `mkdir .helix .agent; echo x >.helix/languages.toml; echo x >.gitpod.yml; echo x >.mise.production.toml`, ".helix"},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.sh(t, m.ws, a.before)
			w, err := begin(m.state, m.ws)
			require.NoError(t, err)
			m.sh(t, m.ws, a.call)
			found, err := w.End()
			require.NoError(t, err)
			require.Contains(t, found.Names, a.want)
			m.clean(t)
		})
	}
}

// What settings name is still protected when a call before made git take the folder for no repository.
func TestK2_ABrokenRepositoryHidesNoSettings(t *testing.T) {
	for _, a := range []struct{ name, blind, see string }{
		{"HEAD", `echo broken >.git/HEAD`, `echo "ref: refs/heads/main" >.git/HEAD`},
		{"refs", `mv .git/refs .git/away`, `mv .git/away .git/refs`},
		{"objects", `mv .git/objects .git/away`, `mv .git/away .git/objects`},
	} {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			for _, call := range []string{a.blind, a.see + `; echo x >tools/diff.sh; printf '[core]\nfsmonitor = x\n' >tools/git.inc`} {
				w, err := begin(m.state, m.ws)
				require.NoError(t, err)
				m.sh(t, m.ws, call)
				found, err := w.End()
				require.NoError(t, err)
				if call != a.blind {
					require.Subset(t, found.Names, []string{"tools/diff.sh", "tools/git.inc"})
				}
			}
		})
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
		require.Error(t, err, before)
		require.Nil(t, w)
	}
}

// A repository around the workspace has hooks and start-up files that are links into it.
func TestK2_LinksFromAboveTheWorkspace(t *testing.T) {
	m := newMachine(t)
	m.sh(t, m.ws, `echo true >pkg/pc; echo true >pkg/rc; ln -sf ../../pkg/pc .git/hooks/pre-commit; rm .envrc; ln -s pkg/rc .envrc`)
	w, err := begin(m.state, m.ws+"/pkg")
	require.NoError(t, err)
	m.sh(t, m.ws, `echo x >pkg/pc; echo x >pkg/rc`)
	found, err := w.End()
	require.NoError(t, err)
	require.Equal(t, []string{"pc", "rc"}, found.Names)
}

// Times are not believed alone: a file system may exchange contents and leave them.
func TestK2_ContentIsComparedWhateverTheTimesSay(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `echo 'export A=2' >.envrc`)
	var st unix.Stat_t
	require.NoError(t, unix.Lstat(m.ws+"/.envrc", &st))
	e := w.before.Names[".envrc"]
	e.Inode, e.Racy = inodeOf(&st), false
	w.before.Names[".envrc"] = e
	found, err := w.End()
	require.NoError(t, err)
	require.Equal(t, []string{".envrc"}, found.Names)
}

// What was taken away is closed: a prompt in the quarantine runs nothing of it.
func TestK2_TheQuarantineIsClosed(t *testing.T) {
	m := newMachine(t)
	w, err := begin(m.state, m.ws)
	require.NoError(t, err)
	m.sh(t, m.ws, `mkdir -p .vscode/y; git init -q .vscode/y; git -C .vscode/y config core.fsmonitor "$EVIL"; echo x >pkg/.envrc`)
	found, err := w.End()
	require.NoError(t, err)
	all, err := os.ReadDir(found.Quarantine)
	require.NoError(t, err)
	require.Len(t, all, 3)
	for _, f := range all {
		info, err := f.Info()
		require.NoError(t, err)
		require.True(t, f.Name() == "names" || info.Mode().Perm() == 0, "%s %s", f.Name(), info.Mode())
	}
}
