package discord

import (
	"context"

	"approvalbot/bot/textcmd"
)

type job = textcmd.Job[update]

// attempt handles one update and reports whether it is over. It is over unless the
// handler returns an error, which means that the desk cannot work now. A panic
// ends it too: an update that makes the program panic must not do so again and
// again.
func (b *Bot) attempt(ctx, work context.Context, j *job) (over bool) {
	log := b.log.With("update", j.ID)
	defer b.intake.Guard(work, j, &over)
	defer j.Tried()
	if j.Update.broken != nil {
		log.Warn("dropped an update that could not be read; what it asked for was not done", "reason", j.Update.broken)
		b.intake.Mark(work, j)
		return true
	}
	select {
	case <-b.self.known: // without its id the bot does not know its own messages
	case <-ctx.Done():
		return false
	}
	if i := j.Update.Interaction; i != nil {
		return b.attemptInteraction(ctx, work, j, i)
	}
	return b.attemptMessage(ctx, work, j, j.Update.Message)
}

// attemptInteraction handles a tap, a command or a form.
func (b *Bot) attemptInteraction(ctx, work context.Context, j *job, i *interaction) (over bool) {
	var m textcmd.Message
	ask := b.handler.Handle
	switch i.Type {
	case tapInteraction:
		m = b.tapMessage(i)
	case commandInteraction:
		m = b.commandMessage(i)
	case formInteraction:
		var code string
		m, code = b.formMessage(i)
		ask = func(ctx context.Context, m textcmd.Message) (textcmd.Reply, error) {
			return b.handler.Reason(ctx, m, code)
		}
	default:
		b.intake.Mark(work, j)
		return true
	}
	reply, err := b.ask(work, j, m, ask)
	if err != nil && ctx.Err() != nil {
		return false
	}
	j.Tried()
	if err != nil {
		b.log.Warn("could not handle an update; it is kept and tried again",
			"update", j.ID, "target", m.Chat.String(), "reason", err)
		reply = textcmd.Reply{Text: textcmd.LaterText}
	}
	if err == nil || !j.Answered {
		b.answer(work, j, i, m, reply)
	}
	j.Answered = true
	return err == nil
}

// attemptMessage handles a typed message. A bot is never answered: two that
// answer each other would never stop.
func (b *Bot) attemptMessage(ctx, work context.Context, j *job, in *message) (over bool) {
	m, err := b.typedMessage(work, in)
	if err != nil {
		b.log.Warn("could not find out the channel of a message; the message is kept and "+
			"tried again", "update", j.ID, "target", in.At, "reason", err)
		return false
	}
	reply, err := b.ask(work, j, m, b.handler.Handle)
	if err != nil && ctx.Err() != nil {
		return false
	}
	j.Tried()
	if err != nil {
		b.log.Warn("could not handle an update; it is kept and tried again",
			"update", j.ID, "target", m.Chat.String(), "reason", err)
		return false
	}
	if !reply.Ignore && m.NotHuman == "" {
		b.replyTo(work, in, reply)
		b.replyTo(work, in, textcmd.Reply{Text: reply.Long, Times: reply.Times})
	}
	return true
}

// saidMs is the time at which Discord accepted the message with that id: a snowflake begins with
// the milliseconds since 2015 (API Reference, Snowflakes).
func saidMs(id int64) int64 { return id>>22 + 1420070400000 }

// ask puts a message before the desk. Its time is that at which Discord accepted it,
// since it may come late.
func (b *Bot) ask(
	ctx context.Context, j *job, m textcmd.Message,
	handle func(context.Context, textcmd.Message) (textcmd.Reply, error),
) (textcmd.Reply, error) {
	m.ReceivedMs, m.Update = min(j.ReceivedMs, saidMs(j.ID)), &j.InboundRef
	return b.intake.Ask(ctx, j, m, handle)
}
