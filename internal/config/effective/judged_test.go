package effective

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
)

const judgedFile = `server:
  listen: 127.0.0.1:1
  tokens: [{name: a, token: 0123456789abcdef, scopes: [approvals.request]}, {name: b, token: 0123456789abcdeg, scopes: [operator.approvals], person: alice}]
people: [{name: alice, telegram: 5}]
channels: {telegram: {botToken: "1:a", allowedUserIds: [5]}}
tools: {verifier: {enabled: true, webhook: {url: "https://v.example.org", secret: 0123456789abcdef, headers: {X-Key: a}}}}
approvals: {tools: {classifier: {enabled: true, provider: openai, model: m, apiUrl: "https://c.example.org", apiKey: k}}}
`

// hashOf is the name of the policy that a file makes, with some keys overridden.
func hashOf(t *testing.T, overrides ...string) string {
	t.Helper()
	for i := range overrides {
		overrides[i] = config.OverridePrefix + overrides[i]
	}
	cfg, _, err := Parse("f.yaml", []byte(judgedFile), config.NewEnviron(overrides), nil)
	require.NoError(t, err)
	rules, err := Rules(cfg, Table(cfg))
	require.NoError(t, err)
	return rules.Policy.Hash()
}

// Whatever decides about calls is in the policy's name, wherever it stands in the
// file.
func TestPolicyHashNamesWhatJudges(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{hashOf(t): true}
	for _, key := range []string{
		"TOOLS__VERIFIER__FAILMODE=allow", "TOOLS__VERIFIER__SCOPE={include: [exec]}", "TOOLS__VERIFIER__ENABLED=false", "TOOLS__VERIFIER__WEBHOOK__URL=https://w.example.org",
		"TOOLS__VERIFIER__WEBHOOK__CACHETTL=60", "TOOLS__VERIFIER__TELEGRAM={enabled: true, chatId: \"7\", allowedUserIds: [5]}",
		"APPROVALS__TOOLS__CLASSIFIER__MODEL=n", "APPROVALS__TOOLS__CLASSIFIER__APIURL=https://d.example.org", "APPROVALS__TOOLS__CLASSIFIER__MAXINPUTCHARS=2000",
		"CHANNELS__TELEGRAM__ALLOWEDUSERIDS=[5, 6]", "PEOPLE=[{name: alice, telegram: 6}]", "APPROVALS__TOOLS__SELFAPPROVAL=solo", "APPROVALS__TOOLS__TIMEOUTMS=5000",
		"SERVER__PRODUCTION=true", "SERVER__TOKENS=[{name: a, token: 0123456789abcdef, scopes: [approvals.request], agentId: main}]",
		"APPROVALS__TOOLS__ROUTING__MODE=targets", "APPROVALS__EXEC__ASK=always",
	} {
		h := hashOf(t, key)
		require.False(t, seen[h], key)
		seen[h] = true
	}
}

// Secrets, what is an instance's own and what only a restart changes are not.
func TestPolicyHashIsTheSameOnAllInstances(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		"SERVER__LISTEN=127.0.0.1:2", "SERVER__PUBLICURL=https://desk.example.org", "SERVER__LIMITS__PENDING=5", "STORE__URL=sqlite:other.db", "STORE__KEYFILE=other.key",
		"CHANNELS__TELEGRAM__BOTTOKEN=1:b", "CHANNELS__TELEGRAM__APIURL=https://t.example.org",
		"TOOLS__VERIFIER__WEBHOOK__SECRET=another-secret-0123", "TOOLS__VERIFIER__WEBHOOK__HEADERS={X-Key: b}", "APPROVALS__TOOLS__CLASSIFIER__APIKEY=other",
		"TOOLS__DENY=[]", "APPROVALS__TOOLS__RULES=[]",
		"SERVER__TOKENS=[{name: a, token: 0123456789abcdeX, scopes: [approvals.request]}, {name: b, token: 0123456789abcdeY, scopes: [operator.approvals], person: alice}]",
	} {
		require.Equal(t, hashOf(t), hashOf(t, key), key)
	}
	cfg, _, err := Parse("f.yaml", []byte(judgedFile), nil, nil)
	require.NoError(t, err)
	text, err := judged(cfg)
	require.NoError(t, err)
	for _, secret := range []string{"0123456789abcde", "1:a", `"k"`} {
		require.NotContains(t, text, secret)
	}
}

// A configuration has the hash that it had in a version with a field for each platform: instances of both run
// beside each other.
func TestPolicyHashStaysAsItWas(t *testing.T) {
	t.Parallel()
	cfg, _, err := Parse("f.yaml", []byte(`
channels: {telegram: {botToken: "1:a", allowedUserIds: [1]}, discord: {allowedUserIds: [5], allowedRoleIds: [6]}}
people: [{name: a, telegram: 1, discord: 5}, {name: b}]
tools: {verifier: {telegram: {chatId: -7, allowedUserIds: [1]}}}
`), nil, nil)
	require.NoError(t, err)
	text, err := judged(cfg)
	require.NoError(t, err)
	const bot, hidden = `"Updates":{"Mode":"","PublicKey":"","Webhook":{"Secret":"\u003credacted\u003e","URL":""}}`, `"BotToken":"\u003credacted\u003e"`
	for _, part := range []string{
		`"Channels":{"Discord":{"APIURL":"","AllowedRoleIDs":["6"],"AllowedUserIDs":["5"],` + hidden + `,` + bot + `},` +
			`"Telegram":{"APIURL":"","AllowedUserIDs":["1"],` + hidden + `,` + bot + `}},` +
			`"People":[{"Discord":"5","Email":"","Name":"a","Quiet":"","Telegram":"1","Timezone":""},` +
			`{"Discord":"","Email":"","Name":"b","Quiet":"","Telegram":"","Timezone":""}],"Server"`,
		`"Telegram":{"APIURL":"","AllowedUserIDs":["1"],` + hidden + `,"ChatID":"-7","Enabled":false,"Timeout":120}`,
	} {
		require.Contains(t, text, part)
	}
}
