package hook

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/lazy"
)

// ClaudeSetup is what Claude Code goes by beside approvalbot's hook, as far as that hook sees it. A command is
// replaced by its confined form only where nothing else would have judged or changed the original: Claude Code's own
// rules see only the replaced words, and of two hooks that change a call the later one wins (tried with 2.1.330).
type ClaudeSetup struct {
	Environ   []string // NAME=value, that the client gave its hook
	Began     []string // NAME=value, of the client when it started; settings may have changed what the hook has
	Home      string
	Root      string    // put before the paths of the machine's files; empty but in tests
	Program   string    // approvalbot's own, by the word with which its hook starts it
	File      string    // the client file of that hook
	Arguments []string  // of the client, its program first
	Started   time.Time // the client, which goes by the settings of that time; zero: they are not compared
	Dir       string    // in which the client works now, by the hook's body
	Record    string    // in which the client keeps what was said; it is in a folder for the project by whose settings it goes
	Page      string    // the skill or command that is called, which may bring hooks; empty: none
	Starts    bool      // the client has just read its settings, which may be gone since
	Bypasses  bool      // the client asks for no permissions, also before it starts servers
	OfSession bool      // the hook is one of SessionStart, for which the client sets CLAUDE_ENV_FILE

	seen hash.Hash         // takes the name of each file and folder that was looked at; nil: it is not asked for
	sets map[string]string // takes the variables that settings of the user's and the machine's set; nil: the same
}

// harmlessFlags are options of claude that bring no hook, no rule for commands and no settings; of those with a
// value, the value is the next word or comes behind "=". An option that is not here, of a later version too, may.
var harmlessFlags = lazy.Words(`-p --print --model --effort --fallback-model -c --continue -r --resume --fork-session
	--session-id -n --name --verbose --output-format --permission-mode --dangerously-skip-permissions
	--allow-dangerously-skip-permissions --allowedTools --allowed-tools --tools --append-system-prompt --system-prompt
	-d --debug --debug-file --mcp-config --strict-mcp-config --no-session-persistence --max-budget-usd --json-schema
	--betas --ide --chrome --no-chrome --include-partial-messages --include-hook-events --brief`)

// harmlessVariables are Claude Code's variables of which the same holds. Others bring plugins, settings or a program
// that is given each command (CLAUDE_CODE_PLUGIN_DIRS, CLAUDE_CODE_USE_COWORK_PLUGINS, CLAUDE_CODE_SHELL_PREFIX).
var harmlessVariables = lazy.Words(`CLAUDECODE CLAUDE_PID CLAUDE_EFFORT CLAUDE_PROJECT_DIR CLAUDE_CONFIG_DIR CLAUDE_ENV_FILE
	CLAUDE_CODE_ENTRYPOINT CLAUDE_CODE_MESSAGING_TOKEN CLAUDE_CODE_MESSAGING_SOCKET CLAUDE_CODE_SESSION_ATTENDED
	CLAUDE_CODE_SESSION_ID CLAUDE_CODE_CHILD_SESSION CLAUDE_CODE_CHILD_NOTES_DIR CLAUDE_CODE_TMPDIR CLAUDE_CODE_SSE_PORT
	CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_MAX_OUTPUT_TOKENS CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX
	CLAUDE_CODE_ENABLE_TELEMETRY CLAUDE_CODE_DISABLE_TERMINAL_TITLE CLAUDE_CODE_EFFORT_LEVEL`)

