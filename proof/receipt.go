package proof

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/assertion"
)

// Receipt is what a desk signs of an approved call, when it is claimed and when
// its owner is called back: this exact call may run until then, because these people
// (or this policy) said so. It has no params, only their fingerprint.
type Receipt struct {
	Issuer string `json:"iss"` // the desk
	// the same in a call back, in the claim and in its repetition, another after a retry: an executor that
	// must run a call only once remembers it until Expires
	ID string `json:"jti"`
	// ClaimID is what the claim that this receipt came with was named by the caller; empty in a call back,
	// and if the claim had no name.
	ClaimID      string             `json:"claimId,omitempty"`
	Approval     string             `json:"approvalId"` // the approval's id, as its owner calls it
	Code         string             `json:"code"`       // as people call it
	Owner        string             `json:"sub"`        // the token that asked
	Fingerprint  string             `json:"fingerprint"`
	Tool         string             `json:"tool"`
	Decision     approval.Decision  `json:"decision"` // the approval's, also of a retry
	By           []string           `json:"by"`       // "person:alice", "telegram:111", "policy", "grant:<id>"
	Quorum       Quorum             `json:"quorum"`
	PolicyHash   string             `json:"policyHash"`
	RiskClass    approval.RiskClass `json:"riskClass"`
	ClaimUntilMs int64              `json:"claimUntilMs"`
	// StepUp: a person's yes counted only if their passkey signed it; Signed has those
	// signatures, each over this very call (see [Receipt.Yes]).
	StepUp bool                  `json:"stepUp,omitempty"`
	Signed []assertion.Signature `json:"signed,omitempty"`
	// Retries are those that let it run once more, in order. By, Quorum and Signed are the
	// last one's then, and what passkeys signed is "retry".
	Retries []Retry `json:"retries,omitempty"`
	// Confined: the call may run confined so, and not otherwise.
	Confined *approval.Confined `json:"confined,omitempty"`
	// NotesHash is the SHA-256 of the claim's notes, see [NotesHash]; empty if it has no notes.
	NotesHash string `json:"notesHash,omitempty"`
	IssuedAt  int64  `json:"iat"` // Unix seconds, like the two below
	NotBefore int64  `json:"nbf"`
	Expires   int64  `json:"exp"` // ClaimUntilMs in whole seconds
}

// Retry is one more run that people let a call have.
type Retry struct {
	By   []string `json:"by"`
	AtMs int64    `json:"atMs"`
}

// NotesHash is the SHA-256 of people's notes to the agent, the list [{"by": …, "text": …}] in the order of the
// claim's notes as RFC 8785 JSON, in lower-case hex; empty without notes.
func NotesHash(notes []approval.Note) string { return approval.NotesHash(notes) }

// Quorum is how many approvals were needed and how many there were. Both are 0 if no
// approver was needed: a policy or a grant allowed the call. A yes for the verifier
// is not counted here, and an absent person and their delegate count as one.
type Quorum struct {
	Needed int `json:"needed"`
	Got    int `json:"got"`
}

// ReceiptFor gives the receipt of an approved call, unsigned. It depends only on the
// decision and the claim's id, so a claim that is repeated because its answer was
// lost gives the same receipt; a retry gives another. Before the claim it names no
// claim, as in a call back. It is an error if the approval does not allow or was
// taken back.
func ReceiptFor(a approval.Approval, issuer string) (Receipt, error) {
	approved := a.Status == approval.Approved && a.Decision.Allows()
	stands := a.ResolvedAtMs != 0 && a.RevokedAtMs == 0 && !a.Overtaken()
	if !approved || !stands {
		return Receipt{}, fmt.Errorf("approval %s has no receipt: only an approval that still counts has one", a.Code)
	}
	r := Receipt{
		Issuer: issuer, ID: fmt.Sprintf("%s.%d", a.Key, a.Retries), ClaimID: a.ClaimID, Approval: a.ID, Code: a.Code, Owner: a.Owner,
		Fingerprint: a.Fingerprint, Tool: a.ToolName, Decision: a.Decision, By: slices.Clone(a.DecidedBy),
		PolicyHash: a.PolicyHash, RiskClass: a.Assessment.RiskClass, ClaimUntilMs: a.ClaimUntilMs,
		IssuedAt: a.ResolvedAtMs / 1000, NotBefore: a.ResolvedAtMs / 1000, Expires: a.ClaimUntilMs / 1000,
	}
	r.NotesHash, r.Confined = NotesHash(a.Notes()), a.Confined
	for _, retry := range a.RetriedBy {
		r.Retries = append(r.Retries, Retry{slices.Clone(retry.By), retry.AtMs})
		r.IssuedAt, r.NotBefore = retry.AtMs/1000, retry.AtMs/1000
	}
	var others []string // the verifier's, and who fills a seat with another
	for _, v := range a.Votes {
		if s := v.Signature; s != nil && v.Verdict == approval.Approve && s.PolicyHash == a.PolicyHash {
			r.Signed = append(r.Signed, *s)
		}
		if v.Voter != nil && (v.VerifierOnly || v.With != "") {
			others = append(others, v.Voter.Name())
		}
	}
	approvers := slices.DeleteFunc(slices.Clone(r.By), func(who string) bool {
		return who == "policy" || strings.HasPrefix(who, "grant:") || slices.Contains(others, who)
	})
	r.StepUp = a.Rule.StepUp && slices.ContainsFunc(r.By, isAccount) // policy and grants do not sign
	if len(approvers) > 0 && a.Rule.AsksApprovers() {
		r.Quorum = Quorum{max(1, a.Rule.MinApprovals), len(approvers)}
	}
	return r, r.check()
}

