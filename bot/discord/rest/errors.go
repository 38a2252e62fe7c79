package rest

import (
	"errors"
	"net/http"
	"time"

	"approvalbot/core"
)

// Operation is the kind of a call, if its errors have a meaning of their own.
type Operation int

// The operations.
const (
	AnyCall Operation = iota
	Posting
	Editing
	Attaching
)

// effect is what an error means for the caller.
type effect int

const (
	passing     effect = iota // may work later
	gone                      // this chat accepts no more messages
	refused                   // this chat refuses this message
	noFiles                   // this chat refuses files
	messageGone               // the message does not exist any more
)

// meaning is a row of the table.
type meaning struct {
	op     Operation // anyCall: every one
	status int       // 0 for any
	code   int       // JSON error code; 0 for any
	is     effect
	text   string // for people: the cause and the remedy
}

// JSON error codes that are handled by themselves.
const (
	UnknownWebhook     = 10015 // even of an interaction that has no first answer yet
	UnknownInteraction = 10062
	openingTooFast     = 40003
	TooManyOldEdits    = 30046 // as HTTP 429, of messages older than an hour; the limit is not told
	ArchivedThread     = 50083
)

// BadToken tells people that the token is not accepted.
const BadToken = "Discord does not accept the bot token. " +
	"Get a new one in the developer portal (Bot, Reset Token) and restart the desk."

const askedToWait = "Discord asks to wait before the next message to this chat."

// meanings interprets Discord's refusals; the first row that fits counts
// (Topics, Opcodes and Status Codes, JSON Error Codes).
var meanings = []meaning{
	{Editing, 0, 10008, messageGone, "The message was deleted."},
	{Editing, 0, 50005, messageGone, "The message is another bot's and cannot be edited."},

	{Attaching, 0, 40005, noFiles, "Discord finds the file too large."},
	{Attaching, 0, 50013, noFiles, "The bot may not send files to this channel; give it Attach Files."},
	{Attaching, 413, 0, noFiles, "Discord finds the file too large."},
	{Attaching, 0, 50035, noFiles, "Discord refuses this file."},
	{Attaching, 0, 200000, noFiles, "The server's AutoMod blocks this file."},

	{AnyCall, 0, 10003, gone, "Discord knows no such channel; check its id, and add the bot to its server."},
	{AnyCall, 0, 10013, gone, "Discord knows no such user; check the id."},
	{AnyCall, 0, 50001, gone, "The bot cannot see this channel; give it View Channel there."},
	{AnyCall, 0, 50013, gone,
		"The bot may not write in this channel; give it Send Messages, and Send Messages in Threads for a thread."},
	{AnyCall, 0, 50007, gone, "Discord does not let the bot write to this person; " +
		"they must allow direct messages from a server that they share with it."},
	{AnyCall, 0, 50278, gone, "This person shares no server with the bot; add both to one."},
	{AnyCall, 0, 50083, gone, "This thread is archived; reopen it."},
	{AnyCall, 0, 160005, gone, "This thread is locked; unlock it or name another target."},
	{AnyCall, 0, 40067, gone, "This forum wants a tag on each post; turn that off, or name a thread in it."},
	{AnyCall, 0, 50008, gone,
		"Discord takes no messages in this kind of channel; name a text channel, thread or forum."},
	{AnyCall, 0, 50024, gone,
		"Discord takes no messages in this kind of channel; name a text channel, thread or forum."},
	{AnyCall, 0, 200000, refused, "The server's AutoMod blocks the message; exempt the bot from it."},
	{AnyCall, 0, 240000, refused, "Discord blocks the message for an address in it."},

	{AnyCall, http.StatusUnauthorized, 0, passing, BadToken},
	{Attaching, http.StatusBadRequest, 0, noFiles, "Discord refuses this file."},
	{AnyCall, http.StatusBadRequest, 0, refused, "Discord refuses this message."},
	{AnyCall, http.StatusRequestEntityTooLarge, 0, refused, "Discord finds the message too large."},
	{AnyCall, http.StatusForbidden, 0, gone, "Discord does not let the bot write to this channel."},
	{Editing, http.StatusNotFound, 0, messageGone, "The message was deleted."},
	{AnyCall, http.StatusNotFound, 0, gone, "Discord knows no such channel."},
}

// means finds what an answer means for an operation.
func (e *Error) means(op Operation) meaning {
	for _, m := range meanings {
		ofOperation := m.op == AnyCall || m.op == op
		ofStatus, ofCode := m.status == 0 || m.status == e.Status, m.code == 0 || m.code == e.Code
		if ofOperation && ofStatus && ofCode {
			return m
		}
	}
	return meaning{is: passing}
}

// Advice tells people what is wrong and what to do; empty if there is no advice.
func (e *Error) Advice() string { return e.means(AnyCall).text }

// Judge translates an error for the dispatcher: a *core.DeliveryError if
// Discord said what to do, else a temporary error.
func Judge(op Operation, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if wait := RetryAfter(err); wait > 0 {
		return &core.DeliveryError{Message: askedToWait, RetryAfter: wait}
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

// RetryAfter gives the wait that Discord asks for, or 0.
func RetryAfter(err error) time.Duration {
	var e *Error
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

// CodeOf gives the JSON error code of an error, or 0.
func CodeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// Rejected reports whether Discord does not know the token.
func Rejected(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}
