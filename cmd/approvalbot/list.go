package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/display"
)

// The widest cells of the list: with the other columns and the gaps between
// them they stay within 80 characters, unless an id must be shown whole.
const (
	toolWidth  = 20
	agentWidth = 16
	pageSize   = 200
)

func newListCommand(a *app) *cobra.Command {
	var f api.Filter
	var limit int
	var from reading
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List approvals, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			known := []api.Status{"", api.Pending, api.Approved, api.Denied, api.Expired, api.Withdrawn}
			switch {
			case !slices.Contains(known, f.Status):
				return errors.New("--status must be pending, approved, denied, expired or withdrawn")
			case limit < 1:
				return errors.New("--limit must be 1 or more")
			}
			return a.list(cmd.Context(), from, f, limit)
		},
	}
	fl := cmd.Flags()
	fl.StringVar((*string)(&f.Status), "status", "", "only those of this status")
	fl.StringVar(&f.ToolName, "tool", "", "only those of this tool")
	fl.StringVar(&f.AgentID, "agent", "", "only those of this agent")
	fl.StringVar(&f.SessionKey, "session", "", "only those of this session")
	fl.IntVar(&limit, "limit", 50, "at most so many")
	from.add(cmd)
	return cmd
}

func (a *app) list(ctx context.Context, from reading, f api.Filter, limit int) error {
	c, closes, err := from.client(ctx, a)
	if err != nil {
		return err
	}
	defer closes()
	all := api.List{Items: []api.Approval{}}
	for more := true; more; {
		f.Limit = min(limit-len(all.Items), pageSize)
		page, err := c.List(ctx, f)
		if err != nil {
			return err
		}
		all.Items, all.NextCursor = append(all.Items, page.Items...), page.NextCursor
		f.Cursor = page.NextCursor
		more = len(all.Items) < limit && f.Cursor != "" && len(page.Items) > 0
	}
	if a.json {
		return a.printJSON(all)
	}
	return a.printList(all.Items, idsFor(ctx, c, all.Items))
}

// idsFor gives the form of ids that whoever holds the client's token may type: an
// operator the short one, an asker the whole. The desk says which it finds.
func idsFor(ctx context.Context, c *api.Client, items []api.Approval) func(api.Approval) string {
	whole := func(a api.Approval) string { return a.ID }
	i := slices.IndexFunc(items, func(a api.Approval) bool { return shortID(a) != a.ID })
	if i < 0 {
		return whole
	}
	if found, err := c.Get(ctx, shortID(items[i]), 0); err != nil || found.Code != items[i].Code {
		return whole
	}
	return shortID
}

func (a *app) printList(items []api.Approval, id func(api.Approval) string) error {
	fmt.Fprintln(a.stdout, a.paint().bold("AgentShield Approvals"))
	if len(items) == 0 {
		fmt.Fprintln(a.stdout, "none")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTool\tAgent\tStatus\tAge\tCode")
	now := time.Now()
	for _, i := range items {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", safe(id(i)), cell(i.ToolName, toolWidth),
			cell(i.AgentID, agentWidth), safe(statusWord(i)), age(i.CreatedAtMs, now), safe(i.Code))
	}
	return w.Flush()
}

// cell is text for a column: safe, cut to its width, a dash for nothing.
func cell(s string, width int) string {
	if s == "" {
		return "-"
	}
	s, _ = display.Clip(safe(s), width)
	return s
}
