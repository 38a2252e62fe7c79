package effective

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
)

// The mistakes that can be made, and the line that names each.
func TestLoadMistakes(t *testing.T) {
	t.Parallel()
	good := "token: 0123456789abcdef, scopes: [approvals.request]"
	cases := []struct {
		name, yaml string
		want       []string
	}{
		{"unknown key", "server:\n  lisen: 1\n", []string{"f.yaml:2: server.lisen: unknown key (did you mean listen?)"}},
		{"unknown key, nothing near", "sever: {}\nzzz: 1\n", []string{"f.yaml:1: sever: unknown key (did you mean server?)", "f.yaml:2: zzz: unknown key"}},
		{"key in another case", "server: {Listen: 127.0.0.1:1}", []string{"f.yaml:1: server.Listen: unknown key (did you mean listen?)"}},
		{"key twice", "server: {}\nstore: {}\nserver: {}\n", []string{"f.yaml:3: server: is given twice, first on line 1"}},
		{"merge key", "server:\n  <<: {listen: x}\n", []string{"f.yaml:2: server.<<: unknown key"}},
		{"odd key", "? [a]\n: 1\n", []string{"f.yaml:1: has a key that is not a plain word"}},
		{"no YAML", "server: {\n", []string{"f.yaml:1: is not YAML: did not find expected node content"}},
		{"a list", "- server\n", []string{"f.yaml:1: must be a mapping of keys"}},
		{"a word", "server\n", []string{"f.yaml:1: must be a mapping of keys"}},
		{"two documents", "server: {}\n---\nserver: {}\n", []string{"f.yaml: must be one YAML document"}},
		{"block for a list", "people: {name: alice}", []string{"f.yaml:1: people: must be a list"}},
		{"list for a block", "server: []", []string{"f.yaml:1: server: must be a mapping of keys"}},
		{"list for a value", "server: {listen: []}", []string{"f.yaml:1: server.listen: must be a single value"}},
		{"number for text", "server: {publicUrl: 5}", []string{"f.yaml:1: server.publicUrl: must be text; put it in quotes"}},
		{"text for a number", "server: {limits: {pending: many}}", []string{"f.yaml:1: server.limits.pending: must be a whole number"}},
		{"quoted number", `server: {limits: {pending: "5"}}`, []string{"f.yaml:1: server.limits.pending: must be a whole number"}},
		{"broken number", "server: {limits: {pending: 1.5}}", []string{"f.yaml:1: server.limits.pending: must be a whole number"}},
		{"yes for true", "server: {production: yes}", []string{"f.yaml:1: server.production: must be true or false"}},
		{"nothing", "server:\n  listen:\n", []string{"f.yaml:2: server.listen: has no value; write one or take the key out"}},
		{"nothing for a list", "people:\n", []string{"f.yaml:1: people: has no value; write one or take the key out"}},
		{"unknown word", "approvals: {tools: {mode: adaptiv}}", []string{"f.yaml:1: approvals.tools.mode: must be off, adaptive or always (did you mean adaptive?)"}},
		{"unknown word in a list", "approvals:\n  tools:\n    allowedApprovers:\n      - humans\n", []string{"f.yaml:4: approvals.tools.allowedApprovers[0]: must be user_request, rules_based or llm_evaluation"}},
		{"variable not set", "server: {publicUrl: \"${NOT_THERE}\"}", []string{"f.yaml:1: server.publicUrl: the environment variable NOT_THERE is not set"}},
		{"no variable's name", "server: {publicUrl: \"${a b}\"}", []string{"f.yaml:1: server.publicUrl: has a ${…} that names no environment variable; write $${ for the text ${"}},
		{"open brace", "server: {publicUrl: \"${A\"}", []string{"f.yaml:1: server.publicUrl: has a ${…} that names no environment variable; write $${ for the text ${"}},

		{"a freeze in no zone", "approvals: {tools: {rules: [{name: a, outcome: deny, match: {tool: read}, during: {weekly: \"Fri 16:00-Mon 08:00\"}}]}}", []string{
			"f.yaml:1: approvals.tools.rules[0].during.timezone: must be a timezone of the IANA database, such as Europe/Berlin"}},
		{"a freeze that never ends", "approvals: {tools: {rules: [{name: a, outcome: deny, match: {tool: read}, during: {from: \"2026-12-18T16:00:00Z\"}}]}}", []string{
			"f.yaml:1: approvals.tools.rules[0].during: has no end; for a rule that always applies, leave out during"}},
		{"a freeze that is empty", "approvals: {tools: {rules: [{name: a, outcome: deny, match: {tool: read}, during: {weekly: \"Mon 08:00-Mon 08:00\", timezone: UTC}}]}}", []string{
			"f.yaml:1: approvals.tools.rules[0].during.weekly: begins and ends at the same time: it would be empty, or never end"}},
		{"a freeze of no time", "approvals: {tools: {rules: [{name: a, outcome: deny, match: {tool: read}, during: {weekly: \"\"}}]}}", []string{
			"f.yaml:1: approvals.tools.rules[0].during: must say either weekly, or from and to"}},
		{"listen without port", "server: {listen: localhost}", []string{"f.yaml:1: server.listen: must be host:port, such as 127.0.0.1:8787"}},
		{"listen on no port", "server: {listen: \"127.0.0.1:99999\"}", []string{"f.yaml:1: server.listen: must have a port from 0 to 65535, such as 127.0.0.1:8787"}},
		{"a tab", "server:\n\tlisten: x", []string{"f.yaml:2: is not YAML: a tab, or a value that begins with @, ` or %; indent with blanks, and put such a value in quotes"}},
		{"a list of no tools", "approvals: {tools: {enabled: true}}\ntools: {allow: [raed]}", []string{"f.yaml:2: tools.allow: raed names no tool that the desk knows, no group and no pattern, so it would deny every tool; docs/policy.md has the names"}},
		{"token's file that is not there", "server: {tokens: [{name: a, tokenFile: /does/not/exist, scopes: [approvals.request]}]}", []string{"f.yaml:1: server.tokens[0].tokenFile: cannot be read: no such file or directory"}},
		{"a socket in the store's place", "server: {socket: approvalbot.db}", []string{"f.yaml:1: server.socket: is the path of another file of the desk; choose an unused path, such as approvalbot.sock"}},
		{"listen everywhere", `server: {listen: ":8787"}`, []string{"f.yaml:1: server.listen: is reachable from other machines, so tokens would travel in the clear: set server.tls, or server.behindProxy: true if a proxy in front speaks TLS"}},
		{"half of TLS", "server: {listen: 0.0.0.0:1, tls: {certFile: a}}", []string{"f.yaml:1: server.tls: needs both certFile and keyFile"}},
		{"relative URL", "server: {publicUrl: desk.example.org}", []string{"f.yaml:1: server.publicUrl: must be an absolute http or https URL without a query"}},
		{"pages for all to read", "server: {listen: 127.0.0.1:1, behindProxy: true, publicUrl: \"http://desk.example.org\", web: {enabled: true}}", []string{
			"f.yaml:1: server.web.enabled: needs server.publicUrl with https, because other machines can reach " +
				"these pages, and people decide there"}},
		{"pages under a path", "server: {publicUrl: \"https://example.org/desk\", web: {enabled: true}}", []string{
			"f.yaml:1: server.publicUrl: must have no path if server.web.enabled is true: the pages are at the root of their host"}},
		{"pages perhaps", "server: {web: {enabled: maybe}}", []string{"f.yaml:1: server.web.enabled: must be auto, true or false"}},
		{"embedded anywhere", "server: {web: {embedOrigins: [\"https://chat.example.org\", \"http://localhost:3000\", \"https://chat.example.org/\", \"http://chat.example.org\", \"*\"]}}", []string{
			"f.yaml:1: server.web.embedOrigins[2]: must be an origin such as https://chat.example.org, with https unless it is on localhost, and no path",
			"f.yaml:1: server.web.embedOrigins[3]: must be an origin such as https://chat.example.org, with https unless it is on localhost, and no path",
			"f.yaml:1: server.web.embedOrigins[4]: must be an origin such as https://chat.example.org, with https unless it is on localhost, and no path"}},
		{"a provider without its name", "server: {web: {oidc: {clientId: desk}}}", []string{"f.yaml:1: server.web.oidc.issuer: must name the provider, such as https://login.example.org"}},
		{"a provider for all to read", "server: {web: {oidc: {issuer: \"http://login.example.org\"}}}", []string{
			"f.yaml:1: server.web.oidc.issuer: must be the provider's https address, such as https://login.example.org",
			"f.yaml:1: server.web.oidc.clientId: must be the client id that the provider gave this desk"}},
		{"no limit", "server: {limits: {pending: 0, requestsPerSecond: -1}}", []string{"f.yaml:1: server.limits.pending: must be 1 or more", "f.yaml:1: server.limits.requestsPerSecond: must be 1 or more"}},
		{"empty token", "server: {tokens: [{}]}", []string{
			"f.yaml:1: server.tokens[0].token: is empty; openssl rand -hex 32 makes a good one",
			"f.yaml:1: server.tokens[0].scopes: must name what the token may do",
			"f.yaml:1: server.tokens[0].name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first"}},
		{"long name", "people: [{name: " + strings.Repeat("ä", 64) + ", telegram: 111}, {name: " + strings.Repeat("ä", 65) + ", telegram: 222}]", []string{
			"f.yaml:1: people[1].name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first"}},
		{"token with a blank", "server: {tokens: [{name: a, token: 0123456789 abcdef, scopes: [approvals.request]}]}", []string{"f.yaml:1: server.tokens[0].token: must be at most 512 visible ASCII characters without blanks"}},
		{"same secret", "server:\n  tokens:\n    - {name: a, " + good + "}\n    - {name: b, " + good + "}", []string{"f.yaml:4: server.tokens[1].token: is the same as that of server.tokens[0]"}},
		{"same name", "server:\n  tokens:\n    - {name: a, " + good + "}\n    - {name: A, token: abcdef0123456789, scopes: [operator.audit]}", []string{"f.yaml:4: server.tokens[1].name: is the same name as server.tokens[0].name"}},
		{"unknown scope", "server: {tokens: [{name: a, token: 0123456789abcdef, scopes: [operator.approval]}]}", []string{"f.yaml:1: server.tokens[0].scopes[0]: must be approvals.request, operator.approvals, operator.audit or operator.admin (did you mean operator.approvals?)"}},
		{"token and its file", "server: {tokens: [{name: a, tokenFile: /x, " + good + "}]}", []string{"f.yaml:1: server.tokens[0].tokenFile: contradicts token; use one of them"}},
		{"file that is not there", "channels: {telegram: {botTokenFile: /does/not/exist}}", []string{"f.yaml:1: channels.telegram.botTokenFile: cannot be read: no such file or directory"}},
		{"no network", "server: {tokens: [{name: a, callbackAllow: [10.0.0.1], " + good + "}]}", []string{"f.yaml:1: server.tokens[0].callbackAllow[0]: must be a network such as 10.0.0.0/8"}},
		{"session chat by name", "server: {tokens: [{name: a, sessionChats: [\"telegram:@ops\"], " + good + "}]}", []string{"f.yaml:1: server.tokens[0].sessionChats[0]: must be a chat with numeric ids, such as telegram:-1001234567890 or discord:123456789012345678"}},

		{"no store", "store: {url: mysql://x}", []string{"f.yaml:1: store.url: must be sqlite: and a file's path, such as sqlite:approvalbot.db, or postgres://user:password@host:port/database"}},
		{"postgres without a host", "store: {url: \"postgres://\"}", []string{"f.yaml:1: store.url: must be postgres://user:password@host:port/database"}},
		{"no key", `store: {keyFile: ""}`, []string{"f.yaml:1: store.keyFile: must name the file of the key that seals calls"}},
		{"no time span", "store: {retention: {approvals: 90, audit: 3 days}}", []string{"f.yaml:1: store.retention.approvals: must be a time span such as 20s, 15m or 90d", "f.yaml:1: store.retention.audit: must be a time span such as 20s, 15m or 90d"}},
		{"negative time span", "store: {retention: {approvals: -5h}}", []string{"f.yaml:1: store.retention.approvals: must be a time span such as 20s, 15m or 90d"}},

		{"two of one name", "people:\n  - {name: alice}\n  - {name: Alice}\n", []string{"f.yaml:3: people[1].name: is the same name as people[0].name"}},
		{"one id, two people", "people:\n  - {name: alice, telegram: 111}\n  - {name: bob, telegram: \"111\"}\n", []string{"f.yaml:3: people[1].telegram: belongs to alice already; one account is one person"}},
		{"person without a name", "people: [{telegram: 111}]", []string{"f.yaml:1: people[0].name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first"}},

		{"routing to a name", "approvals: {tools: {routing: {targets: [{channel: telegram, to: \"@ops\"}]}}}", []string{"f.yaml:1: approvals.tools.routing.targets[0].to: must be a chat's numeric id (a @name can change hands)"}},
		{"routing to nowhere", "approvals: {tools: {routing: {targets: [{to: 5}]}}}", []string{"f.yaml:1: approvals.tools.routing.targets[0]: needs a channel: telegram or discord"}},
		{"routing elsewhere", "approvals: {tools: {routing: {targets: [{channel: slack, to: \"5\"}]}}}", []string{"f.yaml:1: approvals.tools.routing.targets[0].channel: must be telegram or discord"}},
		{"no zone of a chat", "approvals: {tools: {routing: {targets: [{channel: telegram, to: -5, timezone: Berlin}]}}}", []string{
			"f.yaml:1: approvals.tools.routing.targets[0].timezone: must be a timezone of the IANA database, such as Europe/Berlin"}},
		{"the machine's zone", "approvals: {tools: {routing: {fallback: [{channel: telegram, to: -5, timezone: Local}]}}}", []string{
			"f.yaml:1: approvals.tools.routing.fallback[0].timezone: must be a timezone of the IANA database, such as Europe/Berlin"}},
		{"thread by name", "approvals: {tools: {routing: {targets: [{channel: telegram, to: -5, threadId: general}]}}}", []string{"f.yaml:1: approvals.tools.routing.targets[0].threadId: must be a thread's numeric id"}},
		{"a telegram dm", "approvals: {tools: {routing: {targets: [\"telegram:dm:5\"]}}}", []string{"f.yaml:1: approvals.tools.routing.targets[0]: must be a chat with numeric ids, such as telegram:-1001234567890 or discord:123456789012345678"}},
		{"fallback at once", "approvals: {tools: {routing: {fallback: [\"telegram:-5\"], fallbackAfter: 0}}}", []string{"f.yaml:1: approvals.tools.routing.fallbackAfter: must be longer than 0s"}},
		{"risk class", "approvals: {tools: {policy: {denyAtOrAbove: R5, minApprovalsByRisk: {R3: 0, R9: 1}}}}", []string{
			"f.yaml:1: approvals.tools.policy.denyAtOrAbove: must be R0, R1, R2, R3 or R4",
			"f.yaml:1: approvals.tools.policy.minApprovalsByRisk.R3: must be 1 or more",
			"f.yaml:1: approvals.tools.policy.minApprovalsByRisk.R9: unknown key; the classes are R0, R1, R2, R3 and R4"}},
		{"timeouts", "approvals: {tools: {timeoutMs: 5000, maxTimeoutMs: 4000}}", []string{"f.yaml:1: approvals.tools.timeoutMs: must be from 1000 to maxTimeoutMs, which is 4000"}},
		{"both timeouts", "approvals: {tools: {timeoutMs: 0, maxTimeoutMs: 99999999999}}", []string{
			"f.yaml:1: approvals.tools.maxTimeoutMs: must be from 1000 to 2592000000 (30 days)", "f.yaml:1: approvals.tools.timeoutMs: must be from 1000 to maxTimeoutMs"}},
		{"maxTimeoutMs", "approvals: {tools: {maxTimeoutMs: 99999999999}}", []string{"f.yaml:1: approvals.tools.maxTimeoutMs: must be from 1000 to 2592000000 (30 days)"}},
		{"retry window", "approvals: {tools: {retryWindow: 1m}}", []string{"f.yaml:1: approvals.tools.retryWindow: must be 5m or more, the time in which an approved call may be claimed"}},
		{"no quorum", "approvals: {tools: {minApprovals: 0}}", []string{"f.yaml:1: approvals.tools.minApprovals: must be 1 or more"}},
		{"tool pattern", "tools: {deny: [\"web_?\", exec, exec]}", []string{"f.yaml:1: tools.deny[0]: " + notATool, "f.yaml:1: tools.deny[2]: is the same as tools.deny[1]"}},
		{"workspace", "agents: {list: [{id: main, workspace: work}, {id: main, workspace: /}]}", []string{
			"f.yaml:1: agents.list[0].workspace: must be an absolute path below /",
			"f.yaml:1: agents.list[1].id: is listed twice",
			"f.yaml:1: agents.list[1].workspace: must be an absolute path below /"}},
		{"workspaces", "agents:\n  list:\n    - id: main\n      workspace: [/a, b, /a]\n    - {id: x, workspace: \"\"}\n    - {id: y, workspace: {a: b}, sandboxed: maybe}", []string{
			"f.yaml:4: agents.list[0].workspace[1]: must be an absolute path below /",
			"f.yaml:4: agents.list[0].workspace[2]: is the same as agents.list[0].workspace[0]",
			"f.yaml:5: agents.list[1].workspace: must be an absolute path below /",
			"f.yaml:6: agents.list[2].workspace: must be a single value",
			"f.yaml:6: agents.list[2].sandboxed: must be true or false"}},
		{"project code", "approvals: {tools: {policy: {projectCode: deny}}}", []string{"f.yaml:1: approvals.tools.policy.projectCode: must be allow, ask or confined"}},
		{"webhook", "channels: {telegram: {updates: {webhook: {url: x, secret: \"a b\"}}}}", []string{
			"f.yaml:1: channels.telegram.updates.webhook.url: must be an absolute http or https URL without a query",
			"f.yaml:1: channels.telegram.updates.webhook.secret: must be 1 to 256 letters, digits, _ or -"}},
		{"updates", "channels: {telegram: {updates: gateway}}", []string{"f.yaml:1: channels.telegram.updates: must be polling"}},
		{"bot token", "channels: {telegram: {botToken: \"1 2\"}}", []string{"f.yaml:1: channels.telegram.botToken: is not a bot token: it has blanks or characters that no token has"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := Parse("f.yaml", []byte(c.yaml), config.Environ{}, nil)
			var got config.Mistakes
			require.ErrorAs(t, err, &got)
			require.Equal(t, strings.Join(c.want, "\n"), got.Error())
		})
	}
}

