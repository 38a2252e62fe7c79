package telegram

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// operation is what a call does, as far as its errors mean different things.
type operation int

const (
	anyCall operation = iota
	posting
	editing
	attaching
	answering
)

// effect is what an error means for the caller.
type effect int

const (
	passing     effect = iota // may work later
	gone                      // this chat accepts no more messages
	refused                   // this chat takes no message that says this
	noFiles                   // this chat takes no files
	messageGone               // the message is not there to be edited
	harmless                  // no more work is left
	banned                    // Telegram does not know the token
)

// verdict is a row of the table.
type verdict struct {
	op   operation // anyCall: every one
	code int
	text string // what the description contains; empty matches any
	is   effect
	say  string // for people: the cause and the remedy
}

const tooManyRequests = http.StatusTooManyRequests

// verdicts gives the meaning of Telegram's refusals; the first row that fits
// counts. An error of the Bot API has only its code and this description, which
// are part of the wire. Sources: TBA is telegram-bot-api (Client.cpp), TD is
// tdlib/td, DC is a text of the data centre as client libraries list it.
var verdicts = []verdict{
	// The message itself.
	{editing, 400, "message is not modified", harmless, ""},                                 // TBA, MESSAGE_NOT_MODIFIED
	{editing, 400, "message to edit not found", messageGone, "The message was deleted."},    // TBA
	{editing, 400, "message can't be edited", messageGone, "The message cannot be edited."}, // TBA, TD can_edit_message
	{editing, 400, "MESSAGE_ID_INVALID", messageGone, "The message was deleted."},           // DC
	{answering, 400, "query is too old", harmless, ""},                                      // TBA, QUERY_ID_INVALID
	{attaching, 400, "not enough rights to send documents", noFiles, // TD DialogManager
		"The bot may not send files to this chat."},
	{attaching, 400, "CHAT_SEND_DOCS_FORBIDDEN", noFiles, "The bot may not send files to this chat."},  // DC
	{attaching, 400, "CHAT_SEND_MEDIA_FORBIDDEN", noFiles, "The bot may not send files to this chat."}, // DC
	{attaching, 413, "", noFiles, "Telegram finds the file too large."},                                // TBA, Request Entity Too Large

	// The chat.
	{anyCall, 403, "bot was blocked by the user", gone, // TBA
		"This person has blocked the bot; they must open it in Telegram and unblock it."},
	{anyCall, 403, "user is deactivated", gone, // TBA
		"This person's Telegram account was deleted; take it out of the configuration."},
	{anyCall, 403, "can't initiate conversation", gone, // TD
		"This person has never written to the bot; they must open it in Telegram and press Start."},
	{anyCall, 403, "bot was kicked", gone, "The bot was removed from this chat; add it again."},    // TBA
	{anyCall, 403, "bot is not a member", gone, "The bot is not in this chat; add it."},            // TBA
	{anyCall, 403, "group chat was deleted", gone, "This group was deleted; name another target."}, // TBA
	{anyCall, 403, "", gone, "Telegram does not let the bot write to this chat."},
	{anyCall, 400, "chat not found", gone, // TBA
		"Telegram knows no such chat; check its id, and add the bot to it or have the person press Start."},
	{anyCall, 400, "message thread not found", gone, // TBA
		"This topic was deleted, or the chat has no topics; correct the target's threadId."},
	{anyCall, 400, "TOPIC_DELETED", gone, "This topic was deleted; correct the target's threadId."},           // DC
	{anyCall, 400, "TOPIC_CLOSED", gone, "This topic is closed; reopen it or make the bot an administrator."}, // DC
	{anyCall, 400, "not enough rights", gone, // TD DialogManager
		"The bot may not write in this chat; give it the right to send messages."},
	{anyCall, 400, "have no write access", gone, // TD
		"The bot may not write in this chat; give it the right to send messages."},
	{anyCall, 400, "CHAT_WRITE_FORBIDDEN", gone, // DC
		"The bot may not write in this chat; give it the right to send messages."},
	{anyCall, 400, "CHAT_RESTRICTED", gone, "Telegram has restricted this chat; name another target."}, // DC
	{anyCall, 400, "need administrator rights in the channel", gone, // TD
		"Make the bot an administrator of this channel."},
	{anyCall, 400, "CHANNEL_PRIVATE", gone, "The bot is not in this chat; add it."}, // DC

	// The bot.
	{anyCall, 401, "", banned, // TBA
		"Telegram does not accept the bot token. Get a new one from @BotFather and restart the desk."},
	{anyCall, 404, "method not found", passing, // TBA
		"The Bot API server does not know this method; it may be too old."},
	{anyCall, 404, "", banned, // TBA
		"Telegram knows no bot with this token. Check the token, and the API address if it is not Telegram's own."},

	// The same request would be refused again.
	{attaching, 400, "", noFiles, "Telegram refuses this file."},
	{anyCall, 400, "", refused, "Telegram refuses this message."},
	{anyCall, 413, "", refused, "Telegram finds the message too large."},
}

