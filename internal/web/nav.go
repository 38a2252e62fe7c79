package web

import "approvalbot/internal/signin"

// link is one of the pages that stand above every page.
type link struct{ Path, Name string }

// nav are the pages that the person of a session may open.
func (w *Web) nav(s signin.Session) []link {
	if s.Person == "" {
		return nil
	}
	v := w.reader(s)
	out := []link{{"/", "Inbox"}, {"/history", "History"}}
	if v.caller.MayDecide {
		out = append(out, link{"/grants", "Grants"}, link{"/policy", "Policy"}, link{"/people", "People"},
			link{"/numbers", "Numbers"})
	}
	if v.caller.MayAudit && w.cfg.Audit != nil {
		out = append(out, link{"/audit", "Audit"})
	}
	if v.operates() || v.caller.MayAudit {
		out = append(out, link{"/health", "Health"})
	}
	return out
}
