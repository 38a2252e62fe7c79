package card

import "approvalbot/internal/approval"

// Whole is the call of an approval that has ended, as its card had it: what it does ("to run"), its blocks, and its
// place. payload is what PayloadFacts gives.
func Whole(a approval.Approval, payload []Fact) (does Words, call []Block, place Words) {
	f := form(a, payload)
	call = f.blocks()
	mark(call, a.Points, a.ToolName)
	return f.does, call, f.place
}
