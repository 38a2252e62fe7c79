package core

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// How much of the record a pattern is shown against.
const (
	maxPreview  = 50
	previewPage = 200
)

// PatternRequest is an operator's wish for a standing permission.
type PatternRequest struct {
	Owner    string
	AgentID  string
	ToolName string   // exec
	Pattern  []string // words of a command, see Fits
	MaxClass string   // "R0" to "R3"
	TTLMs    int64    // 0: until it is removed
	Preview  bool     // only show what it would have allowed
}

// PatternPreview shows what a pattern covers, and the grant if it was stored.
type PatternPreview struct {
	Grant   *approval.Grant
	Covers  []Covered
	Checked int // how many approvals on record were looked at
}

// Covered is a call on record that a pattern would have allowed.
type Covered struct {
	Code    string
	Summary string
	Class   approval.RiskClass
	Status  approval.Status
	Certain bool // false: the call itself is gone, only its program and subcommand are known to fit
}

// AddPattern stores an operator's pattern as a grant, or only shows what it
// would have allowed among the calls on record. A pattern never covers a wrapper
// or an interpreter: policy gives those calls no words to fit.
func (g Grants) AddPattern(ctx context.Context, who Caller, r PatternRequest) (PatternPreview, error) {
	if !who.MayDecide || who.Person == "" {
		return PatternPreview{}, approval.Refuse(approval.CodeForbidden,
			"This token may not grant: it needs the scope operator.approvals and a person.")
	}
	if _, err := g.gate.inForce(); err != nil {
		return PatternPreview{}, err
	}
	grant, err := g.gate.pattern(ctx, who, r)
	if err != nil {
		return PatternPreview{}, err
	}
	p, err := g.gate.preview(ctx, grant)
	if err != nil || r.Preview {
		return p, err
	}
	p.Grant = &grant
	return p, g.gate.store.AddGrant(ctx, grant, grant.Event(approval.EventGranted, "person:"+who.Person, grant.CreatedAtMs))
}

// pattern checks a request and makes the grant of it. Its subject comes from
// policy's own reading of the pattern as a command.
func (g *Gate) pattern(ctx context.Context, who Caller, r PatternRequest) (approval.Grant, error) {
	var bad []approval.FieldError
	check := func(ok bool, field, problem string) {
		if !ok {
			bad = append(bad, approval.FieldError{Field: field, Problem: problem})
		}
	}
	var class approval.RiskClass
	check(r.Owner != "", "owner", "must be the name of the asking token")
	check(r.ToolName == "exec", "toolName",
		"must be exec; other tools are granted by allow-session or allow-always on a card")
	check(class.UnmarshalText([]byte(r.MaxClass)) == nil && class < approval.R4, "maxRiskClass", "must be R0, R1, R2 or R3")
	check(r.TTLMs >= 0, "ttlMs", "must be a positive number of milliseconds")
	some := len(r.Pattern) > 0 && len(r.Pattern) <= 64
	check(some && !strings.Contains(r.Pattern[0], "*"), "pattern",
		"must have 1 to 64 words, and the first must be the program's name")
	for i, w := range r.Pattern {
		star := w == "*" || w == "**" && i == len(r.Pattern)-1
		word := w != "" && len(w) <= 256 && !strings.Contains(w, "*")
		check(star || word, "pattern",
			"must have whole words, \"*\" for any one word, and \"**\" only at the end for any further words")
	}
	if len(bad) > 0 {
		return approval.Grant{}, approval.Invalid(bad[0])
	}
	argv, err := execArgv(r.Pattern)
	if err != nil {
		return approval.Grant{}, err
	}
	j := g.rules.Load().Policy.Judge(ctx, approval.Call{ToolName: "exec", Params: argv, AgentID: r.AgentID, Scope: true})
	if j.GrantScope.Program == "" || len(j.GrantScope.Words) == 0 {
		return approval.Grant{}, approval.Invalid(approval.FieldError{Field: "pattern", Problem: "cannot be granted: " +
			"begin with the program's name and its subcommand, as plain words before any * or option. Patterns for " +
			"wrappers and interpreters cannot be granted, nor any pattern if exec asks for every command"})
	}
	now := nowMs()
	out := approval.Grant{
		ID: uuid.NewString(), Kind: approval.PatternGrant, Owner: r.Owner, AgentID: r.AgentID, ToolName: "exec",
		Subject: j.GrantScope.Program, Pattern: slices.Clone(r.Pattern), MaxClass: class,
		Summary: approval.CleanText(strings.Join(r.Pattern, " "), card.MaxSummary),
		Rule:    approval.Rule{MinApprovals: 1, RequiresHuman: true}, By: []string{"person:" + who.Person}, CreatedAtMs: now,
	}
	if r.TTLMs > 0 {
		out.ExpiresAtMs = now + r.TTLMs
	}
	return out, nil
}

// mayCover reports whether a pattern's grant could cover the call, as far as that is
// known without the call itself.
func mayCover(g approval.Grant, a approval.Approval) bool {
	another := a.Subject != g.Subject && !strings.HasPrefix(a.Subject, g.Subject+" ")
	if a.AgentID != g.AgentID || a.Subject != "" && another {
		return false
	}
	return a.Assessment.RiskClass <= g.MaxClass
}

// preview looks through the record for the calls that the grant would have allowed.
func (g *Gate) preview(ctx context.Context, grant approval.Grant) (PatternPreview, error) {
	asked := Filter{Owner: grant.Owner, AgentID: grant.AgentID, ToolName: grant.ToolName, Limit: previewPage}
	page, err := g.store.List(ctx, asked)
	if err != nil {
		return PatternPreview{}, err
	}
	p := PatternPreview{Checked: len(page.Items)}
	for _, a := range page.Items {
		if len(p.Covers) == maxPreview || !mayCover(grant, a) {
			continue
		}
		reach, known, err := g.reachOf(ctx, a)
		if err != nil {
			return p, err
		}
		fits := reach.Program == grant.Subject && approval.Fits(grant.Pattern, reach.Words)
		if unknown := !known && a.Subject != ""; unknown || fits {
			p.Covers = append(p.Covers, Covered{
				Code: a.Code, Summary: a.Summary, Class: a.Assessment.RiskClass, Status: a.Status, Certain: known,
			})
		}
	}
	return p, nil
}

// reachOf judges a stored call again, as long as it is kept.
func (g *Gate) reachOf(ctx context.Context, a approval.Approval) (r approval.GrantScope, known bool, err error) {
	sealed, err := g.store.Sealed(ctx, a.Key)
	if approval.CodeOf(err) == approval.CodeRetryDataGone {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	tool, params, bind, err := approval.Open(sealed)
	if err != nil {
		return r, false, err
	}
	return g.rules.Load().Policy.Judge(ctx, asCall(a, tool, params, bind)).GrantScope, true, nil
}

// execArgv writes a pattern as the params of a command, its stars as words.
func execArgv(pattern []string) ([]byte, error) {
	b, err := json.Marshal(map[string]any{"argv": pattern})
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return b, nil
}
