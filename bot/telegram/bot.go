// Package telegram carries cards to Telegram and brings taps and commands back,
// over the Bot API (https://core.telegram.org/bots/api).
//
// What people do arrives as updates. The bot fetches them itself (getUpdates) or is
// sent them (setWebhook), writes each one to the [Inbox] as it came, and only then
// confirms it to Telegram, which forgets what is confirmed, so that a crash loses no
// update. The handlers work from the inbox: in order for each person, at most eight
// at a time, until the [Handler] has taken the update. Then the person is answered.
// An update that a poll gives for the first time reaches the handlers at once, and
// is stored in the same commit as its result.
//
// Cards, texts and files go out through [Bot.Post], [Bot.Edit] and [Bot.Attach],
// which the dispatcher calls; it also does all the waiting and trying again that
// their [core.DeliveryError] asks for.
//
// The package knows the wire, and not who may decide what.
package telegram

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"

	tg "github.com/go-telegram/bot"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Handler answers what people do in chats.
type Handler interface {
	// Handle does what the message asks and gives the answer. When it returns
	// without an error, m.Update is marked handled. An error means that the desk
	// cannot work now: the update stays unhandled and is tried again.
	Handle(ctx context.Context, m textcmd.Message) (textcmd.Reply, error)
	// Redraw has a card drawn again if it is not the one of Reply.Key and
	// Reply.Version any more.
	Redraw(ctx context.Context, key string, version int64) error
}

// Inbox keeps updates until they are handled.
type Inbox = textcmd.Inbox

// Bot is one bot account. It implements [core.Channel]. All methods are safe for
// concurrent use.
type Bot struct {
	cfg     Config
	id      int64  // the bot's user id
	source  string // of its updates in the inbox
	handler Handler
	inbox   Inbox
	log     *slog.Logger

	api   *tg.Bot // for occasional calls
	sends *wire   // for frequent calls
	polls *wire   // getUpdates, which hangs for most of a minute
	close func()

	name   name
	start  *start
	newest int64 // the highest update id that was polled
	queue  *textcmd.Intake[received]
	health *textcmd.Health
	pace   pace
	cards  rendered
	tasks  sync.WaitGroup // replies that wait for their next try
}

var _ core.Channel = (*Bot)(nil)

// New makes a Bot. It does not start it and sends no requests. handled marks an
// update done that changed no approval. Errors say which setting is wrong, never
// its value.
func New(
	cfg Config, handler Handler, inbox Inbox, handled func(context.Context, approval.InboundRef) error, log *slog.Logger,
) (*Bot, error) {
	cfg, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(cfg.Token[:strings.IndexByte(cfg.Token, ':')], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("the Telegram bot token begins with an impossible bot id: copy it again from @BotFather")
	}
	log = log.With("channel", cfg.Channel)
	b := &Bot{
		cfg: cfg, id: id, source: "telegram:" + strconv.FormatInt(id, 10), handler: handler, inbox: inbox,
		log: log, start: newStart(), name: name{known: make(chan struct{})},
		health: textcmd.NewHealth(platformName(cfg.Channel), log),
	}
	b.queue = textcmd.NewIntake(b.source, inbox,
		textcmd.Handlers[received]{Read: read, Attempt: b.attempt, Handled: handled}, b.log)
	sends, stopSends := newWire(cfg, sendTimeout)
	polls, stopPolls := newWire(cfg, pollTimeout)
	b.sends, b.polls, b.close = sends, polls, func() { stopSends(); stopPolls() }
	b.api,
		err = tg.New(cfg.Token, tg.WithSkipGetMe(), tg.WithServerURL(cfg.APIURL), tg.WithHTTPClient(sendTimeout, sends),
		tg.WithErrorsHandler(func(err error) { b.log.Debug("telegram library", "reason", sends.clean(err.Error())) }))
	if err != nil {
		return nil, fmt.Errorf("the Telegram library refuses its settings")
	}
	return b, nil
}

// Run fetches and handles updates until ctx ends; then it finishes what it has
// begun, for at most five seconds, and returns nil. It never returns because
// Telegram is down or refuses the bot: it keeps trying, and [Bot.State] gives
// the reason. Call it once, and for one Bot of a token at a time.
func (b *Bot) Run(ctx context.Context) error {
	work, stop := textcmd.Outlive(ctx, finishTime)
	defer stop()
	defer b.close()
	b.start.begin()
	defer b.start.end()
	var loops sync.WaitGroup
	loops.Go(func() { b.queue.Run(ctx, work) })
	loops.Go(func() { b.receive(ctx, work) })
	loops.Go(func() { b.settleStart(ctx, work) })
	loops.Wait()
	b.queue.Wait()
	b.tasks.Wait()
	b.health.Set(false, "The desk is stopping.", nil)
	return nil
}

// CaughtUp is closed once the updates that waited when Run began have been
// handled, so that overdue approvals may now expire; or when it is known that
// they cannot be: Telegram refuses the token, or has not answered for five
// seconds.
func (b *Bot) CaughtUp() <-chan struct{} { return b.start.done }

// Poke has stored updates looked at.
func (b *Bot) Poke() { b.queue.Poke() }

// State tells whether updates flow, and the remedy if they do not.
func (b *Bot) State() core.ChannelState { return b.health.State() }

// name is the bot's user name, known after the first getMe.
type name struct {
	once  sync.Once
	known chan struct{}
	text  string
}

func (n *name) set(text string) {
	n.once.Do(func() {
		n.text = text
		close(n.known)
	})
}
