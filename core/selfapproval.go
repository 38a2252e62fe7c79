package core

import (
	"slices"
	"strings"
)

// askers gives everybody who stands behind a call, and so may not decide it: the
// asking token's person, the requester that is stated, and the person whose private
// chat it comes from. Where these differ, each of them. An account stands with the
// person that it belongs to now, so that the log shows who was kept from deciding.
func askers(who Caller, call Call, d *Directory) []Requester {
	var out []Requester
	add := func(r Requester) {
		if r.Person == "" {
			r.Person = d.byAccount[Requester{Channel: r.Channel, UserID: r.UserID}]
		}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if who.Person != "" {
		add(Requester{Person: who.Person})
	}
	if call.Requester != nil {
		add(*call.Requester)
	}
	if call.Origin != nil {
		if r, private := call.Origin.Normal().person(); private {
			add(r)
		}
	}
	return out
}

// person gives the account whose private chat with the bot the place is. The place
// is in normal form.
func (t Target) person() (r Requester, private bool) {
	switch {
	case t.Channel == "telegram" && decimal(t.To): // groups and channels have negative ids
		return Requester{Channel: t.Channel, UserID: t.To}, true
	case t.Channel == "discord" && strings.HasPrefix(t.To, "dm:"):
		return Requester{Channel: t.Channel, UserID: strings.TrimPrefix(t.To, "dm:")}, true
	}
	return Requester{}, false
}

// MayNotDecide reports whether the voter is kept from deciding because they asked:
// under any account, as the requester, as the one behind the asking token or the
// private chat, or with an identical call that was joined. Votes, quorums, grants and
// retries ask this and nothing else. It expects who [Directory.Identify] says.
func (a Approval) MayNotDecide(v Voter, d *Directory) bool { return !a.Solo && d.isAsker(v, a.Askers) }

// givenByAsker reports whether a yes serves one of those on whom it rests: who gave it,
// and in whose stead they may have, as DecidedBy has names. Where people may approve their
// own, that is nothing against a yes that was in nobody's stead.
func (a Approval) givenByAsker(by, lent []string, d *Directory) bool {
	a.Solo = a.Solo && len(lent) == 0
	behind := slices.Concat(by, lent)
	return slices.ContainsFunc(behind, func(name string) bool { return a.MayNotDecide(d.voterNamed(name), d) })
}

// askedWith reports whether the voter's token asked. People may retry their own calls if
// they may decide them; a token without a person never may.
func (a Approval) askedWith(v Voter) bool {
	solo := a.Solo && v.Person != ""
	return v.Channel == "api" && v.UserID == a.Owner && !solo
}

// underRules is the approval as these rules have it: askers may decide only where they
// might when it was asked, and may now.
func (a Approval) underRules(rules *Rules) Approval {
	a.Solo = a.Solo && rules.Solo
	return a
}

// barred is MayNotDecide as a function; nil: nobody is.
func (a Approval) barred(d *Directory) func(Voter) bool {
	if a.Solo || len(a.Askers) == 0 {
		return nil
	}
	return func(v Voter) bool { return a.MayNotDecide(v, d) }
}

// AskedBy reports whether the voter is one of those who asked, under any account.
func (a Approval) AskedBy(v Voter, d *Directory) bool { return d.isAsker(d.Identify(v), a.Askers) }

// isAsker reports whether the voter is one of the askers: with the same account, or as
// the person that it belongs to now or belonged to when the call was asked.
func (d *Directory) isAsker(v Voter, askers []Requester) bool {
	return slices.ContainsFunc(askers, func(r Requester) bool {
		account := Requester{Channel: r.Channel, UserID: r.UserID}
		same := account == Requester{Channel: v.Channel, UserID: v.UserID} && r.UserID != ""
		person := v.Person == r.Person || v.Person == d.byAccount[account]
		return same || v.Person != "" && person
	})
}

// voterNamed gives the voter of a name as DecidedBy has it ("person:alice", "telegram:1").
func (d *Directory) voterNamed(name string) Voter {
	channel, id, _ := strings.Cut(name, ":")
	if channel == "person" {
		return Voter{Person: id}
	}
	return d.Identify(Voter{Channel: channel, UserID: id})
}
