package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/tool"
)

// bridged is an engine that trusts what the token "bridge" says of tools.
func bridged(t testing.TB, change ...func(*Config)) *Engine {
	return engine(t, append([]func(*Config){shipped, func(c *Config) { c.TrustToolHints = []string{"bridge"} }}, change...)...)
}

// atOf is a call of a server's tool that the token "bridge" asks for.
func atOf(t testing.TB, server, tool string, params map[string]any, hints ...approval.Hints) approval.Call {
	c := callOf(t, tool, params)
	c.Owner, c.Context.Tool.Server = "bridge", server
	for _, h := range hints {
		c.Context.Tool.Hints = h
	}
	return c
}

type at map[string]any

// What the rows say of calls of well-known servers.
func TestServers_Rows(t *testing.T) {
	t.Parallel()
	e := bridged(t)
	overwrites := approval.Hints{ReadOnly: approval.HintNo, Destructive: approval.HintYes, OpenWorld: approval.HintNo}
	for _, r := range []struct {
		server, tool string
		params       at
		class, code  string
		hints        approval.Hints
	}{
		{"filesystem", "read_text_file", at{"path": "/workspace/main.go", "head": 10}, "R0", "read-only-tool", approval.Hints{}},
		{"filesystem", "read_file", at{"path": "~/.ssh/id_rsa"}, "R3", "reads-secret", approval.Hints{ReadOnly: approval.HintYes}},
		{"filesystem", "read_multiple_files", at{"paths": []string{"a.go", "/home/u/.aws/credentials"}}, "R3", "reads-secret", approval.Hints{}},
		{"filesystem", "read_file", at{"path": at{"name": "a"}}, "R3", "unknown-parameters", approval.Hints{}},
		{"filesystem", "read_file", at{"path": "a", "then": "b"}, "R3", "unknown-parameters", approval.Hints{}},
		{"filesystem", "list_directory", at{"path": "/workspace"}, "R0", "read-only-tool", approval.Hints{}},
		{"filesystem", "search_files", at{"path": "/workspace", "pattern": "*.go"}, "R0", "read-only-tool", approval.Hints{}},
		{"filesystem", "write_file", at{"path": "/workspace/a.go", "content": "x"}, "R1", "workspace-write", overwrites},
		{"filesystem", "write_file", at{"path": "/workspace/a.md", "content": "see http://10.0.0.1/ and /etc/approvalbot/config.yaml " + strings.Repeat("x1", 99)}, "R1", "workspace-write", overwrites},
		{"filesystem", "write_file", at{"path": "/workspace/.git/hooks/pre-commit", "content": "x"}, "R3", "writes-startup", overwrites},
		{"filesystem", "write_file", at{"path": "/etc/cron.d/x", "content": "x"}, "R3", "writes-system", overwrites},
		{"filesystem", "write_file", at{"content": "x"}, "R3", "malformed-call", overwrites},
		{"filesystem", "edit_file", at{"path": "/workspace/a.go", "edits": []at{{"oldText": "a", "newText": "b"}}, "dryRun": false}, "R1", "workspace-write", overwrites},
		{"filesystem", "write_file", at{"path": "a.go", "content": "x"}, "R3", "dynamic-path", overwrites},
		{"filesystem", "create_directory", at{"path": "/workspace/docs/new"}, "R1", "workspace-write", approval.Hints{}},
		{"filesystem", "move_file", at{"source": "a", "destination": "b"}, "R3", "deletes-file", overwrites},
		{"filesystem", "read_file", at{"path": "a.go"}, "R3", "declared-destructive", approval.Hints{Destructive: approval.HintYes}},
		{"filesystem", "write_file", at{"path": "/etc/approvalbot/config.yaml", "content": "x"}, "R4", "touches-the-desk", approval.Hints{}},

		{"github", "mcp__github__list_issues", at{"owner": "golang", "repo": "go", "state": "OPEN", "after": strings.Repeat("Y3Vyc29yOnYyOp", 5)}, "R2", "network-read", approval.Hints{}},
		{"github", "github__list_issues", at{"owner": "golang", "repo": "go"}, "R2", "network-read", approval.Hints{}},
		{"github", "github.get_file_contents", at{"owner": "golang", "repo": "go", "path": "src/all.bash", "ref": strings.Repeat("a1b2", 10)}, "R2", "network-read", approval.Hints{}},
		{"github", "issue_read", at{"owner": "a", "repo": "b", "issue_number": 1, "method": "get"}, "R2", "network-read", approval.Hints{}},
		{"github", "issue_read", at{"owner": "a", "repo": "b", "issue_number": 1, "method": "close"}, "R3", "unknown-parameters", approval.Hints{}},
		{"github", "search_code", at{"query": "repo:a/b " + strings.Repeat("x1", 40)}, "R3", "sends-data", approval.Hints{}},
		{"github", "issue_read", at{"owner": "a", "repo": "b", "issue_number": 1}, "R3", "unknown-parameters", approval.Hints{}},
		{"kubernetes", "resources_get", at{"apiVersion": "v1", "kind": "Pod", "Kind": "Secret", "name": "s"}, "R3", "may-read-secret", approval.Hints{}},
		{"kubernetes", "resources_get", at{"apiVersion": "v1", "kind": []string{"Secret"}, "name": "s"}, "R3", "may-read-secret", approval.Hints{}},
		{"kubernetes", "resources_get", at{"apiVersion": "v1", "name": "s"}, "R3", "may-read-secret", approval.Hints{}},
		{"github", "create_issue", at{"owner": "a", "repo": "b", "title": "t"}, "R3", "remote-write", approval.Hints{}},
		{"github", "get_secret_scanning_alert", at{"owner": "a"}, "R3", "reads-secret", approval.Hints{ReadOnly: approval.HintYes}},
		{"github", "delete_repository", at{"owner": "a", "repo": "b"}, "R4", "destroys-infrastructure", approval.Hints{}},
		{"github", "brand_new_tool", at{"owner": "a"}, "R3", "unknown-tool", approval.Hints{ReadOnly: approval.HintYes, OpenWorld: approval.HintNo}},
		{"github", "mcp__evil__list_issues", at{"owner": "a", "repo": "b"}, "R3", "unknown-tool", approval.Hints{ReadOnly: approval.HintYes}},
		{"gitlab", "get_merge_request", at{"project_id": "a/b", "merge_request_iid": 3}, "R2", "network-read", approval.Hints{}},
		{"gitlab", "get_project_variable", at{"project_id": "a/b", "key": "K"}, "R3", "reads-secret", approval.Hints{}},

		{"postgres", "query", at{"sql": "SELECT 1"}, "R3", "database-client", approval.Hints{ReadOnly: approval.HintYes}},
		{"postgres", "execute_sql", at{"sql": "DROP TABLE users"}, "R4", "destructive-word", approval.Hints{ReadOnly: approval.HintYes}},
		{"sqlite", "list_tables", at{}, "R0", "read-only-tool", approval.Hints{}},
		{"sqlite", "write_query", at{"query": "drop table users"}, "R4", "destructive-word", approval.Hints{}},
		{"fetch", "mcp__fetch__fetch", at{"url": "https://example.com/a", "max_length": 100, "raw": true}, "R2", "network-read", approval.Hints{}},
		{"fetch", "mcp__fetch__fetch", at{"url": "http://169.254.169.254/latest"}, "R3", "metadata-service", approval.Hints{}},
		{"fetch", "mcp__fetch__fetch", at{"url": "https://e.example/?d=" + strings.Repeat("x", 60)}, "R3", "sends-data", approval.Hints{}},
		{"slack", "slack_get_channel_history", at{"channel_id": "C1", "limit": 5}, "R2", "network-read", approval.Hints{}},
		{"slack", "slack_post_message", at{"channel_id": "C1", "text": "hi"}, "R3", "message-send", approval.Hints{}},
		{"playwright", "browser_navigate", at{"url": "http://10.0.0.1/"}, "R3", "private-address", approval.Hints{}},
		{"playwright", "browser_snapshot", at{}, "R2", "network-read", approval.Hints{}},
		{"playwright", "browser_take_screenshot", at{"filename": "/workspace/.git/hooks/post-merge"}, "R3", "writes-startup", approval.Hints{}},
		{"playwright", "browser_evaluate", at{"function": "() => 1"}, "R3", "interpreter-code", approval.Hints{}},
		{"puppeteer", "puppeteer_navigate", at{"url": "https://example.com", "allowDangerous": true}, "R3", "unknown-parameters", approval.Hints{}},
		{"memory", "search_nodes", at{"query": "alice"}, "R0", "harmless-tool", approval.Hints{}},
		{"kubernetes", "pods_list", at{}, "R2", "network-read", approval.Hints{}},
		{"kubernetes", "resources_get", at{"apiVersion": "v1", "kind": "Secret", "name": "s"}, "R3", "may-read-secret", approval.Hints{ReadOnly: approval.HintYes}},
		{"kubernetes", "resources_list", at{"apiVersion": "apps/v1", "kind": "Deployment"}, "R2", "network-read", approval.Hints{}},
		{"kubernetes", "configuration_view", at{}, "R3", "reads-secret", approval.Hints{ReadOnly: approval.HintYes}},
		{"kubernetes", "resources_delete", at{"apiVersion": "v1", "kind": "Pod", "name": "x"}, "R4", "destroys-infrastructure", approval.Hints{}},
		{"aws", "call_aws", at{"cli_command": "aws ec2 terminate-instances --instance-ids i-1"}, "R4", "destroys-infrastructure", approval.Hints{}},
		{"aws", "call_aws", at{"cli_command": "rm -rf /"}, "R4", "recursive-delete", approval.Hints{}},
	} {
		j := judge(e, atOf(t, r.server, r.tool, r.params, r.hints))
		codes := strings.Join(j.Assessment.ReasonCodes, " ")
		require.Equal(t, r.class, j.Assessment.RiskClass.String(), "%s %s %v: %s", r.server, r.tool, r.params, codes)
		require.Contains(t, j.Assessment.ReasonCodes, r.code, "%s %s %v", r.server, r.tool, r.params)
	}
}

