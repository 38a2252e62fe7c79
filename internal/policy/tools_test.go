package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/tool"
)

// toolRow is a call and what it is.
type toolRow struct {
	tool   string
	params string
	want   string
}

func checkTools(t *testing.T, e *Engine, rows []toolRow) {
	t.Helper()
	for _, r := range rows {
		check(t, []row{{r.tool + " " + r.params, r.want}}, func(string) approval.Judgement {
			return judge(e, approval.Call{ToolName: r.tool, Params: json.RawMessage(r.params), AgentID: "main"})
		})
	}
}

// A client reads the files that the arguments of a skill mention, unasked.
func TestAdversary_W32_FilesThatSkillsMention(t *testing.T) {
	t.Parallel()
	var rows []toolRow
	for args, want := range map[string]string{
		"@/home/u/.ssh/id_ed25519": "R3 reads-secret", "see @.env": "R3 reads-secret", "a\u00a0@.env": "R3 reads-secret", "a\ufeff@.env": "R3 reads-secret", "。@.env": "R3 reads-secret", "(@.env).": "R3 reads-secret",
		"@.env#L1-2": "R3 reads-secret", "@\"a b/.env\" x": "R3 reads-secret", "@~/.ssh/id_rsa,": "R3 reads-secret", "@/proc/self/environ": "R3 may-read-secret",
		"@a.go\n@.env": "R3 reads-secret+evaluates-text", "@@.env": "R3 reads-secret", ".env": "R3 reads-secret", "'~/.ssh/id_rsa' x": "R3 reads-secret", "@$HOME/x": "R3 may-read-secret", `@"server.pem#L1"`: "R3 reads-secret", `@"../other/server.pem#x"`: "R3 reads-secret", "server.pem#L1": "R3 reads-secret", "see server.pem,": "R3 reads-secret", "id_ed25519": "R3 reads-secret", "; cat server.pe?": "R3 evaluates-text", "$(touch x)": "R3 evaluates-text", "a\nb": "R3 evaluates-text", "a | b": "R3 evaluates-text", "@/etc/approvalbot/config.yaml": "R4 touches-the-desk", "/etc/approvalbot/config.yaml": "R4 touches-the-desk",
		strings.Repeat("@a ", 100): "R3 may-read-secret", strings.Repeat("a. ", 2000): "R3 may-read-secret",
		"@a.go": "R0", "review @src/a.go, and @docs/b.md.": "R0", "mail a@example.org": "R0", "@org/package": "R0", "fix /api/users and token refresh": "R0", "why does it fail? it's slow - really": "R0", "--pages 1": "R3 evaluates-text", "credentials": "R3 reads-secret", "--no-index /dev/null server.pe?": "R3 may-read-secret+evaluates-text", "server.pe?": "R3 may-read-secret", "ser'ver.p'em": "R3 reads-secret", "s*": "R3 may-read-secret", "'--output=x y'": "R3 evaluates-text", "src/*.go": "R0", "@ a": "R0", "": "R0", "/etc/hosts": "R0",
	} {
		for _, tool := range []string{"Skill", "SlashCommand"} {
			in, err := json.Marshal(map[string]string{"skill": "pdf", "args": args})
			require.NoError(t, err)
			rows = append(rows, toolRow{tool, string(in), want})
		}
	}
	rows = append(rows, toolRow{"Skill", `{"skill":"pdf @.env"}`, "R3 reads-secret"}, toolRow{"Skill", `{"skill":"pdf","args":["@.env"]}`, "R3 reads-secret"})
	checkTools(t, engine(t), rows)
}

