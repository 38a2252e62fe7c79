package effective

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/policy"
	"approvalbot/internal/verifier"
)

const (
	notATool = "must be a tool's name (read), a pattern (jira__*) or a group (group:fs)"
	oneWord  = "must be minimal, coding, messaging or full"
)

// mistakesOf loads what must be wrong, and gives the lines.
func mistakesOf(t *testing.T, text string, env ...string) []string {
	t.Helper()
	_, _, err := Parse("f.yaml", []byte(text), config.NewEnviron(env), nil)
	var got config.Mistakes
	require.ErrorAs(t, err, &got, text)
	return strings.Split(got.Error(), "\n")
}

// The mistakes that can be made in what decides, and the line that names each.
func TestPolicyMistakes(t *testing.T) {
	t.Parallel()
	const telegram = "channels: {telegram: {botToken: \"1:a\", allowedUserIds: [5]}}\n"
	rule := func(keys string) string { return "approvals:\n  tools:\n    rules:\n      - {" + keys + "}\n" }
	for _, c := range []struct {
		name, yaml string
		want       []string
	}{
		{"profile", "tools: {profile: codin}", []string{"f.yaml:1: tools.profile: " + oneWord + " (did you mean coding?)"}},
		{"provider's profile", "tools:\n  providerProfiles:\n    openai: all", []string{"f.yaml:3: tools.providerProfiles.openai: " + oneWord}},
		{"nameless provider", "tools: {providerProfiles: {\"\": full}}", []string{"f.yaml:1: tools.providerProfiles: has a key that is empty or begins or ends with a blank"}},
		{"layer's key", "tools:\n  providers:\n    openai:\n      alow: []", []string{"f.yaml:4: tools.providers.openai.alow: unknown key (did you mean allow?)"}},
		{"layer's tools", "tools:\n  groups:\n    g:\n      deny: [\"\", \"a b\", x, x]", []string{
			"f.yaml:4: tools.groups.g.deny[0]: " + notATool, "f.yaml:4: tools.groups.g.deny[1]: " + notATool,
			"f.yaml:4: tools.groups.g.deny[3]: is the same as tools.groups.g.deny[2]"}},
		{"both forms of a layer", "tools: {sandbox: {tools: {deny: [exec]}, allow: [read]}}", []string{"f.yaml:1: tools.sandbox.allow: unknown key"}},
		{"tools in tools", "tools: {subagent: {tools: {tools: {deny: [exec]}}}}", []string{"f.yaml:1: tools.subagent.tools.tools: unknown key"}},
		{"long form", "tools:\n  sandbox:\n    tools:\n      deny: [\"?\"]", []string{"f.yaml:4: tools.sandbox.tools.deny[0]: " + notATool}},
		{"layer is a list", "tools: {sandbox: [exec]}", []string{"f.yaml:1: tools.sandbox: must be a mapping of keys"}},

		{"agent's layer", "agents:\n  list:\n    - id: a\n      tools: {profile: x, deny: [\"[\"], providers: {p: {allow: [\"{\"]}}}", []string{
			"f.yaml:4: agents.list[0].tools.profile: " + oneWord,
			"f.yaml:4: agents.list[0].tools.deny[0]: " + notATool,
			"f.yaml:4: agents.list[0].tools.providers.p.allow[0]: " + notATool}},
		{"agent's approvals", "agents:\n  list:\n    - id: a\n      approvals: {mode: never, minApprovals: 0, timeoutMs: 5, policy: {denyAtOrAbove: R7, minApprovalsByRisk: {R3: 0, high: 2}}}", []string{
			"f.yaml:4: agents.list[0].approvals.mode: must be off, adaptive or always",
			"f.yaml:4: agents.list[0].approvals.timeoutMs: unknown key",
			"f.yaml:4: agents.list[0].approvals.policy.denyAtOrAbove: must be R0, R1, R2, R3 or R4",
			"f.yaml:4: agents.list[0].approvals.minApprovals: must be 1 or more",
			"f.yaml:4: agents.list[0].approvals.policy.minApprovalsByRisk.R3: must be 1 or more",
			"f.yaml:4: agents.list[0].approvals.policy.minApprovalsByRisk.high: unknown key; the classes are R0, R1, R2, R3 and R4"}},

		{"rule without a name", rule("match: {tool: x}, outcome: ask"), []string{"f.yaml:4: approvals.tools.rules[0].name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first"}},
		{"rule with an unseen name", rule("name: \"a\\u202eb\", match: {tool: x}, outcome: ask"), []string{"f.yaml:4: approvals.tools.rules[0].name: must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first"}},
		{"one name and more", rule("name: a, match: {tool: x}, outcome: ask") + "      - {name: a, match: {tool: \"*\"}, outcome: allow}", []string{
			"f.yaml:5: approvals.tools.rules[1].name: is the same name as approvals.tools.rules[0].name",
			"f.yaml:5: approvals.tools.rules[1]: a rule that may loosen must name its tools or commands exactly; to tighten, write risk R3 or R4, or outcome ask or deny"}},
		{"two of one name", rule("name: a, match: {tool: x}, outcome: ask") + "      - {name: A, match: {tool: y}, risk: R3}", []string{"f.yaml:5: approvals.tools.rules[1].name: is the same name as approvals.tools.rules[0].name"}},
		{"two effects", rule("name: a, match: {tool: x}, outcome: ask, risk: R3"), []string{"f.yaml:4: approvals.tools.rules[0]: say exactly one of risk, outcome and approve"}},
		{"three effects", rule("name: a, match: {tool: x}, outcome: allow, risk: R3, approve: true"), []string{"f.yaml:4: approvals.tools.rules[0]: say exactly one of risk, outcome and approve"}},
		{"no effect", rule("name: a, match: {tool: x}, approve: false"), []string{"f.yaml:4: approvals.tools.rules[0]: say exactly one of risk, outcome and approve"}},
		{"allowed by two", rule("name: a, match: {tool: x}, outcome: allow, minApprovals: 2"), []string{"f.yaml:4: approvals.tools.rules[0]: with outcome allow no approver is asked, so role, minApprovals and stepUp have no effect; take them out, or write outcome: ask"}},
		{"rule's words", rule("name: a, match: {tool: x}, outcome: maybe, sideEffects: [spam], minApprovals: 0"), []string{
			"f.yaml:4: approvals.tools.rules[0].outcome: must be allow, ask or deny",
			"f.yaml:4: approvals.tools.rules[0].sideEffects[0]: must be filesystem_read, filesystem_write, process_exec, network_read, external_write, message_send, payment, credential_access, security_change, data_loss or none",
			"f.yaml:4: approvals.tools.rules[0].minApprovals: must be 1 or more"}},
		{"rule's risk", rule("name: a, match: {tool: x}, risk: high"), []string{
			"f.yaml:4: approvals.tools.rules[0].risk: must be R0, R1, R2, R3 or R4"}},
		{"rule's patterns", rule("name: a, match: {tool: \"\", command: [a, a], session: 5, toool: x}, outcome: ask"), []string{
			"f.yaml:4: approvals.tools.rules[0].match.session: must be text; put it in quotes",
			"f.yaml:4: approvals.tools.rules[0].match.toool: unknown key (did you mean tool?)",
			"f.yaml:4: approvals.tools.rules[0].match.tool[0]: must be a pattern in one line",
			"f.yaml:4: approvals.tools.rules[0].match.command[1]: is the same as approvals.tools.rules[0].match.command[0]",
			"f.yaml:4: approvals.tools.rules[0].match.session[0]: must be a pattern in one line"}},
		{"rules of two minds", rule("name: a, match: {tool: \"group:fs\", path: [ok, \"../x\"], host: \"a/b\", session: \"*x\"}, risk: R1"), []string{
			"f.yaml:4: approvals.tools.rules[0].match.path[1]: \"../x\" must be a plain path (without ~, ., .. and double or final slashes), absolute or below the workspace; * matches within a name, ** across folders",
			"f.yaml:4: approvals.tools.rules[0].match.host[0]: \"a/b\" must be a host's name such as api.example.com or *.example.com",
			"f.yaml:4: approvals.tools.rules[0].match.session[0]: \"*x\" must be an agent's exact id, a session's exact key, or the beginning of a session's key followed by *"}},
		{"loosens whatever", rule("name: a, match: {tool: \"group:fs\"}, outcome: allow"), []string{
			"f.yaml:4: approvals.tools.rules[0]: a rule that may loosen must name its tools or commands exactly; to tighten, write risk R3 or R4, or outcome ask or deny"}},
		{"groups and patterns", "tools:\n  allow:\n    - my-own\n    - group:filesystem\n  deny: [\"web_*\", \"group:web\"]\n  sandbox:\n    tools:\n      allow: [raed]", []string{
			"f.yaml:4: tools.allow[1]: there is no group \"group:filesystem\"; the groups are group:agents, group:all, group:automation, group:fs, group:media, group:memory, group:messaging, group:nodes, group:openclaw, group:runtime, group:sessions, group:ui, group:web",
			"f.yaml:7: tools.sandbox.tools: raed names no tool that the desk knows, no group and no pattern, so it would deny every tool; docs/policy.md has the names"}},
		{"a wrapper is never what is trusted", "approvals: {exec: {allowlist: [\"sudo *\"], safeBins: [xargs]}}", []string{
			"f.yaml:1: approvals.exec.allowlist[0]: \"sudo *\" cannot be permitted: sudo runs other programs or code, so the pattern does not say what would run; name the program that it runs",
			"f.yaml:1: approvals.exec.safeBins[0]: xargs runs other programs or code and is never safe; take it out of the list"}},
		{"role of nobody", rule("name: a, match: {tool: x}, outcome: ask, role: ops"), []string{"f.yaml:4: approvals.tools.rules[0].role: is a role that no person under people has"}},

		{"askFallback", "approvals: {exec: {askFallback: allow}}", []string{"f.yaml:1: approvals.exec.askFallback: must be deny, allowlist or full"}},
		{"allowlist", "approvals:\n  exec:\n    allowlist:\n      - \" \"\n      - {pattern: ls, argPattern: ^a$, lastUsedAt: 5}\n      - {patern: ls}\n      - [ls]\n      - {id: x}", []string{
			"f.yaml:4: approvals.exec.allowlist[0]: must be a pattern in one line",
			"f.yaml:5: approvals.exec.allowlist[1].argPattern: is not supported, and without it the pattern would allow more; write a rule with match: {command: …} instead",
			"f.yaml:6: approvals.exec.allowlist[2].patern: unknown key (did you mean pattern?)",
			"f.yaml:6: approvals.exec.allowlist[2]: must be a pattern in one line",
			"f.yaml:7: approvals.exec.allowlist[3]: must be a single value",
			"f.yaml:8: approvals.exec.allowlist[4]: must be a pattern in one line"}},
		{"safeBins", "approvals: {exec: {safeBins: [wc, wc, \"\"]}}", []string{
			"f.yaml:1: approvals.exec.safeBins[2]: must be a pattern in one line", "f.yaml:1: approvals.exec.safeBins[1]: is the same as approvals.exec.safeBins[0]"}},

		{"classifier", "approvals:\n  tools:\n    classifier:\n      enabled: true\n      provider: other\n      apiKey: a b\n      timeoutMs: 99999999\n      maxInputChars: 5\n      minConfidence: 1.5", []string{
			"f.yaml:3: approvals.tools.classifier.apiUrl: is required for provider \"other\": the base address of its OpenAI-compatible API",
			"f.yaml:3: approvals.tools.classifier.model: is required",
			"f.yaml:6: approvals.tools.classifier.apiKey: must be printable ASCII without blanks",
			"f.yaml:7: approvals.tools.classifier.timeoutMs: must be 1 to 60000 milliseconds",
			"f.yaml:8: approvals.tools.classifier.maxInputChars: must be 1000 to 1000000 characters",
			"f.yaml:9: approvals.tools.classifier.minConfidence: must be above 0 and at most 1"}},
		{"classifier in the clear", "server: {production: true}\napprovals: {tools: {classifier: {enabled: true, model: m, apiUrl: \"http://x.example.org\"}}}", []string{
			"f.yaml:2: approvals.tools.classifier.apiUrl: must be https in production: over http any machine on the way could answer"}},

		{"verifier asks nobody", "tools:\n  verifier:\n    enabled: true", []string{"f.yaml:2: tools.verifier: is enabled, but has no service or person to ask: set webhook.url or telegram.enabled"}},
		{"verifier's scope", "tools: {verifier: {scope: {include: [a], exclude: [b]}}}", []string{"f.yaml:1: tools.verifier.scope: include and exclude contradict each other; use one of them"}},
		{"verifier in the clear", "server: {production: true}\ntools:\n  verifier:\n    webhook:\n      url: http://x.example.org", []string{"f.yaml:5: tools.verifier.webhook.url: must be https in production: over http any machine on the way could answer"}},
		{"verifier's words", "tools:\n  verifier:\n    failMode: ask\n    webhook:\n      url: x\n      timeout: 5s", []string{
			"f.yaml:3: tools.verifier.failMode: must be deny or allow", "f.yaml:5: tools.verifier.webhook.url: must be an https address",
			"f.yaml:6: tools.verifier.webhook.timeout: must be a whole number"}},
		{"verifier's header", "tools: {verifier: {webhook: {url: \"https://x.example.org\", headers: {Authorization: \"Bearer ${NOT_SET}\"}}}}", []string{
			"f.yaml:1: tools.verifier.webhook.headers.Authorization: the environment variable NOT_SET is not set"}},
		{"verifier's secret twice", "tools: {verifier: {webhook: {url: \"https://x.example.org\", secret: a, secretFile: /x}}}", []string{"f.yaml:1: tools.verifier.webhook.secretFile: contradicts secret; use one of them"}},
		{"verifier's chat", telegram + "tools:\n  verifier:\n    telegram:\n      enabled: true\n      botToken: 1:b\n      chatId: 7\n      allowedUserIds: [-5]", []string{
			"f.yaml:6: tools.verifier.telegram.botToken: is a different token of the bot of channels.telegram; use the same token, or another bot",
			"f.yaml:8: tools.verifier.telegram.allowedUserIds[0]: is the id of a group or channel; only people may be listed here",
			"f.yaml:8: tools.verifier.telegram.allowedUserIds: takes numeric Telegram user ids, not \"-5\""}},
		{"verifier's chat without people", telegram + "tools:\n  verifier:\n    telegram:\n      enabled: true\n      chatId: 7", []string{
			"f.yaml:4: tools.verifier.telegram.allowedUserIds: must name the people who may tap: with an empty list no person can answer"}},
		{"verifier's chat without a bot", "tools: {verifier: {telegram: {enabled: true, chatId: 7, allowedUserIds: [5]}}}", []string{
			"f.yaml:1: tools.verifier.telegram.botToken: is empty, and so is channels.telegram.botToken; set one of them, because a bot must ask"}},
		{"verifiers with several bots", "agents:\n  list:\n    - {id: a, tools: {verifier: {telegram: {enabled: true, botToken: 2:b, chatId: 7, allowedUserIds: [5]}}}}\n    - id: b\n      tools: {verifier: {telegram: {enabled: true, botToken: 3:c, chatId: 7, allowedUserIds: [5]}}}", []string{
			"f.yaml:5: agents.list[1].tools.verifier.telegram.botToken: is not the bot that asks in the verifier's other chats; use one bot for them all"}},
		{"an agent's bot beside the common one", telegram + "agents: {list: [{id: a, tools: {verifier: {telegram: {enabled: true, botToken: 1:a}}}}]}\ntools:\n  verifier:\n    telegram: {enabled: true, botToken: 2:b, chatId: 7, allowedUserIds: [5]}", []string{
			"f.yaml:2: agents.list[0].tools.verifier.telegram.botToken: is not the bot of tools.verifier.telegram, which asks in this chat; leave this key out"}},
		{"agent's verifier", "agents:\n  list:\n    - {id: a}\n    - id: b\n      tools:\n        verifier:\n          enabled: true\n          scope: {include: [x], exclude: [y]}", []string{
			"f.yaml:6: agents.list[1].tools.verifier: is enabled, but has no service or person to ask: set webhook.url or telegram.enabled",
			"f.yaml:8: agents.list[1].tools.verifier.scope: include and exclude contradict each other; use one of them"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, mistakesOf(t, c.yaml))
		})
	}
	condition := mistakesOf(t, rule("name: a, match: {tool: x}, when: \"1 +\", outcome: ask"))
	require.Len(t, condition, 1)
	require.Contains(t, condition[0], "f.yaml:4: approvals.tools.rules[0].when: ")
	require.Contains(t, mistakesOf(t, "tools: {verifier: {webhook: {url: \"http://x.example.org\"}}}", "NODE_ENV=production")[0], "https in production")
}

