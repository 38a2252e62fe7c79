package gateway

import (
	"context"
	"strconv"
	"strings"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// execCard is a pending approval as exec's clients list it, and as they are
// notified of a new one.
type execCard struct {
	ApprovalKind string    `json:"approvalKind"` // "exec"
	ID           string    `json:"id"`
	Code         string    `json:"code"`
	Request      execFacts `json:"request"`
	CreatedAtMs  int64     `json:"createdAtMs"`
	ExpiresAtMs  int64     `json:"expiresAtMs"`
	Seq          int64     `json:"seq,omitempty"` // of the event, in the log
}

// execFacts is the call as people see it: redacted and escaped. Some clients show
// Command alone, so it begins with the environment that the command would get.
type execFacts struct {
	Command          string              `json:"command"`
	Cwd              string              `json:"cwd,omitempty"`
	Host             string              `json:"host,omitempty"`
	NodeID           string              `json:"nodeId,omitempty"`
	EnvKeys          []string            `json:"envKeys,omitempty"`
	Security         string              `json:"security,omitempty"`
	Ask              string              `json:"ask,omitempty"`
	WarningText      string              `json:"warningText,omitempty"`
	Scope            string              `json:"scope,omitempty"`
	AgentID          string              `json:"agentId,omitempty"`
	SessionKey       string              `json:"sessionKey,omitempty"`
	AllowedDecisions []approval.Decision `json:"allowedDecisions"`

	TurnSourceChannel  string `json:"turnSourceChannel,omitempty"`
	TurnSourceTo       string `json:"turnSourceTo,omitempty"`
	TurnSourceThreadID string `json:"turnSourceThreadId,omitempty"`

	more []string // for presentation: the facts that have no member of their own there
}

func (g *Gateway) execCard(ctx context.Context, a approval.Approval) (execCard, error) {
	out := execCard{ApprovalKind: "exec", ID: a.ID, Code: a.Code, CreatedAtMs: a.CreatedAtMs,
		ExpiresAtMs: a.ExpiresAtMs}
	a = a.Redacted()
	f := execFacts{Command: a.Summary, AgentID: a.AgentID, SessionKey: a.SessionKey, WarningText: a.Justification,
		Scope:            a.ActionSummary,
		AllowedDecisions: []approval.Decision{}}
	if o := a.Origin; o != nil {
		f.TurnSourceChannel, f.TurnSourceTo, f.TurnSourceThreadID = o.Channel, o.To, o.ThreadID
	}
	facts, err := g.cfg.Gate.Cards().Payload(ctx, a)
	env := ""
	for _, x := range facts {
		switch x.Name {
		case "command":
			f.Command = x.Line()
		case "workdir":
			f.Cwd = x.Value
			f.more = append(f.more, "working directory: "+x.Value)
		case "host":
			f.Host = x.Value
		case "bound to host":
			f.NodeID = x.Value
		case "security":
			f.Security = x.Value
		case "ask":
			f.Ask = x.Value
		case "env":
			key, _, _ := strings.Cut(x.Value, "=")
			f.EnvKeys = append(f.EnvKeys, key)
			env += strconv.Quote(x.Value) + " "
		default:
			f.more = append(f.more, x.Name+": "+x.Line())
		}
	}
	if env != "" {
		f.Command = "env " + env + f.Command
	}
	for _, d := range a.Offers {
		if execWords(d) == string(d) {
			f.AllowedDecisions = append(f.AllowedDecisions, d)
		}
	}
	out.Request = f
	return out, err
}

// execPending is the answer of exec.approval.get.
type execPending struct {
	ID               string              `json:"id"`
	Code             string              `json:"code"`
	CommandText      string              `json:"commandText"`
	AllowedDecisions []approval.Decision `json:"allowedDecisions"`
	Host             string              `json:"host,omitempty"`
	NodeID           string              `json:"nodeId,omitempty"`
	AgentID          string              `json:"agentId,omitempty"`
	ExpiresAtMs      int64               `json:"expiresAtMs"`
}

// execGet gives a pending approval of tool exec; others are not found.
func execGet(c *call, in one) (any, error) {
	a, err := c.find(in.ID)
	if err != nil {
		return nil, err
	}
	if a.Final() || a.ToolName != "exec" {
		return nil, approval.Refuse(approval.CodeNotFound, "There is no such approval.")
	}
	card, err := c.g.execCard(c.ctx, a)
	r := card.Request
	return execPending{a.ID, a.Code, r.Command, r.AllowedDecisions, r.Host, r.NodeID, r.AgentID, a.ExpiresAtMs}, err
}

// execList gives the pending approvals of tool exec, however they were asked,
// newest first: an approval that is missing here would wait unseen.
func execList(c *call, _ struct{}) (any, error) {
	f := core.Filter{Status: approval.Pending, ToolName: "exec"}
	all, err := c.list(f, listMax, func(a approval.Approval) bool { return a.Dialect != approval.DialectAgentShield })
	if err != nil {
		return nil, err
	}
	out := []execCard{}
	for _, a := range all {
		card, err := c.g.execCard(c.ctx, a)
		if err != nil {
			return nil, err
		}
		out = append(out, card)
	}
	return out, nil
}

// listMax bounds the lists that have no pages.
const listMax = 1000

// list gives at most limit approvals that fit.
func (c *call) list(f core.Filter, limit int, fits func(approval.Approval) bool) ([]approval.Approval, error) {
	var out []approval.Approval
	f.Limit = pageMax
	for {
		page, err := c.g.cfg.Gate.List(c.ctx, c.who, f)
		if err != nil {
			return nil, err
		}
		for _, a := range page.Items {
			if fits(a) && len(out) < limit {
				out = append(out, a)
			}
		}
		if f.Cursor = page.Next; f.Cursor == "" || len(out) == limit {
			return out, nil
		}
	}
}

// decisionOf is a decision for JSON: nil if there is no decision.
func decisionOf(d api.Decision, words dialect) *string {
	if d == "" {
		return nil
	}
	s := words(approval.Decision(d))
	return &s
}
