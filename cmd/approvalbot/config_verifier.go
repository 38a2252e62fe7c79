package main

import (
	"cmp"
	"log/slog"
	"net/url"
	"strings"

	"approvalbot/core"
	"approvalbot/verifier"
)

// verifierConfig is who has to agree from outside, of all agents and of single
// ones. Secrets stand in it as they are.
func (c Config) verifierConfig() verifier.Config {
	settings := func(v VerifierConfig) verifier.Settings {
		s := v.settings()
		s.Telegram.Channel = c.verifierChannel(v.Telegram)
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

// verifierChannel is the channel of the bot that asks in a verifier's chat.
func (c Config) verifierChannel(t VerifierTelegramConfig) string {
	if t.BotToken != "" && t.BotToken != c.Channels.Telegram.BotToken {
		return core.VerifierChannel
	}
	return "telegram"
}

// verifierBot is the verifier's own bot: it is off where there is none, or where it is
// that of channels.telegram.
func (c Config) verifierBot() TelegramConfig {
	for _, v := range c.verifiers() {
		if t := v.Telegram; t.Enabled && c.verifierChannel(t) == core.VerifierChannel {
			apiURL := cmp.Or(t.APIURL, c.Channels.Telegram.APIURL)
			return TelegramConfig{BotToken: t.BotToken, APIURL: apiURL, Updates: Updates{Mode: "polling"}}
		}
	}
	return TelegramConfig{}
}

// verifiers are the verifier's blocks: of all agents, then of single ones.
func (c Config) verifiers() []VerifierConfig {
	all := []VerifierConfig{c.Tools.Verifier}
	for _, a := range c.Agents.List {
		all = append(all, a.Tools.Verifier)
	}
	return all
}

func (v VerifierConfig) settings() verifier.Settings {
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
		Telegram: verifier.Telegram{
			Enabled: v.Telegram.Enabled, ChatID: string(v.Telegram.ChatID), Timeout: v.Telegram.Timeout,
			AllowedUserIDs: texts(v.Telegram.AllowedUserIDs),
		},
	}
}

func (c *checker) checkVerifiers(cfg *Config) {
	c.checkVerifierChat("tools.verifier.telegram", cfg.Tools.Verifier.Telegram, cfg)
	for i, a := range cfg.Agents.List {
		c.checkVerifierChat(index("agents.list", i)+".tools.verifier.telegram", a.Tools.Verifier.Telegram, cfg)
	}
	made, warnings, err := verifier.New(cfg.verifierConfig(), slog.New(slog.DiscardHandler))
	if made != nil {
		made.Close()
	}
	c.told("tools.verifier", cfg.Agents.List, warnings, err)
}

// classifierConfig is the model that is asked, without what watches it.
func (c Config) classifierConfig() verifier.ClassifierConfig {
	x := c.approvals().Classifier
	return verifier.ClassifierConfig{
		Provider: x.Provider, Model: x.Model, APIURL: x.APIURL, APIKey: string(x.APIKey),
		TimeoutMs: x.TimeoutMs, MaxInputChars: x.MaxInputChars, Production: c.Server.Production,
	}
}

func (c *checker) checkClassifier(key string, x ClassifierConfig, in verifier.ClassifierConfig) {
	if !(x.MinConfidence > 0 && x.MinConfidence <= 1) {
		c.mistake(key+".minConfidence", "must be above 0 and at most 1")
	}
	if x.OnLowConfidence == "allow" {
		c.warn(key+".onLowConfidence", "allow fails open: what the classifier is unsure of would run")
	}
	if !x.Enabled {
		return
	}
	if u, err := url.Parse(x.APIURL); x.APIKey == "" && (err != nil || !loopback(u.Hostname())) {
		c.warn(key+".apiKey", "is empty: a provider that wants a key gives no opinion, and static rules alone decide")
	}
	made, warnings, err := verifier.NewClassifier(in, slog.New(slog.DiscardHandler))
	if made != nil {
		made.Close()
	}
	c.told(key, nil, warnings, err)
}

// told reports what another package says of a block, which names keys as the
// file does, except that it knows agents by their id.
func (c *checker) told(block string, agents []AgentConfig, warnings []string, err error) {
	for _, w := range warnings {
		key, text := keyOf(block, agents, w)
		c.warn(key, "%s", text)
	}
	for _, e := range each(err) {
		key, text := keyOf(block, agents, inOneLine(e))
		c.mistake(key, "%s", text)
	}
}

// keyOf takes "key: what is wrong" apart. A sentence without a key belongs to the
// block.
func keyOf(block string, agents []AgentConfig, line string) (key, text string) {
	for i, a := range agents {
		if rest, ok := strings.CutPrefix(line, "agents."+a.ID+".tools."); ok {
			key, text, _ = strings.Cut(rest, ": ")
			return index("agents.list", i) + ".tools." + key, text
		}
	}
	key, text, ok := strings.Cut(line, ": ")
	if !ok || !strings.HasPrefix(key, block) {
		return block, line
	}
	return key, text
}

// each takes a joined error apart.
func each(err error) []error {
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		return list.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// checkVerifierChat looks at the verifier's Telegram chat. One bot asks in all of the
// verifier's chats: its own, or that of channels.telegram.
func (c *checker) checkVerifierChat(key string, v VerifierTelegramConfig, cfg *Config) {
	channel := cfg.Channels.Telegram
	for i, id := range v.AllowedUserIDs {
		c.telegramUser(index(key+".allowedUserIds", i), id)
	}
	distinct(c, key+".allowedUserIds", v.AllowedUserIDs)
	common := cfg.Tools.Verifier.Telegram
	askedByCommon := common.Enabled && cfg.verifierChannel(common) == core.VerifierChannel
	switch {
	case !v.Enabled:
	case cfg.verifierChannel(v) == core.VerifierChannel:
		c.checkVerifierBot(key, v, cfg)
	case askedByCommon && v.BotToken != "":
		c.mistake(key+".botToken", "is not the bot of tools.verifier.telegram, which asks in this chat; leave this key out")
	case askedByCommon:
	case !channel.On():
		c.mistake(key+".botToken", "is empty, and so is channels.telegram.botToken: one of these bots asks")
	case v.APIURL != "":
		c.warn(key+".apiUrl", "has no effect: the bot of channels.telegram asks")
	}
}

// checkVerifierBot looks at a bot of the verifier's own.
func (c *checker) checkVerifierBot(key string, v VerifierTelegramConfig, cfg *Config) {
	c.botToken(key+".botToken", v.BotToken)
	switch channel := cfg.Channels.Telegram; {
	case sameBot(v.BotToken, channel.BotToken):
		c.mistake(key+".botToken", "is another token of the bot of channels.telegram; use the same one, or another bot")
	case v.BotToken != cfg.verifierBot().BotToken:
		c.mistake(key+".botToken", "is not the bot that asks in the verifier's other chats; use one bot for them all")
	}
	c.checkBotURL(key+".apiUrl", cmp.Or(v.APIURL, cfg.Channels.Telegram.APIURL))
}

// sameBot reports whether two tokens are of one bot, whose id stands before the colon.
func sameBot(a, b Secret) bool {
	id := func(s Secret) string { before, _, _ := strings.Cut(string(s), ":"); return before }
	return id(a) != "" && id(a) == id(b)
}
