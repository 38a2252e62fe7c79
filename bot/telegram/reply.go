package telegram

import (
	"context"
	"strings"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"approvalbot/bot/telegram/render"
	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
)

const (
	answerTries   = 3
	answerLimit   = 5 * time.Second // of one try: later than about 15 s Telegram takes no answer
	replyTries    = 3
	replyPatience = time.Minute // longest wait for a chat that may not be written to yet
)

// answerTap answers a callback query (Bot API, answerCallbackQuery), which else
// keeps a progress bar on the person's screen. An answer that comes too late or
// twice is no harm.
func (b *Bot) answerTap(ctx context.Context, query, text string, alert bool) {
	text = render.Answer(text)
	for try := range answerTries {
		err := b.once(ctx, answerLimit, func(ctx context.Context) error {
			return b.sends.post(ctx, "answerCallbackQuery",
				&tg.AnswerCallbackQueryParams{CallbackQueryID: query, Text: text, ShowAlert: alert}, nil)
		})
		verdict := b.judge(answering, err)
		if verdict == nil {
			return
		}
		wait := max(retryAfter(err), textcmd.Backoff(try, 200*time.Millisecond, time.Second))
		hopeless := final(verdict) || wait > answerLimit || try == answerTries-1
		if hopeless || !textcmd.Sleep(ctx, wait) {
			b.log.Warn("the tap was handled, but its pop-up answer could not be shown", "reason", verdict)
			return
		}
	}
}

// show draws the tapped card with a menu open, or closed again. The tap has
// been answered already, so a failure does no harm.
func (b *Bot) show(ctx context.Context, m textcmd.Message, r textcmd.Reply, p render.MenuPage) {
	if err := b.edit(ctx, m.Chat, m.MessageID, p.HTML, p.Rows); err != nil {
		b.log.Info("could not show a card's menu; the card itself still works",
			"approval", r.Key, "target", m.Chat.String(), "reason", err)
	}
	// Another state may have been drawn just before: then it is drawn once more.
	if err := b.handler.Redraw(ctx, r.Key, r.Version); err != nil {
		b.log.Warn("could not update a card; it may show an earlier state until the approval changes",
			"approval", r.Key, "target", m.Chat.String(), "reason", err)
	}
}

// reply posts a text as a reply, in as many messages as it needs. When the chat
// may not be written to yet, it goes on in the background.
func (b *Bot) reply(ctx, work context.Context, to approval.Target, replyTo int64, text string) {
	b.replyWith(ctx, work, to, replyTo, textcmd.Reply{Text: text})
}

// replyWith is reply with more below the sentence: a line that a tap copies (Bot API,
// MessageEntity: code), an address that one opens, buttons.
func (b *Bot) replyWith(ctx, work context.Context, to approval.Target, replyTo int64, r textcmd.Reply) {
	parts := render.Texts(strings.TrimSuffix(r.Text, r.Link), r.Copy)
	if r.Link != "" {
		parts[len(parts)-1] += "\n" + render.Link(r.Link)
	}
	rest, wait := b.postParts(work, to, replyTo, parts, r.Rows)
	if len(rest) == 0 || wait > replyPatience {
		return
	}
	b.tasks.Go(func() {
		for try := 1; try < replyTries && len(rest) > 0 && wait <= replyPatience; try++ {
			if !textcmd.Sleep(ctx, wait) {
				return
			}
			rest, wait = b.postParts(work, to, replyTo, rest, r.Rows)
		}
	})
}

// postParts posts messages, in HTML, until one fails, and gives those that are left and how
// long to wait; rest is nil if a retry is useless. The last one has the buttons.
func (b *Bot) postParts(
	ctx context.Context, to approval.Target, replyTo int64, parts []string, rows [][]textcmd.Button,
) (rest []string, wait time.Duration) {
	for i, part := range parts {
		var markup models.ReplyMarkup
		if rows != nil && i == len(parts)-1 {
			markup = keyboard(rows)
		}
		err := b.send(ctx, posting, to, func(ctx context.Context, to address) error {
			_, err := b.api.SendMessage(ctx, &tg.SendMessageParams{
				ChatID: to.chat, MessageThreadID: to.thread, Text: part, ParseMode: models.ParseModeHTML,
				LinkPreviewOptions: noPreview(), ReplyParameters: replyParameters(int(replyTo)),
				ReplyMarkup: markup,
			})
			return err
		})
		if err == nil {
			continue
		}
		b.log.Warn("could not send a person the reply to a message; the message is handled all the same",
			"target", to.String(), "reason", err)
		if final(err) {
			return nil, 0
		}
		return parts[i:], max(pauseOf(err), 2*time.Second)
	}
	return nil, 0
}
