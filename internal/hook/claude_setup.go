package hook

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/lazy"
)

// ClaudeSetup is what Claude Code goes by beside approvalbot's hook, as far as that hook sees it. A command is
// replaced by its confined form only where nothing else would have judged or changed the original: Claude Code's own
// rules see the replaced words alone, and of two hooks that change a call the later one wins (tried with 2.1.330).
type ClaudeSetup struct {
	Env       func(string) string // of the hook
	Home      string
	Root      string   // put before the paths of the machine's files; empty but in tests
	Arguments []string // of the client, its program first
}

// harmlessFlags are options of claude that bring no hook, no rule for commands and no settings; of those with a
// value, the value is the next word or comes behind "=". An option that is not here, of a later version too, may.
var harmlessFlags = lazy.Words(`-p --print --model --effort --fallback-model -c --continue -r --resume --fork-session
	--session-id -n --name --verbose --output-format --permission-mode --dangerously-skip-permissions
	--allow-dangerously-skip-permissions --allowedTools --allowed-tools --tools --append-system-prompt --system-prompt
	-d --debug --debug-file --mcp-config --strict-mcp-config --no-session-persistence --max-budget-usd --json-schema
	--betas --ide --chrome --no-chrome --include-partial-messages --include-hook-events --brief -w --worktree`)

// harmlessRules are the tools of Claude Code whose rules say nothing of commands. A rule for Read is not among them:
// Claude Code applies it to the files that a command names.
var harmlessRules = lazy.Words("WebFetch WebSearch Skill Agent Task")

// Alone says what may judge or change a command beside approvalbot's hook; nil if nothing does. What cannot be read
// may.
func (s ClaudeSetup) Alone() error {
	if err := s.Client(); err != nil {
		return err
	}
	return s.Settings(s.Env("CLAUDE_PROJECT_DIR"))
}

// Client is Alone for how the client was started.
func (s ClaudeSetup) Client() error {
	version, _, _ := strings.Cut(strings.TrimPrefix(s.Env("AI_AGENT"), "claude-code_"), "_")
	switch started := s.Env("CLAUDE_CODE_ENTRYPOINT"); {
	case version == "" || !strings.HasPrefix(s.Env("AI_AGENT"), "claude-code_"):
		return errors.New("it does not say its version (AI_AGENT)")
	case older(version, "2-1-330"):
		return fmt.Errorf("its version %s was not tried; 2.1.330 was", strings.ReplaceAll(version, "-", "."))
	case started != "cli" && started != "sdk-cli":
		return fmt.Errorf("another program started it (%s), which may have hooks of its own", cmp.Or(started, "unknown"))
	case len(s.Arguments) == 0:
		return errors.New("its command line cannot be read")
	}
	for _, word := range s.Arguments[1:] {
		if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(name, "-") && !harmlessFlags.Has(name) {
			return fmt.Errorf("its option %s may bring rules or hooks of its own", name)
		}
	}
	return nil
}

// older compares versions of three numbers with hyphens between.
func older(version, than string) bool {
	var a, b [3]int
	n, _ := fmt.Sscanf(version, "%d-%d-%d", &a[0], &a[1], &a[2])
	_, _ = fmt.Sscanf(than, "%d-%d-%d", &b[0], &b[1], &b[2])
	return n != 3 || slices.Compare(a[:], b[:]) < 0
}

// Settings is Alone for the settings of the machine, of the user and of a project.
func (s ClaudeSetup) Settings(project string) error {
	if !filepath.IsAbs(project) || s.Home == "" {
		return errors.New("it does not say which project it works in (CLAUDE_PROJECT_DIR), or there is no HOME")
	}
	user := cmp.Or(s.Env("CLAUDE_CONFIG_DIR"), filepath.Join(s.Home, ".claude"))
	machine := s.Root + "/etc/claude-code"
	files := []string{filepath.Join(machine, "managed-settings.json"), filepath.Join(user, "remote-settings.json"),
		filepath.Join(user, "settings.json"), filepath.Join(project, ".claude/settings.json"), filepath.Join(project, ".claude/settings.local.json")}
	more, err := filepath.Glob(filepath.Join(machine, "managed-settings.d", "*"))
	if err != nil {
		return err
	}
	for _, file := range append(files, more...) {
		if err := settingsAlone(file); err != nil {
			return err
		}
	}
	for _, dir := range []string{user, filepath.Join(project, ".claude"), machine} {
		for _, below := range []string{"skills", "agents", "commands"} {
			if err := withoutHooks(filepath.Join(dir, below)); err != nil {
				return err
			}
		}
	}
	return nil
}