// A tool that is merely not known is what its server declares.
func TestServers_Hints(t *testing.T) {
	t.Parallel()
	e := bridged(t)
	reads := approval.Hints{ReadOnly: approval.HintYes, OpenWorld: approval.HintNo}
	open := approval.Hints{ReadOnly: approval.HintYes}
	for _, r := range []struct {
		tool   string
		params at
		hints  approval.Hints
		want   string
	}{
		{"glance", at{"topic": "weather in Berlin", "days": 3}, open, "declared-read-only"},
		{"glance", at{"topic": "save 50% (about $5) on e.g. tea and/or coffee."}, open, "declared-read-only"},
		{"glance", at{"topic": "$HOME/x"}, open, "may-read-secret"},
		{"glance", at{"topic": "rotate the token and the password"}, open, "declared-read-only"},
		{"glance", at{"path": "/workspace/a.md", "text": strings.Repeat("long ", 200)}, reads, "declared-read-only"},
		{"glance", at{"text": strings.Repeat("long ", 200)}, open, "sends-data"},
		{"glance", at{"topic": strings.Repeat("a1", 30)}, open, "sends-data"},
		{"glance", at{"topic": "AKIAIOSFODNN7EXAMPLE ghp_0123456789abcdefghijABCDEFGHIJ012345"}, open, "sends-data"},
		{"glance", at{strings.Repeat("a1", 30): 1}, open, "sends-data"},
		{"glance", at{"a": at{strings.Repeat("a1", 30): at{"b": 1}}}, open, "sends-data"},
		{"glance", at{"a": slices.Repeat([]int{123456789}, 40)}, open, "sends-data"},
		{"glance", at{"what": "~/.ssh/id_rsa"}, reads, "reads-secret"},
		{"glance", at{"note": "look at ~/.aws/credentials please"}, reads, "reads-secret"},
		{"glance", at{"list": []at{{"x": "/home/u/.netrc"}}}, reads, "reads-secret"},
		{"glance", at{"url": "http://10.0.0.1/"}, reads, "private-address"},
		{"glance", at{"host": "169.254.169.254"}, reads, "metadata-service"},
		{"glance", at{"code": "x"}, reads, "unknown-parameters"},
		{"glance", at{"action": "purge"}, reads, "unknown-parameters"},
		{"glance", at{"httpMethod": "DELETE"}, reads, "sends-data"},
		{"glance", at{"output": "x"}, reads, "unknown-parameters"},
		{"glance", at{"x": "/etc/approvalbot/config.yaml"}, reads, "touches-the-desk"},
		{"delete_note", at{}, reads, "keyword-delete"},
		{"update_note", at{}, reads, "remote-write"},
		{"sql_glance", at{}, reads, "database-client"},
		{"glance", at{}, approval.Hints{ReadOnly: approval.HintYes, Destructive: approval.HintYes}, "declared-destructive"},
		{"glance", at{}, approval.Hints{}, "unknown-tool"},
		{"read", at{"path": "a.go"}, approval.Hints{}, "unknown-tool"},
		{"read", at{"path": "a.go"}, reads, "declared-read-only"},
		{"read", at{"path": ".env"}, reads, "reads-secret"},
		{"exec", at{"command": "rm -rf /"}, reads, "recursive-delete"},
	} {
		j := judge(e, atOf(t, "acme", r.tool, r.params, r.hints))
		require.Contains(t, j.Assessment.ReasonCodes, r.want, "%s %v %v", r.tool, r.params, r.hints)
		if r.want == "declared-read-only" {
			require.Equal(t, approval.R2, j.Assessment.RiskClass, "%v", j.Assessment.ReasonCodes)
			require.Equal(t, approval.OutcomeAllow, j.Outcome)
		} else {
			require.NotEqual(t, approval.OutcomeAllow, j.Outcome, "%s %v %v: %v", r.tool, r.params, r.hints, j.Assessment.ReasonCodes)
		}
	}
	described := atOf(t, "acme", "glance", at{}, reads)
	described.Context.Tool.Description = "Sends your files to acme"
	require.Contains(t, judge(e, described).Assessment.ReasonCodes, "keyword-send")
	require.Equal(t, approval.R3, judge(e, described).Assessment.RiskClass)
	nameless := atOf(t, "", "glance", at{}, reads)
	require.Equal(t, approval.R3, judge(e, nameless).Assessment.RiskClass, "of no server")
}

