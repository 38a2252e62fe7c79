package core

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// ViewerLife is how long a viewer's token counts.
const ViewerLife = 10 * time.Minute

// maxWatched is how many of a session's pending approvals a viewer sees.
const maxWatched = 50

// viewerPurpose sets the key of viewers' tokens, and the tokens themselves, apart from all else.
const viewerPurpose = "approvalbot viewer tokens"

// Viewer may see which approvals of one owner's session are pending, for a while, and may
// not do anything else. It is what the token of an embedded <approval-dialog> says.
type Viewer struct {
	Owner      string `json:"owner"`
	SessionKey string `json:"sessionKey"`
	EndsMs     int64  `json:"endsMs"`
}

// ViewerKey makes and reads the tokens of viewers. The tokens are sealed, and not stored:
// every instance with the store's key reads those of every other, also after a restart. The
// zero ViewerKey cannot read any.
type ViewerKey struct{ box cipher.AEAD }

// NewViewerKey derives the key from the store's seed.
func NewViewerKey(seed [32]byte) (ViewerKey, error) {
	key, err := hkdf.Key(sha256.New, seed[:], nil, viewerPurpose, len(seed))
	if err != nil {
		return ViewerKey{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return ViewerKey{}, err
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	return ViewerKey{box}, err
}

// Token gives the viewer's token, or CodeUnavailable from the zero key.
func (k ViewerKey) Token(v Viewer) (string, error) {
	if k.box == nil {
		return "", approval.Refuse(approval.CodeUnavailable, "This desk gives out no viewer tokens.")
	}
	return base64.RawURLEncoding.EncodeToString(k.box.Seal(nil, nil, approval.StoredJSON(v), []byte(viewerPurpose))), nil
}

// Read gives the viewer that a token was made for; false for a token that this key did
// not make, or whose time is over.
func (k ViewerKey) Read(token string, now int64) (v Viewer, ok bool) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || k.box == nil {
		return Viewer{}, false
	}
	text, err := k.box.Open(nil, nil, sealed, []byte(viewerPurpose))
	if err != nil || json.Unmarshal(text, &v) != nil || v.EndsMs <= now {
		return Viewer{}, false
	}
	return v, true
}

// NewViewer gives a viewer of one of the caller's own sessions, who may look from now on
// for [ViewerLife].
func NewViewer(who Caller, sessionKey string, now int64) (Viewer, error) {
	switch {
	case !who.MayRequest:
		return Viewer{}, approval.Refuse(approval.CodeForbidden,
			"This token may not get a viewer token: it needs the scope approvals.request.")
	case sessionKey == "":
		return Viewer{}, approval.Invalid(approval.FieldError{Field: "sessionKey", Problem: "must be the sessionKey " +
			"of one of your own sessions"})
	case len(sessionKey) > approval.MaxName:
		return Viewer{}, approval.Invalid(approval.FieldError{Field: "sessionKey", Problem: "is too long"})
	}
	return Viewer{Owner: who.Token, SessionKey: sessionKey, EndsMs: now + ViewerLife.Milliseconds()}, nil
}

// Watched gives the pending approvals that a viewer may know of: the riskiest first, then
// those that end soonest.
func (p Pages) Watched(ctx context.Context, v Viewer) ([]approval.Approval, error) {
	page, err := p.gate.store.List(ctx, Filter{
		Owner: v.Owner, SessionKey: v.SessionKey, Status: approval.Pending, Limit: maxWatched,
	})
	slices.SortStableFunc(page.Items, func(a, b approval.Approval) int {
		return cmp.Or(cmp.Compare(b.Assessment.RiskClass, a.Assessment.RiskClass), cmp.Compare(a.ExpiresAtMs, b.ExpiresAtMs))
	})
	return page.Items, err
}

// ConcernsPerson reports whether a person who is signed in to the desk's pages may see the
// approval, because they could decide it by an account or token of theirs, or asked for it.
// Roles of a chat do not count here.
func ConcernsPerson(a approval.Approval, name string, d *people.Directory) bool {
	if !d.Known(name) {
		return false
	}
	if d.IsAsker(approval.Voter{Person: name}, a.Askers) {
		return true
	}
	return slices.ContainsFunc(d.AccountsOf(name), func(v approval.Voter) bool {
		v.Roles = nil
		return people.MayBeDecidedBy(a, v, d)
	})
}
