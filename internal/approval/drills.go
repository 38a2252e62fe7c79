package approval

// DrillDecided reports whether it is a drill that a person decided: its cards go out all
// the same, because each chat is to be tried.
func (a Approval) DrillDecided() bool {
	return a.Drill() && (a.Status == Approved || a.Status == Denied)
}
