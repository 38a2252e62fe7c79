// Package config reads the configuration file: its keys and their types, defaults,
// strict decoding, overrides by the environment, and mistakes that name file, line
// and key. Package config/effective interprets it.
package config

import (
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// Config is the configuration as the YAML document has it, every omitted key
// filled with its default, every ${NAME} and …File resolved. It is a plain
// value; package config/effective interprets it for the other packages.
type Config struct {
	File string // the path it was read from

	Server    Server    `yaml:"server"`
	Store     Store     `yaml:"store"`
	People    []Person  `yaml:"people"`
	Channels  Channels  `yaml:"channels"`
	Agents    Agents    `yaml:"agents"`
	Tools     Tools     `yaml:"tools"`
	Approvals Approvals `yaml:"approvals"`
}

// SocketOff is the server.socket of a desk without a Unix socket.
const SocketOff = "off"

// SocketFile is the path of the desk's Unix socket; empty if it has none.
func (c Config) SocketFile() string {
	switch db := c.DatabaseFile(); {
	case c.Server.Socket == SocketOff:
		return ""
	case c.Server.Socket != "" || db == "":
		return c.Server.Socket
	default:
		return filepath.Join(filepath.Dir(db), "approvalbot.sock")
	}
}

// TLS names the server's certificate. Both files, or neither.
type TLS struct {
	CertFile string `yaml:"certFile"`
	KeyFile  string `yaml:"keyFile"`
}

// Limits holds for each token.
type Limits struct {
	Pending           int `yaml:"pending"`
	RequestsPerSecond int `yaml:"requestsPerSecond"`
}

// Token is one API token. The name owns the token's approvals and outlives a change
// of the secret.
type Token struct {
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
	MayConfine         bool     `yaml:"mayConfine"`     // context.confine counts: its calls may be allowed confined
	TrustToolHints     bool     `yaml:"trustToolHints"` // context.tool may lower a call's class
}

// Store configures the database that keeps approvals.
type Store struct {
	URL       string    `yaml:"url"`
	KeyFile   string    `yaml:"keyFile"`
	Retention Retention `yaml:"retention"`
}

// Retention is how long ended approvals and the log are kept; 0 means for ever.
type Retention struct {
	Approvals Duration `yaml:"approvals"`
	Audit     Duration `yaml:"audit"`
}

// Person is a human and their accounts: one person, one vote.
type Person struct {
	Name     string        `yaml:"name"`
	Accounts map[string]ID `by:"platform"` // each under the platform's name
	Roles    []string      `yaml:"roles"`
	Email    string        `yaml:"email"` // by which duty calendars and server.web.oidc name them
	Timezone string        `yaml:"timezone"`
	Quiet    string        `yaml:"quiet"` // 22:00-07:00, in Timezone unless it names another
}

// Channels holds the bots, by the names of their platforms. There is one for each row of
// package platform; one without a token is off.
type Channels struct {
	Bots map[string]Channel `by:"platform"`
}

// Channel is a platform's bot.
type Channel struct {
	BotToken       Secret  `yaml:"botToken" unset:"empty"`
	BotTokenFile   string  `yaml:"botTokenFile"`
	APIURL         string  `yaml:"apiUrl"`
	AllowedUserIDs []ID    `yaml:"allowedUserIds"`
	AllowedRoleIDs []ID    `yaml:"allowedRoleIds" only:"some"`
	Updates        Updates `yaml:"updates"`
}

// On reports whether the bot runs.
func (c Channel) On() bool { return c.BotToken != "" }

// SameBot reports whether two settings are of the same bot, which gets its updates the same
// way. Those of the people who may decide do not count.
func (c Channel) SameBot(other Channel) bool {
	return c.BotToken == other.BotToken && c.APIURL == other.APIURL && c.Updates == other.Updates
}

// Each are the bots after a change to each of them; the old ones stay as they are.
func (c Channels) Each(change func(name string, bot *Channel)) Channels {
	out := Channels{Bots: make(map[string]Channel, len(c.Bots))}
	for name, bot := range c.Bots {
		change(name, &bot)
		out.Bots[name] = bot
	}
	return out
}

// Agents configures single agents.
type Agents struct {
	List []Agent `yaml:"list"`
}

// Agent is one agent: what counts as local to it, and the rules that are
// stricter for it than for others.
type Agent struct {
	ID        string         `yaml:"id"`
	Workspace Patterns       `yaml:"workspace"` // paths that count as local
	Sandboxed bool           `yaml:"sandboxed"` // the operator's word that its commands are confined
	Confine   AgentConfine   `yaml:"confine"`
	Tools     AgentTools     `yaml:"tools"`
	Approvals AgentApprovals `yaml:"approvals"`
}

// AgentConfine is another mode of approvals.tools.confine for one agent.
type AgentConfine struct {
	Mode string `yaml:"mode" oneof:"off|unsure|always"` // empty means that of all
}

// Confine selects the calls that run confined if their askers can confine them.
type Confine struct {
	Mode       string   `yaml:"mode" oneof:"off|unsure|always"`
	Readable   []string `yaml:"readable"`   // names of files that are not hidden as secrets
	Toolchains []string `yaml:"toolchains"` // absolute folders that confined calls may read
}

// AgentApprovals overrides approvals.tools for one agent: of the two values the
// stricter one counts. A key that is left out has no effect.
type AgentApprovals struct {
	Mode         string      `yaml:"mode" oneof:"off|adaptive|always"`
	MinApprovals int         `yaml:"minApprovals"`
	Policy       AgentPolicy `yaml:"policy"`
}

// AgentPolicy overrides approvals.tools.policy for one agent.
type AgentPolicy struct {
	RequireApprovalAtOrAbove      Risk           `yaml:"requireApprovalAtOrAbove"`
	DenyAtOrAbove                 Risk           `yaml:"denyAtOrAbove"`
	RequireHumanApproverAtOrAbove Risk           `yaml:"requireHumanApproverAtOrAbove"`
	StepUpAtOrAbove               Risk           `yaml:"stepUpAtOrAbove" unset:"empty"`
	MinApprovalsByRisk            map[string]int `yaml:"minApprovalsByRisk"`
}

// Approvals configures which calls ask people, and which people.
type Approvals struct {
	Tools       *ApprovalTools `yaml:"tools"` // nil if approvals are disabled
	Exec        Exec           `yaml:"exec"`
	AgentShield AgentShield    `yaml:"agentshield"`
}

// Enabled reports whether approvals are enabled at all.
func (a Approvals) Enabled() bool { return a.Tools != nil && a.Tools.Enabled }

// ApprovalTools is the approvals.tools block of the adaptive approval.
type ApprovalTools struct {
	Enabled           bool       `yaml:"enabled"`
	Mode              string     `yaml:"mode" oneof:"off|adaptive|always"`
	TimeoutMs         int64      `yaml:"timeoutMs"`
	MaxTimeoutMs      int64      `yaml:"maxTimeoutMs"`
	RetryWindow       Duration   `yaml:"retryWindow"`
	AllowedApprovers  []string   `yaml:"allowedApprovers" oneof:"user_request|rules_based|llm_evaluation"`
	DisabledApprovers []string   `yaml:"disabledApprovers" oneof:"user_request|rules_based|llm_evaluation"`
	MinApprovals      int        `yaml:"minApprovals"`
	ClampMinApprovals bool       `yaml:"clampMinApprovals"`
	SelfApproval      string     `yaml:"selfApproval" oneof:"block|solo"`
	Classifier        Classifier `yaml:"classifier"`
	Confine           Confine    `yaml:"confine"`
	Policy            Policy     `yaml:"policy"`
	Rules             []Rule     `yaml:"rules"`
	Routing           Routing    `yaml:"routing"`
	OnDuty            []Roster   `yaml:"onDuty"`
	SLO               SLO        `yaml:"slo"`
	Drill             Drill      `yaml:"drill"`
}

// Format prints the block as %+v does, for every verb. Behind a pointer, fmt
// would print what a verb does not fit without asking Secret how.
func (t ApprovalTools) Format(f fmt.State, _ rune) {
	type plain ApprovalTools
	_, _ = fmt.Fprintf(f, "%+v", plain(t))
}

// Policy sets the treatment of calls, mostly from a risk class on.
type Policy struct {
	RequireApprovalAtOrAbove        Risk           `yaml:"requireApprovalAtOrAbove"`
	DenyAtOrAbove                   Risk           `yaml:"denyAtOrAbove"` // unset: no class is denied for itself
	RequireApprovalForExternalWrite bool           `yaml:"requireApprovalForExternalWrite"`
	RequireApprovalForMessagingSend bool           `yaml:"requireApprovalForMessagingSend"`
	RequireHumanApproverAtOrAbove   Risk           `yaml:"requireHumanApproverAtOrAbove"`
	MinApprovalsByRisk              map[string]int `yaml:"minApprovalsByRisk"`
	AgentInstructions               string         `yaml:"agentInstructions" oneof:"ask|allow"`
	ProjectCode                     string         `yaml:"projectCode" oneof:"allow|ask|confined"`
	StepUpAtOrAbove                 Risk           `yaml:"stepUpAtOrAbove" unset:"empty"` // or none
	BreaksQuietAtOrAbove            Risk           `yaml:"breaksQuietAtOrAbove"`
}

// Routing configures the chats that cards go to, and the people who are told of an
// undecided one.
type Routing struct {
	Mode          string       `yaml:"mode" oneof:"session|targets|both"`
	Targets       []Place      `yaml:"targets" oneof:"timezone"` // they may have a timezone
	Fallback      []Place      `yaml:"fallback"`
	FallbackAfter Duration     `yaml:"fallbackAfter"`
	AuditChats    []Place      `yaml:"auditChats"` // get the day's first checkpoint of the log
	RemindAfter   []Duration   `yaml:"remindAfter"`
	Escalate      []Escalation `yaml:"escalate"`
	DigestAbove   int          `yaml:"digestAbove"` // 0 means never
}

// Escalation asks more people about a request that is still undecided after a
// while.
type Escalation struct {
	After Duration `yaml:"after"`
	To    string   `yaml:"to"` // onDuty, onDuty:NAME, role:NAME, or a chat
}

// Exec is the legacy override for tool exec.
type Exec struct {
	Security    string       `yaml:"security" oneof:"deny|allowlist|full"`
	Ask         string       `yaml:"ask" oneof:"off|on-miss|always"`
	AskFallback string       `yaml:"askFallback" oneof:"deny|allowlist|full"`
	Allowlist   []AllowEntry `yaml:"allowlist"`
	SafeBins    []string     `yaml:"safeBins"`
	Strict      bool         `yaml:"strict"` // the table's external reads (R2) are no hits
}

// AgentShield is the fingerprint-only dialect.
type AgentShield struct {
	Enabled bool    `yaml:"enabled"`
	Targets []Place `yaml:"targets"`
}

// HasToken reports whether callers may use that token.
func (c Config) HasToken(token string) bool { return c.TokenName(token) != "" }

// TokenName is the name of that token; empty if callers may not use it.
func (c Config) TokenName(token string) string {
	for _, t := range c.Server.Tokens {
		if string(t.Token) == token {
			return t.Name
		}
	}
	return ""
}

// DatabaseFile is the path of the SQLite file; empty for a store in memory.
func (c Config) DatabaseFile() string {
	path, sqlite := strings.CutPrefix(c.Store.URL, "sqlite:")
	if !sqlite || path == ":memory:" {
		return ""
	}
	return path
}

// ApprovalTools gives the approvals.tools block, or its defaults.
func (c Config) ApprovalTools() ApprovalTools {
	if c.Approvals.Tools != nil {
		return *c.Approvals.Tools
	}
	var t ApprovalTools
	t.setDefaults()
	return t
}

// LocalURL is the address at which a running desk answers on this machine.
func (c Config) LocalURL() string {
	scheme := "http"
	if c.Server.TLS.CertFile != "" {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(c.Server.Listen)
	if err != nil {
		return scheme + "://" + c.Server.Listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// EffectiveApprovers gives the factors that may vote.
func (t ApprovalTools) EffectiveApprovers() []string {
	return slices.DeleteFunc(slices.Clone(t.AllowedApprovers), func(f string) bool {
		return slices.Contains(t.DisabledApprovers, f)
	})
}
