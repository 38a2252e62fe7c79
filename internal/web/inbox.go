package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// inboxRows is how many rows the inbox shows at once.
const inboxRows = 50

// inboxPages are those that show approvals, and what the desk knows of itself.
func (w *Web) inboxPages() []page {
	return []page{
		{pattern: "GET /{$}", serve: w.inbox},
		{pattern: "GET /live", open: true, serve: w.live},
		{pattern: "GET /a/{code}", serve: w.approval},
		{pattern: "GET /a/{code}/call", serve: w.download},
		{pattern: "POST /a/{code}/vote", serve: w.vote},
		{pattern: "POST /a/{code}/again", serve: w.again},
		{pattern: "GET /history", serve: w.history},
		{pattern: "GET /grants", serve: w.grants},
		{pattern: "POST /grants/{id}/end", serve: w.endGrant},
		{pattern: "GET /policy", serve: w.policy},
		{pattern: "POST /policy", serve: w.policy},
		{pattern: "GET /people", serve: w.people},
		{pattern: "GET /numbers", serve: w.numbers},
		{pattern: "GET /audit", serve: w.audit},
		{pattern: "POST /audit/verify", serve: w.verifyLog},
		{pattern: "GET /health", serve: w.health},
	}
}

// waiting is the list of the inbox.
type waiting struct {
	Rows        []row
	Mine, Total int    // of all pages: what waits for whoever looks, and what waits
	Worst       string // the riskiest class of those, "R4"; empty: nothing waits
	Search      string
	Page, Pages int
	Operates    bool
	Rounds      []roundRow // of the first page: on whose one more run people vote
}

// roundRow is an open retry round in the inbox; it is decided on the page of its request.
type roundRow struct{ Code, Summary, Text, Until string }

// Earlier is the address of the page before; empty: there is none.
func (l waiting) Earlier() string { return l.at(l.Page - 1) }

// Later is the address of the page after.
func (l waiting) Later() string { return l.at(l.Page + 1) }

func (l waiting) at(page int) string {
	if page < 1 || page > l.Pages {
		return ""
	}
	return "/?" + url.Values{"q": {l.Search}, "page": {strconv.Itoa(page)}}.Encode()
}

// of are the rows that wait for whoever looks, or those that wait for others alone.
func (l waiting) of(mine bool) (out []row) {
	for _, r := range l.Rows {
		if r.Mine == mine {
			out = append(out, r)
		}
	}
	return out
}

// pending lists what waits, as that person sees it, and remembers what it shows whole.
func (w *Web) pending(ctx context.Context, v reader, q url.Values) (l waiting, err error) {
	l = waiting{Search: strings.TrimSpace(q.Get("q")), Operates: v.operates()}
	var all []approval.Approval
	for f := (core.Filter{Status: approval.Pending, Limit: 200}); ; {
		items, next, err := w.list(ctx, v, f)
		if err != nil {
			return l, err
		}
		for _, a := range items {
			if speaksOf(a, l.Search) {
				all = append(all, a)
			}
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	l.Mine, l.Total = v.byUrgency(all), len(all)
	if l.Total > 0 {
		l.Worst = worst(all).String()
	}
	l.Pages = max(1, (len(all)+inboxRows-1)/inboxRows)
	asked, _ := strconv.Atoi(q.Get("page"))
	l.Page = min(max(asked, 1), l.Pages)
	if l.Page == 1 {
		if l.Rounds, err = w.openRounds(ctx, v, l.Search); err != nil {
			return l, err
		}
	}
	page := all[(l.Page-1)*inboxRows : min(len(all), l.Page*inboxRows)]
	for _, a := range page {
		r, err := w.row(ctx, v, a)
		if err != nil {
			return l, err
		}
		l.Rows = append(l.Rows, r)
	}
	for i, a := range page {
		if l.Rows[i].Whole {
			w.shown.note(v.session, a)
		}
	}
	return l, nil
}

// openRounds lists what people vote on to run once more, as that person sees it.
func (w *Web) openRounds(ctx context.Context, v reader, search string) (out []roundRow, err error) {
	items, _, err := w.list(ctx, v, core.Filter{Round: true, Limit: inboxRows})
	for _, a := range items {
		if round, open := people.OpenRound(a, v.people, v.now.UnixMilli()); open && speaksOf(a, search) {
			out = append(out, roundRow{a.Code, card.Headline(a), round.Text(), v.at(round.ExpiresAtMs)})
		}
	}
	return out, err
}

func worst(all []approval.Approval) (class approval.RiskClass) {
	for _, a := range all {
		class = max(class, a.Assessment.RiskClass)
	}
	return class
}

func (w *Web) inbox(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := w.reader(s)
	l, err := w.pending(r.Context(), v, r.URL.Query())
	if err != nil {
		w.refuse(out, s, err)
		return
	}
	notice := w.voted(r.Context(), v, r.URL.Query().Get("voted"), approval.Decision(r.URL.Query().Get("as")))
	h := w.head(s, "Inbox")
	h.Tab = l.Title()
	w.show(out, http.StatusOK, inboxPage(h, l, r.URL.RawQuery, notice))
}

// Title is what a browser's tab says: how bad, and how many.
func (l waiting) Title() string {
	if l.Total == 0 {
		return "Inbox"
	}
	return riskIcons[l.Worst] + " " + strconv.Itoa(l.Total) + " · Inbox"
}

// riskIcons are the colours of the classes, as cards have them.
var riskIcons = map[string]string{"R0": "🟩", "R1": "🟦", "R2": "🟨", "R3": "🟧", "R4": "🟥"}
