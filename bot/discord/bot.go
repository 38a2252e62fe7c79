// Package discord carries cards to Discord and brings taps, forms and commands
// back, over its REST API and gateway, version 10
// (https://discord.com/developers/docs).
//
// What people do arrives as interactions and messages, over the gateway or as
// signed HTTP requests. Each is written to the [Inbox] as it came, then gets its
// first answer, which Discord wants within three seconds: "deferred", or the form
// for a reason. Only then, and from the inbox, never from the wire, is it put
// before the [Handler], in order for each person, and the first answer is replaced
// by the result. Discord keeps no updates for a bot that is away, so after a crash
// only the updates in the inbox can be caught up with.
//
// Cards are messages of Components V2 (message flag 1<<15) and not embeds. An
// embed is an ornament to Discord: a person who has turned previews off does not
// see it, but still sees the buttons below. A component cannot be hidden, has the
// full width on a phone, gets no previews of addresses, and may hold 4,000
// characters in order. The price is that the flag can never be taken off a
// message again, so a card stays one when it ends. The row behind More is a
// message for one person (ephemeral) and not on the card: a card that many see
// does not change because one of them looked, and a menu cannot overwrite an end
// that came in between.
//
// discordgo (v0.29.0) keeps the gateway connection, makes the REST calls, has the types
// of what is sent and of what a probe reads, and computes permissions. What it cannot do
// is ours:
//   - read interactions and messages ([Inbox]): it gives up at a component that it does
//     not know, so a tap on a newer message would be lost.
//   - keep rate limits: it sleeps, even if the context has ended; and errors, which
//     have addresses with tokens in them (package rest).
//   - nonce and enforce_nonce (discordgo issue 1577), a content of null in an edit, labels
//     in a form (1656 and 1672, after v0.29.0), and an empty list of choices.
//
// The package knows the wire, and not who may decide what.
package discord

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"approvalbot/bot/discord/gateway"
	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Handler answers people's actions in chats.
type Handler interface {
	// Handle does what the message asks and gives the answer. If it returns no
	// error, m.Update is marked handled. An error means that the desk cannot
	// work now: the update stays unhandled and is tried again.
	Handle(ctx context.Context, m textcmd.Message) (textcmd.Reply, error)
	// Reason is Handle for the form that asks for a deny's reason: m.Text is the
	// reason, code the approval's.
	Reason(ctx context.Context, m textcmd.Message, code string) (textcmd.Reply, error)
	// Choices suggests codes for what was typed so far, at most limit.
	Choices(ctx context.Context, m textcmd.Message, limit int) ([]textcmd.Choice, error)
	// MayDecide reports whether the account is an approver now; it does not block.
	MayDecide(v approval.Voter) bool
}

// Inbox keeps updates until they are handled.
type Inbox = textcmd.Inbox

// Ways in which updates come, for [Config.Updates].
const (
	Gateway = "gateway" // over a connection that the bot opens: needs no address of its own
	// Discord sends them to [Bot.InteractionsHandler]; no mentions, only commands and taps.
	Interactions = "interactions"
)

// DefaultAPIURL is Discord's own server.
const DefaultAPIURL = "https://discord.com"

// finishTime is how long work that has begun may continue after the end of Run's
// context.
const finishTime = time.Second

// catchUpTime is how long updates of an earlier run may delay overdue timers.
const catchUpTime = 5 * time.Second

// Config configures a [Bot].
type Config struct {
	Token     string            // of the bot, from the developer portal
	APIURL    string            // empty means DefaultAPIURL
	Updates   string            // Gateway (also when empty) or Interactions
	PublicKey string            // of the application, 64 hexadecimal digits; for Interactions
	Transport http.RoundTripper // of REST calls; nil means connections of the bot's own
	Dial      gateway.Dial      // of the gateway; nil means TCP, with TLS if the address is wss
}

// Bot is one application's bot. It implements [core.Channel]. All methods are
// safe for concurrent use.
type Bot struct {
	cfg     Config
	key     ed25519.PublicKey // nil if interactions come over the gateway
	source  string            // of its updates in the inbox
	handler Handler
	inbox   Inbox
	log     *slog.Logger

	rest   *rest.Client
	pace   pace
	places places
	self   self
	intake *textcmd.Intake[update]
	health *textcmd.Health
	acks   acks
	caught chan struct{}
	tasks  tasks // first answers that are under way
}

var _ core.Channel = (*Bot)(nil)

// checked fills in defaults and returns an error for wrong settings.
func (c Config) checked() (Config, ed25519.PublicKey, error) {
	if c.APIURL == "" {
		c.APIURL = DefaultAPIURL
	}
	if c.Updates == "" {
		c.Updates = Gateway
	}
	c.APIURL = strings.TrimRight(c.APIURL, "/")
	c.Token = strings.TrimPrefix(c.Token, "Bot ")
	u, err := url.Parse(c.APIURL)
	switch {
	case c.Token == "" || strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return c, nil, fmt.Errorf("the Discord bot token is empty, or contains a space or a character that no " +
			"token has: copy it again from the developer portal")
	case err != nil, u.Scheme != "https" && u.Scheme != "http", u.Host == "":
		return c, nil, fmt.Errorf("the Discord API address (apiUrl) must be an http or https URL")
	case c.Updates != Gateway && c.Updates != Interactions:
		return c, nil, fmt.Errorf("discord updates must be %s or %s", Gateway, Interactions)
	case c.Updates == Gateway:
		return c, nil, nil
	}
	key, err := hex.DecodeString(strings.TrimSpace(c.PublicKey))
	if err != nil || len(key) != ed25519.PublicKeySize {
		return c, nil, fmt.Errorf("discord interactions need the application's publicKey, 64 hexadecimal digits")
	}
	return c, key, nil
}

// botID reads the bot's user id, with which a token begins, so that a new token
// of the same bot finds the old one's updates. It is empty for a token of
// another form.
func botID(token string) string {
	head, _, _ := strings.Cut(token, ".")
	id, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(head, "="))
	if err != nil || !render.IsID(string(id)) {
		return "bot"
	}
	return string(id)
}

// CaughtUp is closed once the updates that an earlier run left in the inbox were
// put before the desk, or five seconds after the start. Discord itself does not
// keep updates.
func (b *Bot) CaughtUp() <-chan struct{} { return b.caught }

// Poke has the inbox read.
func (b *Bot) Poke() { b.intake.Poke() }

// State tells whether updates flow, and the remedy if they do not.
func (b *Bot) State() core.ChannelState { return b.health.State() }
