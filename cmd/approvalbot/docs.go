package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newDocsCommand writes what the commands say of themselves, for packagers.
func newDocsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "docs", Short: "Write the commands' documentation", Hidden: true}
	cmd.AddCommand(
		&cobra.Command{Use: "markdown", Short: "Print the page docs/cli.md", Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(a.stdout, markdown(cmd.Root()))
			return err
		}},
		&cobra.Command{Use: "man DIR", Short: "Write a manual page for each command into DIR", Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			for _, c := range documented(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(args[0], manName(c)+".1"), []byte(manPage(c)), 0o644); err != nil {
					return err
				}
			}
			return nil
		}},
	)
	return cmd
}

// documented lists a command and those below it that have a page, in order.
func documented(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		shells := c.Name() == "completion" && c.Parent() == c.Root()
		if sub.IsAvailableCommand() && sub.Name() != "help" && !shells {
			all = append(all, documented(sub)...)
		}
	}
	return all
}

// option is a flag as people write it, and what it does.
type option struct{ name, value, usage string }

func options(flags *pflag.FlagSet) (out []option) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" || f.Name == "version" {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		switch f.DefValue {
		case "", "false", "0", "0s", "[]":
		default:
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		out = append(out, option{"--" + f.Name, value, usage})
	})
	return out
}

// markdown is one page with a section for each command.
func markdown(root *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The command line\n\n<!-- Written by the commands themselves: go test ./cmd/approvalbot -run CLIDoc -update -->\n\n%s.\n\nEvery command takes:\n\n", root.Short)
	table(&b, options(root.PersistentFlags()))
	for _, c := range documented(root)[1:] {
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		if fmt.Fprintf(&b, "%s\n", prose(sentenced(cmp.Or(c.Long, c.Short)))); c.HasSubCommands() {
			continue
		}
		fmt.Fprintf(&b, "\n```\n%s\n```\n", c.UseLine())
		if list := options(c.LocalNonPersistentFlags()); len(list) > 0 {
			b.WriteString("\n")
			table(&b, list)
		}
	}
	return b.String()
}

func table(b *strings.Builder, list []option) {
	b.WriteString("| flag | does |\n|---|---|\n")
	for _, o := range list {
		fmt.Fprintf(b, "| `%s` | %s |\n", strings.TrimSpace(o.name+" "+o.value), strings.ReplaceAll(o.usage, "|", `\|`))
	}
}

// prose is text for Markdown: nothing in it is markup, and indented lines are code.
func prose(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "  ") {
			lines[i] = "\n      " + strings.TrimSpace(l) + "\n"
			continue
		}
		lines[i] = strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(l)
	}
	return strings.Join(lines, "\n")
}

// sentenced ends a text as a sentence ends.
func sentenced(s string) string {
	if s = strings.TrimSpace(s); strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

func manName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manPage is a command's manual page (man(7)).
func manPage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" \"approvalbot\"\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n%s\n.SH DESCRIPTION\n%s\n",
		strings.ToUpper(manName(c)), roff(manName(c)), roff(c.Short), roff(c.UseLine()), roff(sentenced(cmp.Or(c.Long, c.Short))))
	if list := append(options(c.LocalNonPersistentFlags()), options(c.Root().PersistentFlags())...); len(list) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, o := range list {
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR \\fI%s\\fR\n%s\n", roff(o.name), roff(o.value), roff(o.usage))
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	var also []string
	for _, other := range documented(c.Root()) {
		if other.Parent() == c || other == c.Parent() {
			also = append(also, roff(manName(other))+"(1)")
		}
	}
	return b.String() + strings.Join(also, ", ") + "\n"
}

// roff makes text plain for man: no escapes, no line that begins a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
