package hook

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/api"
	"approvalbot/internal/lazy"
)

// Profile is the way of confining that a hook's replaced command has, see [api.Confined].
const Profile = "v1"

// Confines reports whether the runtime runs the command that an allow of this event names, and not its own: only such
// an event may say that its calls run confined.
func (e Event) Confines() bool { return e.dialect.answer != nil }

// The events of Claude Code at which a hook that confines looks at the client's settings. No call is asked for at them.
const (
	SessionStart   = "SessionStart"        // the client has read its settings
	ConfigChange   = "ConfigChange"        // before it goes by others, which may be gone again at the next call
	DirectoryAdded = "DirectoryAdded"      // it goes by the skills of another folder, too; no file says so
	pageTyped      = "UserPromptExpansion" // a person calls a skill or a command; the model does with the tool Skill
)

// Looking are these events.
var Looking = []string{SessionStart, ConfigChange, DirectoryAdded, pageTyped}

// Looks reports whether that event of the runtime is one of [Looking].
func (r Runtime) Looks(event string) bool {
	return r.Name == "claude-code" && slices.Contains(Looking, event)
}

// PlaceOf gives the folder in which a hook's body says that the client works, and the file in which it keeps what was said;
// empty if it does not say.
func PlaceOf(raw []byte) (dir, record string) {
	b := readBody(raw)
	return b.text("cwd"), b.text("transcript_path")
}

// Answers reports whether a line of what was said has the result of that call.
func Answers(said []byte, id string) bool {
	var line struct {
		Type    string `json:"type"`
		Message struct {
			Content jsontext.Value `json:"content"`
		} `json:"message"`
	}
	var blocks []struct {
		Type string `json:"type"`
		Call string `json:"tool_use_id"`
	}
	if !bytes.Contains(said, []byte(id)) || jsonv2.Unmarshal(said, &line) != nil {
		return false
	}
	if line.Type != "user" || jsonv2.Unmarshal(line.Message.Content, &blocks) != nil {
		return false
	}
	for _, b := range blocks {
		if b.Type == "tool_result" && b.Call == id {
			return true
		}
	}
	return false
}

// BypassesOf reports that a hook's body says that the client asks for no permissions.
func BypassesOf(raw []byte) bool {
	b := readBody(raw)
	return b.text("permission_mode") == "bypassPermissions"
}

// PageOf is the skill or the command that a hook's body says is called; empty if it is none.
func PageOf(raw []byte) string {
	b := readBody(raw)
	switch {
	case slices.Contains([]string{"builtin", "bundled"}, b.text("command_source")):
		return "" // of the client
	case b.text("tool_name") != "Skill":
		return b.text("command_name")
	}
	var in struct {
		Skill string `json:"skill"`
	}
	if jsonv2.Unmarshal(b.members["tool_input"], &in) != nil || in.Skill == "" {
		return "/" // of which there is none
	}
	return in.Skill
}

// confined is the allow of a call that may run confined alone.
func (e Event) confined(c Call, v Verdict, note string) Answer {
	input := replaced(c, *v.Confined)
	if input == nil || !e.Confines() {
		return e.Deny(c, "the desk allows this call only confined, and this hook cannot confine it; make the same call again")
	}
	return e.dialect.answer(c, line(v.Why), note, input)
}

// Confinable reports whether a call is one shell command that can be replaced by its confined form. What goes on in
// the background outlives its answer, and no argument of a program can have a NUL.
func (c Call) Confinable() bool {
	line, background := c.shellCommand()
	return line != "" && !background && !strings.Contains(line, "\x00")
}

// IsCommand reports whether a call of Claude Code is a command for a shell.
func (c Call) IsCommand() bool { line, _ := c.shellCommand(); return line != "" }

// shellCommand is what Claude Code's Bash tool would run; empty for all other calls.
func (c Call) shellCommand() (line string, background bool) {
	var in struct {
		Command    string `json:"command"`
		Background bool   `json:"run_in_background"`
	}
	if c.Tool != "Bash" || jsonv2.Unmarshal(c.Params, &in) != nil {
		return "", false
	}
	return in.Command, in.Background
}

