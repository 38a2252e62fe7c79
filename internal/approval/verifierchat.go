package approval

// Passed reports whether the verifier's need counts as met because its chat could not be
// reached.
func (r Rule) Passed() bool { return r.Verifier != nil && r.Verifier.Passed }

// PassesUnreached reports whether an approval that ran without the verifier's people, whose chat could not be
// reached, may do so under the rule of today.
func (r Rule) PassesUnreached(today Rule) bool {
	return r.Passed() && today.Verifier.FailOpen && !today.StepUp
}

// FailsOpen reports whether the call runs if no approver, or no one of the verifier's people, can be
// asked.
func (a Approval) FailsOpen() bool {
	return a.Unreached || a.Rule.AsksVerifier() && a.Rule.Verifier.FailOpen
}
