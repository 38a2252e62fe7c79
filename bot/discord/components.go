package discord

import (
	"slices"
	"strings"

	"approvalbot/bot/textcmd"
)

// Kinds of components (Components, Component Types).
const (
	kindRow       = 1
	kindButton    = 2
	kindInput     = 4
	kindText      = 10
	kindSeparator = 14
	kindContainer = 17
	kindLabel     = 18
)

// Message flags (Resources, Message, Message Flags).
const (
	flagNoPreviews = 1 << 2 // SUPPRESS_EMBEDS
	flagEphemeral  = 1 << 6
	flagComponents = 1 << 15 // IS_COMPONENTS_V2
)

// component is any of the components that the bot sends.
type component struct {
	Type        int         `json:"type"`
	Content     string      `json:"content,omitempty"`
	AccentColor *int        `json:"accent_color,omitempty"`
	Components  []component `json:"components,omitempty"`
	Component   *component  `json:"component,omitempty"`
	Style       int         `json:"style,omitempty"`
	Label       string      `json:"label,omitempty"`
	CustomID    string      `json:"custom_id,omitempty"`
	MaxLength   int         `json:"max_length,omitempty"`
	Placeholder string      `json:"placeholder,omitempty"`
	Required    *bool       `json:"required,omitempty"`
}

// mentions says whom a message may notify: whoever it names, by id, and else
// nobody (Resources, Message, Allowed Mentions).
type mentions struct {
	Parse []string `json:"parse"`
	Users []string `json:"users,omitempty"`
}

func nobody() mentions { return mentions{Parse: []string{}} }

// outgoing is a message as Discord takes it.
type outgoing struct {
	Content      string       `json:"content,omitempty"`
	Flags        int          `json:"flags,omitempty"`
	Components   *[]component `json:"components,omitempty"`
	Mentions     mentions     `json:"allowed_mentions"`
	Nonce        string       `json:"nonce,omitempty"`
	EnforceNonce bool         `json:"enforce_nonce,omitempty"`
	Reference    *reference   `json:"message_reference,omitempty"`
	Attachments  []attachment `json:"attachments,omitempty"`
}

// replacing is a message that takes another's place. Where that was a text, because
// the request had ended before its card could be shown, the text goes: with
// IS_COMPONENTS_V2 there can be none (Resources, Message, Edit Message).
type replacing struct {
	Content *string `json:"content"`
	outgoing
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

// clickable reports whether the message has buttons.
func (o outgoing) clickable() bool {
	return o.Components != nil && slices.ContainsFunc(*o.Components, func(c component) bool { return c.Type == kindRow })
}

// answering makes the message a reply, also to one that is gone by then.
func (o outgoing) answering(messageID string) outgoing {
	if decimal(messageID) {
		o.Reference = &reference{MessageID: messageID}
	}
	return o
}

// once makes Discord drop a repeat of the message: it gives back the first one
// (Resources, Message, Create Message: enforce_nonce, for a few minutes).
func (o outgoing) once(nonce string) outgoing {
	if nonce != "" && len(nonce) <= maxNonce {
		o.Nonce, o.EnforceNonce = nonce, true
	}
	return o
}

// styles are Discord's colours of buttons (Components, Button Styles).
var styles = map[textcmd.Style]int{textcmd.Allowing: 3, textcmd.Denying: 4, textcmd.Neutral: 2}

// buttons makes rows of buttons. suffix is added to what each one carries.
func buttons(rows [][]textcmd.Button, suffix string) []component {
	out := []component{}
	for _, row := range rows {
		r := component{Type: kindRow}
		for _, button := range row {
			r.Components = append(r.Components, component{
				Type: kindButton, Style: styles[button.Style], Label: cut(button.Label, maxLabel), CustomID: cut(button.Data+suffix, maxCustomID),
			})
		}
		if len(r.Components) > 0 {
			out = append(out, r)
		}
	}
	return out
}

// menuMark stands in what a menu's button carries, between the command and the
// id of the card that the menu was opened on.
const menuMark = "@"

// ofCard marks a button, or a form, as belonging to a card.
func ofCard(messageID string) string {
	if messageID == "" {
		return ""
	}
	return menuMark + messageID
}

// cutCard takes the card's id off what a menu's button or a form carries.
func cutCard(customID string) (data, card string) {
	data, card, found := strings.Cut(customID, menuMark)
	if !found || !decimal(card) {
		return customID, ""
	}
	return data, card
}

// menu is what stands behind More, without the way back: the person it is for
// can put it away.
func menu(rows [][]textcmd.Button) [][]textcmd.Button {
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
