// Package assertion checks what a passkey signed: that this person's key said this
// very yes to this very call. It is pure, and the one place for it: the desk asks it
// before a yes counts, and the holder of a receipt can ask it again without the desk.
//
// What is signed is WebAuthn's: the authenticator's data (for which site, that a person
// was present and was verified, how often the key has signed) and the SHA-256 of the
// client's data (the challenge, and the origin of the page that asked for it). The
// challenge is a [Yes]'s, so the signature is over exactly that.
package assertion
