package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/cli/app"
	"approvalbot/cli/show"
	"approvalbot/config"
	"approvalbot/core"
	"approvalbot/display"
)

// topLines is how many tools and reasons are shown.
const topLines = 8

func newStatsCommand(a *app.App) *cobra.Command {
	var since string
	var from reading
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count the approvals of the last days, and how fast people were; drills do not count",
		Args:  cobra.NoArgs,
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

// statistics is what is counted. Times are in milliseconds.
type statistics struct {
	SinceMs  int64          `json:"sinceMs"`
	Total    int            `json:"total"`
	Asked    int            `json:"asked"` // of people; the others were settled by policy or a grant
	ByStatus []count        `json:"byStatus"`
	ByClass  []count        `json:"byClass"`
	ByTool   []count        `json:"byTool"`
	Reasons  []count        `json:"reasonCodes"`
	MedianMs int64          `json:"medianDecisionMs"` // of those that people decided
	P90Ms    int64          `json:"p90DecisionMs"`
	People   []approverWork `json:"approvers"`
}

type count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// approverWork is what one person voted.
type approverWork struct {
	Name     string `json:"name"`
	Approved int    `json:"approved"`
	Denied   int    `json:"denied"`
	MedianMs int64  `json:"medianMs"` // from the request to their vote
}

func showStats(ctx context.Context, a *app.App, at reading, words string, span time.Duration) error {
	c, closes, err := at.client(ctx, a)
	if err != nil {
		return err
	}
	defer closes()
	from := time.Now().Add(-span).UnixMilli()
	items, err := listSince(ctx, c, from)
	if err != nil {
		return err
	}
	s := countUp(items)
	if s.SinceMs = from; a.JSON {
		return a.PrintJSON(s)
	}
	return printStats(a, s, words)
}

// listSince pages through the approvals that were created since then, without drills.
func listSince(ctx context.Context, c *api.Client, fromMs int64) ([]api.Approval, error) {
	var all []api.Approval
	f := api.Filter{Limit: app.PageSize}
	for {
		page, err := c.List(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, i := range page.Items {
			if i.CreatedAtMs < fromMs {
				return all, nil
			}
			if i.ToolName != core.DrillTool {
				all = append(all, i)
			}
		}
		if f.Cursor = page.NextCursor; f.Cursor == "" || len(page.Items) == 0 {
			return all, nil
		}
	}
}

// countUp counts.
func countUp(items []api.Approval) statistics {
	status, class, tools, reasons := map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}
	var times []int64
	votes := map[string]*approverWork{}
	voteTimes := map[string][]int64{}
	s := statistics{Total: len(items)}
	for _, i := range items {
		status[string(i.Status)]++
		class[i.RiskClass]++
		tools[i.ToolName]++
		for _, r := range i.ReasonCodes {
			reasons[r]++
		}
		decided := i.Status == api.Approved || i.Status == api.Denied
		people := slices.ContainsFunc(i.Votes, func(v api.Vote) bool { return v.Voter != nil })
		if people || !decided {
			s.Asked++
		}
		if people && decided {
			times = append(times, i.ResolvedAtMs-i.CreatedAtMs)
		}
		for _, v := range i.Votes {
			if v.Voter == nil {
				continue
			}
			name := show.Voter(v)
			w := votes[name]
			if w == nil {
				w = &approverWork{Name: name}
				votes[name] = w
			}
			switch v.Verdict {
			case "approve":
				w.Approved++
			case "reject":
				w.Denied++
			}
			voteTimes[name] = append(voteTimes[name], v.DecidedAtMs-i.CreatedAtMs)
		}
	}
	s.MedianMs, s.P90Ms = quantile(times, 0.5), quantile(times, 0.9)
	s.ByStatus, s.ByClass, s.ByTool, s.Reasons = ranked(status), ranked(class), ranked(tools), ranked(reasons)
	slices.SortFunc(s.ByClass, func(a, b count) int { return cmp.Compare(a.Name, b.Name) })
	s.People = []approverWork{}
	for name, w := range votes {
		w.MedianMs = quantile(voteTimes[name], 0.5)
		s.People = append(s.People, *w)
	}
	slices.SortFunc(s.People, func(a, b approverWork) int {
		return cmp.Or(cmp.Compare(b.Approved+b.Denied, a.Approved+a.Denied), cmp.Compare(a.Name, b.Name))
	})
	return s
}

// ranked gives the counts, the largest first.
func ranked(m map[string]int) []count {
	out := []count{}
	for name, n := range m {
		out = append(out, count{name, n})
	}
	slices.SortFunc(out,
		func(a, b count) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return out
}

// quantile is the smallest of the values that at least the share q of them does
// not exceed; 0 for none.
func quantile(values []int64, q float64) int64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	rank := int(q*float64(len(values)) + 0.999999)
	return values[min(max(rank, 1), len(values))-1]
}

func printStats(a *app.App, s statistics, words string) error {
	out, p := a.Plain(), a.Paint()
	fmt.Fprintln(out, p.Bold(fmt.Sprintf("%d approvals in the last %s", s.Total, display.Escape(words))))
	if s.Total == 0 {
		return nil
	}
	show.Fields(out, 12,
		"Status", inline(s.ByStatus),
		"Class", inline(s.ByClass),
		"Asked", fmt.Sprintf("%d of people (%d%%), %d settled by policy or a grant", s.Asked, 100*s.Asked/s.Total,
			s.Total-s.Asked),
	)
	if s.P90Ms > 0 {
		show.Fields(out, 12, "Decision",
			fmt.Sprintf("after %s in the median, %s for nine in ten", seconds(s.MedianMs), seconds(s.P90Ms)))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, table := range []struct {
		title string
		rows  []count
	}{{"Tool", s.ByTool}, {"Reason", s.Reasons}} {
		if len(table.rows) > 0 {
			fmt.Fprintf(w, "\n%s\tCount\n", table.title)
		}
		for _, r := range table.rows[:min(topLines, len(table.rows))] {
			fmt.Fprintf(w, "%s\t%d\n", show.Cell(r.Name, 40), r.Count)
		}
	}
	if len(s.People) > 0 {
		fmt.Fprintf(w, "\nApprover\tApproved\tDenied\tMedian\n")
	}
	for _, x := range s.People {
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\n", show.Cell(x.Name, 40), x.Approved, x.Denied, seconds(x.MedianMs))
	}
	return w.Flush()
}

// inline is "approved 3, denied 1".
func inline(rows []count) string {
	words := make([]string, len(rows))
	for i, r := range rows {
		words[i] = fmt.Sprintf("%s %d", display.Escape(r.Name), r.Count)
	}
	return strings.Join(words, ", ")
}
