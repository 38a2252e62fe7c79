package approval

// Unsigned reports whether the vote is a person's yes that needs a signature, and has no
// signature under the policy that the approval was judged by last.
func (a Approval) Unsigned(v Vote) bool {
	signed := v.Signature != nil && v.Signature.PolicyHash == a.PolicyHash
	return a.Rule.StepUp && ByPeople(v) && v.Verdict == Approve && !signed
}
