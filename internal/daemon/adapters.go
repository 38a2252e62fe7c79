package daemon

import (
	"context"
	"net/http"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
)

// adapter joins the desk to a platform's room.
type adapter struct {
	// bot makes a bot that receives and posts for a channel: the platform's name, or
	// [approval.VerifierChannel]. updates serves those of its updates that come by HTTP; it may be nil.
	bot func(channel string, c config.Channel, d *Daemon) (made bot, updates http.Handler, err error)
	// probe tries out a bot, its chats, and the accounts of the people who may decide there.
	probe func(ctx context.Context, channel string, c config.Channel, at []approval.Target, users []string) []core.Diagnostic
}

// adapters has one for each row of package platform, by its name.
var adapters = map[string]adapter{"telegram": telegramAdapter, "discord": discordAdapter}

// adapterOf is the adapter for a channel.
func adapterOf(channel string) adapter {
	return adapters[approval.Platform(approval.Target{Channel: channel})]
}

// newBot makes the bot of a channel that is on.
func (d *Daemon) newBot(channel string) (made bot, updates http.Handler, err error) {
	return adapterOf(channel).bot(channel, effective.Bot(d.cfg, channel), d)
}

// Probe tries out the bot of a channel that is on, as doctor does: whether it works, whether it reaches
// these chats, and whether these accounts can decide there.
func Probe(ctx context.Context, c config.Config, channel string, at []approval.Target, users []string) []core.Diagnostic {
	return adapterOf(channel).probe(ctx, channel, effective.Bot(c, channel), at, users)
}
