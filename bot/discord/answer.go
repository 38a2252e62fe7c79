package discord

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
)

// Sentences that are the adapter's own.
const (
	menuText    = "Only you see these buttons."
	nothingText = "The desk has no more to show of it."
)

const (
	tokenLife   = 14 * time.Minute // Interactions: a token is valid for 15 minutes
	answerTries = 6
	answerPause = 5 * time.Second // longest wait between two tries
	maxFollowUp = 4               // a bot that came with its user may send 5 (JSON error 40094)
	replyTries  = 3
)

// answer tells the person the result of an interaction. A deferred answer is
// filled in; after a form it is a message of its own. Only that person sees it.
// If the token has expired only this answer is lost: cards are edited through
// their channel.
func (b *Bot) answer(ctx context.Context, j *job, i *interaction, m textcmd.Message, r textcmd.Reply) {
	if time.Since(time.UnixMilli(j.ReceivedMs)) > tokenLife {
		return
	}
	b.acks.wait(ctx, i.ID)
	parts := render.Split(render.Lines(strings.TrimSuffix(r.Text, r.Link), r.Long), render.MaxText, r.Times)
	var rows []discordgo.MessageComponent
	switch {
	case r.Rows != nil:
		card := ""
		if r.Menu != "" {
			card = ofCard(m.MessageID)
		}
		rows = render.Buttons(render.Menu(r.Rows), card)
	case r.Menu != "":
		rows = render.Buttons(render.Menu(textcmd.Buttons(*r.Card, r.Menu)), ofCard(m.MessageID))
		parts = render.Split(render.Lines(textcmd.About(*r.Card), menuText), render.MaxText, nil)
	}
	if len(parts) == 0 {
		parts = []string{nothingText}
	}
	for n := range parts {
		parts[n] = render.Plain(parts[n], render.MaxText, r.Times)
	}
	parts[0] = render.Linked(parts[0], r.Link) + render.Copyable(r.Copy)
	hook := "/webhooks/" + i.App + "/" + i.Token
	if asked(b.first(i)) {
		b.reply(ctx, http.MethodPost, hook, render.Private(parts[0], rows))
	} else {
		b.reply(ctx, http.MethodPatch, hook+"/messages/@original", render.Edited(parts[0], rows))
	}
	for n, part := range parts[1:min(len(parts), maxFollowUp+1)] {
		if n == maxFollowUp-1 && len(parts) > maxFollowUp+1 {
			part = "There is more than fits here; the API and the command line show all of it."
		}
		b.reply(ctx, http.MethodPost, hook, render.Private(part, nil))
	}
}

// reply makes a call of an interaction's webhook, which outside of the gateway
// may be quicker than the first answer itself: then Discord does not know it yet.
// Over the gateway it never will know it, and the person's other taps wait.
func (b *Bot) reply(ctx context.Context, method, path string, body any) {
	for try := range answerTries {
		err := b.rest.Call(ctx, method, path, body, nil)
		if err == nil {
			return
		}
		wait := max(rest.RetryAfter(err), textcmd.Backoff(try, 100*time.Millisecond, time.Second))
		hopeless := try == answerTries-1 || wait > answerPause || !b.early(err) && !again(err)
		if hopeless || !textcmd.Sleep(ctx, wait) {
			b.log.Warn("could not send the answer to a Discord interaction; the interaction is handled all the same",
				"reason", err)
			return
		}
	}
}

// early reports whether Discord may not know the interaction yet.
func (b *Bot) early(err error) bool {
	unknown := rest.CodeOf(err) == rest.UnknownWebhook || rest.CodeOf(err) == rest.UnknownInteraction
	return b.cfg.Updates == Interactions && unknown
}

// again reports whether the same call may succeed later.
func again(err error) bool {
	var e *rest.Error
	return !errors.As(err, &e) || e.Status >= 500 || rest.RetryAfter(err) > 0
}

// replyTo posts a text as a reply to a typed line, in as many messages as needed, and
// below it a line to copy, an address to open and buttons, if there are any.
func (b *Bot) replyTo(ctx context.Context, to *message, r textcmd.Reply) {
	parts := render.Split(strings.TrimSuffix(r.Text, r.Link), render.MaxText, r.Times)
	for n, part := range parts {
		message := render.Text(part, "", r.Times).Linking(r.Link)
		message.Content += render.Copyable(r.Copy)
		if r.Rows != nil && n == len(parts)-1 {
			message = message.WithButtons(r.Rows)
		}
		message = message.Answering(to.ID).Once(render.Nonce(to.ID, part))
		for try := range replyTries {
			err := b.judge(rest.Posting,
				b.paced(ctx, http.MethodPost, to.At, "/channels/"+to.At+"/messages", message, nil))
			if err == nil {
				break
			}
			var refusal *core.DeliveryError
			wait := textcmd.Backoff(try, time.Second, answerPause)
			if errors.As(err, &refusal) {
				wait = refusal.RetryAfter
			}
			hopeless := wait == 0 || wait > answerPause || try == replyTries-1
			if hopeless || !textcmd.Sleep(ctx, wait) {
				b.log.Warn("could not send a person the reply to a message; the message was handled all the same",
					"update", to.ID, "target", to.At, "reason", err)
				return
			}
		}
	}
}
