package core

import (
	"slices"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// askers gives everyone who is behind a call, and so may not decide it: the asking token's
// person, the requester that is stated, and the person whose private chat it comes from. If
// these differ, it gives each of them. An account comes with the person that it belongs to
// now, so that the log shows who was kept from deciding.
func askers(who Caller, call approval.Call, d *people.Directory) []approval.Requester {
	var out []approval.Requester
	add := func(r approval.Requester) {
		if r.Person == "" {
			r.Person = d.ByAccount[approval.Requester{Channel: r.Channel, UserID: r.UserID}]
		}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	if who.Person != "" {
		add(approval.Requester{Person: who.Person})
	}
	if call.Requester != nil {
		add(*call.Requester)
	}
	if call.Origin != nil {
		if r, private := call.Origin.Normal().Person(); private {
			add(r)
		}
	}
	return out
}

// underRules is the approval as these rules have it: askers may decide only if they might
// when it was asked, and still may.
func underRules(a approval.Approval, rules *Rules) approval.Approval {
	a.Solo = a.Solo && rules.Solo
	return a
}
