package web

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// Rights are what a person's API tokens may beside deciding.
type Rights struct{ Audit, Admin bool }

// reader is who looks at a page, as of the request.
type reader struct {
	session signin.Session
	people  *people.Directory
	zone    *time.Location // in which they are told times
	now     time.Time
	caller  core.Caller // decides, audits, administers: what they may do by the same rules as a token
}

// reader looks up what the person of a session may see and do now.
func (w *Web) reader(s signin.Session) reader {
	people := w.gate.Rules().People
	v := reader{session: s, people: people, zone: people.Zone(s.Person), now: time.Now()}
	if v.zone == nil {
		v.zone = time.UTC
	}
	var more Rights
	if w.cfg.Rights != nil && people.Known(s.Person) {
		more = w.cfg.Rights(s.Person)
	}
	v.caller = core.Caller{Person: s.Person, MayDecide: people.MayDecide(people.Identify(s.Voter())),
		MayAudit: more.Audit, MayAdmin: more.Admin}
	return v
}

// operates reports whether the person sees everybody's approvals.
func (v reader) operates() bool { return v.caller.MayDecide || v.caller.MayAdmin }

// sees reports whether the person may see that approval: operators all of them, anybody
// else what they asked for, and what asks them for the verifier.
func (v reader) sees(a approval.Approval) bool {
	return v.operates() || people.Concerns(a, v.session.Voter(), v.people)
}

// everything lists all approvals, for pages to choose from what the person may see.
var everything = core.Caller{MayDecide: true}

// list gives those of a page of approvals that the person may see, and the cursor of the
// page that follows.
func (w *Web) list(ctx context.Context, v reader, f core.Filter) ([]approval.Approval, string, error) {
	page, err := w.gate.List(ctx, everything, f)
	hidden := func(a approval.Approval) bool { return !v.sees(a) }
	return slices.DeleteFunc(page.Items, hidden), page.Next, err
}

// find gives the approval of a code, or CodeNotFound where the person may not see it:
// nobody learns by asking what there is.
func (w *Web) find(ctx context.Context, v reader, code string) (approval.Approval, error) {
	a, err := w.gate.ByCode(ctx, code)
	if approval.CodeOf(err) == approval.CodeNotFound || err == nil && !v.sees(a) {
		return approval.Approval{}, noSuchRequest()
	}
	return a, err
}

// pathOf is where an approval has its page, or what belongs to it.
func pathOf(code string, more ...string) string {
	return strings.Join(append([]string{"/a", url.PathEscape(code)}, more...), "/")
}

// noSuchRequest says the same of a request that is not there and of one that is not theirs to see.
func noSuchRequest() error {
	return approval.Refuse(approval.CodeNotFound, "There is no such request.")
}