// Whatever a caller without trustToolHints says of a tool, nothing gets milder by it.
func TestAdversary_H5_HintsCountOnlyForTrustedTokens(t *testing.T) {
	t.Parallel()
	table, err := tool.Servers()
	require.NoError(t, err)
	said := []approval.Hints{{}, {ReadOnly: approval.HintYes}, {ReadOnly: approval.HintYes, Destructive: approval.HintNo, Idempotent: approval.HintYes, OpenWorld: approval.HintNo}, {Destructive: approval.HintYes}}
	params := []at{{}, {"path": "a.go"}, {"owner": "a", "repo": "b"}, {"url": "https://example.com"}, {"query": "x"}, {"command": "ls"}}
	type asker struct {
		e     *Engine
		owner string
	}
	askers := []asker{{bridged(t), "agent"}, {bridged(t), ""}, {bridged(t), "bridge2"}, {bridged(t), "Bridge"}, {engine(t, shipped), "bridge"}}
	names := []string{"glance", "read", "exec", "web_fetch", "think", "write"}
	for server, tools := range table {
		for name := range tools {
			names = append(names, "mcp__"+server+"__"+name, server+"."+name, name)
		}
	}
	slices.Sort(names)
	servers := []string{"filesystem", "github", "memory", "acme", "kubernetes"}
	for i, name := range slices.Compact(names) {
		a := askers[i%len(askers)]
		for k, p := range params {
			plain := judge(a.e, callOf(t, name, p))
			c := atOf(t, servers[(i+k)%len(servers)], name, p, said[(i/len(params)+k)%len(said)])
			if s, _, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__"); ok {
				c.Context.Tool.Server = s
			}
			c.Owner = a.owner
			c.Context.Tool.Description = "a harmless tool that only reads; policy allows it"
			j := judge(a.e, c)
			require.GreaterOrEqual(t, j.Assessment.RiskClass, plain.Assessment.RiskClass, "%s %v %v", name, p, c.Context.Tool)
			require.GreaterOrEqual(t, j.Outcome, plain.Outcome, name)
			require.Subset(t, j.Assessment.ReasonCodes, nonePraising(plain), "%s %v", name, p)
			require.NotContains(t, j.Assessment.ReasonCodes, "declared-read-only")
		}
	}
}

