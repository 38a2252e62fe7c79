package verifier

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
)

// Config is what the operator says about outside verification of calls.
type Config struct {
	Settings // tools.verifier: of all agents

	// Agents overrides Settings for one agent each, by its id. An override can
	// only tighten: see [New].
	Agents map[string]Settings

	Production bool // https only
}

// Settings is the verifier's block, of all agents or of one.
type Settings struct {
	Enabled  bool
	Scope    Scope
	FailMode string // "deny" (default) or "allow": the verdict if the webhook gives no valid answer
	Webhook  Webhook
	Chat     Chat
}

// Scope says which tools are verified: one of the two lists, or, if both are
// empty, every tool. Names are exact except for letter case, "_" and "-", and
// exec includes its names in other runtimes.
type Scope struct {
	Include []string // only these
	Exclude []string // all but these
}

// Webhook is the HTTP authority.
type Webhook struct {
	URL      string
	Timeout  int               // seconds for the whole exchange; 0 means 30
	Headers  map[string]string // sent with every request
	Secret   string            // signs every request, if set
	CacheTTL int               // seconds for which an allow counts for the same call below R3; 0 means not at all
}

// Chat is the verifier's own chat, on [platform.Verifier]. The list of users is required: with an
// empty one no person could answer.
type Chat struct {
	Enabled        bool
	Channel        string // whose bot asks there; empty means that of the platform
	ChatID         string
	Timeout        int // seconds to wait for a tap; 0 means 120
	AllowedUserIDs []string
}

// Defaults and limits, in seconds.
const (
	defaultTimeout = 30
	defaultTap     = 120
	maxTimeout     = 3600
	maxCacheTTL    = 24 * 3600
)

// checker collects every mistake of a configuration.
type checker struct {
	production bool
	bad        []error
	warnings   []string
}