// settable are the variables that a project's settings may set. Any other may change the shell in which the client starts
// the confined form, or what that shell loads (BASH_FUNC_source%%, GCONV_PATH, CLAUDE_ENV_FILE, CLAUDE_CODE_TMPDIR).
var settable = lazy.Words(`CLAUDE_CODE_MAX_OUTPUT_TOKENS CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX CLAUDE_CODE_ENABLE_TELEMETRY
	CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC CLAUDE_CODE_DISABLE_TERMINAL_TITLE CLAUDE_CODE_EFFORT_LEVEL ANTHROPIC_MODEL
	ANTHROPIC_SMALL_FAST_MODEL ANTHROPIC_DEFAULT_OPUS_MODEL ANTHROPIC_DEFAULT_SONNET_MODEL ANTHROPIC_DEFAULT_HAIKU_MODEL
	BASH_DEFAULT_TIMEOUT_MS BASH_MAX_TIMEOUT_MS BASH_MAX_OUTPUT_LENGTH MAX_THINKING_TOKENS MAX_MCP_OUTPUT_TOKENS MCP_TIMEOUT
	MCP_TOOL_TIMEOUT DISABLE_TELEMETRY DISABLE_ERROR_REPORTING DISABLE_AUTOUPDATER NODE_ENV`)

// harmlessRules are the tools of Claude Code whose rules say nothing of commands. A rule for Read is not among them:
// Claude Code applies it to the files that a command names.
var harmlessRules = lazy.Words("WebFetch WebSearch Skill Agent Task")

// Alone says what may judge or change a command beside approvalbot's hook; nil if nothing does. What cannot be read
// may. Seen stands for the names of all files that were looked at: it is another one if a file came or went, or if the
// client goes by another folder.
func (s ClaudeSetup) Alone() (seen string, err error) {
	if err := s.Client(); err != nil {
		return "", err
	}
	s.seen, s.sets = sha256.New(), map[string]string{}
	s.see(filepath.Dir(s.Record))
	project := s.env("CLAUDE_PROJECT_DIR")
	if err = s.Settings(project); err == nil {
		err = cmp.Or(s.moved(filepath.Clean(project)), s.relocated(), s.variables())
	}
	return hex.EncodeToString(s.seen.Sum(nil)), err
}

// moved says that the client works in a folder outside its project: a person may have it go by the settings there, with
// /cd.
func (s ClaudeSetup) moved(project string) error {
	if !within(s.Dir, project) {
		return fmt.Errorf("it works in %q, which is not in its project, and may go by the settings of that folder", s.Dir)
	}
	return nil
}

// within reports whether an absolute path is that of a folder or of what is below it, by their names.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// relocated says that a person had the client go by the settings of another folder before, with /cd, which no hook is told: it
// keeps the hooks of skills there. It writes a line about that (seen with 2.1.330). After /clear it writes to another file, so
// then all are read that were written since it started.
func (s ClaudeSetup) relocated() error {
	records := []string{s.Record}
	if s.OfSession && s.Record != "" {
		all, err := os.ReadDir(filepath.Dir(s.Record))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range all {
			if info, err := e.Info(); filepath.Ext(e.Name()) == ".jsonl" && (err != nil || !info.ModTime().Before(s.Started)) {
				records = append(records, filepath.Join(filepath.Dir(s.Record), e.Name()))
			}
		}
	}
	for _, file := range records {
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if bytes.Contains(text, []byte(`{"type":"relocated"`)) {
			return errors.New("it went by the settings of another folder before (/cd), and may have kept hooks of there; start it again")
		}
	}
	return nil
}

// ofClient are variables that the client sets for its hooks beside those called CLAUDE (seen with 2.1.330).
var ofClient = lazy.Words("AI_AGENT COREPACK_ENABLE_AUTO_PIN NoDefaultCurrentDirectoryInExePath PWD OLDPWD COLUMNS LINES")

// variables says which variable the client has of settings that are not looked at: it keeps those of a folder by which it
// went before, with /cd.
func (s ClaudeSetup) variables() error {
	for _, pair := range s.Environ {
		name, value, _ := strings.Cut(pair, "=")
		set, own := s.sets[name]
		if !slices.Contains(s.Began, pair) && !ofClient.Has(name) && !harmlessVariables.Has(name) && !settable.Has(name) && (!own || set != value) {
			return fmt.Errorf("its environment has the variable %s, which it did not have when it started, and which the user's settings do not set", name)
		}
	}
	return nil
}

// see notes a file or folder that is there.
func (s ClaudeSetup) see(name string) {
	if s.seen != nil {
		_, _ = io.WriteString(s.seen, name+"\x00")
	}
}

