package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"approvalbot/bot/discord/gateway"
	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
)

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
