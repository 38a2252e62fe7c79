package install

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/hook"
)

// Scope says whose configuration is written.
type Scope string

// The scopes. Managed files are the machine's: only its administrator writes them, and
// in a runtime that has them, files in a repository or a home cannot override them.
const (
	Managed Scope = "managed"
	User    Scope = "user"
	Project Scope = "project"
)

// Scopes are all of them, strongest first.
func Scopes() []Scope { return []Scope{Managed, User, Project} }

// Options say what is installed, and in which files.
type Options struct {
	Runtime hook.Runtime
	Scope   Scope
	Beside  bool   // ask beside the runtime's own dialog, if it would have asked, and not before every call
	Program string // approvalbot, or the small program of that which only answers hooks; absolute
	Client  string // the client file that the hook uses, absolute
	Home    string
	Project string
	OS      string // as runtime.GOOS
	Env     func(string) string
	Environ []string // NAME=value: all of it, in which hooks are looked for what bash obeys
	Confine bool     // the hook says that commands can run confined, see [hook.ClaudeSetup]
	Silent  bool     // if policy allows, the hook gives no answer, and the runtime's own rules go on
	Root    string   // put before managed files' paths; empty except in tests
	byShell bool     // as 0.1.0 wrote it, before hooks were started by words
	mute    bool     // without the words in the terminal, as 0.1.0 wrote it
}

// form is the way in which approvalbot is written in a file.
type form int

const (
	listItem  form = iota // an item at the end of a JSON list
	tomlBlock             // a block at the end of a TOML file
	wholeFile             // the file is approvalbot's alone
	onlyCopy              // not written by install: the runtime writes it when approvalbot is installed
)

// target is a place in a file, and what is written there. In text and item, COMMAND is
// the hook's command as a JSON string, which the runtime gives to a shell, RUN the members
// of a hook that it starts without one, STATUS what it shows while it waits, ASK the words that start a hook's program,
// and CLIENT is the client file.
type target struct {
	scope  Scope
	path   string // "~/": the user's; "./": the project's; "/": the machine's
	form   form
	list   []string // of listItem
	text   string
	fresh  string // of listItem: the file's text if there was no file
	event  string // for the hook's command
	limit  string // the time limit that text gives the hook; empty means the runtime's default
	beside bool   // it is for --beside
	looks  bool   // it is for --confine
	runs   bool   // of wholeFile: it is a program
}

// claudeHook is Claude Code's form of a hook. Codex has taken over an older one.
const claudeHook = `{
  "matcher": "*",
  "hooks": [
    {"type": "command", RUN, "timeout": 86400, "onFailure": "block"STATUS}
  ]
}`

const codexHook = `{
  "matcher": "*",
  "hooks": [
    {"type": "command", "command": COMMAND, "timeout": 86400}
  ]
}`

// claudeReport tells the desk the outcome of a call. It makes no decision.
const claudeReport = `{
  "matcher": "*",
  "hooks": [
    {"type": "command", RUN, "timeout": 30}
  ]
}`

// day is how long people have if a runtime waits as long as its configuration says.
const day = "24h"

// everywhere gives a target in each of the files.
func everywhere(t target, files map[Scope]string) []target {
	var out []target
	for _, scope := range Scopes() {
		if path := files[scope]; path != "" {
			t.scope, t.path = scope, path
			out = append(out, t)
		}
	}
	return out
}

// reports are the targets that tell the desk how calls ended: a runtime that has an event for it has
// another one for what failed.
func reports(text string, beside bool, files map[Scope]string) (out []target) {
	for _, event := range []string{"PostToolUse", "PostToolUseFailure"} {
		t := target{list: []string{"hooks", event}, text: text, event: event, limit: "30s", beside: beside}
		out = append(out, everywhere(t, files)...)
	}
	return out
}

// looks are the targets by which a hook that confines sees the client's settings between calls, too.
func looks(files map[Scope]string) (out []target) {
	for _, event := range hook.Looking {
		t := target{list: []string{"hooks", event}, text: claudeReport, event: event, limit: "30s", looks: true}
		out = append(out, everywhere(t, files)...)
	}
	return out
}

func join(lists ...[]target) []target { return slices.Concat(lists...) }

