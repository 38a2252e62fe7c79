package core

import (
	"context"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// Policy judges calls. An implementation is an immutable snapshot: it gives the same answer
// to the same call, and answers OutcomeDeny or OutcomeAsk if it does not understand it.
type Policy interface {
	// Judge evaluates one call by static rules alone. The Gate has validated the
	// call before.
	Judge(ctx context.Context, call approval.Call) approval.Judgement
	// JudgeWith is Judge with a classifier's opinion. It is called if Judge answered
	// Unsure. The opinion may raise the class and add side effects. It lowers a class only
	// if static rules merely did not recognise what it is, and never the number of people
	// who must say yes to a call that is asked.
	//
	// With an Earlier opinion, also if no classifier is configured any more, it is Judge
	// except that the class is at least the opinion's.
	JudgeWith(ctx context.Context, call approval.Call, o approval.Opinion) approval.Judgement
	// Permits reports whether the hard layers leave the call's tool, with any params. If
	// they do not, reason is one sentence for the asker.
	Permits(call approval.Call) (reason string, ok bool)
	// Hash names the policy: equal policies have equal hashes (hex).
	Hash() string
}

// subject is what a session grant for the call would cover. It is empty if people could not
// read all of it as it is, and for a call that they are not shown.
func subject(j approval.Judgement, call approval.Call) string {
	s := j.GrantScope.Subject
	if display.Safe(s) != s || call.Dialect == approval.DialectAgentShield {
		return ""
	}
	return s
}

// Classifier gives an outside opinion of a call's risk. It never fails: what goes
// wrong is in the opinion.
type Classifier interface {
	// Classify asks about a call that static rules were unsure about. It keeps its
	// own time limit below ctx's.
	Classify(ctx context.Context, call approval.Call, static approval.Judgement) approval.Opinion
}

// Verifier asks outside authorities whether a call may run, after everything
// else had no objection.
type Verifier interface {
	// Wants says, without a request to an authority, what verification the call needs.
	Wants(call approval.Call) approval.Verification
	// Verify asks them. It keeps its own time limit below ctx's and never fails:
	// what goes wrong is decided by the configured fail mode.
	Verify(ctx context.Context, call approval.Call, class approval.RiskClass) approval.Verification
	// Chats gives the verifier's own people, of all agents and of single ones: a
	// drill goes to each of their chats.
	Chats() []approval.VerifierPeople
}

// denies says why policy's new judgement ends what was asked or allowed under other rules.
// If people are not to be asked, only a grant still counts.
func denies(j approval.Judgement, granted bool) (why string, denied bool) {
	switch {
	case j.Outcome != approval.OutcomeAllow && j.Outcome != approval.OutcomeAsk:
		return j.Reason, true
	case j.Outcome == approval.OutcomeAsk && j.OnMiss != "" && !granted:
		return j.OnMiss, true
	}
	return "", false
}

// Suggester is a Policy that can say what would let a call run unasked.
type Suggester interface {
	// Suggest answers for a call that Judge asks about. It is for operators, never for the asker.
	Suggest(ctx context.Context, call approval.Call) approval.Suggestion
}

// text is the suggestion in one sentence, or empty.
func text(s approval.Suggestion) string {
	switch {
	case s.None != "":
		return "No change is suggested that would let it run unasked: " + s.None + "."
	case s.Value == "":
		return ""
	case s.Key == "":
		return "With " + s.Brief + " it runs unasked: " + s.Value + ". What else that lets run: " + s.Also + "."
	}
	return "To let it run unasked, add to " + s.Key + ": " + s.Value + ". What else that lets run: " + s.Also + "."
}

// brief is the same without the call's params, or empty.
func brief(s approval.Suggestion) string {
	switch {
	case s.Value == "":
		return ""
	case s.Key == "":
		return "it runs unasked with " + s.Brief
	}
	return "a rule in " + s.Key + " for " + s.Brief + " would let it run; evaluate writes it"
}

// CommandReader is a Policy that can tell people about the commands of a line.
type CommandReader interface {
	Commands(call approval.Call) approval.CommandList
	Spread(call approval.Call) approval.Spread
}
