package people

import (
	"maps"
	"slices"

	"approvalbot/internal/approval"
)

// Contacts gives, by name, the people that it makes sense to ask about the approval
// now: each configured person who may and could decide it somewhere, and has not done
// so. A role in a chat, which is seen only at the tap, is assumed to be held. People
// who are away are left out, unless all of them are away.
func Contacts(a approval.Approval, d *Directory) (out []Person) {
	if a.Final() {
		return nil
	}
	var away []Person
	voted := Standing(a, d)
	for _, name := range slices.Sorted(maps.Keys(d.People)) {
		has := func(v approval.Vote) bool { return approval.ByPeople(v) && v.Voter.Person == name }
		if !slices.ContainsFunc(voted, has) && slices.ContainsFunc(d.AccountsOf(name), func(v approval.Voter) bool { return Counts(a, v, d) }) {
			if _, gone := d.Away(name); gone {
				away = append(away, d.People[name])
			} else {
				out = append(out, d.People[name])
			}
		}
	}
	if len(out) == 0 {
		return away
	}
	return out
}

// Counts reports whether a yes or a no of the voter's could count toward what is asked.
func Counts(a approval.Approval, v approval.Voter, d *Directory) bool {
	w := WeightOf(a, v, d)
	return (w.Approvers || w.Verifier) && !MayNotDecide(a, v, d)
}

// AccountsOf are the accounts and tokens by which a person could vote.
func (d *Directory) AccountsOf(person string) (out []approval.Voter) {
	for channel, id := range d.People[person].Accounts {
		out = append(out, approval.Voter{Person: person, Channel: channel, UserID: id, Roles: d.Roles[channel]})
	}
	for token, of := range d.tokens {
		if of == person {
			out = append(out, approval.Voter{Person: person, Channel: "api", UserID: token})
		}
	}
	return out
}