// quiet are the tools of Claude Code that start no program and give no file another name.
var quiet = lazy.Words(`Read Write Edit MultiEdit NotebookEdit NotebookRead Glob Grep LS WebFetch WebSearch TodoWrite
	TaskCreate TaskGet TaskList TaskUpdate TaskOutput TaskStop Agent Task ListAgents ReportFindings AskUserQuestion EnterPlanMode ExitPlanMode KillShell KillBash
	BashOutput ToolSearch SendMessage ListMcpResourcesTool ReadMcpResourceTool`)

// Runs reports whether a call of Claude Code may start programs, or rename or copy files.
func (c Call) Runs() bool { return !quiet.Has(c.Tool) || c.makesWorktree() }

// makesWorktree reports an agent in a worktree of its own, which the client makes.
func (c Call) makesWorktree() bool {
	var in struct {
		Isolation *jsontext.Value `json:"isolation"`
	}
	return (c.Tool == "Agent" || c.Tool == "Task") && (jsonv2.Unmarshal(c.Params, &in) != nil || in.Isolation != nil)
}

// ends are the tools of Claude Code that run something, and whose answer says that it has ended.
var ends = lazy.Words("Skill EnterWorktree ExitWorktree Agent Task")

// Lasts reports whether what a call runs may go on after its answer, so that only the client's end ends it.
func (c Call) Lasts() bool { return !ends.Has(c.Tool) && !c.OfServer() }

// OfServer reports a call of a tool server.
func (c Call) OfServer() bool { return strings.HasPrefix(c.Tool, "mcp__") }

// confine are the profiles by which the call can run confined; nil if it cannot.
func (c Call) confine() []string {
	if len(c.Confiner) == 0 || !c.Confinable() {
		return nil
	}
	return []string{Profile}
}

// replaced is the input of a call that runs its command confined by Confiner. It is nil if the call cannot be replaced, and
// then it must not run.
func replaced(c Call, how api.Confined) jsontext.Value {
	if how.Profile != Profile || c.confine() == nil {
		return nil
	}
	line, _ := c.shellCommand()
	argv := append(slices.Clone(c.Confiner), "confine", "--asked", c.Allowed)
	for _, dir := range how.Writable {
		argv = append(argv, "--workspace", dir)
	}
	for _, shown := range how.Readonly {
		flag := "--readable"
		if filepath.IsAbs(shown) {
			flag = "--show"
		}
		argv = append(argv, flag, shown)
	}
	return c.with(shellLine(append(argv, "--", "bash", "-c", line)))
}

// Held is the call's input with a line before its command: its shell, and all that it starts, keep a file open, which that
// program locks by its verb beside. The command does not run if it cannot. It is nil if the call has no command. Claude Code
// runs commands by bash or zsh, and both read that line the same.
func (c Call) Held(program []string, lock string) jsontext.Value {
	line, _ := c.shellCommand()
	if line == "" || strings.Contains(line, "\x00") {
		return nil
	}
	locks := shellLine(append(slices.Clone(program), "beside", c.Allowed))
	// In one line, or messages of the shell would name another one.
	return c.with("exec {approvalbot}<>" + ShellWord(lock) + " && " + locks + " $approvalbot || exit 125; " + line)
}

// with is the call's input with another command; nil if it cannot be read. The runtime takes it as a whole, so all other
// members are repeated.
func (c Call) with(command string) jsontext.Value {
	var all map[string]jsontext.Value
	if jsonv2.Unmarshal(c.Params, &all) != nil {
		return nil
	}
	all["command"] = encode(command)
	// What the client shows instead of the command, also to its model.
	if said := cmp.Or(c.Justification, firstOf(jsontext.Value(c.Params))); said != "" {
		all["description"] = encode(said)
	}
	out, err := jsonv2.Marshal(all, jsonv2.Deterministic(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil
	}
	return out
}

// firstOf is the first line of a call's command.
func firstOf(params jsontext.Value) string {
	var in struct {
		Command string `json:"command"`
	}
	if jsonv2.Unmarshal(params, &in) != nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(in.Command), "\n")
	return strings.ToValidUTF8(line[:min(len(line), mostDescribed)], "")
}

const mostDescribed = 200 // bytes of a description

func shellLine(argv []string) string {
	for i, word := range argv {
		argv[i] = ShellWord(word)
	}
	return strings.Join(argv, " ")
}

// ShellWord quotes a text as one word for a shell: sh, dash, bash, zsh and ksh read it the same.
func ShellWord(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
