package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
)

// autoArchive is the number of quiet minutes after which a forum post is
// archived (Resources, Channel, Thread Metadata: at most a week).
const autoArchive = 10080

// Post sends a card with its buttons, or a text (Resources, Message, Create
// Message); into a forum, as a post of its own. The message id is a snowflake.
func (b *Bot) Post(ctx context.Context, to approval.Target, p core.Posting) (core.Posted, error) {
	var message render.Message
	name, denyOnly := render.Cut(p.Text, render.MaxTitle), false
	if p.Card != nil {
		var card card.Card
		message, card = render.Card(*p.Card)
		denyOnly = len(card.Offers) < len(p.Card.Offers)
		name = render.CardTitle(card)
	} else {
		message = render.Text(p.Text, p.ForUser, p.Times).Mentioning(p.Mention).Linking(p.Link).EndingSession(p.Session)
	}
	message = message.Silently(p.Silent)
	var sent struct {
		ID         string
		Components json.RawMessage
	}
	err := b.into(ctx, rest.Posting, to, p.ReplyTo, func(ctx context.Context, c channel) error {
		message := message.Answering(p.ReplyTo)
		if c.forum() {
			return b.openPost(ctx, c.ID, name, message, &sent)
		}
		return b.paced(ctx, http.MethodPost, c.ID, "/channels/"+c.ID+"/messages", message.Once(p.Nonce), &sent)
	})
	if err != nil {
		return core.Posted{}, err
	}
	if !render.IsID(sent.ID) {
		return core.Posted{}, rest.Unanswered("a message came back without an id")
	}
	// With the same nonce Discord returns the message of an earlier try unchanged.
	earlier := !message.Clickable() && bytes.Contains(sent.Components, []byte(`"custom_id"`))
	return core.Posted{MessageID: sent.ID, DenyOnly: denyOnly, Earlier: earlier}, nil
}

// openPost makes a post in a forum (Resources, Channel, Start Thread in Forum or
// Media Channel). Its first message has the id of the thread.
func (b *Bot) openPost(ctx context.Context, forum, name string, m render.Message, thread any) error {
	m.Reference = nil
	return b.paced(ctx, http.MethodPost, forum, "/channels/"+forum+"/threads", forumPost(name, m), thread)
}

func forumPost(name string, m render.Message) any {
	return struct {
		discordgo.ThreadStart
		Message render.Message `json:"message"`
	}{discordgo.ThreadStart{Name: render.Title(name), AutoArchiveDuration: autoArchive}, m}
}

// Edit draws a card anew (Resources, Message, Edit Message), without buttons once
// it has ended. Discord allows only so many edits of a message older than an
// hour; then the end is shown in a message of its own.
func (b *Bot) Edit(ctx context.Context, to approval.Target, messageID string, card card.Card) error {
	if !render.IsID(messageID) {
		return &core.DeliveryError{Message: "This is not a Discord message.", MessageGone: true}
	}
	rendered, shown := render.Card(card)
	message := rendered.Replacing(messageID)
	return b.into(ctx, rest.Editing, to, messageID, func(ctx context.Context, c channel) error {
		path := "/channels/" + c.ID + "/messages/" + messageID
		err := b.paced(ctx, http.MethodPatch, c.ID, path, message, nil)
		switch {
		case rest.CodeOf(err) == rest.ArchivedThread && b.unarchive(ctx, c.ID) == nil:
			return b.paced(ctx, http.MethodPatch, c.ID, path, message, nil)
		case rest.CodeOf(err) == rest.TooManyOldEdits:
			return b.postEnd(ctx, c.ID, messageID, shown)
		}
		return err
	})
}

// unarchive reopens a thread that Discord archived because it was quiet.
func (b *Bot) unarchive(ctx context.Context, thread string) error {
	return b.paced(ctx, http.MethodPatch, thread, "/channels/"+thread, map[string]bool{"archived": false}, nil)
}

// postEnd writes the end of an approval below a card that cannot be edited any
// more. While it is pending no message is needed: taps are answered by the present
// state.
func (b *Bot) postEnd(ctx context.Context, channel, messageID string, c card.Card) error {
	if !c.Status.Final() {
		b.log.Info("Discord no longer lets this card be edited; its buttons still work", "code", c.Code, "target", channel)
		return nil
	}
	message := render.End(c).Answering(messageID)
	message = message.Once(render.Nonce(messageID, message.Content))
	return b.paced(ctx, http.MethodPost, channel, "/channels/"+channel+"/messages", message, nil)
}

var notInParts = &core.DeliveryError{Message: "The call is too long for messages.", NoFiles: true}

// AttachParts sends messages that hold all of a file. In a forum each would be a post
// of its own, so it sends none.
func (b *Bot) AttachParts(ctx context.Context, to approval.Target, f card.File) error {
	texts := render.PartTexts(f)
	if len(texts) == 0 {
		return notInParts
	}
	err := b.into(ctx, rest.Posting, to, "", func(ctx context.Context, c channel) error {
		if c.forum() {
			return notInParts
		}
		for _, text := range texts {
			message := render.Markdown(text).Silently(f.Silent).Once(render.Nonce(c.ID, f.Name, text))
			if err := b.paced(ctx, http.MethodPost, c.ID, "/channels/"+c.ID+"/messages", message, nil); err != nil {
				return err
			}
		}
		return nil
	})
	// If a message is refused for good, the card, which follows, can only be denied.
	var refusal *core.DeliveryError
	if errors.As(err, &refusal) && (refusal.Gone || refusal.Refused) {
		return &core.DeliveryError{Message: refusal.Message, NoFiles: true}
	}
	return err
}

// Attach sends a text file (Reference, Uploading Files).
func (b *Bot) Attach(ctx context.Context, to approval.Target, f card.File) error {
	message := render.Text(f.Caption, "", nil).Silently(f.Silent)
	return b.into(ctx, rest.Attaching, to, "", func(ctx context.Context, c channel) error {
		path, body := "/channels/"+c.ID+"/messages", any(message.Once(render.Nonce(c.ID, f.Name, f.Text)))
		if c.forum() {
			path, body = "/channels/"+c.ID+"/threads", forumPost(f.Caption, message)
		}
		form, err := rest.Upload(body, f)
		if err != nil {
			return err
		}
		return b.paced(ctx, http.MethodPost, c.ID, path, form, nil)
	})
}

// into makes a call that writes into a chat and judges what came of it. existing
// is the message that it is about, or empty.
func (b *Bot) into(
	ctx context.Context, op rest.Operation, to approval.Target, existing string, call func(context.Context, channel) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, rest.Timeout)
	defer cancel()
	c, err := b.address(ctx, to, existing)
	if err == nil {
		err = call(ctx, c)
	}
	return b.judge(op, err)
}

// judge says an error in the dispatcher's words, as judged does, and notes a token
// that Discord does not accept.
func (b *Bot) judge(op rest.Operation, err error) error {
	if rest.Rejected(err) {
		b.health.Set(false, rest.BadToken, err)
	}
	return rest.Judge(op, err)
}
