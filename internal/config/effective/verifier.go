package effective

import (
	"cmp"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/platform"
	"approvalbot/internal/verifier"
)

// Verifier configures the outside verifiers that must agree, for all agents and
// for single ones. It contains secrets in plain text.
func Verifier(c config.Config) verifier.Config {
	settings := func(v config.Verifier) verifier.Settings {
		s := settingsOf(v)
		s.Chat.Channel = VerifierChannel(c, v.Chat)
		return s
	}
	out := verifier.Config{
		Settings: settings(c.Tools.Verifier), Agents: map[string]verifier.Settings{}, Production: c.Server.Production,
	}
	for _, a := range c.Agents.List {
		out.Agents[a.ID] = settings(a.Tools.Verifier)
	}
	return out
}

// VerifierChannel is the channel of the bot that asks in a verifier's chat.
func VerifierChannel(c config.Config, t config.VerifierChat) string {
	if t.BotToken != "" && t.BotToken != c.Channels.Bots[platform.Verifier].BotToken {
		return approval.VerifierChannel
	}
	return platform.Verifier
}

// VerifierBot is the verifier's own bot: it is off if there is none, or if it is the
// bot of its platform.
func VerifierBot(c config.Config) config.Channel {
	for _, v := range verifiersOf(c) {
		if t := v.Chat; t.Enabled && VerifierChannel(c, t) == approval.VerifierChannel {
			apiURL := cmp.Or(t.APIURL, c.Channels.Bots[platform.Verifier].APIURL)
			return config.Channel{BotToken: t.BotToken, APIURL: apiURL,
				Updates: config.Updates{Mode: platform.ByName(platform.Verifier).Pulled}}
		}
	}
	return config.Channel{}
}

// Bot is the bot of an outbox: that of a platform, or the verifier's own.
func Bot(c config.Config, outbox string) config.Channel {
	if outbox == approval.VerifierChannel {
		return VerifierBot(c)
	}
	return c.Channels.Bots[outbox]
}

// Outboxes are the channels that cards go out by: the platforms, and that of the verifier's
// own bot.
func Outboxes() []string { return append(platform.Names(), approval.VerifierChannel) }

// verifiersOf are the verifier's blocks: of all agents, then of single ones.
func verifiersOf(c config.Config) []config.Verifier {
	all := []config.Verifier{c.Tools.Verifier}
	for _, a := range c.Agents.List {
		all = append(all, a.Tools.Verifier)
	}
	return all
}

func settingsOf(v config.Verifier) verifier.Settings {
	headers := make(map[string]string, len(v.Webhook.Headers))
	for name, value := range v.Webhook.Headers {
		headers[name] = string(value)
	}
	return verifier.Settings{
		Enabled: v.Enabled, Scope: verifier.Scope(v.Scope), FailMode: v.FailMode,
		Webhook: verifier.Webhook{
			URL: v.Webhook.URL, Timeout: v.Webhook.Timeout, Headers: headers,
			Secret: string(v.Webhook.Secret), CacheTTL: v.Webhook.CacheTTL,
		},
		Chat: verifier.Chat{
			Enabled: v.Chat.Enabled, ChatID: string(v.Chat.ChatID), Timeout: v.Chat.Timeout,
			AllowedUserIDs: config.Texts(v.Chat.AllowedUserIDs),
		},
	}
}

// Classifier is the model that is asked, without its metrics and log.
func Classifier(c config.Config) verifier.ClassifierConfig {
	x := c.ApprovalTools().Classifier
	return verifier.ClassifierConfig{
		Provider: x.Provider, Model: x.Model, APIURL: x.APIURL, APIKey: string(x.APIKey),
		TimeoutMs: x.TimeoutMs, MaxInputChars: x.MaxInputChars, Production: c.Server.Production,
	}
}

// VerifierChats are the verifier's own chats: of all agents, and of single ones.
func VerifierChats(c config.Config) (places []approval.Target) {
	if !AsksVerifier(c) {
		return nil
	}
	channel := VerifierChannel(c, c.Tools.Verifier.Chat)
	for i, v := range verifiersOf(c) {
		if i > 0 && !c.Tools.Verifier.Chat.Enabled {
			channel = VerifierChannel(c, v.Chat)
		}
		if v.Chat.Enabled && v.Chat.ChatID != "" {
			places = append(places, approval.Target{Channel: channel, To: string(v.Chat.ChatID)}.Normal())
		}
	}
	return places
}

// AsksVerifier reports whether any agent's calls are verified.
func AsksVerifier(c config.Config) bool {
	for _, a := range c.Agents.List {
		if a.Tools.Verifier.Enabled {
			return true
		}
	}
	return c.Tools.Verifier.Enabled
}
