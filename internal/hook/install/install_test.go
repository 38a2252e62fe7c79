package install

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook"
)

// machine is a home, a project and managed files of a test's own.
func machine(t *testing.T, runtime string, scope Scope) Options {
	t.Helper()
	r, known := hook.Find(runtime)
	require.True(t, known, runtime)
	dir := t.TempDir()
	return Options{
		Runtime: r, Scope: scope, Program: "/opt/approval bot/approvalbot", Client: "/home/u/it's mine/client.yaml",
		Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project"), Root: filepath.Join(dir, "root"),
		OS: "linux", Env: func(string) string { return "" },
	}
}

func apply(t *testing.T, changes []Change, err error) {
	t.Helper()
	require.NoError(t, err)
	require.NotEmpty(t, changes)
	for _, c := range changes {
		require.NoError(t, c.Write())
	}
	if changes[0].After == nil {
		LeaveFolders(changes)
	}
}

// everything is every runtime in every scope that it has.
func everything(t *testing.T, f func(t *testing.T, o Options)) {
	t.Helper()
	for _, name := range hook.Names() {
		for _, scope := range Has(name) {
			t.Run(name+" "+string(scope), func(t *testing.T) { f(t, machine(t, name, scope)) })
			t.Run(name+" "+string(scope)+", small program", func(t *testing.T) {
				o := machine(t, name, scope)
				o.Program += "-hook"
				f(t, o)
			})
		}
	}
}

// files are all files below a directory, with what they say.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			out[path] = string(text)
		}
		return err
	}))
	return out
}

// What was there before: other keys, other hooks, comments, and no newline at the end.
const (
	settings = "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]\n  }\n}"
	tables   = "# mine\nallowed_approval_policies = [\"on-request\"] # all\n\n[[hooks.Stop]]\nmatcher = \"*\"\n"
)

// before writes what was there into the files that approvalbot shares with others.
func before(t *testing.T, o Options) map[string]string {
	t.Helper()
	was := map[string]string{}
	for _, tg := range targets(o.Runtime.Name) {
		path, err := o.path(tg)
		require.NoError(t, err)
		text := map[form]string{listItem: settings, tomlBlock: tables}[tg.form]
		if tg.scope != o.Scope || text == "" {
			continue
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o640))
		was[path] = text
	}
	return was
}

// Install leaves all else in a file where it is, and uninstall gives the very bytes back.
func TestInstall_AndBack(t *testing.T) {
	everything(t, func(t *testing.T, o Options) {
		was := before(t, o)
		changes, err := Plan(o)
		apply(t, changes, err)
		for path, text := range files(t, filepath.Dir(o.Home)) {
			if strings.Contains(path, backupName) {
				require.Contains(t, was, path[:strings.Index(path, backupName)])
				continue
			}
			if line := "mine"; was[path] != "" {
				require.Contains(t, text, line)
			}
			switch {
			case strings.HasSuffix(path, ".toml"):
				var v map[string]any
				require.NoError(t, toml.Unmarshal([]byte(text), &v))
			case strings.HasSuffix(path, ".json") && was[path] == "":
				require.True(t, json.Valid([]byte(text)), text)
			}
		}
		again, err := Plan(o)
		require.NoError(t, err)
		for _, c := range again {
			require.True(t, c.Same(), "installing twice changes nothing: %s", c.Diff())
		}
		changes, err = Undo(o)
		apply(t, changes, err)
		require.Equal(t, was, files(t, filepath.Dir(o.Home)))
		changes, err = Undo(o)
		require.NoError(t, err)
		require.Empty(t, changes, "nothing is left to take away")
	})
}

// tree is every path below a directory.
func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	return all
}

// Where there was no file there is none afterwards, and no folder. What others put into a
// folder that install made stays, and the folder with it.
func TestInstall_AndBackToNothing(t *testing.T) {
	everything(t, func(t *testing.T, o Options) {
		was := tree(t, filepath.Dir(o.Home))
		changes, err := Plan(o)
		apply(t, changes, err)
		require.NotEmpty(t, files(t, filepath.Dir(o.Home)))
		changes, err = Undo(o)
		apply(t, changes, err)
		require.Equal(t, was, tree(t, filepath.Dir(o.Home)))

		changes, err = Plan(o)
		apply(t, changes, err)
		mine := filepath.Join(filepath.Dir(filepath.Dir(changes[0].Path)), "mine")
		require.NoError(t, os.WriteFile(mine, nil, 0o600))
		changes, err = Undo(o)
		apply(t, changes, err)
		require.Equal(t, map[string]string{mine: ""}, files(t, filepath.Dir(o.Home)))
	})
}

