package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
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

// readers look up who asks for a page, and what they may see.
type readers struct {
	gate   *core.Gate
	rights func(person string) Rights // nil: deciding only
}

// reader looks up what the person of a session may see and do now.
func (p readers) reader(s signin.Session) reader {
	people := p.gate.Rules().People
	v := reader{session: s, people: people, zone: p.zoneOf(s), now: time.Now()}
	var more Rights
	if p.rights != nil && people.Known(s.Person) {
		more = p.rights(s.Person)
	}
	v.caller = core.Caller{Person: s.Person, MayDecide: people.MayDecide(people.Identify(s.Voter())),
		MayAudit: more.Audit, MayAdmin: more.Admin}
	return v
}

// zoneName is how a page names its zone.
func (v reader) zoneName() string {
	if v.zone == time.Local { // the desk's own, whose name the system need not know
		return v.now.In(v.zone).Format("MST")
	}
	return v.zone.String()
}

// zoneOf is the one in which a person is told times.
func (p readers) zoneOf(s signin.Session) *time.Location {
	if zone := p.gate.Rules().People.Zone(s.Person); zone != nil {
		return zone
	}
	return time.Local
}

// who formats names of people: by their names in the configuration if it lists the
// account.
func (v reader) who(names ...string) string {
	known := make([]string, len(names))
	for i, name := range names {
		known[i] = name
		channel, id, isAccount := strings.Cut(name, ":")
		if !isAccount {
			continue
		}
		if voter := v.people.Identify(approval.Voter{Channel: channel, UserID: id}); voter.Person != "" {
			known[i] = "person:" + voter.Person
		}
	}
	return display.Safe(people.People(known))
}

// operates reports whether the person sees all approvals.
func (v reader) operates() bool { return v.caller.MayDecide || v.caller.MayAdmin }

// sees reports whether the person may see that approval: operators see all of them,
// other people those that they asked for, and those that ask them for the verifier.
func (v reader) sees(a approval.Approval) bool {
	return v.operates() || people.Concerns(a, v.session.Voter(), v.people)
}

// everything lists all approvals, for pages to choose from what the person may see.
var everything = core.Caller{MayDecide: true}

// list gives those of a page of approvals that the person may see, and the cursor of the
// page that follows.
func (p readers) list(ctx context.Context, v reader, f core.Filter) ([]approval.Approval, string, error) {
	page, err := p.gate.List(ctx, everything, f)
	hidden := func(a approval.Approval) bool { return !v.sees(a) }
	return slices.DeleteFunc(page.Items, hidden), page.Next, err
}

// find gives the approval of a code, or CodeNotFound if the person may not see it:
// the answer does not reveal whether it exists.
func (p readers) find(ctx context.Context, v reader, code string) (approval.Approval, error) {
	a, err := p.gate.ByCode(ctx, code)
	if approval.CodeOf(err) == approval.CodeNotFound || err == nil && !v.sees(a) {
		return approval.Approval{}, noSuchRequest()
	}
	return a, err
}

// noSuchRequest says the same of a request that is not there and of one that is not theirs to see.
func noSuchRequest() error {
	return approval.Refuse(approval.CodeNotFound, "There is no such request.")
}
