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
	Name, Accounts, Roles, Zone, StandIn string
	OnDuty                               []string // by which rosters
	Away                                 stamp    // until then
	Decides                              bool
	Waiting                              int // requests that wait for them
	Passkeys, Suspended                  int
}

// rosterView is who is on duty by a roster.
type rosterView struct{ Name, Now string }

// peoplePages show who is there, and who is on duty.
type peoplePages struct {
	page
	signin *signin.Door // passkeys
}

func (p *peoplePages) routes() []route {
	return []route{
		{pattern: "GET /people", serve: p.open},
	}
}

func (p *peoplePages) open(out http.ResponseWriter, r *http.Request, s signin.Session) {
	v := p.reader(s)
	if !p.operator(out, r, v) {
		return
	}
	waiting, err := p.found(r.Context(), v, historyFilter{Filter: core.Filter{Status: approval.Pending, Limit: 200}}, 1000)
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	passkeys, suspended, err := p.signin.PasskeyCounts(r.Context())
	if err != nil {
		p.refuse(out, r, s, err)
		return
	}
	duty := p.gate.Rules().Contact.Duty
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
	for _, one := range v.people.Everybody() {
		voter := signin.Session{Person: one.Name}.Voter()
		o := personView{Name: safe(one.Name), Roles: strings.Join(one.Roles, ", "), OnDuty: on[one.Name],
			Decides: v.people.MayDecide(v.people.Identify(voter)), Passkeys: passkeys[one.Name],
			Suspended: suspended[one.Name]}
		if a, away := v.people.Away(one.Name); away {
			o.Away, o.StandIn = v.left(a.UntilMs), safe(a.To)
		}
		var accounts []string
		for _, channel := range slices.Sorted(maps.Keys(one.Accounts)) {
			accounts = append(accounts, channel+" "+one.Accounts[channel])
		}
		o.Accounts = strings.Join(accounts, ", ")
		if one.Zone != nil {
			o.Zone = one.Zone.String()
		}
		for _, a := range waiting.all {
			if core.WaitsFor(a, voter, v.people) {
				o.Waiting++
			}
		}
		rows = append(rows, o)
	}
	p.show(out, http.StatusOK, peoplePage(p.head(s, "People"), rows, rosters))
}
