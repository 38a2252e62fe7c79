package card

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"approvalbot/internal/approval"
)

// Limits of the line about the risk.
const (
	maxReasons = 3
	maxWhyText = 110 // characters of all reasons together; the strongest is always there
)

// RulesChangedText is the sentence on an approval whose rules changed while it waited.
const RulesChangedText = "The rules changed while this waited; earlier votes no longer count."

// riskWords is the risk class with what it means: "R4 high impact".
func riskWords(a approval.Approval) string {
	class := a.Assessment.RiskClass
	return class.String() + " " + class.Text()
}

// RiskText says on one line how bad the call could be, and why.
func RiskText(a approval.Approval) string {
	texts := make([]string, 0, maxReasons)
	for _, r := range reasons(a, nil) {
		texts = append(texts, r.String())
	}
	if len(texts) > 0 {
		return riskWords(a) + ": " + strings.Join(texts, "; ")
	}
	return riskWords(a)
}

// RiskLine is the line about the risk: the class, what cannot be seen of the call, and the reasons.
func (c Card) RiskLine() Words {
	class, rest, colon := strings.Cut(c.Why, ": ")
	line := own(class)
	if len(c.State.Flags) > 0 {
		line = append(line, Word{Text: " · ⚠️ " + strings.Join(c.State.Flags, ", ")})
	}
	switch {
	case len(c.Reasons) > 0:
		for i, r := range c.Reasons {
			line = append(line, Word{Text: []string{": ", "; "}[min(i, 1)]})
			line = append(line, r...)
		}
	case colon:
		line = append(line, Word{Text: ": " + rest})
	}
	return line
}

// reasons gives the reasons that count most, the strongest first, in half a sentence each: at
// most three. A reason is left out if another one, or the words before them, already says the
// same.
func reasons(a approval.Approval, before Words) []Words {
	strong, _ := ranked(a, before)
	var out []Words
	room := maxWhyText
	for _, r := range Clip(strong, maxReasons) {
		if room -= CharCount(r.said.String()); room < 0 && len(out) > 0 {
			break
		}
		out = append(out, r.said)
	}
	return out
}

// furtherReasons are those that count, and that the line about the risk has no room for.
func furtherReasons(a approval.Approval, before Words) []string {
	strong, _ := ranked(a, before)
	var out []string
	for _, r := range strong[len(reasons(a, before)):] {
		out = append(out, r.said.String())
	}
	return out
}

// ranked gives the reasons that tell something about the call, without repetitions: those that count, the
// strongest first, and mild ones that are not worth a line beside any other.
func ranked(a approval.Approval, before Words) (strong, mild []reason) {
	all := codedReasons(a, before)
	has := func(code string) bool {
		return slices.ContainsFunc(all, func(r reason) bool { return r.code == code })
	}
	var speaks []string
	for _, r := range all {
		if word := keywordReasons()[r.code]; word != "" {
			speaks = append(speaks, word)
		}
	}
	for _, r := range all {
		same := func(o reason) bool { return o.said.String() == r.said.String() }
		switch {
		case reasonsOfDetail()[r.code], slices.ContainsFunc(subsumedBy()[r.code], has),
			!r.named && r.code == "remote-system" && has("destroys-infrastructure"), slices.ContainsFunc(strong, same):
		case r.code == "unknown-tool" && len(speaks) > 0:
			r.said = own("unknown tool, speaks of " + strings.Join(speaks, " and "))
			strong = append(strong, r)
		case mildReasons()[r.code]:
			mild = append(mild, r)
		default:
			strong = append(strong, r)
		}
	}
	if len(strong) == 0 {
		strong, mild = mild, nil
	}
	slices.SortStableFunc(strong, func(x, y reason) int { return y.weight() - x.weight() })
	return strong, mild
}

// reason is why a call is judged so: a code, if it is known, and half a sentence.
type reason struct {
	code  string
	said  Words
	named bool // it names its part of the call
}

// weight is 1 for a reason that a person must read first, such as that of an operator's own rule, which is why the call
// asks; and -1 for a reason that is the same for every call of an agent.
func (r reason) weight() int {
	switch {
	case r.code == "" || strings.HasPrefix(r.code, "rule:"):
		return 1
	case r.code == "no-workspace":
		return -1
	}
	return 0
}

