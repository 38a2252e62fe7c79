package approval

import "slices"

// Rule says whose yes an approval needs: the approvers', and the verifier's people's if
// there is a Verifier. Each need is met by itself.
type Rule struct {
	Allowed       []Factor `json:"allowed"`
	Disabled      []Factor `json:"disabled"`
	Effective     []Factor `json:"effective"` // Allowed without Disabled
	MinApprovals  int      `json:"minApprovals"`
	Unclamped     int      `json:"unclamped,omitempty"` // MinApprovals before it was clamped; 0: it was not
	RequiresHuman bool     `json:"requiresHuman"`
	Needs         []Need   `json:"needs,omitempty"` // each must be met beside MinApprovals
	// StepUp: a person's yes counts only if their passkey signed it for this very call.
	StepUp bool `json:"stepUp,omitempty"`

	Verifier *VerifierNeed `json:"verifier,omitempty"`
}

// Need is how many approvers with a role (people[].roles) must say yes.
type Need struct {
	Role string `json:"role"`
	Min  int    `json:"min"`
}

// VerifierNeed says that one of the verifier's own people must say yes. Only they can meet
// it, and their yes meets no other need.
type VerifierNeed struct {
	Accounts []string `json:"accounts"` // who they are, as "telegram:123456789"
	Chats    []Target `json:"chats"`    // in which they are asked
	// Instead says what counts in place of the approvers' yes, so that approvers are not
	// asked: "policy", or "grant:<id>". Empty: the approvers must say yes as well.
	Instead string `json:"instead,omitempty"`
	// FailOpen: if no chat can be reached, the need counts as met (failMode allow). Passed: it did.
	FailOpen bool `json:"failOpen,omitempty"`
	Passed   bool `json:"passed,omitempty"`
	// Optional, of a drill only: they may answer as an approver may, and need not.
	Optional bool `json:"optional,omitempty"`
}

// AsksApprovers reports whether approvers must say yes. If policy or a grant counts in
// their place, only the verifier's people are asked.
func (r Rule) AsksApprovers() bool {
	return r.Verifier == nil || r.Verifier.Optional || r.Verifier.Instead == ""
}

// AsksVerifier reports whether one of the verifier's people must say yes.
func (r Rule) AsksVerifier() bool {
	return r.Verifier != nil && !r.Verifier.Optional && !r.Passed()
}

// Instead is the rule with something that counts in place of the approvers' yes; with an
// empty by, approvers must say yes.
func (r Rule) Instead(by string) Rule {
	need := *r.Verifier
	need.Instead = by
	r.Verifier = &need
	return r
}

// Admits reports whether the factor may vote.
func (r Rule) Admits(f Factor) bool { return slices.Contains(r.Effective, f) }

// Weaker reports whether the rule asked less than today's does, of approvers or of the
// verifier's people.
func (r Rule) Weaker(today Rule) bool {
	if today.StepUp && !r.StepUp {
		return true
	}
	if today.AsksApprovers() && (!r.AsksApprovers() || r.AsksLess(today)) {
		return true
	}
	if !today.AsksVerifier() {
		return false
	}
	more := func(account string) bool { return !slices.Contains(today.Verifier.Accounts, account) }
	opens := r.AsksVerifier() && r.Verifier.FailOpen && !today.Verifier.FailOpen
	return opens || !r.AsksVerifier() || slices.ContainsFunc(r.Verifier.Accounts, more)
}

// AsksLess reports whether the rule asked less of approvers than today's does.
func (r Rule) AsksLess(today Rule) bool {
	lacks := func(n Need) bool {
		return !slices.ContainsFunc(r.Needs, func(o Need) bool { return o.Role == n.Role && o.Min >= n.Min })
	}
	fewer := today.MinApprovals > r.MinApprovals || slices.ContainsFunc(today.Needs, lacks)
	unsigned := today.StepUp && !r.StepUp
	return fewer || unsigned || today.RequiresHuman && !r.RequiresHuman
}

// MergeNeeds gives the stricter of both lists.
func MergeNeeds(old, more []Need) []Need {
	out := slices.Clone(old)
	for _, n := range more {
		if (Rule{Needs: out}).AsksLess(Rule{Needs: []Need{n}}) {
			out = append(out, n)
		}
	}
	return out
}
