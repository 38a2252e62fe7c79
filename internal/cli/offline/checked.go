package offline

import (
	"context"
	"fmt"
	"io"
	"time"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
)

const (
	redrawEvery = 100 * time.Millisecond
	askEvery    = 500 * time.Millisecond
)

// bar says on a terminal, on one line that it draws anew, how far a check of the log is. In a pipe it is silent.
type bar struct {
	out   io.Writer // nil: silent
	drawn time.Time
}

func newBar(a *app.App) *bar {
	if !show.IsTerminal(a.Stderr) {
		return &bar{}
	}
	return &bar{out: a.Stderr}
}

// at is called with the record that the check is at, of so many.
func (b *bar) at(seq, head int64) {
	if b.out == nil || head <= 0 || time.Since(b.drawn) < redrawEvery {
		return
	}
	b.drawn = time.Now()
	fmt.Fprintf(b.out, "\r%s", barText(seq, head))
}

func (b *bar) end() {
	if b.out != nil && !b.drawn.IsZero() {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// barText is the bar's line, always as long. Behind the last thousand records it is rows that are checked.
func barText(seq, head int64) string {
	const width = 20
	done := int(width * seq / head)
	what := fmt.Sprintf("record %d of %d", seq, head)
	if head-seq < 1000 {
		what = "approvals and rows"
	}
	return fmt.Sprintf("checking the log [%-*s] %-40s", width, "####################"[:done], what)
}

// follow asks the desk how far its check is, until done is closed.
func (b *bar) follow(ctx context.Context, c *api.Client, done <-chan struct{}) {
	for b.out != nil {
		select {
		case <-done:
			return
		case <-time.After(askEvery):
		}
		if page, err := c.Audit(ctx, api.AuditOptions{Limit: 1}); err == nil && page.Checking != nil {
			b.at(page.Checking.Seq, page.Checking.HeadSeq)
		}
	}
}
