package api

// Event is one thing that happened to an approval, as server-sent events and
// the gateway report it. It never has raw params. Its Seq is the number of its
// entry in the desk's log: ascending and the same for all listeners, which
// resume after it.
type Event struct {
	Type string `json:"type" enum:"tool.approval.requested,tool.approval.vote,tool.approval.resolved,tool.approval.expired,tool.approval.withdrawn,tool.approval.revoked,tool.approval.result,tool.approval.reminded,tool.approval.escalated"`
	Seq  int64  `json:"seq" doc:"Number in the desk's log; also the event's id. Numbers in between belong to entries that you may not see."`
	AtMs int64  `json:"atMs"`

	ID        string   `json:"id" doc:"The approval's id, as its owner calls it."`
	Code      string   `json:"code"`
	Owner     string   `json:"owner" doc:"Name of the API token that asked."`
	Status    Status   `json:"status" enum:"pending,approved,denied,expired,withdrawn"`
	Decision  Decision `json:"decision" nullable:"true" enum:"allow-once,allow-session,allow-always,deny" doc:"Null while pending, and when it expired or was withdrawn."`
	Reason    string   `json:"reason"`
	DecidedBy []string `json:"decidedBy"`

	ToolName        string `json:"toolName"`
	ParamsSummary   string `json:"paramsSummary,omitzero" doc:"Of .requested, as long as the approval is kept: the call as people see it, redacted and escaped."`
	ArgsFingerprint string `json:"argsFingerprint"`
	AgentID         string `json:"agentId"`
	SessionKey      string `json:"sessionKey"`
	Channel         string `json:"channel" doc:"Channel of the chat the session lives in, or empty."`
	Dialect         string `json:"dialect,omitzero" enum:"exec,agentshield" doc:"The gateway dialect it was asked in, if it was one."`

	RiskClass   string   `json:"riskClass" enum:"R0,R1,R2,R3,R4" doc:"R0 reads only … R4 has a high impact."`
	SideEffects []string `json:"sideEffects" enum:"filesystem_read,filesystem_write,process_exec,network_read,external_write,message_send,payment,credential_access,security_change,data_loss,none"`
	Confidence  float64  `json:"confidence" minimum:"0" maximum:"1"`
	Source      string   `json:"source"`
	ReasonCodes []string `json:"reasonCodes"`
	PolicyHash  string   `json:"policyHash" doc:"Of the policy that judged it."`

	Approvers Approvers `json:"approvers"`
	Votes     []Vote    `json:"votes" doc:"All that count so far."`
	Vote      *Vote     `json:"vote,omitzero" doc:"Of .vote: the one that came in."`
	Result    *Result   `json:"result,omitzero"`
	ClaimID   string    `json:"claimId,omitzero" doc:"Of .result: the run that it is of, as it was claimed."`

	Asked  []string `json:"asked,omitempty" doc:"Of .reminded and .escalated: the people who were reminded, or asked too."`
	Chats  []string `json:"chats,omitempty" doc:"Of .escalated: the chats that got a card, as channel:chat or channel:chat:thread."`
	Held   []string `json:"held,omitempty" doc:"Of .reminded and .escalated: people who were left alone in their quiet hours, and hear of it after them."`
	To     string   `json:"to,omitzero" doc:"Of .escalated: to whom the configuration says it is, as onDuty:NAME, role:NAME or a chat."`
	Why    string   `json:"why,omitzero" doc:"Of .reminded and .escalated: why other people than planned were asked, or why no recipient was left."`
	Silent bool     `json:"silent,omitzero" doc:"Of .escalated: it made no sound, since it is the quiet hours of everybody who was asked."`

	CreatedAtMs int64 `json:"createdAtMs"`
	ExpiresAtMs int64 `json:"expiresAtMs"`
	RevokedAtMs int64 `json:"revokedAtMs,omitzero" doc:"Of .revoked: when an operator took it back, or its asker, who no longer waits."`

	RevokedBy string   `json:"revokedBy,omitzero" doc:"Of .revoked: who took it back, as in decidedBy, or token:ops."`
	Absence   *Absence `json:"absence,omitzero" doc:"Of person.away and person.back; these events concern no approval."`
	EndedBy   string   `json:"endedBy,omitzero" doc:"Of person.back: who said so."`

	RevokeReason string `json:"revokeReason,omitzero" doc:"Of .revoked: why, in their words."`
}
