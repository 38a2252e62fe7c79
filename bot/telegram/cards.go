package telegram

import (
	"encoding/json"
	"strconv"
	"sync"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"approvalbot/bot/telegram/render"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/card"
)

// rendered remembers the cards that were posted last. A card that goes to many
// chats is the same one in all of them. Safe for concurrent use.
type rendered struct {
	mu   sync.Mutex
	kept [32]struct {
		of *card.Card
		as ready
	}
	next int
}

// ready is a card as it is posted: the JSON of everything except the chat, and
// whether it offers less than the card did.
type ready struct {
	content  []byte
	denyOnly bool
}

// card makes a card ready, once for all its chats.
func (r *rendered) card(c *card.Card) (ready, error) {
	if as, ok := r.find(c); ok {
		return as, nil
	}
	text, shown := render.Card(*c)
	what := content{Text: text, ParseMode: models.ParseModeHTML, LinkPreviewOptions: noPreview()}
	if rows := textcmd.Buttons(shown, textcmd.MenuMain); rows != nil {
		what.ReplyMarkup = keyboard(rows)
	}
	body, err := json.Marshal(what)
	if err != nil {
		return ready{}, err
	}
	as := ready{body, len(shown.Offers) < len(c.Offers)}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[r.next].of, r.kept[r.next].as = c, as
	r.next = (r.next + 1) % len(r.kept)
	return as, nil
}

func (r *rendered) find(c *card.Card) (as ready, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.kept {
		if r.kept[i].of == c {
			return r.kept[i].as, true
		}
	}
	return ready{}, false
}

// content gives the parameters of sendMessage, without the chat.
type content struct {
	Text               string                     `json:"text"`
	ParseMode          models.ParseMode           `json:"parse_mode"`
	LinkPreviewOptions *models.LinkPreviewOptions `json:"link_preview_options"`
	ReplyParameters    *models.ReplyParameters    `json:"reply_parameters,omitempty"`
	ReplyMarkup        models.ReplyMarkup         `json:"reply_markup,omitempty"`
}

// textOf is a posting that is no card.
func textOf(p core.Posting) content {
	what := content{
		Text: render.Mentions(p.Mention) + render.Text(p.Text), ParseMode: models.ParseModeHTML,
		LinkPreviewOptions: noPreview(), ReplyParameters: replyParameters(number(p.ReplyTo)),
	}
	if p.ForUser != "" {
		// Selective asks only people who are mentioned (Bot API, ForceReply).
		what.Text = render.Mention(p.ForUser, what.Text)
		what.ReplyMarkup = models.ForceReply{ForceReply: true, Selective: true}
	}
	if p.Link != "" {
		what.Text += "\n" + render.Link(p.Link)
	}
	if rows := textcmd.NoticeButtons(p.Session); rows != nil {
		what.ReplyMarkup = keyboard(rows)
	}
	if p.App != "" { // Bot API, InlineKeyboardButton.web_app: in private chats only
		what.ReplyMarkup = models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{
			{Text: "Open inside Telegram", WebApp: &models.WebAppInfo{URL: p.App}},
		}}}
	}
	return what
}

// keyboard makes inline buttons of the desk's. Styles are Bot API 9.4; older
// apps show all buttons alike.
func keyboard(rows [][]textcmd.Button) models.InlineKeyboardMarkup {
	styles := map[textcmd.Style]string{textcmd.Allowing: "success", textcmd.Denying: "danger"}
	markup := models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{}}
	for _, row := range rows {
		var out []models.InlineKeyboardButton
		for _, button := range row {
			out = append(out,
				models.InlineKeyboardButton{Text: button.Label, CallbackData: button.Data, Style: styles[button.Style]})
		}
		markup.InlineKeyboard = append(markup.InlineKeyboard, out)
	}
	return markup
}

// noPreview keeps Telegram from fetching addresses in a text.
func noPreview() *models.LinkPreviewOptions { return &models.LinkPreviewOptions{IsDisabled: tg.True()} }

// replyParameters answers a message, also when it is gone by then.
func replyParameters(id int) *models.ReplyParameters {
	if id <= 0 {
		return nil
	}
	return &models.ReplyParameters{MessageID: id, AllowSendingWithoutReply: true}
}

// number reads an id; 0 if empty.
func number(s string) int {
	if s == "" {
		return 0
	}
	n, _ := strconv.Atoi(s)
	return n
}
