package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/display"
)

// Widths of the list's cells if a line has 80 characters: with the gaps between
// them they fit. Wider terminals show more.
const (
	listWidth    = 80
	nameWidth    = 9  // tool and agent
	commandWidth = 24 // at least; with less room it has a line of its own
	idWidth      = 20 // of an asker's own id, which may have 128 characters; people type the code
)

// agentWidth is the width of an agent's or owner's name in other tables.
const agentWidth = 16

// statusRevoked is the list's word for what was approved and taken back.
const statusRevoked api.Status = "revoked"

func newListCommand(a *app.App) *cobra.Command {
	var status string
	cmd := newListing(a, "list", "List approvals, newest first",
		"List approvals, newest first. pending is list --status pending. In a pipe the cells are whole, with tabs between them.", &status)
	cmd.Flags().StringVar(&status, "status", "",
		"only those of this status: pending, approved, denied, expired, withdrawn or revoked")
	return cmd
}

// newPendingCommand is list --status pending.
func newPendingCommand(a *app.App) *cobra.Command {
	status := string(api.Pending)
	return newListing(a, "pending", "List what waits for a decision: list --status pending", "", &status)
}

func newListing(a *app.App, name, short, long string, status *string) *cobra.Command {
	var f api.Filter
	var limit int
	var from reading
	cmd := &cobra.Command{
		Use:   name,
		Short: short,
		Long:  long,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.Status = api.Status(*status)
			known := []api.Status{"", api.Pending, api.Approved, api.Denied, api.Expired, api.Withdrawn, statusRevoked}
			switch {
			case !slices.Contains(known, f.Status):
				return errors.New("--status must be pending, approved, denied, expired, withdrawn or revoked")
			case limit < 1:
				return errors.New("--limit must be 1 or more")
			}
			return listApprovals(cmd.Context(), a, from, f, limit)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.ToolName, "tool", "", "only those of this tool")
	fl.StringVar(&f.AgentID, "agent", "", "only those of this agent")
	fl.StringVar(&f.SessionKey, "session", "", "only those of this session")
	fl.IntVar(&limit, "limit", 50, "at most so many")
	from.add(cmd)
	return cmd
}

