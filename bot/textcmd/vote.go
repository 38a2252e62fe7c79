package textcmd

import (
	"slices"

	"approvalbot/internal/approval"
)

// vote reads the code and the decisions around it, in either order.
func (c Context) vote(verb Verb, words []string, addressed bool) Command {
	before := takeRun(words)
	code, after, ok := c.takeCode(before.rest, addressed)
	if !ok {
		code, after, before = c.card(), words, run{}
	}
	switch {
	case verb == Approve:
		return approve(code, before.decisions, after)
	case verb == Retry:
		return retry(code, before.decisions, after)
	case verb == DenyReason && len(after) == 0:
		return Command{Verb: DenyReason, Code: code, Decision: approval.Deny}
	}
	return deny(code, after)
}

// approve weighs the decisions before the code, those directly after it, and
// the last word of the line. A deny beside the code wins. A scope after the
// code counts only as the last word or before a colon; if several count, the
// narrowest does.
func approve(code string, before []approval.Decision, after []string) Command {
	head := takeHead(after)
	beside := slices.Concat(before, head.decisions)
	switch {
	case slices.Contains(before, approval.Deny):
		return deny(code, after)
	case slices.Contains(beside, approval.Deny):
		return deny(code, head.rest)
	case head.closed():
		return allow(code, narrowest(beside), head.rest)
	case contradicts(after):
		return Command{Verb: Unclear, Code: code}
	}
	last, ok := lastDecision(after)
	switch {
	case ok:
		d := narrowest(append(beside, last))
		return allow(code, d, without(d, last, after))
	case len(before) > 0:
		return allow(code, narrowest(beside), after)
	}
	return allow(code, approval.AllowOnce, after)
}

// retry is a vote for one more run, unless approve would read the line as something else than a
// yes. It does not repeat the scope of the first yes.
func retry(code string, before []approval.Decision, after []string) Command {
	if cmd := approve(code, before, after); cmd.Verb != Approve {
		return cmd
	}
	return Command{Verb: Retry, Code: code, Decision: approval.Retry, Reason: reasonFor(code, after)}
}

// contradicts reports whether the reason of an approve or retry ends in a deny word, or
// has one before a colon, the place of a scope.
func contradicts(reason []string) bool {
	for i, word := range reason {
		s, ok := cutDecision(word)
		counts := s.colon || i == len(reason)-1
		if ok && counts && s.decision == approval.Deny {
			return true
		}
	}
	return false
}

func lastDecision(words []string) (approval.Decision, bool) {
	if len(words) == 0 {
		return "", false
	}
	return decisionNamed(words[len(words)-1])
}

// without drops the last word from the reason if it was the scope that counts.
// A closing "once" or "allow" is no wider scope and stays in the sentence.
func without(d, last approval.Decision, reason []string) []string {
	if d != last || d == approval.AllowOnce {
		return reason
	}
	return reason[:len(reason)-1]
}

func allow(code string, d approval.Decision, reason []string) Command {
	return Command{Verb: Approve, Code: code, Decision: d, Reason: reasonFor(code, reason)}
}

func deny(code string, reason []string) Command {
	return Command{Verb: Deny, Code: code, Decision: approval.Deny, Reason: reasonFor(code, reason)}
}
