package render

import (
	"slices"
	"strings"
	"sync"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/card"
)

// Kinds of components (Components, Component Types).
const (
	kindRow       = 1
	kindButton    = 2
	kindInput     = 4
	kindText      = 10
	kindContainer = 17
	kindLabel     = 18
)

// Message flags (Resources, Message, Message Flags).
const (
	flagNoPreviews = 1 << 2 // SUPPRESS_EMBEDS
	Ephemeral      = 1 << 6
	flagSilent     = 1 << 12 // SUPPRESS_NOTIFICATIONS
	FlagComponents = 1 << 15 // IS_COMPONENTS_V2
)

// Component is any of the components that the bot sends.
type Component struct {
	Type        int         `json:"type"`
	Content     string      `json:"content,omitempty"`
	AccentColor *int        `json:"accent_color,omitempty"`
	Components  []Component `json:"components,omitempty"`
	Component   *Component  `json:"component,omitempty"`
	Style       int         `json:"style,omitempty"`
	Label       string      `json:"label,omitempty"`
	CustomID    string      `json:"custom_id,omitempty"`
	MaxLength   int         `json:"max_length,omitempty"`
	Placeholder string      `json:"placeholder,omitempty"`
	Required    *bool       `json:"required,omitempty"`
}

// Mentions lists by id the people that a message may notify, and no others
// (Resources, Message, Allowed Mentions).
type Mentions struct {
	Parse []string `json:"parse"`
	Users []string `json:"users,omitempty"`
}

// Nobody gives Mentions that notify no one, not even people that the message mentions.
func Nobody() Mentions { return Mentions{Parse: []string{}} }

// Message is a message as Discord takes it.
type Message struct {
	Content      string       `json:"content,omitempty"`
	Flags        int          `json:"flags,omitempty"`
	Components   *[]Component `json:"components,omitempty"`
	Mentions     Mentions     `json:"allowed_mentions"`
	Nonce        string       `json:"nonce,omitempty"`
	EnforceNonce bool         `json:"enforce_nonce,omitempty"`
	Reference    *reference   `json:"message_reference,omitempty"`
	Attachments  []attachment `json:"attachments,omitempty"`
}

// Replacement is a message that replaces another one. If that was a text, because
// the request had ended before its card could be shown, the text goes: with
// IS_COMPONENTS_V2 there can be no text (Resources, Message, Edit Message).
type Replacement struct {
	Content *string `json:"content"`
	Message
}

type (
	reference struct {
		MessageID       string `json:"message_id"`
		FailIfNotExists bool   `json:"fail_if_not_exists"`
	}
	attachment struct {
		ID       string `json:"id"` // a snowflake, or the n of files[n] (Reference, Uploading Files)
		Filename string `json:"filename"`
	}
)

// Clickable reports whether the message has buttons.
func (o Message) Clickable() bool {
	return o.Components != nil &&
		slices.ContainsFunc(*o.Components, func(c Component) bool { return c.Type == kindRow })
}

// Answering makes the message a reply, even to one that is deleted by then.
func (o Message) Answering(messageID string) Message {
	if IsID(messageID) {
		o.Reference = &reference{MessageID: messageID}
	}
	return o
}

// Mentioning makes the message begin with the people that it notifies; it notifies
// no others.
func (o Message) Mentioning(people []card.Mentioned) Message {
	var head strings.Builder
	for _, p := range people {
		if IsID(p.UserID) {
			head.WriteString("<@" + p.UserID + "> ")
			o.Mentions.Users = append(o.Mentions.Users, p.UserID)
		}
	}
	o.Content = head.String() + o.Content
	return o
}

// Linking makes the message end with an address of the desk's own that can be opened.
func (o Message) Linking(address string) Message {
	if address != "" {
		o.Content += "\n<" + address + ">"
	}
	return o
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
	buttons := Buttons(rows, "")
	o.Components = &buttons
	return o
}

// Silently makes the message appear without a sound, if silent.
func (o Message) Silently(silent bool) Message {
	if silent {
		o.Flags |= flagSilent
	}
	return o
}

// WithFile attaches the one file of the message.
func (o Message) WithFile(name string) Message {
	o.Attachments = []attachment{{"0", name}}
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
var styles = sync.OnceValue(func() map[textcmd.Style]int {
	return map[textcmd.Style]int{textcmd.Allowing: 3, textcmd.Denying: 4, textcmd.Neutral: 2}
})

// Buttons makes rows of buttons. suffix is added to the data of each one.
func Buttons(rows [][]textcmd.Button, suffix string) []Component {
	out := []Component{}
	for _, row := range rows {
		r := Component{Type: kindRow}
		for _, button := range row {
			r.Components = append(r.Components, Component{
				Type: kindButton, Style: styles()[button.Style], Label: Cut(button.Label, maxLabel),
				CustomID: Cut(button.Data+suffix, maxCustomID),
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
