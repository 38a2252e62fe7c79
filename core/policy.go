package core

import "context"

// Policy judges calls. An implementation is an immutable snapshot: it gives the
// same answer to the same call, and answers OutcomeDeny or OutcomeAsk for
// whatever it does not understand.
type Policy interface {
	// Judge evaluates one call. The Gate has validated the call before.
	Judge(ctx context.Context, call Call) Judgement
	// Hash names the policy: equal policies have equal hashes (hex).
	Hash() string
}

// Judgement is policy's answer to one call.
type Judgement struct {
	Outcome    Outcome
	Assessment Assessment
	Rule       Rule       // whose yes is needed, when Outcome is OutcomeAsk
	Offers     []Decision // what people may decide, narrowest first, Deny last
	Why        []string   // sentences for people: why this class, why it asks or is refused
	Reason     string     // one sentence for the asker, when Outcome is OutcomeDeny
	Votes      []Vote     // of automatic factors
	Trace      []Step
}

// Step is one rule that spoke, for explain.
type Step struct {
	Stage   string `json:"stage"`
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"`
	Text    string `json:"text"`
}
