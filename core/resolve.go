package core

import (
	"context"
	"strings"

	"approvalbot/internal/approval"
)

// find gives the key of the approval that Get gives.
func (g *Gate) find(ctx context.Context, who Caller, ref string) (string, error) {
	if who.MayRequest {
		if key, err := g.ownKey(ctx, who, ref); err == nil || approval.CodeOf(err) == approval.CodeUnavailable {
			return key, err
		}
	}
	return g.resolve(ctx, who, ref)
}

// FindAndWatch watches the approval that Get gives. Stop the watch in the end.
func (g *Gate) FindAndWatch(ctx context.Context, who Caller, ref string) (*Watch, error) {
	if mayBeKey(ref) {
		w := g.expect(ref)
		a, err := g.store.Bare(ctx, ref)
		if err == nil && a.ID == ref && (who.MayDecide || who.MayRequest && a.Owner == who.Token) {
			w.final = a.Final()
			w.looked = !w.final
			return w, nil
		}
		w.Stop()
	}
	key, err := g.find(ctx, who, ref)
	if err != nil {
		return nil, err
	}
	return g.Watch(key), nil
}

// resolve finds the key behind a reference. An owner's own id matches exactly.
// Operators may use an id, a code, or a server id's prefix of eight or more
// characters. What the server made comes before what an owner chose: a whole code or
// server's id means that approval alone. Any other reference that fits more than one
// approval is CodeAmbiguousID.
func (g *Gate) resolve(ctx context.Context, who Caller, ref string) (string, error) {
	if !who.MayDecide {
		return g.ownKey(ctx, who, ref)
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
	if len(ref) >= 8 && len(ref) != keyLength { // only the id itself begins with a whole id
		// Always, so that an asker's own id that looks like another approval's
		// prefix is ambiguous and never answers for it.
		more, err := g.store.Keys(ctx, NameQuery{Prefix: strings.ToLower(ref)})
		if err != nil {
			return "", err
		}
		exact = append(exact, more...)
	}
	return onlyKey(exact, ref)
}

// ByCode finds the approval of a code.
func (g *Gate) ByCode(ctx context.Context, code string) (approval.Approval, error) {
	found, err := g.store.Keys(ctx, NameQuery{Code: strings.ToUpper(code)})
	if err != nil {
		return approval.Approval{}, err
	}
	if len(found) == 0 {
		return approval.Approval{}, approval.NotFound()
	}
	return g.store.Get(ctx, found[0].Key)
}

// ownKey finds the key behind an owner's own id.
func (g *Gate) ownKey(ctx context.Context, who Caller, id string) (string, error) {
	if !who.MayRequest && !who.MayDecide {
		return "", approval.Refuse(approval.CodeForbidden, "This token may not look up approvals: it needs the scope "+
			"operator.approvals or approvals.request.")
	}
	found, err := g.store.Keys(ctx, NameQuery{Owner: who.Token, ID: id})
	if err != nil {
		return "", err
	}
	return onlyKey(found, id)
}

func onlyKey(found []Named, ref string) (string, error) {
	keys := map[string]bool{}
	for _, n := range found {
		keys[n.Key] = true
	}
	switch len(keys) {
	case 0:
		return "", approval.NotFound()
	case 1:
		return found[0].Key, nil
	}
	return "", approval.Refuse(approval.CodeAmbiguousID, "More than one approval has an id that begins so; use the "+
		"full id or the code.")
}