func TestTools(t *testing.T) {
	t.Parallel()
	checkTools(t, engine(t), []toolRow{
		{"read", `{"path":"main.go"}`, "R0 read-only-tool"}, {"Read", `{"file_path":"/workspace/main.go","offset":1,"limit":10}`, "R0 read-only-tool"}, {"read_file", `{"absolute_path":"/etc/hosts"}`, "R0"},
		{"read_many_files", `{"paths":["a.go","b/**/*.ts"]}`, "R0"}, {"Glob", `{"pattern":"**/*.env"}`, "R0"}, {"LS", `{"path":"/home/u/.ssh"}`, "R0"}, {"list_dir", `{}`, "R0"}, {"Grep", `{"pattern":"id_rsa","glob":"*.go"}`, "R0"}, {"view", `{"path":"x"}`, "R0"},
		{"search", `{"query":"frobnicate"}`, "R0"}, {"session_status", `{}`, "R0 harmless-tool"}, {"TodoWrite", `{"todos":[{"content":"rm -rf /"}]}`, "R0 harmless-tool"}, {"codebase_search", `{"query":"x"}`, "R0"}, {"search_file_content", `{"pattern":"frobnicate"}`, "R0"},
		{"read", `{"path":".env"}`, "R3 reads-secret"}, {"read", `{"path":"~/.ssh/id_rsa"}`, "R3 reads-secret"}, {"read", `{"path":"@.env"}`, "R3 reads-secret"}, {"read", `{"path":"file:///etc/shadow"}`, "R3"}, {"read", `{"path":"a/../.env"}`, "R3 reads-secret"}, {"read", `{"path":".E\u200bnv"}`, "R3 reads-secret"}, {"read", `{"path":"C:\\Users\\x\\.ssh\\id_rsa"}`, "R3 reads-secret"}, {"read", `{"path":"..\\..\\.aws\\credentials"}`, "R3 reads-secret"},
		{"read_many_files", `{"paths":["a.go",".env"]}`, "R3 reads-secret"}, {"Grep", `{"pattern":"KEY","glob":".env*"}`, "R3 reads-secret"}, {"Grep", `{"pattern":"KEY","path":"/home/u"}`, "R3 may-read-secret"}, {"grep", `{"pattern":"x","glob":"{}"}`, "R3 may-read-secret"}, {"read", `{"path":"/home/u/.config/x"}`, "R3 may-read-secret"}, {"read", `{"path":"$HOME/x"}`, "R3 may-read-secret"}, {"read", `{"path":"/proc/self/environ"}`, "R3 may-read-secret"},
		{"read", `{"path":"x","command":"ls"}`, "R3 unknown-parameters"}, {"find", `{"args":["-delete"]}`, "R3 unknown-parameters"}, {"grep", `{"pattern":"-x","path":"--pre=sh"}`, "R3 unknown-parameters"}, {"read", `{"path":".env\u0000.txt"}`, "R3"}, {"exec", `{"command":"ls\u0000"}`, "R3 control-characters"}, {"shell", `{"command":["cat","/etc/shadow\u0000x"]}`, "R4 control-characters"}, {"read", `{"url":"https://x.org"}`, "R2 network-read"}, {"read", `[]`, "R3 malformed-call"}, {"read", `{"a":1,"a":2}`, "R3 malformed-call"}, {"read", `{`, "R3 malformed-call"}, {"read", `{} {}`, "R3 malformed-call"}, {"read", ``, "R3 malformed-call"},
		{"write", `{"path":"x.go","content":"rm -rf /"}`, "R1 workspace-write"}, {"Write", `{"file_path":"/workspace/a/b.go","content":"x"}`, "R1"}, {"Edit", `{"file_path":"/workspace/a.go","old_string":"/etc/shadow","new_string":"b"}`, "R1"}, {"MultiEdit", `{"file_path":"a.go","edits":[{"old_string":"a","new_string":"b"}]}`, "R1"}, {"NotebookEdit", `{"notebook_path":"a.ipynb","new_source":"x"}`, "R1"}, {"replace", `{"file_path":"a","old_string":"x","new_string":"y","instruction":"z"}`, "R1"}, {"edit_file", `{"target_file":"a.go","code_edit":"x","instructions":"y"}`, "R1"},
		{"write", `{"path":"/srv/x","content":""}`, "R3 writes-outside"}, {"write", `{"path":"../x","content":""}`, "R3 path-climbs"}, {"write", `{"path":"/workspace2/x","content":""}`, "R3 writes-outside"}, {"write", `{"path":"~/x","content":""}`, "R3 writes-outside"}, {"write", `{"path":"/etc/motd","content":""}`, "R3 writes-system"}, {"write", `{"path":".git/hooks/x","content":""}`, "R3 writes-startup"}, {"write", `{"path":".claude/settings.json","content":""}`, "R4 writes-agent-settings"}, {"write", `{"path":".env","content":""}`, "R3 writes-secret"}, {"write", `{"path":"/root/.ssh/authorized_keys","content":""}`, "R4 writes-access"}, {"write", `{"path":"/dev/sda","content":""}`, "R4 writes-device"}, {"write", `{"content":"x"}`, "R3 malformed-call"}, {"write", `{"path":"a","destination":"/tmp/x"}`, "R3 writes-outside"}, {"write", `{"path":"a","other":"/tmp/x"}`, "R3 writes-outside"}, {"write", `{"path":"$HOME/x"}`, "R3 dynamic-path"},
		{"str_replace_based_edit_tool", `{"command":"view","path":"a.go"}`, "R0"}, {"str_replace_based_edit_tool", `{"command":"create","path":"a.go","file_text":"x"}`, "R1"}, {"str_replace_editor", `{"command":"str_replace","path":"/srv/a","old_str":"x","new_str":"y"}`, "R3 writes-outside"},
		{"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-a\n+b\n*** End Patch"}`, "R1 workspace-write"}, {"apply_patch", `{"input":"*** Begin Patch\n*** Delete File: a.go\n*** End Patch"}`, "R3 deletes-file"}, {"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.go\n*** Move to: /tmp/x\n*** End Patch"}`, "R3 writes-outside"}, {"apply_patch", `{"input":"  *** Add File: /srv/x"}`, "R3 writes-outside"}, {"apply_patch", `{"input":"hello"}`, "R3 malformed-call"}, {"patch", `{"patchText":"--- a/x.go\n+++ b/x.go\n@@\n"}`, "R1"}, {"patch", `{"patchText":"--- a/x.go\n+++ /tmp/x.go\n@@\n"}`, "R3 writes-outside"}, {"patch", `{"patchText":"--- a/x.go\n+++ /dev/null\n@@\n"}`, "R3 deletes-file"},
		{"delete_file", `{"target_file":"a.go"}`, "R3 deletes-file"}, {"delete_file", `{"target_file":"/srv/a.go"}`, "R3 writes-outside"},
		{"WebFetch", `{"url":"https://x.org","prompt":"sum up"}`, "R2 network-read"}, {"WebSearch", `{"query":"x"}`, "R2 network-read"}, {"web_fetch", `{"url":"http://169.254.169.254/x"}`, "R3 metadata-service"}, {"web_fetch", `{"url":"https://x.org","method":"POST"}`, "R3 sends-data"}, {"web_fetch", `{"url":"https://x.org","body":"x"}`, "R3 sends-data"}, {"web_fetch", `{"url":"file:///etc/shadow"}`, "R3 reads-secret"}, {"web_fetch", `{"url":"http://0x7f000001/"}`, "R3 odd-address"}, {"web_fetch", `{"prompt":"read http://169.254.169.254/x"}`, "R3 metadata-service"}, {"web_fetch", `{"url":"x.org"}`, "R2"},
		{"message", `{"to":"bob","text":"hi"}`, "R3 message-send"}, {"send_email", `{}`, "R3 message-send"}, {"sessions_send", `{}`, "R3 message-send"}, {"payment", `{"amount":1}`, "R4 payment"},
		{"frobnicate", `{}`, "R3 unknown-tool"}, {"mcp__x__read", `{"path":"x"}`, "R3 unknown-tool"}, {"x/read", `{}`, "R3 unknown-tool"}, {"server:read", `{}`, "R3 unknown-tool"}, {"functions.read", `{}`, "R3 unknown-tool"}, {"delete_user", `{}`, "R3 unknown-tool+keyword-delete"}, {"my_execute_command", `{}`, "R3 keyword-execute+keyword-command"}, {"remote_shell", `{}`, "R3 keyword-shell"}, {"writer2", `{}`, "R3 keyword-write"}, {"remover", `{}`, "R3 keyword-remove"}, {"stripe_charge", `{}`, "R3 keyword-pay"}, {"mcp__x__run", `{"command":"rm -rf /"}`, "R4 unknown-tool+recursive-delete"},
		{"run_commands", `{"commands":["ls"]}`, "R0"}, {"run_commands", `{"commands":["rm -rf /"]}`, "R4 recursive-delete"}, {"run_commands", `{"commands":["cd /","ls"]}`, "R3 unknown-parameters"}, {"run_commands", `{"commands":[["ls"]]}`, "R3 unknown-parameters"}, {"run_commands", `{"commands":[{"command":"ls"}]}`, "R3 malformed-call"}, {"bash", `{"commands":["ls"]}`, "R3 unknown-parameters"},
		{"bash", `{"command":"ls"}`, "R0"}, {"Bash", `{"command":"ls","description":"x","timeout":1,"run_in_background":false}`, "R0"}, {"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, "R3 unknown-parameters"}, {"Bash", `{"command":"rm -rf /"}`, "R4 recursive-delete"}, {"run_shell_command", `{"command":"ls","directory":"src"}`, "R0"}, {"shell", `{"command":["bash","-lc","ls | wc -l"],"workdir":"/workspace"}`, "R0"}, {"shell", `{"command":["ls",";","rm"]}`, "R0"}, {"shell", `{"command":["bash","-lc","ls"],"with_escalated_permissions":true}`, "R3 unknown-parameters"}, {"shell", `{"command":["rm","-rf","/"]}`, "R4 recursive-delete"}, {"exec_command", `{"cmd":"ls","shell":"fish"}`, "R3 unknown-parameters"}, {"bash", `{}`, "R3 malformed-call"}, {"bash", `{"command":"ls","cmd":"frob"}`, "R3 unknown-command"}, {"bash", `{"command":5}`, "R3 malformed-call"}, {"bash", `{"command":"ls","args":["x"]}`, "R3 malformed-call"}, {"execute_bash", `{"command":"ls"}`, "R0"},
	})
}

