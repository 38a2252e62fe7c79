package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

func newAllowlistCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "allowlist", Aliases: []string{"grants"},
		Short: "Grants that allow-session and allow-always left, and cool-downs after a deny"}
	var filter api.GrantFilter
	list := &cobra.Command{Use: "list", Short: "List grants and cool-downs in force, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listGrants(cmd.Context(), a, filter) }}
	list.Flags().StringVar(&filter.AgentID, "agent", "", "only those of this agent")
	list.Flags().StringVar(&filter.SessionKey, "session", "", "only those of this session")
	list.Flags().StringVar(&filter.Owner, "owner", "", "only those of this asking token")
	cmd.AddCommand(list,
		&cobra.Command{Use: "remove FINGERPRINT|ID",
			Short: "End a grant or a cool-down, by the fingerprint of its call or by its id", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return removeGrant(cmd.Context(), a, args[0]) }},
		newAllowlistAddCommand(a),
	)
	return cmd
}

func newAllowlistAddCommand(a *app.App) *cobra.Command {
	var req api.GrantRequest
	var ttl time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use:   "add --owner TOKEN [--agent ID] -- WORD…",
		Short: "Allow the commands of one agent that fit a pattern, after showing what it would have allowed",
		Long: "Allow the commands of one agent that fit a pattern. * matches any one word, a last ** any further ones,\nand neither matches an option:\n" +
			"  approvalbot allowlist add --owner main-agent --agent main -- git push origin '*'\n" +
			"It first shows the calls on record that the pattern would have allowed; --yes stores it. It is for the words\n" +
			"in any environment, and for no call that is bound to another host.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.ToolName, req.Pattern, req.TTLMs, req.Preview = "exec", args, ttl.Milliseconds(), !yes
			return addGrant(cmd.Context(), a, req)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&req.Owner, "owner", "", "name of the asking token")
	fl.StringVar(&req.AgentID, "agent", "", "agent id")
	fl.StringVar(&req.MaxRiskClass, "max-risk", "R3", "it covers commands up to this class: R0 to R3")
	fl.DurationVar(&ttl, "for", 0, "how long it lasts (0: until it is removed)")
	fl.BoolVar(&yes, "yes", false, "store it")
	_ = cmd.MarkFlagRequired("owner")
	return cmd
}

func newSessionsCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Sessions that hold grants"}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List sessions that hold grants", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return listSessions(cmd.Context(), a) }},
		&cobra.Command{Use: "end SESSION", Short: "End all grants of a session", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return endSession(cmd.Context(), a, args[0]) }},
	)
	return cmd
}

