package main

import (
	"fmt"

	"approvalbot/core"
)

// Config is the configuration as the YAML document has it, every omitted key
// filled with its default, every ${NAME} and …File resolved. It is a plain
// value; what it means to the other packages stands in config_rules.go.
type Config struct {
	File string // where it was read from

	Server    ServerConfig    `yaml:"server"`
	Store     StoreConfig     `yaml:"store"`
	People    []PersonConfig  `yaml:"people"`
	Channels  ChannelsConfig  `yaml:"channels"`
	Agents    AgentsConfig    `yaml:"agents"`
	Tools     ToolsConfig     `yaml:"tools"`
	Approvals ApprovalsConfig `yaml:"approvals"`
}

// ServerConfig is the HTTP side.
type ServerConfig struct {
	Listen      string        `yaml:"listen"` // host:port
	PublicURL   string        `yaml:"publicUrl"`
	TLS         TLSConfig     `yaml:"tls"`
	BehindProxy bool          `yaml:"behindProxy"`
	Limits      LimitsConfig  `yaml:"limits"`
	Production  bool          `yaml:"production"` // also set by NODE_ENV=production
	Tokens      []TokenConfig `yaml:"tokens"`
}

// TLSConfig names the server's certificate. Both files, or neither.
type TLSConfig struct {
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// LimitsConfig holds for each token.
type LimitsConfig struct {
	Pending           int `yaml:"pending"`
	RequestsPerSecond int `yaml:"requestsPerSecond"`
}

// TokenConfig is one API token. The name is the owner of what it asks and
// outlives a change of the secret.
type TokenConfig struct {
	Name               string   `yaml:"name"`
	Token              Secret   `yaml:"token"`
	TokenFile          string   `yaml:"tokenFile"`
	Scopes             []string `yaml:"scopes" oneof:"approvals.request|operator.approvals|operator.audit|operator.admin"`
	Person             string   `yaml:"person"`
	AgentID            string   `yaml:"agentId"`
	SessionChats       []Place  `yaml:"sessionChats"`
	CallbackSecret     Secret   `yaml:"callbackSecret"`
	CallbackSecretFile string   `yaml:"callbackSecretFile"`
	CallbackAllow      []string `yaml:"callbackAllow"` // CIDRs of private networks
	RequireRequester   bool     `yaml:"requireRequester"`
	TrustToolHints     bool     `yaml:"trustToolHints"` // what context.tool says may lower a call's class
}

// StoreConfig says where approvals are kept.
type StoreConfig struct {
	URL       string          `yaml:"url"`
	KeyFile   string          `yaml:"keyFile"`
	Retention RetentionConfig `yaml:"retention"`
}

// RetentionConfig says how long ended approvals and the log are kept; 0 is for ever.
type RetentionConfig struct {
	Approvals Duration `yaml:"approvals"`
	Audit     Duration `yaml:"audit"`
}

// PersonConfig is a human and their accounts: one person, one vote.
type PersonConfig struct {
	Name     string   `yaml:"name"`
	Telegram ID       `yaml:"telegram"`
	Discord  ID       `yaml:"discord"`
	Roles    []string `yaml:"roles"`
}

// ChannelsConfig holds the chat platforms. One whose bot token is empty is off.
type ChannelsConfig struct {
	Telegram TelegramConfig `yaml:"telegram"`
	Discord  DiscordConfig  `yaml:"discord"`
}

// TelegramConfig is the Telegram bot.
type TelegramConfig struct {
	BotToken       Secret  `yaml:"botToken" unset:"empty"`
	BotTokenFile   string  `yaml:"botTokenFile"`
	APIURL         string  `yaml:"apiUrl"`
	AllowedUserIDs []ID    `yaml:"allowedUserIds"`
	Updates        Updates `yaml:"updates" oneof:"polling"`
}

// On reports whether the bot runs.
func (t TelegramConfig) On() bool { return t.BotToken != "" }

// DiscordConfig is the Discord bot.
type DiscordConfig struct {
	BotToken       Secret  `yaml:"botToken" unset:"empty"`
	BotTokenFile   string  `yaml:"botTokenFile"`
	APIURL         string  `yaml:"apiUrl"`
	AllowedUserIDs []ID    `yaml:"allowedUserIds"`
	AllowedRoleIDs []ID    `yaml:"allowedRoleIds"`
	Updates        Updates `yaml:"updates" oneof:"gateway"`
}

// On reports whether the bot runs.
func (d DiscordConfig) On() bool { return d.BotToken != "" }

// AgentsConfig says what is known of single agents.
type AgentsConfig struct {
	List []AgentConfig `yaml:"list"`
}

// AgentConfig is one agent: what counts as local to it, and where policy is
// stricter with it than with others.
type AgentConfig struct {
	ID        string               `yaml:"id"`
	Workspace Patterns             `yaml:"workspace"` // paths; what counts as local
	Sandboxed bool                 `yaml:"sandboxed"` // the operator's word that its commands are confined
	Tools     AgentToolsConfig     `yaml:"tools"`
	Approvals AgentApprovalsConfig `yaml:"approvals"`
}

// AgentApprovalsConfig overrides approvals.tools for one agent: of the two values
// the stricter one counts. Keys that are left out override nothing.
type AgentApprovalsConfig struct {
	Mode         string            `yaml:"mode" oneof:"off|adaptive|always"`
	MinApprovals int               `yaml:"minApprovals"`
	Policy       AgentPolicyConfig `yaml:"policy"`
}

// AgentPolicyConfig overrides approvals.tools.policy for one agent.
type AgentPolicyConfig struct {
	RequireApprovalAtOrAbove      Risk           `yaml:"requireApprovalAtOrAbove"`
	DenyAtOrAbove                 Risk           `yaml:"denyAtOrAbove"`
	RequireHumanApproverAtOrAbove Risk           `yaml:"requireHumanApproverAtOrAbove"`
	MinApprovalsByRisk            map[string]int `yaml:"minApprovalsByRisk"`
}

// ApprovalsConfig is what asks people, and whom.
type ApprovalsConfig struct {
	Tools       *ApprovalToolsConfig `yaml:"tools"` // nil: approvals are disabled
	Exec        ExecConfig           `yaml:"exec"`
	AgentShield AgentShieldConfig    `yaml:"agentshield"`
}

// Enabled reports whether anything may be asked at all.
func (a ApprovalsConfig) Enabled() bool { return a.Tools != nil && a.Tools.Enabled }

// ApprovalToolsConfig is the approvals.tools block of the adaptive approval.
type ApprovalToolsConfig struct {
	Enabled           bool             `yaml:"enabled"`
	Mode              string           `yaml:"mode" oneof:"off|adaptive|always"`
	TimeoutMs         int64            `yaml:"timeoutMs"`
	MaxTimeoutMs      int64            `yaml:"maxTimeoutMs"`
	RetryWindow       Duration         `yaml:"retryWindow"`
	AllowedApprovers  []string         `yaml:"allowedApprovers" oneof:"user_request|rules_based|llm_evaluation"`
	DisabledApprovers []string         `yaml:"disabledApprovers" oneof:"user_request|rules_based|llm_evaluation"`
	MinApprovals      int              `yaml:"minApprovals"`
	ClampMinApprovals bool             `yaml:"clampMinApprovals"`
	SelfApproval      string           `yaml:"selfApproval" oneof:"block|solo"`
	Classifier        ClassifierConfig `yaml:"classifier"`
	Policy            PolicyConfig     `yaml:"policy"`
	Rules             []RuleConfig     `yaml:"rules"`
	Routing           RoutingConfig    `yaml:"routing"`
}

// Format prints the block as %+v does, whatever the verb. Behind a pointer, fmt
// would print what a verb does not fit without asking Secret how.
func (t ApprovalToolsConfig) Format(f fmt.State, _ rune) {
	type plain ApprovalToolsConfig
	_, _ = fmt.Fprintf(f, "%+v", plain(t))
}

// PolicyConfig says from which risk class on what happens.
type PolicyConfig struct {
	RequireApprovalAtOrAbove        Risk           `yaml:"requireApprovalAtOrAbove"`
	DenyAtOrAbove                   Risk           `yaml:"denyAtOrAbove"` // unset: nothing is denied for its class
	RequireApprovalForExternalWrite bool           `yaml:"requireApprovalForExternalWrite"`
	RequireApprovalForMessagingSend bool           `yaml:"requireApprovalForMessagingSend"`
	RequireHumanApproverAtOrAbove   Risk           `yaml:"requireHumanApproverAtOrAbove"`
	MinApprovalsByRisk              map[string]int `yaml:"minApprovalsByRisk"`
	ProjectCode                     string         `yaml:"projectCode" oneof:"allow|ask"`
}

// RoutingConfig says where cards go.
type RoutingConfig struct {
	Mode          string   `yaml:"mode" oneof:"session|targets|both"`
	Targets       []Place  `yaml:"targets"`
	Fallback      []Place  `yaml:"fallback"`
	FallbackAfter Duration `yaml:"fallbackAfter"`
	AuditChats    []Place  `yaml:"auditChats"` // get the day's first checkpoint of the log
}

// ExecConfig is the legacy override for tool exec.
type ExecConfig struct {
	Security    string       `yaml:"security" oneof:"deny|allowlist|full"`
	Ask         string       `yaml:"ask" oneof:"off|on-miss|always"`
	AskFallback string       `yaml:"askFallback" oneof:"deny|allowlist|full"`
	Allowlist   []AllowEntry `yaml:"allowlist"`
	SafeBins    []string     `yaml:"safeBins"`
}

// AgentShieldConfig is the fingerprint-only dialect.
type AgentShieldConfig struct {
	Enabled bool    `yaml:"enabled"`
	Targets []Place `yaml:"targets"`
}

// Risk is a threshold: a risk class, or none.
type Risk struct {
	Class core.RiskClass
	Set   bool
}

// Reaches reports whether the class is at or above the threshold.
func (r Risk) Reaches(c core.RiskClass) bool { return r.Set && c >= r.Class }
