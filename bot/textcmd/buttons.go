package textcmd

import (
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Buttons gives the rows of buttons that a card shows: Allow once and Deny in the first row, the rest behind More.
// Opening and closing More changes the card for everyone in a chat, so a finger that is already moving must never land
// on a wider scope: the first row stays as it is, and no button that allows takes the place of More. An ended card has
// no buttons, except one that takes an allow back until it is claimed, or ends a cool-down while it lasts. Only Allow
// once is green, and not for an R4 call: wider scopes are grey. Only decisions that the card offers get a button, and a
// card that offers none can only be denied. On a question the answers are the buttons that allow; the one that allows
// without an answer is behind More.
func Buttons(c card.Card, m Menu) [][]Button {
	switch {
	case c.Digest != nil:
		return digestButtons(*c.Digest)
	case c.Status.Final() && c.Again:
		return [][]Button{{{"Allow again now", Command{Verb: Again, Code: c.Code}.String(), Neutral}}}
	case c.Status.Final() && c.TakeBack:
		return [][]Button{{{"Take back", Command{Verb: TakeBack, Code: c.Code}.String(), Denying}}}
	case c.Status.Final():
		return nil
	}
	say := func(label string, verb Verb, d approval.Decision, style Style) Button {
		return Button{Label: label, Data: Command{Verb: verb, Code: c.Code, Decision: d}.String(), Style: style}
	}
	asks := len(c.Answers) > 0
	once := say("Allow once", Approve, approval.AllowOnce, Allowing)
	if c.Risk >= approval.R4 {
		once.Style = Neutral
	}
	deny := say("Deny", Deny, approval.Deny, Denying)
	first, back := []Button{deny}, []Button{say("Back", Back, "", Neutral)}
	switch {
	case !slices.Contains(c.Offers, approval.AllowOnce):
	case asks:
		back = append(back, say("Allow unanswered", Approve, approval.AllowOnce, Neutral))
	default:
		first = []Button{once, deny}
	}
	if m != MenuMore {
		return append(answerRows(c), first, []Button{say("More", More, "", Neutral)})
	}
	rows := append(answerRows(c), first, []Button{
		say("Deny with a reason", DenyReason, approval.Deny, Denying), DetailsButton(c)})
	var scopes []Button // an answer allows this once only, and its rows leave no room
	if !asks && slices.Contains(c.Offers, approval.AllowSession) {
		scopes = append(scopes, say("Allow session", Approve, approval.AllowSession, Neutral))
	}
	if !asks && slices.Contains(c.Offers, approval.AllowAlways) {
		scopes = append(scopes, say("Always", Approve, approval.AllowAlways, Neutral))
	}
	if len(scopes) > 0 {
		rows = append(rows, scopes)
	}
	return append(rows, back)
}

const (
	answersInRow = 4  // with two rows of the others, eight answers stay within Discord's five rows
	maxAnswerTag = 30 // characters of an answer on its button
)

// answerRows are the answers of a question, each of which allows it once. They are above the other rows in every
// menu, so that a row keeps its place if a menu opens below a finger.
func answerRows(c card.Card) (rows [][]Button) {
	if !slices.Contains(c.Offers, approval.AllowOnce) {
		return nil
	}
	for i, text := range c.Answers {
		if i%answersInRow == 0 {
			rows = append(rows, nil)
		}
		label, _ := display.Clip(strconv.Itoa(i+1)+". "+text, maxAnswerTag)
		cmd := Command{Verb: Answer, Code: c.Code, Decision: approval.AllowOnce, Version: int64(i + 1)}
		rows[len(rows)-1] = append(rows[len(rows)-1], Button{label, cmd.String(), Allowing})
	}
	return rows
}

// DetailsButton is the button that shows the parts that a card leaves out.
func DetailsButton(c card.Card) Button {
	return Button{Label: "Details", Data: Command{Verb: Details, Code: c.Code}.String(), Style: Neutral}
}

// About says what the wider scopes that a card offers would grant, to which
// asker and until when: a line for each, or one that says that it offers no
// wider scope.
func About(c card.Card) string {
	if len(c.Wider) == 0 {
		return "No wider scope is offered for this request."
	}
	return strings.Join(c.Wider, "\n")
}
