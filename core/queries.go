package core

import (
	"context"
	"slices"

	"approvalbot/internal/approval"
)

// What the Gate tells: no method here changes an approval.

// Get gives one approval: to its owner by its own id, to operators by id, code or prefix. A
// caller who is both finds its own first, because a look decides no approval.
func (g *Gate) Get(ctx context.Context, who Caller, ref string) (approval.Approval, error) {
	key, err := g.find(ctx, who, ref)
	if err != nil {
		return approval.Approval{}, err
	}
	return g.store.Get(ctx, key)
}

// ByKey gives one approval by its key, for parts of the desk itself.
func (g *Gate) ByKey(ctx context.Context, key string) (approval.Approval, error) {
	return g.store.Get(ctx, key)
}

// List gives approvals newest first: all of them to operators, its own to an
// asker. A reader for neither gets CodeForbidden.
func (g *Gate) List(ctx context.Context, who Caller, f Filter) (Page, error) {
	if !who.MayDecide {
		if !who.MayRequest {
			return Page{}, approval.Refuse(approval.CodeForbidden, "This token may not list approvals: it needs the scope "+
				"operator.approvals or approvals.request.")
		}
		f.Owner = who.Token
	}
	return g.list(ctx, f)
}

// Stats counts the approvals that were asked since then: all of them for operators, its own
// for an asker.
func (g *Gate) Stats(ctx context.Context, who Caller, sinceMs int64) (Stats, error) {
	owner := ""
	if !who.MayDecide {
		if !who.MayRequest {
			return Stats{}, approval.Refuse(approval.CodeForbidden, "This token may not see statistics: it needs the scope "+
				"operator.approvals or approvals.request.")
		}
		owner = who.Token
	}
	n, err := g.store.Counted(ctx, owner, sinceMs)
	return n.Stats(sinceMs), err
}

func (g *Gate) list(ctx context.Context, f Filter) (Page, error) {
	now := nowMs()
	if f.Round {
		f.RoundAfterMs = now
	}
	page, err := g.store.List(ctx, f)
	if f.Round {
		page.Items = slices.DeleteFunc(page.Items, func(a approval.Approval) bool { return a.OpenRound(now) == nil })
	}
	return page, err
}

// PendingCards lists pending approvals for people in chats, newest first.
func (g Chats) PendingCards(ctx context.Context, limit int) ([]approval.Approval, error) {
	page, err := g.list(ctx, Filter{Status: approval.Pending, Limit: limit})
	return page.Items, err
}

// OpenRounds lists approved calls on whose one more run people vote, newest first.
func (g Chats) OpenRounds(ctx context.Context, limit int) ([]approval.Approval, error) {
	page, err := g.list(ctx, Filter{Round: true, Limit: limit})
	return page.Items, err
}
