package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Person is a human with known accounts. Whatever they tap with, they are one
// person and one vote.
type Person struct {
	Name     string
	Accounts map[string]string // channel -> user id
	Roles    []string          // labels for operators' own rules
}

// Directory knows the people and who may decide where. It is immutable; a
// reload makes a new one.
type Directory struct {
	byAccount map[Requester]string // {channel, userId} -> person
	people    map[string]Person
	users     map[string][]string // channel -> allowed user ids
	roles     map[string][]string // channel -> allowed role ids
	tokens    map[string]string   // name of a token that may decide -> its person
	live      map[string]bool     // channels that are on
	all       eligible            // to vote on what nobody of them asked
}

// eligible is how many different people could vote.
type eligible struct {
	mapped, unmapped int
	open             bool
}

// Rights is what a Directory is made of.
type Rights struct {
	People       []Person
	AllowedUsers map[string][]string // channel -> user ids, for channels that are on
	AllowedRoles map[string][]string // channel -> role ids
	Tokens       map[string]string   // tokens with operator.approvals and a person: token name -> person
}

// NewDirectory checks that no account belongs to two people. A person whom only a
// token names is one without accounts.
func NewDirectory(r Rights) (*Directory, error) {
	d := &Directory{
		byAccount: map[Requester]string{}, people: map[string]Person{},
		users: maps.Clone(r.AllowedUsers), roles: maps.Clone(r.AllowedRoles),
		tokens: maps.Clone(r.Tokens), live: map[string]bool{},
	}
	for c := range r.AllowedUsers {
		d.live[c] = true
	}
	for _, p := range r.People {
		if _, twice := d.people[p.Name]; twice {
			return nil, fmt.Errorf("person %q is listed twice", p.Name)
		}
		d.people[p.Name] = p
		for channel, id := range p.Accounts {
			account := Requester{Channel: channel, UserID: id}
			if other, taken := d.byAccount[account]; taken {
				return nil, fmt.Errorf("%s id %s belongs to both %q and %q", channel, id, other, p.Name)
			}
			d.byAccount[account] = p.Name
		}
	}
	for _, person := range r.Tokens {
		if _, ok := d.people[person]; !ok {
			d.people[person] = Person{Name: person}
		}
	}
	d.all = d.count(nil, true, nil)
	return d, nil
}

// Identify fills in the person behind an account. A voter on channel "api" is a
// token; its person is the one the configuration names.
func (d *Directory) Identify(v Voter) Voter {
	if v.Channel == "api" {
		v.Person = d.tokens[v.UserID]
		return v
	}
	v.Person = d.byAccount[Requester{Channel: v.Channel, UserID: v.UserID}]
	return v
}

// MayDecide reports whether this voter is an approver on that channel, now.
// Deny by default: an empty list allows nobody.
func (d *Directory) MayDecide(v Voter) bool {
	if v.Channel == "api" {
		person, ok := d.tokens[v.UserID]
		return ok && person != "" && person == v.Person
	}
	if !d.live[v.Channel] {
		return false
	}
	if slices.Contains(d.users[v.Channel], v.UserID) {
		return true
	}
	return slices.ContainsFunc(v.Roles, func(role string) bool { return slices.Contains(d.roles[v.Channel], role) })
}

// Is reports whether the voter is the requester, under any account: the same
// account, or the same person.
func (d *Directory) Is(v Voter, r Requester) bool {
	if r.Person == "" && r.UserID != "" {
		if r.Channel == v.Channel && r.UserID == v.UserID {
			return true
		}
		r.Person = d.byAccount[Requester{Channel: r.Channel, UserID: r.UserID}]
	}
	return r.Person != "" && r.Person == v.Person
}

// anyAsked reports whether one of the voters with those names ("person:alice",
// "telegram:1") is one of the askers, under any account.
func (d *Directory) anyAsked(names []string, askers []Requester) bool {
	for _, name := range names {
		var v Voter
		if v.Channel, v.UserID, _ = strings.Cut(name, ":"); v.Channel == "person" {
			v = Voter{Person: v.UserID}
		} else {
			v = d.Identify(v)
		}
		if slices.ContainsFunc(askers, func(r Requester) bool { return d.Is(v, r) }) {
			return true
		}
	}
	return false
}