func TestExecParams(t *testing.T) {
	t.Parallel()
	checkTools(t, engine(t), []toolRow{
		{"exec", `{"command":"ls"}`, "R0"}, {"exec", `{"argv":["ls","-la"]}`, "R0"}, {"exec", `{"argv":["ls","; rm -rf /"]}`, "R0"}, {"exec", `{"argv":["echo","$(rm -rf /)"]}`, "R0"}, {"exec", `{"argv":["cat","*"]}`, "R0"}, {"exec", `{"argv":["cat",".env"]}`, "R3 reads-secret"}, {"exec", `{"argv":["rm","-rf","/"]}`, "R4"}, {"exec", `{"argv":["ls -la"]}`, "R3 unknown-command"},
		{"exec", `{"argv":["sh","-c","ls"]}`, "R0"}, {"exec", `{"argv":["sh","-c","rm -rf /"]}`, "R4"}, {"exec", `{"argv":["sh","-c","$0","ls"]}`, "R3 dynamic-command"}, {"exec", `{"argv":["sh","-c","$0 \"$@\"","rm","-rf","/"]}`, "R4"}, {"exec", `{"argv":["sh","-c","cat \"$1\"","_",".env"]}`, "R3 may-read-secret"}, {"exec", `{"argv":["env","ls"]}`, "R0"}, {"exec", `{"argv":["/tmp/ls"]}`, "R3 program-by-path"},
		{"exec", `{"command":"ls","env":{"LANG":"C"}}`, "R0"}, {"exec", `{"command":"ls","env":{"PATH":"/tmp"}}`, "R3 dangerous-environment"}, {"exec", `{"command":"ls","env":{"FOO":"x"}}`, "R3 sets-environment"}, {"exec", `{"command":"ls","env":{"lower":"x"}}`, "R3 sets-environment"}, {"exec", `{"command":"ls","env":{"APPROVALBOT_TOKEN":"x"}}`, "R4 touches-the-desk"},
		{"exec", `{"command":"touch x","workdir":"/workspace/sub"}`, "R1"}, {"exec", `{"command":"touch x","workdir":"sub"}`, "R1"}, {"exec", `{"command":"touch x","workdir":"/opt/x"}`, "R3 writes-outside"}, {"exec", `{"command":"touch x","workdir":"~"}`, "R3"}, {"exec", `{"command":"touch x","workdir":"../x"}`, "R3 writes-outside"}, {"exec", `{"command":"cat config.yaml","workdir":"/etc/approvalbot"}`, "R4 touches-the-desk"}, {"exec", `{"command":"git status","workdir":"/workspace"}`, "R0"}, {"exec", `{"command":"git status","workdir":"/workspace/sub"}`, "R1 runs-project-code"}, {"exec", `{"command":"git status","workdir":"/opt/x"}`, "R3 git-elsewhere"},
		{"exec", `{"command":"ls","host":"gateway"}`, "R0"}, {"exec", `{"command":"ls","host":"node-7"}`, "R3 other-host"}, {"exec", `{"command":"ls","workdir":"C:\\x"}`, "R3 windows-shell"},
		{"exec", `{"command":"ls","frob":1}`, "R3 malformed-call"}, {"exec", `{"command":"rm -rf /","frob":1}`, "R4 malformed-call"}, {"exec", `{"command":"ls","argv":["ls"]}`, "R3 malformed-call"}, {"exec", `{}`, "R3 malformed-call"}, {"exec", `{"Command":"ls"}`, "R3 malformed-call"}, {"exec", `nope`, "R3 malformed-call"},
	})
}

