package effective

import (
	"net/netip"
	"slices"
	"strings"

	"approvalbot/internal/config"
	"approvalbot/internal/lazy"
	"approvalbot/internal/platform"
)

func (c *checker) checkPeople(people []config.Person) {
	names := make([]string, len(people))
	owners := map[string]string{}
	mine := func(key, account, name string, id config.ID) {
		if id == "" {
			return
		}
		if other, taken := owners[account+string(id)]; taken {
			c.Mistake(key, "belongs to %s already; one account is one person", other)
			return
		}
		owners[account+string(id)] = name
	}
	for i, p := range people {
		names[i] = p.Name
		key := config.Index("people", i)
		for _, on := range platform.Rows {
			if id := p.Accounts[on.Name]; id != "" {
				c.user(key+"."+on.Name, id, on)
				mine(key+"."+on.Name, on.Name+":", p.Name, id)
			}
		}
		distinct(c, key+".roles", p.Roles)
		c.dutyRoles(key+".roles", p.Roles)
		c.checkTimes(key, p)
		if p.Email != "" {
			c.checkEmail(key+".email", p.Email)
			mine(key+".email", "email:", p.Name, config.ID(strings.ToLower(p.Email)))
		}
	}
	c.names("people", "name", names)
}

// user accepts an id that can be that of a person, or of a role, on a platform.
func (c *checker) user(key string, id config.ID, on platform.Row) {
	if problem := on.WrongUser(string(id)); problem != "" {
		c.Mistake(key, "%s", problem)
	}
}

// users accepts a list of such ids without repetition.
func (c *checker) users(key string, ids []config.ID, on platform.Row) {
	for i, id := range ids {
		c.user(config.Index(key, i), id, on)
	}
	distinct(c, key, ids)
}

func (c *checker) checkChannels(channels config.Channels) {
	for _, on := range platform.Rows {
		key, bot := "channels."+on.Name, channels.Bots[on.Name]
		c.channel(key, bot.On(), bot.BotToken, bot.APIURL)
		c.users(key+".allowedUserIds", bot.AllowedUserIDs, on)
		c.users(key+".allowedRoleIds", bot.AllowedRoleIDs, on)
		if bot.Updates.Mode == "webhook" {
			c.checkWebhook(key+".updates.webhook", bot.Updates.Webhook, on)
		}
		switch {
		case !bot.On() || len(bot.AllowedUserIDs) > 0 || len(bot.AllowedRoleIDs) > 0:
		case on.Roles:
			c.Warn(key+".allowedUserIds", "is empty, and so is allowedRoleIds: no person may decide on %s", on.Title)
		default:
			c.Warn(key+".allowedUserIds", "is empty: no person may decide on %s", on.Title)
		}
	}
}

// checkWebhook accepts what a platform with webhooks accepts: https, and a secret of 1 to
// 256 letters, digits, _ and - (Bot API, setWebhook).
func (c *checker) checkWebhook(key string, w config.Webhook, on platform.Row) {
	if u := c.checkURL(key+".url", w.URL); u != nil && u.Scheme != "https" {
		c.Warn(key+".url", "is http, but %s itself delivers to https only", on.Title)
	}
	switch {
	case len(w.Secret) > 256 || !webhookSecret.MatchString(string(w.Secret)):
		c.Mistake(key+".secret", "must be 1 to 256 letters, digits, _ or -")
	case len(w.Secret) < 16:
		c.Warn(key+".secret", "is short; openssl rand -hex 32 makes a good one")
	}
}

var webhookSecret = lazy.Pattern(`^[A-Za-z0-9_-]+$`)

func (c *checker) channel(key string, on bool, token config.Secret, apiURL string) {
	if !on {
		if c.Has(key) {
			c.Warn(key+".botToken", "is empty: this chat is off")
		}
	}
	c.botToken(key+".botToken", token)
	if on {
		c.checkBotURL(key+".apiUrl", apiURL)
	} else {
		c.checkURL(key+".apiUrl", apiURL)
	}
}

