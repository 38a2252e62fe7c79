package core

import (
	"context"

	"approvalbot/internal/display"
)

// Policy judges calls. An implementation is an immutable snapshot: it gives the
// same answer to the same call, and answers OutcomeDeny or OutcomeAsk for
// whatever it does not understand.
type Policy interface {
	// Judge evaluates one call by static rules alone. The Gate has validated the
	// call before.
	Judge(ctx context.Context, call Call) Judgement
	// JudgeWith is Judge with a classifier's opinion. It is called where Judge
	// answered Unsure. The opinion may raise the class and add side effects; it
	// lowers a class only where static rules merely did not recognise what it is, and
	// never the number of people who must say yes to a call that is asked.
	//
	// With an Earlier opinion, also where no classifier is configured any more, it is
	// Judge but that the class is at least the opinion's.
	JudgeWith(ctx context.Context, call Call, o Opinion) Judgement
	// Permits says whether the hard layers leave the call's tool, whatever its params
	// are; where they do not, reason is one sentence for the asker.
	Permits(call Call) (reason string, ok bool)
	// Hash names the policy: equal policies have equal hashes (hex).
	Hash() string
}

// Judgement is policy's answer to one call.
type Judgement struct {
	Outcome    Outcome
	Assessment Assessment
	Rule       Rule       // whose yes is needed, when Outcome is OutcomeAsk
	Offers     []Decision // what people may decide, narrowest first, Deny last
	GrantScope GrantScope // what a grant for this call may cover
	Why        []string   // sentences for people: why this class, why it asks or is refused
	Reason     string     // one sentence for the asker, when Outcome is OutcomeDeny
	Votes      []Vote     // of automatic factors
	Form       Form       // how people are told what the call does; empty: by its name and parameters
	Trace      []Step     // of a call with Explain: every rule that spoke

	// CutShort: the call was not read to its end, since it takes too many steps or its
	// asker went away. It asks, and nothing wider than this once is offered.
	CutShort bool

	Unsure bool   // a classifier is configured and static rules are unsure: ask it, then JudgeWith
	OnMiss string // with OutcomeAsk: people are not to be asked; without a grant the call is refused for this reason
	// FailedOpen names the configuration key that let the call go on although an
	// opinion was missing ("approvals.tools.classifier.onLowConfidence"): audited.
	FailedOpen string
	// Unreached is OutcomeAllow where the operator wrote that the call runs when
	// no approver can be reached (approvals.exec.askFallback). Anything else: it waits.
	Unreached Outcome
}

// Step is one rule that spoke, for explain.
type Step struct {
	Stage   string `json:"stage"`
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"`
	Text    string `json:"text"`
}

// MaxSubject bounds a command's GrantScope.Subject, in bytes: people read all of it.
const MaxSubject = 200

// GrantScope is what a grant that is left for a call would cover. It is empty where
// nothing may be granted: wrappers and interpreters are never what is trusted.
type GrantScope struct {
	// Subject is what a session grant covers: calls of the same Subject, and no
	// others. It is the tool's folded name; for commands the program with its
	// subcommand and its options ("exec git push -u"), or the whole command. Empty:
	// no session grant.
	Subject string
	// Session says for people what the Subject is, made by the function that makes it:
	// "“git push” without other options, whatever it names but files outside the workspace".
	Session string
	// Always says for people what an always covers: exactly this call. Empty: none may
	// be given, since the same words may run something else another time.
	Always string
	// Program is a command's program with its subcommand ("exec git push"), by which
	// operators' patterns are found; empty for other tools.
	Program string
	// Words are the words of the one plain command that the call is, exactly as it
	// runs; nil for everything else. Operators' patterns are matched against them.
	Words []string
}

// subject is what a session grant for the call would cover. It is empty if people could not
// read all of it as it is, and for a call that they are not shown.
func (j Judgement) subject(call Call) string {
	s := j.GrantScope.Subject
	if display.Safe(s) != s || call.Dialect == DialectAgentShield {
		return ""
	}
	return s
}

// Opinion is what a classifier said of a call.
type Opinion struct {
	Assessment Assessment     // Source is "classifier"; not to be read when Failed is set
	Earlier    bool           // it counted when the call was asked: see Policy.JudgeWith
	Failed     string         // why there is none: "timeout", "unreachable", "invalid", "open-circuit"
	Consulted  []Consultation // who was asked: the model, or nobody
}