func (c *checker) mistake(key, format string, args ...any) {
	c.bad = append(c.bad, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
}

func (c *checker) warn(key, text string) { c.warnings = append(c.warnings, key+": "+text) }

// check names every mistake of the configuration, and what is doubtful in it.
func (cfg Config) check() ([]string, error) {
	c := &checker{production: cfg.Production}
	const all = "tools.verifier"
	c.settings(cfg.Settings, all)
	if cfg.Enabled && cfg.Webhook.URL == "" && !cfg.Chat.Enabled {
		c.mistake(all, "is enabled, but has no service or person to ask: set webhook.url or telegram.enabled")
	}
	if cfg.Chat.Enabled {
		c.chat(cfg.Chat, all+".telegram")
	}
	for _, id := range slices.Sorted(maps.Keys(cfg.Agents)) {
		c.agent(cfg.Settings, cfg.Agents[id], "agents."+id+".tools.verifier")
	}
	return c.warnings, errors.Join(c.bad...)
}

// settings checks what is wrong with a block in itself.
func (c *checker) settings(s Settings, key string) {
	if len(s.Scope.Include) > 0 && len(s.Scope.Exclude) > 0 {
		c.mistake(key+".scope", "include and exclude contradict each other; use one of them")
	}
	for _, name := range slices.Concat(s.Scope.Include, s.Scope.Exclude) {
		if name == "" || strings.ContainsAny(name, "*?[]{} ") || strings.HasPrefix(name, "group:") {
			c.mistake(key+".scope", "takes exact tool names, not %q", name)
		}
	}
	switch s.FailMode {
	case "", "deny":
	case "allow":
		c.warn(key+".failMode", s.failsOpen())
	default:
		c.mistake(key+".failMode", "must be deny or allow")
	}
	c.webhook(s.Webhook, key+".webhook")
	c.seconds(s.Chat.Timeout, maxTimeout, key+".telegram.timeout")
}

// failsOpen describes the effect of failMode allow.
func (s Settings) failsOpen() string {
	switch {
	case s.Chat.Enabled && s.Webhook.URL == "":
		return "allow fails open: while the chat in telegram cannot be reached, calls run without its people's yes"
	case s.Chat.Enabled:
		return "allow fails open: without the webhook's valid answer, and while the chat in telegram cannot be " +
			"reached, calls run unverified"
	}
	return "allow fails open: when the verifier gives no valid answer, calls run unverified"
}

func (c *checker) webhook(w Webhook, key string) {
	c.seconds(w.Timeout, maxTimeout, key+".timeout")
	c.seconds(w.CacheTTL, maxCacheTTL, key+".cacheTTL")
	for name, value := range w.Headers {
		c.header(name, value, key+".headers")
	}
	if w.URL != "" {
		c.url(w.URL, key+".url")
	} else if w.Secret != "" || len(w.Headers) > 0 || w.CacheTTL != 0 {
		c.mistake(key, "has a secret, headers or cacheTTL, but no url they belong to")
	}
}

func (c *checker) seconds(n, limit int, key string) {
	if n < 0 || n > limit {
		c.mistake(key, "must be 1 to %d seconds, or 0 for the default", limit)
	}
}

// chat checks a chat's block that is complete in itself.
func (c *checker) chat(t Chat, key string) {
	if err := (approval.Target{Channel: platform.Verifier, To: t.ChatID}).Normal().Validate(); err != nil {
		c.mistake(key+".chatId", "%v", err)
	}
	if len(t.AllowedUserIDs) == 0 {
		c.mistake(key+".allowedUserIds", "must name the people who may tap: with an empty list no person can answer")
	}
	c.users(t.AllowedUserIDs, key)
}

func (c *checker) users(ids []string, key string) {
	for _, id := range ids {
		if !isUser(id) {
			c.mistake(key+".allowedUserIds", "takes numeric %s user ids, not %q", platform.ByName(platform.Verifier).Title, id)
		}
	}
}

// isUser reports whether id is a user's id: digits, no zero in front.
func isUser(id string) bool {
	return id != "" && len(id) <= 19 && id[0] != '0' && strings.Trim(id, "0123456789") == ""
}

// agent checks an override against the block that it tightens.
func (c *checker) agent(all, own Settings, key string) {
	c.settings(own, key)
	if own.FailMode == "allow" && all.FailMode != "allow" {
		c.warn(key+".failMode", "allow has no effect: tools.verifier.failMode is deny, and the most restrictive counts")
	}
	webhook, people := all.Webhook.URL != "" || own.Webhook.URL != "", all.Chat.Enabled || own.Chat.Enabled
	if own.Enabled && !webhook && !people {
		c.mistake(key, "is enabled, but has no service or person to ask: set webhook.url or telegram.enabled")
	}
	switch {
	case !own.Chat.Enabled:
	case all.Chat.Enabled:
		c.narrower(all.Chat, own.Chat, key+".telegram")
	default:
		c.chat(own.Chat, key+".telegram")
	}
}

// narrower checks a chat's block that only tightens another.
func (c *checker) narrower(all, own Chat, key string) {
	c.users(own.AllowedUserIDs, key)
	if own.ChatID != "" && own.place().To != all.place().To {
		c.mistake(key+".chatId", "must be that of tools.verifier.telegram, or be left out")
	}
	for _, id := range own.AllowedUserIDs {
		if !slices.Contains(all.AllowedUserIDs, id) {
			c.mistake(key+".allowedUserIds", "names %q, whom tools.verifier.telegram does not allow: an agent's "+
				"block can only tighten", id)
		}
	}
}

// place is the chat as the bot that asks there has it.
func (t Chat) place() approval.Target {
	return approval.Target{Channel: cmp.Or(t.Channel, platform.Verifier), To: t.ChatID}.Normal()
}

// Accounts gives the accounts of the verifier's people, as "telegram:<id>", by agent
// that has settings, and under "" for all others. A list is empty if no chat is on.
func (cfg Config) Accounts() map[string][]string {
	out := map[string][]string{}
	add := func(agent string, own Settings) {
		out[agent] = []string{}
		if p := peopleFor(cfg.Settings, own); p != nil {
			out[agent] = p.Accounts
		}
	}
	add("", Settings{})
	for agent, own := range cfg.Agents {
		add(agent, own)
	}
	return out
}
