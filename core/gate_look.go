package core

import (
	"context"
	"strings"

	"github.com/google/uuid"
)

// What the Gate tells: nothing here changes an approval.

// Get gives one approval: to its owner by its own id, to operators by id, code
// or prefix. Who is both finds its own first: looking decides nothing.
func (g *Gate) Get(ctx context.Context, who Caller, ref string) (Approval, error) {
	key, err := g.Find(ctx, who, ref)
	if err != nil {
		return Approval{}, err
	}
	return g.store.Get(ctx, key)
}

// Find gives the key of the approval that Get gives.
func (g *Gate) Find(ctx context.Context, who Caller, ref string) (string, error) {
	if who.MayRequest {
		if key, err := g.own(ctx, who, ref); err == nil || CodeOf(err) == CodeUnavailable {
			return key, err
		}
	}
	return g.Resolve(ctx, who, ref)
}

// ByKey gives one approval by its key, for parts of the desk itself.
func (g *Gate) ByKey(ctx context.Context, key string) (Approval, error) { return g.store.Get(ctx, key) }

// List gives approvals newest first: all of them to operators, its own to an
// asker. A reader for neither gets CodeForbidden.
func (g *Gate) List(ctx context.Context, who Caller, f Filter) (Page, error) {
	if !who.MayDecide {
		if !who.MayRequest {
			return Page{}, refuse(CodeForbidden, "This token may not list approvals.")
		}
		f.Owner = who.Token
	}
	return g.store.List(ctx, f)
}

// PendingCards lists pending approvals for people in chats, newest first.
func (g *Gate) PendingCards(ctx context.Context, limit int) ([]Approval, error) {
	page, err := g.store.List(ctx, Filter{Status: Pending, Limit: limit})
	return page.Items, err
}

// Wake wakes those who wait for an approval that another instance has changed.
func (g *Gate) Wake(key string) { g.waits.wake(key, nil) }

// Payload gives the whole call as people see it: redacted and escaped. Empty
// when the params are gone, and where only the fingerprint may be seen.
func (g *Gate) Payload(ctx context.Context, a Approval) ([]Fact, error) {
	if a.hidden() {
		return nil, nil
	}
	call, err := g.kept(ctx, a, g.rules.Load())
	if CodeOf(err) == CodeRetryDataGone {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return lines(call)
}

// Stored gives the call that an approval stands for, as it was asked. It is for
// comparing, within the desk; nothing of it is to be sent to anybody.
func (g *Gate) Stored(ctx context.Context, key string) (tool string, params []byte, bind *Bind, err error) {
	sealed, err := g.store.Sealed(ctx, key)
	if err != nil {
		return "", nil, nil, err
	}
	return Open(sealed)
}

// Draw says what a delivery should show now. Cards that look alike are the same
// one: nobody may change it.
func (g *Gate) Draw(ctx context.Context, d Delivery) (Drawing, error) {
	rules := g.rules.Load()
	alike := alikeOf(d, rules)
	if drawing, ok := g.shown.find(alike); ok {
		return drawing, nil
	}
	a, err := g.store.Bare(ctx, d.Key) // a card shows nothing of the other cards
	if err != nil {
		return Drawing{}, err
	}
	var facts []Fact
	if !a.Final() {
		if facts, err = g.Payload(ctx, a); err != nil {
			return Drawing{}, err
		}
	}
	if d.Kind == UnreachedDelivery && a.Reached {
		return Drawing{Skip: "a card has arrived after all"}, nil
	}
	drawing := a.draw(d, facts, rules.People)
	if a.Version == d.Version {
		g.shown.keep(alike, drawing)
	}
	return drawing, nil
}

// Resolve finds the key behind a reference. An owner's own id matches exactly.
// Operators may use an id, a code, or a server id's prefix of eight or more
// characters. What the server made comes before what an owner chose: a whole code or
// server's id means that approval alone. Any other reference that fits more than one
// approval is CodeAmbiguousID.
func (g *Gate) Resolve(ctx context.Context, who Caller, ref string) (string, error) {
	if !who.MayDecide {
		return g.own(ctx, who, ref)
	}
	code := ""
	if len(ref) == codeLength {
		code = strings.ToUpper(ref)
	}
	exact, err := g.store.Keys(ctx, NameQuery{ID: ref, Code: code})
	if err != nil {
		return "", err
	}
	for _, n := range exact {
		if n.By == "code" || n.Key == ref {
			return n.Key, nil
		}
	}
	if len(ref) >= 8 && len(ref) != len(uuid.Nil.String()) { // nothing has a whole id as its prefix but itself
		// Always, so that an asker's own id that looks like another approval's
		// prefix is ambiguous and never answers for it.
		more, err := g.store.Keys(ctx, NameQuery{Prefix: strings.ToLower(ref)})
		if err != nil {
			return "", err
		}
		exact = append(exact, more...)
	}
	return only(exact, ref)
}

// ByCode finds the approval of a code.
func (g *Gate) ByCode(ctx context.Context, code string) (Approval, error) {
	found, err := g.store.Keys(ctx, NameQuery{Code: strings.ToUpper(code)})
	if err != nil {
		return Approval{}, err
	}
	if len(found) == 0 {
		return Approval{}, notFound()
	}
	return g.store.Get(ctx, found[0].Key)
}

// own finds the key behind an owner's own id.
func (g *Gate) own(ctx context.Context, who Caller, id string) (string, error) {
	if !who.MayRequest && !who.MayDecide {
		return "", refuse(CodeForbidden, "This token has no scope for approvals.")
	}
	found, err := g.store.Keys(ctx, NameQuery{Owner: who.Token, ID: id})
	if err != nil {
		return "", err
	}
	return only(found, id)
}

func only(found []Named, ref string) (string, error) {
	keys := map[string]bool{}
	for _, n := range found {
		keys[n.Key] = true
	}
	switch len(keys) {
	case 0:
		return "", notFound()
	case 1:
		return found[0].Key, nil
	}
	return "", refuse(CodeAmbiguousID, "More than one approval fits that; use the full id or the code.")
}

func notFound() *Error {
	return refuse(CodeNotFound, "There is no such approval.")
}
