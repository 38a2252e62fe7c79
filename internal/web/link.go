package web

import (
	"net/url"

	"approvalbot/core"
	"approvalbot/internal/display"
	"approvalbot/internal/platform"
	"approvalbot/internal/signin"
)

// LinkTo is the address of a login link. Its secret is in the query, which the desk
// never logs.
func (w *Web) LinkTo(secret string) string {
	to := w.address.url.JoinPath("/signin")
	to.RawQuery = url.Values{"link": {secret}}.Encode()
	return to.String()
}

// botPlaces are the platforms whose bots send login links, in words.
func botPlaces() string {
	var titles []string
	for _, r := range platform.Rows {
		titles = append(titles, r.Title)
	}
	return platform.Join(titles, "or")
}

// LinkMessage is what a chat is sent with a login link. A Mini App opens only at
// an https address.
func (w *Web) LinkMessage(l signin.LoginLink, secret, channel string) core.Posting {
	p := core.Posting{
		Text: "🔑 This link signs you in to the desk's pages as " + display.Escape(l.Person) +
			". It works once, for five minutes. Keep it to yourself: any person who opens it is signed in as you.",
		Link: w.LinkTo(secret),
	}
	if channel == AppPlatform && w.botToken != "" && w.address.url.Scheme == "https" {
		p.App = w.address.url.JoinPath(appPath).String()
	}
	return p
}