// A file that cannot be written leaves no folder behind.
func TestWrite_LeavesNoFolders(t *testing.T) {
	dir := t.TempDir()
	was := tree(t, dir)
	c := Change{Path: filepath.Join(dir, "a/b", strings.Repeat("c", 240)), After: []byte("x"), backup: &copyOf{}}
	require.ErrorContains(t, c.Write(), "name too long", "its copy's name is")
	require.Equal(t, was, tree(t, dir))
}

// What somebody wrote into the file since stays when approvalbot goes.
func TestUninstall_KeepsWhatCameSince(t *testing.T) {
	o := machine(t, "claude-code", User)
	before(t, o)
	changes, err := Plan(o)
	apply(t, changes, err)
	path := filepath.Join(o.Home, ".claude/settings.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	since := strings.Replace(string(text), `"opus"`, `"sonnet"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(since), 0o600))
	changes, err = Undo(o)
	apply(t, changes, err)
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(settings, `"opus"`, `"sonnet"`, 1), string(text))
}

// Either before every call or beside the dialog, never both.
func TestInstall_NeverBoth(t *testing.T) {
	for _, name := range []string{"claude-code", "codex", "copilot-cli"} {
		for _, scope := range Has(name) {
			o := machine(t, name, scope)
			was := before(t, o)
			changes, err := Plan(o)
			apply(t, changes, err)
			o.Beside = true
			changes, err = Plan(o)
			apply(t, changes, err)
			all := ""
			for path, text := range files(t, filepath.Dir(o.Home)) {
				if !strings.Contains(path, backupName) {
					all += text
				}
			}
			asks := strings.Count(all, "--client ") - len(regexp.MustCompile(` PostToolUse(Failure)? --client `).FindAllString(all, -1))
			require.Equal(t, 1, asks, "%s: %s", name, all)
			require.Regexp(t, `(?i)permissionrequest`, all)
			changes, err = Undo(o)
			apply(t, changes, err)
			require.Equal(t, was, files(t, filepath.Dir(o.Home)))
		}
	}
}

// No runtime posts to the desk by itself, as it can check nothing of the answer. What 0.1.0
// wrote so is replaced and taken away, and no diff shows its token.
func TestAdversary_T6_NoHookPostsByItself(t *testing.T) {
	everything(t, func(t *testing.T, o Options) {
		for _, target := range targets(o.Runtime.Name) {
			require.NotRegexp(t, `(?i)"http"|https?://|Bearer|fetch\(`, target.text, "%s", o.Runtime.Name)
		}
	})
	o := machine(t, "claude-code", User)
	o.Beside = true
	path := filepath.Join(o.Home, ".claude", "settings.json")
	old := `{"hooks": {"PermissionRequest": [{"matcher": "*", "hooks": [{"type": "http",
		"url": "http://127.0.0.1:8787/hooks/claude-code/PermissionRequest?limit=24h", "headers": {"Authorization": "Bearer old-t0ken"}}]}]}}`
	for _, plan := range []func(Options) ([]Change, error){Plan, Undo} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(old), 0o600))
		changes, err := plan(o)
		require.NoError(t, err)
		require.NotContains(t, changes[0].Diff(), "old-t0ken")
		require.NotContains(t, string(changes[0].After), "old-t0ken")
	}
}

// A link to a file in another place stays a link.
func TestInstall_FollowsLinks(t *testing.T) {
	o := machine(t, "claude-code", User)
	real := filepath.Join(filepath.Dir(o.Home), "dotfiles", "settings.json")
	link := filepath.Join(o.Home, ".claude/settings.json")
	for _, path := range []string{real, link} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	}
	require.NoError(t, os.WriteFile(real, []byte(settings), 0o600))
	require.NoError(t, os.Symlink(real, link))
	changes, err := Plan(o)
	apply(t, changes, err)
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&os.ModeSymlink)
	changes, err = Undo(o)
	apply(t, changes, err)
	text, err := os.ReadFile(real)
	require.NoError(t, err)
	require.Equal(t, settings, string(text))
}

