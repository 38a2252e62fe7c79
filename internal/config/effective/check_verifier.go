package effective

import (
	"cmp"
	"log/slog"
	"net/url"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/platform"
	"approvalbot/internal/verifier"
)

func (c *checker) checkVerifiers(cfg *config.Config) {
	c.checkVerifierChat(config.VerifierChatKey, cfg.Tools.Verifier.Chat, cfg)
	for i, a := range cfg.Agents.List {
		c.checkVerifierChat(config.Index("agents.list", i)+"."+config.VerifierChatKey, a.Tools.Verifier.Chat, cfg)
	}
	made, warnings, err := verifier.New(Verifier(*cfg), slog.New(slog.DiscardHandler))
	if made != nil {
		made.Close()
	}
	c.told("tools.verifier", cfg.Agents.List, warnings, err)
}

func (c *checker) checkClassifier(key string, x config.Classifier, in verifier.ClassifierConfig) {
	if !(x.MinConfidence > 0 && x.MinConfidence <= 1) {
		c.Mistake(key+".minConfidence", "must be above 0 and at most 1")
	}
	if x.OnLowConfidence == "allow" {
		c.Warn(key+".onLowConfidence", "allow fails open: a call runs if the classifier is unsure about it")
	}
	if !x.Enabled {
		return
	}
	if u, err := url.Parse(x.APIURL); x.APIKey == "" && (err != nil || !config.Loopback(u.Hostname())) {
		c.Warn(key+".apiKey", "is empty; if the provider requires a key, it gives no opinion, and the static "+
			"rules alone decide")
	}
	made, warnings, err := verifier.NewClassifier(in, slog.New(slog.DiscardHandler))
	if made != nil {
		made.Close()
	}
	c.told(key, nil, warnings, err)
}

// told reports another package's findings about a block. That package names
// keys as the file does, except that it knows agents by their id.
func (c *checker) told(block string, agents []config.Agent, warnings []string, err error) {
	for _, w := range warnings {
		key, text := keyIn(block, agents, w)
		c.Warn(key, "%s", text)
	}
	for _, e := range each(err) {
		key, text := keyIn(block, agents, inOneLine(e.Error()))
		c.Mistake(key, "%s", text)
	}
}

// keyIn splits a sentence of the form "key: mistake". A sentence without a key
// belongs to the block.
func keyIn(block string, agents []config.Agent, line string) (key, text string) {
	for i, a := range agents {
		if rest, ok := strings.CutPrefix(line, "agents."+a.ID+".tools."); ok {
			key, text, _ = strings.Cut(rest, ": ")
			return config.Index("agents.list", i) + ".tools." + key, text
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

// checkVerifierChat looks at the verifier's chat. One bot asks in all of the
// verifier's chats: its own, or that of its platform.
func (c *checker) checkVerifierChat(key string, v config.VerifierChat, cfg *config.Config) {
	channel := cfg.Channels.Bots[platform.Verifier]
	c.users(key+".allowedUserIds", v.AllowedUserIDs, *platform.ByName(platform.Verifier))
	common := cfg.Tools.Verifier.Chat
	askedByCommon := common.Enabled && VerifierChannel(*cfg, common) == approval.VerifierChannel
	switch {
	case !v.Enabled:
	case VerifierChannel(*cfg, v) == approval.VerifierChannel:
		c.checkVerifierBot(key, v, cfg)
	case askedByCommon && v.BotToken != "":
		c.Mistake(key+".botToken", "is not the bot of %s, which asks in this chat; leave this key out", config.VerifierChatKey)
	case askedByCommon:
	case !channel.On():
		c.Mistake(key+".botToken", "is empty, and so is channels.%s.botToken; set one of them, because a bot "+
			"must ask", platform.Verifier)
	case v.APIURL != "":
		c.Warn(key+".apiUrl", "has no effect: the bot of channels.%s asks", platform.Verifier)
	}
}

// checkVerifierBot looks at a bot of the verifier's own.
func (c *checker) checkVerifierBot(key string, v config.VerifierChat, cfg *config.Config) {
	c.botToken(key+".botToken", v.BotToken)
	switch channel := cfg.Channels.Bots[platform.Verifier]; {
	case sameBot(v.BotToken, channel.BotToken):
		c.Mistake(key+".botToken", "is a different token of the bot of channels.%s; use the same token, or "+
			"another bot", platform.Verifier)
	case v.BotToken != VerifierBot(*cfg).BotToken:
		c.Mistake(key+".botToken", "is not the bot that asks in the verifier's other chats; use one bot for them all")
	}
	c.checkBotURL(key+".apiUrl", cmp.Or(v.APIURL, cfg.Channels.Bots[platform.Verifier].APIURL))
}

// sameBot reports whether two tokens are of one bot, whose id is before the colon.
func sameBot(a, b config.Secret) bool {
	id := func(s config.Secret) string { before, _, _ := strings.Cut(string(s), ":"); return before }
	return id(a) != "" && id(a) == id(b)
}
