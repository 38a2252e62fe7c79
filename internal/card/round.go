package card

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
)

// runs says for the details of a card how the earlier runs went, and who let it run again.
func runs(a approval.Approval) (out []Fact) {
	for i, r := range a.RetriedBy {
		text := "allowed by " + people.People(r.Before.By) + ", " + r.Before.Text() + "; then retried by " + people.People(r.By)
		if r.Before.Result != nil && r.Before.Result.Summary != "" {
			out = append(out, Fact{Name: fmt.Sprintf("Run %d, in the asker's words", i+1),
				Value: Clipped(display.Safe(r.Before.Result.Summary), maxClaim)})
		}
		out = append(out, Fact{Name: fmt.Sprintf("Run %d", i+1), Value: Clipped(display.Safe(text), maxFact), Own: true})
	}
	return out
}

// maxRoundText bounds a round's message that shows the whole call, in characters: on the
// narrowest platform 2,000 hold it with each of them escaped.
const maxRoundText = 900

// drawRound is what the message says that an open round is told with: the whole call, if it
// fits, so that a vote may come from there. payload is that call.
func drawRound(a approval.Approval, of approval.Delivery, payload []Fact, d *people.Directory, site assertion.Site, now int64) Drawing {
	round, open := people.OpenRound(a, d, now)
	if !open || !a.TellsOfRun(of) {
		return Drawing{Skip: "the retry was decided, or its time is over"}
	}
	until := approval.TimeText(round.ExpiresAtMs, time.Local)
	lines := []string{fmt.Sprintf("🔁 %s: %s asks to run it again (%s). %s, until %s.", a.Code, people.People([]string{round.By}),
		a.LastText(), round.Tally.RoundText(), until)}
	way := "approvalbot retry " + a.Code
	if site.ID != "" {
		way = site.Link("/a/"+a.Code) + " or with: " + way
	}
	out := Drawing{Times: Times{until: round.ExpiresAtMs}, Done: true}
	if whole := wholeRound(a, append(slices.Clone(lines), "Vote here with: retry "+a.Code+", or: deny "+a.Code,
		"Elsewhere: "+way), payload); whole != "" && !round.Rule.StepUp && a.TellsOfRound(of) {
		out.Text, out.Shown = whole, true
		return out
	}
	lines = append(lines, "Vote on it: "+way, "Against it: deny "+a.Code, "What: "+Headline(a))
	out.Text = strings.Join(lines, "\n")
	return out
}

// wholeRound is the message with the whole call in it; empty if it does not fit, or is not known.
func wholeRound(a approval.Approval, lines []string, payload []Fact) string {
	asked := askersText(a, payload)
	if len(payload) == 0 || display.Hides(asked) || len(display.Lookalikes(asked, 1)) > 0 {
		return "" // of which a card would warn
	}
	lines = append(lines, "Risk: "+RiskText(a), "It would run "+display.Escape(a.ToolName)+":")
	for _, f := range payload {
		lines = append(lines, f.Label(a.ToolName)+":")
		for line := range strings.SplitSeq(f.Value, "\n") {
			lines = append(lines, display.Bar+line)
		}
	}
	text := strings.Join(lines, "\n")
	if CharCount(text) > maxRoundText {
		return ""
	}
	return text
}
