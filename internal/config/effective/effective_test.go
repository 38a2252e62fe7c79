package effective

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/people"
)

const exampleFile = "../../../config.example.yaml"

var exampleEnv = []string{"AGENT_TOKEN=agent-token-0123456789", "ALICE_TOKEN=alice-token-0123456789", "CALLBACK_SECRET=callback-secret-0123456789"}

// load reads a configuration that must be right.
func load(t *testing.T, text string, env ...string) (config.Config, []string) {
	t.Helper()
	cfg, warnings, err := Parse("f.yaml", []byte(text), config.NewEnviron(env), nil)
	require.NoError(t, err)
	lines := []string{}
	for _, w := range warnings {
		lines = append(lines, w.String())
	}
	return cfg, lines
}

func TestExampleLoads(t *testing.T) {
	t.Parallel()
	cfg, warnings, err := Load(exampleFile, exampleEnv, nil)
	require.NoError(t, err)
	require.Len(t, cfg.Server.Tokens, 2)
	require.Equal(t, config.Secret("alice-token-0123456789"), cfg.Server.Tokens[1].Token)
	require.Equal(t, "-1001234567890", cfg.Approvals.Tools.Routing.Targets[0].To)
	require.Len(t, warnings, 4, "%s", warnings) // both chats are off, the target's chat too, so no chat is left
	rules, err := Rules(cfg, Table(cfg))
	require.NoError(t, err)
	require.True(t, rules.Enabled)
}

// An omitted key has the value that the example shows for it, unless the example
// says otherwise.
func TestExampleShowsTheDefaults(t *testing.T) {
	t.Parallel()
	want, _, err := Load(exampleFile, exampleEnv, nil)
	require.NoError(t, err)
	got, _ := load(t, "approvals: {tools: {}}")
	want.File, got.File = "", ""
	require.Equal(t, "sqlite:"+filepath.Join(filepath.Dir(exampleFile), "approvalbot.db"), want.Store.URL)
	want.Store.URL, want.Store.KeyFile = got.Store.URL, filepath.Base(want.Store.KeyFile)
	want.Server.Tokens, want.People, want.Agents = nil, nil, config.Agents{}
	want.Channels = want.Channels.Each(func(_ string, bot *config.Channel) { bot.AllowedUserIDs = nil })
	want.Approvals.Tools.Policy.DenyAtOrAbove, want.Approvals.Tools.Policy.MinApprovalsByRisk = config.Risk{}, nil
	want.Approvals.Tools.Routing.Targets, want.Approvals.Tools.Rules = nil, nil
	w, err := json.Marshal(want)
	require.NoError(t, err)
	g, err := json.Marshal(got)
	require.NoError(t, err)
	empty := strings.NewReplacer("[]", "null", "{}", "null")
	require.JSONEq(t, empty.Replace(string(w)), empty.Replace(string(g)))
}

// The document of the contract loads, with Discord off.
func TestContractDocumentLoads(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/contract.yaml")
	require.NoError(t, err)
	cfg, warnings := load(t, string(text), append(exampleEnv, "TELEGRAM_BOT_TOKEN=123456:abc")...)
	require.True(t, cfg.Channels.Bots["telegram"].On())
	require.False(t, cfg.Channels.Bots["discord"].On())
	require.Equal(t, config.Risk{Class: approval.R4, Set: true}, cfg.Approvals.Tools.Policy.DenyAtOrAbove)
	require.Equal(t, 90*24*time.Hour, time.Duration(cfg.Store.Retention.Approvals))
	require.Equal(t, []string{
		"f.yaml:17: channels.discord.botToken: is empty: this chat is off",
		"f.yaml:35: approvals.tools.routing.targets[1]: discord is off: no card goes there",
	}, warnings)
}

func TestEmptyDocumentIsAllDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "# nothing\n", "---\n", "server:\n", "approvals:\n  tools:\n    # all of it is commented out\n"} {
		cfg, warnings := load(t, text)
		require.False(t, cfg.Approvals.Enabled())
		require.Contains(t, strings.Join(warnings, "\n"), "approvals disabled")
		want := config.Defaults()
		want.File = "f.yaml"
		require.Equal(t, want, cfg)
	}
	cfg, _ := load(t, "approvals: {tools: {enabled: false}}")
	require.False(t, cfg.Approvals.Enabled())
	cfg, _ = load(t, "approvals: {tools: {mode: always}}")
	require.True(t, cfg.Approvals.Enabled())
}

func TestOverrides(t *testing.T) {
	t.Parallel()
	const text = "server: {listen: 127.0.0.1:1}\nstore: {url: \"sqlite:a.db\"}\npeople: [{name: alice}]\napprovals: {tools: {clampMinApprovals: true}}\n"
	for _, c := range []struct {
		env  string
		look func(config.Config) any
		want any
	}{
		{"SERVER__LISTEN=127.0.0.1:2", func(c config.Config) any { return c.Server.Listen }, "127.0.0.1:2"},
		{"server__listen=127.0.0.1:2", func(c config.Config) any { return c.Server.Listen }, "127.0.0.1:2"},
		{"SERVER__PUBLICURL=https://example.org/${NOT}", func(c config.Config) any { return c.Server.PublicURL }, "https://example.org/${NOT}"},
		{"SERVER__PRODUCTION=true", func(c config.Config) any { return c.Server.Production }, true},
		{"SERVER__LIMITS={pending: 7, requestsPerSecond: 8}", func(c config.Config) any { return c.Server.Limits }, config.Limits{Pending: 7, RequestsPerSecond: 8}},
		{"SERVER__LIMITS__PENDING=7", func(c config.Config) any { return c.Server.Limits }, config.Limits{Pending: 7, RequestsPerSecond: 50}},
		{"SERVER__TOKENS=[{name: a, token: 0123456789: #abcdef, scopes: [operator.audit]}]", nil, "APPROVALBOT_CFG__SERVER__TOKENS: server.tokens: must be given as YAML"},
		{"SERVER__TOKENS=[{name: a, token: \"0123456789#abcdef\", scopes: [operator.audit]}]", func(c config.Config) any { return string(c.Server.Tokens[0].Token) }, "0123456789#abcdef"},
		{"PEOPLE=[{name: bob, telegram: 5}]", func(c config.Config) any { return c.People }, []config.Person{{Name: "bob", Accounts: map[string]config.ID{"telegram": "5"}}}},
		{"CHANNELS__TELEGRAM__BOTTOKEN=1:#a", func(c config.Config) any { return string(c.Channels.Bots["telegram"].BotToken) }, "1:#a"},
		{"CHANNELS__TELEGRAM__ALLOWEDUSERIDS=[1, \"2\"]", func(c config.Config) any { return c.Channels.Bots["telegram"].AllowedUserIDs }, []config.ID{"1", "2"}},
		{"APPROVALS__TOOLS__MODE=off", func(c config.Config) any { return c.Approvals.Tools.Mode }, "off"},
		{"APPROVALS__TOOLS__POLICY__MINAPPROVALSBYRISK__R4=2", func(c config.Config) any { return c.Approvals.Tools.Policy.MinApprovalsByRisk }, map[string]int{"R4": 2}},
		{"APPROVALS__TOOLS__POLICY__DENYATORABOVE=R4", func(c config.Config) any { return c.Approvals.Tools.Policy.DenyAtOrAbove.Set }, true},
		{"APPROVALS__TOOLS__CLASSIFIER__TIMEOUTMS=700", func(c config.Config) any { return c.Approvals.Tools.Classifier.TimeoutMs }, 700},
		{"APPROVALS__TOOLS__CLASSIFIER__MINCONFIDENCE=0.9", func(c config.Config) any { return c.Approvals.Tools.Classifier.MinConfidence }, 0.9},
		{"APPROVALS__TOOLS__RULES=[{name: a, match: {tool: mail}, risk: R4}]", func(c config.Config) any { return c.Approvals.Tools.Rules },
			[]config.Rule{{Name: "a", Match: config.Match{Tool: config.Patterns{"mail"}}, Risk: config.Risk{Class: approval.R4, Set: true}}}},
		{"APPROVALS__EXEC__SAFEBINS=[wc]", func(c config.Config) any { return c.Approvals.Exec.SafeBins }, []string{"wc"}},
		{"APPROVALS__EXEC__ALLOWLIST=[{pattern: wc}]", func(c config.Config) any { return c.Approvals.Exec.Allowlist }, []config.AllowEntry{"wc"}},
		{"TOOLS__PROFILE=coding", func(c config.Config) any { return c.Tools.Profile }, "coding"},
		{"TOOLS__PROVIDERPROFILES={OpenAI: minimal}", func(c config.Config) any { return c.Tools.ProviderProfiles }, map[string]string{"OpenAI": "minimal"}},
		{"TOOLS__SANDBOX__DENY=[exec]", func(c config.Config) any { return c.Tools.Sandbox.Deny }, []string{"exec"}},
		{"TOOLS__SUBAGENT={tools: {deny: [exec]}}", func(c config.Config) any { return c.Tools.Subagent.Deny }, []string{"exec"}},
		{"TOOLS__VERIFIER__WEBHOOK__TIMEOUT=7", func(c config.Config) any { return c.Tools.Verifier.Webhook.Timeout }, 7},
		{"TOOLS__VERIFIER__TELEGRAM__CHATID=-5", func(c config.Config) any { return c.Tools.Verifier.Chat.ChatID }, config.ID("-5")},
		{"TOOLS__VERIFIER__WEBHOOK={url: \"https://v.example.org\", headers: {X-Key: a}}", func(c config.Config) any { return string(c.Tools.Verifier.Webhook.Headers["X-Key"]) }, "a"},
		{"APPROVALS__TOOLS__ROUTING__FALLBACKAFTER=90s", func(c config.Config) any { return time.Duration(c.Approvals.Tools.Routing.FallbackAfter) }, 90 * time.Second},

		{"SERVER__LISEN=x", nil, "APPROVALBOT_CFG__SERVER__LISEN: server.lisen: unknown key"},
		{"SERVER__LISTEN__X=x", nil, "APPROVALBOT_CFG__SERVER__LISTEN__X: server.listen.x: unknown key"},
		{"SERVER__TOKENS__0__NAME=x", nil, "APPROVALBOT_CFG__SERVER__TOKENS__0__NAME: server.tokens.0.name: unknown key"},
		{"=x", nil, "APPROVALBOT_CFG__: : unknown key"},
		{"SERVER__LISTEN=nowhere", nil, "APPROVALBOT_CFG__SERVER__LISTEN: server.listen: must be host:port, such as 127.0.0.1:8787"},
		{"SERVER__LIMITS__PENDING=many", nil, "APPROVALBOT_CFG__SERVER__LIMITS__PENDING: server.limits.pending: must be a whole number"},
		{"PEOPLE=bob", nil, "APPROVALBOT_CFG__PEOPLE: people: must be a list"},
		{"TOOLS__PROVIDERPROFILES__OPENAI=minimal", nil, "APPROVALBOT_CFG__TOOLS__PROVIDERPROFILES__OPENAI: tools.providerprofiles.openai: unknown key"},
		{"APPROVALS__TOOLS__CLASSIFIER__TIMEOUTMS=soon", nil, "APPROVALBOT_CFG__APPROVALS__TOOLS__CLASSIFIER__TIMEOUTMS: approvals.tools.classifier.timeoutMs: must be a whole number"},
	} {
		t.Run(c.env, func(t *testing.T) {
			t.Parallel()
			cfg, _, err := Parse("f.yaml", []byte(text), config.NewEnviron([]string{config.OverridePrefix + c.env}), nil)
			if c.look == nil {
				require.EqualError(t, err, strings.Replace(c.want.(string), ": : ", ": ", 1))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, c.look(cfg))
		})
	}
}

