// Package verifier asks outside authorities about a call, over HTTP.
//
// A [Verifier] is asked last, after everything else had no objection: a webhook
// of the operator's says allow or deny, and people of a Telegram chat of its own
// may have to say yes beside everybody else. Both must agree; the webhook is
// asked first, and its deny wins. A [Classifier] is asked in the middle, where
// static rules are unsure: a model gives its opinion of the call's risk.
//
// What comes back is untrusted. An answer counts only if it is exactly what was
// asked for: anything else, a redirect included, is the same as no answer, which
// for the webhook is decided by failMode and for the classifier leaves the static
// judgement as it was. What goes out is redacted: no file contents, no literal
// secrets.
//
// Neither type starts a goroutine or keeps anything but a small cache, so a new
// configuration is a new value; Close lets go of idle connections.
package verifier
