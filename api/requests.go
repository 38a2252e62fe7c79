package api

import "encoding/json"

// CreateRequest asks for one call. Unknown fields are refused.
type CreateRequest struct {
	ID            string          `json:"id,omitzero" pattern:"^[A-Za-z0-9._:-]{1,128}$" doc:"Your own id; the same id with the same call gives the same approval again."`
	ToolName      string          `json:"toolName" minLength:"1" maxLength:"128"`
	Params        json.RawMessage `json:"params" doc:"The call's parameters: a JSON object. Tool exec: exactly one of command (a shell line) and argv; workdir, env, timeout, host, security, ask."`
	AgentID       string          `json:"agentId,omitzero" maxLength:"256" doc:"A token with an agentId of its own overrides it."`
	SessionKey    string          `json:"sessionKey,omitzero" maxLength:"256"`
	Origin        *Target         `json:"origin,omitzero" doc:"The chat the session lives in."`
	Requester     *Requester      `json:"requester,omitzero" doc:"The human who asked the agent: {channel, userId} or {person}. May not decide it."`
	Justification string          `json:"justification,omitzero" maxLength:"2000" doc:"Your words; shown as a claim."`
	ActionSummary string          `json:"actionSummary,omitzero" maxLength:"2000" doc:"Your words; shown as a claim."`
	Context       *Context        `json:"context,omitzero" doc:"May only make the answer stricter."`
	Bind          *Bind           `json:"bind,omitzero" doc:"Ties the approval to where the call runs."`
	CallbackURL   string          `json:"callbackUrl,omitzero" maxLength:"2048" doc:"Where the ended approval is POSTed, signed with the token's callbackSecret; tried for a day."`
	TimeoutMs     int64           `json:"timeoutMs,omitzero" minimum:"0" doc:"Clamped to the configured maximum."`
	Supersedes    string          `json:"supersedes,omitzero" maxLength:"128" doc:"A pending approval of yours whose call has changed; it ends withdrawn."`
}

// Target is a place a card goes: a chat, perhaps a thread in it.
type Target struct {
	Channel  string `json:"channel" enum:"telegram,discord"`
	To       string `json:"to" doc:"The chat's id; dm:<user id> for a Discord direct message."`
	ThreadID string `json:"threadId,omitzero"`
}

// Requester is the human who asked the agent: an account, or a configured person.
type Requester struct {
	Channel string `json:"channel,omitzero"`
	UserID  string `json:"userId,omitzero"`
	Person  string `json:"person,omitzero"`
}

// Context is what the asker's runtime knows about a call.
type Context struct {
	Provider        string `json:"provider,omitzero" maxLength:"256"`
	Model           string `json:"model,omitzero" maxLength:"256"`
	Group           string `json:"group,omitzero" maxLength:"256"`
	Sandboxed       bool   `json:"sandboxed,omitzero"`
	Subagent        bool   `json:"subagent,omitzero"`
	ToolDescription string `json:"toolDescription,omitzero" maxLength:"4000"`
}

// Bind is where a call runs.
type Bind struct {
	Workdir string `json:"workdir,omitzero" maxLength:"4096"`
	Host    string `json:"host,omitzero" maxLength:"256"`
	EnvHash string `json:"envHash,omitzero" maxLength:"256"`
}

// ResolveRequest is a vote of the token's person.
type ResolveRequest struct {
	Decision Decision `json:"decision" enum:"allow-once,allow-session,allow-always,deny"`
	Reason   string   `json:"reason,omitzero"`
}

// ClaimRequest asks for an approved call. Params and Bind, if given, must be
// what was approved. The same ClaimID repeats a claim whose answer was lost.
type ClaimRequest struct {
	Params  json.RawMessage `json:"params,omitzero" doc:"What is about to run, if you say so; other values are a fingerprint_mismatch."`
	Bind    *Bind           `json:"bind,omitzero" doc:"Where it is about to run, likewise."`
	ClaimID string          `json:"claimId,omitzero" maxLength:"128" doc:"Names this claim, so that a lost answer can be asked for again."`
}

// ResultRequest tells how the execution went.
type ResultRequest struct {
	Status   string `json:"status" enum:"succeeded,failed"`
	Summary  string `json:"summary,omitzero"`
	ExitCode *int   `json:"exitCode,omitzero"`
}

// WithdrawRequest says, perhaps, why the approval is no longer needed.
type WithdrawRequest struct {
	Reason string `json:"reason,omitzero"`
}

// RevokeRequest says, perhaps, why the approval is taken back.
type RevokeRequest struct {
	Reason string `json:"reason,omitzero"`
}
