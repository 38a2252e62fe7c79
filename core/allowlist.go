package core

import (
	"context"

	"approvalbot/internal/approval"
)

// Grants are the standing permissions and cool-downs on record.
type Grants struct{ gate *Gate }

// Grants gives what is done with grants.
func (g *Gate) Grants() Grants { return Grants{g} }

// List lists grants and cool-downs, newest first, to operators.
func (g Grants) List(ctx context.Context, who Caller, f GrantFilter) ([]approval.Grant, error) {
	if !who.MayDecide {
		return nil, approval.Refuse(approval.CodeForbidden, "This token may not list grants: it needs the scope operator.approvals.")
	}
	f.Live = nowMs()
	return g.gate.store.Grants(ctx, f)
}

// Drop ends the grants that the filter selects and gives how many there were. An owner ends
// only its own grants, and no cool-down, which protects people from it. CodeNotFound if a
// filter by ID selects no grant.
func (g Grants) Drop(ctx context.Context, who Caller, f GrantFilter) (int, error) {
	by := "token:" + who.Token
	switch {
	case who.MayDecide && who.Person != "":
		by = "person:" + who.Person
	case who.MayDecide:
		f.Loosens = true // a token without a person may not lift a cool-down
	case who.MayRequest:
		f.Owner, f.Loosens = who.Token, true
	default:
		return 0, approval.Refuse(approval.CodeForbidden, "This token may not end grants: it needs the scope "+
			"operator.approvals or approvals.request.")
	}
	f.Live = nowMs()
	dropped, err := g.gate.store.DropGrants(ctx, f, func(x approval.Grant) approval.Event { return x.Event(approval.EventUngranted, by, nowMs()) })
	if err == nil && len(dropped) == 0 && f.ID != "" {
		return 0, approval.Refuse(approval.CodeNotFound, "There is no such grant.")
	}
	return len(dropped), err
}
