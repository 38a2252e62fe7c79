package api

import "encoding/json"

// Evaluation is policy's answer to a call; no approval is created, no message
// sent and no verifier asked.
type Evaluation struct {
	Outcome    string     `json:"outcome" enum:"allow,deny,ask" doc:"What would happen now."`
	Reason     string     `json:"reason,omitzero" doc:"Why it is refused, in one sentence."`
	By         string     `json:"by,omitzero" doc:"grant:<id> if a grant or a cool-down decides."`
	Assessment Assessment `json:"assessment"`
	Approvers  Approvers  `json:"approvers"`
	Offers     []Decision `json:"offers" enum:"allow-once,allow-session,allow-always,deny" doc:"What people could decide, narrowest first."`
	Why        []string   `json:"why" doc:"Sentences for people."`
	Confined   *Confined  `json:"confined,omitzero" doc:"With allow: it would run confined so, and not otherwise. With ask: so after a yes."`
	PolicyHash string     `json:"policyHash"`
	Trace      []Step     `json:"trace,omitzero" doc:"Each rule that spoke, in order; only with operator.approvals."`
}

// EvaluateRequest asks about many calls at once.
type EvaluateRequest struct {
	Calls []CreateRequest `json:"calls" maxItems:"1000" nullable:"false" doc:"At most 1,000, of 4 MiB in all."`
}

// Evaluations are the answers to many calls.
type Evaluations struct {
	Results []Judged `json:"results" doc:"In the order of the calls: each an evaluation, or the problem that this call alone would have been answered with."`
}

// Judged is the answer to one of many calls: an evaluation, or the reason why it is
// missing.
type Judged struct {
	Evaluation *Evaluation
	Problem    *Problem
}

// MarshalJSON writes the evaluation or the problem.
func (j Judged) MarshalJSON() ([]byte, error) {
	if j.Problem != nil {
		return json.Marshal(j.Problem)
	}
	return json.Marshal(j.Evaluation)
}

// UnmarshalJSON reads an evaluation or a problem: only a problem has a code.
func (j *Judged) UnmarshalJSON(b []byte) error {
	var is struct{ Code *string }
	if err := json.Unmarshal(b, &is); err != nil {
		return err
	}
	*j = Judged{}
	if is.Code != nil {
		return json.Unmarshal(b, &j.Problem)
	}
	return json.Unmarshal(b, &j.Evaluation)
}

// Assessment is the risk of a call.
type Assessment struct {
	ToolName    string   `json:"toolName"`
	RiskClass   string   `json:"riskClass" enum:"R0,R1,R2,R3,R4"`
	SideEffects []string `json:"sideEffects" enum:"filesystem_read,filesystem_write,process_exec,network_read,external_write,message_send,payment,credential_access,security_change,data_loss,none"`
	Confidence  float64  `json:"confidence" minimum:"0" maximum:"1"`
	Source      string   `json:"source" doc:"Who assessed it: static, classifier or hybrid."`
	ReasonCodes []string `json:"reasonCodes"`
}

// Step is one rule that applied.
type Step struct {
	Stage   string `json:"stage" doc:"layers, risk, rules, exec, policy, classifier, verifier, grants, people or suggestion; in this order."`
	Rule    string `json:"rule"`
	Outcome string `json:"outcome" doc:"allow, ask, deny, or what the stage found."`
	Text    string `json:"text" doc:"Why, in one sentence."`
}

// ToolsRequest asks which of an agent's tools a model may be shown.
type ToolsRequest struct {
	Tools   []string `json:"tools" minLength:"1" maxLength:"128" maxItems:"1000" nullable:"false" doc:"Names of tools, at most 1,000."`
	AgentID string   `json:"agentId,omitzero" maxLength:"256" doc:"A token with an agentId of its own overrides it."`
	Context *Context `json:"context,omitzero" doc:"As in a request for approval."`
}

// Tools tells which tools the hard layers leave, in the order of the request; a
// name that was given twice is answered once.
type Tools struct {
	Allowed []string     `json:"allowed" doc:"May be used: each call is still judged by itself."`
	Denied  []DeniedTool `json:"denied" doc:"Every call of these tools would be refused."`
}

