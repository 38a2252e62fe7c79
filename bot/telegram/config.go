package telegram

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"approvalbot/internal/lazy"
)

// Ways in which updates come, for [Config.Updates].
const (
	Polling = "polling" // the bot asks for them: needs no address of its own
	Webhook = "webhook" // Telegram sends them to [Bot.WebhookHandler]
)

// DefaultAPIURL is Telegram's own Bot API server.
const DefaultAPIURL = "https://api.telegram.org"

// platform is the channel whose accounts Telegram's users are, whichever bot they meet.
const platform = "telegram"

// platformName names the platform for people, and the bot if it is not the usual one.
func platformName(channel string) string {
	if channel == platform {
		return "Telegram"
	}
	return "Telegram (" + channel + ")"
}

// Config is what a [Bot] needs to know.
type Config struct {
	Token         string            // from @BotFather: "<bot id>:<secret>"
	Channel       string            // the outbox channel that it serves; empty means "telegram"
	APIURL        string            // empty: DefaultAPIURL
	Updates       string            // Polling (also when empty) or Webhook
	WebhookURL    string            // at which Telegram reaches WebhookHandler
	WebhookSecret string            // 1 to 256 of A-Z a-z 0-9 _ -
	Transport     http.RoundTripper // nil: connections of the bot's own
}

var (
	tokenForm  = lazy.Pattern(`^[1-9][0-9]*:[A-Za-z0-9_-]+$`)
	secretForm = lazy.Pattern(`^[A-Za-z0-9_-]+$`) // Bot API, setWebhook.secret_token
)

// checked fills in defaults and returns an error for wrong settings.
func (c Config) checked() (Config, error) {
	if c.APIURL == "" {
		c.APIURL = DefaultAPIURL
	}
	if c.Updates == "" {
		c.Updates = Polling
	}
	if c.Channel == "" {
		c.Channel = platform
	}
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	u, err := url.Parse(c.APIURL)
	switch {
	case !tokenForm.MatchString(c.Token):
		return c, fmt.Errorf("the Telegram bot token does not look like 123456:ABC-DEF, as @BotFather gives it")
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return c, fmt.Errorf("the Telegram API address (apiUrl) must be an http or https URL")
	case c.Updates != Polling && c.Updates != Webhook:
		return c, fmt.Errorf("telegram updates must be %s or %s", Polling, Webhook)
	case c.Updates == Webhook && c.WebhookURL == "":
		return c, fmt.Errorf("telegram webhook needs a url")
	case c.Updates == Webhook && (len(c.WebhookSecret) > 256 || !secretForm.MatchString(c.WebhookSecret)):
		return c, fmt.Errorf("telegram webhook needs a secret of 1 to 256 letters, digits, _ or -")
	}
	return c, nil
}
