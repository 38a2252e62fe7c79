package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"approvalbot/config"
)

// Help fits a terminal, every command is in its group and has an example, and the
// examples name commands and flags that there are.
func TestHelp(t *testing.T) {
	t.Parallel()
	a := &app{env: config.Environ{}}
	root := newRootCommand(a)
	a.plainly(root)
	for _, c := range tree(root) {
		if completes(c) || c.HasParent() && completes(c.Parent()) || c.Name() == "help" || strings.HasPrefix(c.Name(), "__") {
			continue
		}
		for _, line := range strings.Split(helpText(c), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), helpWidth, "%s: %s", c.CommandPath(), line)
		}
		if c.Parent() == root && c.Name() != "docs" {
			require.NotEmpty(t, c.GroupID, "%s is in no group (help.go)", c.CommandPath())
		}
		if !c.HasSubCommands() {
			require.NotEmpty(t, c.Example, "%s has no example (help_examples.go)", c.CommandPath())
		}
		for _, line := range exampleLines(c.Example) {
			requireExample(t, root, line)
		}
	}
	for path := range examples {
		c, _, err := root.Find(strings.Fields(path))
		require.True(t, path == root.Name() || err == nil && c.CommandPath() == root.Name()+" "+path, path)
	}
}

func exampleLines(text string) []string {
	return slices.DeleteFunc(strings.Split(strings.ReplaceAll(text, "\\\n", " "), "\n"), func(l string) bool { return l == "" })
}

func requireExample(t *testing.T, root *cobra.Command, line string) {
	t.Helper()
	words := strings.Fields(line)
	require.Equal(t, root.Name(), words[0])
	c, _, err := root.Find(words[1:])
	require.NoError(t, err, line)
	require.NotEqual(t, root, c, line)
	for _, w := range words[1:] {
		if w == "--" {
			return
		}
		if name, ok := strings.CutPrefix(w, "--"); ok {
			require.True(t, c.Flags().Lookup(name) != nil || c.InheritedFlags().Lookup(name) != nil, "%s: --%s", line, name)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 30)
	for text, want := range map[string]string{
		"one\ntwo":                   "one two",
		"one:\n  $ two\nthree\nfour": "one:\n  $ two\nthree four",
		"one\n\ntwo":                 "one\n\ntwo",
		long:                         strings.TrimSpace(strings.Repeat("word ", 15)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 15)) + " ",
	} {
		require.Equal(t, want, wrap(text, ""))
	}
	require.Equal(t, "  abcdef\n    "+strings.Repeat("x", 90), wrap("  abcdef "+strings.Repeat("x", 90), "    "))
	require.Equal(t, strings.Repeat("ä", 78), wrap(strings.Repeat("ä", 78), ""))
}