// All mistakes are told at once, in the order of the file.
func TestLoadCollectsEveryMistake(t *testing.T) {
	t.Parallel()
	_, _, err := Parse("f.yaml", []byte("tools:\n  prefile: full\nserver:\n  listen: 5\n  limits: [1]\npeople:\n  - {nam: x}\n"), config.Environ{}, nil)
	require.EqualError(t, err, strings.Join([]string{
		"f.yaml:2: tools.prefile: unknown key (did you mean profile?)",
		"f.yaml:4: server.listen: must be text; put it in quotes",
		"f.yaml:5: server.limits: must be a mapping of keys",
		"f.yaml:7: people[0].nam: unknown key (did you mean name?)",
		"f.yaml:7: people[0].name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first",
	}, "\n"))
}

// What a later release brings is refused by name, its off state accepted.
func TestAgentShieldIsOnByFileOrEnvironment(t *testing.T) {
	t.Parallel()
	on := func(text string, env config.Environ) bool {
		cfg, _, err := Parse("f.yaml", []byte(text), env, nil)
		require.NoError(t, err)
		return cfg.Approvals.AgentShield.Enabled
	}
	require.False(t, on("approvals: {agentshield: {enabled: false}}", config.Environ{}))
	require.True(t, on("approvals: {agentshield: {enabled: true}}", config.Environ{}))
	require.True(t, on("{}", config.Environ{"AGENTSHIELD_APPROVALS_ENABLED": "1"}))
}