// Classifier gives an outside opinion of a call's risk. It never fails: what goes
// wrong is in the opinion.
type Classifier interface {
	// Classify asks about a call that static rules were unsure about. It keeps its
	// own time limit below ctx's.
	Classify(ctx context.Context, call Call, static Judgement) Opinion
}

// Verifier asks outside authorities whether a call may run, after everything
// else had no objection.
type Verifier interface {
	// Wants says, without asking anybody, what verification the call needs.
	Wants(call Call) Verification
	// Verify asks them. It keeps its own time limit below ctx's and never fails:
	// what goes wrong is decided by the configured fail mode.
	Verify(ctx context.Context, call Call, class RiskClass) Verification
	// Chats gives the verifier's own people, of all agents and of single ones: a
	// drill goes to each of their chats.
	Chats() []VerifierPeople
}

// Verification is what outside authorities say of a call.
type Verification struct {
	Asked  bool   // some authority has (or, from Wants, would have) an opinion
	Denied bool   // the call must not run
	Reason string // shown to the agent when Denied; at most 500 characters, safe to show
	Open   bool   // it is not denied only because failMode is allow: to be audited
	Steps  []Step // for the trace
	// Consulted are those that were asked, in order; from Wants: none.
	Consulted []Consultation
	// People, if any, must say yes beside everybody else whose yes is needed; the
	// call is then asked even where policy allows it.
	People *VerifierPeople
}

// VerifierPeople are the approvers of the verifier's own chat.
type VerifierPeople struct {
	Place     Target   // one more card goes there
	Accounts  []string // who may tap, as "telegram:123456789"
	TimeoutMs int64    // how long they have; 0: the approval's own time
	FailOpen  bool     // if Place cannot be reached, their yes is not needed
}

// denies says why policy's new judgement ends what was asked or allowed under
// other rules. Where people are not to be asked, only a grant still counts.
func (j Judgement) denies(granted bool) (why string, denied bool) {
	switch {
	case j.Outcome != OutcomeAllow && j.Outcome != OutcomeAsk:
		return j.Reason, true
	case j.Outcome == OutcomeAsk && j.OnMiss != "" && !granted:
		return j.OnMiss, true
	}
	return "", false
}

// Suggester is a Policy that can say what would let a call run unasked.
type Suggester interface {
	// Suggest answers for a call that Judge asks about. It is for operators, never for the asker.
	Suggest(ctx context.Context, call Call) Suggestion
}

// Suggestion is one change after which policy allows a call that it asks about. It was tried, and it
// lets no call of R4, none that reads secrets, and nothing that is computed run unasked. The zero
// one says nothing.
type Suggestion struct {
	Key   string // the list of the configuration that Value is added to; empty: Value is a shell line to run instead
	Value string // YAML, an entry of the list
	Also  string // what else runs unasked then
	Brief string // what Value permits, without the call's params: for the log
	None  string // why there is none
}

// text is the suggestion in one sentence, or empty.
func (s Suggestion) text() string {
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
func (s Suggestion) brief() string {
	switch {
	case s.Value == "":
		return ""
	case s.Key == "":
		return "it runs unasked with " + s.Brief
	}
	return "a rule in " + s.Key + " for " + s.Brief + " would let it run; evaluate writes it"
}

// suggestion says what would let policy's question about the call go away; it is empty if
// others than policy ask.
func (c consulted) suggestion(ctx context.Context, call Call, rules *Rules) Suggestion {
	s, can := rules.Policy.(Suggester)
	others := call.MustAsk || c.verifier || c.verdict.People != nil || call.drill()
	if !can || others || c.base.Outcome != OutcomeAsk || c.Outcome != OutcomeAsk {
		return Suggestion{}
	}
	return s.Suggest(ctx, call)
}

// CommandRead is one command of a line, as policy reads it by itself. Its text is as the
// asker wrote it.
type CommandRead struct {
	Text  string
	Class RiskClass
	Why   []string // sentences for people; none where a part of it is computed
}

// CommandReader is a Policy that can tell people about the commands of a line.
type CommandReader interface {
	Commands(call Call) []CommandRead
}
