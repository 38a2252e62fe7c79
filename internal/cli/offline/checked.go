package offline

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"approvalbot/api"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/cli/show"
	"approvalbot/internal/progress"
)

// askEvery is how often the desk is asked how far its check is.
const askEvery = 500 * time.Millisecond

// started begins to say on a terminal how far something is. In a pipe it is silent.
func started(a *app.App, what string) *progress.Line {
	return progress.Start(a.Stderr, show.IsTerminal(a.Stderr), what)
}

// checked shows the progress of a check of the log: at which record it is, and of how
// many.
func checked(line *progress.Line) func(seq, head int64) {
	return func(seq, head int64) {
		if head-seq < 1000 { // behind the last thousand records it is rows that are checked
			line.At("checking approvals and rows", 0, 0)
			return
		}
		line.At(fmt.Sprintf("checking the log: record %d of %d", seq, head), seq, head)
	}
}

// follow asks the desk how far its check is, until done is closed.
func follow(ctx context.Context, c *api.Client, line *progress.Line, done <-chan struct{}) {
	for at := checked(line); line != nil; {
		select {
		case <-done:
			return
		case <-time.After(askEvery):
		}
		if page, err := c.Audit(ctx, api.AuditOptions{Limit: 1}); err == nil && page.Checking != nil {
			at(page.Checking.Seq, page.Checking.HeadSeq)
		}
	}
}

// counted reads a file and shows how much of it is read.
type counted struct {
	from io.Reader
	line *progress.Line
	what string
	read int64
	size int64 // 0: it is not known
}

func countedFile(f *os.File, line *progress.Line, what string) io.Reader {
	c := &counted{from: f, line: line, what: what}
	if info, err := f.Stat(); err == nil {
		c.size = info.Size()
	}
	return c
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read += int64(n)
	c.line.At(c.what, c.read, c.size)
	return n, err
}
