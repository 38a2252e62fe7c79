package help

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// completionTime is how long Tab may wait for the desk.
const completionTime = 2 * time.Second

// Complete tells shells the words that may come next: verbs and flags are cobra's
// own, the words of flags are fixed, and ids are the codes that the desk knows
// now.
func Complete(a *app.App, root *cobra.Command) *cobra.Command {
	words := map[string][]cobra.Completion{
		"status":   {"pending", "approved", "denied", "expired", "withdrawn", "revoked"},
		"decision": {"allow-once", "allow-session", "allow-always", "deny"},
		"max-risk": {"R0", "R1", "R2", "R3"},
		"tool":     {"exec"},
	}
	ids := map[string]api.Status{"view": "", "wait": api.Pending, "decide": api.Pending, "approve": api.Pending,
		"deny": api.Pending, "withdraw": api.Pending,
		"revoke": api.Approved, "retry": api.Approved}
	for _, c := range tree(root) {
		for name, list := range words {
			if c.LocalFlags().Lookup(name) != nil {
				_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
			}
		}
		status, takesID := ids[c.Name()]
		switch {
		case takesID && c.Parent() == root:
			c.ValidArgsFunction = codes(a, status, words["decision"])
		case c.Use == c.Name() && c.ValidArgsFunction == nil: // it takes no arguments, so no files either
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
	_ = root.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions([]cobra.Completion{"json", "yaml", "name"}, cobra.ShellCompDirectiveNoFileComp))
	_ = root.MarkPersistentFlagFilename("config", "yaml", "yml")
	_ = root.MarkPersistentFlagFilename("client", "yaml", "yml")
	return root
}

// tree lists a command and all below it.
func tree(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, tree(sub)...)
	}
	return all
}

// codes completes the first argument with the codes of approvals of that status,
// and the second one of approve with a decision. If the desk does not answer at
// once, there are no completions.
func codes(a *app.App, status api.Status, decisions []cobra.Completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if cmd.Name() == "approve" && len(args) == 1 {
			return decisions, cobra.ShellCompDirectiveNoFileComp
		}
		c, err := a.Client()
		if len(args) > 0 || err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		page, err := c.List(ctx, api.Filter{Status: status, Limit: 20})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var out []cobra.Completion
		for _, i := range page.Items {
			what, _ := display.Clip(show.Headline(i), 40)
			out = append(out, cobra.CompletionWithDesc(display.Escape(i.Code), what))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
