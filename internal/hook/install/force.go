package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"approvalbot/internal/hook"
)

// caveats are the conditions, beside the hook's own text, under which a runtime asks it.
// One row a runtime; unknown conditions are left out.
type caveats struct {
	asks    string   // when it asks; empty means before every tool call
	oldest  string   // the oldest version of the client that obeys what install writes
	off     []off    // settings that switch the hook off
	project string   // the condition before a project's hook is asked
	skipped string   // the setting that skips a hook that is not in the managed file
	open    []string // the gaps that remain in every scope
}

// off is a setting that switches hooks off.
type off struct {
	files []string // as a target's path
	key   string   // with dots
	value any      // a text: it is in the list there
	holds bool     // the managed file's hook is asked all the same
}

// caveatsOf gives the row of a runtime.
func caveatsOf(runtime string) caveats {
	const trusts = " reads a project's hooks only in a folder that it trusts; whether it trusts this one is not seen here."
	switch runtime {
	case "claude-code":
		return caveats{
			oldest: "2.1.295",
			off: []off{
				{[]string{"~/.claude/settings.json", "./.claude/settings.json", "./.claude/settings.local.json"},
					"disableAllHooks", true, true},
				{[]string{"/etc/claude-code/managed-settings.json"}, "allowManagedHooksOnly", true, true},
				{[]string{"/etc/claude-code/managed-settings.json"}, "disableAllHooks", true, false},
			},
			open: []string{"Commands that a skill or a page of commands runs by itself (!`...`) are not shown to the hook. " +
				`With "disableSkillShellExecution": true in its settings Claude Code does not run them.`},
			skipped: "claude --bare and --safe-mode, and programs of the Agent SDK with settingSources: [], skip this hook.",
		}
	case "codex":
		config, managed := []string{"~/.codex/config.toml", "./.codex/config.toml"}, []string{"/etc/codex/requirements.toml"}
		return caveats{
			asks: "before it starts a command, changes a file or calls a tool, but not before it types into a program that runs",
			off: []off{
				{config, "features.hooks", false, true}, {config, "features.codex_hooks", false, true},
				{managed, "allow_managed_hooks_only", true, true}, {managed, "features.hooks", false, false},
			},
			open: []string{"What Codex types into a program that already runs is not shown to the hook: " +
				"a yes to an interactive program is a yes to all that is typed into it."},
		}
	case "gemini-cli":
		files := []string{"/etc/gemini-cli/settings.json", "~/.gemini/settings.json", "./.gemini/settings.json"}
		return caveats{
			off:     []off{{files, "hooksConfig.enabled", false, false}, {files, "hooksConfig.disabled", "approvalbot", false}},
			project: "With security.folderTrust.enabled, Gemini CLI" + trusts,
		}
	case "qwen-code":
		files := []string{"/etc/qwen-code/settings.json", "~/.qwen/settings.json", "./.qwen/settings.json"}
		return caveats{
			off:     []off{{files, "disableAllHooks", true, false}},
			project: "With security.folderTrust.enabled, Qwen Code" + trusts,
			open: []string{"Qwen Code waits 60 s for a hook, even if its settings name a longer time. A call that a person has not " +
				"decided by then is denied, and a later yes counts once the model makes the same call again."},
		}
	case "copilot-cli":
		return caveats{
			off: []off{
				{[]string{"./.github/copilot/settings.json", "./.github/copilot/settings.local.json",
					"./.claude/settings.json", "./.claude/settings.local.json"}, "disableAllHooks", true, true},
			},
			project: "GitHub Copilot CLI" + trusts,
		}
	case "windsurf":
		return caveats{
			asks: "before it runs a command, calls an MCP tool or writes a file",
			open: []string{"What Windsurf reads, and what else is no command, MCP tool or written file, is not asked about."},
		}
	case "opencode":
		return caveats{open: []string{"A plugin that OpenCode does not load runs every call, and OpenCode does not say so: " +
			"approvalbot doctor says when it was last loaded."}}
	}
	return caveats{}
}

