package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
)

// Parts of an application command (Interactions, Application Commands).
type (
	command       = discordgo.ApplicationCommand
	commandOption = discordgo.ApplicationCommandOption
	choice        = discordgo.ApplicationCommandOptionChoice
)

const textOption = discordgo.ApplicationCommandOptionString

// commands are the commands that Discord offers when a person types a slash.
func commands() []command {
	code := &commandOption{Type: textOption, Name: "code", Description: "The request's code", Required: true,
		Autocomplete: true, MaxLength: 32}
	reason := &commandOption{Type: textOption, Name: "reason", Description: "Why", MaxLength: textcmd.MaxReason}
	scope := &commandOption{Type: textOption, Name: "scope", Description: "How far it goes; once if left out",
		Choices: []*choice{
			{Name: "once", Value: "once"}, {Name: "for this session", Value: "session"}, {Name: "always", Value: "always"},
		}}
	all := []command{
		{Name: "approve", Description: "Allow a request", Options: []*commandOption{code, scope, reason}},
		{Name: "deny", Description: "Deny a request", Options: []*commandOption{code, reason}},
		{Name: "retry", Description: "Vote for one more run of a call, while that is asked for",
			Options: []*commandOption{code, reason}},
		{Name: "pending", Description: "List what waits for a decision"},
		{Name: "show", Description: "Show a request's card here", Options: []*commandOption{code}},
		{Name: "duty", Description: "Say who is on duty"},
		{Name: "away", Description: "Say that you are away", Options: []*commandOption{
			{Type: textOption, Name: "until", Description: "2h, 3d, 18:00, tomorrow 09:00, Fri 16:00 or 2026-12-24 09:00",
				Required: true, MaxLength: 32},
			{Type: textOption, Name: "to", Description: "Your delegate: an approver, by their name in the desk's configuration",
				MaxLength: 64}}},
		{Name: "back", Description: "Say that you are back before that is over"},
		{Name: "web", Description: "Send you a link to the desk's pages"},
		{Name: "whoami", Description: "Say who you are for the desk"},
		{Name: "pair", Description: "Make yourself and this chat known to the desk's operator",
			Options: []*commandOption{
				{Type: textOption, Name: "code", Description: "The code that approvalbot pair shows", Required: true,
					MaxLength: 32}}},
		{Name: "help", Description: "Say how to use the bot"},
	}
	for i := range all {
		all[i].Type = discordgo.ChatApplicationCommand
		all[i].Contexts = &[]discordgo.InteractionContextType{
			discordgo.InteractionContextGuild, discordgo.InteractionContextBotDM}
		all[i].IntegrationTypes = &[]discordgo.ApplicationIntegrationType{discordgo.ApplicationIntegrationGuildInstall}
	}
	return all
}

// registerCommands tells Discord the commands, unless it knows them: only so many
// may be made in a day. The buttons work without commands, so it gives up after a
// few tries.
func (b *Bot) registerCommands(ctx context.Context) {
	for try := range 5 {
		err := limited(ctx, rest.Timeout, b.setCommands)
		if err == nil || ctx.Err() != nil {
			return
		}
		b.log.Info("could not set Discord's command list; buttons and mentions of the bot work without it",
			"attempt", try+1, "reason", err)
		if !textcmd.Sleep(ctx, max(rest.RetryAfter(err), textcmd.Backoff(try, time.Second, time.Minute))) {
			return
		}
	}
}

func (b *Bot) setCommands(ctx context.Context) error {
	path := "/applications/" + b.self.app + "/commands"
	var known []command
	if err := b.rest.Call(ctx, http.MethodGet, path, nil, &known); err != nil {
		return err
	}
	if same(known, commands()) {
		return nil
	}
	return b.rest.Call(ctx, http.MethodPut, path, commands(), nil)
}

// same compares the bot's descriptions of its commands, in any order and without what
// Discord adds to them. An empty list is none.
func same(a, b []command) bool {
	text := func(all []command) []byte {
		all = slices.Clone(all)
		slices.SortFunc(all, func(x, y command) int { return strings.Compare(x.Name, y.Name) })
		for i, c := range all {
			c = command{Type: max(1, c.Type), Name: c.Name, Description: c.Description, Options: c.Options,
				Contexts: c.Contexts, IntegrationTypes: c.IntegrationTypes}
			if c.Contexts != nil {
				slices.Sort(*c.Contexts)
			}
			all[i] = c
		}
		out, _ := json.Marshal(all) // plain values always marshal
		return bytes.ReplaceAll(out, []byte(":[]"), []byte(":null"))
	}
	return bytes.Equal(text(a), text(b))
}
