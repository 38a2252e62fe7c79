package hook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
)

// capture is what a real client sent and took, see testdata.
type capture struct {
	Runtime string `json:"runtime"`
	Event   string `json:"event"`
	Stdin   json.RawMessage
	Request struct {
		Body json.RawMessage
	}
	StdoutAllow json.RawMessage `json:"stdout_allow"`
	StdoutDeny  json.RawMessage `json:"stdout_deny"`
	ReplyAllow  json.RawMessage `json:"reply_allow"`
	ReplyDeny   json.RawMessage `json:"reply_deny"`
	DenyOneCall json.RawMessage `json:"stdout_deny_one_call"`
}

func readCapture(t testing.TB, name string) (Event, capture) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	var c capture
	require.NoError(t, json.Unmarshal(raw, &c))
	r, ok := Find(c.Runtime)
	require.True(t, ok, c.Runtime)
	event, _, _ := strings.Cut(c.Event, " ")
	e, ok := r.Event(event)
	require.True(t, ok, c.Event)
	if c.Stdin == nil {
		c.Stdin = c.Request.Body
	}
	return e, c
}

// Every captured body reads as the call it was, and both answers are those that the
// real client obeyed.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Call{
		"claude-code-2.1.330-PreToolUse-http.json": {Tool: "Bash", Params: command("rm -rf build"), ID: "toolu_2d851b3e730842b4",
			Session: "5b607f0e-ea28-4977-8e7a-ed9f2ad40be5", Prompt: "a4635031-9d64-46de-9d95-c3ac9a8cc73c", Justification: "clean the build folder"},
		"claude-code-2.1.330-PreToolUse-command.json": {Tool: "Bash", Params: command("rm -rf build"), ID: "toolu_dd5185ad1ed645de",
			Session: "f62e5d96-2fe9-451a-a488-938636d3afb5", Prompt: "de7060e2-fd5b-47f2-a2e9-a54bd316cd0e", Justification: "clean the build folder"},
		"claude-code-2.1.330-PermissionRequest-http.json": {Unheard: "Claude Code", Tool: "Bash", Params: command("rm -rf build"),
			Session: "f38b5379-e585-4faf-b1b5-7682e2fe205d", Prompt: "02af24cf-bb87-4bfc-b68c-4c2f5d51c093", Justification: "clean the build folder"},
		"codex-0.169.0-PreToolUse-command.json": {Tool: "Bash", Params: command("mv build build.old"), ID: "call_e319a995ca4647bf",
			Session: "01a2039f-5f5d-7e40-8b82-72c35f520d28", Model: "gpt-5.1-codex", Typed: true},
		"codex-0.169.0-PermissionRequest-command.json": {Unheard: "Codex", Tool: "Bash", Params: command("mv build build.old"), Model: "gpt-5.1-codex",
			Session: "01a203a2-8c94-7ba2-ac1e-5dc7503cd679", Justification: "Need to remove the old build folder", Typed: true},
		"gemini-cli-0.61.0-BeforeTool-command.json": {Unheard: "Gemini CLI", Tool: "run_shell_command", Params: command("mv build build.old"),
			Session: "e6c36aed-4bf4-4129-8165-339cabba8c44", Justification: "clean the build folder"},
		"qwen-code-0.24.4-PreToolUse-http.json": {Tool: "run_shell_command", Params: command("mv build build.old"), ID: "call_45777b677d5f4ed2",
			Session: "ca126ed3-8013-4db6-a7b2-7b483cd78e51", Justification: "clean the build folder"},
		"copilot-cli-1.0.102-preToolUse-http.json": {Tool: "bash", Params: command("mv build build.old"),
			Session: "a14048c0-1e65-46c7-b0f5-af5e6836ad5b", Justification: "clean the build folder"},
		"copilot-cli-1.0.102-preToolUse-command.json": {Tool: "bash", Params: command("mv build build.old"),
			Session: "f0ebae90-e49b-4553-a03c-ca199f797772", Justification: "clean the build folder"},
		"copilot-cli-1.0.102-PreToolUse-pascal-command.json": {Tool: "Bash", Params: command("mv build build.old"),
			Session: "84cdc035-18ce-4d06-9c3e-e53807ffa723", Justification: "clean the build folder"},
		"copilot-cli-1.0.102-via-claude-settings.json": {Tool: "Bash", Params: command("mv build build.old"),
			Session: "c512a1e3-259a-4c61-87ac-fefa9851f1f7", Justification: "clean the build folder"},
		"copilot-cli-1.0.102-permissionRequest-command.json": {Unheard: "GitHub Copilot CLI", Tool: "bash", Params: command("mv build build.old"),
			Session: "0bfd8637-39d2-44f7-af39-6d25e301306c"},
		"cline-3.0.65-PreToolUse-file.json": {Tool: "run_commands", Params: json.RawMessage(`{"commands":["mv build build.old"]}`), ID: "call_5ab85e3b31cc40e7",
			Session: "conv_1795359027978_4yqvrvo", Here: true, replaceable: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, c := readCapture(t, name)
			want.Workdir = "/home/u/project"
			runtime, _, _ := strings.Cut(name, "-")
			r, _ := Find(runtime)
			want.From.Runtime = r.Title
			got, err := e.Decode(c.Stdin)
			require.NoError(t, err)
			require.JSONEq(t, string(want.Params), string(got.Params))
			want.Params, got.Params = nil, nil
			require.Equal(t, want, got)
			read, _ := e.Decode(c.Stdin)
			answers(t, e, read, c)
		})
	}
}

