package hook

import "approvalbot/api"

// Ending says in a sentence how an approval ended, for the model whose call it was.
func Ending(a api.Approval) string {
	if a.Status == api.Pending {
		return "waiting for approval " + a.Code
	}
	if note := (Verdict{Notes: notesOf(a, a.Notes)}).note(); note != "" && a.Status == api.Denied {
		return behind(decidedBy(a), note)
	}
	return decidedBy(a)
}
