package web

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

const (
	inboxRows = 50   // at once on a page
	inboxMost = 1000 // requests are read, sorted and counted for one look, the riskiest; the others have addresses of their own
)

// inboxPages are the page of what waits.
type inboxPages struct{ page }

func (p *inboxPages) routes() []route {
	return []route{{pattern: "GET /{$}", serve: p.open}}
}

// waiting is the list of the inbox.
type waiting struct {
	Rows        []row
	Mine, Total int    // of all pages: what waits for the reader, and what waits for anyone
	Worst       string // the riskiest class of those, "R4"; empty if there are none
	Search      string
	Filter      url.Values // the filters that are set, without the search
	Chips       [][]chip   // by which the list is narrowed, group by group
	Page, Pages int
	Cursor      string // selects the requests to read; empty for the riskiest
	Next        string // the cursor of further ones; empty if this is all
	Operates    bool
	Rounds      []roundRow // of the first page: on whose one more run people vote
}

// roundRow is an open retry round in the inbox; it is decided on the page of its request.
type roundRow struct {
	Code, Summary, Text string
	Ends                stamp
}

// Earlier is the address of the page before; empty on the first.
func (l waiting) Earlier() string { return l.at(l.Page - 1) }

// Later is the address of the page after.
func (l waiting) Later() string { return l.at(l.Page + 1) }

func (l waiting) at(page int) string {
	if page < 1 || page > l.Pages {
		return ""
	}
	return "/" + with(l.query(), "page", strconv.Itoa(page))
}

// Live is the address that the page reloads to stay current: this list, without the other parameters of its address.
func (l waiting) Live() string { return with(l.query(), "page", strconv.Itoa(l.Page)) }

// Older is the address of the requests after those that were read; empty if all were read.
func (l waiting) Older() string {
	if l.Next == "" {
		return ""
	}
	return "/" + with(l.query(), "cursor", l.Next)
}

// query gives the parameters of the list's address, without its page.
func (l waiting) query() url.Values {
	q := url.Values{"q": {l.Search}, "cursor": {l.Cursor}}
	maps.Copy(q, l.Filter)
	return q
}

// inboxFilters narrow the list: for which person it is, how risky it is, and who asks.
func inboxFilters() []string { return []string{"who", "risk", "agent"} }

// narrow gives those of a list that the filters of the address select, and notes the chips by which people set them.
func (l *waiting) narrow(v reader, all []approval.Approval, q url.Values) []approval.Approval {
	l.Filter = url.Values{}
	for _, name := range inboxFilters() {
		if value := q.Get(name); value != "" {
			l.Filter.Set(name, value)
		}
	}
	value := map[string]func(a approval.Approval) string{
		"who": func(a approval.Approval) string {
			if core.WaitsFor(a, v.session.Voter(), v.people) {
				return "me"
			}
			return ""
		},
		"risk":  func(a approval.Approval) string { return a.Assessment.RiskClass.String() },
		"agent": card.Asker,
	}
	for _, name := range inboxFilters() {
		if group := chipsOf(l.query(), name, all, value[name]); len(group) > 0 {
			l.Chips = append(l.Chips, group)
		}
	}
	return slices.DeleteFunc(all, func(a approval.Approval) bool {
		for name := range l.Filter {
			if value[name](a) != l.Filter.Get(name) {
				return true
			}
		}
		return false
	})
}

// of gives the rows that wait for the reader, or those that wait only for others.
func (l waiting) of(mine bool) (out []row) {
	for _, r := range l.Rows {
		if r.Mine == mine {
			out = append(out, r)
		}
	}
	return out
}

// pending lists what waits, as that person sees it. It reads [inboxMost] requests at most, so that a look and a live page
// cost the same however many wait.
func (p *inboxPages) pending(ctx context.Context, v reader, q url.Values) (l waiting, err error) {
	l = waiting{Search: strings.TrimSpace(q.Get("q")), Cursor: q.Get("cursor"), Operates: v.operates()}
	var all []approval.Approval
	class, f := riskiestFrom(l.Cursor)
	for read := 0; read < inboxMost && class >= approval.R0; {
		f.Risk, f.Limit = &class, min(200, inboxMost-read)
		items, next, err := p.list(ctx, v, f)
		if err != nil {
			return l, err
		}
		for _, a := range items {
			if core.Speaks(a, l.Search) {
				all = append(all, a)
			}
		}
		if f.Cursor = next; next != "" {
			read += f.Limit
		} else {
			read += len(items)
			class--
		}
	}
	for ; class >= approval.R0; class-- {
		f.Risk, f.Limit = &class, 1
		if f.Cursor == "" {
			if items, next, err := p.list(ctx, v, f); err != nil {
				return l, err
			} else if len(items) == 0 && next == "" {
				continue
			}
		}
		l.Next = class.String() + "." + f.Cursor
		break
	}
	all = l.narrow(v, all, q)
	l.Mine, l.Total = v.byUrgency(all), len(all)
	if l.Total > 0 {
		l.Worst = worst(all).String()
	}
	l.Pages = max(1, (len(all)+inboxRows-1)/inboxRows)
	asked, _ := strconv.Atoi(q.Get("page"))
	l.Page = min(max(asked, 1), l.Pages)
	if l.Page == 1 && l.Cursor == "" {
		if l.Rounds, err = p.openRounds(ctx, v, l.Search); err != nil {
			return l, err
		}
	}
	page := all[(l.Page-1)*inboxRows : min(len(all), l.Page*inboxRows)]
	for _, a := range page {
		r, err := drawRow(ctx, p.gate, v, a)
		if err != nil {
			return l, err
		}
		l.Rows = append(l.Rows, r)
	}
	return l, nil
}

// riskiestFrom gives the class and the rest of the filter with which a look begins: class after class, each newest first.
func riskiestFrom(cursor string) (approval.RiskClass, core.Filter) {
	f := core.Filter{Status: approval.Pending}
	class := approval.R4
	if name, rest, ok := strings.Cut(cursor, "."); ok && class.UnmarshalText([]byte(name)) == nil {
		f.Cursor = rest
		return class, f
	}
	return approval.R4, f
}

// openRounds lists what people vote on to run once more, as that person sees it.
func (p *inboxPages) openRounds(ctx context.Context, v reader, search string) (out []roundRow, err error) {
	items, _, err := p.list(ctx, v, core.Filter{Round: true, Limit: inboxRows})
	for _, a := range items {
		if round, open := people.OpenRound(a, v.people, v.now.UnixMilli()); open && core.Speaks(a, search) {
			out = append(out, roundRow{a.Code, card.Headline(a), round.Text(), v.left(round.ExpiresAtMs)})
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

func (p *inboxPages) open(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	l, err := p.pending(r.Context(), v, r.URL.Query())
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	notice := p.voted(r.Context(), v, r.URL.Query().Get("voted"), approval.Decision(r.URL.Query().Get("as")))
	h := p.head(s, "Inbox")
	h.Tab = l.Title()
	p.show(out, http.StatusOK, inboxPage(h, l, notice))
}

// Title is what a browser's tab says: how bad, and how many.
func (l waiting) Title() string {
	if l.Total == 0 {
		return "Inbox"
	}
	return riskIcons()[l.Worst] + " " + l.count(l.Total) + " · Inbox"
}

// count is a number of requests, with a plus if further ones were not read.
func (l waiting) count(n int) string {
	if l.Next != "" {
		return strconv.Itoa(n) + "+"
	}
	return strconv.Itoa(n)
}
