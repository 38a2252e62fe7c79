package approval

// DrillTool is the tool name of a drill: a call that goes to people by every way that a
// card can take, independently of policy. It is never handed out to run, not even if they
// allow it.
const DrillTool = "approvalbot.drill"

// ReasonDrill is the reason code of a drill, WasDrill the sentence for a caller who would
// run one.
const (
	ReasonDrill = "drill"
	WasDrill    = "This was a drill: it must not run."
)

// Drill reports whether the call is a drill. A call in a dialect that shows people only a
// fingerprint is not: they could not see that it is a drill.
func (c Call) Drill() bool { return c.ToolName == DrillTool && c.Dialect == "" }

// Drill reports whether the approval is of a drill.
func (a Approval) Drill() bool { return a.ToolName == DrillTool && a.Dialect == "" }
