package hook

import (
	"strings"

	"approvalbot/internal/lazy"
)

// A decoder for each runtime and event. Shared steps are in a helper that both
// call; a decoder never guesses its runtime from a body.

// decoder reads an event's body.
type decoder func(raw []byte) (Call, error)

// claudeBody is the body that Claude Code invented and others have taken over, each
// with members of its own.
func claudeBody(b *body, event, callID string) Call {
	b.is("hook_event_name", event)
	c := Call{Tool: b.named("tool_name"), Params: b.object("tool_input")}
	c.Session, c.Workdir = b.text("session_id"), b.text("cwd")
	if callID != "" {
		c.ID = b.text(callID)
	}
	return c
}

// claudeEvent is for an event of Claude Code. Subagents' bodies name their agent.
func claudeEvent(event, callID string) decoder {
	return func(raw []byte) (Call, error) {
		b := readBody(raw)
		b.not("tool_call_id", "turn_id")
		c := claudeBody(b, event, callID)
		c.Prompt, c.From.SubagentID = b.text("prompt_id"), b.text("agent_id")
		if c.Subagent = c.From.SubagentID != ""; c.Subagent {
			c.From.SubagentType = b.text("agent_type")
		}
		return b.decoded(c)
	}
}

// codexEvent is for an event of Codex, whose bodies name the model.
func codexEvent(event, callID string) decoder {
	return func(raw []byte) (Call, error) {
		b := readBody(raw)
		b.not("tool_call_id", "prompt_id")
		c := claudeBody(b, event, callID)
		c.Model = b.text("model")
		return b.decoded(c)
	}
}

// named says in which runtime a call was made.
func named(title string, d decoder) decoder {
	return func(raw []byte) (Call, error) {
		c, err := d(raw)
		if err == nil {
			c.From.Runtime = title
		}
		return c, err
	}
}

// unseen is for a runtime that hides what is typed into running programs.
func unseen(d decoder) decoder {
	return func(raw []byte) (Call, error) {
		c, err := d(raw)
		c.Typed = err == nil
		return c, err
	}
}

// geminiBeforeTool takes both names of a server's tool from the context that only such
// calls have: in some versions tool_name alone could be a tool of Gemini's own.
func geminiBeforeTool(raw []byte) (Call, error) {
	b := readBody(raw)
	c := claudeBody(b, "BeforeTool", "")
	if _, servers := b.members["mcp_context"]; servers {
		in := b.within("mcp_context")
		c.Tool = mcpTool(in.text("server_name"), in.named("tool_name"))
		b.and(in)
	}
	return b.decoded(c)
}

// qwenEvent takes the model's id of the call: tool_use_id is made up anew for every hook.
func qwenEvent(event string) decoder {
	return func(raw []byte) (Call, error) {
		b := readBody(raw)
		b.not("turn_id")
		return b.decoded(claudeBody(b, event, "tool_call_id"))
	}
}

// copilotCamel is Copilot's body for preToolUse, which does not name its event.
func copilotCamel(raw []byte) (Call, error) {
	b := readBody(raw)
	b.not("hook_event_name", "hookName")
	c := Call{Tool: copilotTool(b.named("toolName")), Params: b.objectOrText("toolArgs")}
	c.Session, c.Workdir = b.text("sessionId"), b.text("cwd")
	return b.decoded(c)
}

// copilotPascal is its body for PreToolUse.
func copilotPascal(raw []byte) (Call, error) {
	b := readBody(raw)
	c := claudeBody(b, "PreToolUse", "")
	c.Tool = copilotTool(c.Tool)
	return b.decoded(c)
}

// copilotTool is a tool's name as policy knows it. Copilot joins a server's name and its
// tool's by a dash, and its own tools' names have no dash: a server "read" with a tool
// "file" is no tool that reads files.
func copilotTool(name string) string {
	if strings.Contains(name, "-") && !strings.HasPrefix(name, "mcp__") {
		return "mcp__" + name
	}
	return name
}

// copilotPermission is its body for permissionRequest, however that is spelled in
// the configuration.
func copilotPermission(raw []byte) (Call, error) {
	b := readBody(raw)
	b.is("hookName", "permissionRequest")
	c := Call{Tool: copilotTool(b.named("toolName")), Params: b.objectOrText("toolInput")}
	c.Session, c.Workdir = b.text("sessionId"), b.text("cwd")
	return b.decoded(c)
}

