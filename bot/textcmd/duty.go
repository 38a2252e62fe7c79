package textcmd

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"approvalbot/internal/display"
)

// duty tells who is on duty, until when, and who follows, in the zone of the person
// who asks, or else of the roster.
func (h *Handler) duty(m Message) Reply {
	rules, now := h.gate.Rules(), time.Now()
	zone := rules.People.Zone(rules.People.Identify(m.Voter).Person)
	var b strings.Builder
	for _, r := range rules.Contact.Duty.Rosters() {
		on, _ := rules.Contact.Duty.WhoNow(r.Name, now)
		fmt.Fprintf(&b, "%s: %s\n", display.Escape(r.Name), display.Escape(on.String(now, cmp.Or(zone, r.Zone))))
	}
	if b.Len() == 0 {
		return Reply{Long: "There is no roster: approvals.tools.onDuty in the desk's configuration is empty."}
	}
	return Reply{Long: b.String()}
}
