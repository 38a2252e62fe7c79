package daemon

import (
	"context"
	"net/http"

	"approvalbot/bot/telegram"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/server/connection"
)

var telegramAdapter = adapter{
	bot: func(channel string, c config.Channel, d *Daemon) (bot, http.Handler, error) {
		b, err := telegram.New(telegramConfig(channel, c), d.talk, d.Store, d.Gate.Chats().Handled, d.log)
		if err != nil {
			return nil, nil, err
		}
		return b, b.WebhookHandler(connection.Authenticated), nil
	},
	probe: func(
		ctx context.Context, channel string, c config.Channel, at []approval.Target, users []string,
	) []core.Diagnostic {
		return telegram.Probe(ctx, telegramConfig(channel, c), at, users)
	},
}

func telegramConfig(channel string, c config.Channel) telegram.Config {
	hook := c.Updates.Webhook
	return telegram.Config{Token: string(c.BotToken), Channel: channel, APIURL: c.APIURL, Updates: c.Updates.Mode,
		WebhookURL: hook.URL, WebhookSecret: string(hook.Secret)}
}
