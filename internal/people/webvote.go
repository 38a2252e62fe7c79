package people

import (
	"slices"

	"approvalbot/internal/approval"
)

// decidesOnWeb reports whether the person may decide on the desk's pages: they need an
// account that may decide in its own right, in a chat or as a token. A right from a
// chat's role is seen only at a tap, so it does not count.
func (d *Directory) decidesOnWeb(person string) bool {
	return slices.ContainsFunc(d.AccountsOf(person), func(v approval.Voter) bool {
		v.Roles = nil
		return d.MayDecide(v)
	})
}