// targets is what approvalbot is written as, by runtime. A runtime that is missing here
// has no file that could be written.
func targets(runtime string) []target {
	switch runtime {
	case "claude-code":
		files := map[Scope]string{
			Managed: "/etc/claude-code/managed-settings.json", User: "~/.claude/settings.json",
			Project: "./.claude/settings.json",
		}
		return join(
			everywhere(target{list: []string{"hooks", "PreToolUse"}, text: claudeHook, event: "PreToolUse", limit: day},
				files),
			reports(claudeReport, false, files),
			looks(files),
			everywhere(target{list: []string{"hooks", "PermissionRequest"}, text: claudeHook, event: "PermissionRequest",
				limit: day, beside: true}, files),
			// After a yes in the dialog this withdraws the card: Claude Code leaves the other one running.
			reports(claudeReport, true, files),
		)
	case "codex":
		files := map[Scope]string{User: "~/.codex/hooks.json", Project: "./.codex/hooks.json"}
		managed := map[Scope]string{Managed: "/etc/codex/requirements.toml"}
		return join(
			everywhere(target{list: []string{"hooks", "PreToolUse"}, text: codexHook, event: "PreToolUse",
				limit: day}, files),
			everywhere(target{
				list: []string{"hooks", "PermissionRequest"}, text: codexHook, event: "PermissionRequest",
				limit: day, beside: true,
			}, files),
			[]target{{scope: User, path: "~/.codex/config.toml", form: onlyCopy}},
			everywhere(target{form: tomlBlock, text: codexTables("PreToolUse"), event: "PreToolUse", limit: day},
				managed),
			everywhere(target{
				form: tomlBlock, text: codexTables("PermissionRequest"), event: "PermissionRequest", limit: day,
				beside: true,
			}, managed),
		)
	case "gemini-cli":
		return everywhere(target{list: []string{"hooks", "BeforeTool"}, text: geminiHook, event: "BeforeTool",
			limit: day}, map[Scope]string{
			Managed: "/etc/gemini-cli/settings.json", User: "~/.gemini/settings.json",
			Project: "./.gemini/settings.json",
		})
	case "qwen-code":
		files := map[Scope]string{
			Managed: "/etc/qwen-code/settings.json", User: "~/.qwen/settings.json", Project: "./.qwen/settings.json",
		}
		return join(
			everywhere(target{list: []string{"hooks", "PreToolUse"}, text: qwenHook, event: "PreToolUse"}, files),
			reports(qwenReport, false, files),
		)
	case "copilot-cli":
		files := map[Scope]string{
			Managed: "/etc/github-copilot/policy.d/approvalbot.json",
			User:    "~/.copilot/hooks/approvalbot.json", Project: "./.github/hooks/approvalbot.json",
		}
		return join(
			everywhere(target{form: wholeFile, text: copilotHooks("preToolUse"), event: "preToolUse", limit: day},
				files),
			everywhere(target{
				form: wholeFile, text: copilotHooks("permissionRequest"), event: "permissionRequest", limit: day,
				beside: true,
			}, files),
		)
	case "cursor":
		return everywhere(target{
			list: []string{"hooks", "preToolUse"}, text: cursorHook, fresh: "{\n  \"version\": 1\n}\n",
			event: "preToolUse",
			limit: "85s", // the unit of its timeout is told both ways: this is below 86400 ms, too
		}, map[Scope]string{
			Managed: "/etc/cursor/hooks.json", User: "~/.cursor/hooks.json", Project: "./.cursor/hooks.json",
		})
	case "goose":
		const dir = "~/.agents/plugins/approvalbot/"
		return []target{
			{scope: User, path: dir + "hooks/hooks.json", form: wholeFile, text: gooseHooks, event: "PreToolUse",
				limit: day},
			{scope: User, path: dir + "plugin.json", form: wholeFile, text: goosePlugin},
		}
	case "kiro":
		return everywhere(target{form: wholeFile, text: kiroHook, event: "PreToolUse", limit: day}, map[Scope]string{
			Project: "./.kiro/hooks/approvalbot.json",
		})
	case "windsurf":
		files := map[Scope]string{
			Managed: "/etc/windsurf/hooks.json", User: "~/.codeium/windsurf/hooks.json",
			Project: "./.windsurf/hooks.json",
		}
		var out []target
		for _, event := range []string{"pre_run_command", "pre_mcp_tool_use", "pre_write_code"} {
			out = append(out, everywhere(target{list: []string{"hooks", event}, text: windsurfHook, event: event},
				files)...)
		}
		return out
	case "cline":
		return everywhere(target{form: wholeFile, text: clineHook, event: "PreToolUse", runs: true}, map[Scope]string{
			User: "~/.cline/hooks/PreToolUse", Project: "./.cline/hooks/PreToolUse",
		})
	case "opencode":
		return everywhere(target{form: wholeFile, text: openCodePlugin}, map[Scope]string{
			User: "~/.config/opencode/plugin/approvalbot.js", Project: "./.opencode/plugin/approvalbot.js",
		})
	}
	return nil
}

