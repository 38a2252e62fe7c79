package discord

import (
	"errors"
	"net/http"
	"time"

	"approvalbot/core"
)

// operation is what a call does, as far as its errors mean different things.
type operation int

const (
	anyCall operation = iota
	posting
	editing
	attaching
)

// effect is what an error means for whoever made the call.
type effect int

const (
	passing     effect = iota // may work later
	gone                      // this chat takes nothing more
	refused                   // this chat takes no message that says this
	noFiles                   // this chat takes no files
	messageGone               // the message is not there to be edited
)

// meaning is a row of the table.
type meaning struct {
	op     operation // anyCall: every one
	status int       // 0: any
	code   int       // JSON error code; 0: any
	is     effect
	text   string // for people: what is wrong and what to do
}

// JSON error codes that the code itself asks for.
const (
	unknownWebhook     = 10015 // also of an interaction that has no first answer yet
	unknownInteraction = 10062
	openingTooFast     = 40003
	tooManyOldEdits    = 30046 // as HTTP 429, of messages older than an hour; the limit is not told
	archivedThread     = 50083
)

const (
	sayBanned = "Discord does not accept the bot token. Get a new one in the developer portal (Bot, Reset Token) and restart the desk."
	sayWait   = "Discord asks to wait before the next message to this chat."
)

// meanings says what Discord's refusals mean; the first row that fits counts
// (Topics, Opcodes and Status Codes, JSON Error Codes).
var meanings = []meaning{
	{editing, 0, 10008, messageGone, "The message was deleted."},
	{editing, 0, 50005, messageGone, "The message is another bot's and cannot be edited."},

	{attaching, 0, 40005, noFiles, "Discord finds the file too large."},
	{attaching, 0, 50013, noFiles, "The bot may not send files to this channel; give it Attach Files."},
	{attaching, 413, 0, noFiles, "Discord finds the file too large."},
	{attaching, 0, 50035, noFiles, "Discord refuses this file."},
	{attaching, 0, 200000, noFiles, "The server's AutoMod blocks this file."},

	{anyCall, 0, 10003, gone, "Discord knows no such channel; check its id, and add the bot to its server."},
	{anyCall, 0, 10013, gone, "Discord knows no such user; check the id."},
	{anyCall, 0, 50001, gone, "The bot cannot see this channel; give it View Channel there."},
	{anyCall, 0, 50013, gone, "The bot may not write in this channel; give it Send Messages, and Send Messages in Threads for a thread."},
	{anyCall, 0, 50007, gone, "Discord does not let the bot write to this person; they must allow direct messages from a server that they share with it."},
	{anyCall, 0, 50278, gone, "This person shares no server with the bot; add both to one."},
	{anyCall, 0, 50083, gone, "This thread is archived; reopen it."},
	{anyCall, 0, 160005, gone, "This thread is locked; unlock it or name another target."},
	{anyCall, 0, 40067, gone, "This forum wants a tag on each post; turn that off, or name a thread in it."},
	{anyCall, 0, 50008, gone, "Discord takes no messages in this kind of channel; name a text channel, thread or forum."},
	{anyCall, 0, 50024, gone, "Discord takes no messages in this kind of channel; name a text channel, thread or forum."},
	{anyCall, 0, 200000, refused, "The server's AutoMod blocks the message; exempt the bot from it."},
	{anyCall, 0, 240000, refused, "Discord blocks the message for an address in it."},

	{anyCall, http.StatusUnauthorized, 0, passing, sayBanned},
	{attaching, http.StatusBadRequest, 0, noFiles, "Discord refuses this file."},
	{anyCall, http.StatusBadRequest, 0, refused, "Discord refuses this message."},
	{anyCall, http.StatusRequestEntityTooLarge, 0, refused, "Discord finds the message too large."},
	{anyCall, http.StatusForbidden, 0, gone, "Discord does not let the bot write to this channel."},
	{editing, http.StatusNotFound, 0, messageGone, "The message was deleted."},
	{anyCall, http.StatusNotFound, 0, gone, "Discord knows no such channel."},
}

// means finds what an answer means for an operation.
func (e *apiError) means(op operation) meaning {
	for _, m := range meanings {
		ofOperation := m.op == anyCall || m.op == op
		ofStatus, ofCode := m.status == 0 || m.status == e.Status, m.code == 0 || m.code == e.Code
		if ofOperation && ofStatus && ofCode {
			return m
		}
	}
	return meaning{is: passing}
}

// judged says an error in the dispatcher's words: a *core.DeliveryError when
// Discord said what to do, else a passing error.
func judged(op operation, err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return err
	}
	if wait := retryAfter(err); wait > 0 {
		return &core.DeliveryError{Message: sayWait, RetryAfter: wait}
	}
	m := e.means(op)
	if m.is == passing {
		return e
	}
	return &core.DeliveryError{
		Message: m.text + " (" + e.Error() + ")",
		Gone:    m.is == gone, Refused: m.is == refused, NoFiles: m.is == noFiles, MessageGone: m.is == messageGone,
	}
}

// retryAfter gives what Discord asks to wait, or 0.
func retryAfter(err error) time.Duration {
	var e *apiError
	switch {
	case !errors.As(err, &e):
		return 0
	case e.Code == openingTooFast:
		return max(e.RetryAfter, time.Minute)
	case e.Status == http.StatusTooManyRequests:
		return e.RetryAfter
	}
	return 0
}

// codeOf gives the JSON error code of an error, or 0.
func codeOf(err error) int {
	var e *apiError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// rejected reports whether Discord does not know the token.
func rejected(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}
