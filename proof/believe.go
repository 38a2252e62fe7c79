package proof

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"approvalbot/internal/approval"
)

// Asked is the call that a program has asked for, and how it named its claim.
type Asked struct {
	ToolName string
	Params   json.RawMessage
	Bind     *approval.Bind     // nil if the call was asked without one
	ClaimID  string             // random, of this call alone
	Notes    []approval.Note    // that came with the claim: the receipt must be of these
	Confined *approval.Confined // that came with the claim: the receipt must be of the same
	Owner    string             // the name of the program's own token; empty if any token's receipt counts
}

// Believe checks that an allow is the desk's own: receipt is signed by one of the
// pinned keys, for exactly the asked call, the claim of that name and, if it is known, the
// token of that name: another one may be allowed what this one is not. It counts at now, with a minute for clocks that differ. An empty ClaimID is never believed: any
// earlier receipt of the same call would do. The error is one sentence without any
// value of the receipt.
func Believe(receipt string, pins []ed25519.PublicKey, want Asked, now time.Time) error {
	fail := func(why string) error { return errors.New("the desk's allow does not count: " + why) }
	r, err := open(receipt, KeysOf(pins...))
	if err == nil {
		err = r.check()
	}
	switch {
	case receipt == "":
		return fail("it came without a receipt")
	case errors.Is(err, errUnknownKey):
		return fail("its receipt is not signed with a pinned key")
	case err != nil:
		return fail("its receipt is not valid: " + err.Error())
	case now.Add(-clockSkew).Unix() >= r.Expires:
		return fail("its receipt expired at " + time.Unix(r.Expires, 0).UTC().Format(time.RFC3339))
	case now.Add(clockSkew).Unix() < r.NotBefore:
		return fail("its receipt is not valid yet; is this machine's clock right?")
	case want.ClaimID == "":
		return fail("the claim has no claimId, so the receipt could be one of an earlier call")
	case r.ClaimID != want.ClaimID:
		return fail("its receipt is for another claim")
	case r.NotesHash != NotesHash(want.Notes):
		return fail("its receipt is for other notes than those in the desk's answer")
	case !reflect.DeepEqual(r.Confined, want.Confined):
		return fail("its receipt and the desk's answer differ on how the call is confined")
	case want.Owner != "" && r.Owner != want.Owner:
		return fail("its receipt is for a request of another token")
	}
	print, err := Fingerprint(want.ToolName, want.Params, want.Bind)
	if err != nil {
		return fmt.Errorf("the desk's allow cannot be checked: %w", err)
	}
	if r.Fingerprint != print {
		return fail("its receipt is for another call")
	}
	return nil
}
