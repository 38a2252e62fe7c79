package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/internal/hook/live"
)

// confinedClient is a lab of the real Claude Code of an ordinary user, whose hook confines, beside its desk. own gives that
// user all files of the lab.
func confinedClient(t *testing.T) (c confiner, l *live.Lab, own func()) {
	t.Helper()
	path := agentsPath(t)
	home, err := os.MkdirTemp("", "confiner-")
	require.NoError(t, err)
	t.Cleanup(func() { removeState(t, home) })
	l, err = live.Open("claude-code", path, home)
	if err != nil {
		t.Skip("claude-code: not tested, its client is not installed")
	}
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	own = func() {
		require.NoError(t, filepath.WalkDir(l.Dir(), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && os.Geteuid() == 0 {
				err = os.Lchown(path, ordinary, ordinary)
			}
			return err
		}))
	}
	own()
	c = newConfinerIn(t, ordinary, home, l.Project, confineUnsure)
	version := c.command()
	version.Path, version.Args, version.Env = live.Find("claude-code", path), []string{"claude", "--version"}, []string{"HOME=" + l.Home, "PATH=" + path}
	if said, err := version.CombinedOutput(); err != nil {
		t.Skipf("claude-code: not tested confined, an ordinary user cannot start it where it is installed (%v %s)", err, said)
	}
	file, err := os.ReadFile(c.client)
	require.NoError(t, err)
	client := filepath.Join(l.Home, ".config", "approvalbot", "client.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(client), 0o700))
	require.NoError(t, os.WriteFile(client, file, 0o600))
	own()
	install := c.command("install", "claude-code", "--user", "--confine")
	install.Env = []string{"HOME=" + l.Home, "PATH=" + path}
	said, err := install.CombinedOutput()
	require.NoError(t, err, string(said))
	return c, l, own
}

// clientRuns has the client do what its model asks for.
func clientRuns(t *testing.T, l *live.Lab, own func(), options ...string) live.Result {
	t.Helper()
	got, err := l.Try(t.Context(), func(ctx context.Context) (string, error) {
		own()
		cmd := l.Client(ctx)
		cmd.Args = append(cmd.Args, options...)
		cmd.Env = append(cmd.Env, "CLAUDE_CODE_TMPDIR="+l.Home, "TMPDIR="+l.Home) // this user may not write in /tmp
		if os.Geteuid() == 0 {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: ordinary, Gid: ordinary}
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	})
	require.NoError(t, err, got.Output)
	return got
}

