package card

import (
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// mentioned are those of a reminder's people who could still decide.
func mentioned(a approval.Approval, d approval.Delivery, directory *people.Directory) (out []Mentioned) {
	open := people.Names(people.Contacts(a, directory))
	for _, id := range d.Mention {
		v := directory.Identify(approval.Voter{Channel: approval.Platform(d.Target), UserID: id})
		if slices.Contains(open, v.Person) {
			out = append(out, Mentioned{Name: v.Person, UserID: id})
		}
	}
	return out
}

// drawReminder is what a reminder says, to those who could still decide.
func drawReminder(a approval.Approval, d approval.Delivery, people *people.Directory) Drawing {
	mention := mentioned(a, d, people)
	switch {
	case a.Final():
		return Drawing{Skip: "it has ended"}
	case len(d.Mention) > 0 && len(mention) == 0:
		return Drawing{Skip: "all who were to be reminded have voted"}
	}
	return Drawing{Text: MessageText(a, approval.ReminderDelivery), Times: times(a), Mention: mention, Done: true}
}

// alsoAskedText names on a card the people whom escalations asked; empty if they
// asked no one.
func alsoAskedText(a approval.Approval) string {
	if len(a.AlsoAsked) == 0 {
		return ""
	}
	text := "also asked: " + strings.Join(a.AlsoAsked, ", ")
	if a.AskedWhy != "" {
		text += fmt.Sprintf(" (%s)", a.AskedWhy)
	}
	return Clipped(display.Safe(text), maxFact)
}