func (s ClaudeSetup) env(name string) string { return valueOf(s.Environ, name) }

func valueOf(environ []string, name string) string {
	for _, pair := range environ {
		if value, is := strings.CutPrefix(pair, name+"="); is {
			return value
		}
	}
	return ""
}

// leading are variables that say where the client's settings are, which project it works in, and where approvalbot
// remembers what it saw of the client.
var leading = lazy.Words("HOME CLAUDE_CONFIG_DIR CLAUDE_PROJECT_DIR XDG_STATE_HOME")

// Client is Alone for how the client was started.
func (s ClaudeSetup) Client() error {
	version, _, _ := strings.Cut(strings.TrimPrefix(s.env("AI_AGENT"), "claude-code_"), "_")
	version = strings.ReplaceAll(version, "-", ".")
	switch started := s.env("CLAUDE_CODE_ENTRYPOINT"); {
	case version == "" || !strings.HasPrefix(s.env("AI_AGENT"), "claude-code_"):
		return errors.New("it does not say its version (AI_AGENT)")
	case !threeNumbers.MatchString(version) || Older(version, "2.1.330"):
		return fmt.Errorf("its version %s was not tried; 2.1.330 was", version)
	case started != "cli" && started != "sdk-cli":
		return fmt.Errorf("another program started it (%s), which may have its own hooks", cmp.Or(started, "unknown"))
	case len(s.Arguments) == 0:
		return errors.New("its command line cannot be read")
	}
	for _, word := range s.Arguments[1:] {
		if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(name, "-") && !harmlessFlags.Has(name) {
			return fmt.Errorf("its option %s may bring rules or hooks", name)
		}
	}
	for _, name := range []string{"HOME", "CLAUDE_CONFIG_DIR", "XDG_STATE_HOME"} {
		if valueOf(s.Began, name) != s.env(name) {
			return fmt.Errorf("its settings set %s, so they may not be the ones that are looked at", name)
		}
		if name != "XDG_STATE_HOME" && slices.Contains(s.Began, name+"=") {
			return fmt.Errorf("its environment has %s without a value, so its settings lie in its working directory", name)
		}
	}
	if valueOf(s.Began, "CLAUDE_ENV_FILE") != "" || !s.OfSession && s.env("CLAUDE_ENV_FILE") != "" {
		return errors.New("the shell reads the file of its variable CLAUDE_ENV_FILE before each command")
	}
	once := map[string]bool{}
	for _, pair := range s.Began {
		if name, _, _ := strings.Cut(pair, "="); once[name] {
			return fmt.Errorf("its environment has the variable %s twice, of which it may have taken either", name)
		} else {
			once[name] = true
		}
	}
	for _, pair := range slices.Concat(s.Environ, s.Began) {
		name, _, _ := strings.Cut(pair, "=")
		if err := harmless(name); err != nil {
			return fmt.Errorf("its environment has %w", err)
		}
	}
	return nil
}

func harmless(variable string) error {
	if strings.HasPrefix(variable, "CLAUDE") && !harmlessVariables.Has(variable) {
		return fmt.Errorf("the variable %s, which may bring rules or hooks", variable)
	}
	return nil
}

var threeNumbers = lazy.Pattern(`^\d+\.\d+\.\d+$`)