// A flag wins over the environment, the environment over the file; a flag that
// was not given says nothing.
func TestOverrideOrder(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{"": "127.0.0.1:2", "127.0.0.1:3": "127.0.0.1:3"} {
		set := pflag.NewFlagSet("t", pflag.ContinueOnError)
		set.String("listen", "127.0.0.1:9", "")
		if given != "" {
			require.NoError(t, set.Parse([]string{"--listen", given}))
		}
		cfg, _, err := Parse("f.yaml", []byte("server: {listen: 127.0.0.1:1}"), config.Environ{config.OverridePrefix + "SERVER__LISTEN": "127.0.0.1:2"},
			map[string]*pflag.Flag{"server.listen": set.Lookup("listen")})
		require.NoError(t, err)
		require.Equal(t, want, cfg.Server.Listen)
	}
}

func TestVariablesAndFiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte("123:from-file\n"), 0o600))
	cfg, _ := load(t, `
server: {listen: "127.0.0.1:${PORT}", limits: {pending: "${MANY}"}, production: "${PROD}", publicUrl: "https://example.org/$${X}/${A}${B}"}
channels: {telegram: {botToken: "${NOT_SET}", botTokenFile: `+file+`}, discord: {botToken: "${NOT_SET}"}}
people:
  - {name: alice, telegram: "${ALICE_ID}"}
  - name: bob
    telegram: ${BOB_ID}
store: {retention: {audit: "${NONE}"}}
`, "PORT=99", "MANY=12", "PROD=true", "A=a", "B=${A}", "ALICE_ID=5", "BOB_ID=6", "NONE=0")
	require.Equal(t, "127.0.0.1:99", cfg.Server.Listen)
	require.Equal(t, 12, cfg.Server.Limits.Pending)
	require.True(t, cfg.Server.Production)
	require.Equal(t, "https://example.org/${X}/a${A}", cfg.Server.PublicURL)
	require.Equal(t, config.Secret("123:from-file"), cfg.Channels.Bots["telegram"].BotToken)
	require.Equal(t, config.ID("6"), cfg.People[1].Accounts["telegram"])
	cfg, _ = load(t, "", "NODE_ENV=production")
	require.True(t, cfg.Server.Production)
}

