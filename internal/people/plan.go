package people

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
)

// CouldDecide reports whether the account could decide the approval; a role of a chat,
// which is seen at the tap only, is taken for held.
func CouldDecide(a approval.Approval, r approval.Requester, people *Directory) bool {
	v := approval.Voter{Channel: r.Channel, UserID: r.UserID, Roles: people.Roles[r.Channel]}
	return Counts(a, people.Identify(v), people)
}

// PlacesOf are the direct messages in which a person could decide the approval, in the
// order in which they are tried. One of the verifier's people who is no approver is
// written to by the verifier's bot.
func PlacesOf(a approval.Approval, p Person, people *Directory) (out []approval.Target) {
	for i := range platform.Rows {
		channel := platform.Rows[i].Name
		v := approval.Voter{Channel: channel, UserID: p.Accounts[channel], Person: p.Name, Roles: people.Roles[channel]}
		if v.UserID == "" || !Counts(a, v, people) {
			continue
		}
		t := approval.DirectChat(channel, v.UserID)
		if channel == platform.Verifier && !people.MayDecide(v) && a.Rule.Verifier != nil && len(a.Rule.Verifier.Chats) > 0 {
			t.Channel = a.Rule.Verifier.Chats[0].Channel
		}
		out = append(out, t.Normal())
	}
	return out
}

// AccountsOn gives the accounts that people have on a channel.
func (d *Directory) AccountsOn(channel string, people []string) (ids []string) {
	for _, name := range people {
		if id := d.People[name].Accounts[channel]; id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func Names(people []Person) []string {
	out := make([]string, len(people))
	for i, p := range people {
		out[i] = p.Name
	}
	return out
}