func TestWithoutAWorkspaceTheCallsOwnDirectoryIsLocal(t *testing.T) {
	t.Parallel()
	e := engine(t)
	ask := func(command, workdir, bound string) string {
		c := callOf(t, "exec", map[string]any{"command": command, "workdir": workdir})
		c.AgentID = "nobody"
		if bound != "" {
			c.Bind = &approval.Bind{Workdir: new(bound)}
		}
		return judge(e, c).Assessment.RiskClass.String()
	}
	require.Equal(t, "R1", ask("touch x", "/home/u/project", ""))
	require.Equal(t, "R1", ask("touch x", "", "/home/u/project"))
	require.Equal(t, "R1", ask("touch x", "/home/u/project", "/home/u/project"))
	require.Equal(t, "R3", ask("touch x", "/home/u/project", "/home/u/other"), "the two disagree")
	for _, dir := range []string{"", "/", "/etc", "/usr/lib/x", "/home", "/home/u", "/root", "/tmp", "/var/x", "relative", "~"} {
		require.Equal(t, "R3", ask("touch x", dir, ""), dir)
	}
	require.Equal(t, "R0", ask("git status", "", ""))
	require.Equal(t, "R3", ask("cd x && git status", "", ""))
	w := approval.Call{ToolName: "write", Params: json.RawMessage(`{"path":"x","content":""}`)}
	require.Contains(t, judge(e, w).Assessment.ReasonCodes, "no-workspace")
}

