package web

import (
	"net/http"
	"strings"
	"sync"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

// grantView is a grant or a cool-down.
type grantView struct {
	ID, Kind, What, Tool, Owner, Agent, Session, By, Since, Until, Risk string
	Used                                                                string // when a call last ran by it
	Times                                                               int
}

// holder is whose calls it is about.
func (g grantView) holder() string {
	text := "for token " + g.Owner
	if g.Agent != "" {
		text += ", agent " + g.Agent
	}
	if g.Session != "" {
		text += ", session " + g.Session
	}
	return text
}

var grantTexts = sync.OnceValue(func() map[approval.GrantKind]string {
	return map[approval.GrantKind]string{
		approval.SessionGrant: "allowed for a session", approval.AlwaysGrant: "allowed always", approval.PatternGrant: "pattern",
		approval.CoolDown: "refused for a while",
	}
})

// grantPages are the page of grants and cool-downs.
type grantPages struct {
	page
}

func (p *grantPages) routes() []route {
	return []route{
		{pattern: "GET /grants", serve: p.grants},
		{pattern: "POST /grants/{id}/end", serve: p.endGrant},
	}
}

func (p *grantPages) grants(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !p.operator(out, v) {
		return
	}
	list, err := p.gate.Grants().List(r.Context(), v.caller, core.GrantFilter{})
	if err != nil {
		p.refuse(out, s, err)
		return
	}
	used, err := p.usedGrants(r, v)
	if err != nil {
		p.refuse(out, s, err)
		return
	}
	var rows []grantView
	for _, g := range list {
		until := "until it is ended"
		if g.ExpiresAtMs != 0 {
			until = card.UntilText(g.ExpiresAtMs, v.zone, v.now.UnixMilli())
		}
		what := g.Summary
		if len(g.Pattern) > 0 {
			what = strings.Join(g.Pattern, " ")
		}
		u := used["grant:"+g.ID]
		rows = append(rows, grantView{ID: g.ID, Kind: grantTexts()[g.Kind], What: safe(what), Tool: safe(g.ToolName),
			Owner: safe(g.Owner), Agent: safe(g.AgentID), Session: safe(g.SessionKey), By: people.People(g.By),
			Since: v.at(g.CreatedAtMs),
			Until: until, Risk: g.MaxClass.String(), Used: v.at(u.last), Times: u.times})
	}
	notice := map[string]string{"1": "The grant is ended."}[r.URL.Query().Get("ended")]
	p.show(out, http.StatusOK, grantsPage(p.head(s, "Grants"), rows, notice))
}

// use is how often a grant let calls run, among those that were looked through.
type use struct {
	last  int64
	times int
}

// usedGrants looks through the newest requests for those that grants allowed.
func (p *grantPages) usedGrants(r *http.Request, v reader) (map[string]use, error) {
	out := map[string]use{}
	all, _, err := p.found(r.Context(), v, historyFilter{Filter: core.Filter{Status: approval.Approved, Limit: 200}}, 1000)
	for _, a := range all {
		if len(a.DecidedBy) == 0 {
			continue
		}
		u := out[a.DecidedBy[0]]
		out[a.DecidedBy[0]] = use{max(u.last, a.CreatedAtMs), u.times + 1}
	}
	return out, err
}

func (p *grantPages) endGrant(out http.ResponseWriter, r *http.Request, s signin.Session) {
	if _, err := p.gate.Grants().Drop(r.Context(), p.reader(s).caller, core.GrantFilter{ID: r.PathValue("id")}); err != nil {
		p.refuse(out, s, err)
		return
	}
	http.Redirect(out, r, "/grants?ended=1", http.StatusSeeOther)
}
