package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/workspace"
)

// Config is what the operator says about policy. The zero value of each field
// is its default; docs/policy.md argues the defaults.
type Config struct {
	Enabled bool   // false: every call is denied
	Mode    string // "off" (hard layers only), "adaptive" (default) or "always"

	AllowedApprovers   []approval.Factor // default: user_request, rules_based
	DisabledApprovers  []approval.Factor
	MinApprovals       int // default: 1
	MinApprovalsByRisk map[approval.RiskClass]int
	ClampMinApprovals  bool // counted into the hash; the tally, which knows the people, obeys it

	RequireApprovalAtOrAbove        *approval.RiskClass // default: R3
	DenyAtOrAbove                   *approval.RiskClass // default: no call is denied for its class
	RequireHumanApproverAtOrAbove   *approval.RiskClass // default: R3
	StepUpAtOrAbove                 *approval.RiskClass // default: no yes must be signed by a passkey for its class
	RequireApprovalForExternalWrite *bool               // default: true
	RequireApprovalForMessagingSend *bool               // default: true
	AgentInstructions               string              // changes of what tells agents what to do, as AGENTS.md: "ask" (default) or "allow"
	ProjectCode                     string              // what runs the workspace's own code: "allow" (default), "ask", or "confined": it asks if it cannot run confined

	ToolsAllow []string // not empty: every other tool is denied; names, globs with *, and group:name
	ToolsDeny  []string // wins over ToolsAllow; the same, and exec is every tool that runs commands
	Layers     Layers   // the other hard layers

	ExecSecurity    string   // "deny", "allowlist" (default) or "full"
	ExecAsk         string   // "off", "on-miss" (default) or "always"
	ExecAskFallback string   // "deny" (default), "allowlist" or "full": what happens if no approver can be asked
	ExecAllowlist   []string // what is a hit: a program, a glob for its absolute path, or a command's first words; no wrapper or interpreter
	ExecStrict      bool     // only what reads and changes the workspace alone (R1) is a hit by itself, and not what the table knows up to R2
	ExecSafeBins    []string // programs that are a hit as long as they are given options and numbers only

	Rules      []Rule   // the operator's own, in order; the first that matches counts
	Roles      []string // the roles that people have, to check the rules' roles
	Classifier ClassifierRules

	// TrustToolHints names the tokens whose word about a tool (context.tool) may lower a
	// call's class: a server's hints, and which well-known server it is.
	TrustToolHints []string

	Workspaces map[string][]string // agent id to the absolute paths of its workspaces
	Sandboxed  []string            // ids of agents whose commands are confined, on the operator's word
	Confine    Confine             `json:",omitzero"`
	Protected  workspace.Protected

	// Beside is what else decides about calls, outside of this room, as text without
	// secrets: who may approve, the verifier, routing. It is counted into the hash.
	Beside string

	// Clock tells the time to rules with During; nil: [time.Now].
	Clock func() time.Time `json:"-"`
}

// Layer is one hard layer: it takes tools away.
type Layer struct {
	Profile string   // "minimal", "coding", "messaging", "full"; empty: no opinion
	Allow   []string // not empty: every other tool is denied; names, globs with *, and group:name
	Deny    []string // wins over Allow
}

// Layers are the hard layers beside ToolsAllow and ToolsDeny, in the order in
// which they are applied. Each can only take away.
type Layers struct {
	Profile          string            // tools.profile
	ProviderProfiles map[string]string // tools.providerProfiles: context.provider, or provider/model, to a profile
	Providers        map[string]Layer  // tools.providers, by the same
	Agents           map[string]AgentLayer
	Groups           map[string]Layer // by context.group
	Sandbox          Layer            // calls with context.sandboxed
	Subagent         Layer            // calls with context.subagent
}

