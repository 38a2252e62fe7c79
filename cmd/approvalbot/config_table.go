package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"approvalbot/core"
)

// printPolicy prints the effective policy as one table, and below it what is not
// a matter of class.
func (a *app) printPolicy(cfg Config) error {
	classes, err := cfg.classes()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Class\tMeans\tOutcome\tNeeds\tWho could approve now")
	for i, p := range classes {
		needs, who := "-", "-"
		if p.Outcome == "ask" {
			needs, who = p.needs(), p.who()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", p.Class, core.RiskClass(i).Words(), p.Outcome, needs, who)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.printBeyondClass(cfg, classes[0].People)
	return nil
}

func (a *app) printBeyondClass(cfg Config, people []string) {
	t := cfg.approvals()
	state := "disabled"
	if cfg.Approvals.Enabled() {
		state = "enabled, mode " + t.Mode
	}
	own := "nobody approves their own"
	if t.SelfApproval == "solo" {
		own = "people may approve their own (solo)"
	}
	exec := fmt.Sprintf("security %s, ask %s", cfg.Approvals.Exec.Security, cfg.Approvals.Exec.Ask)
	if cfg.Approvals.Exec.Security == "allowlist" && cfg.Approvals.Exec.Ask == "on-miss" {
		exec += ": what is above R1 asks"
	}
	var also []string
	if t.Policy.RequireApprovalForExternalWrite {
		also = append(also, "external writes")
	}
	if t.Policy.RequireApprovalForMessagingSend {
		also = append(also, "messages")
	}
	fmt.Fprintln(a.stdout)
	fields(a.stdout, 14,
		"Approvals", state,
		"Approvers", cmp.Or(strings.Join(t.AllowedApprovers, ", "), "none"),
		"Not approvers", strings.Join(t.DisabledApprovers, ", "),
		"People", strings.Join(people, ", "),
		"Own requests", own,
		"Exec", exec,
		"Also ask for", strings.Join(also, ", "),
		"Denied tools", strings.Join(cfg.Tools.Deny, ", "),
		"Allowed tools", strings.Join(cfg.Tools.Allow, ", "),
		"Cards go to", cardsGo(t.Routing),
		"Fallback", chatNames(t.Routing.Fallback),
	)
}

// cardsGo says where cards go first.
func cardsGo(r RoutingConfig) string {
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
func chatNames(places []Place) string {
	words := make([]string, len(places))
	for i, p := range places {
		words[i] = fmt.Sprint(p.Target)
	}
	return strings.Join(words, ", ")
}