// A project does not choose which file outside it is written, nor where a new one goes.
func TestAdversary_H3_AProjectsLinksLeadNowhere(t *testing.T) {
	for _, link := range []string{".claude/settings.json", ".claude"} {
		o := machine(t, "claude-code", Project)
		mine := filepath.Join(o.Home, "settings.json")
		require.NoError(t, os.MkdirAll(o.Home, 0o700))
		require.NoError(t, os.WriteFile(mine, []byte("{}"), 0o600))
		at := filepath.Join(o.Project, link)
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o700))
		to := map[string]string{".claude": o.Home, ".claude/settings.json": mine}[link]
		require.NoError(t, os.Symlink(to, at))
		for _, plan := range []func(Options) ([]Change, error){Plan, Undo} {
			_, err := plan(o)
			require.ErrorContains(t, err, "leads out of the project")
		}
		require.NoError(t, os.Remove(mine))
		_, err := Plan(o)
		if link == ".claude" {
			require.ErrorContains(t, err, "leads out of the project", "also where there is no file yet")
		} else {
			require.NoError(t, err, "a link to nothing is replaced")
		}

		// The project itself may be behind a link, and have links within.
		o = machine(t, "claude-code", Project)
		require.NoError(t, os.MkdirAll(filepath.Join(o.Root, ".config"), 0o700))
		require.NoError(t, os.Symlink(o.Root, o.Project))
		require.NoError(t, os.Symlink(".config", filepath.Join(o.Project, ".claude")))
		_, err = Plan(o)
		require.NoError(t, err)
	}
}

// A file that is not approvalbot's own is never taken over, and one that cannot be read
// is not written.
func TestInstall_LeavesAlone(t *testing.T) {
	o := machine(t, "cline", User)
	path := filepath.Join(o.Home, ".cline/hooks/PreToolUse")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nexit 0\n"), 0o700))
	_, err := Plan(o)
	require.ErrorContains(t, err, "already exists and is not approvalbot's")
	_, err = Undo(o)
	require.Error(t, err)

	o = machine(t, "claude-code", User)
	path = filepath.Join(o.Home, ".claude/settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(`{"env": {"KEY": "s3cret"}, "hooks": }`), 0o600))
	_, err = Plan(o)
	require.ErrorContains(t, err, path+": line 1: a value expected")
	require.NotContains(t, err.Error(), "s3cret")

	o = machine(t, "codex", Managed)
	path = filepath.Join(o.Root, "/etc/codex/requirements.toml")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("hooks = {PreToolUse = []}\n"), 0o600))
	_, err = Plan(o)
	require.ErrorContains(t, err, "no table can be added")
	require.NoError(t, os.Remove(path))
	changes, err := Plan(o)
	apply(t, changes, err)
	require.NoError(t, os.WriteFile(path, bytes.TrimSuffix(changes[0].After, []byte(blockEnd)), 0o600))
	for _, plan := range []func(Options) ([]Change, error){Plan, Undo} {
		_, err = plan(o)
		require.ErrorContains(t, err, "is gone; take away by hand", "where it ends is not known, and twice is asked twice")
	}

	o = machine(t, "claude-code", User)
	path = filepath.Join(o.Home, ".claude/settings.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, bytes.Repeat([]byte(" "), maxFile+1), 0o600))
	_, err = Plan(o)
	require.ErrorContains(t, err, "is not a plain file of a few kilobytes")
}

// A file that changed between the plan and the writing is not overwritten.
func TestWrite_NotOverAnother(t *testing.T) {
	o := machine(t, "claude-code", User)
	was := before(t, o)
	changes, err := Plan(o)
	require.NoError(t, err)
	for path := range was {
		require.NoError(t, os.WriteFile(path, []byte("{}"), 0o600))
	}
	require.ErrorContains(t, changes[0].Write(), "was changed just now by another program")
}

