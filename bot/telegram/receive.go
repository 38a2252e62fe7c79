package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
)

// allowedUpdates are the types that Telegram is asked for (Bot API,
// getUpdates.allowed_updates). Edited messages are left out on purpose: the
// original text counts, not a later change of it.
var allowedUpdates = []string{"message", "callback_query", "my_chat_member"}

// firstCall is how long a call may take while starting: Telegram itself delays
// a poll that repeats the last offset by three seconds.
const firstCall = 10 * time.Second

// receive makes the bot known and then lets updates in until ctx ends.
func (b *Bot) receive(ctx, work context.Context) {
	if !b.insist(ctx, b.getMe) {
		return
	}
	b.tasks.Go(func() { b.setCommands(ctx) })
	if b.cfg.Updates == Webhook {
		b.receiveWebhook(ctx)
		return
	}
	if b.insist(ctx, func(ctx context.Context) error {
		_, err := b.api.DeleteWebhook(ctx, &tg.DeleteWebhookParams{})
		return err
	}) {
		b.poll(ctx, work)
	}
}

// insist makes a call until it succeeds, and reports false when ctx ended first.
func (b *Bot) insist(ctx context.Context, call func(context.Context) error) bool {
	for try := 0; ; try++ {
		err := b.once(ctx, firstCall, call)
		if err == nil {
			b.start.alive()
			return true
		}
		if !b.trouble(ctx, err, try) {
			return false
		}
	}
}

func (b *Bot) once(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}

// trouble reports the error and waits until the next try, as long as Telegram
// asks for. It reports whether ctx goes on.
func (b *Bot) trouble(ctx context.Context, err error, try int) bool {
	if ctx.Err() != nil {
		return false
	}
	detail, wait := diagnose(err, try)
	b.health.Set(false, detail, err)
	if rejected(err) {
		b.start.finish() // the updates that waited will not come
	}
	return textcmd.Sleep(ctx, wait)
}

func (b *Bot) getMe(ctx context.Context) error {
	me, err := b.api.GetMe(ctx)
	if err == nil {
		b.name.set(me.Username)
	}
	return err
}

// setCommands tells Telegram what to suggest when a person types a slash. The
// bot works without, so it gives up after a few tries.
func (b *Bot) setCommands(ctx context.Context) {
	commands := []models.BotCommand{
		{Command: "approve", Description: "Allow a request: CODE [session|always] [reason]"},
		{Command: "deny", Description: "Deny a request: CODE [reason]"},
		{Command: "retry", Description: "Vote for one more run of a call, while that is asked for: CODE [reason]"},
		{Command: "pending", Description: "List what waits for a decision"},
		{Command: "show", Description: "Show a request's card here: CODE"},
		{Command: "duty", Description: "Say who is on duty"},
		{Command: "away", Description: "Say that you are away: 2h, 3d or until 18:00, to NAME"},
		{Command: "back", Description: "Say that you are back before that is over"},
		{Command: "web", Description: "Send you a link to the desk's pages"},
		{Command: "whoami", Description: "Say who you are for the desk"},
		{Command: "pair", Description: "Make yourself and this chat known to the desk's operator: CODE"},
		{Command: "help", Description: "Say how to use the bot"},
	}
	for try := range 4 {
		err := b.once(ctx, sendTimeout, func(ctx context.Context) error {
			_, err := b.api.SetMyCommands(ctx, &tg.SetMyCommandsParams{Commands: commands})
			return err
		})
		if err == nil || ctx.Err() != nil {
			return
		}
		b.log.Info("could not set Telegram's command list; buttons and typed commands work without it",
			"attempt", try+1, "reason", err)
		if !textcmd.Sleep(ctx, max(retryAfter(err), textcmd.Backoff(try, time.Second, time.Minute))) {
			return
		}
	}
}

// poll fetches updates and stores them until ctx ends. An offset confirms
// everything below it (Bot API, getUpdates.offset), so it is only ever raised
// past updates that are stored. After an empty answer no update is left to
// confirm, and the next call has no offset: ids may start anew, lower, if none
// came for a week (Bot API, Update.update_id).
func (b *Bot) poll(ctx, work context.Context) {
	var offset int64
	for failures := 0; ctx.Err() == nil; {
		hold := holdSeconds
		if b.start.waiting() {
			hold = 0
		}
		next, err := b.fetch(ctx, work, offset, hold)
		if err != nil {
			b.trouble(ctx, err, failures)
			failures++
			continue
		}
		offset, failures = next, 0
		b.health.Set(true, "", nil)
		b.start.alive()
		if next == 0 {
			b.start.dryUp()
		}
	}
}

// fetch makes one getUpdates call, stores what it gives, and returns the offset
// that confirms it: 0 if it got no updates.
func (b *Bot) fetch(ctx, work context.Context, offset int64, hold int) (int64, error) {
	params := struct {
		Offset         int64    `json:"offset,omitempty"`
		Timeout        int      `json:"timeout"`
		AllowedUpdates []string `json:"allowed_updates"`
	}{offset, hold, allowedUpdates}
	var raws []json.RawMessage
	limit := pollTimeout
	if hold == 0 {
		limit = firstCall
	}
	if offset > 0 {
		fault.Point("before-update-confirmed")
	}
	err := b.once(ctx, limit, func(ctx context.Context) error { return b.polls.post(ctx, "getUpdates", params, &raws) })
	if offset > 0 {
		fault.Point("after-update-confirmed")
	}
	if err != nil || len(raws) == 0 {
		return 0, err
	}
	var highest int64
	// An update that waited, or comes again, may have been handled before a crash.
	first := !b.start.waiting()
	in := make([]textcmd.Incoming[received], 0, len(raws))
	for _, raw := range raws {
		i, ok := b.inbound(raw)
		if !ok {
			b.log.Warn("dropped an update that Telegram sent without an id", "bytes", len(raw))
			continue
		}
		first = first && i.ID > b.newest
		in, highest = append(in, i), max(highest, i.ID)
	}
	b.newest = max(b.newest, highest)
	if highest == 0 {
		return 0, &errUnreachable{"updates came without ids"}
	}
	fault.Point("before-update-stored")
	if first {
		return highest + 1, b.keep(ctx, b.queue.Settle(ctx, work, in)...)
	}
	var all []approval.Inbound
	for _, n := range in {
		all = append(all, n.Inbound)
	}
	return highest + 1, b.keep(ctx, all...)
}

// inbound reads a raw update, which may be stored; ok is false if it has no id.
func (b *Bot) inbound(raw []byte) (in textcmd.Incoming[received], ok bool) {
	u, err := parseUpdate(raw)
	in.Update, in.Person = received{u, err}, u.person()
	in.Inbound = approval.Inbound{
		InboundRef: approval.InboundRef{Source: b.source, ID: u.ID}, Body: raw,
		ReceivedMs: time.Now().UnixMilli(), Waited: b.start.waiting(),
	}
	return in, u.ID > 0
}

// keep stores updates, if there are any, and wakes the handlers. Only when it
// returns nil may the updates be confirmed.
func (b *Bot) keep(ctx context.Context, in ...approval.Inbound) error {
	if len(in) > 0 {
		if err := b.inbox.SaveInbound(ctx, in); err != nil {
			return errors.Join(errNotStored, err)
		}
		b.queue.Poke()
	}
	fault.Point("after-update-stored")
	return nil
}