// look finds what an answer means for an operation.
func (e *apiError) look(op operation) verdict {
	for _, v := range verdicts {
		ofOperation := v.op == anyCall || v.op == op
		if ofOperation && v.code == e.Code && strings.Contains(e.Description, v.text) {
			return v
		}
	}
	return verdict{is: passing}
}

// judge translates an error for the dispatcher: nil if no work is left, a
// *core.DeliveryError if Telegram said what to do, else a temporary error.
func (b *Bot) judge(op operation, err error) error {
	var e *apiError
	if !errors.As(err, &e) {
		return plain(err)
	}
	v := e.look(op)
	words := strings.TrimSpace(v.say + " (" + e.Error() + ")")
	switch {
	case e.Code == tooManyRequests:
		return &core.DeliveryError{Message: "Telegram asks to wait before the next message to this chat.",
			RetryAfter: retryAfter(err)}
	case e.MigrateTo != 0:
		moved := approval.Target{Channel: b.cfg.Channel, To: strconv.FormatInt(e.MigrateTo, 10)}
		return &core.DeliveryError{Message: "This group is a supergroup now, with another id.", Moved: &moved}
	case v.is == harmless:
		b.log.Debug("Telegram did not edit a message, because it has this content already", "reason", e.Description)
		return nil
	case v.is == banned:
		b.health.Set(false, v.say, err)
		return e
	case v.is == passing:
		return e
	}
	return &core.DeliveryError{
		Message: words, Gone: v.is == gone, Refused: v.is == refused, NoFiles: v.is == noFiles,
		MessageGone: v.is == messageGone,
	}
}

// plain drops what the Telegram library puts around an error of the wire.
func plain(err error) error {
	var lost *errUnreachable
	if errors.As(err, &lost) {
		return lost
	}
	return err
}

// final reports whether a judged error stays however often one tries.
func final(err error) bool {
	var d *core.DeliveryError
	return rejected(err) || errors.As(err, &d) && d.RetryAfter == 0
}

// pauseOf gives how long a judged error asks to wait, or 0.
func pauseOf(err error) time.Duration {
	var d *core.DeliveryError
	if errors.As(err, &d) {
		return d.RetryAfter
	}
	return 0
}

// rejected reports whether Telegram does not know the token.
func rejected(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.look(anyCall).is == banned
}

// Waits between tries of the receiving side.
const (
	firstWait    = 500 * time.Millisecond
	longestWait  = 30 * time.Second
	bannedWait   = time.Minute
	conflictWait = 5 * time.Second // a second poller is thrown out by each of our calls, and we by its
)

// diagnose gives the reason why no updates come, with the remedy, and how long
// to wait before try number try+1.
func diagnose(err error, try int) (detail string, wait time.Duration) {
	wait = textcmd.Backoff(try, firstWait, longestWait)
	var e *apiError
	switch {
	case errors.Is(err, errNotStored):
		return "Updates come but cannot be stored; they stay with Telegram until they can. See the log.", wait
	case !errors.As(err, &e):
		return fmt.Sprintf("%v. Check the network; the desk keeps trying.", plain(err)), wait
	case rejected(err):
		return e.look(anyCall).say, bannedWait
	case e.Code == http.StatusConflict && strings.Contains(e.Description, "webhook"): // TBA
		return "A webhook is set for this bot's token, so updates cannot be polled. " +
				"Stop the program that sets it, then restart the desk; or use updates: webhook.",
			textcmd.Backoff(try, conflictWait, longestWait)
	case e.Code == http.StatusConflict: // TBA
		return "Another program polls Telegram with this bot's token. Stop it, or get a new token from @BotFather.",
			textcmd.Backoff(try, conflictWait, longestWait)
	case e.Code == tooManyRequests:
		return "Telegram asks the bot to slow down.", max(retryAfter(err), wait)
	}
	return fmt.Sprintf("%v. The desk keeps trying.", e), wait
}

// errNotStored says that updates came but could not be stored.
var errNotStored = errors.New("the updates could not be stored")

// retryAfter gives what Telegram asks to wait, or 0.
func retryAfter(err error) time.Duration {
	var e *apiError
	if errors.As(err, &e) && e.Code == tooManyRequests {
		return cmp.Or(e.RetryAfter, time.Second)
	}
	return 0
}