// AgentLayer is what the operator says of one agent; it can only tighten.
type AgentLayer struct {
	Layer
	Providers map[string]Layer

	// Overrides of the decision: the stricter value counts. If empty, nil or 0, the general
	// value counts.
	Mode                          string
	RequireApprovalAtOrAbove      *approval.RiskClass
	DenyAtOrAbove                 *approval.RiskClass
	RequireHumanApproverAtOrAbove *approval.RiskClass
	StepUpAtOrAbove               *approval.RiskClass
	MinApprovals                  int
	MinApprovalsByRisk            map[approval.RiskClass]int
}

// Rule is one of the operator's own rules. Exactly one of Risk, Outcome and Approve says
// what it does; SideEffects, Role, MinApprovals and StepUp may be set as well. A rule
// loosens a call if it allows or approves it, or lowers its class. A rule that may loosen
// (allow, approve, a risk below R3) must name tools or commands exactly. It counts only if
// all of the call is what it names, never for R4, and never against a deny.
type Rule struct {
	Name   string // 1 to 64 letters, digits, ".", "_", "-"; unique
	Match  Match
	When   string // CEL over the call, true if the rule matches; empty: always
	During During // when it matches; empty: always

	Risk    *approval.RiskClass
	Outcome string // "allow", "ask" or "deny"
	Approve bool   // the factor rules_based approves

	SideEffects  []approval.SideEffect // added to what was found
	MinApprovals int                   // the call is asked, and at least so many people must say yes, of the role if one is named
	Role         string                // one of Config.Roles
	StepUp       bool                  // the call is asked, and a person's yes counts only if their passkey signed it
	Confine      bool                  `json:",omitempty"` // with outcome ask: after the yes it runs confined, if its asker can
}

// Confine says what the operator wants of calls whose askers can confine them.
type Confine struct {
	Mode       string            // "off" (default), "unsure": what is only not understood runs confined instead of asking, or "always": what is allowed and local, too
	Agents     map[string]string `json:",omitempty"` // agent id to another Mode
	Tokens     []string          `json:",omitempty"` // that may say that they confine; for the hash, since the Gate goes by its callers
	Readable   []string          `json:",omitempty"` // names of files of the workspace that are not hidden as secrets, as ".env.example"
	Toolchains []string          `json:",omitempty"` // absolute folders that confined calls may read
}

// During says when a rule matches: in each week (Weekly, Timezone), or once (From, To).
type During struct {
	Weekly   string // "Fri 16:00-Mon 08:00"
	Timezone string // of Weekly; beside From and To only for saying when it ends
	From, To string // RFC 3339; without From it has begun
}

// Match says which calls a rule is about. Every field that is not empty must fit, and a
// field fits if one of its patterns does. If a call cannot be read well enough to tell, a
// rule that tightens fits and a rule that loosens does not.
type Match struct {
	Tool    []string // folded tool names; globs with *, group:name
	Command []string // words of one command, a last "*" for any further ones; a rule that loosens must fit every command that is not harmless, one that tightens any
	Path    []string // clean absolute paths, or relative to the workspace; * within a name, ** across
	Host    []string // host names that the call names; "*.example.com"
	Agent   []string // exact
	Session []string // exact, or a prefix that ends in *
}

// ClassifierRules says what a classifier's opinion is worth.
type ClassifierRules struct {
	Enabled         bool
	MinConfidence   float64 // default: 0.72
	OnLowConfidence string  // "require_approval" (default), "deny" or "allow"
}

// normal fills in the defaults, sorts what is a set, and names every mistake.
func (c Config) normal() (_ Config, bad Mistakes) {
	bad = append(bad, c.normalWords()...)
	bad = append(bad, c.normalApprovers()...)
	bad = append(bad, c.normalClasses()...)
	for _, b := range []**bool{&c.RequireApprovalForExternalWrite, &c.RequireApprovalForMessagingSend} {
		*b = new(*b == nil || **b)
	}
	bad = append(bad, c.normalLists()...)
	bad = append(bad, c.normalAgents()...)
	if c.Classifier.MinConfidence == 0 {
		c.Classifier.MinConfidence = 0.72
	}
	if m := c.Classifier.MinConfidence; !(m > 0 && m <= 1) {
		bad.key("tools.classifier.minConfidence", "must be above 0 and at most 1")
	}
	return c, bad
}

