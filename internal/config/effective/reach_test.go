package effective

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
)

// inReach has alice and bob, who may decide on Telegram.
const inReach = `people: [{name: alice, telegram: 5, roles: [ops]}, {name: bob, telegram: 6}]
channels: {telegram: {botToken: "${BOT}", allowedUserIds: [5, 6]}}
server: {tokens: [{name: a, token: 0123456789abcdef, scopes: [approvals.request], agentId: mian}]}
agents: {list: [{id: main}, {id: helper}]}
`

const verifierChat = `{enabled: true, chatId: "7", allowedUserIds: [5]}`

// What a file promises and nobody could keep is said, with key and line.
func TestWarningsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	_, got := load(t, inReach+`tools:
  verifier: {enabled: true, failMode: allow, webhook: {url: "https://v.example.org"}, telegram: `+verifierChat+`}
approvals:
  exec: {allowlist: ["/opt/[a]/x"]}
  tools:
    classifier: {enabled: true, provider: openai, model: m}
    rules:
      - {name: a, match: {agent: [main, halper]}, outcome: ask}
      - {name: b, match: {path: "app/[id]/page.tsx"}, outcome: deny}
      - {name: c, match: {path: 'app/\[id]/page.tsx', command: "/opt/[a]/x *"}, outcome: deny}
    routing: {targets: ["telegram:-5", {channel: telegram, to: "-5"}], auditChats: ["telegram:-5", "telegram:-5"]}
  agentshield: {targets: ["telegram:-5", "telegram:-5"]}
`, "BOT=1:a")
	const bracket = "has a [, which begins a set of characters up to the next ]; " +
		`to match [ itself, write \[ in a path, and * in a program's path`
	require.Equal(t, []string{
		"f.yaml:3: server.tokens[0].agentId: names an agent that is not in agents.list (did you mean main?)",
		"f.yaml:6: tools.verifier.failMode: allow fails open: without the webhook's valid answer, and while the chat in telegram " +
			"cannot be reached, calls run unverified",
		"f.yaml:8: approvals.exec.allowlist[0]: " + bracket,
		"f.yaml:10: approvals.tools.classifier.apiKey: is empty; if the provider requires a key, it gives no " +
			"opinion, and the static rules alone decide",
		"f.yaml:12: approvals.tools.rules[0].match.agent[1]: names an agent that is not in agents.list (did you mean helper?)",
		"f.yaml:13: approvals.tools.rules[1].match.path[0]: " + bracket,
		"f.yaml:14: approvals.tools.rules[2].match.command[0]: " + bracket,
		"f.yaml:15: approvals.tools.routing.targets[1]: is the same as approvals.tools.routing.targets[0]",
		"f.yaml:15: approvals.tools.routing.auditChats[1]: is the same as approvals.tools.routing.auditChats[0]",
		"f.yaml:16: approvals.agentshield.targets[1]: is the same as approvals.agentshield.targets[0]",
	}, got)

	_, got = load(t, inReach+`tools: {verifier: {enabled: true, failMode: allow, telegram: `+verifierChat+`}}
approvals: {tools: {classifier: {enabled: true, provider: ollama, model: m, apiUrl: "http://127.0.0.1:11434/v1"}}}
`, "BOT=1:a")
	require.Contains(t, got, "f.yaml:5: tools.verifier.failMode: allow fails open: "+
		"while the chat in telegram cannot be reached, calls run without its people's yes")
	require.NotContains(t, strings.Join(got, "\n"), "apiKey", "a model on this machine wants none")
}

