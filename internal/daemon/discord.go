package daemon

import (
	"context"
	"net/http"

	"approvalbot/bot/discord"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/server/connection"
)

var discordAdapter = adapter{
	bot: func(_ string, c config.Channel, d *Daemon) (bot, http.Handler, error) {
		b, err := discord.New(discordConfig(c), d.talk, d.Store, d.Gate.Chats().Handled, d.log)
		if err != nil {
			return nil, nil, err
		}
		return b, b.InteractionsHandler(connection.Authenticated), nil
	},
	probe: func(
		ctx context.Context, _ string, c config.Channel, at []approval.Target, users []string,
	) []core.Diagnostic {
		return discord.Probe(ctx, discordConfig(c), at, users, config.Texts(c.AllowedRoleIDs))
	},
}

func discordConfig(c config.Channel) discord.Config {
	return discord.Config{Token: string(c.BotToken), APIURL: c.APIURL, Updates: c.Updates.Mode, PublicKey: c.Updates.PublicKey}
}