// Known reports whether a person of that name is configured.
func (d *Directory) Known(person string) bool { _, ok := d.people[person]; return ok }

// Eligible counts the different people who could vote on an approval asked by
// askers, those with one of the named accounts ("telegram:1") included: mapped people, and those accounts without a person. open reports that
// a role is allowed somewhere, so that there may be more than can be counted.
func (d *Directory) Eligible(askers []Requester, solo bool, named ...string) (mapped, unmapped int, open bool) {
	e := d.all
	if len(named) > 0 || !solo && len(askers) > 0 {
		e = d.count(askers, solo, named)
	}
	return e.mapped, e.unmapped, e.open
}

func (d *Directory) count(askers []Requester, solo bool, named []string) (e eligible) {
	names := map[string]bool{}
	add := func(v Voter) {
		v = d.Identify(v)
		if !solo && slices.ContainsFunc(askers, func(r Requester) bool { return d.Is(v, r) }) {
			return
		}
		if !names[v.Name()] {
			names[v.Name()] = true
			if v.Person != "" {
				e.mapped++
			} else {
				e.unmapped++
			}
		}
	}
	for channel, ids := range d.users {
		for _, id := range ids {
			add(Voter{Channel: channel, UserID: id})
		}
	}
	for token := range d.tokens {
		add(Voter{Channel: "api", UserID: token})
	}
	for _, account := range named {
		channel, id, _ := strings.Cut(account, ":")
		add(Voter{Channel: channel, UserID: id})
	}
	for channel, ids := range d.roles {
		e.open = e.open || d.live[channel] && len(ids) > 0
	}
	return e
}

// Meets reports whether the voter belongs to the group: has its role, or is one
// of its accounts or the person behind one.
func (d *Directory) Meets(n Need, v Voter) bool {
	v = d.Identify(v)
	if n.Role != "" {
		return v.Person != "" && slices.Contains(d.people[v.Person].Roles, n.Role)
	}
	return slices.ContainsFunc(n.Accounts, func(account string) bool {
		channel, id, _ := strings.Cut(account, ":")
		return d.Is(v, Requester{Channel: channel, UserID: id})
	})
}

// Enough reports whether the group has as many people as are needed who could
// vote on what askers asked.
func (d *Directory) Enough(n Need, askers []Requester, solo bool) bool {
	names := map[string]bool{}
	add := func(v Voter) {
		v = d.Identify(v)
		if solo || !slices.ContainsFunc(askers, func(r Requester) bool { return d.Is(v, r) }) {
			names[v.Name()] = true
		}
	}
	for _, account := range n.Accounts {
		channel, id, _ := strings.Cut(account, ":")
		add(Voter{Channel: channel, UserID: id})
	}
	if n.Role != "" {
		for channel, ids := range d.users {
			for _, id := range ids {
				if v := (Voter{Channel: channel, UserID: id}); d.Meets(n, v) {
					add(v)
				}
			}
		}
		for token := range d.tokens {
			if v := (Voter{Channel: "api", UserID: token}); d.Meets(n, v) {
				add(v)
			}
		}
		if len(names) < n.Min { // people who hold an allowed chat role
			for _, p := range d.people {
				if slices.Contains(p.Roles, n.Role) && d.byRole(p) {
					names["person:"+p.Name] = true
				}
			}
		}
	}
	return len(names) >= n.Min
}

// byRole reports whether a person might be allowed by a role of the chat, which
// is seen at the tap only.
func (d *Directory) byRole(p Person) bool {
	for channel := range p.Accounts {
		if d.live[channel] && len(d.roles[channel]) > 0 {
			return true
		}
	}
	return false
}

// AnyToken reports whether somebody could decide by API or terminal.
func (d *Directory) AnyToken() bool { return len(d.tokens) > 0 }