// Settings is Alone for the settings of the machine, of the user and of a project. Claude Code reads those of a
// project in its folder and, of skills, agents and commands, in the folders above it; of a linked worktree it reads
// those of the main one, so that is not confined.
func (s ClaudeSetup) Settings(project string) error {
	if !filepath.IsAbs(project) || s.Home == "" {
		return errors.New("it does not say which project it works in (CLAUDE_PROJECT_DIR), or there is no HOME")
	}
	user, machine := cmp.Or(s.env("CLAUDE_CONFIG_DIR"), filepath.Join(s.Home, ".claude")), s.Root+"/etc/claude-code"
	files := []string{filepath.Join(machine, "managed-settings.json"), filepath.Join(user, "remote-settings.json"),
		filepath.Join(user, "settings.json")}
	dirs := []string{user, machine, filepath.Join(machine, ".claude")}
	for dir := filepath.Clean(project); ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a linked worktree or a submodule, which goes by the settings of another folder", dir)
		}
		// In folders of others, in the home and above it, programs make files at all times.
		if info, err := os.Stat(dir); err == nil && s.Starts && !within(s.Home, dir) && ofUser(info) && s.later(info) {
			return fmt.Errorf("%s was changed while the client started; start it again", dir)
		}
		servers := filepath.Join(dir, ".mcp.json")
		if _, err := os.Lstat(servers); err == nil && s.unasked() {
			return fmt.Errorf("%s has servers, which claude -p and bypassPermissions start without a question", servers)
		}
		own := filepath.Join(dir, ".claude")
		files, dirs = append(files, filepath.Join(own, "settings.json"), filepath.Join(own, "settings.local.json")), append(dirs, own)
		if info, err := os.Lstat(own); err == nil {
			s.see(own)
			if own != user && info.Mode()&fs.ModeSymlink != 0 {
				return fmt.Errorf("%s is a link, which can lead to other settings at any time", own)
			}
			if own != user && s.later(info) {
				return fmt.Errorf("%s was changed after the client had started; start it again", own)
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	more, err := filepath.Glob(filepath.Join(machine, "managed-settings.d", "*"))
	if err != nil {
		return err
	}
	if id := s.env("CLAUDE_CODE_SESSION_ID"); id != "" { // what hooks of SessionStart left, also before the session was resumed
		read := filepath.Join(user, "session-env", filepath.Base(id))
		if all, err := os.ReadDir(read); len(all) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has files that the shell reads before each command", read)
		}
	}
	for _, name := range []string{"plugins/synced", "dev-mods"} { // of an account, and of sessions
		dir := filepath.Join(user, name)
		if all, err := os.ReadDir(dir); len(all) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s has plugins, whose hooks are not seen here", dir)
		}
	}
	for _, dir := range []string{user, filepath.Join(user, "state"), machine} {
		if err := onlySettings(dir); err != nil {
			return err
		}
	}
	for _, file := range append(files, more...) {
		own := filepath.Dir(file) == user || within(file, machine)
		if err := s.alone(file, own); err != nil {
			return err
		}
	}
	for _, dir := range dirs {
		for _, below := range []string{"skills", "agents", "commands", "output-styles", "workflows"} {
			if err := s.withoutHooks(filepath.Join(dir, below)); err != nil {
				return err
			}
		}
	}
	// Of a command of the user's and a skill of a project that are called alike the client takes the project's.
	owns := func(dir string) bool {
		return slices.Contains([]string{user, machine, filepath.Join(machine, ".claude")}, dir)
	}
	having := slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool { return !s.hasPage(dir) })
	others := slices.ContainsFunc(having, func(dir string) bool { return !owns(dir) })
	if s.Page != "" && (len(having) == 0 || others) {
		return errors.New("it uses a skill or command that is not the user's alone, and may have hooks")
	}
	return nil
}

// hasPage reports whether the skill or command that is called is in that folder. One that a folder below the project has,
// too, would be called otherwise.
func (s ClaudeSetup) hasPage(dir string) bool {
	pages := []string{"skills/" + s.Page + "/SKILL.md", "commands/" + s.Page + ".md"}
	return !strings.ContainsAny(s.Page, `/\:`) && slices.ContainsFunc(pages, func(page string) bool {
		info, err := os.Lstat(filepath.Join(dir, page))
		return err == nil && info.Mode().IsRegular()
	})
}

// knownSettings are the files and folders of settings that are looked at, or say nothing of commands.
var knownSettings = lazy.Words(`settings.json settings.local.json remote-settings.json managed-settings.json managed-settings.d
	remote-settings-consent.json settings-review.json`)

