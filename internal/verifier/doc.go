// Package verifier asks outside authorities about a call, over HTTP.
//
// A [Verifier] is asked last, if no other rule had an objection: a webhook of
// the operator's says allow or deny, and people of a chat of its own
// may have to say yes, in addition to all approvers. Both must agree; the
// webhook is asked first, and its deny wins. A [Classifier] is asked in the
// middle, if static rules are unsure: a model gives its opinion of the call's
// risk.
//
// Answers are untrusted. One counts only if it has exactly the form that was
// asked for: any other, a redirect included, is treated as no answer. Without an
// answer of the webhook failMode decides; without one of the classifier the
// static judgement stays. Requests are redacted: no file contents, no literal
// secrets.
//
// Neither type starts a goroutine, and the only state is a small cache, so a
// new configuration is a new value; Close closes idle connections.
package verifier
