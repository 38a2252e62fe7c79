package install

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/hook"
)

var update = flag.Bool("update", false, "write docs/agents.md")

const (
	agentsPage = "../../../docs/agents.md"
	generated  = "<!-- From here on written from the table of runtimes: go test ./internal/hook/install -run AgentsPage -update -->\n"
)

// The page's upper part is written by hand, the lower one by the table.
func TestAgentsPage(t *testing.T) {
	page, err := os.ReadFile(agentsPage)
	require.NoError(t, err)
	head, old, ok := strings.Cut(string(page), generated)
	require.True(t, ok, "the page needs the line that ends its upper part")
	var b strings.Builder
	for _, r := range hook.Runtimes() {
		b.WriteString(section(r))
	}
	if *update {
		old = b.String()
		require.NoError(t, os.WriteFile(agentsPage, []byte(head+generated+old), 0o644))
	}
	require.Equal(t, old, b.String(), "the table changed; if it was meant to: go test ./internal/hook/install -run AgentsPage -update")
}

// section is what the page says about a runtime, in about ten lines.
func section(r hook.Runtime) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "- "+format+"\n", args...) }
	tested := "only its documentation was read"
	if r.Tested != "" {
		tested = "tried with " + r.Tested
	}
	fmt.Fprintf(&b, "\n### %s\n\n", r.Title)
	if len(Has(r.Name)) > 0 {
		line("`approvalbot install %s` (%s). Files: %s.", r.Name, tested, places(r.Name))
	} else {
		line("Nothing to install (%s).", tested)
	}
	for i, w := range r.Ways {
		label := "Way in"
		if i > 0 {
			label = "Or"
		}
		name := string(w.Kind)
		if w.Event != "" {
			name += " `" + w.Event + "`"
		}
		line("%s: %s: %s.", label, name, strings.TrimSuffix(w.Note, "."))
	}
	if len(r.Events) > 0 || r.Fails != (hook.Failures{}) {
		crash, late, missing := outcome(r.Fails.Crash), outcome(r.Fails.Timeout), outcome(r.Fails.Unreachable)
		failure := fmt.Sprintf("If a hook crashes, %s; if a hook takes too long, %s; "+
			"if its program is missing or cannot be reached, %s.", crash, late, missing)
		const ours = "approvalbot answers before the limit, and the hook that install writes denies if approvalbot's program is " +
			"missing or dies."
		closed := "No setting of the runtime closes these gaps. Therefore " + ours
		switch {
		case r.Closed != "":
			failure = "As the runtime is shipped: " + strings.ToLower(failure[:1]) + failure[1:]
			closed = "With `" + r.Closed + "`, which install sets, the call does not run."
		case r.Fails == (hook.Failures{}):
			closed = "In any case " + ours
		case r.Fails.Crash == hook.FailClosed && r.Fails.Timeout != hook.FailOpen:
			closed = "The runtime itself keeps such a call from running."
		}
		line("%s", failure)
		line("%s", closed)
	}
	if r.Notes != "" {
		line("A person's note reaches the model in %s.", r.Notes)
	} else if len(r.Events) > 0 {
		line("A person's note does not reach the model. The desk tells the person so.")
	}
	if ByShell(r.Name) {
		line("A shell starts the hook. bash first obeys BASH_ENV and exported functions, and either can end the hook before it asks.")
	}
	if l := limit(r.Limit); l != "" {
		line("Time limit of a hook: %s.", l)
	}
	for _, trap := range r.Traps {
		line("%s", trap)
	}
	return b.String()
}

func places(runtime string) string {
	var out []string
	for _, scope := range Scopes() {
		for _, t := range targets(runtime) {
			if t.scope == scope && t.form != onlyCopy {
				out = append(out, fmt.Sprintf("`%s` (%s)", strings.TrimPrefix(t.path, "./"), scope))
				break
			}
		}
	}
	return strings.Join(out, ", ")
}

func outcome(f hook.Failure) string {
	return map[hook.Failure]string{
		hook.FailUnknown: "it is not known what happens", hook.FailOpen: "the call **runs**",
		hook.FailClosed: "the call does not run", hook.FailWaits: "the call waits",
	}[f]
}

func limit(l hook.Limit) string {
	switch {
	case l.Hard > 0 && l.Hard != l.Default:
		return fmt.Sprintf("%s by default, at most %s", seconds(l.Default), seconds(l.Hard))
	case l.Hard > 0:
		return seconds(l.Hard) + ", which no configuration can change"
	case l.Default > 0 && l.Unit > 0:
		return seconds(l.Default) + " unless the hook's configuration sets another; install sets a longer one if the runtime was " +
			"seen to obey it"
	case l.Default > 0:
		return "taken to be " + seconds(l.Default)
	}
	return ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