// onlySettings says which file of settings in a folder is not known: an organisation's are kept in several.
func onlySettings(dir string) error {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		name := strings.ToLower(e.Name())
		if reads := e.IsDir() || filepath.Ext(name) == ".json"; reads && strings.Contains(name, "settings") && !knownSettings.Has(name) {
			return fmt.Errorf("%s is a file of settings that is not known here", filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// reading is how long a client takes at least before it reads its settings.
const reading = 50 * time.Millisecond

// later reports a file that was changed after the client read its settings, which it goes on with.
func (s ClaudeSetup) later(info fs.FileInfo) bool {
	return !s.Started.IsZero() && changed(info).After(s.Started.Add(reading))
}

// harmlessSettings are the members of a settings file, below permissions as "permissions.NAME", that neither bring
// hooks, plugins, rules or further settings nor change how a command is started; a member that is not here may.
var harmlessSettings = lazy.Words(`$schema permissions permissions.allow permissions.deny permissions.ask permissions.defaultMode
	permissions.disableBypassPermissionsMode disableSkillShellExecution hooks enabledPlugins env sandbox disableAllHooks model effortLevel cleanupPeriodDays
	includeCoAuthoredBy attribution statusLine outputStyle language alwaysThinkingEnabled spinnerTipsEnabled spinnerVerbs theme
	editorMode verbose autoUpdatesChannel enableAllProjectMcpServers enabledMcpjsonServers disabledMcpjsonServers apiKeyHelper
	awsAuthRefresh awsCredentialExport otelHeadersHelper forceLoginMethod forceLoginOrgUUID feedbackSurveyRate companyAnnouncements
	fileSuggestion respectGitignore showTurnDuration skipDangerousModePermissionPrompt skipAutoPermissionPrompt prefersReducedMotion
	terminalProgressBarEnabled availableModels fastMode allowManagedHooksOnly allowManagedPermissionRulesOnly`)

// startsPrograms are members of which the client starts programs: of the user's choice in the user's own settings alone.
var startsPrograms = lazy.Words(`statusLine apiKeyHelper awsAuthRefresh awsCredentialExport otelHeadersHelper fileSuggestion
	enableAllProjectMcpServers enabledMcpjsonServers`)

// startsCommands are variables that change what a shell runs before a command, or which shell.
var startsCommands = lazy.Words("BASH_ENV ENV SHELL ZDOTDIR SHELLOPTS BASHOPTS PROMPT_COMMAND PS4 LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH")

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
	Plugins map[string]jsontext.Value `json:"enabledPlugins"`
	Env     map[string]jsontext.Value `json:"env"`
	Sandbox jsontext.Value            `json:"sandbox"`
}

// alone says what a settings file, of the user's own and the machine's or of a project, has that judges or changes a
// command; nil if there is no file.
func (s ClaudeSetup) alone(file string, own bool) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.see(file)
	var in claudeSettings
	var all map[string]jsontext.Value
	if err == nil {
		err = cmp.Or(jsonv2.Unmarshal(text, &in), jsonv2.Unmarshal(text, &all))
	}
	info, statErr := os.Stat(file)
	link, linkErr := os.Lstat(file)
	switch {
	case linkErr == nil && !own && link.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link, which can lead to other settings at any time", file)
	case err != nil || statErr != nil:
		return fmt.Errorf("the settings %s cannot be read", file)
	case s.later(info):
		return fmt.Errorf("%s was changed after the client had started; start it again", file)
	}
	if name := unknownMember("", all); name != "" {
		return fmt.Errorf("%s has the member %s, which may bring rules or hooks", file, name)
	}
	for name := range all {
		if !own && startsPrograms.Has(name) {
			return fmt.Errorf("%s has the member %s, whose program could change what the client's shell reads", file, name)
		}
	}
	for _, rule := range slices.Concat(in.Permissions.Deny, in.Permissions.Ask) {
		if tool, _, _ := strings.Cut(rule, "("); !harmlessRules.Has(tool) && !strings.HasPrefix(tool, "mcp__") {
			return fmt.Errorf("%s has the rule %q, which would see only the replaced command", file, rule)
		}
	}
	for _, event := range slices.Sorted(maps.Keys(in.Hooks)) {
		for _, group := range in.Hooks[event] {
			harmless := (harmlessEvents.Has(event) || event == "PreToolUse" && !matchesBash(group.Matcher)) && (own || !s.unasked())
			if !harmless && slices.ContainsFunc(group.Hooks, func(h jsontext.Value) bool { return !s.own(event, h) }) {
				return fmt.Errorf("%s has a hook of %s of another program, which could change the command or bring rules", file, event)
			}
		}
	}
	for name, on := range in.Plugins {
		if string(on) != "false" {
			return fmt.Errorf("%s enables the plugin %s, whose hooks are not seen here", file, name)
		}
	}
	for name, raw := range in.Env {
		if own && s.sets != nil {
			value := string(raw) // of a number or a word the client takes the text
			_ = jsonv2.Unmarshal(raw, &value)
			s.sets[name] = value
		}
		if !settable.Has(name) && (!own || strings.HasPrefix(name, "CLAUDE") || startsCommands.Has(name) || leading.Has(name)) {
			return fmt.Errorf("%s sets the variable %s, which may bring rules or hooks, or change how commands are started", file, name)
		}
	}
	var sandbox struct {
		Enabled jsontext.Value `json:"enabled"`
	}
	if in.Sandbox != nil && (jsonv2.Unmarshal(in.Sandbox, &sandbox) != nil || sandbox.Enabled != nil && string(sandbox.Enabled) != "false") {
		return fmt.Errorf("%s enables a sandbox of Claude Code, in which approvalbot cannot confine", file)
	}
	return nil
}

// unasked reports a client that does not ask before it starts the programs of a folder, which could change what its shell reads.
func (s ClaudeSetup) unasked() bool {
	return s.Bypasses || s.env("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
}

// unknownMember gives the first member, of permissions too, that is not known to be harmless; empty if all are.
func unknownMember(below string, all map[string]jsontext.Value) string {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		var more map[string]jsontext.Value
		switch {
		case !harmlessSettings.Has(below + name):
			return below + name
		case below+name == "permissions" && jsonv2.Unmarshal(all[name], &more) == nil:
			if found := unknownMember("permissions.", more); found != "" {
				return found
			}
		}
	}
	return ""
}

// harmlessEvents are events of which a hook can neither change a call, nor bring rules, as that of PermissionRequest can,
// nor what the shell reads before each command, as that of SessionStart can.
var harmlessEvents = lazy.Words(`PostToolUse PostToolUseFailure SessionEnd Stop SubagentStart SubagentStop Notification
	UserPromptSubmit PreCompact PostCompact`)

// ownHook is what install writes for PreToolUse, and for the events that bring no call: a shell's script that starts
// approvalbot alone.
var ownHook = lazy.Pattern(`^unset -f echo; ('[^']*'|[A-Za-z0-9/._-]+)(?: hook)? claude-code ` +
	`(?:PreToolUse|SessionStart|ConfigChange|DirectoryAdded|UserPromptExpansion) --client ('[^']*'|[A-Za-z0-9/._-]+)` +
	`(?: --limit (?:24h|30s))?(?: --silent-allow)?(?: --confine)? --caller \$PPID; case \$\? in 2\) exit 2;; 3\) exit 0;; esac; ` +
	`echo "[a-zA-Z ,]*" >&2; exit 2$`)

// own reports approvalbot's own hook, of this program, with the members that install writes: of two hooks with the same words
// the client starts one, and with other members ("async") it does not wait for that.
func (s ClaudeSetup) own(event string, h jsontext.Value) bool {
	var in struct {
		Type          string   `json:"type"`
		Command       string   `json:"command"`
		Args          []string `json:"args"`
		Timeout       int      `json:"timeout"` // seconds
		OnFailure     string   `json:"onFailure"`
		StatusMessage string   `json:"statusMessage"`
	}
	err := jsonv2.Unmarshal(h, &in, jsonv2.RejectUnknownMembers(true))
	if err != nil || event == "PreToolUse" && (in.Timeout != 86400 || in.OnFailure != "block") || in.Timeout < 30 {
		return false
	}
	if in.Type != "command" || in.Command != "/bin/sh" || len(in.Args) != 2 || in.Args[0] != "-c" {
		return false
	}
	m := ownHook.FindStringSubmatch(in.Args[1])
	if m == nil || strings.Trim(m[2], "'") != s.File { // of two desks, either may be the later one
		return false
	}
	// The same word, for to a shell /proc/self/exe is another program, and a link may lead elsewhere a moment later.
	program := strings.Trim(m[1], "'")
	return filepath.IsAbs(program) && program == s.Program
}

// matchesBash reports whether a hook's matcher may match the Bash tool: it is an expression, so only plain names of
// other tools do not.
func matchesBash(matcher string) bool {
	plain := strings.Trim(matcher, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_|") == ""
	return matcher == "" || !plain || slices.ContainsFunc(strings.Split(matcher, "|"), func(name string) bool {
		return name == "" || strings.EqualFold(name, "Bash")
	})
}

// mostPages is how many files of skills, agents and commands are looked through, and mostPage how many bytes one has at
// most: a call waits for it.
const (
	mostPages = 1000
	mostPage  = 1 << 20
)

// withoutHooks says which file below a folder brings hooks of its own, as skills, agents and commands may, and plugins
// that lie there.
func (s ClaudeSetup) withoutHooks(dir string) error {
	seen := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			s.see(path)
		}
		lower := strings.ToLower(filepath.Base(path))
		switch {
		case err != nil:
			return err
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s is a link, behind which hooks are not looked for", path)
		case strings.HasPrefix(lower, ".claude-plugin") || strings.HasPrefix(lower, "hooks"):
			return fmt.Errorf("%s is of a plugin, whose hooks are not seen here", path)
		}
		info, err := d.Info()
		switch {
		case err != nil:
			return err
		case s.later(info):
			return fmt.Errorf("%s was changed after the client had started; start it again", path)
		case d.IsDir() || filepath.Ext(lower) != ".md":
			return nil
		case info.Size() > mostPage:
			return fmt.Errorf("%s has %d bytes, too many to look through", path, info.Size())
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		switch seen++; {
		case seen > mostPages:
			return fmt.Errorf("%s has too many files to look through", dir)
		case bringsHooks(string(text)):
			return fmt.Errorf("%s brings hooks, or its head is not read here", path)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// harmlessMembers are the members of a page's head that bring neither hooks nor rules (disallowed-tools does).
var harmlessMembers = lazy.Words(`name description allowed-tools tools argument-hint arguments model effort color version license
	metadata author tags when_to_use user-invocable disable-model-invocation keep-coding-instructions`)

// plainHead matches a line of a page's head in YAML that begins no other member than it says: a plain key, or what
// belongs to one before it.
var plainHead = lazy.Pattern(`^(?:[A-Za-z][A-Za-z0-9_-]*:(?:\s.*)?|[ \t].*|- .*|#.*)?$`)

// bringsHooks reports a page with a member that may bring hooks or rules, or with a head that is not as plain as most
// are: YAML can write a name in many ways.
func bringsHooks(text string) bool {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	if strings.ContainsAny(text, "\r\u0085\u2028\u2029") { // which end a line to some readers of YAML
		return true
	}
	head, is := strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "---")
	if hooksLine.MatchString(text) || !is {
		return hooksLine.MatchString(text)
	}
	first := true
	for line := range strings.Lines(head) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "---") {
			return false
		}
		blank := strings.Trim(line, " \t") == "" || line[0] == '#'
		if name, _, is := strings.Cut(line, ":"); is && !blank && line[0] > ' ' && line[0] != '-' && !harmlessMembers.Has(name) {
			return true
		}
		if !plainHead.MatchString(line) || !blank && first && (line[0] == ' ' || line[0] == '\t' || line[0] == '-') {
			return true
		}
		first = first && blank
	}
	return true
}

var hooksLine = lazy.Pattern(`(?mi)^\s*["']?hooks["']?\s*:`)
