package core

import (
	"maps"
	"slices"
)

// contacts are the people whom asking about the approval makes sense now, by name: of
// those who are configured, each who could decide it somewhere and may, and has not. A
// role of a chat, which is seen at the tap only, is taken for held. Who is away is left
// alone, unless all of them are.
func (a Approval) contacts(d *Directory) (out []Person) {
	if a.Final() {
		return nil
	}
	var away []Person
	voted := a.standing(d)
	for _, name := range slices.Sorted(maps.Keys(d.people)) {
		has := func(v Vote) bool { return byPeople(v) && v.Voter.Person == name }
		if !slices.ContainsFunc(voted, has) && slices.ContainsFunc(d.accountsOf(name), func(v Voter) bool { return a.counts(v, d) }) {
			if _, gone := d.Away(name); gone {
				away = append(away, d.people[name])
			} else {
				out = append(out, d.people[name])
			}
		}
	}
	if len(out) == 0 {
		return away
	}
	return out
}

// counts reports whether a yes or a no of the voter's could count toward what is asked.
func (a Approval) counts(v Voter, d *Directory) bool {
	w := a.weight(v, d)
	return (w.Approvers || w.Verifier) && !a.MayNotDecide(v, d)
}

// accountsOf are the accounts and tokens by which a person could vote.
func (d *Directory) accountsOf(person string) (out []Voter) {
	for channel, id := range d.people[person].Accounts {
		out = append(out, Voter{Person: person, Channel: channel, UserID: id, Roles: d.roles[channel]})
	}
	for token, of := range d.tokens {
		if of == person {
			out = append(out, Voter{Person: person, Channel: "api", UserID: token})
		}
	}
	return out
}
