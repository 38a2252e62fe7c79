package offline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/config"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
	"approvalbot/proof"
)

func newAuditCommand(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "audit", Short: "Look at the log, export it, and check that it was not changed"}
	cmd.AddCommand(newAuditListCommand(a), newAuditExportCommand(a), newAuditVerifyCommand(a), newAuditKeysCommand(a))
	return cmd
}

// auditFilter selects records. Empty fields select everything.
type auditFilter struct {
	tool, agent, owner, kind string
	sinceMs                  int64
	limit                    int // 0: no limit
}

// shownRecords is how many records fit before a person's eyes.
const shownRecords = 100

func (f auditFilter) wants(r proof.Record) bool {
	kind := f.kind == "" || f.kind == string(r.Event) || f.kind == eventWord(r.Event)
	return kind && (f.tool == "" || f.tool == r.Tool) && (f.agent == "" || f.agent == r.Agent) &&
		(f.owner == "" || f.owner == r.Owner)
}

func newAuditListCommand(a *app.App) *cobra.Command {
	var f auditFilter
	var since string
	var asCSV bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the log's records, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			span, err := config.ParseDuration(since)
			switch {
			case err != nil || span <= 0:
				return errors.New("--since must be a time span such as 12h or 30d")
			case f.limit < 0:
				return errors.New("--limit must be 0 or more")
			case asCSV && a.JSON:
				return errors.New("--csv and --json exclude each other: leave one out")
			}
			if f.limit == 0 && !asCSV && !a.JSON {
				f.limit = shownRecords
			}
			f.sinceMs = time.Now().Add(-span).UnixMilli()
			return auditList(cmd.Context(), a, f, asCSV)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.tool, "tool", "", "only those of this tool")
	fl.StringVar(&f.agent, "agent", "", "only those of this agent")
	fl.StringVar(&f.owner, "owner", "", "only those of this token")
	fl.StringVar(&f.kind, "type", "", "only those of this type, such as vote or audit.claimed")
	fl.StringVar(&since, "since", "30d", "how far back, such as 12h or 30d")
	fl.IntVar(&f.limit, "limit", 0, fmt.Sprintf("at most so many (default %d; with --csv or --json all)", shownRecords))
	fl.BoolVar(&asCSV, "csv", false, "print every field as CSV")
	return cmd
}