// check returns an error if a required member is missing.
func (r Receipt) check() error {
	switch {
	case slices.Contains([]string{r.Issuer, r.ID, r.Approval, r.Owner, r.Tool, r.PolicyHash}, ""):
		return errors.New("a receipt needs issuer, id, approval, owner, tool and policy hash")
	case !isHash(r.Fingerprint):
		return errors.New("a receipt's fingerprint must be a SHA-256 in lower-case hex")
	case r.NotesHash != "" && !isHash(r.NotesHash):
		return errors.New("a receipt's hash of notes must be a SHA-256 in lower-case hex")
	case !r.Decision.Allows():
		return errors.New("a receipt's decision must be one that allows")
	case len(r.By) == 0 || r.Quorum.Got < r.Quorum.Needed:
		return errors.New("a receipt must name who allowed the call, and its quorum must be met")
	case !r.ofLastRetry():
		return errors.New("a receipt of a retry must name the people who allowed the retry, and have the time of " +
			"that yes")
	case r.Expires != r.ClaimUntilMs/1000 || r.Expires <= 0 || r.NotBefore < r.IssuedAt:
		return errors.New("a receipt's times must fit each other: exp is claimUntilMs in seconds, nbf not before iat")
	}
	return r.checkSigned()
}

// ofLastRetry reports whether it is by those who voted for the last retry, if there is one.
func (r Receipt) ofLastRetry() bool {
	if len(r.Retries) == 0 {
		return true
	}
	last := r.Retries[len(r.Retries)-1]
	return slices.Equal(last.By, r.By) && r.IssuedAt == last.AtMs/1000
}

// Yes is what that person's passkey signed of the call, in the ceremony of that nonce.
func (r Receipt) Yes(s assertion.Signature) assertion.Yes {
	decision := r.Decision
	if len(r.Retries) > 0 {
		decision = approval.Retry
	}
	return assertion.Yes{ApprovalID: r.Approval, Decision: string(decision), Fingerprint: r.Fingerprint, Nonce: s.Nonce,
		Person: s.Person, PolicyHash: r.PolicyHash}
}

// checkSigned verifies the signatures of passkeys. If signatures were required, it also
// checks that every person whose yes counted has one.
func (r Receipt) checkSigned() error {
	names := map[string]bool{}
	for _, s := range r.Signed {
		if err := s.Signed(r.Yes(s)); err != nil {
			return fmt.Errorf("a passkey's signature in it is not valid: %w", err)
		}
		names["person:"+s.Person] = true
	}
	if len(names) != len(r.Signed) || r.StepUp && len(names) == 0 {
		return errors.New("a receipt that needs passkeys must have exactly one signature of each person who said yes")
	}
	for _, who := range r.By {
		if r.StepUp && isAccount(who) && !names[who] {
			return errors.New("a receipt that needs passkeys must have exactly one signature of each person who said yes")
		}
	}
	return nil
}

// isAccount reports whether the name of what allowed a call is an account's, not policy's or a grant's.
func isAccount(who string) bool {
	return strings.Contains(who, ":") && !strings.HasPrefix(who, "grant:")
}

// receiptType is the JOSE typ of a receipt: a token of another kind that the same
// key signed is not one.
const receiptType = "approvalbot-receipt+jwt"

// joseHeader is the one header that a receipt has.
type joseHeader struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
	Typ string `json:"typ"`
}

// Sign gives the receipt as a compact JWS (EdDSA, typ approvalbot-receipt+jwt).
// The same receipt gives the same text. The key's purpose must be [Receipts],
// and a receipt that [Verify] would never accept is not signed.
func (s Signer) Sign(r Receipt) (string, error) {
	if err := s.may(Receipts); err != nil {
		return "", err
	}
	if err := r.check(); err != nil {
		return "", err
	}
	return s.jws(receiptType, r)
}

// jws signs claims as a compact JWS of that typ.
func (s Signer) jws(typ string, claims any) (string, error) {
	head, err := encode(joseHeader{"EdDSA", s.KeyID(), typ})
	if err != nil {
		return "", err
	}
	body, err := encode(claims)
	if err != nil {
		return "", err
	}
	text := head + "." + body
	return text + "." + base64.RawURLEncoding.EncodeToString(s.sign([]byte(text))), nil
}

func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(b), err
}

// isHash reports whether s is a SHA-256 in lower-case hex.
func isHash(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
