package approval

// DrillTool is the tool name of a drill: a call that goes to people by every way
// that a card can take, whatever policy says of calls, and is never handed out to
// run, whatever they decide.
const DrillTool = "approvalbot.drill"

// ReasonDrill is the reason code of a drill, WasDrill the sentence for whoever
// would run one.
const (
	ReasonDrill = "drill"
	WasDrill    = "This was a drill: nothing of it may run."
)

// Drill reports whether the call is one. A dialect that shows no more than a
// fingerprint has none: people could not see that it is one.
func (c Call) Drill() bool { return c.ToolName == DrillTool && c.Dialect == "" }

// Drill reports whether the approval is of a drill.
func (a Approval) Drill() bool { return a.ToolName == DrillTool && a.Dialect == "" }
