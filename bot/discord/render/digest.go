package render

import (
	"fmt"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/card"
)

// digest makes the message of a list of approvals: a line for each, numbered as its
// button is, in the colour of the riskiest. The core limits it to what fits a
// message.
func digest(c card.Card) Message {
	d, list, accent := *c.Digest, &text{}, lapsedColour
	for i, e := range d.Entries {
		list.line(fmt.Sprintf("%d\\. %s %s · %s · ", i+1, riskIcon[clamped(e.Risk)], e.Risk, code(e.Code)), escape(e.Text))
	}
	if len(d.Entries) > 0 {
		accent = riskColour[clamped(d.Entries[0].Risk)]
	}
	return boxed(accent, textcmd.Buttons(c, textcmd.MenuMain),
		"**"+escape(d.Title)+"**", list.String(), escape(textcmd.DigestFoot(d)))
}