// The bot's own token may be written at the verifier, too.
func TestVerifierUsesTheChannelsBot(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", `, botToken: "${TOKEN}"`} {
		cfg, _ := load(t, `
channels: {telegram: {botToken: "${TOKEN}", allowedUserIds: [5]}}
tools: {verifier: {enabled: true, telegram: {enabled: true, chatId: "-1009", allowedUserIds: [7], timeout: 60`+token+`}}}`, "TOKEN=1:a")
		require.Equal(t, []string{"5"}, Rights(cfg).AllowedUsers["telegram"], "the verifier's people decide only where the verifier asks them")
		require.Equal(t, verifier.Chat{Enabled: true, Channel: "telegram", ChatID: "-1009", Timeout: 60, AllowedUserIDs: []string{"7"}}, Verifier(cfg).Chat)
	}
}

// Or another bot's: then that one asks, on its own channel.
func TestVerifierHasABotOfItsOwn(t *testing.T) {
	t.Parallel()
	cfg, warnings := load(t, `
channels: {telegram: {botToken: "1:a", allowedUserIds: [5]}}
agents: {list: [{id: a, tools: {verifier: {telegram: {enabled: true, allowedUserIds: [8]}}}}]}
tools: {verifier: {enabled: true, telegram: {enabled: true, botToken: "2:b", chatId: "-1009", allowedUserIds: [7, 8]}}}`)
	for _, w := range warnings {
		require.NotContains(t, w, "verifier")
	}
	require.Equal(t, "verifier", Verifier(cfg).Chat.Channel)
	require.Equal(t, config.Channel{BotToken: "2:b", APIURL: "https://api.telegram.org", Updates: config.Updates{Mode: "polling"}}, VerifierBot(cfg))
	require.Equal(t, map[string][]string{"": {"telegram:7", "telegram:8"}, "a": {"telegram:8"}}, Rights(cfg).Verifiers)
	require.Equal(t, []approval.Target{{Channel: "verifier", To: "-1009"}}, VerifierChats(cfg))
}