// Asks says when a runtime asks the desk once the hook is in force.
func Asks(o Options) string {
	switch asks := caveatsOf(o.Runtime.Name).asks; {
	case o.Silent:
		return "before every tool call; if policy allows one, its own rules go on (--silent-allow)"
	case o.CanBeSilent():
		return "before every tool call, and what the desk allows skips its own dialog"
	case o.Beside && o.Runtime.Name == "claude-code":
		return "while its own dialog is open; the first answer counts"
	case o.Beside:
		return "when it would have asked its user"
	case asks != "":
		return asks
	}
	return "before every tool call"
}

// CanBeSilent reports whether the hook can give no answer if policy allows: the runtime's own rules then apply, which
// an allow would skip.
func (o Options) CanBeSilent() bool {
	return !o.Beside && slices.ContainsFunc(o.Runtime.Events, hook.Event.CanBeSilent)
}

// CanConfine reports whether the runtime runs the command that the hook's answer names, so that it can be the confined
// form.
func (o Options) CanConfine() bool {
	return !o.Beside && o.OS == "linux" && slices.ContainsFunc(o.Runtime.Events, hook.Event.Confines)
}

// Force is the consequence of a doubt.
type Force int

// The consequences of doubts.
const (
	Off    Force = iota // calls run without the hook
	NotYet              // something has to happen first, or is not seen
	Mostly              // the hook is asked, with the exceptions that are named
)

// Doubt is a reason why a runtime may not ask the hook that is in its files.
type Doubt struct {
	Force Force
	Why   string // a sentence without its end
	Fix   string
}

// Client is the runtime's own program on this machine.
type Client struct {
	Version string // empty: it is not on PATH, or does not say
	// Start makes the command that starts it with these arguments and with variables beside
	// the user's own; nil if it is not on PATH.
	Start func(ctx context.Context, env []string, args ...string) *exec.Cmd
}

// Doubts decides whether an installation is in force: it is unless one of them is Off.
// It does not change the user's files.
func Doubts(ctx context.Context, o Options, c Client) []Doubt {
	var out []Doubt
	again := "run: " + o.commandLine()
	for _, how := range Differs(o) {
		force := Off
		if onlyReports(how) {
			force = Mostly
		}
		out = append(out, Doubt{force, how, again})
	}
	row := caveatsOf(o.Runtime.Name)
	for _, s := range row.off {
		for _, d := range s.doubts(o) {
			if !slices.Contains(out, d) { // one for each file that cannot be read
				out = append(out, d)
			}
		}
	}
	out = append(out, o.shellDoubts()...)
	if info, err := os.Stat(o.File()); err == nil && o.Scope == Managed && info.Mode().Perm()&0o022 != 0 {
		out = append(out, Doubt{Off, "others than its owner can change " + o.File(), "run: chmod go-w " + shellWord(o.File())})
	}
	if o.Confine {
		setup := hook.ClaudeSetup{Environ: o.Environ, Home: o.Home, Root: o.Root, Program: o.Program, File: o.Client}
		if err := setup.Settings(o.Project); err != nil {
			out = append(out, Doubt{Mostly, "commands do not run confined here, but ask: " + err.Error(), "docs/confine.md says more"})
		}
	}
	if c.Version != "" && row.oldest != "" && hook.Older(c.Version, row.oldest) {
		out = append(out, Doubt{Off, fmt.Sprintf("%s %s ignores onFailure, so a call runs if its hook fails", o.Runtime.Title, c.Version),
			"take " + row.oldest + " or newer"})
	}
	switch {
	case o.Runtime.Name == "codex" && o.Scope != Managed:
		out = append(out, codexDoubts(ctx, o, c)...)
	case o.Runtime.Name == "opencode" && Loaded(o.File()) == "":
		out = append(out, Doubt{NotYet, "OpenCode has not loaded " + o.File() + " yet, and runs every call until it does",
			"start OpenCode once"})
	}
	if o.Scope == Project && row.project != "" {
		out = append(out, Doubt{NotYet, strings.TrimSuffix(row.project, "."), "trust the folder there"})
	}
	if o.Scope != Managed && row.skipped != "" {
		out = append(out, Doubt{Mostly, strings.TrimSuffix(row.skipped, "."), "the managed file holds: approvalbot install " +
			o.Runtime.Name + " --managed, as the machine's administrator"})
	}
	return out
}

// onlyReports reports whether the missing hook would only report how calls ended: an earlier version did not write
// it.
func onlyReports(how string) bool {
	return strings.HasPrefix(how, "the hook PostToolUse") && strings.Contains(how, " is missing in ")
}

