package render

import (
	"slices"
	"strings"
	"sync"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/card"
)

// Message is a message as Discord takes it, with what discordgo's type lacks.
type Message struct {
	discordgo.MessageSend
	Nonce        string `json:"nonce,omitempty"`
	EnforceNonce bool   `json:"enforce_nonce,omitempty"`
}

// Edit replaces a message. If that was a text, because the request had ended before its
// card could be shown, the text goes: with IS_COMPONENTS_V2 there can be no text
// (Resources, Message, Edit Message). discordgo's type cannot make it null.
type Edit struct {
	Content *string `json:"content"`
	discordgo.MessageEdit
}

// Nobody gives mentions that notify no one, not even people that the message mentions
// (Resources, Message, Allowed Mentions).
func Nobody() *discordgo.MessageAllowedMentions {
	return &discordgo.MessageAllowedMentions{Parse: []discordgo.AllowedMentionType{}}
}

// Clickable reports whether the message has buttons.
func (o Message) Clickable() bool {
	return slices.ContainsFunc(o.Components,
		func(c discordgo.MessageComponent) bool { return c.Type() == discordgo.ActionsRowComponent })
}

// Replacing is the message as an edit of another one.
func (o Message) Replacing(messageID string) Edit {
	return Edit{MessageEdit: discordgo.MessageEdit{
		ID: messageID, Flags: o.Flags, Components: &o.Components, AllowedMentions: o.AllowedMentions,
	}}
}

// Answering makes the message a reply, even to one that is deleted by then.
func (o Message) Answering(messageID string) Message {
	if IsID(messageID) {
		o.Reference = &discordgo.MessageReference{MessageID: messageID, FailIfNotExists: new(false)}
	}
	return o
}

// Mentioning makes the message begin with the people that it notifies; it notifies
// no others.
func (o Message) Mentioning(people []card.Mentioned) Message {
	var head strings.Builder
	o.AllowedMentions = new(*o.AllowedMentions)
	for _, p := range people {
		if IsID(p.UserID) {
			head.WriteString("<@" + p.UserID + "> ")
			o.AllowedMentions.Users = append(o.AllowedMentions.Users, p.UserID)
		}
	}
	o.Content = head.String() + o.Content
	return o
}

// Linking makes the message end with an address of the desk's own that can be opened.
func (o Message) Linking(address string) Message {
	o.Content = Linked(o.Content, address)
	return o
}

// Linked is a text that ends with an address of the desk's own, if there is one.
func Linked(s, address string) string {
	if address == "" {
		return s
	}
	return s + "\n<" + address + ">"
}

// EndingSession puts the button that ends a session below the message.
func (o Message) EndingSession(id string) Message {
	if rows := textcmd.NoticeButtons(id); rows != nil {
		return o.WithButtons(rows)
	}
	return o
}

// WithButtons puts buttons below the message.
func (o Message) WithButtons(rows [][]textcmd.Button) Message {
	o.Components = Buttons(rows, "")
	return o
}

// Silently makes the message appear without a sound, if silent.
func (o Message) Silently(silent bool) Message {
	if silent {
		o.Flags |= discordgo.MessageFlagsSuppressNotifications
	}
	return o
}

// Once makes Discord drop a repeat of the message and return the first one
// (Resources, Message, Create Message: enforce_nonce, for a few minutes).
func (o Message) Once(nonce string) Message {
	if nonce != "" && len(nonce) <= maxNonce {
		o.Nonce, o.EnforceNonce = nonce, true
	}
	return o
}

// styles are Discord's colours of buttons (Components, Button Styles).
var styles = sync.OnceValue(func() map[textcmd.Style]discordgo.ButtonStyle {
	return map[textcmd.Style]discordgo.ButtonStyle{textcmd.Allowing: discordgo.SuccessButton,
		textcmd.Denying: discordgo.DangerButton, textcmd.Neutral: discordgo.SecondaryButton}
})

// Buttons makes rows of buttons. suffix is added to the data of each one.
func Buttons(rows [][]textcmd.Button, suffix string) []discordgo.MessageComponent {
	out := []discordgo.MessageComponent{}
	for _, row := range rows {
		var r discordgo.ActionsRow
		for _, button := range row {
			r.Components = append(r.Components, discordgo.Button{
				Style: styles()[button.Style], Label: Cut(button.Label, maxLabel), CustomID: Cut(button.Data+suffix, maxCustomID),
			})
		}
		if len(r.Components) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Menu gives the buttons behind More, without the one that closes it: its
// reader can dismiss the message.
func Menu(rows [][]textcmd.Button) [][]textcmd.Button {
	var out [][]textcmd.Button
	for _, row := range rows {
		var keep []textcmd.Button
		for _, button := range row {
			if cmd, ok := textcmd.ParsePayload(button.Data); !ok || cmd.Verb != textcmd.Back {
				keep = append(keep, button)
			}
		}
		out = append(out, keep)
	}
	return out
}

// IsID reports whether s is a Discord id (a snowflake).
func IsID(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}