// What fails open works only as written, and is said at the start.
func TestWarningsOfWhatFailsOpen(t *testing.T) {
	t.Parallel()
	_, got := load(t, `
people: [{name: alice, telegram: 5, roles: [ops]}]
agents:
  list:
    - id: a
      approvals: {mode: off, minApprovals: 1, policy: {denyAtOrAbove: R4, requireApprovalAtOrAbove: R4}}
approvals:
  exec: {askFallback: full}
  tools:
    minApprovals: 2
    disabledApprovers: [rules_based]
    policy: {denyAtOrAbove: R3}
    rules:
      - {name: any, outcome: ask}
      - {name: ops, match: {tool: x}, outcome: ask, role: ops}
      - {name: yes, match: {tool: y}, approve: true}
    routing: {mode: session}
server: {tokens: [{name: agent, token: 0123456789abcdef, scopes: [approvals.request]}]}
`)
	require.Equal(t, []string{
		"f.yaml:6: agents.list[0].approvals.mode: is looser than approvals.tools.mode, so it has no effect: the stricter value counts",
		"f.yaml:6: agents.list[0].approvals.minApprovals: is looser than approvals.tools.minApprovals, so it has no effect: the stricter value counts",
		"f.yaml:6: agents.list[0].approvals.policy.requireApprovalAtOrAbove: is looser than approvals.tools.policy.requireApprovalAtOrAbove, so it has no effect: the stricter value counts",
		"f.yaml:6: agents.list[0].approvals.policy.denyAtOrAbove: is looser than approvals.tools.policy.denyAtOrAbove, so it has no effect: the stricter value counts",
		"f.yaml:8: approvals.exec.askFallback: full fails open: if no approver can be reached, a command that " +
			"asks runs without a decision",
		"f.yaml:9: approvals.tools: no person can approve now, so every call that asks is denied until a person " +
			"may decide in a chat (allowedUserIds) or with a token (operator.approvals and a person)",
		"f.yaml:14: approvals.tools.rules[0]: has neither match nor when: it applies to every call",
		"f.yaml:15: approvals.tools.rules[1]: needs 1 with role ops, but too few people with that role may approve now: every call that this rule makes ask is denied",
		"f.yaml:15: approvals.tools.rules[1]: never counts: the rule any comes before it, and applies to all of its calls",
		"f.yaml:16: approvals.tools.rules[2].approve: never counts: rules_based is not among the approvers",
	}, got)
}

// A rule that no call reaches is named; one that some call may reach is not.
func TestARuleThatNeverCountsIsNamed(t *testing.T) {
	t.Parallel()
	const yes = "{name: yes, match: {command: [git push *]}, outcome: allow}"
	for rules, want := range map[string]string{
		yes: "",
		"{name: no, match: {command: [git push *]}, outcome: deny}, " + yes:                                                "the rule no comes before it, and applies to all of its calls",
		"{name: no, match: {command: [git push *]}, risk: R4}, " + yes:                                                     "the rule no comes before it, and applies to all of its calls",
		"{name: no, match: {command: [git push *]}, risk: R3}, " + yes + ", {name: x, match: {tool: exec}, outcome: deny}": "",
		"{name: no, outcome: ask, when: 'call.class > 3'}, " + yes:                                                         "",
		"{name: no, outcome: deny, match: {tool: exec}, during: {weekly: Fri 16:00-Mon 08:00, timezone: UTC}}, " + yes:     "",
		"{name: no, outcome: deny, match: {command: [git push *], agent: [main]}}, " + yes:                                 "",
	} {
		_, warnings := load(t, "approvals: {tools: {enabled: true, rules: ["+rules+"]}}")
		got := ""
		for _, w := range warnings {
			if _, why, is := strings.Cut(w, "never counts: "); is {
				got += why
			}
		}
		require.Equal(t, want, got, rules)
	}
	for text, want := range map[string]string{
		"tools: {deny: [exec]}\napprovals: {tools: {enabled: true, rules: [{name: yes, match: {tool: exec}, outcome: ask}]}}": "tools.deny takes its tools away",
		"approvals: {exec: {security: deny}, tools: {enabled: true, rules: [" + yes + "]}}":                                   "approvals.exec.security denies all commands",
		"approvals: {tools: {enabled: true, mode: off, rules: [" + yes + "]}}":                                                "approvals.tools.mode is off",
	} {
		_, warnings := load(t, text)
		require.Contains(t, strings.Join(warnings, "\n"), "rules[0]: never counts: "+want, text)
	}
}