// cursorCommon reads what all of Cursor's bodies have.
func cursorCommon(b *body, event string) Call {
	b.is("hook_event_name", event)
	c := Call{Session: b.text("conversation_id"), Model: b.text("model"), Workdir: b.text("cwd")}
	if c.Workdir == "" {
		c.Workdir = b.first("workspace_roots")
	}
	return c
}

func cursorPreToolUse(raw []byte) (Call, error) {
	b := readBody(raw)
	c := cursorCommon(b, "preToolUse")
	c.Tool, c.Params, c.ID = b.named("tool_name"), b.objectOrText("tool_input"), b.text("tool_use_id")
	return b.decoded(c)
}

// cursorShell has no tool's name: it is Cursor's tool Shell.
func cursorShell(raw []byte) (Call, error) {
	b := readBody(raw)
	c := cursorCommon(b, "beforeShellExecution")
	c.Tool, c.Params = "Shell", object("command", b.named("command"))
	return b.decoded(c)
}

func cursorMCP(raw []byte) (Call, error) {
	b := readBody(raw)
	c := cursorCommon(b, "beforeMCPExecution")
	c.Tool = mcpTool(b.text("mcp_server_name"), b.named("tool_name"))
	c.Params = b.objectOrText("tool_input")
	return b.decoded(c)
}

// goosePreToolUse is Goose's body, whose event is called event.
func goosePreToolUse(raw []byte) (Call, error) {
	b := readBody(raw)
	b.is("event", "PreToolUse")
	return b.decoded(Call{Tool: b.named("tool_name"), Params: b.object("tool_input"),
		Session: b.text("session_id"), ID: b.text("tool_call_id"), Workdir: b.text("working_dir")})
}

// kiroEvent is for Kiro, whose MCP tools are called @server/tool.
func kiroEvent(event string) decoder {
	return func(raw []byte) (Call, error) {
		b := readBody(raw)
		c := claudeBody(b, event, "")
		if len(c.Tool) > 0 && c.Tool[0] == '@' {
			c.Tool = c.Tool[1:]
		}
		return b.decoded(c)
	}
}

// windsurfCommon reads what all of Windsurf's bodies have.
func windsurfCommon(b *body, event string) (Call, *body) {
	b.is("agent_action_name", event)
	return Call{Session: b.text("trajectory_id")}, b.within("tool_info")
}

func windsurfRun(raw []byte) (Call, error) {
	b := readBody(raw)
	c, info := windsurfCommon(b, "pre_run_command")
	c.Tool, c.Params, c.Workdir = "run_command", object("command", info.named("command_line")), info.text("cwd")
	return b.and(info).decoded(c)
}

func windsurfMCP(raw []byte) (Call, error) {
	b := readBody(raw)
	c, info := windsurfCommon(b, "pre_mcp_tool_use")
	c.Tool = mcpTool(info.text("mcp_server_name"), info.named("mcp_tool_name"))
	c.Params = info.objectOrText("mcp_tool_arguments")
	return b.and(info).decoded(c)
}

func windsurfWrite(raw []byte) (Call, error) {
	b := readBody(raw)
	c, info := windsurfCommon(b, "pre_write_code")
	c.Tool, c.Params = "edit", b.object("tool_info")
	info.named("file_path")
	return b.and(info).decoded(c)
}

// clineTools run commands that an overrideInput can replace.
var clineTools = lazy.Words("run_commands")

// clinePreToolUse reads the body of the CLI, and that of VS Code, which has no
// tool_call: its input cannot be replaced.
func clinePreToolUse(raw []byte) (Call, error) {
	b := readBody(raw)
	c := Call{Session: b.text("taskId"), Workdir: b.first("workspaceRoots")}
	if b.named("hookName") != "tool_call" {
		b.is("hookName", "PreToolUse")
		in := b.within("preToolUse")
		c.Tool, c.Params = in.named("toolName"), in.object("parameters")
		return b.and(in).decoded(c)
	}
	in := b.within("tool_call")
	c.Tool, c.Params, c.ID = in.named("name"), in.object("input"), in.text("id")
	c.replaceable = clineTools.Has(c.Tool)
	c.Here = true // workspaceRoots is the repository around it
	return b.and(in).decoded(c)
}
