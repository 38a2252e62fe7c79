package web

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// searchMost is how many approvals are looked through for one page.
const searchMost = 10000

// historyFilter selects approvals by what an address says.
type historyFilter struct {
	core.Filter
	risk string
	most int // so many are looked through at most; 0: searchMost
}

func filterOf(q url.Values, zone *time.Location) historyFilter {
	f := historyFilter{Filter: core.Filter{Status: approval.Status(q.Get("status")), Owner: q.Get("owner"),
		AgentID:    q.Get("agent"),
		SessionKey: q.Get("session"), ToolName: q.Get("tool"), Cursor: q.Get("cursor"), Limit: 200},
		risk: q.Get("risk")}
	day := func(name string, more int) int64 {
		t, err := time.ParseInLocation(time.DateOnly, q.Get(name), zone)
		if err != nil {
			return 0
		}
		return t.AddDate(0, 0, more).UnixMilli()
	}
	f.SinceMs, f.BeforeMs, f.Search = day("from", 0), day("to", 1), q.Get("q")
	if class := approval.R0; class.UnmarshalText([]byte(f.risk)) == nil {
		f.Risk = &class
	}
	return f
}

func (f historyFilter) selects(a approval.Approval) bool {
	return f.risk == "" || f.risk == a.Assessment.RiskClass.String()
}

// finding is what a search found.
type finding struct {
	all    []approval.Approval
	next   string // the cursor of those that follow; empty if this is all
	backMs int64  // the time of the last request if it ended after searchMost of them; 0 if it was complete
}

// found gives at most n approvals that the person may see and the filter selects, newest first.
func (p readers) found(ctx context.Context, v reader, f historyFilter, n int) (out finding, err error) {
	for read := 0; read < cmp.Or(f.most, searchMost); {
		page, err := p.gate.List(ctx, everything, f.Filter)
		if err != nil {
			return finding{}, err
		}
		for i, a := range page.Items {
			if len(out.all) == n {
				next, err := p.cursorAt(ctx, f.Filter, i)
				return finding{all: out.all, next: next}, err
			}
			if out.backMs = a.CreatedAtMs; v.sees(a) && f.selects(a) {
				out.all = append(out.all, a)
			}
		}
		if page.Looked > 0 {
			out.backMs = page.BackMs
		}
		read += max(len(page.Items), page.Looked)
		if f.Cursor = page.Next; f.Cursor == "" {
			return finding{all: out.all}, nil
		}
	}
	out.next = f.Cursor
	return out, nil
}

// cursorAt gives the cursor that begins with the item of that index on a page.
func (p readers) cursorAt(ctx context.Context, f core.Filter, index int) (string, error) {
	if index == 0 {
		return f.Cursor, nil
	}
	f.Limit = index
	page, err := p.gate.List(ctx, everything, f)
	return page.Next, err
}