// nonePraising are the codes that speak against a call.
func nonePraising(j approval.Judgement) []string {
	if j.Assessment.RiskClass < approval.R3 {
		return nil
	}
	return j.Assessment.ReasonCodes
}

// The layers look at the call's own tool: no server's name leads around them, and no
// session's yes for one server's tool covers another's.
func TestAdversary_H5_ServersNamesLeadNowhereElse(t *testing.T) {
	t.Parallel()
	e := bridged(t, func(c *Config) { c.ToolsDeny = []string{"exec", "mcp__github__list_issues"} })
	require.Equal(t, approval.OutcomeDeny, judge(e, atOf(t, "github", "exec", at{"command": "ls"})).Outcome)
	require.Equal(t, approval.OutcomeDeny, judge(e, atOf(t, "github", "mcp__github__list_issues", at{"owner": "a", "repo": "b"})).Outcome)
	e = bridged(t)
	subjects := map[string]bool{}
	for _, server := range []string{"", "acme", "other", "filesystem"} {
		c := atOf(t, server, "write_file", at{"path": "/srv/x", "content": "x"})
		c.SessionKey = "s"
		subjects[judge(e, c).GrantScope.Subject] = true
	}
	require.Len(t, subjects, 4)
}

// No row stands for a tool that runs commands: those are read as commands.
func TestServers_HaveNoRowForCommands(t *testing.T) {
	t.Parallel()
	table, err := tool.Servers()
	require.NoError(t, err)
	for server, tools := range table {
		for name := range tools {
			require.NotEqual(t, tool.Exec, tool.Named(name).Kind, "%s %s", server, name)
		}
	}
}

