package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// The approval.* methods show a command's approval the way `openclaw approvals`
// reads and decides it. Only tool exec has such a shape.

// record is an approval in that shape. Empty members are left out.
type record struct {
	ID           string            `json:"id"`
	URLPath      string            `json:"urlPath"`
	CreatedAtMs  int64             `json:"createdAtMs"`
	ExpiresAtMs  int64             `json:"expiresAtMs"`
	Presentation presentation      `json:"presentation"`
	Status       string            `json:"status"` // "pending", "allowed", "denied", "expired" or "cancelled"
	Decision     approval.Decision `json:"decision,omitempty"`
	Reason       string            `json:"reason,omitempty"`
	ResolvedAtMs int64             `json:"resolvedAtMs,omitempty"`
	Resolver     *resolver         `json:"resolver,omitempty"`
}

// presentation is the call as people see it: all of it that is not in CommandText
// is in WarningText.
type presentation struct {
	Kind             string              `json:"kind"` // "exec"
	CommandText      string              `json:"commandText"`
	WarningText      string              `json:"warningText,omitempty"`
	Host             string              `json:"host,omitempty"`
	NodeID           string              `json:"nodeId,omitempty"`
	AgentID          string              `json:"agentId,omitempty"`
	AllowedDecisions []approval.Decision `json:"allowedDecisions"` // deny is always among them
}

// resolver names who or what ended an approval.
type resolver struct {
	Kind string `json:"kind"` // "device" (an API token), "channel" (a chat) or "system" (no person)
	ID   string `json:"id"`   // as in decidedBy
}

type recordAnswer struct {
	Approval record `json:"approval"`
}

func approvalGet(c *call, in one) (any, error) {
	a, err := c.findExec(in.ID)
	if err != nil {
		return nil, err
	}
	r, err := c.record(a)
	return recordAnswer{r}, err
}

// findExec is find for approvals that have a command to show.
func (c *call) findExec(id string) (approval.Approval, error) {
	a, err := c.find(id)
	other := err == nil && (a.ToolName != "exec" || a.Dialect == approval.DialectAgentShield)
	if other || approval.CodeOf(err) == approval.CodeNotFound {
		err = &refusal{Code: invalidRequest, Message: "approval not found",
			Details: &details{Reason: "APPROVAL_NOT_FOUND", Code: string(approval.CodeNotFound)}}
	}
	return a, err
}

// recordVerdict is an operator's decision about an approval of a kind.
type recordVerdict struct {
	execVerdict
	Kind string `json:"kind"`
}

// recordResolved tells the state of the approval after the vote. Applied is false
// if it had ended before. If more votes are needed, its status is still pending.
type recordResolved struct {
	Applied  bool   `json:"applied"`
	Approval record `json:"approval"`
}

// approvalResolve counts the vote of the token's person. An approval that has ended is shown as
// it ended, for every decision: so the client sees that it came too late. In an open retry round
// retry and deny count for that.
func approvalResolve(c *call, in recordVerdict) (any, error) {
	if err := c.operator(); err != nil {
		return nil, err
	}
	if in.Kind != "exec" {
		return nil, approval.Invalid(approval.FieldError{Field: "kind",
			Problem: "must be exec; for this method the desk supports no other tool"})
	}
	a, err := c.findExec(in.ID)
	if err != nil {
		return nil, err
	}
	_, round := people.OpenRound(a, c.g.cfg.Gate.Rules().People, time.Now().UnixMilli())
	ended := a.Final() && (!round || in.Decision != api.Deny && in.Decision != api.Retry)
	if !ended {
		in.ID = a.Code // the very approval that is shown; if its owner chose an id, its key is no id
		_, err = execResolve(c, in.execVerdict)
		ended = approval.CodeOf(err) == approval.CodeAlreadyResolved
		if err != nil && !ended {
			return nil, err
		}
		if a, err = c.g.cfg.Gate.ByKey(c.ctx, a.Key); err != nil {
			return nil, err
		}
	}
	r, err := c.record(a)
	return recordResolved{!ended, r}, err
}