func newRetryCommand(a *app.App) *cobra.Command {
	var withoutResult bool
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Vote to let an approved call run once more",
		Long: `Vote, as your token's person, to let an approved call run once more. The first vote opens a round, in which
the call's whole quorum must say so, under today's policy: earlier votes do not count. Then its owner may claim it
again, and is told. A deny ends the round. That is possible after a run that failed, or with --without-result after
one that reported no result, three times, and for as long as approvals.tools.retryWindow says (24h).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Desk(cmd.Context())
			if err != nil {
				return err
			}
			retry := c.Retry
			if withoutResult {
				retry = c.RetryWithoutResult
			}
			got, err := retry(cmd.Context(), args[0])
			if err != nil || a.JSON {
				return printChanged(a, got, show.ShortID(got), err)
			}
			said := fmt.Sprintf("%s may claim it until %s", display.Escape(got.Owner), show.When(got.ClaimUntilMs))
			if r := got.RetryRound; r != nil {
				said = fmt.Sprintf("%s, until %s", display.Escape(r.Text), show.When(r.ExpiresAtMs))
			}
			fmt.Fprintf(a.Stdout, "%s %s: %s\n", display.Escape(show.ShortID(got)), display.Escape(got.Code), said)
			return nil
		},
	}
	cmd.Flags().BoolVar(&withoutResult, "without-result", false,
		"although no result was reported: you know that the run has ended")
	return cmd
}

func listGrants(ctx context.Context, a *app.App, f api.GrantFilter) error {
	c, err := a.Desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.Grants(ctx, f)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(got)
	}
	if len(got.Items) == 0 && show.IsTerminal(a.Stdout) {
		_, err := fmt.Fprintln(a.Stdout, a.Paint().Bold("Allowlist")+"\nnone")
		return err
	}
	t := a.Table("Allowlist", "ID", "Kind", "Owner", "Agent", "Risk", "Until", "Covers")
	for _, g := range got.Items {
		what := t.Cell(covers(g), 30)
		if g.Kind == "session" { // each option counts
			what = display.Escape(g.Subject) + " in " + t.Cell(g.SessionKey, 30)
		}
		t.Row(display.Escape(g.ID[:min(8, len(g.ID))]), display.Escape(g.Kind), t.Cell(g.Owner, 12), t.Cell(g.AgentID, 12),
			display.Escape(g.MaxRiskClass), until(g), what)
	}
	return t.Flush()
}

// until says when a grant ends.
func until(g api.Grant) string {
	if g.ExpiresAtMs == 0 {
		return "removed"
	}
	return time.UnixMilli(g.ExpiresAtMs).Format("15:04 2 Jan")
}

// covers describes what a grant covers.
func covers(g api.Grant) string {
	switch {
	case g.Kind == "pattern":
		return strings.Join(g.Pattern, " ")
	case g.Kind == "session":
		return g.Subject + " in " + g.SessionKey
	}
	return g.Fingerprint[:min(12, len(g.Fingerprint))] + " " + g.Summary
}

// removeGrant ends the grants of a fingerprint (or the start of one, of eight
// characters or more), or the one of an id.
func removeGrant(ctx context.Context, a *app.App, ref string) error {
	c, err := a.Desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.Grants(ctx, api.GrantFilter{})
	if err != nil {
		return err
	}
	var found []api.Grant
	prints := map[string]bool{}
	for _, g := range got.Items {
		byID := g.ID == ref || len(ref) >= 8 && strings.HasPrefix(g.ID, ref)
		byPrint := g.Fingerprint != "" && len(ref) >= 8 && strings.HasPrefix(g.Fingerprint, ref)
		if byID || byPrint {
			found = append(found, g)
			prints[g.Fingerprint+"|"+map[bool]string{true: g.ID}[byID]] = true
		}
	}
	switch {
	case len(found) == 0:
		return errors.New("no grant has that fingerprint or id; approvalbot allowlist list shows them")
	case len(prints) > 1:
		return errors.New("more than one grant has a fingerprint or id that begins so; give more of it")
	}
	for _, g := range found {
		if err := c.EndGrant(ctx, g.ID); err != nil {
			return err
		}
		if !a.JSON {
			fmt.Fprintf(a.Stdout, "removed: %s %s\n", display.Escape(g.Kind), display.Escape(covers(g)))
		}
	}
	if a.JSON {
		return a.PrintJSON(api.Grants{Items: found})
	}
	return nil
}

func addGrant(ctx context.Context, a *app.App, req api.GrantRequest) error {
	c, err := a.Desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.AddGrant(ctx, req)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(got)
	}
	fmt.Fprintf(a.Stdout, "Of %d calls on record it would have allowed %d:\n", got.Checked, len(got.Covers))
	for _, x := range got.Covers {
		doubt := ""
		if !x.Certain {
			doubt = " (perhaps: only its program is still known)"
		}
		fmt.Fprintf(a.Stdout, "  %s %s %s: %s%s\n", display.Escape(x.Code), display.Escape(x.RiskClass),
			display.Escape(string(x.Status)), show.Cell(x.Summary, 50), doubt)
	}
	if got.Grant == nil {
		fmt.Fprintln(a.Stdout, "The pattern is not stored yet; add --yes to store it.")
		return nil
	}
	fmt.Fprintf(a.Stdout, "granted: %s\n", display.Escape(got.Grant.ID[:min(8, len(got.Grant.ID))]))
	return nil
}

func listSessions(ctx context.Context, a *app.App) error {
	c, err := a.Desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.Grants(ctx, api.GrantFilter{})
	if err != nil {
		return err
	}
	type session struct {
		SessionKey string `json:"sessionKey"`
		AgentID    string `json:"agentId"`
		Grants     int    `json:"grants"`
	}
	var out []session
	for _, g := range got.Items {
		if g.Kind != "session" {
			continue
		}
		i := 0
		for i < len(out) && (out[i].SessionKey != g.SessionKey || out[i].AgentID != g.AgentID) {
			i++
		}
		if i == len(out) {
			out = append(out, session{g.SessionKey, g.AgentID, 0})
		}
		out[i].Grants++
	}
	if a.JSON {
		return a.PrintJSON(map[string]any{"items": append([]session{}, out...)})
	}
	if len(out) == 0 && show.IsTerminal(a.Stdout) {
		_, err := fmt.Fprintln(a.Stdout, "none")
		return err
	}
	t := a.Table("", "Session", "Agent", "Grants")
	for _, s := range out {
		t.Row(t.Cell(s.SessionKey, 48), t.Cell(s.AgentID, agentWidth), fmt.Sprint(s.Grants))
	}
	return t.Flush()
}

func endSession(ctx context.Context, a *app.App, key string) error {
	c, err := a.Desk(ctx)
	if err != nil {
		return err
	}
	n, err := c.EndSession(ctx, key)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(api.Ended{Ended: n})
	}
	fmt.Fprintf(a.Stdout, "ended %d grants of session %s\n", n, display.Escape(key))
	return nil
}