// A YAML alias is read where it stands, and cannot blow up or run in circles.
func TestAliases(t *testing.T) {
	t.Parallel()
	cfg, _ := load(t, "approvals: {tools: {routing: {targets: &t [\"telegram:-5\"], fallback: *t}}}")
	require.Equal(t, cfg.Approvals.Tools.Routing.Targets, cfg.Approvals.Tools.Routing.Fallback)
	_, _, err := Parse("f.yaml", []byte("people: &p [*p]"), config.Environ{}, nil)
	require.ErrorContains(t, err, "people[0]: must be a mapping of keys")
	bomb := "tools:\n  providers: &a [x,x,x]\n  groups: &b [*a,*a,*a]\n  sandbox: [*b,*b,*b]\n"
	_, _, err = Parse("f.yaml", []byte(bomb), config.Environ{}, nil)
	require.ErrorContains(t, err, "tools.sandbox: must be a mapping of keys")
	for _, circle := range []string{"tools: {sandbox: &a {tools: *a}}", "tools: {groups: &a {x: *a}}", "approvals: {tools: {rules: &a [{match: {tool: *a}}]}}"} {
		_, _, err = Parse("f.yaml", []byte(circle), config.Environ{}, nil)
		require.Error(t, err, circle)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	on := "channels: {telegram: {botToken: \"1:a\", apiUrl: \"http://api.example.org\"}}\nserver: {tokens: [{name: a, token: 0123456789abcdef, scopes: [operator.approvals]}, {name: b, token: abcdef0123456789, scopes: [operator.approvals, approvals.request], person: bob}]}\n"
	_, got := load(t, on+`approvals: {tools: {mode: off, selfApproval: solo, disabledApprovers: [user_request, rules_based], classifier: {onLowConfidence: allow}, policy: {denyAtOrAbove: R2}, routing: {targets: ["discord:5"]}}}`)
	require.Equal(t, []string{
		"f.yaml:1: channels.telegram.apiUrl: is http: the bot token travels in the clear",
		"f.yaml:1: channels.telegram.allowedUserIds: is empty: no person may decide on Telegram",
		"f.yaml:2: server.tokens[0]: has operator.approvals but no person, so the token can look at approvals but " +
			"not decide",
		"f.yaml:2: server.tokens[1]: may both ask and decide; it counts as one person, who cannot decide what the " +
			"token asked",
		"f.yaml:2: server.tokens[1].person: is not listed under people, so this token counts as a separate person",
		"f.yaml:3: approvals.tools.policy.denyAtOrAbove: is below requireApprovalAtOrAbove, so people are never " +
			"asked: each class is allowed or denied",
		"f.yaml:3: approvals.tools.selfApproval: solo lets people approve their own requests; cards and the log say so",
		"f.yaml:3: approvals.tools.mode: off asks no approver: only the hard layers under tools can refuse a call",
		"f.yaml:3: approvals.tools.classifier.onLowConfidence: allow fails open: a call runs if the classifier is " +
			"unsure about it",
		"f.yaml:3: approvals.tools.allowedApprovers: leaves no approver after disabledApprovers: every call that needs approval is denied",
		"f.yaml:3: approvals.tools.routing.targets[0]: discord is off: no card goes there",
		"f.yaml:3: approvals.tools.routing.targets: names no chat that is on, so only session chats get cards; " +
			"people can also decide by API, terminal and watch",
	}, got)
}

// Whose word lowers risk is said at the start.
func TestWarnings_TrustToolHints(t *testing.T) {
	t.Parallel()
	_, got := load(t, `server:
  tokens:
    - {name: bridge, token: 0123456789abcdef, scopes: [approvals.request], trustToolHints: true}
    - {name: watcher, token: abcdef0123456789, scopes: [operator.audit], trustToolHints: true}
`)
	require.Contains(t, got, "f.yaml:3: server.tokens[0].trustToolHints: lowers risk: the desk believes this "+
		"token if it says that a tool only reads, or which server a tool belongs to; give it only to a bridge "+
		"whose statements agents cannot choose")
	require.Contains(t, got, "f.yaml:4: server.tokens[1].trustToolHints: has no effect: the token may not ask (approvals.request)")
}

// An empty list of senders allows nobody, and the start says so.
func TestAdversary_I2_EmptyAllowlistIsNobody(t *testing.T) {
	t.Parallel()
	for _, ids := range []string{"", ", allowedUserIds: []"} {
		cfg, warnings := load(t, "people: [{name: alice, telegram: 5}]\nchannels: {telegram: {botToken: \"1:a\""+ids+"}}\n")
		require.Contains(t, strings.Join(warnings, "\n"), "channels.telegram.allowedUserIds: is empty: no person may decide on Telegram")
		dir, err := people.NewDirectory(Rights(cfg))
		require.NoError(t, err)
		require.False(t, dir.MayDecide(dir.Identify(approval.Voter{Channel: "telegram", UserID: "5"})))
		mapped, unmapped, open := dir.Eligible(nil)
		require.Zero(t, mapped+unmapped)
		require.False(t, open)
	}
}

// Ids under which nobody in particular writes are refused at the start.
func TestAdversary_I4_ServiceIdsRefused(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"1087968824", "136817688", "777000"} {
		for _, text := range []string{"channels: {telegram: {allowedUserIds: [%s]}}", "people: [{name: alice, telegram: %s}]"} {
			for _, form := range []string{id, `"` + id + `"`} {
				_, _, err := Parse("f.yaml", fmt.Appendf(nil, text, form), config.Environ{}, nil)
				require.ErrorContains(t, err, "never a person's")
			}
		}
	}
}