// DeniedTool is a tool that the hard layers take away.
type DeniedTool struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason" doc:"Which list takes it away, in one sentence."`
}

// Policy is the effective policy.
type Policy struct {
	Enabled      bool           `json:"enabled"`
	Mode         string         `json:"mode" enum:"off,adaptive,always" doc:"off: hard layers only; always: everything asks."`
	PolicyHash   string         `json:"policyHash"`
	SelfApproval string         `json:"selfApproval" enum:"block,solo"`
	TimeoutMs    int64          `json:"timeoutMs" doc:"How long people have, unless a request says otherwise."`
	MaxTimeoutMs int64          `json:"maxTimeoutMs" doc:"How long a request may give them."`
	Approvers    Approvers      `json:"approvers" doc:"allowed, disabled, effective; minApprovals of the lowest class."`
	Classes      []ClassPolicy  `json:"classes" doc:"What happens to each risk class, R0 to R4."`
	Routing      RoutingPolicy  `json:"routing"`
	Verifier     VerifierPolicy `json:"verifier"`
	Classifier   bool           `json:"classifier" doc:"A model is asked when static rules are unsure."`
	Exec         ExecPolicy     `json:"exec"`
	Confine      ConfinePolicy  `json:"confine" doc:"What may run confined instead of asking."`
	Away         []Absence      `json:"away" doc:"Who is away now, by name."`
}

// ExecPolicy is approvals.exec: the rules for commands beside their risk.
type ExecPolicy struct {
	Security    string   `json:"security" enum:"deny,allowlist,full"`
	Ask         string   `json:"ask" enum:"off,on-miss,always"`
	AskFallback string   `json:"askFallback" enum:"deny,allowlist,full" doc:"What happens if no approver can be asked."`
	Allowlist   []string `json:"allowlist" doc:"Programs, globs and command beginnings that are a hit."`
	SafeBins    []string `json:"safeBins" doc:"Programs that are a hit with options and numbers only."`
	Strict      bool     `json:"strict" doc:"External reads (R2) are no hits by themselves."`
}

// ConfinePolicy is approvals.tools.confine, for askers that can confine their calls.
type ConfinePolicy struct {
	Mode       string   `json:"mode" enum:"off,unsure,always" doc:"unsure: what is only not understood runs confined instead of asking; always: what is allowed and local, too."`
	Readable   []string `json:"readable" doc:"Names of files of the workspace that are not hidden as secrets."`
	Toolchains []string `json:"toolchains" doc:"Folders that confined calls may read."`
	Tokens     []string `json:"tokens" doc:"Tokens that may say that they confine (mayConfine)."`
}

// ClassPolicy is the treatment of calls of one class, and who could approve
// them now. A single call may be treated more strictly because of its targets.
type ClassPolicy struct {
	RiskClass     string   `json:"riskClass" enum:"R0,R1,R2,R3,R4"`
	Outcome       string   `json:"outcome" enum:"allow,deny,ask"`
	MinApprovals  int      `json:"minApprovals"`
	RequiresHuman bool     `json:"requiresHuman"`
	StepUp        bool     `json:"stepUp,omitzero" doc:"A person's yes counts only if their passkey signed it."`
	People        []string `json:"people" doc:"Configured people who could approve."`
	Unmapped      int      `json:"unmapped" doc:"Further allowed accounts that belong to no configured person."`
	Open          bool     `json:"open" doc:"A role may decide: there may be more."`
	Reachable     bool     `json:"reachable" doc:"Enough people could approve."`
}

// RoutingPolicy tells which chats get cards.
type RoutingPolicy struct {
	Mode            string   `json:"mode" enum:"session,targets,both"`
	Targets         []string `json:"targets"`
	Fallback        []string `json:"fallback"`
	FallbackAfterMs int64    `json:"fallbackAfterMs" doc:"The fallback is used if no card has arrived after this time."`
}

// VerifierPolicy tells which outside authorities are asked.
type VerifierPolicy struct {
	Enabled  bool     `json:"enabled"`
	Webhook  bool     `json:"webhook"`
	Telegram bool     `json:"telegram"`
	FailMode string   `json:"failMode" enum:"deny,allow"`
	Include  []string `json:"include"`
	Exclude  []string `json:"exclude"`
}

