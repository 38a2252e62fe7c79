package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"approvalbot/core"
)

// rulesVersion is part of every policy's hash. Raise it with every change of
// the built-in tables or of how calls are read.
const rulesVersion = "1"

// Config is what the operator says about policy. The zero value of each field
// is its default; docs/policy.md argues the defaults.
type Config struct {
	Enabled bool   // false: every call is denied
	Mode    string // "off" (hard layers only), "adaptive" (default) or "always"

	AllowedApprovers   []core.Factor // default: user_request, rules_based
	DisabledApprovers  []core.Factor
	MinApprovals       int // default: 1
	MinApprovalsByRisk map[core.RiskClass]int
	ClampMinApprovals  bool // counted into the hash; the tally, which knows the people, obeys it

	RequireApprovalAtOrAbove        *core.RiskClass // default: R3
	DenyAtOrAbove                   *core.RiskClass // default: nothing is denied for its class
	RequireHumanApproverAtOrAbove   *core.RiskClass // default: R3
	RequireApprovalForExternalWrite *bool           // default: true
	RequireApprovalForMessagingSend *bool           // default: true

	ToolsAllow []string // not empty: every other tool is denied
	ToolsDeny  []string // wins over ToolsAllow; "*" is every tool

	ExecSecurity string // "deny", "allowlist" (default) or "full"
	ExecAsk      string // "off", "on-miss" (default) or "always"

	Workspaces map[string]string // agent id to the absolute path of its workspace
	Protected  Protected
}

// Protected names the desk itself. A call that touches any of it is R4.
type Protected struct {
	Files    []string // absolute paths: configuration, key, database
	Port     string   // the API's port, also as "host:port"
	Programs []string // the desk's programs; default: approvalbot
}

// normal fills in the defaults, sorts what is a set, and names every mistake.
func (c Config) normal() (Config, error) {
	var bad []error
	fail := func(format string, args ...any) { bad = append(bad, fmt.Errorf(format, args...)) }
	word := func(s *string, key, fallback string, words ...string) {
		if *s == "" {
			*s = fallback
		}
		if !slices.Contains(words, *s) {
			fail("%s must be one of %s", key, strings.Join(words, ", "))
		}
	}
	word(&c.Mode, "mode", "adaptive", "off", "adaptive", "always")
	word(&c.ExecSecurity, "exec.security", "allowlist", "deny", "allowlist", "full")
	word(&c.ExecAsk, "exec.ask", "on-miss", "off", "on-miss", "always")

	if c.AllowedApprovers == nil {
		c.AllowedApprovers = []core.Factor{core.UserRequest, core.RulesBased}
	}
	c.AllowedApprovers = sorted(c.AllowedApprovers)
	c.DisabledApprovers = sorted(c.DisabledApprovers)
	for _, f := range append(slices.Clone(c.AllowedApprovers), c.DisabledApprovers...) {
		if f != core.UserRequest && f != core.RulesBased && f != core.LLMEvaluation {
			fail("allowedApprovers and disabledApprovers know user_request, rules_based and llm_evaluation, not %q", f)
		}
	}
	if c.MinApprovals == 0 {
		c.MinApprovals = 1
	}
	if c.MinApprovals < 0 {
		fail("minApprovals must be at least 1")
	}
	c.MinApprovalsByRisk = maps.Clone(c.MinApprovalsByRisk)
	for r, n := range c.MinApprovalsByRisk {
		if !known(r) || n < 1 {
			fail("minApprovalsByRisk must map R0 to R4 to numbers of at least 1")
		}
	}
	for _, t := range []struct {
		key      string
		class    **core.RiskClass
		fallback *core.RiskClass
	}{
		{"requireApprovalAtOrAbove", &c.RequireApprovalAtOrAbove, new(core.R3)},
		{"denyAtOrAbove", &c.DenyAtOrAbove, nil},
		{"requireHumanApproverAtOrAbove", &c.RequireHumanApproverAtOrAbove, new(core.R3)},
	} {
		if *t.class == nil {
			*t.class = t.fallback
		} else if !known(**t.class) {
			fail("%s must be R0 to R4", t.key)
		} else {
			*t.class = new(**t.class)
		}
	}
	for _, b := range []**bool{&c.RequireApprovalForExternalWrite, &c.RequireApprovalForMessagingSend} {
		*b = new(*b == nil || **b)
	}
	bad = append(bad, c.normalLists()...)
	return c, errors.Join(bad...)
}

// normalLists is normal for tools, workspaces and what is protected.
func (c *Config) normalLists() (bad []error) {
	c.ToolsAllow, c.ToolsDeny = sorted(c.ToolsAllow), sorted(c.ToolsDeny)
	for _, name := range append(slices.Clone(c.ToolsAllow), c.ToolsDeny...) {
		if name != "*" && (name == "" || strings.ContainsAny(name, "*?[]{} ") || strings.HasPrefix(name, "group:")) {
			bad = append(bad, fmt.Errorf("tools.allow and tools.deny take exact tool names or \"*\", not %q", name))
		}
	}
	c.Workspaces = maps.Clone(c.Workspaces)
	for agent, dir := range c.Workspaces {
		clean := path.Clean(dir)
		if dir == "" {
			delete(c.Workspaces, agent)
			continue
		}
		if !path.IsAbs(dir) || clean == "/" {
			bad = append(bad, fmt.Errorf("the workspace of agent %q must be an absolute path below /", agent))
		}
		c.Workspaces[agent] = clean
	}
	p := &c.Protected
	if p.Programs == nil {
		p.Programs = []string{"approvalbot"}
	}
	p.Programs, p.Files = sorted(p.Programs), sorted(p.Files)
	for i, f := range p.Files {
		if !path.IsAbs(f) {
			bad = append(bad, fmt.Errorf("the desk's own file %q must be given with its absolute path", f))
		}
		p.Files[i] = path.Clean(f)
	}
	if p.Port != "" {
		_, err := strconv.ParseUint(p.Port[strings.LastIndexByte(p.Port, ':')+1:], 10, 16)
		if err != nil {
			bad = append(bad, errors.New("the desk's port must be a number"))
		}
	}
	return bad
}

// hash names the policy that a normal Config makes.
func (c Config) hash() (string, error) {
	b, err := json.Marshal(struct {
		Rules  string
		Config Config
	}{rulesVersion, c})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

func known(r core.RiskClass) bool { return r >= core.R0 && r <= core.R4 }

// sorted gives the list as a set in order, never nil.
func sorted[S ~string](list []S) []S {
	out := append([]S{}, list...)
	slices.Sort(out)
	return slices.Compact(out)
}
