package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/server/view"
)

// shielded closes a method unless the dialect is switched on.
func shielded(m method) method {
	return func(c *call) (any, error) {
		if open := c.g.cfg.AgentShield; open == nil || !open() {
			return nil, approval.Refuse(approval.CodeApprovalsDisabled, "approvals disabled")
		}
		return m(c)
	}
}

// shieldAsk asks for a call that a shield has flagged. Its params are given as
// an object or as the text of one.
type shieldAsk struct {
	ID              string          `json:"id"`
	ToolName        string          `json:"toolName"`
	Tool            string          `json:"tool"` // the same, as answers call it
	Params          json.RawMessage `json:"params"`
	ParamsJSON      string          `json:"paramsJSON"`
	ArgsFingerprint string          `json:"argsFingerprint"` // if given, must be that of the params
	AgentID         string          `json:"agentId"`
	SessionKey      string          `json:"sessionKey"`
	Requester       *api.Requester  `json:"requester"` // the human who asked the agent
	TimeoutMs       int64           `json:"timeoutMs"`
}

// shieldAnswer tells the agent at once the state of its call. The agent learns
// the outcome from the event, or asks with waitDecision.
type shieldAnswer struct {
	Status     string `json:"status"` // "approval-pending", or how it ended at once
	Tool       string `json:"tool"`
	ApprovalID string `json:"approvalId"`
	Message    string `json:"message"`
}

const shieldPending = "approval-pending"

func shieldRequest(c *call, in shieldAsk) (any, error) {
	call, err := in.call()
	if err != nil {
		return nil, err
	}
	a, _, err := c.g.cfg.Gate.Submit(c.ctx, c.who, call)
	if err != nil {
		return nil, err
	}
	out := shieldAnswer{Status: shieldPending, Tool: a.ToolName, ApprovalID: a.ID,
		Message: "Tool call requires AgentShield approval. Awaiting operator decision."}
	if a.Final() {
		out.Status, out.Message = string(a.Status), "Already decided: "+card.Ending(a)
	}
	return out, nil
}

func (in shieldAsk) call() (approval.Call, error) {
	out := approval.Call{Dialect: approval.DialectAgentShield, MustAsk: true, ToolName: in.ToolName, Params: in.Params,
		ID:      in.ID,
		AgentID: in.AgentID, SessionKey: in.SessionKey, Requester: view.RequesterOf(in.Requester),
		TimeoutMs: in.TimeoutMs}
	if out.ToolName == "" {
		out.ToolName = in.Tool
	}
	if in.Tool != "" && in.Tool != out.ToolName {
		return out, approval.Invalid(approval.FieldError{Field: "tool",
			Problem: "must be the same as toolName, or be left out"})
	}
	if in.ParamsJSON != "" {
		if len(in.Params) > 0 {
			return out, approval.Invalid(approval.FieldError{Field: "paramsJSON", Problem: "or params, not both"})
		}
		out.Params = json.RawMessage(in.ParamsJSON)
	}
	return out, in.fits(out)
}

// fits checks a fingerprint that the caller computed: this desk's, or SHA-256 of
// the params alone, as shields do.
func (in shieldAsk) fits(call approval.Call) error {
	if in.ArgsFingerprint == "" {
		return nil
	}
	sealed, err := approval.Canonical(call.ToolName, call.Params, nil)
	if err != nil {
		return approval.Invalid(approval.FieldError{Field: "params", Problem: err.Error()})
	}
	_, params, _, err := approval.Open(sealed.Bytes)
	if err != nil {
		return err
	}
	if in.ArgsFingerprint != sealed.Fingerprint && in.ArgsFingerprint != sum(params) &&
		in.ArgsFingerprint != sum(call.Params) {
		return approval.Refuse(approval.CodeFingerprintMismatch, "argsFingerprint is not "+
			"the fingerprint of the params.")
	}
	return nil
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

// shieldCard is an approval of this dialect: never more of the call than its
// fingerprint.
type shieldCard struct {
	ID              string  `json:"id"`
	Code            string  `json:"code"`
	ToolName        string  `json:"toolName"`
	ArgsFingerprint string  `json:"argsFingerprint"`
	AgentID         string  `json:"agentId"`
	SessionKey      string  `json:"sessionKey"`
	Status          string  `json:"status"`
	Decision        *string `json:"decision"`
	CreatedAtMs     int64   `json:"createdAtMs"`
	ExpiresAtMs     int64   `json:"expiresAtMs"`
}

// shieldListing selects approvals of this dialect; without a status, pending
// ones.
type shieldListing struct {
	Status string `json:"status"`
	Limit  *int   `json:"limit"`
}

func shieldList(c *call, in shieldListing) (any, error) {
	limit, err := pageSize(in.Limit)
	if err != nil {
		return nil, err
	}
	if err := checkStatus(in.Status); err != nil {
		return nil, err
	}
	if in.Status == "" {
		in.Status = string(approval.Pending)
	}
	all, err := c.list(core.Filter{Status: approval.Status(in.Status)}, limit, func(a approval.Approval) bool {
		return a.Dialect == approval.DialectAgentShield
	})
	if err != nil {
		return nil, err
	}
	out := []shieldCard{}
	for _, a := range all {
		a = a.SeenBy(c.who.Token)
		out = append(out, shieldCard{a.ID, a.Code, a.ToolName, a.Fingerprint, a.AgentID, a.SessionKey, string(a.Status),
			outcome(&a, toolWords).Decision, a.CreatedAtMs, a.ExpiresAtMs})
	}
	return out, nil
}
