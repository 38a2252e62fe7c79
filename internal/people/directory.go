package people

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/schedule"
)

// Person is a human with known accounts. All accounts of a person are one
// person and one vote.
type Person struct {
	Name     string
	Accounts map[string]string // channel -> user id
	Roles    []string          // labels for operators' own rules
	Email    string            // by which duty calendars and OIDC providers name them; may be empty
	Zone     *time.Location    // in which they are told times; nil means UTC
	Quiet    schedule.Window   // their quiet hours; zero if not configured
}

// Directory knows the people, and on which channels each may decide. It is
// immutable; a reload makes a new one, and At a view of a moment.
type Directory struct {
	ByAccount map[approval.Requester]string // {channel, userId} -> person
	People    map[string]Person
	Users     map[string][]string // channel -> allowed user ids
	Roles     map[string][]string // channel -> allowed role ids
	tokens    map[string]string   // name of a token that may decide -> its person
	Live      map[string]bool     // channels that are on
	Verifiers map[string][]string // agent id, "" for all others -> accounts of the verifier's people
	Duty      schedule.Duty
	now       time.Time          // zero: no one is on duty
	away      map[string]Absence // the present absences, by person
	All       eligible           // may vote on a request that they did not make
	holders   map[string]bool    // who has a passkey; nil if not known here
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
	Verifiers    map[string][]string // the verifier's people: agent id, "" for all others -> "telegram:1"
	Duty         schedule.Duty
}

// NewDirectory checks that no account belongs to two people. A person that only a
// token names has no accounts.
func NewDirectory(r Rights) (*Directory, error) {
	d := &Directory{
		ByAccount: map[approval.Requester]string{}, People: map[string]Person{},
		Users: maps.Clone(r.AllowedUsers), Roles: maps.Clone(r.AllowedRoles),
		tokens: maps.Clone(r.Tokens), Live: map[string]bool{}, Verifiers: maps.Clone(r.Verifiers),
		Duty: r.Duty,
	}
	for c := range r.AllowedUsers {
		d.Live[c] = true
	}
	for _, p := range r.People {
		if _, twice := d.People[p.Name]; twice {
			return nil, fmt.Errorf("person %q is listed twice", p.Name)
		}
		d.People[p.Name] = p
		for channel, id := range p.Accounts {
			account := approval.Requester{Channel: channel, UserID: id}
			if other, taken := d.ByAccount[account]; taken {
				return nil, fmt.Errorf("%s id %s belongs to both %q and %q", channel, id, other, p.Name)
			}
			d.ByAccount[account] = p.Name
		}
	}
	for _, person := range r.Tokens {
		if _, ok := d.People[person]; !ok {
			d.People[person] = Person{Name: person}
		}
	}
	d.All = d.Count(nil, nil)
	return d, nil
}

// Identify fills in the person behind an account. A voter on channel "api" is a
// token; its person is the one the configuration names. One on [WebChannel] is the person
// of that name, as long as the configuration has them.
func (d *Directory) Identify(v approval.Voter) approval.Voter {
	switch v.Channel {
	case "api":
		v.Person = d.tokens[v.UserID]
	case approval.WebChannel:
		v.Person = d.People[v.UserID].Name
	default:
		v.Person = d.ByAccount[approval.Requester{Channel: v.Channel, UserID: v.UserID}]
	}
	return v
}

// MayDecide reports whether this voter is an approver on that channel, now.
// Deny by default: an empty list admits no voter.
func (d *Directory) MayDecide(v approval.Voter) bool {
	if v.Channel == "api" {
		person, ok := d.tokens[v.UserID]
		return ok && person != "" && person == v.Person
	}
	if v.Channel == approval.WebChannel {
		return v.UserID == v.Person && d.decidesOnWeb(v.Person)
	}
	if !d.Live[v.Channel] {
		return false
	}
	if slices.Contains(d.Users[v.Channel], v.UserID) {
		return true
	}
	return slices.ContainsFunc(v.Roles, func(role string) bool { return slices.Contains(d.Roles[v.Channel], role) })
}

// WithHolders is the Directory that knows who has a passkey: these people.
func (d *Directory) WithHolders(holders map[string]bool) *Directory {
	view := *d
	view.holders = holders
	return &view
}

// maySign reports whether the voter is a person with a passkey, as far as is known.
func (d *Directory) maySign(v approval.Voter) bool {
	return v.Person != "" && (d.holders == nil || d.holders[v.Person])
}

// Known reports whether a person of that name is configured.
func (d *Directory) Known(person string) bool { _, ok := d.People[person]; return ok }

// Person gives the person of that name, if one is configured.
func (d *Directory) Person(name string) (Person, bool) {
	p, ok := d.People[name]
	return p, ok
}

// WithEmail gives the name of the person of that address, in any case of its ASCII letters:
// beyond them Unicode takes different letters for one.
func (d *Directory) WithEmail(address string) (name string, ok bool) {
	for _, p := range d.People {
		if p.Email != "" && lowerASCII(p.Email) == lowerASCII(address) {
			return p.Name, true
		}
	}
	return "", false
}

// lowerASCII is the text with its ASCII letters in lower case, all others
// unchanged.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// DirectChats gives a person's own chats with the enabled bots, in a stable order.
// Groups are never among them.
func (d *Directory) DirectChats(person string) (out []approval.Target) {
	p := d.People[person]
	for _, channel := range slices.Sorted(maps.Keys(p.Accounts)) {
		if d.Live[channel] {
			out = append(out, approval.DirectChat(channel, p.Accounts[channel]))
		}
	}
	return out
}

