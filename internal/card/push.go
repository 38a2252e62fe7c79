package card

import (
	"encoding/json"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// Notification is what a browser is told about a pending approval: only the tool's name,
// since a locked telephone shows a notification to anyone.
type Notification struct {
	Code string `json:"code"`
	Risk string `json:"risk"`
	Tool string `json:"tool"`
}

// drawNotification gives the text of a notification as JSON, or nil if no person is asked
// any more. maxPushTool is how many characters of a tool's name a notification shows.
const maxPushTool = 60

func drawNotification(a approval.Approval) Drawing {
	if a.Final() {
		return Drawing{Skip: "ended before it could be shown"}
	}
	tool := Clipped(display.Escape(a.ToolName), maxPushTool)
	text, _ := json.Marshal(Notification{a.Code, a.Assessment.RiskClass.String(), tool}) // plain values always marshal
	return Drawing{Text: string(text), Done: true}
}
