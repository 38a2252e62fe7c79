package discord

import (
	"context"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/textcmd"
)

// first gives the first answer of a stored interaction. A form must be the first
// answer; the rest follows later, to that person only.
func (b *Bot) first(i *interaction) callback {
	later := callback{discordgo.InteractionResponseDeferredChannelMessageWithSource,
		discordgo.InteractionResponseData{Flags: discordgo.MessageFlagsEphemeral}}
	if i.Type != tapInteraction {
		return later
	}
	data, card := i.Data.CustomID, ""
	menu := i.Message != nil && i.Message.Flags&discordgo.MessageFlagsEphemeral != 0
	if menu {
		data, card = cutCard(data)
	} else if i.Message != nil {
		card = i.Message.ID
	}
	cmd, ok := textcmd.ParsePayload(data)
	wantsForm := ok && cmd.Verb == textcmd.DenyReason && i.actor().notHuman() == ""
	switch {
	case wantsForm && b.handler.MayDecide(i.voter()):
		return reasonForm(cmd, card)
	case menu:
		return callback{Type: discordgo.InteractionResponseDeferredMessageUpdate}
	}
	return later
}

// reasonForm asks for the reason of a deny, which counts already (Interactions,
// Modal; Components, Label and Text Input).
func reasonForm(cmd textcmd.Command, card string) callback {
	return callback{discordgo.InteractionResponseModal, map[string]any{
		"custom_id": cmd.String() + ofCard(card), "title": "Deny " + cmd.Code, "components": render.ReasonForm(reasonField),
	}}
}

// asked reports whether the first answer to that tap was a form. It must judge as
// first does.
func asked(c callback) bool { return c.Type == discordgo.InteractionResponseModal }

// suggest answers a command that is being typed. No choice is an empty list, which
// discordgo would leave out.
func (b *Bot) suggest(ctx context.Context, i *interaction) callback {
	m := i.base()
	m.Text, _ = i.Data.focused().Value.(string)
	out := []choice{}
	found, err := b.handler.Choices(ctx, m, maxChoices)
	if err != nil {
		b.log.Warn("could not suggest approval codes while a person types a Discord command; typed codes work",
			"target", m.Chat.String(), "reason", err)
	}
	for _, c := range found {
		out = append(out, choice{Name: render.Cut(c.Label, 100), Value: c.Code})
	}
	return callback{discordgo.InteractionApplicationCommandAutocompleteResult, map[string]any{"choices": out}}
}

const (
	// answerWindow is how long Discord waits for a first answer (Interactions,
	// Receiving and Responding: 3 seconds); storing may take only a part of it.
	answerWindow = 3 * time.Second
	storeWindow  = 1500 * time.Millisecond
	maxChoices   = 25 // Interactions, Application Commands: choices of an autocomplete
)

// callback is a first answer (Interactions, Interaction Response Object). Its data is
// discordgo's where that can say it.
type callback struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data any                               `json:"data,omitempty"`
}