// No token of an asker may decide, whatever else it holds; only the operator's
// scope and a person make a token that does.
func TestAdversary_I10_OnlyScopesGiveRights(t *testing.T) {
	t.Parallel()
	cfg, _ := load(t, `
server:
  tokens:
    - {name: agent, token: 0123456789abcdef, scopes: [approvals.request], person: alice}
    - {name: looker, token: 0123456789abcdeg, scopes: [operator.approvals]}
    - {name: laptop, token: 0123456789abcdeh, scopes: [operator.approvals, operator.admin], person: alice}
`)
	require.Equal(t, map[string]string{"laptop": "alice"}, Rights(cfg).Tokens)
	tokens := Tokens(cfg)
	require.Equal(t, core.Caller{Token: "agent", Person: "alice", MayRequest: true, MaxPending: 1000, SessionChats: []approval.Target{}}, tokens[0].Caller)
	require.False(t, tokens[1].Caller.MayRequest || tokens[1].Caller.MayAdmin)
	require.True(t, tokens[2].Caller.MayDecide && tokens[2].Caller.MayAdmin)
}

// Ids are typed and checked at the start, written as text or as a number.
func TestAdversary_I12_IdsAreChecked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, want string }{
		{"4294967297", ""}, {`"4294967297"`, ""}, {"4503599627370496", ""},
		{"4503599627370497", "is not a Telegram user id"},
		{"0", "is not a Telegram user id"},
		{"-1001234567890", "is the id of a group or channel; only people may be listed here"},
		{`"-1001234567890"`, "is the id of a group or channel; only people may be listed here"},
		{"1.11111111e+08", "lost digits because it is a number; write all digits of the id, in quotes"},
		{"0x1A", "must be a numeric id"}, {"012", "must be a numeric id"}, {"1_000", "must be a numeric id"}, {`"@alice"`, "must be a numeric id"},
		{`" 5"`, "must be a numeric id"}, {`"٣"`, "must be a numeric id"}, {"true", "must be a numeric id"}, {`"99999999999999999999"`, "must be a numeric id"},
	} {
		_, _, err := Parse("f.yaml", []byte("channels: {telegram: {allowedUserIds: ["+c.id+"]}}"), config.Environ{}, nil)
		if c.want == "" {
			require.NoError(t, err, c.id)
			continue
		}
		require.EqualError(t, err, "f.yaml:1: channels.telegram.allowedUserIds[0]: "+c.want, c.id)
	}
	cfg, _ := load(t, "people: [{name: alice, discord: 222222222222222222}]\nchannels: {discord: {allowedRoleIds: [\"222222222222222223\"]}}")
	require.Equal(t, config.ID("222222222222222222"), cfg.People[0].Accounts["discord"])
	_, _, err := Parse("f.yaml", []byte("people: [{name: alice, discord: 2.2222222222222222e+17}]"), config.Environ{}, nil)
	require.ErrorContains(t, err, "lost digits")
}