// A subagent's body names it; what the desk is told of who asks is no part of what runs, is cut to what the desk
// takes, and names the runtime by this table alone.
func TestGolden_T30_WhoAsks(t *testing.T) {
	r, _ := Find("claude-code")
	e, _ := r.Event("PreToolUse")
	body := func(more string) []byte {
		return []byte(`{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"runtime":"x"` + more + `}`)
	}
	c, err := e.Decode(body(`,"agent_id":"a1","agent_type":"Explore"`))
	require.NoError(t, err)
	require.Equal(t, api.From{Runtime: "Claude Code", SubagentType: "Explore", SubagentID: "a1"}, c.From)
	require.True(t, c.Subagent)
	require.Equal(t, c.From, *c.Request().Context.From)

	c, err = e.Decode(body(`,"agent_type":"reviewer"`)) // of a main thread it is what --agent says
	require.NoError(t, err)
	require.Equal(t, api.From{Runtime: "Claude Code"}, c.From)
	c.From.Branch = strings.Repeat("ü", 200) + "\x00"
	require.Equal(t, strings.Repeat("ü", 128), c.Request().Context.From.Branch)
	c.From.Branch = "\xff\x00"
	require.Equal(t, "?", c.Request().Context.From.Branch)
}

// answers compares what the capture has with what the encoder makes.
func answers(t *testing.T, e Event, call Call, c capture) {
	allow, deny := e.Allow(call, "allowed by alice in Telegram"), e.Deny(call, "denied by alice in Telegram")
	for _, pair := range []struct {
		want json.RawMessage
		got  Answer
	}{{c.StdoutAllow, allow}, {c.ReplyAllow, allow}, {c.StdoutDeny, deny}, {c.ReplyDeny, deny}, {c.DenyOneCall, deny}} {
		switch {
		case pair.want == nil:
		case string(pair.want) == `""`:
			require.Empty(t, pair.got.Stdout)
		default:
			require.JSONEq(t, string(pair.want), string(pair.got.Stdout))
			require.Zero(t, pair.got.Exit)
		}
	}
}

func command(line string) json.RawMessage {
	raw, _ := json.Marshal(map[string]string{"command": line})
	return raw
}

