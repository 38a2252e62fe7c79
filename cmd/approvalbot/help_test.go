package main

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/help"
	"approvalbot/internal/config"
)

// Help fits a terminal, every command is in its group and has an example, and the
// examples name commands and flags that there are.
func TestHelp(t *testing.T) {
	t.Parallel()
	a := &app.App{Env: config.Environ{}}
	root := newRootCommand(a)
	help.Plainly(a, root)
	completes := func(c *cobra.Command) bool { return c.Name() == "completion" && c.Parent() == root }
	for _, c := range commands(root) {
		if completes(c) || c.HasParent() && completes(c.Parent()) || c.Name() == "help" || strings.HasPrefix(c.Name(), "__") {
			continue
		}
		var text strings.Builder
		c.SetOut(&text)
		require.NoError(t, c.Help())
		for _, line := range strings.Split(text.String(), "\n") {
			require.LessOrEqual(t, utf8.RuneCountInString(line), 78, "%s: %s", c.CommandPath(), line)
		}
		if c.Parent() == root && c.Name() != "docs" && !c.Hidden {
			require.NotEmpty(t, c.GroupID, "%s is in no group (internal/cli/help/help.go)", c.CommandPath())
		}
		if !c.HasSubCommands() {
			require.NotEmpty(t, c.Example, "%s has no example (internal/cli/help/examples.go)", c.CommandPath())
		}
		for _, line := range exampleLines(c.Example) {
			requireExample(t, root, line)
		}
	}
	for path := range help.Examples() {
		c, _, err := root.Find(strings.Fields(path))
		require.True(t, path == root.Name() || err == nil && c.CommandPath() == root.Name()+" "+path, path)
	}
}

// commands lists a command and all below it.
func commands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	return all
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