// A quorum that the people of the file could never meet contradicts it; one that a chat
// which is off leaves too few for is warned of.
func TestQuorumNobodyCanMeet(t *testing.T) {
	t.Parallel()
	check := func(text string, bot string) (warnings []string, mistakes string) {
		_, found, err := Parse("f.yaml", []byte(inReach+"approvals:\n"+text), config.Environ{"BOT": bot}, nil)
		for _, w := range found {
			warnings = append(warnings, w.String())
		}
		if err != nil {
			mistakes = err.Error()
		}
		return warnings, mistakes
	}
	const (
		three = "needs 3 approvals, but only alice, bob could give one, so every such call would be denied; let more people decide, " +
			"each listed under people, or set approvals.tools.clampMinApprovals"
		unmet = "needs 2 with role ops, but too few people with that role may approve now: every call that this rule makes ask would be denied"
	)
	for _, c := range []struct{ text, key, want string }{
		{"  tools: {minApprovals: 2}", "", ""},
		{"  tools: {minApprovals: 3}", ":6: approvals.tools.minApprovals: ", three},
		{"  tools:\n    policy: {minApprovalsByRisk: {R3: 3}}", ":7: approvals.tools.policy.minApprovalsByRisk.R3: ", three},
		{"  tools: {policy: {denyAtOrAbove: R4, minApprovalsByRisk: {R4: 3}}}", "", ""},
		{"  tools: {minApprovals: 3, clampMinApprovals: true}", "", ""},
		{"  tools: {minApprovals: 3, mode: off}", "", ""},
		{"  tools: {enabled: false, minApprovals: 3}", "", ""},
		{"  tools: {rules: [{name: a, match: {tool: x}, outcome: ask, minApprovals: 2}]}", "", ""},
		{"  tools: {rules: [{name: a, match: {tool: x}, outcome: ask, role: ops}]}", "", ""},
		{"  tools: {rules: [{name: a, match: {tool: x}, risk: R3, role: ops, minApprovals: 2}]}",
			":6: approvals.tools.rules[0].minApprovals: ", unmet},
	} {
		want := c.key + c.want
		if want != "" {
			want = "f.yaml" + want
		}
		_, got := check(c.text, "1:a")
		require.Equal(t, want, got, c.text)
	}
	warnings, got := check("  tools: {minApprovals: 2}", "")
	require.Empty(t, got, "a chat without a token is off, and that is a warning")
	require.Contains(t, warnings, "f.yaml:6: approvals.tools.minApprovals: needs 2 approvals, but no configured person "+
		"could give one while a chat is off, so every such call is denied")
	require.Contains(t, strings.Join(warnings, "\n"), "approvals.tools: no person can approve now")

	agent := strings.Replace(inReach, "{id: main}", "{id: main, approvals: {minApprovals: 3}}", 1)
	_, _, err := Parse("f.yaml", []byte(agent+"approvals: {tools: {}}\n"), config.Environ{"BOT": "1:a"}, nil)
	require.ErrorContains(t, err, "f.yaml:4: agents.list[0].approvals.minApprovals: "+three)
}

// What a check costs grows with people and with rules, not with the one times the other.
func TestACheckCountsPeopleOnce(t *testing.T) {
	const people, rules = 1000, 200
	var text, ids strings.Builder
	text.WriteString("people:\n")
	for i := range people {
		fmt.Fprintf(&text, "  - {name: p%d, telegram: %d, roles: [r%d]}\n", i, 1000+i, i%5)
		fmt.Fprintf(&ids, "%d,", 1000+i)
	}
	fmt.Fprintf(&text, "channels: {telegram: {botToken: '1:T', allowedUserIds: [%s]}}\n", strings.TrimSuffix(ids.String(), ","))
	text.WriteString("approvals:\n  tools:\n    enabled: true\n    rules:\n")
	for i := range rules {
		fmt.Fprintf(&text, "      - {name: n%d, match: {command: 'tool%d *'}, outcome: ask, role: r%d, minApprovals: %d}\n", i, i, i%5, 1+i%7)
	}
	cfg, _ := load(t, text.String())
	got := testing.AllocsPerRun(1, func() { (&checker{&config.Report{}}).checkRules("approvals.tools.rules", &cfg) })
	require.Less(t, got, float64(people*rules/2), "allocations; a count of people for each rule takes more than one a person")
}