// doubts are the files in which the setting switches the options' hook off, and those of
// which that is not known.
func (s off) doubts(o Options) []Doubt {
	var out []Doubt
	seen := map[string]bool{}
	for _, file := range s.files {
		path, err := o.path(target{path: file})
		if err != nil || s.holds && o.Scope == Managed || seen[path] {
			continue
		}
		seen[path] = true // a project may be the home itself
		all, err := readFile(path)
		v := lookUp(all, strings.Split(s.key, ".")...)
		list, _ := v.([]any)
		switch {
		case err != nil:
			out = append(out, Doubt{Off, "cannot find out whether " + path + " switches the hook off: " + err.Error(), "repair that file"})
		case slices.Contains(append(list, v), s.value):
			out = append(out, Doubt{Off, s.key + " in " + path + " switches the hook off", "take it out there"})
		}
	}
	return out
}

// readFile decodes a JSON or TOML file; nil if there is no file.
func readFile(path string) (any, error) {
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	case filepath.Ext(path) == ".toml":
		var out map[string]any
		if err := toml.Unmarshal(text, &out); err != nil {
			return nil, tomlError(err)
		}
		return out, nil
	}
	v, err := scan(string(text))
	if err != nil {
		return nil, err
	}
	return v.plain(string(text)), nil
}

// lookUp gives what is below these names; nil if missing.
func lookUp(v any, names ...string) any {
	for _, name := range names {
		members, _ := v.(map[string]any)
		v = members[name]
	}
	return v
}

// codexDoubts says whether Codex trusts the hook. Its app server writes into its home, so
// it is asked for the hook's hash in a home that is thrown away, and that is compared with
// what the user's own configuration trusts.
func codexDoubts(ctx context.Context, o Options, c Client) []Doubt {
	config := o.codexConfig()
	if o.Scope == Project && !codexTrustsProject(config, o.Project) {
		return []Doubt{{Off, "Codex skips a project's hooks until it trusts the project", "start Codex here once and trust the folder"}}
	}
	trust := fmt.Sprintf("run: %s --trust, or review it in Codex (/hooks)", o.commandLine())
	hashes, err := codexHashes(ctx, o, c)
	if err != nil {
		return []Doubt{{Off, "cannot find out whether Codex trusts the hook (" + err.Error() + "); it skips a hook " +
			"that is not trusted", trust}}
	}
	for key, hash := range hashes {
		state := lookUp(config, "hooks", "state", key)
		switch {
		case lookUp(state, "enabled") == false:
			return []Doubt{{Off, "Codex skips the hook: it is switched off there", "switch it on in Codex (/hooks)"}}
		case lookUp(state, "trusted_hash") == hash:
			return nil
		}
	}
	return []Doubt{{Off, "Codex skips the hook until it is trusted", trust}}
}

func codexTrustsProject(config map[string]any, dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if lookUp(config, "projects", dir, "trust_level") == "trusted" {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// codexHashes are the hashes that Codex gives approvalbot's hook, by the keys under which
// its configuration would trust it.
func codexHashes(ctx context.Context, o Options, c Client) (map[string]string, error) {
	if c.Start == nil {
		return nil, fmt.Errorf("codex is not on PATH")
	}
	path := o.File()
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	below, _ := os.UserCacheDir()
	dir, err := os.MkdirTemp(existingDir(below), "approvalbot-codex-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	replica := o
	replica.Scope, replica.Project = User, dir
	replica.Env = func(name string) string { return map[string]string{"CODEX_HOME": dir}[name] }
	if err := os.WriteFile(replica.File(), text, 0o600); err != nil {
		return nil, err
	}
	hooks, err := CodexHooks(ctx, replica, func(ctx context.Context, args ...string) *exec.Cmd {
		return c.Start(ctx, []string{"CODEX_HOME=" + dir}, args...)
	})
	out := map[string]string{}
	for _, h := range hooks {
		place := h.Key[strings.LastIndex(h.Key, filepath.Base(path))+len(filepath.Base(path)):]
		out[path+place] = h.Hash
		if real, err := filepath.EvalSymlinks(path); err == nil {
			out[real+place] = h.Hash
		}
	}
	return out, err
}

// existingDir is dir if it is there, else the system's folder for temporary files.
func existingDir(dir string) string {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir
	}
	return ""
}