// A secret shows in no printed form of the configuration and in no mistake.
func TestAdversary_S6_SecretsNeverPrint(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2"
	cfg, _ := load(t, "server: {tokens: [{name: a, token: "+secret+", callbackSecret: "+secret+", scopes: [approvals.request]}]}\n"+
		"channels: {telegram: {botToken: \"${T}\", updates: {webhook: {url: \"https://x.example.org\", secret: "+secret+"}}}}\n"+
		"tools: {verifier: {webhook: {url: \"https://v.example.org\", headers: {Authorization: "+secret+"}, secret: "+secret+"}, telegram: {botToken: "+secret+"}}}\n"+
		"approvals: {tools: {classifier: {apiKey: "+secret+"}}}\n", "T="+secret)
	require.Equal(t, secret, Verifier(cfg).Webhook.Headers["Authorization"])
	require.Equal(t, secret, Classifier(cfg).APIKey)
	require.Equal(t, config.Secret(secret), cfg.Channels.Bots["telegram"].BotToken)
	var printed strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&printed, verb+"\n", cfg)
		fmt.Fprintf(&printed, verb+"\n", &cfg.Server.Tokens[0])
		fmt.Fprintf(&printed, verb+"\n", cfg.Server.Tokens[0].Token)
	}
	slog.New(slog.NewJSONHandler(&printed, nil)).Info("x", "config", cfg, "token", cfg.Server.Tokens[0].Token)
	slog.New(slog.NewTextHandler(&printed, nil)).Info("x", "config", cfg, "token", cfg.Server.Tokens[0].Token)
	require.NoError(t, json.NewEncoder(&printed).Encode(cfg))
	require.NoError(t, yaml.NewEncoder(&printed).Encode(cfg))
	require.NotContains(t, printed.String(), "hunter2")
	require.NotContains(t, printed.String(), fmt.Sprintf("%x", secret))
	require.Contains(t, printed.String(), "<redacted>")

	for _, text := range []string{
		"server: {listen: hunter2}", "server: {limits: {pending: \"${S}\"}}", "server: {tokens: [{name: hunter2 x, token: hunter2, scopes: [hunter2]}]}",
		"server: {tokens: {hunter: [hunter2}", "channels: {telegram: {botToken: [hunter2], apiUrl: hunter2, allowedUserIds: [\"${S}\"], updates: hunter2}}",
		"approvals: {tools: {mode: \"${S}\", timeoutMs: hunter2, policy: {denyAtOrAbove: hunter2}, routing: {targets: [\"${S}\", {channel: telegram, to: \"${S}\", threadId: hunter2}]}}}",
		"store: {url: hunter2, retention: {approvals: hunter2}}", "people: [{name: \"${S} \", telegram: hunter2}, hunter2]", "tools: {profile: hunter2, deny: [\"hunter2 \"]}",
		"tools: {providerProfiles: {x: hunter2}, sandbox: {allow: hunter2}, verifier: {enabled: true, failMode: hunter2, webhook: {url: \"http://hunter2:hunter2@x#hunter2\", timeout: hunter2, headers: {Host: \"${S}\", X: \"${S}\\n\"}}, telegram: {enabled: true, botToken: \"${S}\", chatId: hunter2, allowedUserIds: [hunter2]}}}",
		"approvals: {tools: {rules: [{name: \"hunter2 \", risk: hunter2, outcome: hunter2, sideEffects: [hunter2], role: hunter2}], classifier: {enabled: true, apiUrl: \"hunter2:\", apiKey: \"${S} \", timeoutMs: hunter2}}, exec: {allowlist: [{pattern: [hunter2]}], safeBins: hunter2}}",
	} {
		_, _, err := Parse("f.yaml", []byte(text), config.Environ{"S": secret, config.OverridePrefix + "SERVER__TOKENS": "[hunter2", config.OverridePrefix + "STORE": "hunter2"}, nil)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2", text)
	}
}

