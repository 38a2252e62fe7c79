package core

// Rules is what the operator configured, as one immutable snapshot.
type Rules struct {
	Enabled      bool
	Policy       Policy
	People       *Directory
	Router       Router
	Classifier   Classifier // nil: none
	Verifier     Verifier   // nil: none
	Solo         bool       // selfApproval: solo
	Clamp        bool       // clampMinApprovals
	TimeoutMs    int64      // default life of a pending approval
	MaxTimeoutMs int64
	// RetryWindowMs is how long an approved call is kept for a retry after its last
	// use, see Approval.KeptSinceMs; 0: for as long as its approval.
	RetryWindowMs int64
}
