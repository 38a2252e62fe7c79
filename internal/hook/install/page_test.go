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
		line("A hook that crashes: %s; takes too long: %s; is missing or not reached: %s.",
			outcome(r.Fails.Crash), outcome(r.Fails.Timeout), outcome(r.Fails.Unreachable))
		closed := "nothing; approvalbot answers before the limit, and its hook denies when the program is gone or dies"
		switch {
		case r.Closed != "":
			closed = "`" + r.Closed + "`, which install sets"
		case r.Fails.Crash == hook.FailClosed && r.Fails.Timeout != hook.FailOpen:
			closed = "it is closed by itself"
		}
		line("Closed by: %s.", closed)
	}
	if r.Notes != "" {
		line("What a person says with a yes reaches the model: %s.", r.Notes)
	} else if len(r.Events) > 0 {
		line("What a person says with a yes does not reach the model; the person reads that it does not.")
	}
	if ByShell(r.Name) {
		line("A shell starts the hook: bash there obeys BASH_ENV and exported functions first, and they can end it before it asks.")
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
		hook.FailUnknown: "not known", hook.FailOpen: "the call **runs**",
		hook.FailClosed: "the call does not run", hook.FailWaits: "it waits",
	}[f]
}

func limit(l hook.Limit) string {
	switch {
	case l.Hard > 0 && l.Hard != l.Default:
		return fmt.Sprintf("%s, and at most %s whatever its configuration says", seconds(l.Default), seconds(l.Hard))
	case l.Hard > 0:
		return seconds(l.Hard) + " whatever its configuration says"
	case l.Default > 0 && l.Unit > 0:
		return seconds(l.Default) + " unless its configuration says more; install does where that was seen to be obeyed"
	case l.Default > 0:
		return "taken to be " + seconds(l.Default)
	}
	return ""
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }
