// Package textcmd is the one grammar for the lines that people type to
// approvalbot and for the data of its buttons.
//
//	/approve CODE [reason]            allow once
//	/approve CODE session|always      a wider scope, as the last word
//	/approve CODE session: reason     or directly before a colon
//	/deny CODE [reason]
//	/retry CODE [reason]              one more run, while a retry round is open
//	/pending   /show CODE   /whoami   /pair PAIRINGCODE   /duty   /web   /help
//	/away WHEN [to PERSON]   /back
//
// Code and decision come in either order, every decision has aliases (allow,
// once, always, session, deny, reject, block, cancel, with or without
// "allow-"), and a reply to a card needs no code. All text after a colon is the
// reason, and no word in it counts as a decision.
//
// A line that could be read in two ways never gets the more permissive one.
// Beside the code a deny word wins over all other words; of several scopes the
// narrowest counts; and if a vote would be a guess, the result is [Unclear],
// which is not counted.
//
// The package is pure: whether a code exists, and who may decide, is decided by
// other packages. Its results contain a person's words, not yet escaped for
// display.
package textcmd

import (
	"approvalbot/internal/approval"
)

// MaxReason is how many characters (Unicode code points) of a reason are kept.
const MaxReason = 500

// Verb is the action that a command asks for.
type Verb string

// The verbs. The menu verbs are on buttons; if typed, they need the code of a
// card or the reply to one.
const (
	Approve Verb = "approve"
	Deny    Verb = "deny"
	Retry   Verb = "retry"
	Pending Verb = "pending"
	Show    Verb = "show"
	WhoAmI  Verb = "whoami"
	Pair    Verb = "pair"
	Duty    Verb = "duty"
	Away    Verb = "away"
	Return  Verb = "return" // typed as /back, alone: the menu's Back has a code
	Web     Verb = "web"
	Help    Verb = "help"

	More       Verb = "more"       // menu: open the wider scopes
	Back       Verb = "back"       // menu: close them
	Details    Verb = "details"    // menu: the whole of what would run
	DenyReason Verb = "denyreason" // menu: deny now, ask for the reason afterwards
	Again      Verb = "again"      // on a denied card: end the cool-down
	TakeBack   Verb = "takeback"   // on an allowed card: it can run nothing any more

	// DenyAll denies what a version of a digest lists. It is on buttons only.
	DenyAll Verb = "denyall"
	// Confirm is the second button to an R4 call's yes. It is on buttons only.
	Confirm Verb = "confirm"
	// Answer allows a question once, with one of its options as the note. It is on buttons only.
	Answer Verb = "answer"

	// Unclear is a line for the bot that has two meanings: approve with a
	// trailing "deny", or several commands in one message. It is no vote; the
	// answer asks the person to repeat it.
	Unclear Verb = "unclear"
)

// Command is a person's request on any platform, typed or tapped. Commands are
// comparable; [Parse] of [Command.String] gives the same Command back.
type Command struct {
	Verb Verb
	// Code names the approval: six Crockford characters in upper case, see
	// [ValidCode]. It is empty for verbs without one, and if the message names
	// none and is no reply to a card: then a vote is not counted, not even if a
	// single approval is pending. From a slash command it may be any other word
	// (at most 32 characters, untrusted), so that the answer can call it
	// unknown. For Pair it is a pairing code (signin.PairingCodeLength
	// characters of the same alphabet), "?" for a word that cannot be one, and
	// empty if the message has no word.
	Code string
	// Decision is one of the allows for Approve, approval.Deny for Deny and
	// DenyReason, approval.Retry for Retry, allow-once or approval.Retry for Confirm, and empty
	// for the others.
	Decision approval.Decision
	// Reason is the rest of the line, for Approve, Deny and Retry: one line, trimmed,
	// single spaces, at most MaxReason characters. For Away it is how long, and the
	// delegate.
	Reason string
	// Note is what a reply to a card says to the agent: one line of single spaces, of any length; see [Context.inReply].
	Note string
	// Version is the digest's, for DenyAll, whose Code is that of the approval that the
	// digest began with. For Answer it is the option's number.
	Version int64
	// Proof is Confirm's: see core.Chats.Confirmation.
	Proof string
}

// Context is what the grammar must know about a message.
type Context struct {
	BotName  string            // the bot's name, as in /approve@approval_bot; a command for another bot is ignored
	Mention  bool              // the adapter stripped a mention of the bot: the slash may be missing
	CardCode string            // code of the card this message replies to, or empty
	IsCode   func(string) bool // do people vote on the approval of this (valid, normalised) code now? nil: no
}

func (c Context) isCode(code string) bool { return c.IsCode != nil && c.IsCode(code) }

// card gives the replied-to card's code in its normal form, or "".
func (c Context) card() string {
	code, _ := NormalCode(c.CardCode)
	return code
}
