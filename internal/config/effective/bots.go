package effective

import (
	"slices"

	"approvalbot/bot/discord"
	"approvalbot/bot/telegram"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
)

// Outboxes are the channels that cards go out by: the verifier's own bot is on
// Telegram, too.
var Outboxes = append(slices.Clone(config.Platforms), approval.VerifierChannel)

// VerifierTelegram is the verifier's own bot.
func VerifierTelegram(c config.Config) telegram.Config {
	out := Telegram(VerifierBot(c))
	out.Channel = approval.VerifierChannel
	return out
}

// Telegram is a Telegram bot in its adapter's form.
func Telegram(t config.Telegram) telegram.Config {
	return telegram.Config{
		Token: string(t.BotToken), APIURL: t.APIURL, Updates: t.Updates.Mode,
		WebhookURL: t.Updates.Webhook.URL, WebhookSecret: string(t.Updates.Webhook.Secret),
	}
}

// Discord is the Discord bot in its adapter's form.
func Discord(x config.Discord) discord.Config {
	return discord.Config{Token: string(x.BotToken), APIURL: x.APIURL, Updates: x.Updates.Mode, PublicKey: x.Updates.PublicKey}
}
