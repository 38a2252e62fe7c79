package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"approvalbot/bot/telegram/render"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Post sends a card with its buttons, or a text (Bot API, sendMessage). The
// message id is a decimal number.
func (b *Bot) Post(ctx context.Context, to approval.Target, p core.Posting) (core.Posted, error) {
	var what ready
	var err error
	if p.Card != nil {
		what, err = b.cards.card(p.Card)
	} else {
		what.content, err = json.Marshal(textOf(p))
	}
	if err != nil {
		return core.Posted{}, err
	}
	var sent struct {
		ID int `json:"message_id"`
	}
	err = b.send(ctx, posting, to, func(ctx context.Context, to address) error {
		return b.sends.postJSON(ctx, "sendMessage", to.with(what.content, p.Silent), &sent)
	})
	if err != nil {
		return core.Posted{}, err
	}
	return core.Posted{MessageID: strconv.Itoa(sent.ID), DenyOnly: what.denyOnly}, nil
}

// Edit draws a card anew (Bot API, editMessageText), once it has ended without the buttons that
// decide. A bot may edit its own messages for ever.
func (b *Bot) Edit(ctx context.Context, to approval.Target, messageID string, card card.Card) error {
	text, card := render.Card(card)
	return b.edit(ctx, to, messageID, text, textcmd.Buttons(card, textcmd.MenuMain))
}

// edit gives a message another text, as HTML, and other buttons.
func (b *Bot) edit(ctx context.Context, to approval.Target, messageID, text string, rows [][]textcmd.Button) error {
	params := tg.EditMessageTextParams{
		MessageID: number(messageID), Text: text, ParseMode: models.ParseModeHTML, LinkPreviewOptions: noPreview(),
	}
	if rows != nil {
		params.ReplyMarkup = keyboard(rows)
	}
	return b.send(ctx, editing, to, func(ctx context.Context, to address) error {
		params.ChatID = to.chat
		return b.sends.post(ctx, "editMessageText", &params, nil)
	})
}

// AttachParts sends messages that hold all of a file.
func (b *Bot) AttachParts(ctx context.Context, to approval.Target, f card.File) error {
	texts := render.PartTexts(f)
	if len(texts) == 0 {
		return notInParts
	}
	for _, text := range texts {
		body, err := json.Marshal(content{Text: text, ParseMode: models.ParseModeHTML, LinkPreviewOptions: noPreview()})
		if err != nil {
			return err
		}
		if err := b.send(ctx, posting, to, func(ctx context.Context, to address) error {
			return b.sends.postJSON(ctx, "sendMessage", to.with(body, f.Silent), nil)
		}); err != nil {
			return gaveUp(err)
		}
	}
	return nil
}

// gaveUp turns the final refusal of a message that was to replace a file into one
// that says that the call cannot be shown so: the card, which follows, can then only
// be denied.
func gaveUp(err error) error {
	var refusal *core.DeliveryError
	if errors.As(err, &refusal) && (refusal.Gone || refusal.Refused) {
		return &core.DeliveryError{Message: refusal.Message, NoFiles: true}
	}
	return err
}

var notInParts = &core.DeliveryError{Message: "The call is too long for messages.", NoFiles: true}

// Attach sends a text file (Bot API, sendDocument).
func (b *Bot) Attach(ctx context.Context, to approval.Target, f card.File) error {
	return b.send(ctx, attaching, to, func(ctx context.Context, to address) error {
		_, err := b.api.SendDocument(ctx, &tg.SendDocumentParams{
			ChatID: to.chat, MessageThreadID: to.thread,
			Document: &models.InputFileUpload{Filename: f.Name, Data: strings.NewReader(f.Text)},
			Caption:  render.Caption(f), ParseMode: models.ParseModeHTML,
			DisableContentTypeDetection: true, DisableNotification: f.Silent,
		})
		return err
	})
}

// address is a target as the Bot API takes it.
type address struct {
	chat   int64
	thread int
}

// with gives the parameters of a call that sends content there, without a sound if
// silent.
func (a address) with(content []byte, silent bool) []byte {
	body := fmt.Appendf(make([]byte, 0, len(content)+64), `{"chat_id":%d,`, a.chat)
	if a.thread != 0 {
		body = fmt.Appendf(body, `"message_thread_id":%d,`, a.thread)
	}
	if silent {
		body = append(body, `"disable_notification":true,`...)
	}
	return append(body, content[1:]...) // without its brace
}

// send makes a call that writes into a chat, unless that chat is to be left
// alone for now, and judges what came of it.
func (b *Bot) send(
	ctx context.Context, op operation, target approval.Target, call func(context.Context, address) error,
) error {
	target = target.Normal()
	chat, err := strconv.ParseInt(target.To, 10, 64)
	if target.Channel != b.cfg.Channel || err != nil || chat == 0 {
		return &core.DeliveryError{Message: "This is not a Telegram chat: " + short(target.String()) + ".", Gone: true}
	}
	if left := b.pace.left(chat); left > 0 {
		return &core.DeliveryError{Message: "Telegram asks to wait before the next message to this chat.",
			RetryAfter: left}
	}
	err = call(ctx, address{chat, number(target.ThreadID)})
	if err == nil {
		return nil
	}
	if wait := retryAfter(err); wait > 0 {
		b.pace.wait(chat, wait)
	}
	return b.judge(op, err)
}

// short is a text that is named in an error.
func short(s string) string {
	s, _ = display.Clip(s, 100)
	return s
}

// pace remembers which chats are to be left alone, and until when.
type pace struct {
	mu    sync.Mutex
	until map[int64]time.Time
}

func (p *pace) wait(chat int64, d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.until == nil {
		p.until = map[int64]time.Time{}
	}
	p.until[chat] = time.Now().Add(d)
}

func (p *pace) left(chat int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := time.Until(p.until[chat])
	if left <= 0 {
		delete(p.until, chat)
	}
	return left
}