// What no client was run for is held to its documentation.
func TestGolden_FromDocumentation(t *testing.T) {
	t.Parallel()
	const why = "denied by alice"
	status := Answer{Stderr: why, Exit: 2}
	cursorDeny := Answer{Stdout: []byte(`{"agent_message":"denied by alice","permission":"deny","user_message":"denied by alice"}`)}
	for _, c := range []struct {
		runtime, event, body string
		want                 Call
		params               string
		allow, deny          Answer
	}{
		{"cursor", "preToolUse",
			`{"conversation_id":"c","hook_event_name":"preToolUse","model":"m","tool_name":"Shell","tool_input":{"command":"ls"},"tool_use_id":"t1","cwd":"/w"}`,
			Call{Tool: "Shell", Session: "c", Workdir: "/w", ID: "t1", Model: "m"}, `{"command":"ls"}`,
			Answer{Stdout: []byte(`{"permission":"allow"}`)}, cursorDeny},
		{"cursor", "beforeShellExecution",
			`{"conversation_id":"c","generation_id":"g","hook_event_name":"beforeShellExecution","cursor_version":"3.9","command":"ls","workspace_roots":["/w"]}`,
			Call{Tool: "Shell", Session: "c", Workdir: "/w"}, `{"command":"ls"}`,
			Answer{Stdout: []byte(`{"permission":"allow"}`)}, cursorDeny},
		{"cursor", "beforeMCPExecution",
			`{"conversation_id":"c","hook_event_name":"beforeMCPExecution","tool_name":"send","tool_input":"{\"to\":\"a\"}","mcp_server_name":"mail"}`,
			Call{Tool: "mcp__mail__send", Session: "c"}, `{"to":"a"}`,
			Answer{Stdout: []byte(`{"permission":"allow"}`)}, cursorDeny},
		{"goose", "PreToolUse",
			`{"event":"PreToolUse","session_id":"s","tool_call_id":"c","tool_name":"developer__shell","tool_input":{"command":"ls"},"working_dir":"/w"}`,
			Call{Tool: "developer__shell", Session: "s", Workdir: "/w", ID: "c"}, `{"command":"ls"}`,
			Answer{Stdout: []byte(`{"decision":"allow"}`)},
			Answer{Stdout: []byte(`{"decision":"block","reason":"denied by alice"}`), Stderr: why, Exit: 2}},
		{"kiro", "preToolUse", `{"hook_event_name":"preToolUse","cwd":"/w","tool_name":"execute_bash","tool_input":{"command":"ls"}}`,
			Call{Tool: "execute_bash", Workdir: "/w"}, `{"command":"ls"}`, Answer{}, status},
		{"kiro", "PreToolUse", `{"hook_event_name":"PreToolUse","cwd":"/w","tool_name":"@mail/send","tool_input":{}}`,
			Call{Tool: "mail/send", Workdir: "/w"}, `{}`, Answer{}, status},
		{"windsurf", "pre_run_command",
			`{"agent_action_name":"pre_run_command","trajectory_id":"t","execution_id":"e","tool_info":{"command_line":"ls","cwd":"/w"}}`,
			Call{Tool: "run_command", Session: "t", Workdir: "/w"}, `{"command":"ls"}`, Answer{}, status},
		{"windsurf", "pre_mcp_tool_use",
			`{"agent_action_name":"pre_mcp_tool_use","trajectory_id":"t","tool_info":{"mcp_server_name":"mail","mcp_tool_name":"send","mcp_tool_arguments":{"to":"a"}}}`,
			Call{Tool: "mcp__mail__send", Session: "t"}, `{"to":"a"}`, Answer{}, status},
		{"windsurf", "pre_write_code",
			`{"agent_action_name":"pre_write_code","trajectory_id":"t","tool_info":{"file_path":"/w/a","edits":[]}}`,
			Call{Tool: "edit", Session: "t"}, `{"file_path":"/w/a","edits":[]}`, Answer{}, status},
		{"cline", "PreToolUse", // VS Code
			`{"clineVersion":"3","hookName":"PreToolUse","taskId":"t","workspaceRoots":["/w"],"preToolUse":{"toolName":"execute_command","parameters":{"command":"ls"}}}`,
			Call{Tool: "execute_command", Session: "t", Workdir: "/w"}, `{"command":"ls"}`,
			Answer{Stdout: []byte(`{}`)}, Answer{Stdout: []byte(`{"cancel":true,"errorMessage":"denied by alice"}`)}},
		{"copilot", "preToolUse", `{"sessionId":"s","timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}`,
			Call{Tool: "bash", Session: "s", Workdir: "/w"}, `{"command":"ls"}`,
			Answer{Stdout: []byte(`{"permissionDecision":"allow"}`)},
			Answer{Stdout: []byte(`{"permissionDecision":"deny","permissionDecisionReason":"denied by alice"}`)}},
		{"claude", "PostToolUse",
			`{"session_id":"s","cwd":"/w","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":{"stdout":"x"},"tool_use_id":"toolu_1"}`,
			Call{Tool: "Bash", Session: "s", Workdir: "/w", ID: "toolu_1", outcome: outcomeOf("succeeded")}, `{"command":"ls"}`,
			Answer{Stdout: []byte(`{"hookSpecificOutput":{"hookEventName":"PostToolUse"}}`)},
			Answer{Stdout: []byte(`{"decision":"block","reason":"denied by alice"}`)}},
	} {
		r, _ := Find(c.runtime)
		e, ok := r.Event(c.event)
		require.True(t, ok, "%s %s", c.runtime, c.event)
		got, err := e.Decode([]byte(c.body))
		require.NoError(t, err, c.body)
		require.Equal(t, c.deny, e.Deny(got, why), c.body)
		require.Equal(t, c.allow, e.Allow(got, why), c.body)
		require.JSONEq(t, c.params, string(got.Params))
		got.Params, c.want.From.Runtime = nil, r.Title
		if c.want.Unheard = r.Title; e.Phase == After || e.HandsNotes() {
			c.want.Unheard = ""
		}
		require.Equal(t, c.want, got, c.body)
	}
}

