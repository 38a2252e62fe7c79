package approval

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Code is the stable name of a refusal. The HTTP API sends it unchanged; chats turn it into
// a sentence.
type Code string

// The codes of the contract.
const (
	CodeMalformed           Code = "malformed"
	CodeUnauthorized        Code = "unauthorized"
	CodeForbidden           Code = "forbidden"
	CodeNotAnApprover       Code = "not_an_approver"
	CodeSelfApproval        Code = "self_approval"
	CodeStepUpRequired      Code = "step_up_required"
	CodeOriginNotAllowed    Code = "origin_not_allowed"
	CodeNotFound            Code = "not_found"
	CodeAlreadyResolved     Code = "already_resolved"
	CodeNotClaimable        Code = "not_claimable"
	CodeIDConflict          Code = "id_conflict"
	CodeAmbiguousID         Code = "ambiguous_id"
	CodeFingerprintMismatch Code = "fingerprint_mismatch"
	CodeAlreadyUsed         Code = "already_used"
	CodeDecisionNotOffered  Code = "decision_not_offered"
	CodeUnseenPayload       Code = "unseen_payload"
	CodeRetryDataGone       Code = "retry_data_gone"
	CodePayloadTooLarge     Code = "payload_too_large"
	CodeInvalidRequest      Code = "invalid_request"
	CodeRateLimited         Code = "rate_limited"
	CodeUnavailable         Code = "unavailable"
	CodeApprovalsDisabled   Code = "approvals_disabled"
)

// Why a claim was refused, in [Error.Why] beside CodeNotClaimable.
const (
	WhyPending = "pending"
	WhyDenied  = "denied"
	WhyLate    = "late"
	WhyRevoked = "revoked"
	WhyPolicy  = "policy"
)

// FieldError names one wrong field of a request and what is wrong with it. It
// never carries the value.
type FieldError struct {
	Field   string `json:"field"`   // dotted path, as in the request
	Problem string `json:"problem"` // what it must be
}

const maxFieldName = 64

// FieldName writes the name of a request's member so that it is safe to show.
func FieldName(s string) string {
	plain := s != "" && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }) < 0
	if !plain {
		s = strconv.QuoteToASCII(s)
	}
	if len(s) > maxFieldName {
		s = s[:maxFieldName] + "..."
	}
	return s
}

// Error is a refusal: one sentence that is safe to show to the caller, with no internal
// detail.
type Error struct {
	Code    Code
	Message string
	Why     string       // CodeNotClaimable only: one of the Why words
	Fields  []FieldError // CodeInvalidRequest only
	URL     string       // CodeStepUpRequired only: the page on which to sign the yes; empty: there is no such page
}

// Error gives the sentence.
func (e *Error) Error() string { return e.Message }

// Refuse makes an Error with a formatted sentence.
func Refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes the CodeInvalidRequest error that names every wrong field.
func Invalid(fields ...FieldError) *Error {
	problems := make([]string, len(fields))
	for i, f := range fields {
		problems[i] = f.Field + " " + f.Problem
	}
	return &Error{Code: CodeInvalidRequest, Message: strings.Join(problems, "; "), Fields: fields}
}

// CodeOf gives the code of an Error anywhere in err's chain, and "" for nil and
// for errors that are no refusals (those are faults of the desk: a boundary
// answers CodeUnavailable and logs them).
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func NotClaimable(why, message string) *Error {
	return &Error{Code: CodeNotClaimable, Why: why, Message: message}
}

func PolicyRefuses(reason string) *Error {
	return NotClaimable(WhyPolicy, "Policy now refuses this call: "+reason)
}

func NotFound() *Error {
	return Refuse(CodeNotFound, "There is no such approval.")
}