// The hook's command gives the program's answer on as it is. Whatever else becomes of the
// program is a deny with a sentence: also where silence would allow.
func TestAdversary_H2_TheHooksCommandDeniesWhereItsProgramFails(t *testing.T) {
	dir := t.TempDir()
	o := machine(t, "codex", User)
	o.Program = filepath.Join(dir, "it's here", "approvalbot")
	require.NoError(t, os.MkdirAll(filepath.Dir(o.Program), 0o700))
	const failed = "approvalbot is not where it was installed, or broke down, so the call is denied\n"
	for _, shell := range []string{"sh", "bash", "dash", "zsh", "mksh"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		for program, want := range map[string]struct {
			code                 int
			stdout, stderr, what string
		}{
			"printf '[%s]' \"$@\"; exit 3":        {0, "[hook][codex][PreToolUse][--client][/home/u/it's mine/client.yaml][--limit][24h][--caller][PID]", "", "an answer"},
			"echo denied >&2; exit 2":             {2, "", "denied\n", "its own deny"},
			"exit 0":                              {2, "", failed, "another program"},
			"exit 1":                              {2, "", failed, "a crash"},
			"kill -9 $$":                          {2, "", failed, "killed"},
			"":                                    {2, "", failed, "an empty file"},
			strings.Repeat("\x00", 64):            {2, "", failed, "a file of a disk that was full"},
			"\x7fELF" + strings.Repeat("\x00", 9): {2, "", failed, "one that was cut short"},
			"missing":                             {2, "", failed, "missing"},
		} {
			text := "#!/bin/sh\n" + program
			if program == "" || strings.Contains(program, "\x00") {
				text = program
			}
			_ = os.Remove(o.Program)
			if program != "missing" {
				require.NoError(t, os.WriteFile(o.Program, []byte(text), 0o700))
			}
			var out, problems strings.Builder
			c := exec.Command(shell, "-c", o.command(target{event: "PreToolUse", limit: day}))
			c.Stdout, c.Stderr = &out, &problems
			_ = c.Run()
			require.Equal(t, want.code, c.ProcessState.ExitCode(), "%s: %s", shell, want.what)
			stdout := strings.Replace(out.String(), fmt.Sprintf("[%d]", os.Getpid()), "[PID]", 1)
			require.Equal(t, want.stdout, stdout, "%s: %s", shell, want.what)
			if want.stderr == failed { // a shell may say so, too
				require.True(t, strings.HasSuffix(problems.String(), failed), problems.String())
			} else {
				require.Equal(t, want.stderr, problems.String())
			}
			require.True(t, want.code == 0 || problems.Len() > 0, "a deny has a sentence")
		}
	}
}

// Cline takes no exit status for a deny, so its hook says in words that it has no answer.
func TestAdversary_H2_ClinesHookDeniesWhereItsProgramFails(t *testing.T) {
	o := machine(t, "cline", User)
	o.Program = filepath.Join(t.TempDir(), "approvalbot")
	script := filepath.Join(t.TempDir(), "PreToolUse")
	require.NoError(t, os.WriteFile(script, []byte(o.fill(targets("cline")[0])), 0o700))
	said := func() string {
		out, _ := exec.Command(script).Output()
		return string(out)
	}
	for _, program := range []string{"", "#!/bin/sh\nexit 0\n", "#!/bin/sh\nkill -9 $$\n"} {
		require.NoError(t, os.WriteFile(o.Program, []byte(program), 0o700))
		require.Contains(t, said(), `"cancel":true`, program)
	}
	require.NoError(t, os.Remove(o.Program))
	require.Contains(t, said(), `"cancel":true`)
	require.NoError(t, os.WriteFile(o.Program, []byte("#!/bin/sh\nprintf {}\nexit 3\n"), 0o700))
	require.Equal(t, "{}", said())
}

