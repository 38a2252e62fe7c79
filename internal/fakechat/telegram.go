package fakechat

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// TB is the part of testing.TB that the fakes use.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// ErrClosed is returned by everything that waits when the fake is closed.
var ErrClosed = errors.New("fakechat: the fake is closed")

// TelegramOptions configures a [Telegram]. The zero value is usable.
type TelegramOptions struct {
	// Token is the bot's token, "<bot id>:<secret>". Default "123456:TEST".
	Token string
	// Username is the bot's username without "@". Default "approval_test_bot".
	Username string
	// Name is the bot's first name. Default "Approval".
	Name string
	// CanReadAllGroupMessages switches privacy mode off (Bots FAQ, "What
	// messages will my bot get?"). Default: privacy mode is on.
	CanReadAllGroupMessages bool
	// BotToBot switches the bot's Bot-to-Bot mode on, so that commands of other
	// bots reach it (core.telegram.org/api/bots/bot-to-bot).
	BotToBot bool
	// FirstUpdateID is the id of the first update. Default: random, as in the
	// server (td, TQueue.cpp).
	FirstUpdateID int
	// Now is the clock; it must not call the fake. Default time.Now. [Telegram.Advance]
	// adds to its time. If the clock does not move, long polls, their throttles and delays
	// end only by Advance.
	Now func() time.Time
	// AnswerWindow is how long a callback query can be answered. Telegram does
	// not document it; reports say 10 to 20 seconds. Default 15 s.
	AnswerWindow time.Duration
	// Limits switches the rate limiter on. Default: no limits.
	Limits *TelegramLimits
	// AnyWebhook allows http, every port and reserved addresses for setWebhook,
	// as the official server does with --local.
	AnyWebhook bool
	// WebhookClient sends the webhook requests. Default: a client that reaches only
	// loopback addresses.
	WebhookClient *http.Client
	// Addr is the address to listen on. Default "127.0.0.1:0".
	Addr string
	// InMemory serves over net.Pipe instead of TCP, for tests that run inside a
	// testing/synctest bubble. The bot must then use [Telegram.HTTPClient].
	InMemory bool
}

// Telegram is a Telegram Bot API server for one bot. All methods are safe for
// concurrent use.
type Telegram struct {
	stage
	opts    TelegramOptions
	url     string
	server  *http.Server
	pipe    *pipeListener // nil when on TCP
	methods map[string]telegramMethod

	token   string
	revoked bool
	me      *tgUser
	users   map[int64]*tgUser
	chats   map[int64]*TelegramChat
	lastUID int64
	lastCID int64
	lastBox int // message ids of private chats and basic groups share a counter

	queue     updateQueue
	poll      pollState
	hook      webhookState
	callbacks map[int64]*tgCallback
	documents map[string]*TelegramDocument
	commands  map[string][]TelegramCommand
	limits    limiter

	faults  []*tgFault
	journal []*TelegramCall
}

// NewTelegram starts a fake that is closed when the test ends.
func NewTelegram(tb TB, opts TelegramOptions) *Telegram {
	tb.Helper()
	tg, err := StartTelegram(opts)
	if err != nil {
		tb.Fatalf("fakechat: %v", err)
	}
	tg.tb = tb
	tb.Cleanup(tg.Close)
	return tg
}

// StartTelegram starts a fake without a test, for a demo, a benchmark or a
// program that runs the bot as a subprocess. The caller closes it.
func StartTelegram(opts TelegramOptions) (*Telegram, error) {
	opts = opts.withDefaults()
	id, err := strconv.ParseInt(strings.SplitN(opts.Token, ":", 2)[0], 10, 64)
	if err != nil || malformedToken(opts.Token) {
		return nil, fmt.Errorf("token %q has no bot id", opts.Token)
	}
	tg := &Telegram{
		opts:      opts,
		methods:   telegramMethods(),
		stage:     stage{clock: opts.Now, changed: make(chan struct{})},
		token:     opts.Token,
		users:     make(map[int64]*tgUser),
		chats:     make(map[int64]*TelegramChat),
		lastUID:   5_000_000_000, // real ids passed 2^32 long ago
		lastCID:   1_000_000_000 + rand.Int64N(1_000_000_000),
		lastBox:   1000 + rand.IntN(1000),
		callbacks: make(map[int64]*tgCallback),
		documents: make(map[string]*TelegramDocument),
		commands:  make(map[string][]TelegramCommand),
	}
	tg.me = &tgUser{TelegramProfile: TelegramProfile{ID: id, FirstName: opts.Name, Username: opts.Username, Bot: true}}
	tg.users[id] = tg.me
	tg.addSystemUsers()
	tg.queue.start(opts.FirstUpdateID)
	tg.limits.set(opts.Limits)
	if err := tg.listen(); err != nil {
		return nil, err
	}
	return tg, nil
}

func (o TelegramOptions) withDefaults() TelegramOptions {
	if o.Token == "" {
		o.Token = "123456:TEST"
	}
	if o.Username == "" {
		o.Username = "approval_test_bot"
	}
	if o.Name == "" {
		o.Name = "Approval"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.AnswerWindow == 0 {
		o.AnswerWindow = 15 * time.Second
	}
	if o.WebhookClient == nil {
		o.WebhookClient = loopbackClient()
	}
	if o.Addr == "" {
		o.Addr = "127.0.0.1:0"
	}
	return o
}

// listen starts the HTTP server.
func (tg *Telegram) listen() error {
	var listener net.Listener
	if tg.opts.InMemory {
		tg.pipe = newPipeListener()
		listener, tg.url = tg.pipe, "http://telegram.invalid"
	} else {
		tcp, err := net.Listen("tcp", tg.opts.Addr)
		if err != nil {
			return err
		}
		listener, tg.url = tcp, "http://"+tcp.Addr().String()
	}
	tg.server = &http.Server{Handler: http.HandlerFunc(tg.serve)}
	tg.running.Go(func() { tg.server.Serve(listener) })
	return nil
}

// Close ends all waiting requests and stops the server. It may be called twice.
func (tg *Telegram) Close() {
	tg.mu.Lock()
	tg.closed = true
	tg.wake()
	tg.mu.Unlock()
	tg.server.Close()
	tg.running.Wait()
}

// URL is the base URL; the bot calls URL/bot<token>/<method>.
func (tg *Telegram) URL() string { return tg.url }

// HTTPClient returns a new client that reaches the fake, also when it is in
// memory. The caller may change it.
func (tg *Telegram) HTTPClient() *http.Client {
	transport := &http.Transport{}
	if tg.pipe != nil {
		transport.DialContext = tg.pipe.dial
	}
	return &http.Client{Transport: transport}
}

// Token is the bot's token.
func (tg *Telegram) Token() string {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	return tg.token
}

// SetToken replaces the token, as BotFather's /revoke does: calls with the old
// one are answered 401 "Unauthorized", and a waiting getUpdates ends.
func (tg *Telegram) SetToken(token string) {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.token, tg.revoked = token, false
	tg.abortPoll(unauthorized())
	tg.wake()
}

// RevokeToken makes every call fail with 401 "Unauthorized" until
// [Telegram.SetToken].
func (tg *Telegram) RevokeToken() {
	tg.mu.Lock()
	defer tg.mu.Unlock()
	tg.revoked = true
	tg.abortPoll(unauthorized())
	tg.wake()
}