// Reloaded is the answer to a policy reload.
type Reloaded struct {
	PolicyHash string   `json:"policyHash"`
	Changed    bool     `json:"changed" doc:"Whether another policy is in force now."`
	Looser     []string `json:"looser" doc:"What the new policy allows that the old one did not, in words."`
	Unproved   []string `json:"unproved,omitempty" doc:"What changed, if the form of the new policy proves neither that it allows more nor that it does not."`
	Otherwise  []string `json:"otherwise,omitempty" doc:"If unproved is not empty: how many of the calls that were asked for lately and of the desk's examples are judged otherwise now, then ten of them, those that run now first, and how many more. Without operator.approvals the numbers alone."`
	Tighter    []string `json:"tighter,omitempty" doc:"What changed, if its form proves that it allows no more."`
	Restart    []string `json:"restart" doc:"Changed keys that take effect only after a restart."`
	Ended      []string `json:"ended,omitempty" doc:"What people had whom the configuration no longer names, one person each: sessions, login links and push subscriptions that are ended, passkeys that are suspended."`
	EndsLater  bool     `json:"endsLater,omitempty" doc:"That it ends when every instance has this configuration."`
}

// Grant is a standing permission, or a cool-down that refuses.
type Grant struct {
	ID           string   `json:"id"`
	Kind         string   `json:"kind" enum:"session,always,pattern,cooldown"`
	Owner        string   `json:"owner" doc:"The asking token it is for."`
	AgentID      string   `json:"agentId"`
	SessionKey   string   `json:"sessionKey"`
	ToolName     string   `json:"toolName"`
	Subject      string   `json:"subject,omitzero" doc:"What a session grant covers: the tool, for commands the program, its subcommand and its options, or exactly the whole command."`
	Fingerprint  string   `json:"argsFingerprint,omitzero" doc:"Of the exact call that an always grant covers or a cool-down refuses."`
	Pattern      []string `json:"pattern,omitzero"`
	Summary      string   `json:"summary" doc:"What it covers, in words."`
	MaxRiskClass string   `json:"maxRiskClass" enum:"R0,R1,R2,R3,R4"`
	By           []string `json:"by" doc:"Who gave it."`
	CreatedAtMs  int64    `json:"createdAtMs"`
	ExpiresAtMs  int64    `json:"expiresAtMs,omitzero"`
}

// Grants is a list of grants, newest first.
type Grants struct {
	Items []Grant `json:"items"`
}

// Ended is the number of grants that were ended.
type Ended struct {
	Ended int `json:"ended"`
}

// GrantRequest is an operator's pattern: a standing permission for the commands
// of one agent that fit it.
type GrantRequest struct {
	Owner        string   `json:"owner" doc:"The asking token's name."`
	AgentID      string   `json:"agentId,omitempty" doc:"Only this agent of the token."`
	ToolName     string   `json:"toolName" doc:"exec."`
	Pattern      []string `json:"pattern" doc:"Words of a command: * matches any one word, a last ** any further ones, and neither matches an option. The program, and the subcommand that follows it, must be plain words before any star or option."`
	MaxRiskClass string   `json:"maxRiskClass" enum:"R0,R1,R2,R3" doc:"It covers commands up to this class."`
	TTLMs        int64    `json:"ttlMs,omitempty" doc:"How long it lasts; 0: until it is removed."`
	Preview      bool     `json:"preview,omitempty" doc:"Only show what it would have allowed."`
}

// GrantPreview is what a pattern covers.
type GrantPreview struct {
	Grant   *Grant        `json:"grant" doc:"Null for a preview."`
	Covers  []CoveredCall `json:"covers" doc:"Calls on record that it would have allowed, newest first, at most 50."`
	Checked int           `json:"checked" doc:"How many calls on record were looked at."`
}

// CoveredCall is a call on record that a pattern would have allowed.
type CoveredCall struct {
	Code      string `json:"code"`
	Summary   string `json:"summary"`
	RiskClass string `json:"riskClass" enum:"R0,R1,R2,R3,R4"`
	Status    Status `json:"status" enum:"pending,approved,denied,expired,withdrawn"`
	Certain   bool   `json:"certain" doc:"False: the call itself is gone, only its program and subcommand are known to fit."`
}
