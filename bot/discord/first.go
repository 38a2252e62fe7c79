package discord

import (
	"context"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/textcmd"
)

// first gives the first answer of a stored interaction. A form must be one; what
// else there is to say comes later, to that person alone.
func (b *Bot) first(i *interaction) callback {
	later := callback{answerLater, &response{Flags: render.Ephemeral}}
	if i.Type != tapInteraction {
		return later
	}
	data, card := i.Data.CustomID, ""
	menu := i.Message != nil && i.Message.Flags&render.Ephemeral != 0
	if menu {
		data, card = cutCard(data)
	} else if i.Message != nil {
		card = i.Message.ID
	}
	cmd, ok := textcmd.ParsePayload(data)
	switch {
	case ok && cmd.Verb == textcmd.DenyReason && i.actor().notHuman() == "" && b.desk.MayDecide(i.voter()):
		return reasonForm(cmd, card)
	case menu:
		return callback{Type: answerUpdate}
	}
	return later
}

// reasonForm asks for the reason of a deny, which counts already (Interactions,
// Modal; Components, Label and Text Input).
func reasonForm(cmd textcmd.Command, card string) callback {
	return callback{answerForm, &response{
		CustomID: cmd.String() + ofCard(card), Title: "Deny " + cmd.Code,
		Components: render.ReasonForm(reasonField),
	}}
}

// asked reports whether the first answer to that tap was a form. It must judge as
// first does.
func asked(c callback) bool { return c.Type == answerForm }

// suggest answers what is being typed into a command.
func (b *Bot) suggest(ctx context.Context, i *interaction) callback {
	m := i.base()
	m.Text, _ = i.Data.focused().Value.(string)
	out := []choice{}
	found, err := b.desk.Choices(ctx, m, maxChoices)
	if err != nil {
		b.log.Warn("codes could not be suggested", "reason", err)
	}
	for _, c := range found {
		out = append(out, choice{Name: render.Cut(c.Label, 100), Value: c.Code})
	}
	return callback{answerChoices, &response{Choices: &out}}
}
