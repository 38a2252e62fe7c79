package people

import (
	"slices"

	"approvalbot/internal/approval"
)

// decidesOnWeb reports whether the person may decide on the desk's pages: who has an
// account that may decide by itself, in a chat or as a token. What a chat's role gives is
// seen at a tap alone, so it does not count.
func (d *Directory) decidesOnWeb(person string) bool {
	return slices.ContainsFunc(d.AccountsOf(person), func(v approval.Voter) bool {
		v.Roles = nil
		return d.MayDecide(v)
	})
}
