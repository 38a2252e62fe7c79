package textcmd

import (
	"slices"
	"strings"

	"approvalbot/core"
)

// Buttons gives the rows of buttons that a card shows: Allow once and Deny in
// the first row, the rest behind More. An ended card has none. Only decisions
// that the card offers get a button, and a card that offers none can only be
// denied.
func Buttons(c core.Card, m Menu) [][]Button {
	if c.Status.Final() {
		return nil
	}
	say := func(label string, verb Verb, d core.Decision, style Style) Button {
		return Button{Label: label, Data: Command{Verb: verb, Code: c.Code, Decision: d}.String(), Style: style}
	}
	if m == MenuMore {
		var scopes []Button
		if slices.Contains(c.Offers, core.AllowSession) {
			scopes = append(scopes, say("Allow session", Approve, core.AllowSession, Allowing))
		}
		if slices.Contains(c.Offers, core.AllowAlways) {
			scopes = append(scopes, say("Always", Approve, core.AllowAlways, Allowing))
		}
		rest := []Button{
			say("Deny with a reason", DenyReason, core.Deny, Denying),
			say("Details", Details, "", Neutral),
			say("Back", Back, "", Neutral),
		}
		if len(scopes) > 0 {
			return [][]Button{scopes, rest}
		}
		return [][]Button{rest}
	}
	deny := say("Deny", Deny, core.Deny, Denying)
	first := []Button{deny}
	if slices.Contains(c.Offers, core.AllowOnce) {
		first = []Button{say("Allow once", Approve, core.AllowOnce, Allowing), deny}
	}
	return [][]Button{first, {say("More", More, "", Neutral)}}
}

// About says what the wider scopes that a card offers would grant, to whom and
// until when: a line for each, or one that says that there are none.
func About(c core.Card) string {
	var lines []string
	agent := "this agent"
	if c.Agent != "" {
		agent = "agent " + c.Agent
	}
	if slices.Contains(c.Offers, core.AllowSession) {
		what := "any “" + c.Subject + "”"
		if strings.HasPrefix(c.Subject, "exec ") && !strings.Contains(c.Subject, " (exactly") {
			what += " without other options," // each that it may have is in the subject
		}
		lines = append(lines, "Allow session: "+what+" by "+agent+" in this session, up to risk "+c.Risk.String()+", for 12 hours at most.")
	}
	if slices.Contains(c.Offers, core.AllowAlways) {
		lines = append(lines, "Always: exactly this call by "+agent+", until an operator deletes the grant.")
	}
	if lines == nil {
		return "No wider scope is offered for this request."
	}
	return strings.Join(lines, "\n")
}
