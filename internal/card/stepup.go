package card

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
)

// StepUp is the refusal of a yes that needs a signature, with the page on which it is
// signed.
func StepUp(a approval.Approval, site assertion.Site, text string) *approval.Error {
	e := approval.Refuse(approval.CodeStepUpRequired, "%s", text)
	if site.ID == "" {
		e.Message += "the desk has no page for that (server.publicUrl)."
		return e
	}
	e.URL = site.Link("/a/" + a.Code)
	e.Message += e.URL
	return e
}
