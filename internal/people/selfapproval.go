package people

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
)

// MayNotDecide reports whether the voter may not decide because they asked: under any
// account, as the requester, as the owner of the asking token or of the private chat,
// or with an identical call that was joined. Votes, quorums, grants and retries all
// use this one check. The voter must be as [Directory.Identify] returns it.
func MayNotDecide(a approval.Approval, v approval.Voter, d *Directory) bool {
	return !a.Solo && d.IsAsker(v, a.Askers)
}

// GivenByAsker reports whether a yes serves a person that it came from: by gave it, and
// lent are those in whose place it may count, named as in DecidedBy. If people may approve
// their own requests, this does not matter for a yes that was given in no one else's
// place.
func GivenByAsker(a approval.Approval, by, lent []string, d *Directory) bool {
	a.Solo = a.Solo && len(lent) == 0
	behind := slices.Concat(by, lent)
	return slices.ContainsFunc(behind, func(name string) bool { return MayNotDecide(a, d.voterNamed(name), d) })
}

// AskedWith reports whether the voter's token asked. People may retry their own calls if
// they may decide them; a token without a person never may.
func AskedWith(a approval.Approval, v approval.Voter) bool {
	solo := a.Solo && v.Person != ""
	return v.Channel == "api" && v.UserID == a.Owner && !solo
}

// barred is MayNotDecide as a function; nil if no voter is barred.
func barred(a approval.Approval, d *Directory) func(approval.Voter) bool {
	if a.Solo || len(a.Askers) == 0 {
		return nil
	}
	return func(v approval.Voter) bool { return MayNotDecide(a, v, d) }
}

// AskedBy reports whether the voter is one of those who asked, under any account.
func AskedBy(a approval.Approval, v approval.Voter, d *Directory) bool {
	return d.IsAsker(d.Identify(v), a.Askers)
}

// IsAsker reports whether the voter is one of the askers: with the same account, or as
// the person that it belongs to now or belonged to when the call was asked.
func (d *Directory) IsAsker(v approval.Voter, askers []approval.Requester) bool {
	return slices.ContainsFunc(askers, func(r approval.Requester) bool {
		account := approval.Requester{Channel: r.Channel, UserID: r.UserID}
		same := account == approval.Requester{Channel: v.Channel, UserID: v.UserID} && r.UserID != ""
		person := v.Person == r.Person || v.Person == d.ByAccount[account]
		return same || v.Person != "" && person
	})
}

// voterNamed gives the voter of a name as DecidedBy has it ("person:alice", "telegram:1").
func (d *Directory) voterNamed(name string) approval.Voter {
	channel, id, _ := strings.Cut(name, ":")
	if channel == "person" {
		return approval.Voter{Person: id}
	}
	return d.Identify(approval.Voter{Channel: channel, UserID: id})
}