func FuzzLoad(f *testing.F) {
	example, err := os.ReadFile(exampleFile)
	require.NoError(f, err)
	f.Add(string(example), "SERVER__LISTEN", "127.0.0.1:1")
	f.Add("a: &a [*a]\nb: {<<: *a}\n", "PEOPLE", "[{name: a}]")
	f.Add("agents: {list: [{id: a, tools: {deny: [x], verifier: {enabled: true}}, approvals: {mode: always, policy: {minApprovalsByRisk: {R1: 2}}}}]}", "TOOLS__GROUPS", "{g: {tools: {allow: [\"group:fs\", \"a*\"]}}}")
	f.Add("approvals: {tools: {rules: [{name: a, match: {command: [\"git push *\"], path: \"a/**\"}, when: \"true\", outcome: ask, minApprovals: 2}]}, exec: {allowlist: [ls], safeBins: [wc]}}", "TOOLS__VERIFIER", "{enabled: true, webhook: {url: \"https://x\"}}")
	f.Add("? {a: b}\n: c\n--- \n...", "APPROVALS__TOOLS", "{mode: off}")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		cfg, warnings, err := Parse("f.yaml", []byte(text), config.Environ{"X": "y", config.OverridePrefix + key: value}, nil)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		for _, w := range warnings {
			require.NotEmpty(t, w.String())
		}
		_, err = Rules(cfg, Table(cfg))
		require.NoError(t, err, "what loads must make rules")
		_, err = Classes(cfg)
		require.NoError(t, err)
	})
}
