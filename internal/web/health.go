package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// healthPages show the state of the desk.
type healthPages struct {
	page
	check func(context.Context) []core.Diagnostic // nil: no checks
}

func (p *healthPages) routes() []route {
	return []route{
		{pattern: "GET /health", serve: p.health},
	}
}

// health shows how the desk is.
func (p *healthPages) health(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !v.operates() && !v.caller.MayAudit {
		p.refuse(out, r, s, approval.Refuse(approval.CodeForbidden, "This page is for operators."))
		return
	}
	var found []core.Diagnostic
	if p.check != nil {
		found = p.check(r.Context())
	}
	bad, weight := 0, map[core.Level]int{core.LevelFail: 0, core.LevelWarn: 1, core.LevelOK: 2}
	slices.SortStableFunc(found, func(x, y core.Diagnostic) int { return cmp.Compare(weight[x.Level], weight[y.Level]) })
	for i, d := range found {
		found[i].Text, found[i].Fix, found[i].What = safe(d.Text), safe(d.Fix), safe(d.What)
		if d.Level != core.LevelOK {
			bad++
		}
	}
	p.show(out, http.StatusOK, healthPage(p.head(s, "Health"), found, bad))
}