// codedReasons gives each sentence its code. Reasons of policy are in the order of
// its codes; the core's own may be at any place.
func codedReasons(a approval.Approval, before Words) []reason {
	codes := slices.DeleteFunc(slices.Clone(a.Assessment.ReasonCodes), func(code string) bool { return ownReasons()[code] })
	out := make([]reason, 0, len(a.Why))
	for _, text := range a.Why {
		r := reason{}
		switch code, isOwn := ownSentences()[text]; {
		case isOwn:
			r.code = code
		case len(codes) > 0:
			r.code, codes = codes[0], codes[1:]
		}
		if r.said = does(r.code, a.Points, before); r.said != nil {
			r.named = true
		} else {
			r.said = own(cmp.Or(briefly()[r.code], half(text)))
		}
		out = append(out, r)
	}
	return out
}

// half makes half a sentence of a sentence: "It sends commits to another repository."
// becomes "sends commits to another repository".
func half(sentence string) string {
	s := strings.TrimSuffix(sentence, ".")
	if rest, ok := strings.CutPrefix(s, "It "); ok {
		return rest
	}
	first, size := utf8.DecodeRuneInString(s)
	second, _ := utf8.DecodeRuneInString(s[size:])
	if unicode.IsUpper(second) { // an abbreviation
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}

// Sentences of the core's own.
const (
	MustAskText        = "Whoever asks wants a person to decide."
	VerifierDeniedText = "The external verifier denied this call."
	VerifierPeopleText = "The verifier's own people must agree."
	TriedConfinedText  = "It ran confined before, and failed."
	DrillText          = "This is a drill: nothing of it will run."
)

var (
	ownSentences = sync.OnceValue(func() map[string]string {
		return map[string]string{
			MustAskText: approval.ReasonMustAsk, VerifierDeniedText: approval.ReasonVerifierDenied,
			VerifierPeopleText: approval.ReasonVerifierPeople, TriedConfinedText: approval.ReasonTriedConfined, DrillText: approval.ReasonDrill, RulesChangedText: "",
		}
	})
	ownReasons = sync.OnceValue(func() map[string]bool {
		return set(approval.ReasonMustAsk, approval.ReasonVerifierDenied, approval.ReasonVerifierPeople, approval.ReasonDrill, approval.ReasonTriedConfined,
			approval.ReasonInsufficient, approval.ReasonUnreached, approval.ReasonRecentlyDenied)
	})

	// reasonsOfDetail are codes that tell how the desk came to ask, not what the call does.
	reasonsOfDetail = sync.OnceValue(func() map[string]bool {
		return set("always-asks", "exec-always-asks", "external-write-asks", "message-send-asks",
			"project-code-asks", "exec-not-allowed", "known-server", "classifier-opinion", approval.ReasonMustAsk,
			approval.ReasonTriedConfined)
	})

	// mildReasons are not worth a line beside any other.
	mildReasons = sync.OnceValue(func() map[string]bool {
		return set("harmless-tool", "read-only-tool", "read-only-command", "workspace-write", "local-build",
			"local-git", "runs-project-code", "loopback-read", "network-read", "remote-read", "database-read",
			"installs-locked", "removes-build-output", "asks-the-desk", "declared-read-only")
	})

	// keywordReasons are what an unknown tool's name speaks of: one line says both.
	keywordReasons = sync.OnceValue(func() map[string]string {
		return map[string]string{
			"keyword-pay": "payments", "keyword-send": "sending", "keyword-delete": "deleting", "keyword-remove": "removing",
			"keyword-execute": "executing", "keyword-command": "commands", "keyword-shell": "a shell", "keyword-write": "writing",
		}
	})

	// briefly words a reason more shortly than the sentence of its code. The details have
	// that sentence.
	briefly = sync.OnceValue(func() map[string]string {
		return map[string]string{
			"unknown-tool": "a tool the desk does not know", "unknown-command": "a program the desk does not know",
			"unknown-option": "an option the desk does not know", "unknown-parameters": "parameters the desk does not know",
			"program-by-path": "a program outside the system's directories", "dynamic-command": "what it runs is computed only then",
			"dynamic-argument": "an argument is computed only then", "dynamic-path": "the file it writes is computed only then",
			"unusual-shell": "shell syntax that shells read differently", "interpreter-code": "runs code in an interpreter",
			"runs-script": "runs a script the desk does not see", "runs-workspace-code": "runs code the agent may have written",
			"writes-and-runs": "runs what it has just written", "outside-project": "builds or tests something outside the workspace",
			"installs-packages": "installs or changes packages", "runs-as-root": "runs with another user's rights",
			"remote-system": "uses stored credentials", "destroys-infrastructure": "changes running infrastructure",
			"sets-environment": "sets a variable that may change programs", "runs-project-code": "runs the project's own code",
			"dangerous-environment": "sets a variable that decides what code runs", "installs-locked": "installs from the lock file",
			"reads-environment": "reads variables, which often hold secrets", "reads-secret": "reads a file of secrets",
			"may-read-secret": "may read files of secrets", "metadata-service": "reads the cloud's credentials",
			"private-address": "reads from a private network", "writes-outside": "writes outside the workspace",
			"no-workspace": "writes files, and no workspace is known", "writes-secret": "changes a file of secrets",
			"writes-startup": "changes what other programs obey", "git-elsewhere": "runs git outside the workspace",
			"git-push": "pushes commits", "git-force-push": "overwrites history elsewhere",
			"git-discards": "can discard uncommitted changes", "git-destroys": "throws away changes or history for good",
			"remote-read": "reads with stored credentials", "removes-build-output": "deletes build output",
			"other-host": "runs on another machine", "force-delete": "deletes files by force, perhaps outside",
			"remote-write": "by its name, changes another system", "browser-acts": "acts on a page with your sessions",
			"misleading-name": "makes a file with a misleading name", "makes-link": "makes a link, which can lead outside",
		}
	})

	// subsumedBy names for a reason those that say it too, and more.
	subsumedBy = sync.OnceValue(func() map[string][]string {
		return map[string][]string{
			"keyword-pay": {"unknown-tool", "payment"}, "keyword-send": {"unknown-tool", "message-send"},
			"keyword-delete": {"unknown-tool"}, "keyword-remove": {"unknown-tool"}, "keyword-execute": {"unknown-tool"},
			"keyword-command": {"unknown-tool"}, "keyword-shell": {"unknown-tool"}, "keyword-write": {"unknown-tool"},
			"remote-write":         {"payment", "message-send", "drops-data", "keyword-pay", "keyword-send", "keyword-delete", "keyword-remove"},
			"git-push":             {"git-force-push"},
			"git-discards":         {"git-destroys"},
			"deletes-file":         {"recursive-delete", "force-delete", "git-destroys"},
			"force-delete":         {"recursive-delete"},
			"writes-outside":       {"writes-secret", "writes-startup", "writes-system", "writes-access", "writes-device"},
			"writes-system":        {"writes-access", "changes-schedule"},
			"reads-secret":         {"writes-secret"},
			"may-read-secret":      {"reads-secret", "writes-secret"},
			"private-address":      {"metadata-service"},
			"sets-environment":     {"dangerous-environment"},
			"dynamic-argument":     {"dynamic-command"},
			"dynamic-path":         {"dynamic-command"},
			"unusual-shell":        {"dynamic-command", "unparsable-command", "runs-download", "evaluates-text"},
			"interpreter-code":     {"runs-download"},
			"interpreter-input":    {"runs-download"},
			"evaluates-text":       {"runs-download"},
			"saves-download":       {"runs-download"},
			"unknown-option":       {"unknown-command"},
			"unknown-command":      {"program-by-path", "runs-script", "runs-workspace-code"},
			"remote-command":       {"escapes-container"},
			"runs-container":       {"destroys-containers", "escapes-container"},
			"changes-permissions":  {"recursive-permissions"},
			"changes-schedule":     {"removes-schedule"},
			"changes-network":      {"drops-firewall"},
			"stops-process":        {"kills-everything"},
			"database-client":      {"drops-data"},
			"remote-system":        {"publishes-package"},
			"installs-packages":    {"publishes-package"},
			"unknown-parameters":   {"malformed-call"},
			"declared-destructive": {"drops-data"},
		}
	})
)

func set(words ...string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}