func codexTables(event string) string {
	return `[[hooks.` + event + `]]
matcher = "*"

[[hooks.` + event + `.hooks]]
type = "command"
command = COMMAND
timeout = 86400
`
}

const geminiHook = `{
  "matcher": "*",
  "hooks": [
    {"name": "approvalbot", "type": "command", "command": COMMAND, "timeout": 86400000}
  ]
}`

const qwenHook = `{
  "matcher": "*",
  "hooks": [
    {"name": "approvalbot", "type": "command", "command": COMMAND, "timeout": 60000}
  ]
}`

const qwenReport = `{
  "matcher": "*",
  "hooks": [
    {"name": "approvalbot", "type": "command", "command": COMMAND, "timeout": 30000}
  ]
}`

func copilotHooks(event string) string {
	return `{
  "version": 1,
  "hooks": {
    "` + event + `": [
      {"type": "command", "bash": COMMAND, "timeoutSec": 86400}
    ]
  }
}
`
}

const cursorHook = `{"command": COMMAND, "timeout": 86400, "failClosed": true}`

const gooseHooks = `{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "*",
        "hooks": [
          {"type": "command", "command": COMMAND, "timeout": 86400, "on_failure": "block"}
        ]
      }
    ]
  }
}
`

const goosePlugin = `{
  "name": "approvalbot",
  "version": "1.0.0",
  "description": "Asks the approval desk before every tool call"
}
`

const kiroHook = `{
  "version": "v1",
  "hooks": [
    {
      "name": "approvalbot",
      "trigger": "PreToolUse",
      "matcher": "*",
      "action": {"type": "command", "command": COMMAND},
      "timeout": 86400
    }
  ]
}
`

const windsurfHook = `{"command": COMMAND, "show_output": true}`

// clineHook is a program of its own. Cline takes no exit status for a deny.
const clineHook = `#!/bin/sh
# Written by approvalbot install: asks the approval desk before every tool call.
ASK cline PreToolUse --client CLIENT --caller $PPID
[ $? = 3 ] || printf '%s' '{"cancel":true,"errorMessage":"approvalbot is not where it was installed, or broke down, so the call is denied"}'
`

// attended runs the hook's program. Unless the program ends with an answer (3) or its
// own deny (2), attended denies with a sentence: the program may be gone, empty, cut
// short or killed. No other program ends with 3 by chance, so silence never allows. The
// runtime's shell may be any that knows single quotes and exec.
const attended = `"$0" "$@" --caller $PPID; case $? in 2) exit 2;; 3) exit 0;; esac; ` +
	`echo "approvalbot is not where it was installed, or broke down, so the call is denied" >&2; exit 2`

// silentFlag makes approvalbot hook give no answer if policy allows.
const silentFlag = " --silent-allow"

// confineFlag makes approvalbot hook say that commands can run confined.
const confineFlag = " --confine"

// command is the shell line that a runtime runs as its hook.
func (o Options) command(t target) string {
	limit := ""
	if t.limit != "" {
		limit = " --limit " + t.limit
	}
	if e, _ := o.Runtime.Event(t.event); o.Silent && e.CanBeSilent() {
		limit += silentFlag
	}
	if e, _ := o.Runtime.Event(t.event); t.looks || o.Confine && e.Confines() {
		limit += confineFlag
	}
	return "exec /bin/sh -c '" + attended + "' " + o.ask() + " " + o.Runtime.Name + " " + t.event +
		" --client " + shellWord(o.Client) + limit
}

// direct is a shell's script that does what command does. It is for a runtime that starts
// /bin/sh with it: no shell comes before, so no BASH_ENV is read and no function can
// replace exec. If /bin/sh is bash, it knows functions of the environment, but they cannot
// replace a path, case or exit.
func (o Options) direct(t target) string {
	line := strings.TrimPrefix(o.command(t), "exec /bin/sh -c '"+attended+"' ")
	return "unset -f echo; " + strings.Replace(attended, `"$0" "$@"`, line, 1)
}

// run gives the members of a hook that its runtime starts by a list of words, without a
// shell. On Windows only the shell knows /bin/sh, so it is a line for the shell.
func (o Options) run(t target) string {
	if o.OS == "windows" || o.byShell {
		return `"command": ` + quote(o.command(t))
	}
	return `"command": "/bin/sh", "args": ["-c", ` + quote(o.direct(t)) + `]`
}