func TestAdversary_S5_ArgvIsNoShellLine(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for _, word := range []string{";", "&&", "|", "$(x)", "`x`", ">", "*", "~", "a b", "$x", "'", "\"", "\n", "{a,b}", "#"} {
		j := judge(e, callOf(t, "exec", map[string]any{"argv": []string{"echo", word, "rm", "-rf", "/"}}))
		require.Equal(t, approval.OutcomeAllow, j.Outcome, word)
	}
	for i := range 3 {
		argv := []string{"sh", "-c", fmt.Sprintf("$%d x", i), "rm", "-rf", "/"}
		require.Equal(t, approval.OutcomeAsk, judge(e, callOf(t, "exec", map[string]any{"argv": argv})).Outcome, argv)
	}
}

// TestRuntimesTools: what the agent runtimes bring beside files and commands.
func TestRuntimesTools(t *testing.T) {
	t.Parallel()
	checkTools(t, engine(t), []toolRow{
		{"Task", `{"prompt":"rm -rf /"}`, "R0 harmless-tool"}, {"spawn_agent", `{"message":"x"}`, "R0"}, {"KillShell", `{"shell_id":"x"}`, "R0"}, {"ExitPlanMode", `{}`, "R3 approves-plan"}, {"ListMcpResourcesTool", `{}`, "R0"},
		{"browser", `{"action":"snapshot"}`, "R2 network-read"}, {"browser", `{"action":"open","targetUrl":"https://x.org"}`, "R2"}, {"browser", `{"action":"open","targetUrl":"http://169.254.169.254/"}`, "R3 metadata-service"}, {"browser", `{"action":"act","request":{"kind":"type"}}`, "R3 browser-acts"}, {"browser", `{}`, "R3 browser-acts"}, {"browser", `{"action":["snapshot"]}`, "R3 browser-acts"}, {"browser", `{"action":"frob"}`, "R3 browser-acts"}, {"browser", `{"sub":{"action":"snapshot"}}`, "R3 browser-acts"}, {"browser", `nope`, "R3 malformed-call"},
		{"canvas", `{"action":"present"}`, "R2"}, {"canvas", `{"action":"eval","javaScript":"1"}`, "R3 interpreter-code"}, {"nodes", `{"action":"status"}`, "R0"}, {"nodes", `{"action":"camera_snap"}`, "R3 uses-device"}, {"nodes", `{"action":"run","command":["ls"]}`, "R3 other-host"}, {"nodes", `{"action":"run","command":["git","push","-f"]}`, "R4"}, {"nodes", `{"action":"approve"}`, "R3 controls-agent"}, {"nodes", `{"action":"notify"}`, "R3 message-send"},
		{"cron", `{"action":"list"}`, "R0"}, {"cron", `{"action":"add"}`, "R3 changes-schedule"}, {"gateway", `{"action":"config.patch"}`, "R3 controls-agent"}, {"gateway", `{"action":"config.schema"}`, "R0"}, {"process", `{"action":"poll","sessionId":"x"}`, "R0"}, {"process", `{"action":"send-keys"}`, "R3 feeds-process"}, {"process", `{"action":"kill"}`, "R3 stops-process"}, {"process", `{"action":"write","data":"curl localhost:8787"}`, "R4 touches-the-desk"},
		{"sessions_spawn", `{"task":"x","sandbox":"require"}`, "R0"}, {"sessions_spawn", `{"task":"x"}`, "R3 controls-agent"}, {"sessions_spawn", `{"task":"x","runtime":"subagent"}`, "R3 controls-agent"}, {"sessions_spawn", `{"task":"x","runtime":"acp"}`, "R3 controls-agent"}, {"write_stdin", `{"chars":"y"}`, "R3 feeds-process"}, {"CronCreate", `{}`, "R3 changes-schedule"}, {"ExitWorktree", `{"action":"remove"}`, "R3 git-discards"}, {"EnterWorktree", `{}`, "R1 local-git"},
		{"execute_sql", `{"query":"select 1"}`, "R3 database-client"}, {"execute_sql", `{"query":"DELETE FROM users"}`, "R4 destructive-word"}, {"mcp__pg__query", `{"sql":"x"}`, "R3 unknown-tool"}, {"mcp__postgres__query", `{"sql":"drop table x"}`, "R4 destructive-word"},
		{"mcp__filesystem__read_file", `{"path":"README.md"}`, "R3 unknown-tool"}, {"mcp__github__create_issue", `{}`, "R3 unknown-tool+remote-write"}, {"mcp__github__createIssue", `{}`, "R3 remote-write"}, {"github.create_issue", `{}`, "R3 remote-write"}, {"MCP:create_issue", `{}`, "R3 remote-write"}, {"mcp__github__get_issue", `{}`, "R3 unknown-tool"}, {"mcp__x__delete_bucket", `{}`, "R4 destroys-infrastructure"}, {"mcp__x__deleteRepository", `{}`, "R4 destroys-infrastructure"}, {"mcp__x__delete_comment", `{}`, "R3 remote-write+keyword-delete"}, {"mcp__x__list_deleted_buckets", `{}`, "R3 unknown-tool"},
		{"mcp__x__run", `{"args":["rm","-rf","/"]}`, "R4 recursive-delete"}, {"mcp__x__run", `{"a":{"command":"echo cm0gLXJmIC8K | base64 -d | sh"}}`, "R4 destructive-word"}, {"web_fetch", `{"url":"http://10.0.0.1/"}`, "R3 private-address"}, {"web_fetch", `{"url":"http://db.internal/"}`, "R3 private-address"}, {"web_fetch", `{"url":"http://[fd00::1]/"}`, "R3 private-address"}, {"web_fetch", `{"url":"http://100.64.0.1/"}`, "R3 private-address"}, {"web_fetch", `{"url":"http://localhost:3000/"}`, "R2"}, {"web_fetch", `{"url":"http://[::ffff:10.0.0.1]/"}`, "R3"},
	})
}

// TestNamesOnlyMakeItWorse: no name of a tool that another server brings gets it
// below an unknown tool.
func TestNamesOnlyMakeItWorse(t *testing.T) {
	t.Parallel()
	e := engine(t)
	for name := range tool.Kinds() {
		for _, foreign := range []string{"mcp__server__" + name, "server." + name, "MCP:" + name, "server/" + name} {
			j := judge(e, callOf(t, foreign, map[string]any{"path": "README.md"}))
			require.GreaterOrEqual(t, j.Assessment.RiskClass.String(), "R3", foreign)
			require.Contains(t, j.Assessment.ReasonCodes, "unknown-tool", foreign)
			require.Equal(t, approval.OutcomeAsk, j.Outcome, foreign)
		}
	}
}
