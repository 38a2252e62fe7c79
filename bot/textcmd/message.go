package textcmd

import (
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// Message is an action of a person in a chat: a tap on a button, or a typed
// message. Adapters fill it from the platform's update and have no rules of
// their own about permissions.
type Message struct {
	Voter approval.Voter // channel and numeric user id (and role ids, as the update says them)
	Name  string         // the sender's name on the platform, which they choose freely
	// NotHuman is the reason why the sender is no person (a bot, an anonymous
	// admin, a channel, a webhook); empty for people.
	NotHuman string
	Chat     approval.Target // the chat, with the thread
	// Aka is another spelling of Chat on platforms where a thread is a chat of
	// its own as well; empty if it has no other. The desk uses the one that the
	// card or the configuration uses.
	Aka        approval.Target
	Direct     bool   // a private chat between this person and the bot
	Tap        bool   // Text is a button's payload
	Text       string // the payload, or what was typed
	MessageID  string // the tapped message, or the one replied to; empty if neither
	OwnMessage bool   // MessageID was sent by this very bot (checked by the adapter)
	BotName    string // the bot's user name, for /approve@name
	Mention    bool   // the adapter stripped a mention of the bot from Text
	Prompts    bool   // the adapter asks for a deny's reason itself (see Handler.Reason): no message is posted for it
	ReceivedMs int64  // see core.Ballot.ReceivedMs
	Update     *approval.InboundRef
}

// Reply is the answer that the person gets.
type Reply struct {
	Ignore  bool       // the message was not for the desk: send no answer
	Before  bool       // it was handled and answered before
	Text    string     // one sentence, at most 200 characters: the answer to a tap, or a reply to a typed line
	Alert   bool       // shows a tap's answer so that it is noticed (refusals)
	Copy    string     // a line to copy out of the chat, shown as code below Text; short, no line breaks
	Link    string     // an address of the desk's own to open; Text may end with it
	Long    string     // several lines to post into the chat as a reply (lists, details); plain text, already safe
	Times   card.Times // in Long
	Rows    [][]Button // buttons below Text, or with Menu in place of the card's own; nil means the usual ones
	Menu    Menu       // the person wants to see this menu of the tapped card; empty if they asked for no menu
	Card    *card.Card // with Menu: the present card; it must not be changed
	Key     string     // with Menu: the card's approval, and the version of it that Card shows, for
	Version int64      // [Handler.Redraw] after the card was changed
}

// Menu is the row of buttons that a card shows.
type Menu string

// The menus: the first row, what More opens, and the second step of an R4 call's yes.
const (
	MenuMain Menu = "main"
	MenuMore Menu = "more"
	// MenuConfirm asks the person who tapped an R4 call's Allow once more: with Reply.Rows.
	MenuConfirm Menu = "confirm"
)

// Button is one button of a card. Data is a Command's canonical text.
type Button struct {
	Label string
	Data  string // at most 64 bytes
	Style Style
}

// Style is a button's meaning; adapters choose the platform's colour.
type Style string

// The styles.
const (
	Allowing Style = "allow"
	Denying  Style = "deny"
	Neutral  Style = "neutral"
)