// normalWords fills in and checks the keys whose value is one of some words.
func (c *Config) normalWords() (bad Mistakes) {
	word := func(s *string, key, fallback string, words ...string) {
		if *s == "" {
			*s = fallback
		}
		if !slices.Contains(words, *s) {
			bad.key(key, "must be one of %s", strings.Join(words, ", "))
		}
	}
	word(&c.Mode, "tools.mode", "adaptive", "off", "adaptive", "always")
	word(&c.AgentInstructions, "tools.policy.agentInstructions", "ask", "ask", "allow")
	word(&c.ProjectCode, "tools.policy.projectCode", "allow", "allow", "ask", "confined")
	word(&c.Confine.Mode, "tools.confine.mode", "off", confineModes...)
	for id, mode := range c.Confine.Agents {
		if !slices.Contains(confineModes, mode) {
			bad.add([]string{"agents", id, "confine"}, fmt.Sprintf("confine.mode of agent %q ", id), "must be one of %s", strings.Join(confineModes, ", "))
		}
	}
	for _, dir := range c.Confine.Toolchains {
		if !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/" {
			bad.key("tools.confine.toolchains", "must be absolute paths below /, and %q is not one", dir)
		}
	}
	for _, name := range c.Confine.Readable {
		if name == "" || path.Base(name) != name || name == "." || name == ".." {
			bad.key("tools.confine.readable", "must be names of files without a folder, and %q is not one", name)
		}
	}
	word(&c.ExecSecurity, "exec.security", "allowlist", "deny", "allowlist", "full")
	word(&c.ExecAsk, "exec.ask", "on-miss", "off", "on-miss", "always")
	word(&c.ExecAskFallback, "exec.askFallback", "deny", "deny", "allowlist", "full")
	word(&c.Classifier.OnLowConfidence, "tools.classifier.onLowConfidence", "require_approval", "require_approval", "deny", "allow")
	return bad
}

// normalApprovers fills in and checks who may approve, and how many must.
func (c *Config) normalApprovers() (bad Mistakes) {
	if c.AllowedApprovers == nil {
		c.AllowedApprovers = []approval.Factor{approval.UserRequest, approval.RulesBased}
	}
	c.AllowedApprovers = sorted(c.AllowedApprovers)
	c.DisabledApprovers = sorted(c.DisabledApprovers)
	for _, f := range append(slices.Clone(c.AllowedApprovers), c.DisabledApprovers...) {
		if f != approval.UserRequest && f != approval.RulesBased && f != approval.LLMEvaluation {
			bad.add([]string{"approvals", "tools", "allowedApprovers"}, "",
				"allowedApprovers and disabledApprovers know user_request, rules_based and llm_evaluation, not %q", f)
		}
	}
	if c.MinApprovals == 0 {
		c.MinApprovals = 1
	}
	if c.MinApprovals < 0 {
		bad.key("tools.minApprovals", "must be at least 1")
	}
	c.MinApprovalsByRisk = maps.Clone(c.MinApprovalsByRisk)
	for r, n := range c.MinApprovalsByRisk {
		if !known(r) || n < 1 {
			bad.key("tools.policy.minApprovalsByRisk", "must map R0 to R4 to numbers of at least 1")
		}
	}
	return bad
}

// normalClasses fills in and checks the risk classes from which something is required.
func (c *Config) normalClasses() (bad Mistakes) {
	for _, t := range []struct {
		key      string
		class    **approval.RiskClass
		fallback *approval.RiskClass
	}{
		{"requireApprovalAtOrAbove", &c.RequireApprovalAtOrAbove, new(approval.R3)},
		{"denyAtOrAbove", &c.DenyAtOrAbove, nil},
		{"requireHumanApproverAtOrAbove", &c.RequireHumanApproverAtOrAbove, new(approval.R3)},
		{"stepUpAtOrAbove", &c.StepUpAtOrAbove, nil},
	} {
		if *t.class == nil {
			*t.class = t.fallback
		} else if !known(**t.class) {
			bad.key("tools.policy."+t.key, "must be R0 to R4")
		} else {
			*t.class = new(**t.class)
		}
	}
	return bad
}