// An agent's block cannot open what is closed for all.
func TestAdversary_W9_AgentCannotWeakenFailMode(t *testing.T) {
	t.Parallel()
	cfg, warnings := load(t, `
agents: {list: [{id: a, tools: {verifier: {failMode: allow}}}]}
tools: {verifier: {enabled: true, failMode: deny, webhook: {url: "https://127.0.0.1:1/none"}}}`)
	require.Contains(t, strings.Join(warnings, "\n"), "agents.list[0].tools.verifier.failMode: allow has no effect")
	v, _, err := verifier.New(Verifier(cfg), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer v.Close()
	got := v.Verify(t.Context(), approval.Call{ToolName: "exec", Params: []byte(`{"command":"ls"}`), AgentID: "a"}, approval.R0)
	require.True(t, got.Denied)
	require.False(t, got.Open)
}

// Every key of the policy reaches the policy.
func TestPolicyKeysArrive(t *testing.T) {
	t.Parallel()
	cfg, _ := load(t, `
people: [{name: alice, telegram: 5, roles: [ops, dev]}, {name: bob, telegram: 6, roles: [ops]}, {name: carol, telegram: 7}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [5, 6, 7]}}
agents:
  list:
    - id: main
      tools: {profile: coding, allow: [read, exec], deny: [write], providers: {openai: {profile: minimal, deny: [exec]}}}
      approvals: {mode: always, minApprovals: 2, policy: {requireApprovalAtOrAbove: R1, denyAtOrAbove: R4, requireHumanApproverAtOrAbove: R2, minApprovalsByRisk: {R3: 3}}}
tools:
  profile: messaging
  providerProfiles: {openai: minimal, anthropic/claude: coding}
  providers: {openai/gpt: {allow: [read]}}
  groups: {"-100": {deny: [exec]}}
  sandbox: {tools: {profile: coding, deny: [browser]}}
  subagent: {allow: [read]}
approvals:
  exec: {askFallback: allowlist, allowlist: [git, {pattern: /usr/bin/ls, id: 5, source: x, lastUsedAt: 1}], safeBins: [wc]}
  tools:
    classifier: {enabled: true, model: m, minConfidence: 0.5, onLowConfidence: deny, apiUrl: "https://x.example.org/v1", apiKey: k, timeoutMs: 5, maxInputChars: 2000}
    rules:
      - {name: push, match: {tool: exec, command: git push *}, outcome: ask, role: ops, minApprovals: 2}
      - {name: risky, match: {path: [a, b], host: [x.example.org], agent: main, session: "s*"}, risk: R4, sideEffects: [payment, data_loss]}
      - {name: fine, match: {tool: [read]}, approve: true}
`)
	p := Policy(cfg)
	class := func(c approval.RiskClass) *approval.RiskClass { return &c }
	require.Equal(t, policy.Layers{
		Profile: "messaging", ProviderProfiles: map[string]string{"openai": "minimal", "anthropic/claude": "coding"},
		Providers: map[string]policy.Layer{"openai/gpt": {Allow: []string{"read"}}}, Groups: map[string]policy.Layer{"-100": {Deny: []string{"exec"}}},
		Sandbox: policy.Layer{Profile: "coding", Deny: []string{"browser"}}, Subagent: policy.Layer{Allow: []string{"read"}},
		Agents: map[string]policy.AgentLayer{"main": {
			Layer:     policy.Layer{Profile: "coding", Allow: []string{"read", "exec"}, Deny: []string{"write"}},
			Providers: map[string]policy.Layer{"openai": {Profile: "minimal", Deny: []string{"exec"}}},
			Mode:      "always", MinApprovals: 2, MinApprovalsByRisk: map[approval.RiskClass]int{approval.R3: 3},
			RequireApprovalAtOrAbove: class(approval.R1), DenyAtOrAbove: class(approval.R4), RequireHumanApproverAtOrAbove: class(approval.R2),
		}},
	}, p.Layers)
	require.Equal(t, []policy.Rule{
		{Name: "push", Match: policy.Match{Tool: []string{"exec"}, Command: []string{"git push *"}}, Outcome: "ask", Role: "ops", MinApprovals: 2, SideEffects: []approval.SideEffect{}},
		{Name: "risky", Match: policy.Match{Path: []string{"a", "b"}, Host: []string{"x.example.org"}, Agent: []string{"main"}, Session: []string{"s*"}}, Risk: class(approval.R4), SideEffects: []approval.SideEffect{approval.Payment, approval.DataLoss}},
		{Name: "fine", Match: policy.Match{Tool: []string{"read"}}, Approve: true, SideEffects: []approval.SideEffect{}},
	}, p.Rules)
	require.Equal(t, []string{"dev", "ops"}, p.Roles)
	require.Equal(t, []string{"git", "/usr/bin/ls"}, p.ExecAllowlist)
	require.Equal(t, []string{"wc"}, p.ExecSafeBins)
	require.Equal(t, "allowlist", p.ExecAskFallback)
	require.Equal(t, policy.ClassifierRules{Enabled: true, MinConfidence: 0.5, OnLowConfidence: "deny"}, p.Classifier)
	require.Equal(t, verifier.ClassifierConfig{Model: "m", APIURL: "https://x.example.org/v1", APIKey: "k", TimeoutMs: 5, MaxInputChars: 2000}, Classifier(cfg))
}

// A file that the desk is told by a link is its own by its real name, too, as the agent's workspace may have that.
func TestFilesBehindLinksAreProtected(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	there := filepath.Join(dir, "there")
	require.NoError(t, os.Mkdir(there, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(there, "d.db"), nil, 0o600))
	require.NoError(t, os.Symlink(there, filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(filepath.Join(there, "d.db"), filepath.Join(dir, "state.db")))
	var cfg config.Config
	cfg.Store.KeyFile, cfg.Server.TLS.KeyFile = filepath.Join(dir, "link", "new.key"), filepath.Join(dir, "state.db")
	files := Policy(cfg).Protected.Files
	for _, own := range []string{"link/new.key", "there/new.key", "state.db", "there/d.db"} {
		require.Contains(t, files, filepath.Join(dir, own))
	}
}

// The files that hold the new secrets are the desk's own: calls that touch them are R4.
func TestSecretFilesAreProtected(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"hook", "agent", "key"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("secret-0123456789\n"), 0o600))
	}
	cfg, _ := load(t, `
agents: {list: [{id: a, tools: {verifier: {webhook: {url: "https://a.example.org", secretFile: `+dir+`/agent}}}}]}
tools: {verifier: {webhook: {url: "https://b.example.org", secretFile: `+dir+`/hook}}}
approvals: {tools: {classifier: {apiKeyFile: `+dir+`/key}}}`)
	require.Equal(t, "secret-0123456789", Verifier(cfg).Agents["a"].Webhook.Secret)
	require.Equal(t, "secret-0123456789", Classifier(cfg).APIKey)
	for _, name := range []string{"hook", "agent", "key"} {
		require.Contains(t, Policy(cfg).Protected.Files, filepath.Join(dir, name))
	}
}

