// Package help is what the root command adds to the verbs: groups, help and examples,
// completion, sentences about wrong words and flags, and the pages made of them.
package help

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// helpWidth is how many characters a line of help has at most.
const helpWidth = 78

// groups are the commands by what somebody wants to do. What is in none stands last.
var groups = []struct{ id, title, commands string }{
	{"ask", "Ask, from a script or as an agent:", "request run wait withdraw"},
	{"decide", "Decide, as an operator:",
		"pending list view approve deny decide revoke retry watch duty away back allowlist sessions"},
	{"agents", "Attach an agent:", "install uninstall hook mcp mcp-proxy acp"},
	{"policy", "Say what is asked:", "evaluate policy config verifier"},
	{"record", "Look back:", "audit receipt stats callbacks"},
	{"desk", "Run the desk:", "init serve pair login doctor drill health backup keys store version"},
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
		c.Example = Examples()[strings.TrimPrefix(c.CommandPath(), root.Name()+" ")]
	}
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprint(c.OutOrStdout(), helpText(c)) })
	return root
}

// helpText is what --help prints.
func helpText(c *cobra.Command) string {
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
	if len(c.Aliases) > 0 {
		part("Also called:", "  "+strings.Join(c.Aliases, ", "))
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
	part("Flags:", c.LocalFlags().FlagUsagesWrapped(helpWidth))
	if c.HasParent() {
		part("Flags of every command:", c.InheritedFlags().FlagUsagesWrapped(helpWidth))
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more about a command.\n", c.CommandPath())
	}
	return b.String()
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

// wrap breaks a text's paragraphs at helpWidth; what continues a line begins with
// indent. Lines that are indented already are left alone where they fit, and so are
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