// K7: the real Claude Code runs what policy allows as it would without approvalbot, and none of it, nor what it left, runs
// beside a confined command.
func TestAgents_K7_CommandsRunAsTheyAre(t *testing.T) {
	c, l, own := confinedClient(t)
	c.script("frob", "echo ran\n")
	require.NoError(t, os.Mkdir(filepath.Join(c.ws, "sub"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(c.ws, "sub", "a.txt"), []byte("of the file\n"), 0o644))
	bash := func(line string) live.Use { return live.Use{Tool: "Bash", Args: map[string]any{"command": line}} }
	l.Model.Before = []live.Use{bash("mkdir -p sub/made && cd sub"), bash("touch b; echo \"it's\" $((6*7)) | tr a-z A-Z; false || cat a.txt"), bash("touch c; cat <<'E' | wc -l # two\na\nb\nE"),
		bash("mkdir d && cat missing"), bash("pwd")}
	got := clientRuns(t, l, own)
	require.Equal(t, api.Approved, c.newest().Status)
	read := strings.Join(got.Read, "\n--\n")
	for _, said := range []string{"IT'S 42\nof the file", "--\n2\n", "Exit code 1", "missing: No such file", c.ws + "/sub"} {
		require.Contains(t, read, said)
	}
	require.NotContains(t, read, "beside", "the model reads nothing of it")

	// It judges a replaced command again if it only plans.
	l.Model.Before = []live.Use{bash("ls sub")}
	require.Contains(t, strings.Join(clientRuns(t, l, own, "--permission-mode", "plan").Read, "\n"), "a.txt")

	pipe := filepath.Join(c.ws, "sub", "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o666))
	l.Model.Before = []live.Use{{Tool: "Bash", Args: map[string]any{"command": "mkdir e; cat sub/pipe", "run_in_background": true}}, bash("./frob")}
	done := make(chan live.Result, 1)
	go func() { done <- clientRuns(t, l, own) }()
	r := c.rig
	card := r.asked("./frob")
	r.tap(r.alice, r.group, card.ID, "Deny")
	require.NoError(t, os.WriteFile(pipe, nil, 0o600)) // what runs in the background ends
	require.Contains(t, strings.Join((<-done).Read, "\n"), "denied by alice")
	l.Model.Before, l.Model.Command = nil, "./frob 2"
	require.Contains(t, strings.Join(clientRuns(t, l, own).Read, "\n"), "ran")
	require.NotNil(t, c.newest().Confined)
}

// K7: the real Claude Code runs the confined form of what the desk does not understand, and not its own. With a rule
// of its own for commands it is asked about as before (K9), and so it is after the command failed confined.
func TestAgents_K7_K9_CommandsRunConfined(t *testing.T) {
	c, l, own := confinedClient(t)
	secret := filepath.Join(c.home, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("of the home"), 0o644))
	c.script("frob", "echo run >> ran.txt; cat "+secret+"; exit ${1:-0}\n")
	own()
	runs := func(command string) live.Result {
		t.Helper()
		l.Model.Command = command
		return clientRuns(t, l, own)
	}
	got := runs("./frob && echo 'it'\"'s done\"")
	read := strings.Join(got.Read, "\n")
	require.Contains(t, read+got.Output, "No such file", "it ran without the home")
	require.NotContains(t, read, "of the home")
	require.FileExists(t, filepath.Join(c.ws, "ran.txt"), read)
	a := c.newest()
	require.NotNil(t, a.Confined)
	require.NotNil(t, a.Result)

	// The client goes by settings that come and go within one command, and says so before it does.
	repository := c.command()
	repository.Path, repository.Args = "/bin/sh", []string{"sh", "-ec", `git init -q -b main . && git add frob && git commit -q -m one
		git switch -q -c other && mkdir .claude && echo '{"permissions": {"deny": ["Bash(./frob:*)"]}}' >.claude/settings.json
		git add .claude && git commit -q -m two && git switch -q main`}
	repository.Dir = c.ws
	repository.Env = append(repository.Env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	own()
	said, err := repository.CombinedOutput()
	require.NoError(t, err, string(said))
	runs("git switch other && sleep 4 && git switch main")
	require.Equal(t, api.Approved, c.newest().Status)
	remembered, err := filepath.Glob(filepath.Join(l.Home, ".local", "state", "approvalbot", "claude-code", "*", "*[0-9]"))
	require.NoError(t, err)
	require.Len(t, remembered, 1)
	text, err := os.ReadFile(remembered[0])
	require.NoError(t, err)
	require.Equal(t, "not alone", string(text))

	got = runs("./frob 7")
	require.Contains(t, strings.Join(got.Read, "\n"), "The same command again asks a person")
	require.EqualValues(t, "failed", c.newest().Result.Status)
	for _, again := range []string{"./frob 7", "./frob 8"} { // the second one with a rule of the client's own
		done := make(chan live.Result, 1)
		go func() { done <- runs(again) }()
		r := c.rig
		card := r.asked(again)
		r.tap(r.alice, r.group, card.ID, "Deny")
		require.Contains(t, strings.Join((<-done).Read, "\n"), "denied by alice")
		rules := filepath.Join(c.ws, ".claude", "settings.json")
		require.NoError(t, os.MkdirAll(filepath.Dir(rules), 0o755))
		require.NoError(t, os.WriteFile(rules, []byte(`{"permissions": {"ask": ["Bash(./frob:*)"]}}`), 0o644))
	}
	text, err = os.ReadFile(filepath.Join(c.ws, "ran.txt"))
	require.NoError(t, err)
	require.Equal(t, "run\nrun\n", string(text), "no original ran")
}

// K8: a person has the client go by another folder with /cd. What it read there judges commands and is in its environment,
// also if the settings are gone, or the client is back, before the next command.
func TestAgents_K8_AnotherFolder(t *testing.T) {
	for name, there := range map[string]struct {
		settings string
		before   func(t *testing.T, moves func(to string), rules string)
	}{
		"its settings are gone": {`{"permissions": {"deny": ["Bash(./frob:*)"]}}`, func(t *testing.T, moves func(to string), rules string) {
			moves("sub")
			require.NoError(t, os.RemoveAll(filepath.Dir(rules)))
		}},
		"and back": {`{"env": {"BASH_FUNC_source%%": "() { ./frob unconfined; builtin source \"$@\"; }"}}`, func(_ *testing.T, moves func(to string), rules string) {
			moves("sub")
			moves(filepath.Dir(filepath.Dir(filepath.Dir(rules))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c, l, own := confinedClient(t)
			c.script("frob", "echo run >> $0.txt\n")
			sub := filepath.Join(l.Project, "sub")
			rules := filepath.Join(sub, ".claude", "settings.json")
			require.NoError(t, os.MkdirAll(filepath.Dir(rules), 0o755))
			require.NoError(t, os.WriteFile(rules, []byte(there.settings), 0o644))
			seed := fmt.Sprintf(`{"hasCompletedOnboarding": true, "customApiKeyResponses": {"approved": ["x"]},
				"projects": {%q: {"hasTrustDialogAccepted": true}, %q: {"hasTrustDialogAccepted": true}}}`, l.Project, sub)
			require.NoError(t, os.WriteFile(filepath.Join(l.Home, ".claude.json"), []byte(seed), 0o600))
			own()
			l.Model.Command = "./frob 1"
			cmd := l.Cmd(t.Context(), "--permission-mode", "default", "clean up the build folder")
			cmd.Env = append(cmd.Env, "CLAUDE_CODE_TMPDIR="+l.Home, "TMPDIR="+l.Home) // this user may not write in /tmp
			if os.Geteuid() == 0 {
				cmd.Args = slices.Concat([]string{"setpriv", fmt.Sprint("--reuid=", ordinary), fmt.Sprint("--regid=", ordinary), "--clear-groups"}, cmd.Args)
			}
			screen := inTerminal(t, cmd)
			screen.shows("FINAL:")
			require.NotNil(t, c.newest().Confined)
			there.before(t, func(to string) {
				screen.types("/cd " + to)
				screen.shows("Moved to " + filepath.Join(l.Project, strings.TrimPrefix(to, l.Project)) + "\n") // of a line
			}, rules)
			l.Model.Command, l.Model.Repeat = "./frob 2", 1
			screen.types("again")
			card := c.rig.asked("./frob 2")
			c.rig.tap(c.rig.alice, c.rig.group, card.ID, "Deny")
		})
	}
}