// The runtime's switch for hooks that fail is set wherever a hook decides, and the program
// answers before the runtime stops waiting, in whatever unit that reads its time.
func TestInstall_ClosesWhatCanBeClosed(t *testing.T) {
	for _, name := range hook.Names() {
		r, _ := hook.Find(name)
		for _, tg := range targets(name) {
			part := machine(t, name, tg.scope).fill(tg)
			key, value, closes := strings.Cut(r.Closed, ": ")
			decides := tg.event != "" && !tg.looks && !strings.HasPrefix(tg.event, "PostToolUse")
			if closes && decides {
				require.Contains(t, part, `"`+key+`": `+value, "%s %s", name, tg.path)
			}
			limit, err := time.ParseDuration(cmp.Or(tg.limit, r.Limit.Default.String()))
			require.NoError(t, err)
			set := regexp.MustCompile(`(?:timeout|timeoutSec)"?(?: =|:) (\d+)`).FindStringSubmatch(part)
			if set == nil {
				require.Empty(t, tg.limit, "%s %s", name, tg.path)
				continue
			}
			units := []time.Duration{cmp.Or(r.Limit.Unit, time.Second)}
			switch name {
			case "cursor": // it is told both ways
				units = []time.Duration{time.Millisecond, time.Second}
			case "kiro": // a file of hooks counts in seconds
				units = []time.Duration{time.Second}
			}
			n, err := strconv.Atoi(set[1])
			require.NoError(t, err)
			for _, unit := range units {
				require.LessOrEqual(t, limit, time.Duration(n)*unit, "%s %s", name, tg.path)
			}
		}
	}
}

// Another folder of a runtime's is where its variable says, and managed files are where
// the system has them.
func TestPath(t *testing.T) {
	o := machine(t, "claude-code", User)
	o.Env = func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "/moved"}[name] }
	path, err := o.path(target{path: "~/.claude/settings.json"})
	require.NoError(t, err)
	require.Equal(t, "/moved/settings.json", path)
	o.Root, o.OS = "", "darwin"
	path, err = o.path(target{path: "/etc/claude-code/managed-settings.json"})
	require.NoError(t, err)
	require.Equal(t, "/Library/Application Support/ClaudeCode/managed-settings.json", path)
	o.OS = "windows"
	_, err = o.path(target{path: "/etc/claude-code/managed-settings.json"})
	require.ErrorContains(t, err, "--user")
	o.Home = ""
	_, err = o.path(target{path: "~/.cline/hooks/PreToolUse"})
	require.ErrorContains(t, err, "set HOME")
}

// A hook of somebody else's that only looks like ours stays.
func TestUninstall_LeavesOthersHooks(t *testing.T) {
	o := machine(t, "claude-code", User)
	path := filepath.Join(o.Home, ".claude/settings.json")
	const others = `{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "my hook claude-code wrapper"}]}]}}`
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(others), 0o600))
	changes, err := Undo(o)
	require.NoError(t, err)
	require.Empty(t, changes)
}

// What a runtime's own sandbox is said to be is what its files and variables say.
func TestSandbox(t *testing.T) {
	for name, want := range map[string]string{"true": "GEMINI_SANDBOX", "docker": "GEMINI_SANDBOX", "false": "", "0": "", "": ""} {
		o := machine(t, "gemini-cli", User)
		o.Env = func(v string) string { return map[string]string{"GEMINI_SANDBOX": name}[v] }
		require.Equal(t, want, Sandbox(o), name)
	}
	for mode, want := range map[string]string{"danger-full-access": "", "workspace-write": "its sandbox_mode is not danger-full-access"} {
		o := machine(t, "codex", User)
		require.NoError(t, os.MkdirAll(filepath.Join(o.Home, ".codex"), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(o.Home, ".codex/config.toml"), []byte("sandbox_mode = \""+mode+"\"\n"), 0o600))
		require.Equal(t, want, Sandbox(o))
	}
}

// The diff is one that patch takes.
func TestDiff(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("patch: not tested, install it")
	}
	everything(t, func(t *testing.T, o Options) {
		before(t, o)
		changes, err := Plan(o)
		require.NoError(t, err)
		for _, c := range changes {
			copied := filepath.Join(t.TempDir(), "file")
			if c.Before != nil {
				require.NoError(t, os.WriteFile(copied, c.Before, 0o600))
			}
			p := exec.Command("patch", copied)
			p.Stdin = strings.NewReader(c.Diff())
			said, err := p.CombinedOutput()
			require.NoError(t, err, "%s%s", said, c.Diff())
			text, err := os.ReadFile(copied)
			require.NoError(t, err)
			require.Equal(t, string(c.After), string(text))
		}
	})
}
