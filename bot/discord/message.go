package discord

import (
	"context"
	"strings"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// reasonField is the custom id of the field in the form for a reason.
const reasonField = "reason"

// place gives the desk's names of the chat of an interaction, and whether it is
// the direct messages between that person and the bot. A user may carry the bot
// into other chats to which it was not added; these are no places of the desk.
func (i *interaction) place() (chat, aka approval.Target, direct bool) {
	if i.Guild != "" {
		c := channel{ID: i.At}
		if i.Channel != nil {
			c = *i.Channel
			c.ID = i.At
		}
		chat, aka = where(c)
		return chat, aka, false
	}
	own := i.Context != nil && *i.Context == botDM
	if i.Context == nil {
		own = i.Channel == nil || i.Channel.Type == discordgo.ChannelTypeDM
	}
	if v := i.voter(); own && v.UserID != "" {
		return approval.Target{Channel: "discord", To: "dm:" + v.UserID}, approval.Target{}, true
	}
	return approval.Target{Channel: "discord", To: i.At}, approval.Target{}, false
}

// base gives the members that all messages from an interaction share.
func (i *interaction) base() textcmd.Message {
	m := textcmd.Message{Voter: i.voter(), Name: i.actor().name(), NotHuman: i.actor().notHuman(), Prompts: true}
	m.Chat, m.Aka, m.Direct = i.place()
	return m
}

// tapMessage converts a tap for the desk. A button of the row behind More is on
// a message for one person, which only the bot itself can have made; it names
// the card that it was opened on.
func (b *Bot) tapMessage(i *interaction) textcmd.Message {
	m := i.base()
	m.Tap, m.Text = true, i.Data.CustomID
	if i.Message == nil {
		return m
	}
	m.MessageID, m.OwnMessage = i.Message.ID, b.sent(i.Message)
	if m.OwnMessage && i.Message.Flags&discordgo.MessageFlagsEphemeral != 0 {
		m.Text, m.MessageID = cutCard(i.Data.CustomID)
		cmd, _ := textcmd.ParsePayload(m.Text) // below the answer to a slash command it names no card
		m.OwnMessage = m.MessageID != "" || cmd.Verb == textcmd.Confirm
	}
	return m
}

// formMessage converts a form for the desk, with the code of its approval.
func (b *Bot) formMessage(i *interaction) (m textcmd.Message, code string) {
	m = i.base()
	data, card := cutCard(i.Data.CustomID)
	if cmd, ok := textcmd.ParsePayload(data); ok && cmd.Verb == textcmd.DenyReason {
		code = cmd.Code
	}
	m.Text, m.MessageID, m.OwnMessage = i.Data.field(reasonField), card, card != ""
	return m, code
}

// commandMessage gives a slash command as if it had been typed.
func (b *Bot) commandMessage(i *interaction) textcmd.Message {
	m := i.base()
	m.Text = typed(i.Data)
	return m
}

// typed writes a slash command as the grammar reads it. A reason follows a
// colon, so that no word in it counts.
func typed(d data) string {
	cmd := textcmd.Command{Verb: textcmd.Verb(d.Name), Code: textcmd.OneLine(d.option("code")),
		Reason: d.option("reason")}
	switch cmd.Verb {
	case textcmd.Approve:
		cmd.Decision = approval.AllowOnce
		switch d.option("scope") {
		case "session":
			cmd.Decision = approval.AllowSession
		case "always":
			cmd.Decision = approval.AllowAlways
		}
	case textcmd.Deny:
		cmd.Decision = approval.Deny
	case textcmd.Away:
		if cmd.Reason = d.option("until"); d.option("to") != "" {
			cmd.Reason += " to " + d.option("to")
		}
	case textcmd.Back:
		cmd = textcmd.Command{Verb: textcmd.Return}
	}
	return cmd.String()
}

// typedMessage converts a typed message for the desk. Only the first text counts:
// edits never come here.
func (b *Bot) typedMessage(ctx context.Context, in *message) (textcmd.Message, error) {
	m := textcmd.Message{Voter: in.voter(), Name: in.Author.name(), NotHuman: in.notHuman(), BotName: b.self.name,
		Prompts: true}
	m.Text, m.Mention = withoutMention(in.Content, b.self.user)
	if in.Guild == "" {
		m.Chat, m.Direct = approval.Target{Channel: "discord", To: "dm:" + m.Voter.UserID}, m.NotHuman == ""
	} else {
		c, err := b.channel(ctx, in.At)
		if _, passing := b.judge(rest.AnyCall, err).(*core.DeliveryError); err != nil && !passing {
			return m, err
		}
		c.ID = in.At
		m.Chat, m.Aka = where(c)
	}
	if r := in.Reference; in.Type == kindReply && r != nil && render.IsID(r.MessageID) {
		m.MessageID = r.MessageID
		// It may be left out; the id alone finds only our cards.
		m.OwnMessage = in.Answered == nil || b.sent(in.Answered)
	}
	m.Text = strings.TrimSpace(m.Text)
	return m, nil
}

// sent reports whether this bot sent the message. Its answers to interactions go
// through its application's own webhook.
func (b *Bot) sent(m *message) bool {
	ownWebhook := m.Webhook == "" || m.Webhook == b.self.app
	return ownWebhook && m.Author != nil && m.Author.ID == b.self.user
}

// menuMark is in the data of a menu's button, between the command and the id of
// the card that the menu was opened on.
const menuMark = "@"

// ofCard marks a button, or a form, as belonging to a card.
func ofCard(messageID string) string {
	if messageID == "" {
		return ""
	}
	return menuMark + messageID
}

// cutCard removes the card's id from the data of a menu's button or a form.
func cutCard(customID string) (data, card string) {
	data, card, found := strings.Cut(customID, menuMark)
	if !found || !render.IsID(card) {
		return customID, ""
	}
	return data, card
}
