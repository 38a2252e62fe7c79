package discord

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"approvalbot/core"
)

// autoArchive is after how many quiet minutes a forum post is archived
// (Resources, Channel, Thread Metadata: at most a week).
const autoArchive = 10080

// Post sends a card with its buttons, or a text (Resources, Message, Create
// Message); into a forum, as a post of its own. The message id is a snowflake.
func (b *Bot) Post(ctx context.Context, to core.Target, p core.Posting) (core.Posted, error) {
	var message outgoing
	name, denyOnly := cut(p.Text, maxPostName), false
	if p.Card != nil {
		var card core.Card
		message, card = cardMessage(*p.Card)
		denyOnly = len(card.Offers) < len(p.Card.Offers)
		name = cut(card.Code+" · "+card.Risk.String()+" · "+card.Headline, maxPostName)
	} else {
		message = textMessage(p.Text, p.ForUser, p.Times)
	}
	var sent struct {
		ID         string
		Components json.RawMessage
	}
	err := b.into(ctx, posting, to, p.ReplyTo, func(ctx context.Context, c channel) error {
		message := message.answering(p.ReplyTo)
		if c.forum() {
			return b.openPost(ctx, c.ID, name, message, &sent)
		}
		return b.paced(ctx, http.MethodPost, c.ID, "/channels/"+c.ID+"/messages", message.once(p.Nonce), &sent)
	})
	if err != nil {
		return core.Posted{}, err
	}
	if !decimal(sent.ID) {
		return core.Posted{}, &errUnreachable{"a message came back without an id"}
	}
	// A nonce gives back the message of an earlier try as it is.
	earlier := !message.clickable() && bytes.Contains(sent.Components, []byte(`"custom_id"`))
	return core.Posted{MessageID: sent.ID, DenyOnly: denyOnly, Earlier: earlier}, nil
}

// textMessage makes a message of plain text. forUser is mentioned and notified.
func textMessage(s, forUser string, times core.Times) outgoing {
	m := outgoing{Flags: flagNoPreviews, Mentions: nobody()}
	if !decimal(forUser) {
		m.Content = plain(s, maxContent, times)
		return m
	}
	head := "<@" + forUser + "> "
	m.Content, m.Mentions.Users = head+plain(s, maxContent-len(head), times), []string{forUser}
	return m
}

// openPost makes a post in a forum (Resources, Channel, Start Thread in Forum or
// Media Channel). Its first message has the id of the thread.
func (b *Bot) openPost(ctx context.Context, forum, name string, m outgoing, thread any) error {
	m.Reference = nil
	body := struct {
		Name    string   `json:"name"`
		Archive int      `json:"auto_archive_duration"`
		Message outgoing `json:"message"`
	}{postName(name), autoArchive, m}
	return b.paced(ctx, http.MethodPost, forum, "/channels/"+forum+"/threads", body, thread)
}

func postName(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if s == "" {
		return "Request"
	}
	return cut(s, maxPostName)
}

// Edit draws a card anew (Resources, Message, Edit Message), without buttons once
// it has ended. Discord allows only so many edits of a message older than an
// hour; then the end is told in a message of its own.
func (b *Bot) Edit(ctx context.Context, to core.Target, messageID string, card core.Card) error {
	if !decimal(messageID) {
		return &core.DeliveryError{Message: "This is no Discord message.", MessageGone: true}
	}
	drawn, shown := cardMessage(card)
	message := replacing{outgoing: drawn}
	return b.into(ctx, editing, to, messageID, func(ctx context.Context, c channel) error {
		path := "/channels/" + c.ID + "/messages/" + messageID
		err := b.paced(ctx, http.MethodPatch, c.ID, path, message, nil)
		switch {
		case codeOf(err) == archivedThread && b.unarchive(ctx, c.ID) == nil:
			return b.paced(ctx, http.MethodPatch, c.ID, path, message, nil)
		case codeOf(err) == tooManyOldEdits:
			return b.tellEnd(ctx, c.ID, messageID, shown)
		}
		return err
	})
}

// unarchive reopens a thread that Discord archived because it was quiet.
func (b *Bot) unarchive(ctx context.Context, thread string) error {
	return b.paced(ctx, http.MethodPatch, thread, "/channels/"+thread, map[string]bool{"archived": false}, nil)
}