// Eligible counts the different people who could vote, without those that barred
// reports (nil bars no one): mapped people, and accounts without a person. The
// named accounts ("telegram:1") count beside the approvers. open reports that a
// role is allowed on some channel, so that there may be more voters than can be
// counted.
func (d *Directory) Eligible(barred func(approval.Voter) bool, named ...string) (mapped, unmapped int, open bool) {
	e := d.All
	if len(named) > 0 || barred != nil {
		e = d.Count(barred, named)
	}
	return e.mapped, e.unmapped, e.open
}

func (d *Directory) Count(barred func(approval.Voter) bool, named []string) (e eligible) {
	for name := range d.distinct(barred, append(d.accounts(), voters(named)...)) {
		if strings.HasPrefix(name, "person:") {
			e.mapped++
		} else {
			e.unmapped++
		}
	}
	for channel, ids := range d.Roles {
		e.open = e.open || d.Live[channel] && len(ids) > 0
	}
	return e
}

// distinct gives the names of the different people among the voters, without those
// that barred reports.
func (d *Directory) distinct(barred func(approval.Voter) bool, all []approval.Voter) map[string]bool {
	names := map[string]bool{}
	for _, v := range all {
		if v = d.Identify(v); barred == nil || !barred(v) {
			names[v.Name()] = true
		}
	}
	return names
}

// accounts lists the accounts that may decide in their own right, without holders of
// a chat's role.
func (d *Directory) accounts() (out []approval.Voter) {
	for channel, ids := range d.Users {
		for _, id := range ids {
			out = append(out, approval.Voter{Channel: channel, UserID: id})
		}
	}
	for token := range d.tokens {
		out = append(out, approval.Voter{Channel: "api", UserID: token})
	}
	return out
}

// voters are accounts written as "telegram:1".
func voters(accounts []string) (out []approval.Voter) {
	for _, a := range accounts {
		channel, id, _ := strings.Cut(a, ":")
		out = append(out, approval.Voter{Channel: channel, UserID: id})
	}
	return out
}

// Meets reports whether the vote's giver has the role that the need asks for. For a
// role of duty, the person who was on duty at the time of the vote has it. If the vote
// is counted in another person's place (instead), that person's own roles are looked
// at.
func (d *Directory) Meets(n approval.Need, v approval.Vote, instead string) bool {
	if instead != "" {
		return d.hasRole(n, instead)
	}
	who := d.People[d.Identify(*v.Voter).Person]
	if roster, duty := DutyRole(n.Role); duty && !slices.Contains(v.OnDuty, roster) {
		return false
	}
	return d.mayHave(n.Role, who)
}

// Having counts the people with a role who could vote, without those that barred names
// (nil: no one). Of a role that being on duty gives, all who may be on duty count.
func (d *Directory) Having(role string, barred func(approval.Voter) bool) int {
	all := slices.DeleteFunc(d.accounts(), func(v approval.Voter) bool { return !d.mayHave(role, d.People[d.Identify(v).Person]) })
	names := d.distinct(barred, all)
	for _, p := range d.People {
		if d.mayHave(role, p) && d.byRole(p) { // they may hold an allowed chat role
			v := approval.Voter{Person: p.Name}
			if barred == nil || !barred(v) {
				names[v.Name()] = true
			}
		}
	}
	return len(names)
}

// Verifies reports whether the voter is one of the verifier's people who are asked
// about calls of that agent: with a listed account, or as an approver who is the person
// behind one.
func (d *Directory) Verifies(n *approval.VerifierNeed, agentID string, v approval.Voter) bool {
	if n == nil {
		return false
	}
	return slices.ContainsFunc(d.listed(n, agentID), func(of approval.Voter) bool {
		if of.Channel == v.Channel && of.UserID == v.UserID {
			return true
		}
		signedIn := v.Channel == approval.WebChannel // as that very person
		return v.Person != "" && v.Person == d.Identify(of).Person && (signedIn || d.MayDecide(v))
	})
}

// listed are the accounts that the need names and the verifier still lists. A drill's
// are those of all agents.
func (d *Directory) listed(n *approval.VerifierNeed, agentID string) []approval.Voter {
	if n.Optional {
		return voters(n.Accounts)
	}
	today, own := d.Verifiers[agentID]
	if !own {
		today = d.Verifiers[""]
	}
	gone := func(account string) bool { return !slices.Contains(today, account) }
	return voters(slices.DeleteFunc(slices.Clone(n.Accounts), gone))
}

// byRole reports whether a person might be allowed by a role of the chat, which
// is seen at the tap only.
func (d *Directory) byRole(p Person) bool {
	for channel := range p.Accounts {
		if d.Live[channel] && len(d.Roles[channel]) > 0 {
			return true
		}
	}
	return false
}

// AnyToken reports whether any person could decide by API or terminal.
func (d *Directory) AnyToken() bool { return len(d.tokens) > 0 }

// Everybody are the configured people, by name.
func (d *Directory) Everybody() []Person {
	return slices.SortedFunc(maps.Values(d.People), func(a, b Person) int { return strings.Compare(a.Name, b.Name) })
}