// normalAgents checks what is said about single agents.
func (c *Config) normalAgents() (bad Mistakes) {
	for id, a := range c.Layers.Agents {
		wrong := func(key, must string) {
			bad.add([]string{"agents", id, "approvals"}, fmt.Sprintf("%s of agent %q ", key, id), "must be %s", must)
		}
		if a.Mode != "" && !slices.Contains(modes, a.Mode) {
			wrong("mode", "one of "+strings.Join(modes, ", "))
		}
		for _, class := range []*approval.RiskClass{a.RequireApprovalAtOrAbove, a.DenyAtOrAbove, a.RequireHumanApproverAtOrAbove,
			a.StepUpAtOrAbove} {
			if class != nil && !known(*class) {
				wrong("each threshold", "R0 to R4")
			}
		}
		if a.MinApprovals < 0 {
			wrong("minApprovals", "at least 1")
		}
		for r, n := range a.MinApprovalsByRisk {
			if !known(r) || n < 1 {
				wrong("minApprovalsByRisk", "a map of R0 to R4 to numbers of at least 1")
			}
		}
	}
	return bad
}

// normalLists is normal for tools, workspaces and what is protected.
func (c *Config) normalLists() (bad Mistakes) {
	c.TrustToolHints = sorted(c.TrustToolHints)
	c.ToolsAllow, c.ToolsDeny = sorted(c.ToolsAllow), sorted(c.ToolsDeny)
	c.Workspaces = maps.Clone(c.Workspaces)
	for agent, dirs := range c.Workspaces {
		c.Workspaces[agent] = nil
		for _, dir := range dirs {
			if !path.IsAbs(dir) || path.Clean(dir) == "/" {
				bad.add([]string{"agents", agent, "workspace"}, fmt.Sprintf("each workspace of agent %q ", agent),
					"must be an absolute path below /")
			}
			if dir = path.Clean(dir); !slices.Contains(c.Workspaces[agent], dir) {
				c.Workspaces[agent] = append(c.Workspaces[agent], dir)
			}
		}
	}
	c.Sandboxed = sorted(c.Sandboxed)
	p := &c.Protected
	if p.Programs == nil {
		p.Programs = workspace.Programs[:]
	}
	p.Programs, p.Files = sorted(p.Programs), sorted(p.Files)
	for i, f := range p.Files {
		if !path.IsAbs(f) {
			bad.add(nil, "", "the desk's own file %q must be given with its absolute path", f)
		}
		p.Files[i] = path.Clean(f)
	}
	if p.Port != "" {
		_, err := strconv.ParseUint(p.Port[strings.LastIndexByte(p.Port, ':')+1:], 10, 16)
		if err != nil {
			bad.add(nil, "", "the desk's port must be a number")
		}
	}
	return bad
}

// hash names the policy that a normal Config makes of this program: another
// configuration has another, and so has a program that judges otherwise.
func (c Config) hash() (string, error) { return c.hashOf(Build()) }

// hashOf is hash for a program of that build.
func (c Config) hashOf(build string) (string, error) {
	// Each instance has its own files and its own address. Instances that protect different
	// ones still have the same policy.
	c.Protected.Files, c.Protected.Port = nil, ""
	b, err := json.Marshal(struct {
		Build  string
		Config Config
	}{build, c})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func known(r approval.RiskClass) bool { return r >= approval.R0 && r <= approval.R4 }

// sorted gives the list as a set in order, never nil.
func sorted[S ~string](list []S) []S {
	out := append([]S{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}

// modes in the order of their strictness.
var modes = []string{"off", "adaptive", "always"}
