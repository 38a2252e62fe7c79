package signin

import (
	"context"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// linkLife is how long a login link can be used.
const linkLife = 5 * time.Minute

// LoginLink signs one person in, once. Opening it does not spend it: the click on
// its page does, and signs in as that person.
type LoginLink struct {
	Hash   string // the link's secret is kept nowhere
	Person string
	By     string // who made it: person:alice, token:main, telegram:111
	Enrols bool   // its session may enrol a first passkey
	EndsMs int64
}

// LinkStore keeps login links until they are spent or over.
type LinkStore interface {
	// AddLink keeps a link, appends its event to the log and marks handled (if not
	// nil), in one transaction. ErrHandled when the platform update was handled before.
	AddLink(ctx context.Context, l LoginLink, e approval.Event, handled *approval.InboundRef) error
	// Link gives the link of that hash, or CodeNotFound.
	Link(ctx context.Context, hash string) (LoginLink, error)
}

// MakeLink makes a login link for a person (empty: the caller's own), and gives its
// secret. An operator.admin may make one for any person. Another token may make one for
// its own person only, and only if it may decide: a token that only asks is an agent's,
// even if it names the person behind it. Only an operator.admin may set enrols.
func (d *Door) MakeLink(
	ctx context.Context, who core.Caller, person string, enrols bool,
) (l LoginLink, secret string, err error) {
	if person == "" {
		person = who.Person
	}
	own := who.MayDecide && person != "" && person == who.Person
	switch {
	case enrols && !who.MayAdmin:
		return l, "", approval.Refuse(approval.CodeForbidden,
			"This token may not make that sign-in link: one that may enrol a first passkey needs the scope operator.admin.")
	case !own && !who.MayAdmin:
		return l, "", approval.Refuse(approval.CodeForbidden, "This token may not make that sign-in link: to sign in "+
			"another person it needs the scope operator.admin, and to sign in its own person the scope "+
			"operator.approvals and a person in the configuration.")
	case person == "":
		return l, "", invalid("person", "must name the person to sign in: this token has no person of its own")
	}
	by := "token:" + who.Token
	if who.Person != "" {
		by = "person:" + who.Person
	}
	return d.addLink(ctx, LoginLink{Person: person, By: by, Enrols: enrols}, nil)
}

// LinkFor makes a login link for the person who has that account in a chat, and gives
// its secret. CodeForbidden if the account does not belong to a known person. When it
// returns without an error, the platform update is handled.
func (d *Door) LinkFor(ctx context.Context, v approval.Voter, handled *approval.InboundRef) (l LoginLink, secret string, err error) {
	v = d.people().Identify(v)
	if v.Person == "" {
		return l, "", approval.Refuse(approval.CodeForbidden, "The desk does not know whose account this is, so it cannot sign you in: "+
			"its operator names you under people first. /whoami says what to tell them.")
	}
	return d.addLink(ctx, LoginLink{Person: v.Person, By: v.Channel + ":" + v.UserID}, handled)
}

// OwnLink makes a login link for the person who started the desk at its own
// terminal.
func (d *Door) OwnLink(ctx context.Context, person string) (l LoginLink, secret string, err error) {
	return d.addLink(ctx, LoginLink{Person: person, By: "terminal"}, nil)
}

func (d *Door) addLink(ctx context.Context, l LoginLink, handled *approval.InboundRef) (LoginLink, string, error) {
	if !d.people().Known(l.Person) {
		return l, "", invalid("person", "must be a person that the configuration names")
	}
	secret, now := newSecret(), nowMs()
	l.Hash, l.EndsMs = secretHash("link", secret), now+linkLife.Milliseconds()
	data := map[string]any{"by": l.By, "person": l.Person, "until": l.EndsMs}
	if l.Enrols {
		data["enrols"] = true
	}
	return l, secret, d.store.AddLink(ctx, l, event(approval.EventLoginLink, now, data), handled)
}

// errNoLink says the same of a link that never was, was spent, or is over.
var errNoLink = approval.Refuse(approval.CodeNotFound, "This link was used already, is older "+
	"than five minutes, or was never valid.")

// Link tells which person a link signs in, and does not spend it. CodeNotFound if
// it cannot be used (any more).
func (d *Door) Link(ctx context.Context, secret string) (LoginLink, error) {
	l, err := d.store.Link(ctx, secretHash("link", secret))
	gone := approval.CodeOf(err) == approval.CodeNotFound
	if gone || err == nil && (l.EndsMs <= nowMs() || !d.people().Known(l.Person)) {
		return LoginLink{}, errNoLink
	}
	return l, err
}

// SpendLink signs in by a link, and ends the link; if two callers spend it at once,
// one wins. Call it only for a person's click: previews open links too. CodeNotFound
// as with [Door.Link].
func (d *Door) SpendLink(ctx context.Context, secret, browser string) (s Session, cookie string, err error) {
	l, err := d.Link(ctx, secret)
	if err != nil {
		return s, "", err
	}
	s, cookie, err = d.SignIn(ctx, SignIn{Person: l.Person, How: ByLink, Browser: browser, Enrols: l.Enrols, link: &l})
	if approval.CodeOf(err) == approval.CodeNotFound {
		err = errNoLink
	}
	return s, cookie, err
}