// tellEnd says below a card that cannot be edited any more how it ended. While it
// is pending nothing is lost: taps are answered by how things stand.
func (b *Bot) tellEnd(ctx context.Context, channel, messageID string, c core.Card) error {
	if !c.Status.Final() {
		b.log.Info("an old card could not be drawn anew", "target", channel)
		return nil
	}
	say := endIcon(c) + " " + c.Code + ": " + c.Outcome
	if c.Result != "" {
		say += "\n" + resultIcon(c) + c.Result
	}
	message := textMessage(say, "", c.Times).answering(messageID).once(nonceOf(messageID, say))
	return b.paced(ctx, http.MethodPost, channel, "/channels/"+channel+"/messages", message, nil)
}

// nonceOf names a message by what it says.
func nonceOf(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])[:maxNonce]
}

// maxPart is how many characters of a file one message holds; each has two code units
// at most.
const maxPart = 900

const sayPartEnd = "(end of the part)"

var notInParts = &core.DeliveryError{Message: "The call is too long for messages.", NoFiles: true}

// AttachParts sends messages that hold all of a file. In a forum, where each would be a
// post of its own, it sends none.
func (b *Bot) AttachParts(ctx context.Context, to core.Target, f core.File) error {
	parts := f.Parts(maxPart)
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = escape(f.PartHead(i, len(parts))) + "\n" + block(part) + "\n" + sayPartEnd
		if units(texts[i]) > maxContent {
			return notInParts
		}
	}
	if len(parts) == 0 {
		return notInParts
	}
	err := b.into(ctx, posting, to, "", func(ctx context.Context, c channel) error {
		if c.forum() {
			return notInParts
		}
		for i, text := range texts {
			message := outgoing{Content: text, Flags: flagNoPreviews, Mentions: nobody()}.once(nonceOf(c.ID, f.Name, parts[i], fmt.Sprint(i)))
			if err := b.paced(ctx, http.MethodPost, c.ID, "/channels/"+c.ID+"/messages", message, nil); err != nil {
				return err
			}
		}
		return nil
	})
	// Where a message is refused for good the card, which follows, can only be denied.
	var told *core.DeliveryError
	if errors.As(err, &told) && (told.Gone || told.Refused) {
		return &core.DeliveryError{Message: told.Message, NoFiles: true}
	}
	return err
}

// Attach sends a text file (Reference, Uploading Files).
func (b *Bot) Attach(ctx context.Context, to core.Target, f core.File) error {
	message := textMessage(f.Caption, "", nil)
	message.Attachments = []attachment{{"0", f.Name}}
	return b.into(ctx, attaching, to, "", func(ctx context.Context, c channel) error {
		path, body := "/channels/"+c.ID+"/messages", any(message.once(nonceOf(c.ID, f.Name, f.Text)))
		if c.forum() {
			path = "/channels/" + c.ID + "/threads"
			body = map[string]any{"name": postName(f.Caption), "auto_archive_duration": autoArchive, "message": message}
		}
		form, err := upload(body, f)
		if err != nil {
			return err
		}
		return b.paced(ctx, http.MethodPost, c.ID, path, form, nil)
	})
}

// upload makes a multipart body of a message and its file.
func upload(message any, f core.File) (form, error) {
	payload, err := json.Marshal(message)
	if err != nil {
		return form{}, err
	}
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part := func(disposition, kind string, data []byte) {
		p, _ := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {kind}})
		_, _ = p.Write(data) // into memory: cannot fail
	}
	part(`form-data; name="payload_json"`, "application/json", payload)
	name := strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, f.Name)
	part(`form-data; name="files[0]"; filename="`+name+`"`, "text/plain; charset=utf-8", []byte(f.Text))
	if err := w.Close(); err != nil {
		return form{}, err
	}
	return form{w.FormDataContentType(), body.Bytes()}, nil
}

// into makes a call that writes into a chat and judges what came of it. existing
// is the message that it is about, or empty.
func (b *Bot) into(ctx context.Context, op operation, to core.Target, existing string, call func(context.Context, channel) error) error {
	ctx, cancel := context.WithTimeout(ctx, restTimeout)
	defer cancel()
	c, err := b.address(ctx, to, existing)
	if err == nil {
		err = call(ctx, c)
	}
	return b.judge(op, err)
}

// paced makes a call unless its route is to be left alone for now.
func (b *Bot) paced(ctx context.Context, method, channel, path string, body, result any) error {
	route := method + " " + channel
	if left := b.pace.left(route); left > 0 {
		return &apiError{Status: http.StatusTooManyRequests, Message: "not asked: a rate limit is not over", RetryAfter: max(left, time.Millisecond)}
	}
	h, err := b.wire.send(ctx, method, path, body, result)
	b.pace.learn(route, h, err)
	return err
}
