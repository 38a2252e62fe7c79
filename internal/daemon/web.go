package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/push"
	"approvalbot/internal/web"
)

// pages makes the desk's pages; nil if they are off.
func (d *Daemon) pages() (*web.Web, error) {
	s := d.cfg.Server
	if !s.WebOn() {
		return nil, nil
	}
	base, err := url.Parse(s.WebURL())
	if err != nil {
		return nil, err
	}
	if file := s.Web.Push.VAPIDKeyFile; file != "" {
		made := false
		if d.pushKey, made, err = push.OpenKey(file); err != nil {
			return nil, err
		}
		if made {
			d.log.Info("made a key for browser notifications; keep its file together with the store's "+
				"key file", "file", file)
		}
	}
	return web.New(d.webConfig(base))
}

// asks reports whether the token of that name may still ask.
func (d *Daemon) asks(name string) bool {
	return slices.ContainsFunc(d.Config().Server.Tokens, func(t config.Token) bool {
		return t.Name == name && slices.Contains(t.Scopes, "approvals.request")
	})
}

// notifications is the channel of notifications to browsers.
func (d *Daemon) notifications() *push.Channel {
	return push.New(push.Config{Subscription: d.Store.Push, Drop: d.Store.DropPush, Key: d.pushKey,
		Subject: d.cfg.Server.WebURL(), Log: d.log})
}

// mountPages serves the pages at their paths.
func (d *Daemon) mountPages() {
	for pattern, h := range d.web.Handlers() {
		d.Server.Mount(pattern, noPages(h))
	}
	d.Server.NoSuchPage(d.web.NoSuchPage())
}

// linkTo is the address of a login link; nil if the desk has no pages.
func (d *Daemon) linkTo() func(secret string) string {
	if d.web == nil {
		return nil
	}
	return d.web.LinkTo
}

// loginLinks make links for people in chats.
type loginLinks struct{ desk *Daemon }

// LoginLink makes a link for the person who has that account.
func (l loginLinks) LoginLink(ctx context.Context, v approval.Voter, handled *approval.InboundRef) (core.Posting, error) {
	if l.desk.web == nil {
		return core.Posting{}, approval.Refuse(approval.CodeForbidden, "This desk has no pages to sign in to.")
	}
	made, secret, err := l.desk.SignIn.LinkFor(ctx, v, handled)
	if err != nil {
		return core.Posting{}, err
	}
	return l.desk.web.LinkMessage(made, secret, v.Channel), nil
}

// Send posts in a chat, once.
func (l loginLinks) Send(ctx context.Context, to approval.Target, p core.Posting) error {
	_, err := l.desk.post(ctx, to, p)
	return err
}

// post puts a message into a chat of a bot that is on.
func (d *Daemon) post(ctx context.Context, to approval.Target, p core.Posting) (core.Posted, error) {
	b := d.bots[to.Channel]
	if b == nil {
		return core.Posted{}, &core.DeliveryError{Message: "That chat is off.", Gone: true}
	}
	ctx, cancel := context.WithTimeout(ctx, announceTime)
	defer cancel()
	return b.Post(ctx, to, p)
}

// greet writes a login link for the person who started the desk at a terminal, whose
// token decides here. It never goes into a log.
func (d *Daemon) greet(ctx context.Context, terminal io.Writer) error {
	person, ok := d.operator()
	if d.web == nil || terminal == nil || !ok {
		return nil
	}
	_, secret, err := d.SignIn.OwnLink(ctx, person)
	if err != nil {
		d.log.Warn("could not make a sign-in link to the desk's pages; to make one, run: "+
			"approvalbot login", "reason", err)
		return nil
	}
	_, err = fmt.Fprintf(terminal, "\nOr decide in a browser. This link signs you in as %s, once, within five minutes:"+
		"\n\n  %s\n\n", person, d.web.LinkTo(secret))
	return err
}

// operator is the person of the first token that decides.
func (d *Daemon) operator() (person string, ok bool) {
	i := slices.IndexFunc(d.cfg.Server.Tokens, func(t config.Token) bool {
		return t.Person != "" && slices.Contains(t.Scopes, "operator.approvals")
	})
	if i < 0 {
		return "", false
	}
	return d.cfg.Server.Tokens[i].Person, true
}

// reachedBy tells the pages their address if only the listener knows its port.
func (d *Daemon) reachedBy(ln net.Listener) {
	s := d.cfg.Server
	if s.Listen = ln.Addr().String(); d.web == nil || d.cfg.Server.PublicURL != "" {
		return
	}
	if base, err := url.Parse(s.WebURL()); err == nil && base.Host != "" {
		d.web.ReachedAt(base)
	}
}
