package telegram

import (
	"context"

	"approvalbot/bot/telegram/render"
	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
)

// Sentences that are the adapter's own.
const ()

// received is an update in the form in which it is handled.
type received struct {
	update
	broken error // why it cannot be read
}

type job = textcmd.Job[received]

// read reads a stored update and says whose it is.
func read(in approval.Inbound) (received, string) {
	u, err := parseUpdate(in.Body)
	return received{u, err}, u.person()
}

// settleStart ends the catching up once everything that waited was tried. An
// update that the desk cannot take now does not hold it up for ever.
func (b *Bot) settleStart(ctx, work context.Context) {
	select {
	case <-b.start.drained:
	case <-ctx.Done():
		return
	}
	if b.queue.CatchUp(ctx, ctx, work) == nil { // else patience will run out
		b.start.finish()
	}
}

// attempt handles one update and reports whether it is over. Everything but the
// handler's own error that it cannot work now ends it, a panic included: an update
// that makes the program panic must not do so for ever.
func (b *Bot) attempt(ctx, work context.Context, j *job) (over bool) {
	log := b.log.With("update", j.ID)
	defer b.queue.Guard(work, j, &over)
	defer b.tried(j)
	m, ok := b.message(ctx, work, j)
	if !ok {
		return ctx.Err() == nil
	}
	reply, err := b.ask(work, m, j)
	switch {
	case err != nil && ctx.Err() != nil:
		return false
	case err != nil:
		log.Warn("could not handle an update; it is kept and tried again", "target", m.Chat.String(), "reason", err)
		b.respond(ctx, work, j, m, textcmd.Reply{Text: textcmd.LaterText, Alert: true, Ignore: true})
		return false
	}
	b.tried(j)
	b.respond(ctx, work, j, m, reply)
	return true
}

// tried notes that the desk has had the update before it.
func (b *Bot) tried(j *job) {
	if j.Tried() {
		b.start.alive()
	}
}

// message gives the message for the desk. ok is false if there is no message:
// the update is done, or ctx ended.
func (b *Bot) message(ctx, work context.Context, j *job) (m textcmd.Message, ok bool) {
	u := j.Update
	switch {
	case u.broken != nil:
		b.log.Warn("dropped an update that could not be read; what it asked for was not done",
			"update", j.ID, "reason", u.broken)
	case u.Tap != nil:
		return b.tapMessage(u.Tap, j.Inbound), true
	case u.Message != nil && u.Message.command():
		return b.typed(ctx, j)
	default:
		b.note(u.update)
	}
	b.queue.Mark(work, j)
	return m, false
}

// typed waits until the bot knows its name: without it, a command that is
// addressed to it would look like another bot's.
func (b *Bot) typed(ctx context.Context, j *job) (m textcmd.Message, ok bool) {
	select {
	case <-b.name.known:
		return b.typedMessage(j.Update.Message, j.Inbound, b.name.text), true
	case <-ctx.Done():
		return m, false
	}
}

// note logs what happened to the bot itself. It does no more, because the next
// message to that chat meets the change.
func (b *Bot) note(u update) {
	switch {
	case u.Member != nil && u.Member.gone():
		b.log.Warn("the bot was blocked, removed or restricted in a chat; cards may not reach it",
			"target", u.Member.Chat.ID, "reason",
			u.Member.New.Status)
	case u.Member != nil:
		b.log.Info("the bot's membership in a chat changed to the one in the field reason",
			"target", u.Member.Chat.ID, "reason", u.Member.New.Status)
	case u.Message != nil && u.Message.MigrateTo != 0:
		b.log.Info("a group became a supergroup; cards go to its new id, which is in the field reason",
			"target", u.Message.Chat.ID, "reason", u.Message.MigrateTo)
	}
}

// ask puts a message before the desk.
func (b *Bot) ask(ctx context.Context, m textcmd.Message, j *job) (textcmd.Reply, error) {
	return b.queue.Ask(ctx, j, m, func(ctx context.Context, m textcmd.Message) (textcmd.Reply, error) {
		reply, err := b.handler.Handle(ctx, m)
		if err == nil {
			j.Handled()
		}
		return reply, err
	})
}

// respond gives the person the answer: a tap's at once and only once.
func (b *Bot) respond(ctx, work context.Context, j *job, m textcmd.Message, r textcmd.Reply) {
	if r.Before {
		return
	}
	if m.Tap {
		var menu render.MenuPage
		if r.Menu != "" {
			menu = render.Menu(*r.Card, r.Menu)
			if r.Rows != nil {
				menu.Rows = r.Rows
			} else {
				r.Text, r.Alert, r.Long = menu.Answer, menu.Reply != "", menu.Reply
			}
		}
		if !j.Answered {
			j.Answered = true
			b.answerTap(work, j.Update.Tap.ID, r.Text, r.Alert)
		}
		if r.Menu != "" && m.MessageID != "" {
			b.show(work, m, r, menu)
		}
	}
	switch {
	case m.Chat.To == "", r.Ignore:
	case m.Tap:
		b.reply(ctx, work, m.Chat, j.Update.Tap.Message.ID, r.Long)
	default:
		b.replyWith(ctx, work, m.Chat, j.Update.Message.ID, r)
		b.reply(ctx, work, m.Chat, j.Update.Message.ID, r.Long)
	}
}
