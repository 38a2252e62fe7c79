// Package help is what the root command adds to the verbs: groups, help and examples,
// completion, sentences about wrong words and flags, and the pages made of them.
package help

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is how many characters a line of help has at most.
const helpWidth = 78

// groups are the commands by purpose. Commands outside of all groups come last.
var groups = []struct{ id, title, commands string }{
	{"ask", "Ask, from a script or as an agent:", "request run wait withdraw"},
	{"decide", "Decide, as an operator:", "watch list view decide revoke retry allowlist duty away back"},
	{"agents", "Attach an agent:", "install uninstall hook mcp mcp-proxy acp confine"},
	{"policy", "Say what is asked:", "evaluate policy config"},
	{"record", "Look back:", "audit stats"},
	{"desk", "Run the desk:", "init serve pair login doctor drill backup admin version"},
}

// short are verbs that are another one with its words filled in. They work, and are not listed beside it.
var short = map[string][]string{"decide": {"approve", "deny"}, "list": {"pending"}, "doctor": {"health"}}

// adminVerbs are what is rarely needed. Their old names at the top work, too.
const adminVerbs = "callbacks verifier sessions receipt keys store"

// Admin puts what is rarely needed below one command. made makes all verbs, anew at each call: a command
// has one parent. more are those that admin alone has.
func Admin(root *cobra.Command, made func() []*cobra.Command, more ...*cobra.Command) {
	admin := &cobra.Command{Use: "admin", Short: "Keys and store, callbacks, receipts, the verifier, sessions"}
	hide := func(name string) {
		for _, c := range root.Commands() {
			c.Hidden = c.Hidden || c.Name() == name
		}
	}
	for name := range strings.FieldsSeq(adminVerbs) {
		hide(name)
		for _, c := range made() {
			if c.Name() == name {
				admin.AddCommand(c)
			}
		}
	}
	for _, names := range short {
		for _, name := range names {
			hide(name)
		}
	}
	admin.AddCommand(more...)
	root.AddCommand(admin)
}

// Group puts the commands into their groups and gives each its examples.
func Group(root *cobra.Command) *cobra.Command {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for name := range strings.FieldsSeq(g.commands) {
			for _, c := range root.Commands() {
				if c.Name() == name {
					c.GroupID = g.id
				}
			}
		}
	}
	for _, c := range tree(root) {
		c.Example = Examples()[exampleOf(c)]
	}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), helpText(c, false)) })
	return root
}

// exampleOf is the name of a command in Examples: that below admin also of the old one.
func exampleOf(c *cobra.Command) string {
	path := strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ")
	first, _, _ := strings.Cut(path, " ")
	if slices.Contains(strings.Fields(adminVerbs), first) {
		return "admin " + path
	}
	return path
}

// helpText is what --help prints; all adds the flags of every command.
func helpText(c *cobra.Command, all bool) string {
	var b strings.Builder
	b.WriteString(wrap(sentenced(cmp.Or(c.Long, c.Short)), "") + "\n")
	part := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "\n%s\n%s\n", title, strings.TrimRight(text, "\n"))
		}
	}
	usage := c.UseLine()
	if c.HasAvailableSubCommands() {
		usage = c.CommandPath() + " COMMAND [flags]"
	}
	part("Usage:", wrap("  "+usage, "  "))
	if names := append(slices.Clone(c.Aliases), shortOf(c)...); len(names) > 0 {
		part("Also called:", "  "+strings.Join(names, ", "))
	}
	part("Examples:", c.Example)
	for _, g := range c.Groups() {
		part(g.Title, groupLines(c, g.ID))
	}
	title := "Commands:"
	if len(c.Groups()) > 0 {
		title = "More:"
	}
	part(title, groupLines(c, ""))
	part("Flags:", c.LocalNonPersistentFlags().FlagUsagesWrapped(helpWidth))
	if all {
		part("Flags of every command:", c.Root().PersistentFlags().FlagUsagesWrapped(helpWidth))
	}
	b.WriteString("\n")
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "%s COMMAND --help says more about a command.\n", c.CommandPath())
	}
	if !all {
		fmt.Fprintf(&b, "%s help --all has those of every command, such as --client and -o.\n", c.Root().Name())
	}
	return b.String()
}

// shortOf are the verbs that are short for a command.
func shortOf(c *cobra.Command) []string {
	if c.Parent() != c.Root() {
		return nil
	}
	return short[c.Name()]
}

// groupLines lists the commands of a group below c.
func groupLines(c *cobra.Command, group string) string {
	var b strings.Builder
	for _, sub := range c.Commands() {
		if sub.GroupID == group && (sub.IsAvailableCommand() || sub.Name() == "help") {
			indent := fmt.Sprintf("  %-*s ", sub.NamePadding(), "")
			b.WriteString(wrap(fmt.Sprintf("  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short), indent) + "\n")
		}
	}
	return b.String()
}

// wrap breaks a text's paragraphs at helpWidth; continued lines begin with
// indent. Lines that are indented already are left alone if they fit, and so are
// the ends of paragraphs.
func wrap(text, indent string) string {
	var out []string
	for _, line := range paragraphs(text) {
		for utf8.RuneCountInString(line) > helpWidth {
			cut := strings.LastIndexByte(string([]rune(line)[:helpWidth+1]), ' ')
			if cut <= len(indent) {
				break // one long word
			}
			out, line = append(out, line[:cut]), indent+line[cut+1:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// paragraphs joins the lines of a text that only its source broke: one goes on
// unless it ends with a colon, or it or the next one is indented.
func paragraphs(text string) []string {
	var out []string
	open := false
	for line := range strings.SplitSeq(text, "\n") {
		own := line == "" || strings.HasPrefix(line, " ")
		if open && !own {
			out[len(out)-1] += " " + line
		} else {
			out = append(out, line)
		}
		open = !own && !strings.HasSuffix(line, ":")
	}
	return out
}
