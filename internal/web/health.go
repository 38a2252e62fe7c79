package web

import (
	"net/http"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// health shows how the desk is.
func (w *Web) health(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := w.reader(s)
	if !v.operates() && !v.caller.MayAudit {
		w.refuse(out, s, approval.Refuse(approval.CodeForbidden, "This page is for operators."))
		return
	}
	var found []core.Diagnostic
	if w.cfg.Health != nil {
		found = w.cfg.Health(r.Context())
	}
	bad := 0
	for i, d := range found {
		found[i].Text, found[i].Fix, found[i].What = safe(d.Text), safe(d.Fix), safe(d.What)
		if d.Level != core.LevelOK {
			bad++
		}
	}
	w.show(out, http.StatusOK, healthPage(w.head(s, "Health"), found, bad))
}
