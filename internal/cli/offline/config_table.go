package offline

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/display"
)

// printPolicy prints the effective policy as one table by class, and below it all that
// does not depend on the class.
func printPolicy(a *app.App, cfg config.Config) error {
	classes, err := effective.Classes(cfg)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Class\tMeans\tOutcome\tNeeds\tWho could approve now")
	for i, p := range classes {
		needs, who := "-", "-"
		if p.Outcome == "ask" {
			needs, who = show.ClassNeeds(p.View()), show.ClassWho(p.View())
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Class, approval.RiskClass(i).Text(), p.Outcome, needs, who)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Stdout)
	printBeyondClass(a, cfg, classes[0].People)
	printSection(a, "Layers, in this order; each can only take tools away, and deny wins:", layerLines(cfg))
	printSection(a, "What is local to agents:", placeLines(cfg))
	printSection(a, "Stricter for one agent:", agentLines(cfg))
	rules, err := ruleLines(cfg)
	if err != nil {
		return err
	}
	printSection(a, "Rules, of which the first that matches counts:", rules)
	undecided, err := undecidedLines(cfg)
	printSection(a, "What happens to an undecided request, by class:", undecided)
	return err
}

// The table is tableWidth characters wide at most, of which the names in front of
// its lines take maxName.
const tableWidth, maxName = 80, 32

func printBeyondClass(a *app.App, cfg config.Config, people []string) {
	t := cfg.ApprovalTools()
	state := "disabled"
	if cfg.Approvals.Enabled() {
		state = "enabled, mode " + t.Mode
	}
	own := "no person approves their own"
	if t.SelfApproval == "solo" {
		own = "people may approve their own (solo)"
	}
	var also []string
	if t.Policy.RequireApprovalForExternalWrite {
		also = append(also, "external writes")
	}
	if t.Policy.RequireApprovalForMessagingSend {
		also = append(also, "messages")
	}
	for _, f := range []struct{ name, text string }{
		{"Approvals", state},
		{"Thresholds", thresholds(t.Policy.RequireApprovalAtOrAbove, t.Policy.DenyAtOrAbove,
			t.Policy.RequireHumanApproverAtOrAbove)},
		{"Approvers", cmp.Or(strings.Join(t.AllowedApprovers, ", "), "none")},
		{"Not approvers", strings.Join(t.DisabledApprovers, ", ")},
		{"People", strings.Join(people, ", ")},
		{"Own requests", own},
		{"Exec", execLine(cfg.Approvals.Exec)},
		{"Also ask for", strings.Join(also, ", ")},
		{"Project code", projectCodeLine(t.Policy)},
		{"Confined", confineLine(cfg)},
		{"Classifier", classifierLine(t.Classifier)},
		{"Verifier", verifierLine(cfg, cfg.Tools.Verifier)},
		{"Cards go to", cardsGo(t.Routing)},
		{"Fallback", chatNames(t.Routing.Fallback)},
		{"Pages", webLine(cfg.Server)},
	} {
		if f.text != "" {
			printLine(a, fmt.Sprintf("%-14s ", f.name+":"), f.text)
		}
	}
}

// webLine says at which address the desk's pages are, and how people can sign in other
// than by a chat.
func webLine(s config.Server) string {
	at := s.WebURL()
	switch {
	case at == "":
		return "off (server.web.enabled: " + string(s.Web.Enabled) + ")"
	case s.Web.OIDC.Issuer != "":
		return at + ", sign-in also by " + s.Web.OIDC.Issuer
	}
	return at
}

// printSection prints lines of a name and a text below a title; without lines it does not
// print the title either.
func printSection(a *app.App, title string, lines []namedLine) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(a.Stdout, "\n%s\n", title)
	width := 0
	for _, l := range lines {
		width = max(width, utf8.RuneCountInString(l.Name))
	}
	width = min(width, maxName)
	for _, l := range lines {
		name, _ := display.Clip(display.Escape(l.Name), width)
		printLine(a, "  "+name+strings.Repeat(" ", max(0, width-utf8.RuneCountInString(name)))+"  ", l.Text)
	}
}

// printLine prints a text after a head. If it is too wide, it is broken between words and
// indented.
func printLine(a *app.App, head, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	line, used := head, 0
	for _, word := range strings.Fields(display.Escape(text)) {
		if used > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > tableWidth {
			fmt.Fprintln(a.Stdout, line)
			line, used = indent, 0
		}
		if used > 0 {
			line += " "
		}
		word, _ = display.Clip(word, tableWidth-len(indent))
		line, used = line+word, used+1
	}
	fmt.Fprintln(a.Stdout, strings.TrimRight(line, " "))
}

// cardsGo says to which chats cards are sent first.
func cardsGo(r config.Routing) string {
	chats := cmp.Or(chatNames(r.Targets), "no chat")
	switch r.Mode {
	case "session":
		return "the session's chat"
	case "targets":
		return chats
	}
	return "the session's chat and " + chats
}

// chatNames writes places for people.
func chatNames(places []config.Place) string {
	words := make([]string, len(places))
	for i, p := range places {
		words[i] = fmt.Sprint(p.Target)
	}
	return strings.Join(words, ", ")
}
