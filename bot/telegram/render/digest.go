package render

import (
	"fmt"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// digest draws a list of approvals as HTML: a line for each, numbered as its button is.
// The core keeps it to what fits a message.
func digest(d card.Digest) string {
	list := &block{}
	for i, e := range d.Entries {
		risk := min(max(e.Risk, approval.R0), approval.R4)
		list.line(fmt.Sprintf("%d. %s %s · %s · ", i+1, riskColour[risk], e.Risk, code(e.Code)), inert(e.Text))
	}
	return join([]section{
		(&block{}).line("", inert(d.Title)).section(""), list.section(""),
		(&block{}).line("", escape(textcmd.DigestFoot(d))).section(""),
	})
}