// No dialect's allow is another one's deny, or the other way round: what comes out of
// an encoder is understood by that event alone or means the same.
func TestAdversary_H1_EveryAnswerIsExplicit(t *testing.T) {
	t.Parallel()
	for _, r := range Runtimes() {
		for _, e := range r.Events {
			for _, c := range []Call{{}, {replaceable: true}} {
				deny := e.Deny(c, "no\nway\x1b[2J")
				shown := string(deny.Stdout) + deny.Stderr
				require.Contains(t, shown, "no way", "%s %s", r.Name, e.Name)
				require.NotContains(t, shown, "\n")
				require.True(t, deny.Exit == 2 && deny.Stderr != "" || deny.Exit == 0 && json.Valid(deny.Stdout), "%s %s", r.Name, e.Name)
				require.NotEqual(t, string(e.Allow(Call{}, "").Stdout)+"|"+e.Allow(Call{}, "").Stderr, string(deny.Stdout)+"|"+deny.Stderr)
			}
			require.Contains(t, string(e.Deny(Call{}, "").Stdout)+e.Deny(Call{}, "").Stderr, "denied", "an empty sentence runs the call in three runtimes")
			if e.HTTP {
				require.NotContains(t, []string{"", "{}"}, string(e.Allow(Call{}, "").Stdout), "%s %s", r.Name, e.Name)
				require.NotEmpty(t, e.Deny(Call{}, "x").Stdout)
			}
		}
	}
	require.Equal(t, Answer{Stdout: []byte(`{"decision":"block","reason":"x"}`), Stderr: "x", Exit: 2}, LastResort("x"))
}

// A person's reason goes into a command line of Cline's.
func TestAdversary_H1_AReasonIsNoCommand(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"`reboot`", "$(reboot)", "x'; reboot; '", "a & reboot", "a | reboot", "a > /etc/passwd", "a\nreboot", "%PATH%", "^reboot", "~root", "*", "\\", "!!", "#x", "(x)", "{a,b}", "x; reboot"} {
		deny := clineDeny(Call{replaceable: true}, line(reason))
		var got struct{ OverrideInput struct{ Commands []string } }
		require.NoError(t, json.Unmarshal(deny.Stdout, &got))
		require.Len(t, got.OverrideInput.Commands, 1)
		text, ok := strings.CutPrefix(got.OverrideInput.Commands[0], "echo approvalbot: ")
		require.True(t, ok)
		text, ok = strings.CutSuffix(text, " >&2; exit 1")
		require.True(t, ok)
		require.False(t, strings.ContainsAny(text, "`$'\"&|><\n%^~*\\!#(){};?[]="), text)
	}
}