func auditList(ctx context.Context, a *app.App, f auditFilter, asCSV bool) error {
	c, err := a.Client()
	if err != nil {
		return err
	}
	if a.JSON {
		return auditJSON(ctx, a, c, f)
	}
	records := auditRecords(ctx, c, f)
	if asCSV {
		return proof.WriteCSV(a.Stdout, records)
	}
	var all []proof.Record
	for r, err := range records {
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return printRecords(a, all)
}

// auditJSON prints the records that a filter selects, newest first, as one page of the
// API's.
func auditJSON(ctx context.Context, a *app.App, c *api.Client, f auditFilter) error {
	out, err := auditPage(ctx, c, api.AuditOptions{Limit: 1}) // for the log's head and keys
	if err != nil {
		return err
	}
	out.Items, out.NextCursor = []api.AuditRecord{}, ""
	for r, err := range auditWanted(ctx, c, f) {
		if err != nil {
			return err
		}
		out.Items = append(out.Items, r)
	}
	if n := len(out.Items); f.limit > 0 && n == f.limit {
		out.NextCursor = strconv.FormatInt(out.Items[n-1].Seq, 10)
	}
	return a.PrintJSON(out)
}

// auditRecords are the records that a filter wants, newest first, as auditors read
// them.
func auditRecords(ctx context.Context, c *api.Client, f auditFilter) iter.Seq2[proof.Record, error] {
	return func(yield func(proof.Record, error) bool) {
		for r, err := range auditWanted(ctx, c, f) {
			if !yield(proof.RecordOf(entryOf(r)), err) {
				return
			}
		}
	}
}

// auditWanted are the records that a filter wants, newest first.
func auditWanted(ctx context.Context, c *api.Client, f auditFilter) iter.Seq2[api.AuditRecord, error] {
	return func(yield func(api.AuditRecord, error) bool) {
		n := 0
		for r, err := range auditLog(ctx, c, api.AuditOptions{Limit: app.PageSize}) {
			if err != nil {
				yield(r, err)
				return
			}
			if r.AtMs < f.sinceMs || f.limit > 0 && n == f.limit {
				return
			}
			if f.wants(proof.RecordOf(entryOf(r))) {
				if n++; !yield(r, nil) {
					return
				}
			}
		}
	}
}

// auditLog pages through the desk's log, from the record with which o begins.
func auditLog(ctx context.Context, c *api.Client, o api.AuditOptions) iter.Seq2[api.AuditRecord, error] {
	return func(yield func(api.AuditRecord, error) bool) {
		for {
			page, err := auditPage(ctx, c, o)
			if err != nil {
				yield(api.AuditRecord{}, err)
				return
			}
			for _, r := range page.Items {
				if !yield(r, nil) {
					return
				}
			}
			if o.Cursor = page.NextCursor; o.Cursor == "" || len(page.Items) == 0 {
				return
			}
		}
	}
}

// entryOf is a record of the API as the log has it.
func entryOf(r api.AuditRecord) approval.Entry {
	return approval.Entry{Event: approval.Event{Seq: r.Seq, AtMs: r.AtMs, Type: approval.EventType(r.Type), Key: r.Key,
		Owner: r.Owner, Data: r.Data}, Hash: r.Hash, PrevHash: r.PrevHash}
}

// auditPage gets one page, and waits if the desk says that it was asked too often.
func auditPage(ctx context.Context, c *api.Client, o api.AuditOptions) (api.AuditPage, error) {
	for {
		page, err := c.Audit(ctx, o)
		var busy *api.Problem
		if !errors.As(err, &busy) || busy.Code != "rate_limited" {
			return page, err
		}
		select {
		case <-time.After(max(busy.RetryAfter, time.Second)):
		case <-ctx.Done():
			return page, err
		}
	}
}

// The widest cells of the records: with number and time, and the gaps between
// them, they stay within 80 characters.
const (
	eventWidth  = 15
	recordWidth = 13
)

func printRecords(a *app.App, records []proof.Record) error {
	if len(records) == 0 && show.IsTerminal(a.Stdout) {
		_, err := fmt.Fprintln(a.Stdout, "No records.")
		return err
	}
	t := a.Table("", "Code", "Record", "Time", "What", "Tool", "By")
	for _, r := range records {
		t.Row(t.Cell(r.Code, 6), fmt.Sprint(r.Seq), time.UnixMilli(r.AtMs).Format("2006-01-02 15:04"), t.Cell(what(r), eventWidth),
			t.Cell(r.Tool, recordWidth), t.Cell(people.People(r.Resolver), recordWidth))
	}
	return t.Flush()
}

// eventWord is an event's type in one word.
func eventWord(t approval.EventType) string {
	return strings.TrimPrefix(strings.TrimPrefix(string(t), "tool.approval."), "audit.")
}

// what says in a few words what a record is about: how the approval ended, what was
// voted, or the event.
func what(r proof.Record) string {
	switch {
	case r.Event == approval.EventResolved && r.Status != "":
		return r.Status
	case r.Event == approval.EventVote && r.Vote != nil && r.Vote.Decision != "":
		return r.Vote.Decision
	case r.Event == approval.EventResult && r.Execution != "":
		return r.Execution
	}
	return strings.ReplaceAll(eventWord(r.Event), "_", " ")
}

func newAuditKeysCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "keys",
		Short: "Print the keys that checkpoints are checked with, and the address of those of receipts",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.Client()
			if err != nil {
				return err
			}
			page, err := c.Audit(cmd.Context(), api.AuditOptions{Limit: 1})
			if err != nil {
				return err
			}
			jwks := strings.TrimRight(c.Server, "/") + "/.well-known/jwks.json"
			if a.JSON {
				return a.PrintJSON(map[string]any{"checkpoints": page.Keys, "receipts": jwks})
			}
			for i, key := range page.Keys {
				words := "checkpoints, now"
				if i > 0 {
					words = "checkpoints, before"
				}
				fmt.Fprintf(a.Stdout, "%-20s %s\n", words+":", display.Escape(key))
			}
			fmt.Fprintf(a.Stdout, "%-20s %s\n", "receipts:", display.Escape(jwks))
			return nil
		},
	}
}
