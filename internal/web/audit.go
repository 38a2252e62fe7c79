package web

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// Audit is the log as auditors read it, and what can be proved of it.
type Audit struct {
	Entries
	Keys   func() []string                                // verifier keys of its checkpoints
	Verify func(context.Context) (api.AuditReport, error) // checks the whole chain, until ctx ends
}

// auditRows is how many records a page shows.
const auditRows = 100

// recordView is one record of the log.
type recordView struct {
	moment
	Seq         int64
	Type, Owner string
	Hash, Data  string
}

// recordDay are the records of one day.
type recordDay struct {
	Name string
	Rows []recordView
}

type auditView struct {
	Days   []recordDay
	Head   int64
	Hash   string
	Keys   []string
	Older  string // address of the page before in time; empty on the first
	Report *api.AuditReport
}

// auditPages show the log, and have it checked.
type auditPages struct {
	page
	audit     *Audit      // nil: no log to look at
	verifying atomic.Bool // a check of the log is under way
}

func (p *auditPages) routes() []route {
	return []route{
		{pattern: "GET /audit", serve: p.newest},
		{pattern: "POST /audit/verify", serve: p.verifyLog},
	}
}

// auditor reports whether the reader may read the log; if not, it answers so.
func (p *auditPages) auditor(out http.ResponseWriter, r *http.Request, v reader) bool {
	if v.caller.MayAudit && p.audit != nil {
		return true
	}
	p.refuse(out, r, v.session, approval.Refuse(approval.CodeForbidden,
		"The log is for people who have an API token with the scope operator.audit."))
	return false
}

func (p *auditPages) newest(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !p.auditor(out, r, v) {
		return
	}
	below, _ := strconv.ParseInt(r.URL.Query().Get("below"), 10, 64)
	p.showLog(out, r, v, below, nil)
}

// showLog shows the records below a number, or the newest (0).
func (p *auditPages) showLog(out http.ResponseWriter, r *http.Request, v reader, below int64, report *api.AuditReport) {
	head, hash, err := p.audit.Head(r.Context())
	if below <= 0 || below > head+1 {
		below = head + 1
	}
	after := max(0, below-1-auditRows)
	var all []approval.Entry
	if err == nil {
		all, err = p.audit.Log(r.Context(), after, int(min(auditRows, below-1-after)))
	}
	if err != nil {
		p.refuse(out, r, v.session, err)
		return
	}
	a := auditView{Head: head, Hash: hash, Keys: p.audit.Keys(), Report: report}
	for i := len(all) - 1; i >= 0; i-- {
		if e := all[i]; e.Seq < below {
			if day := v.day(e.AtMs); len(a.Days) == 0 || a.Days[len(a.Days)-1].Name != day {
				a.Days = append(a.Days, recordDay{Name: day})
			}
			last := &a.Days[len(a.Days)-1]
			last.Rows = append(last.Rows, recordView{moment: v.momentOf(e.Event), Seq: e.Seq, Type: string(e.Type),
				Owner: safe(e.Owner), Hash: e.Hash, Data: safe(string(e.Data))})
		}
	}
	if len(all) > 0 && all[0].Seq > 1 && after > 0 {
		a.Older = "?below=" + strconv.FormatInt(all[0].Seq, 10)
	}
	p.show(out, http.StatusOK, auditPage(p.dayHead(v.session, "Audit"), a))
}

// verifyLog checks the whole chain. One check runs at a time.
func (p *auditPages) verifyLog(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !p.auditor(out, r, v) {
		return
	}
	if !p.verifying.CompareAndSwap(false, true) {
		p.refuse(out, r, s, approval.Refuse(approval.CodeRateLimited,
			"The log is being checked already; try again when that is over."))
		return
	}
	defer p.verifying.Store(false)
	report, err := p.audit.Verify(r.Context())
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	p.showLog(out, r, v, 0, &report)
}