func listApprovals(ctx context.Context, a *app.App, from reading, f api.Filter, limit int) error {
	c, closes, err := from.client(ctx, a)
	if err != nil {
		return err
	}
	defer closes()
	all := api.List{Items: []api.Approval{}}
	wanted := func(api.Approval) bool { return true }
	rounds := f.Status == "" || f.Status == api.Pending
	if f.Status == statusRevoked { // to the API these are approved ones
		f.Status, wanted = api.Approved, show.Revoked
	}
	for more := true; more; {
		f.Limit = min(limit-len(all.Items), app.PageSize)
		page, err := c.List(ctx, f)
		if err != nil {
			return err
		}
		for _, i := range page.Items {
			if wanted(i) {
				all.Items = append(all.Items, i)
			}
		}
		all.NextCursor = page.NextCursor
		f.Cursor = page.NextCursor
		more = len(all.Items) < limit && f.Cursor != "" && len(page.Items) > 0
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	if err := printList(a, show.Columns(a.Stdout), all.Items, idsFor(ctx, c, all.Items)); err != nil || !rounds {
		return err
	}
	return printRounds(ctx, a, c, f)
}

// printRounds names the calls on whose one more run people vote. A desk that is older than
// this program knows no such list.
func printRounds(ctx context.Context, a *app.App, c *api.Client, f api.Filter) error {
	f.Status, f.Round, f.Cursor, f.Limit = "", true, "", app.PageSize
	open, err := c.List(ctx, f)
	var refused *api.Problem
	if errors.As(err, &refused) && refused.Code == string(approval.CodeInvalidRequest) {
		return nil
	}
	for _, i := range open.Items {
		if r := i.RetryRound; r != nil {
			fmt.Fprintf(a.Stdout, "🔁 %s: %s, until %s; vote with: approvalbot retry %[1]s, or: approvalbot deny %[1]s\n",
				display.Escape(i.Code), display.Escape(r.Text), show.When(r.ExpiresAtMs))
		}
	}
	return err
}

// idsFor gives the form of ids that the owner of the client's token may type: an
// operator the short one, an asker the whole. The desk tells which of them it
// finds.
func idsFor(ctx context.Context, c *api.Client, items []api.Approval) func(api.Approval) string {
	whole := func(a api.Approval) string { return a.ID }
	i := slices.IndexFunc(items, func(a api.Approval) bool { return show.ShortID(a) != a.ID })
	if i < 0 {
		return whole
	}
	if found, err := c.Get(ctx, show.ShortID(items[i]), 0); err != nil || found.Code != items[i].Code {
		return whole
	}
	return show.ShortID
}

// printList prints the code, the columns of the AgentShield seed, then the facts for a
// decision. If that feature is on, the table has its name. width is how many characters a
// line of the terminal has; 0 if a program reads it.
func printList(a *app.App, width int, items []api.Approval, id func(api.Approval) string) error {
	head := []string{"Code", "ID", "Tool", "Agent", "Status", "Age", "Left", "Risk", "Command"}
	now := time.Now()
	cells := func(i api.Approval, cell func(s string, width int) string) []string {
		more := max(0, width-listWidth)
		return []string{display.Escape(i.Code), cell(id(i), idWidth+more), cell(i.ToolName, nameWidth+more/3),
			cell(i.AgentID, nameWidth+more/6), display.Escape(show.Status(i)), show.Age(i.CreatedAtMs, now), left(i, now),
			display.Escape(i.RiskClass)}
	}
	if width == 0 {
		t := a.Table("", head...)
		for _, i := range items {
			t.Row(append(cells(i, t.Cell), t.Cell(i.ParamsSummary, 0))...)
		}
		return t.Flush()
	}
	title := "Approvals"
	if a.Env["AGENTSHIELD_APPROVALS_ENABLED"] == "1" {
		title = "AgentShield Approvals"
	}
	fmt.Fprintln(a.Stdout, a.Paint().Bold(title))
	if len(items) == 0 {
		fmt.Fprintln(a.Stdout, "none")
		return nil
	}
	rows := [][]string{head}
	for _, i := range items {
		rows = append(rows, append(cells(i, show.Cell), i.ParamsSummary))
	}
	return printRows(a, width, rows)
}

// printRows aligns rows below a head, whose last cell gets the rest of the line, or a line of its own
// if little is left.
func printRows(a *app.App, width int, rows [][]string) error {
	last := len(rows[0]) - 1
	room, widest := max(width, listWidth), make([]int, last)
	for column := range last {
		for _, row := range rows {
			widest[column] = max(widest[column], utf8.RuneCountInString(row[column]))
		}
		room -= widest[column] + 2
	}
	below := room < commandWidth
	for n, row := range rows {
		line := ""
		for column := range last {
			line += fmt.Sprintf("%-*s  ", widest[column], row[column])
		}
		command := row[last]
		switch {
		case n > 0 && below:
			command = "\n  " + show.Cell(command, width-2)
		case n > 0:
			command = show.Cell(command, room)
		case below:
			command = ""
		}
		if below {
			line = strings.TrimRight(line, " ")
		}
		if _, err := fmt.Fprintln(a.Stdout, line+command); err != nil {
			return err
		}
	}
	return nil
}

// left gives the time in which a pending approval can still be decided.
func left(a api.Approval, now time.Time) string {
	if a.Status != api.Pending {
		return "-"
	}
	return show.Span(time.UnixMilli(a.ExpiresAtMs).Sub(now))
}

// reading is how the verbs that only look get at approvals: from a desk, or with
// --offline from the store's file itself.
type reading struct{ offline bool }

func (r *reading) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&r.offline, "offline", false,
		"read the store of the desk's configuration (--config) and ask no server; SQLite only")
}

// client makes the client; closes ends it.
func (r *reading) client(ctx context.Context, a *app.App) (c *api.Client, closes func(), err error) {
	if r.offline {
		return a.OpenStore(ctx, a)
	}
	c, err = a.Desk(ctx)
	return c, func() {}, err
}
