package web

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/signin"
)

// personView is one configured person.
type personView struct {
	Name, Accounts, Roles, Duty, Away, Zone string
	Decides                                 bool
	Waiting                                 int // requests that wait for them
	Passkeys, Suspended                     int
}

// rosterView is who is on duty by a roster.
type rosterView struct{ Name, Now string }

func (w *Web) people(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := w.reader(s)
	if !w.operator(out, v) {
		return
	}
	pending, _, err := w.found(r.Context(), v, historyFilter{Filter: core.Filter{Status: approval.Pending, Limit: 200}}, 1000)
	if err != nil {
		w.refuse(out, s, err)
		return
	}
	passkeys, suspended, err := w.signin.PasskeyCounts(r.Context())
	if err != nil {
		w.refuse(out, s, err)
		return
	}
	duty := w.gate.Rules().Contact.Duty
	on := map[string][]string{}
	var rosters []rosterView
	for _, roster := range duty.Rosters() {
		who, _ := duty.WhoNow(roster.Name, v.now)
		rosters = append(rosters, rosterView{roster.Name, who.String(v.now, v.zone)})
		for _, name := range who.People {
			on[name] = append(on[name], roster.Name)
		}
	}
	var rows []personView
	for _, p := range v.people.Everybody() {
		voter := signin.Session{Person: p.Name}.Voter()
		o := personView{Name: safe(p.Name), Roles: strings.Join(p.Roles, ", "), Duty: strings.Join(on[p.Name], ", "),
			Decides: v.people.MayDecide(v.people.Identify(voter)), Passkeys: passkeys[p.Name],
			Suspended: suspended[p.Name]}
		if a, away := v.people.Away(p.Name); away {
			o.Away = "until " + v.at(a.UntilMs)
			if a.To != "" {
				o.Away += ", " + safe(a.To) + " stands in"
			}
		}
		for _, channel := range slices.Sorted(maps.Keys(p.Accounts)) {
			o.Accounts += channel + " " + p.Accounts[channel] + " "
		}
		if p.Zone != nil {
			o.Zone = p.Zone.String()
		}
		for _, a := range pending {
			if core.WaitsFor(a, voter, v.people) {
				o.Waiting++
			}
		}
		rows = append(rows, o)
	}
	w.show(out, http.StatusOK, peoplePage(w.head(s, "People"), rows, rosters))
}
