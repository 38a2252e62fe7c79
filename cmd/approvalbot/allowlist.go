package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
)

func newAllowlistCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "allowlist", Aliases: []string{"grants"}, Short: "Standing permissions: what allow-session and allow-always left, and cool-downs"}
	var filter api.GrantFilter
	list := &cobra.Command{Use: "list", Short: "List grants and cool-downs in force, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listGrants(cmd.Context(), filter) }}
	list.Flags().StringVar(&filter.AgentID, "agent", "", "only those of this agent")
	list.Flags().StringVar(&filter.SessionKey, "session", "", "only those of this session")
	list.Flags().StringVar(&filter.Owner, "owner", "", "only those of this asking token")
	cmd.AddCommand(list,
		&cobra.Command{Use: "remove FINGERPRINT|ID", Short: "End a grant or a cool-down, by the fingerprint of its call or by its id", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return a.removeGrant(cmd.Context(), args[0]) }},
		newAllowlistAddCommand(a),
	)
	return cmd
}

func newAllowlistAddCommand(a *app) *cobra.Command {
	var req api.GrantRequest
	var ttl time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use:   "add --owner TOKEN [--agent ID] -- WORD…",
		Short: "Allow the commands of one agent that fit a pattern, after showing what it would have allowed",
		Long: "Allow the commands of one agent that fit a pattern. * stands for any one word, a last ** for any further ones,\nand neither for an option:\n" +
			"  approvalbot allowlist add --owner main-agent --agent main -- git push origin '*'\n" +
			"It first shows the calls on record that the pattern would have allowed; --yes stores it.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.ToolName, req.Pattern, req.TTLMs, req.Preview = "exec", args, ttl.Milliseconds(), !yes
			return a.addGrant(cmd.Context(), req)
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

func newSessionsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "Sessions that hold grants"}
	cmd.AddCommand(
		&cobra.Command{Use: "list", Short: "List sessions that hold grants", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return a.listSessions(cmd.Context()) }},
		&cobra.Command{Use: "end SESSION", Short: "End all grants of a session", Args: cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error { return a.endSession(cmd.Context(), args[0]) }},
	)
	return cmd
}

func newRetryCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "retry ID",
		Short: "Make an approved call claimable again for its owner, and tell it",
		Long: `Make an approved call claimable again for its owner, and tell it. That is possible after a run that failed or
told nothing, for as long as approvals.tools.retryWindow says (24h): then the call is deleted, as it is once it
has succeeded, and the agent must ask again. Policy is asked again when it is claimed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.desk(cmd.Context())
			if err != nil {
				return err
			}
			got, err := c.Retry(cmd.Context(), args[0])
			if err != nil || a.json {
				return a.printChanged(got, shortID(got), err)
			}
			fmt.Fprintf(a.stdout, "%s %s: %s may claim it until %s\n", safe(shortID(got)), safe(got.Code), safe(got.Owner), when(got.ClaimUntilMs))
			return nil
		},
	}
}

func (a *app) listGrants(ctx context.Context, f api.GrantFilter) error {
	c, err := a.desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.Grants(ctx, f)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(got)
	}
	fmt.Fprintln(a.stdout, a.paint().bold("Allowlist"))
	if len(got.Items) == 0 {
		fmt.Fprintln(a.stdout, "none")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tKind\tOwner\tAgent\tRisk\tUntil\tCovers")
	for _, g := range got.Items {
		what := cell(covers(g), 30)
		if g.Kind == "session" { // each option counts
			what = safe(g.Subject) + " in " + cell(g.SessionKey, 30)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", safe(g.ID[:min(8, len(g.ID))]), safe(g.Kind), cell(g.Owner, 12), cell(g.AgentID, 12), safe(g.MaxRiskClass), until(g), what)
	}
	return w.Flush()
}

// until says when a grant ends.
func until(g api.Grant) string {
	if g.ExpiresAtMs == 0 {
		return "removed"
	}
	return time.UnixMilli(g.ExpiresAtMs).Format("15:04 2 Jan")
}

// covers says what a grant is about.
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
func (a *app) removeGrant(ctx context.Context, ref string) error {
	c, err := a.desk(ctx)
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
		return errors.New("more than one grant fits that; give more of the fingerprint or id")
	}
	for _, g := range found {
		if err := c.EndGrant(ctx, g.ID); err != nil {
			return err
		}
		if !a.json {
			fmt.Fprintf(a.stdout, "removed: %s %s\n", safe(g.Kind), safe(covers(g)))
		}
	}
	if a.json {
		return a.printJSON(api.Grants{Items: found})
	}
	return nil
}

func (a *app) addGrant(ctx context.Context, req api.GrantRequest) error {
	c, err := a.desk(ctx)
	if err != nil {
		return err
	}
	got, err := c.AddGrant(ctx, req)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(got)
	}
	fmt.Fprintf(a.stdout, "Of %d calls on record it would have allowed %d:\n", got.Checked, len(got.Covers))
	for _, x := range got.Covers {
		doubt := ""
		if !x.Certain {
			doubt = " (perhaps: only its program is still known)"
		}
		fmt.Fprintf(a.stdout, "  %s %s %s: %s%s\n", safe(x.Code), safe(x.RiskClass), safe(string(x.Status)), cell(x.Summary, 50), doubt)
	}
	if got.Grant == nil {
		fmt.Fprintln(a.stdout, "Nothing is stored yet; add --yes to store it.")
		return nil
	}
	fmt.Fprintf(a.stdout, "granted: %s\n", safe(got.Grant.ID[:min(8, len(got.Grant.ID))]))
	return nil
}

func (a *app) listSessions(ctx context.Context) error {
	c, err := a.desk(ctx)
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
	if a.json {
		return a.printJSON(map[string]any{"items": append([]session{}, out...)})
	}
	if len(out) == 0 {
		fmt.Fprintln(a.stdout, "none")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "Session\tAgent\tGrants")
	for _, s := range out {
		fmt.Fprintf(w, "%s\t%s\t%d\n", cell(s.SessionKey, 48), cell(s.AgentID, agentWidth), s.Grants)
	}
	return w.Flush()
}

func (a *app) endSession(ctx context.Context, key string) error {
	c, err := a.desk(ctx)
	if err != nil {
		return err
	}
	n, err := c.EndSession(ctx, key)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(api.Ended{Ended: n})
	}
	fmt.Fprintf(a.stdout, "ended %d grants of session %s\n", n, safe(key))
	return nil
}
