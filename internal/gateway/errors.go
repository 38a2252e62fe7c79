package gateway

import (
	"errors"
	"log/slog"
	"sync"

	"approvalbot/internal/approval"
)

// refusal is the error of an answer. Code is one of the few that existing
// clients know; details.reason is theirs too, details.code is the stable code of
// the HTTP API.
type refusal struct {
	Code         string   `json:"code"`
	Message      string   `json:"message"`
	Details      *details `json:"details,omitempty"`
	Retryable    bool     `json:"retryable,omitempty"`
	RetryAfterMs int64    `json:"retryAfterMs,omitempty"`
}

type details struct {
	Reason string                `json:"reason,omitempty"`
	Code   string                `json:"code,omitempty"`
	URL    string                `json:"url,omitempty"` // with STEP_UP_REQUIRED
	Fields []approval.FieldError `json:"fields,omitempty"`

	ExpectedProtocol int `json:"expectedProtocol,omitempty"`
}

// The codes of existing clients.
const (
	invalidRequest = "INVALID_REQUEST"
	forbidden      = "FORBIDDEN"
	unavailable    = "UNAVAILABLE"
)

// known is the one table from refusals to the codes that existing clients know.
// Any other refusal is unavailable.
var known = sync.OnceValue(func() map[approval.Code]struct{ code, reason, message string } {
	return map[approval.Code]struct{ code, reason, message string }{
		approval.CodeMalformed:        {invalidRequest, "MALFORMED", ""},
		approval.CodeInvalidRequest:   {invalidRequest, "", ""},
		approval.CodeUnauthorized:     {invalidRequest, "UNAUTHORIZED", ""},
		approval.CodeForbidden:        {forbidden, "MISSING_SCOPE", ""},
		approval.CodeNotAnApprover:    {forbidden, "NOT_AN_APPROVER", ""},
		approval.CodeSelfApproval:     {forbidden, "SELF_APPROVAL", ""},
		approval.CodeStepUpRequired:   {forbidden, "STEP_UP_REQUIRED", ""},
		approval.CodeOriginNotAllowed: {forbidden, "ORIGIN_NOT_ALLOWED", ""},
		approval.CodeNotFound:         {invalidRequest, "APPROVAL_NOT_FOUND", "approval expired or not found"},
		approval.CodeAmbiguousID: {invalidRequest, "APPROVAL_ID_AMBIGUOUS",
			"ambiguous approval id prefix; use the full id or the code"},
		approval.CodeAlreadyResolved:     {invalidRequest, "APPROVAL_ALREADY_RESOLVED", "approval already resolved"},
		approval.CodeIDConflict:          {invalidRequest, "APPROVAL_ID_CONFLICT", ""},
		approval.CodeDecisionNotOffered:  {invalidRequest, "APPROVAL_DECISION_UNAVAILABLE", ""},
		approval.CodePayloadTooLarge:     {invalidRequest, "PAYLOAD_TOO_LARGE", ""},
		approval.CodeFingerprintMismatch: {invalidRequest, "FINGERPRINT_MISMATCH", ""},
		approval.CodeRateLimited:         {unavailable, "RATE_LIMITED", ""},
		approval.CodeApprovalsDisabled:   {unavailable, "APPROVALS_DISABLED", ""},
		approval.CodeUnavailable:         {unavailable, "", ""},
	}
})

// retryMs is how long a client that was too quick should wait.
const retryMs = 1000

var errUnavailable = approval.Refuse(approval.CodeUnavailable, "The approval desk cannot answer right now; try again in "+
	"a moment.")

// refused turns an error into the client's answer. An error that is not a
// refusal is a fault of the desk: logged with its cause, answered as
// unavailable. method and token name the request in the log.
func refused(err error, log *slog.Logger, method, token string) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	e, ok := errors.AsType[*approval.Error](err)
	if !ok || known()[e.Code].code == "" {
		log.Error("could not answer a gateway request; its client was told to try again",
			"method", method, "token", token, "reason", err)
		e = errUnavailable
	}
	k := known()[e.Code]
	out := &refusal{Code: k.code, Message: e.Message, Details: &details{Reason: k.reason, Code: string(e.Code),
		URL: e.URL, Fields: e.Fields}}
	if k.message != "" {
		out.Message = k.message
	}
	if e.Code == approval.CodeRateLimited || e.Code == approval.CodeUnavailable {
		out.Retryable, out.RetryAfterMs = true, retryMs
	}
	return out
}

// Error makes a refusal an error, so that methods can return one.
func (r *refusal) Error() string { return r.Message }
