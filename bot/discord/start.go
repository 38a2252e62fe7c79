package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"approvalbot/bot/discord/gateway"
	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
)

// New makes a Bot. It does not start it and sends no requests. handled marks an
// update done that changed no approval. Errors say which setting is wrong, never
// its value.
func New(
	cfg Config, handler Handler, inbox Inbox, handled func(context.Context, approval.InboundRef) error, log *slog.Logger,
) (*Bot, error) {
	cfg, key, err := cfg.checked()
	if err != nil {
		return nil, err
	}
	log = log.With("channel", "discord")
	b := &Bot{
		cfg: cfg, key: key, handler: handler, inbox: inbox, log: log,
		rest: rest.New(cfg.APIURL, cfg.Token, cfg.Transport),
		self: self{known: make(chan struct{})}, health: textcmd.NewHealth("Discord", log), caught: make(chan struct{}),
	}
	b.source = "discord:" + botID(cfg.Token)
	b.places.init()
	b.intake = textcmd.NewIntake(b.source, inbox,
		textcmd.Handlers[update]{Read: readUpdate, Attempt: b.attempt, Handled: handled}, log)
	return b, nil
}

// Run takes and handles updates until ctx ends; then it finishes what it has
// begun, for about a second, and returns nil. It never returns because Discord is
// down or refuses the bot: [Bot.State] gives the reason. Call it once.
func (b *Bot) Run(ctx context.Context) error {
	work, stop := textcmd.Outlive(ctx, finishTime)
	defer stop()
	defer b.rest.Close()
	var loops sync.WaitGroup
	loops.Go(func() { b.intake.Run(ctx, work) })
	loops.Go(func() { b.receive(ctx, work) })
	loops.Go(func() {
		// A Discord that is away must not delay the timers of all other channels.
		err := limited(ctx, catchUpTime,
			func(patience context.Context) error { return b.intake.CatchUp(patience, ctx, work) })
		if err != nil && ctx.Err() == nil {
			b.log.Warn("some updates that came before the restart are not handled yet; overdue timers no longer wait for them",
				"reason", err)
		}
		close(b.caught)
	})
	loops.Wait()
	b.intake.Wait()
	b.tasks.end()
	b.health.Set(false, "The desk is stopping.", nil)
	return nil
}

// receive makes the bot known and then lets updates in until ctx ends.
func (b *Bot) receive(ctx, work context.Context) {
	if !b.insist(ctx, b.introduce) {
		return
	}
	b.tasks.start(func() { b.registerCommands(ctx) })
	if b.key != nil {
		b.health.Set(true, "", nil)
		<-ctx.Done()
		return
	}
	gateway.Run(ctx, gateway.Config{
		Token: b.cfg.Token, Dial: b.cfg.Dial, REST: b.rest, Health: b.health,
		Interaction: func(raw json.RawMessage) { b.guarded(func() { b.onInteraction(work, raw) }) },
		Message:     func(raw json.RawMessage) { b.guarded(func() { b.onMessage(work, raw) }) },
	})
}

// insist makes a call until it succeeds; it gives up and reports false when ctx
// ended or Discord does not know the token.
func (b *Bot) insist(ctx context.Context, call func(context.Context) error) bool {
	for try := 0; ; try++ {
		err := limited(ctx, rest.Timeout, call)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil:
			return false
		case rest.Rejected(err):
			b.health.Set(false, rest.BadToken, err)
			<-ctx.Done()
			return false
		}
		b.health.Set(false, fmt.Sprintf("%v. Check the network; the desk keeps trying.", err), err)
		if !textcmd.Sleep(ctx, max(rest.RetryAfter(err), textcmd.Backoff(try, 500*time.Millisecond, 30*time.Second))) {
			return false
		}
	}
}

// introduce asks who the bot is.
func (b *Bot) introduce(ctx context.Context) error {
	var me struct{ ID, Username string }
	var app struct{ ID string }
	if err := b.rest.Call(ctx, http.MethodGet, "/users/@me", nil, &me); err != nil {
		return err
	}
	if err := b.rest.Call(ctx, http.MethodGet, "/applications/@me", nil, &app); err != nil {
		return err
	}
	if !render.IsID(me.ID) || !render.IsID(app.ID) {
		return rest.Unanswered("it does not say who the bot is")
	}
	b.self.once.Do(func() {
		b.self.user, b.self.app, b.self.name = me.ID, app.ID, me.Username
		close(b.self.known)
	})
	return nil
}