// claudeSettings are the members of a settings file that can judge or change a command.
type claudeSettings struct {
	Permissions struct {
		Deny []string `json:"deny"`
		Ask  []string `json:"ask"`
	} `json:"permissions"`
	Hooks map[string][]struct {
		Matcher string           `json:"matcher"`
		Hooks   []jsontext.Value `json:"hooks"`
	} `json:"hooks"`
	Plugins      map[string]jsontext.Value `json:"enabledPlugins"`
	Sandbox      jsontext.Value            `json:"sandbox"`
	PolicyHelper jsontext.Value            `json:"policyHelper"`
}

// settingsAlone says what a settings file has that judges or changes a command; nil if there is no file.
func settingsAlone(file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var in claudeSettings
	if err == nil {
		err = jsonv2.Unmarshal(text, &in, jsonv2.MatchCaseInsensitiveNames(true))
	}
	if err != nil {
		return fmt.Errorf("the settings %s cannot be read", file)
	}
	for _, rule := range slices.Concat(in.Permissions.Deny, in.Permissions.Ask) {
		if tool, _, _ := strings.Cut(rule, "("); !harmlessRules.Has(tool) && !strings.HasPrefix(tool, "mcp__") {
			return fmt.Errorf("%s has the rule %q, which would see the replaced command alone", file, rule)
		}
	}
	for _, group := range in.Hooks["PreToolUse"] {
		for _, h := range group.Hooks {
			if text := string(h); matchesBash(group.Matcher) &&
				(!strings.Contains(text, "approvalbot") || !strings.Contains(text, " claude-code PreToolUse ")) {
				return fmt.Errorf("%s has another PreToolUse hook, which could change the command again", file)
			}
		}
	}
	for name, on := range in.Plugins {
		if string(on) != "false" {
			return fmt.Errorf("%s enables the plugin %s, whose hooks are not seen here", file, name)
		}
	}
	if in.PolicyHelper != nil {
		return fmt.Errorf("%s has a policyHelper, whose settings are not seen here", file)
	}
	var sandbox struct {
		Enabled jsontext.Value `json:"enabled"`
	}
	if in.Sandbox != nil && (jsonv2.Unmarshal(in.Sandbox, &sandbox) != nil || sandbox.Enabled != nil && string(sandbox.Enabled) != "false") {
		return fmt.Errorf("%s enables a sandbox of its own, in which approvalbot cannot confine", file)
	}
	return nil
}

// matchesBash reports whether a hook's matcher may match the Bash tool: it is an expression, so only plain names of
// other tools do not.
func matchesBash(matcher string) bool {
	plain := strings.Trim(matcher, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|") == ""
	return matcher == "" || !plain || slices.ContainsFunc(strings.Split(matcher, "|"), func(name string) bool {
		return name == "" || strings.EqualFold(name, "Bash")
	})
}

// mostPages is how many files of skills, agents and commands are looked through.
const mostPages = 1000

// withoutHooks says which file below a folder brings hooks of its own, as skills, agents and commands may.
func withoutHooks(dir string) error {
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, behind which hooks are not looked for", path)
		case d.IsDir() || !strings.EqualFold(filepath.Ext(path), ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if seen++; seen > mostPages {
			return fmt.Errorf("%s has too many files to look through", dir)
		}
		if hooksLine.Match(text) {
			return fmt.Errorf("%s brings hooks of its own", path)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

var hooksLine = lazy.Pattern(`(?m)^\s*["']?hooks["']?\s*:`)