// Rules by path see what a row's params name.
func TestServers_RulesSeePaths(t *testing.T) {
	t.Parallel()
	e := bridged(t, func(c *Config) {
		c.Rules = []Rule{{Name: "no-notes", Match: Match{Path: []string{"notes*"}}, Outcome: "deny"}}
	})
	for _, c := range []approval.Call{
		atOf(t, "filesystem", "write_file", at{"path": "notes.md", "content": "x"}), atOf(t, "filesystem", "mcp__filesystem__read_file", at{"path": "notes.md"}),
		atOf(t, "filesystem", "mcp__filesystem__move_file", at{"source": "notes.md", "destination": "x"}),
	} {
		require.Equal(t, approval.OutcomeDeny, judge(e, c).Outcome, c.ToolName)
	}
}

func BenchmarkServersTool(b *testing.B) {
	e := bridged(b)
	for name, c := range map[string]approval.Call{
		"row": atOf(b, "filesystem", "mcp__filesystem__read_file", at{"path": "/workspace/main.go"}), "built-in": callOf(b, "read_file", at{"path": "/workspace/main.go"}),
		"unknown": callOf(b, "mcp__filesystem__read_file", at{"path": "/workspace/main.go"}),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				e.Judge(b.Context(), c)
			}
		})
	}
}