// A file that did not change makes the policy that it made before.
func TestPolicyHashIsStable(t *testing.T) {
	t.Parallel()
	var hashes []string
	for range 2 {
		cfg, _, err := Load(exampleFile, exampleEnv, nil)
		require.NoError(t, err)
		rules, err := Rules(cfg, Table(cfg))
		require.NoError(t, err)
		hashes = append(hashes, rules.Policy.Hash())
	}
	require.Equal(t, hashes[0], hashes[1])
	text, err := os.ReadFile(exampleFile)
	require.NoError(t, err)
	cfg, _, err := Parse(exampleFile, []byte(strings.Replace(string(text), "git push *", "git push -f *", 1)), config.NewEnviron(exampleEnv), nil)
	require.NoError(t, err)
	rules, err := Rules(cfg, Table(cfg))
	require.NoError(t, err)
	require.NotEqual(t, hashes[0], rules.Policy.Hash())
}

// The example asks for R3 and R4.
func TestExamplePolicy(t *testing.T) {
	t.Parallel()
	cfg, _, err := Load(exampleFile, exampleEnv, nil)
	require.NoError(t, err)
	classes, err := Classes(cfg)
	require.NoError(t, err)
	var got []string
	for _, c := range classes {
		got = append(got, c.Class+" "+c.Outcome+" "+show.ClassNeeds(c.View()))
	}
	require.Equal(t, []string{"R0 allow 1", "R1 allow 1", "R2 allow 1", "R3 ask 1, human", "R4 ask 1, human"}, got)
}

// What policy alone understands is a mistake of the file, with the best key there is.
func TestPolicysOwnMistakesHaveKeys(t *testing.T) {
	t.Parallel()
	of := func(change func(*config.Config)) string {
		_, _, err := config.Parse("f.yaml", nil, nil, config.Overrides{}, func(r *config.Report, cfg *config.Config) {
			change(cfg)
			(&checker{r}).checkPolicy(cfg)
		})
		return err.Error()
	}
	require.Contains(t, of(func(cfg *config.Config) { cfg.Approvals.Exec.Ask = "sometimes" }), "f.yaml: approvals.exec.ask: ")
	require.Equal(t, "f.yaml: makes no policy: the desk's port must be a number",
		of(func(cfg *config.Config) { cfg.Server.Listen = "127.0.0.1:many" }))
}
