package web

import (
	"net/http"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
)

func safe(s string) string { return display.Safe(s) }

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

var grantTexts = map[approval.GrantKind]string{
	approval.SessionGrant: "allowed for a session", approval.AlwaysGrant: "allowed always", approval.PatternGrant: "pattern",
	approval.CoolDown: "refused for a while",
}

// operator reports whether whoever looks may decide; if not, the answer says so.
func (w *Web) operator(out http.ResponseWriter, v reader) bool {
	if !v.caller.MayDecide {
		w.refuse(out, v.session, approval.Refuse(approval.CodeForbidden, "This page is for those who may decide requests."))
	}
	return v.caller.MayDecide
}

func (w *Web) grants(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := w.reader(s)
	if !w.operator(out, v) {
		return
	}
	list, err := w.gate.Grants(r.Context(), v.caller, core.GrantFilter{})
	if err != nil {
		w.refuse(out, s, err)
		return
	}
	used, err := w.usedGrants(r, v)
	if err != nil {
		w.refuse(out, s, err)
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
		rows = append(rows, grantView{ID: g.ID, Kind: grantTexts[g.Kind], What: safe(what), Tool: safe(g.ToolName),
			Owner: safe(g.Owner), Agent: safe(g.AgentID), Session: safe(g.SessionKey), By: people.People(g.By),
			Since: v.at(g.CreatedAtMs),
			Until: until, Risk: g.MaxClass.String(), Used: v.at(u.last), Times: u.times})
	}
	notice := map[string]string{"1": "The grant is ended."}[r.URL.Query().Get("ended")]
	w.show(out, http.StatusOK, grantsPage(w.head(s, "Grants"), rows, notice))
}

// use is how often a grant let calls run, among those that were looked through.
type use struct {
	last  int64
	times int
}

// usedGrants looks through the newest requests for those that grants allowed.
func (w *Web) usedGrants(r *http.Request, v reader) (map[string]use, error) {
	out := map[string]use{}
	all, _, err := w.found(r.Context(), v, historyFilter{Filter: core.Filter{Status: approval.Approved, Limit: 200}}, 1000)
	for _, a := range all {
		if len(a.DecidedBy) == 0 {
			continue
		}
		u := out[a.DecidedBy[0]]
		out[a.DecidedBy[0]] = use{max(u.last, a.CreatedAtMs), u.times + 1}
	}
	return out, err
}

func (w *Web) endGrant(out http.ResponseWriter, r *http.Request, s signin.Session) {
	if _, err := w.gate.DropGrants(r.Context(), w.reader(s).caller, core.GrantFilter{ID: r.PathValue("id")}); err != nil {
		w.refuse(out, s, err)
		return
	}
	http.Redirect(out, r, "/grants?ended=1", http.StatusSeeOther)
}
