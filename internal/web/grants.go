package web

import (
	"net/http"
	"strconv"
	"strings"
	"sync"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// grantView is a grant or a cool-down.
type grantView struct {
	ID, Kind, What, Tool, Owner, Agent, Session, By, Risk string
	Since, Until, Used                                    stamp // Used: when a call last ran by it
	Times                                                 int
	Class                                                 approval.RiskClass
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

// used is how often calls ran by it.
func (g grantView) used() string {
	if g.Times == 1 {
		return "used once, "
	}
	return "used " + strconv.Itoa(g.Times) + " times, last "
}

var grantTexts = sync.OnceValue(func() map[approval.GrantKind]string {
	return map[approval.GrantKind]string{
		approval.SessionGrant: "Allowed for a session", approval.AlwaysGrant: "Allowed always", approval.PatternGrant: "Allowed by a pattern",
		approval.CoolDown: "Refused for a while",
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
	if !p.operator(out, r, v) {
		return
	}
	list, err := p.gate.Grants().List(r.Context(), v.caller, core.GrantFilter{})
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	used, err := p.usedGrants(r, v)
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	var rows []grantView
	for _, g := range list {
		what := g.Summary
		if len(g.Pattern) > 0 {
			what = strings.Join(g.Pattern, " ")
		}
		u := used["grant:"+g.ID]
		rows = append(rows, grantView{ID: g.ID, Kind: grantTexts()[g.Kind], What: safe(what), Tool: safe(g.ToolName),
			Owner: safe(g.Owner), Agent: safe(g.AgentID), Session: safe(g.SessionKey), By: v.who(g.By...), Class: g.MaxClass,
			Since: v.ago(g.CreatedAtMs), Until: v.left(g.ExpiresAtMs), Risk: g.MaxClass.String(), Used: v.ago(u.last), Times: u.times})
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
	ran, err := p.found(r.Context(), v, historyFilter{Filter: core.Filter{Status: approval.Approved, Limit: 200}}, 1000)
	for _, a := range ran.all {
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
		p.refuse(out, r, s, err)
		return
	}
	http.Redirect(out, r, "/grants?ended=1", http.StatusSeeOther)
}
