package offline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/progress"
	"approvalbot/proof"
)

func newAuditExportCommand(a *app.App) *cobra.Command {
	var from, to int64
	var file string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the log's records as JSON lines, to be checked anywhere",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from < 0 || to < 0 || to > 0 && to < from {
				return errors.New("--from and --to must be record numbers, and --from must not be after --to")
			}
			return auditExport(cmd.Context(), a, from, to, file)
		},
	}
	cmd.Flags().Int64Var(&from, "from", 0, "first record (default: the log's first)")
	cmd.Flags().Int64Var(&to, "to", 0, "last record (default: the log's last, now)")
	cmd.Flags().StringVar(&file, "out", "", "a new file for it (default: standard output)")
	return cmd
}

func auditExport(ctx context.Context, a *app.App, from, to int64, file string) (err error) {
	c, err := a.Client()
	if err != nil {
		return err
	}
	o := api.AuditOptions{Oldest: true, Limit: app.PageSize, Cursor: strconv.FormatInt(max(0, from-1), 10)}
	page, err := auditPage(ctx, c, api.AuditOptions{Oldest: true, Limit: 1, Cursor: o.Cursor})
	if err != nil {
		return err
	}
	h := proof.Header{From: max(1, from), To: page.HeadSeq, ExportedAtMs: time.Now().UnixMilli(), Keys: page.Keys}
	switch {
	case to > page.HeadSeq || from > page.HeadSeq+1:
		return fmt.Errorf("the log ends at record %d", page.HeadSeq)
	case to > 0:
		h.To = to
	}
	if len(page.Items) > 0 {
		switch first := page.Items[0].Seq; {
		case from == 0:
			h.From = first
		case first != from:
			return fmt.Errorf("the log begins at record %d: retention has cut off the records before it", first)
		}
	}
	if h.To < h.From-1 {
		return fmt.Errorf("the log begins at record %d, after the last record of this export", h.From)
	}
	out := a.Stdout
	if file != "" {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("the export cannot be written: %w", err)
		}
		defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
		out = f
	}
	line := started(a, "exporting the log")
	defer line.End()
	return exportTo(ctx, out, c, h, o, line)
}

// exportTo writes the records as they come.
func exportTo(
	ctx context.Context, w io.Writer, c *api.Client, h proof.Header, o api.AuditOptions, line *progress.Line,
) error {
	var entries iter.Seq2[approval.Entry, error] = func(yield func(approval.Entry, error) bool) {
		for r, err := range auditLog(ctx, c, o) {
			if err == nil && r.Seq > h.To || !yield(entryOf(r), err) {
				return
			}
			if r.Seq%app.PageSize == 0 {
				line.At("exporting the log", r.Seq-h.From, h.To-h.From)
			}
		}
	}
	return proof.WriteExport(w, h, entries)
}
