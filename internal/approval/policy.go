package approval

import "fmt"

// Judgement is policy's answer to one call.
type Judgement struct {
	Outcome    Outcome
	Assessment Assessment
	Rule       Rule       // whose yes is needed, when Outcome is OutcomeAsk
	Offers     []Decision // what people may decide, narrowest first, Deny last
	GrantScope GrantScope // what a grant for this call may cover; of an allowed call only with MustAsk or Scope
	Why        []string   // sentences for people: why this class, why it asks or is refused
	Points     []Point    // what of the call these come from, worst first, as the asker wrote it; of a call that asks, with Points
	Reason     string     // one sentence for the asker, when Outcome is OutcomeDeny
	Votes      []Vote     // of automatic factors
	Form       Form       // how people are told what the call does; empty: by its name and parameters
	Trace      []Step     // of a call with Explain: every rule that spoke

	// CutShort: the call was not read to its end, because it takes too many steps or its
	// asker went away. It asks, and people are offered at most to allow it once.
	CutShort bool

	// Confined, with OutcomeAllow: it may run only confined. With OutcomeAsk: it runs confined after a yes, because a
	// rule of the operator's says so. Nil: it runs as it is.
	Confined *Confined

	Unsure bool   // a classifier is configured and static rules are unsure: ask it, then JudgeWith
	OnMiss string // with OutcomeAsk: people are not to be asked; without a grant the call is refused for this reason
	// FailedOpen names the configuration key that let the call go on although an
	// opinion was missing ("approvals.tools.classifier.onLowConfidence"): audited.
	FailedOpen string
	// Unreached is OutcomeAllow if the operator wrote that the call runs when no approver
	// can be reached (approvals.exec.askFallback). Any other value: it waits.
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

// GrantScope is what a grant that is left for a call would cover. It is empty if no grant
// may be left: wrappers and interpreters are never trusted.
type GrantScope struct {
	// Subject is what a session grant covers: calls of the same Subject, and no
	// others. It is the tool's folded name; for commands the program with its
	// subcommand and its options ("exec git push -u"), or the whole command. Empty:
	// no session grant.
	Subject string
	// Session says for people what the Subject is, made by the function that makes it:
	// `"“git push” without other options, on anything except files outside the
	// workspace"`.
	Session string
	// Always says for people what an always covers: exactly this call. Empty: no always may
	// be given, because the same words may run something else another time.
	Always string
	// Program is a command's program with its subcommand ("exec git push"), by which
	// operators' patterns are found; empty for other tools.
	Program string
	// Words are the words of the one plain command that the call is, exactly as it
	// runs; nil for everything else. Operators' patterns are matched against them.
	Words []string
}

// Opinion is what a classifier said of a call.
type Opinion struct {
	Assessment Assessment     // Source is "classifier"; not to be read when Failed is set
	Earlier    bool           // it counted when the call was asked: see Policy.JudgeWith
	Failed     string         // why there is no opinion: "timeout", "unreachable", "invalid", "open-circuit"
	Consulted  []Consultation // the model that was asked; empty if it was not
}

// Verification is what outside authorities say of a call.
type Verification struct {
	Asked  bool   // some authority has (or, from Wants, would have) an opinion
	Denied bool   // the call must not run
	Reason string // shown to the agent when Denied; at most 500 characters, safe to show
	Open   bool   // it is not denied only because failMode is allow: to be audited
	Steps  []Step // for the trace
	// Consulted are the authorities that were asked, in order; empty from Wants.
	Consulted []Consultation
	// People, if any, must say yes beside everyone else whose yes is needed; the call is
	// then asked even if policy allows it.
	People *VerifierPeople
}

// VerifierPeople are the approvers of the verifier's own chat.
type VerifierPeople struct {
	Place     Target   // one more card goes there
	Accounts  []string // who may tap, as "telegram:123456789"
	TimeoutMs int64    // how long they have; 0: the approval's own time
	FailOpen  bool     // if Place cannot be reached, their yes is not needed
}

// Suggestion is one change after which policy allows a call that it asks about. It was tried: it
// lets no call of R4, no call that reads secrets, and no computed text run unasked. The zero
// Suggestion suggests no change.
type Suggestion struct {
	Key   string // the list of the configuration that Value is added to; empty: Value is a shell line to run instead
	Value string // YAML, an entry of the list
	Also  string // what else runs unasked then
	Brief string // what Value permits, without the call's params: for the log
	None  string // why no change is suggested
}

// CommandList is what policy reads in a line: every command in order, or if these are too many, the riskiest first.
type CommandList struct {
	Commands []CommandRead
	More     int       // so many are left out
	Worst    RiskClass // no class of those is above it
}

// Left says how much is left out: `"57 more commands, none above R1"`; empty if all
// commands are in the list.
func (l CommandList) Left() string {
	if l.More == 0 {
		return ""
	}
	commands := "commands"
	if l.More == 1 {
		commands = "command"
	}
	if l.Worst >= R4 { // no class is above it
		return fmt.Sprintf("%d more %s, up to %s", l.More, commands, l.Worst)
	}
	return fmt.Sprintf("%d more %s, none above %s", l.More, commands, l.Worst)
}

// Spread says which lines of a call's text its commands are on.
type Spread struct {
	Lines int // of the text; 0: it is not known how the call is written
	Parts []Part
}

// Part is a command of a call's text, or something else in it that has a class of its own, as a redirection.
type Part struct {
	From, To int // its lines, from 1; 0: not known
	Class    RiskClass
	Command  bool
}

// Left counts the commands that are not on lines that are all shown. Its class is at least that of every part that
// is not shown, and at least the class of the whole if no part is as bad as the whole.
func (s Spread) Left(whole RiskClass, shown func(line int) bool) (l CommandList) {
	most := R0
	for _, p := range s.Parts {
		most = max(most, p.Class)
		seen := p.From > 0
		for n := p.From; n <= p.To && seen; n++ {
			seen = shown(n)
		}
		if seen {
			continue
		}
		if l.Worst = max(l.Worst, p.Class); p.Command {
			l.More++
		}
	}
	if s.Lines == 1 && l.More == 1 && s.commands() == 1 {
		return CommandList{} // the one that is shown in part
	}
	if most < whole {
		l.Worst = whole
	}
	return l
}

func (s Spread) commands() (n int) {
	for _, p := range s.Parts {
		if p.Command {
			n++
		}
	}
	return n
}

// CommandRead is one command of a line, as policy reads it by itself. Its text is as the
// asker wrote it.
type CommandRead struct {
	Text  string
	Class RiskClass
	Why   []string // sentences for people; empty if a part of it is computed
}