// ours reports whether a hook, or a whole file, is what install wrote for that runtime; one
// that posts was written up to 0.1.0.
func ours(text, runtime string) bool {
	command := asksFor(text, runtime) && strings.Contains(text, " --client ")
	posts := strings.Contains(text, "/hooks/"+runtime+"/") && strings.Contains(text, "\"Bearer ")
	return command || posts || strings.Contains(text, "Written by approvalbot install") || text == goosePlugin
}

// status is what Claude Code shows while the hook waits. It has no code and no link, which change.
const status = `, "statusMessage": "asking the approval desk; a person may have to decide"`

// fill puts the command and the paths into a text.
func (o Options) fill(t target) string {
	said := status
	if o.mute {
		said = ""
	}
	return strings.NewReplacer("STATUS", said,
		"COMMAND", quote(o.command(t)), "RUN", o.run(t), "ASK", o.ask(), "CLIENT", shellWord(o.Client),
		"\"JSCLIENT\"", quote(o.Client), "\"JSPROGRAM\"", quote(o.Program), `"JSHOOK", `, o.jsHook(),
	).Replace(t.text)
}

// chosen are the targets of the options' scope; if there are none, the error names the alternatives.
func (o Options) chosen() ([]target, error) {
	all := targets(o.Runtime.Name)
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no configuration file for hooks; docs/agents.md says how it is attached",
			o.Runtime.Title)
	}
	var out []target
	for _, t := range all {
		if t.scope == o.Scope && t.beside == o.Beside && (!t.looks || o.Confine) && t.form != onlyCopy {
			out = append(out, t)
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if o.Beside {
		return nil, fmt.Errorf("%s has no hook that can ask at the same time as the runtime's own dialog; "+
			"leave out --beside", o.Runtime.Title)
	}
	var others []string
	for _, scope := range Has(o.Runtime.Name) {
		others = append(others, "--"+string(scope))
	}
	return nil, fmt.Errorf("%s has no %s file that approvalbot could write; it has %s",
		o.Runtime.Title, o.Scope, strings.Join(others, " and "))
}

// Has gives the scopes in which a runtime has a file, strongest first.
func Has(runtime string) []Scope {
	var out []Scope
	for _, scope := range Scopes() {
		if slices.ContainsFunc(targets(runtime), func(t target) bool { return t.scope == scope }) {
			out = append(out, scope)
		}
	}
	return out
}

// homes are the variables that move a runtime's folder in the user's home.
var homes = []struct{ folder, variable string }{
	{"~/.claude/", "CLAUDE_CONFIG_DIR"},
	{"~/.codex/", "CODEX_HOME"},
	{"~/.copilot/", "COPILOT_HOME"},
	{"~/.config/", "XDG_CONFIG_HOME"},
}

// path is the path of a target's file on this machine.
func (o Options) path(t target) (string, error) {
	rest, user := strings.CutPrefix(t.path, "~/")
	switch {
	case user:
		for _, h := range homes {
			below, moved := strings.CutPrefix(t.path, h.folder)
			if dir := o.Env(h.variable); moved && dir != "" {
				return filepath.Join(dir, below), nil
			}
		}
		if o.Home == "" {
			return "", errors.New("there is no home directory: set HOME")
		}
		return filepath.Join(o.Home, rest), nil
	case strings.HasPrefix(t.path, "./"):
		return filepath.Join(o.Project, t.path), nil
	}
	if o.OS == "windows" {
		return "", errors.New("the place of managed files on Windows is not known: use --user")
	}
	path := t.path
	for etc, library := range macOS() {
		if below, ok := strings.CutPrefix(path, etc); ok && o.OS == "darwin" {
			path = library + below
		}
	}
	return filepath.Join(o.Root, path), nil
}

// macOS gives the paths of managed files on macOS that are not below /etc there.
var macOS = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"/etc/claude-code/": "/Library/Application Support/ClaudeCode/",
		"/etc/gemini-cli/":  "/Library/Application Support/GeminiCli/",
		"/etc/qwen-code/":   "/Library/Application Support/QwenCode/",
		"/etc/cursor/":      "/Library/Application Support/Cursor/",
		"/etc/windsurf/":    "/Library/Application Support/Windsurf/",
	}
})

// shellWord quotes a path if a POSIX shell needs it.
func shellWord(s string) string { return hook.ShellWord(s) }