func (c *call) record(a approval.Approval) (record, error) {
	card, err := c.g.execCard(c.ctx, a)
	f := card.Request
	if !slices.Contains(f.AllowedDecisions, approval.Deny) {
		f.AllowedDecisions = append(f.AllowedDecisions, approval.Deny)
	}
	r := record{ID: a.ID, URLPath: "/v1/approvals/" + a.ID, CreatedAtMs: a.CreatedAtMs, ExpiresAtMs: a.ExpiresAtMs,
		Status: "pending", Presentation: presentation{
			"exec", f.Command, f.warning(), f.Host, f.NodeID, f.AgentID, f.AllowedDecisions}}
	if a.Final() {
		r.end(a)
	}
	return r, err
}

// warning is the facts that have no member in the presentation, and then the asker's words.
func (f execFacts) warning() string {
	lines := f.more
	if f.WarningText != "" {
		lines = append(lines, "The asker says: "+f.WarningText)
	}
	return strings.Join(lines, "\n")
}

// end says how an approval ended, with the few reasons that clients know.
func (r *record) end(a approval.Approval) {
	end := outcome(&a, execWords)
	r.ResolvedAtMs, r.Resolver = a.ResolvedAtMs, resolverOf(a)
	switch {
	case end.Decision == nil && a.Status == approval.Expired:
		r.Status, r.Reason = "expired", "timeout"
	case end.Decision == nil: // withdrawn by its asker, or taken back
		r.Status, r.Reason = "cancelled", "run-aborted"
	case *end.Decision == string(approval.Deny):
		r.Status, r.Decision, r.Reason = "denied", approval.Deny, "user"
		if slices.Contains(a.Assessment.ReasonCodes, approval.ReasonInsufficient) {
			r.Reason = "no-route" // no approver, or too few, to ask
		}
	default:
		r.Status, r.Decision, r.Reason = "allowed", approval.Decision(*end.Decision), "user"
	}
}

func resolverOf(a approval.Approval) *resolver {
	by := a.DecidedBy
	if a.RevokedAtMs != 0 {
		by = []string{a.RevokedBy}
	}
	if len(by) == 0 {
		return nil
	}
	kind := "system"
	for _, v := range a.Votes {
		if v.Voter == nil || !slices.Contains(by, v.Voter.Name()) {
			continue
		}
		if kind = "channel"; v.Voter.Channel == "api" {
			kind = "device"
		}
	}
	return &resolver{kind, strings.Join(by, ", ")}
}

// execPolicy is the policy for commands in the form that exec's clients use.
type execPolicy struct {
	Path   string         `json:"path"`
	Exists bool           `json:"exists"`
	Hash   string         `json:"hash"`
	File   execPolicyFile `json:"file"`
}

type execPolicyFile struct {
	Version  int                  `json:"version"`
	Defaults execDefaults         `json:"defaults"`
	Agents   map[string]execAgent `json:"agents"`
}

type execDefaults struct {
	Security    string `json:"security"`
	Ask         string `json:"ask"`
	AskFallback string `json:"askFallback"`
}

type execAgent struct {
	Allowlist []execPattern `json:"allowlist"`
}

type execPattern struct {
	Pattern string `json:"pattern"`
}

// execPolicyGet shows approvals.exec. It cannot be changed from here.
func execPolicyGet(c *call, in struct{}) (any, error) {
	shown, err := toolPolicy(c, in)
	if err != nil {
		return nil, err
	}
	p := shown.(api.Policy)
	everybody := execAgent{Allowlist: []execPattern{}}
	for _, pattern := range p.Exec.Allowlist {
		everybody.Allowlist = append(everybody.Allowlist, execPattern{pattern})
	}
	file := execPolicyFile{Version: 1, Defaults: execDefaults{p.Exec.Security, p.Exec.Ask, p.Exec.AskFallback},
		Agents: map[string]execAgent{"*": everybody}}
	return execPolicy{Path: "approvals.exec (the desk's configuration)", Exists: true, Hash: p.PolicyHash,
		File: file}, nil
}

// nothing gives the empty list of a kind of approval that this desk does not have.
func nothing(*call, struct{}) (any, error) { return []json.RawMessage{}, nil }
