package main

import (
	"log/slog"
	"net/url"
	"strings"

	"approvalbot/verifier"
)

// verifierConfig is who has to agree from outside, of all agents and of single
// ones. Secrets stand in it as they are.
func (c Config) verifierConfig() verifier.Config {
	out := verifier.Config{
		Settings: c.Tools.Verifier.settings(), Agents: map[string]verifier.Settings{}, Production: c.Server.Production,
	}
	for _, a := range c.Agents.List {
		out.Agents[a.ID] = a.Tools.Verifier.settings()
	}
	return out
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
	c.checkVerifierChat("tools.verifier.telegram", cfg.Tools.Verifier.Telegram, cfg.Channels.Telegram)
	for i, a := range cfg.Agents.List {
		c.checkVerifierChat(index("agents.list", i)+".tools.verifier.telegram", a.Tools.Verifier.Telegram, cfg.Channels.Telegram)
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

// checkVerifierChat looks at the verifier's Telegram chat. The channel's bot asks
// there: a second reader of the same bot would take its updates away, and one
// bot is enough for both.
func (c *checker) checkVerifierChat(key string, v VerifierTelegramConfig, channel TelegramConfig) {
	for i, id := range v.AllowedUserIDs {
		c.telegramUser(index(key+".allowedUserIds", i), id)
	}
	distinct(c, key+".allowedUserIds", v.AllowedUserIDs)
	switch {
	case !v.Enabled:
	case v.BotToken != "" && v.BotToken != channel.BotToken:
		c.mistake(key+".botToken", "is not the bot of channels.telegram; use one bot for both, and leave this key out")
	case !channel.On():
		c.mistake(key+".enabled", "needs channels.telegram.botToken: that bot asks")
	}
}