func (c *checker) botToken(key string, token config.Secret) {
	if strings.ContainsFunc(string(token), func(r rune) bool { return r <= ' ' || r > '~' || r == '/' }) {
		c.Mistake(key, "is not a bot token: it has blanks or characters that no token has")
	}
}

// checkBotURL checks the address of a platform's server, to which a bot's token is
// sent.
func (c *checker) checkBotURL(key, apiURL string) {
	if u := c.checkURL(key, apiURL); u != nil && u.Scheme == "http" && !config.Loopback(u.Hostname()) {
		c.Warn(key, "is http: the bot token travels in the clear")
	}
}

func (c *checker) checkTokens(tokens []config.Token, people []config.Person) {
	names := make([]string, len(tokens))
	secrets := map[config.Secret]int{}
	for i, t := range tokens {
		names[i] = t.Name
		key := config.Index("server.tokens", i)
		c.tokenSecret(key+".token", t.Token)
		if first, twice := secrets[t.Token]; twice && t.Token != "" {
			c.Mistake(key+".token", "is the same as that of %s", config.Index("server.tokens", first))
		} else {
			secrets[t.Token] = i
		}
		if t.CallbackSecret != "" && len(t.CallbackSecret) < 16 {
			c.Warn(key+".callbackSecret", "is short; openssl rand -hex 32 makes a good one")
		}
		c.tokenRights(key, t, people)
	}
	c.names("server.tokens", "name", names)
	if len(tokens) == 0 {
		c.Warn("server.tokens", "is empty: no program may ask")
	}
}

func (c *checker) tokenSecret(key string, s config.Secret) {
	switch {
	case s == "":
		c.Mistake(key, "is empty; openssl rand -hex 32 makes a good one")
	case len(s) > 512 || strings.ContainsFunc(string(s), func(r rune) bool { return r <= ' ' || r > '~' }):
		c.Mistake(key, "must be at most 512 visible ASCII characters without blanks")
	case len(s) < 16:
		c.Warn(key, "is shorter than 16 characters and could be guessed; openssl rand -hex 32 makes a good one")
	}
}

func (c *checker) tokenRights(key string, t config.Token, people []config.Person) {
	asks, decides := slices.Contains(t.Scopes, "approvals.request"), slices.Contains(t.Scopes, "operator.approvals")
	if len(t.Scopes) == 0 {
		c.Mistake(key+".scopes", "must name what the token may do")
	}
	distinct(c, key+".scopes", t.Scopes)
	distinct(c, key+".sessionChats", t.SessionChats)
	switch {
	case decides && t.Person == "":
		c.Warn(key, "has operator.approvals but no person, so the token can look at approvals but not decide")
	case decides && asks:
		c.Warn(key, "may both ask and decide; it counts as one person, who cannot decide what the token asked")
	}
	if t.RequireRequester && !asks {
		c.Warn(key+".requireRequester", "has no effect: the token may not ask (approvals.request)")
	}
	if t.MayConfine && !asks {
		c.Warn(key+".mayConfine", "has no effect: the token may not ask (approvals.request)")
	}
	switch {
	case t.TrustToolHints && !asks:
		c.Warn(key+".trustToolHints", "has no effect: the token may not ask (approvals.request)")
	case t.TrustToolHints:
		c.Warn(key+".trustToolHints", "lowers risk: the desk believes this token if it says that a tool only "+
			"reads, or which server a tool belongs to; give it only to a bridge whose statements agents "+
			"cannot choose")
	}
	if t.Person != "" && !config.GoodName(t.Person) {
		c.Mistake(key+".person", "must be a person's name")
	} else if t.Person != "" && !slices.ContainsFunc(people, func(p config.Person) bool { return p.Name == t.Person }) {
		c.Warn(key+".person", "is not listed under people, so this token counts as a separate person")
	}
	if len(t.AgentID) > 256 {
		c.Mistake(key+".agentId", "must be at most 256 bytes")
	}
	for i, network := range t.CallbackAllow {
		if _, err := netip.ParsePrefix(network); err != nil {
			c.Mistake(config.Index(key+".callbackAllow", i), "must be a network such as 10.0.0.0/8")
		}
	}
}
