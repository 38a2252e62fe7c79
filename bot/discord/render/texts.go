package render

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/card"
)

// Text makes a message of plain text. forUser is mentioned and notified.
func Text(s, forUser string, times card.Times) Message {
	if !IsID(forUser) {
		return Markdown(Plain(s, MaxText, times))
	}
	head := "<@" + forUser + "> "
	m := Markdown(head + Plain(s, MaxText-len(head), times))
	m.AllowedMentions.Users = []string{forUser}
	return m
}

// CardTitle names the post in a forum that a card is.
func CardTitle(c card.Card) string {
	if c.Digest != nil {
		return Title(c.Headline.String())
	}
	return Cut(c.Code+" · "+c.Risk.String()+" · "+c.Title(), MaxTitle)
}

// Title makes a text the name of a forum's post, which must have one.
func Title(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "Request"
	}
	return Cut(s, MaxTitle)
}

// End tells how an approval has ended whose card cannot be edited any more.
func End(c card.Card) Message {
	if c.Digest != nil {
		return Text(c.Headline.String(), "", nil)
	}
	return Markdown(escape(c.Code+": ") + words(c.Outcome, maxHeadline))
}

// PartTexts writes all of a file as texts of messages, in Markdown; nil if it, or
// a part of it, is too long for messages.
func PartTexts(f card.File) []string {
	parts := f.Parts(maxPart)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = escape(f.PartHead(i, len(parts))) + "\n" + block(part) + "\n" + PartEnd
		if units(texts[i]) > MaxText {
			return nil
		}
	}
	return texts
}

// Markdown is a message whose text is Markdown already.
func Markdown(s string) Message {
	return Message{MessageSend: discordgo.MessageSend{
		Content: s, Flags: discordgo.MessageFlagsSuppressEmbeds, AllowedMentions: Nobody(),
	}}
}

// Nonce identifies a message by its content.
func Nonce(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:maxNonce]
}

// maxPart is how many characters of a file one message holds; each has two code units
// at most.
const maxPart = 900

// PartEnd ends each part of a file.
const PartEnd = "(end of the part)"

// Copyable is a line to copy, below a text that leaves room for it.
func Copyable(line string) string {
	if line == "" {
		return ""
	}
	return "\n" + block(line)
}

// ReasonForm are the components of the form in which a person gives the reason of
// a deny (Components, Label and Text Input); what they write has that custom id.
// discordgo has no labels, and gives each input a label of its own, which Discord refuses
// in one.
func ReasonForm(customID string) any {
	const label = 18
	return []any{map[string]any{"type": label, "label": "Reason (your deny already counts)", "component": map[string]any{
		"type": discordgo.TextInputComponent, "custom_id": customID, "style": discordgo.TextInputParagraph,
		"max_length": textcmd.MaxReason, "required": true,
	}}}
}

// Private is a message for one person, in Markdown.
func Private(s string, rows []discordgo.MessageComponent) discordgo.WebhookParams {
	const flags = discordgo.MessageFlagsEphemeral | discordgo.MessageFlagsSuppressEmbeds
	return discordgo.WebhookParams{Content: s, Components: rows, Flags: flags, AllowedMentions: Nobody()}
}

// Edited replaces a deferred message, in Markdown. It removes its buttons, if it had any.
func Edited(s string, rows []discordgo.MessageComponent) discordgo.WebhookEdit {
	if rows == nil {
		rows = []discordgo.MessageComponent{}
	}
	return discordgo.WebhookEdit{Content: &s, Components: &rows, AllowedMentions: Nobody()}
}

// Lines puts texts below each other, without those that are empty.
func Lines(parts ...string) string {
	out := ""
	for _, p := range parts {
		if out != "" && p != "" {
			out += "\n"
		}
		out += p
	}
	return out
}
