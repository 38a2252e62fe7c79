package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
)

// topLines is how many agents, tools and reasons are shown.
const topLines = 8

func newStatsCommand(a *app.App) *cobra.Command {
	var since string
	var from reading
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count the approvals of the last days, and how fast people were; drills do not count",
		Long: "Count the calls that were asked, those that people were asked about, and how long it took until the first card\n" +
			"stood in a chat, until the first tap or vote of anybody (also one that was refused), and until people had decided:\n" +
			"in the median, for nine in ten, and for nineteen in twenty. By class, agent, tool and person; --json has all of it.\n" +
			"Counts are exact; times are up to 1.6 % more than they were.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			span, err := config.ParseDuration(since)
			if err != nil || span <= 0 {
				return errors.New("--since must be a time span such as 12h or 7d")
			}
			return showStats(cmd.Context(), a, from, since, span)
		},
	}
	from.add(cmd)
	cmd.Flags().StringVar(&since, "since", "7d", "how far back, such as 12h or 30d")
	return cmd
}

// AdminStats is what admin has of stats.
func AdminStats(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "stats", Short: "The sums that stats are counted by"}
	cmd.AddCommand(&cobra.Command{
		Use: "rebuild", Short: "Have the desk make the sums that it counts by anew", Args: cobra.NoArgs,
		Long: "Have the running desk forget the sums that stats and the page of numbers are counted by, and make them anew from\n" +
			"the approvals, in the background. Counts stay exact meanwhile, and take longer. It needs a token with operator.admin.",
		RunE: func(cmd *cobra.Command, _ []string) error { return rebuildStats(cmd.Context(), a) }})
	return cmd
}

func rebuildStats(ctx context.Context, a *app.App) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	if err := c.RebuildStats(ctx); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintln(a.Stdout, "the sums are made anew in the background")
	}
	return nil
}

func showStats(ctx context.Context, a *app.App, at reading, words string, span time.Duration) error {
	c, closes, err := at.client(ctx, a)
	if err != nil {
		return err
	}
	defer closes()
	s, err := c.Stats(ctx, time.Now().Add(-span).UnixMilli())
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(s)
	}
	return printStats(a, s, words)
}

func printStats(a *app.App, s api.Stats, words string) error {
	out, p := a.Plain(), a.Paint()
	fmt.Fprintln(out, p.Bold(fmt.Sprintf("%d approvals in the last %s", s.All.Calls, display.Escape(words))))
	if s.All.Calls == 0 {
		return nil
	}
	show.Fields(out, 12, "Status", inline(s.ByStatus),
		"Asked", fmt.Sprintf("%d of people (%.0f%%), %d settled by policy or a grant", s.All.Asked, s.All.AskedPer100,
			s.All.Calls-s.All.Asked))
	if s.All.Asked > 0 {
		show.Fields(out, 12, "Expired", fmt.Sprintf("%d of them (%.0f%%)", s.All.Expired, 100*s.All.ExpiredShare))
	}
	for _, x := range []struct {
		name string
		took api.Spread
	}{{"First card", s.All.FirstCard}, {"First look", s.All.FirstLook}, {"Decision", s.All.Decision}} {
		if x.took.Count > 0 {
			show.Fields(out, 12, x.name, fmt.Sprintf("after %s in the median, %s for nine in ten, %s for nineteen in twenty",
				seconds(x.took.MedianMs), seconds(x.took.P90Ms), seconds(x.took.P95Ms)))
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	numbers(w, "Class", s.ByClass)
	if len(s.ByAgent) > 1 {
		numbers(w, "Agent", s.ByAgent)
	}
	numbers(w, "Tool", s.ByTool)
	if len(s.ReasonCodes) > 0 {
		fmt.Fprintf(w, "\nReason\tCount\n")
	}
	for _, r := range s.ReasonCodes[:min(topLines, len(s.ReasonCodes))] {
		fmt.Fprintf(w, "%s\t%d\n", show.Cell(r.Name, 40), r.Count)
	}
	if len(s.Approvers) > 0 {
		fmt.Fprintf(w, "\nApprover\tApproved\tDenied\tMedian\tNine in ten\tFrom the card\n")
	}
	for _, x := range s.Approvers {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%s\t%s\n", show.Cell(x.Name, 40), x.Approved, x.Denied, seconds(x.Vote.MedianMs),
			seconds(x.Vote.P90Ms), median(x.SinceCard))
	}
	return w.Flush()
}

// numbers writes a table of classes, agents or tools.
func numbers(w io.Writer, title string, rows []api.Numbers) {
	fmt.Fprintf(w, "\n%s\tCount\tAsked\tExpired\tCard\tLook\tDecision\n", title)
	for _, r := range rows[:min(topLines, len(rows))] {
		name := r.Name
		if name == "" {
			name = "(none)"
		}
		fmt.Fprintf(w, "%s\t%d\t%.0f%%\t%.0f%%\t%s\t%s\t%s\n", show.Cell(name, 40), r.Calls, r.AskedPer100,
			100*r.ExpiredShare, median(r.FirstCard), median(r.FirstLook), median(r.Decision))
	}
}

// median is the median of the times, or a dash if there is no time.
func median(s api.Spread) string {
	if s.Count == 0 {
		return "-"
	}
	return seconds(s.MedianMs)
}

// inline is "approved 3, denied 1".
func inline(rows []api.Count) string {
	words := make([]string, len(rows))
	for i, r := range rows {
		words[i] = fmt.Sprintf("%s %d", display.Escape(r.Name), r.Count)
	}
	return strings.Join(words, ", ")
}
