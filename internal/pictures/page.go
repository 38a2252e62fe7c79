package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	discordrender "approvalbot/bot/discord/render"
	telegramrender "approvalbot/bot/telegram/render"
	"approvalbot/bot/textcmd"
	"approvalbot/internal/card"
)

// picture is a card as a chat shows it, in HTML.
type picture struct{ platform, text, buttons string }

// telegram draws a card as Telegram does. What the bot sends there is HTML, but for line
// feeds, which show.
func telegram(c card.Card) picture {
	text, shown := telegramrender.Card(c)
	text = strings.ReplaceAll(text, "<blockquote expandable>", `<blockquote class="folded">`)
	for _, block := range []string{"pre", "blockquote"} { // a block begins and ends its lines itself
		text = strings.ReplaceAll(text, "\n<"+block, "<"+block)
		text = strings.ReplaceAll(text, "</"+block+">\n", "</"+block+">")
	}
	var rows strings.Builder
	for _, row := range textcmd.Buttons(shown, textcmd.MenuMain) {
		rows.WriteString(`<div class="row">`)
		for _, b := range row {
			fmt.Fprintf(&rows, `<span class="button %s">%s</span>`, b.Style, html.EscapeString(b.Label))
		}
		rows.WriteString("</div>")
	}
	return picture{"telegram", text, rows.String()}
}

// discord draws a card as Discord does: its text is Markdown in a box with a coloured
// edge, its buttons are below.
func discord(c card.Card) picture {
	message, _ := discordrender.Card(c)
	var text, rows strings.Builder
	for _, part := range message.Components {
		switch part := part.(type) {
		case discordgo.ActionsRow:
			rows.WriteString(`<div class="row">`)
			for _, c := range part.Components {
				b := c.(discordgo.Button)
				style := map[discordgo.ButtonStyle]textcmd.Style{discordgo.SuccessButton: textcmd.Allowing,
					discordgo.DangerButton: textcmd.Denying, discordgo.SecondaryButton: textcmd.Neutral}[b.Style]
				fmt.Fprintf(&rows, `<span class="button %s">%s</span>`, style, html.EscapeString(b.Label))
			}
			rows.WriteString("</div>")
		case discordgo.Container:
			fmt.Fprintf(&text, `<div class="box" style="border-left-color:#%06x">`, *part.AccentColor)
			for _, t := range part.Components {
				text.WriteString(markdown(t.(discordgo.TextDisplay).Content))
			}
			text.WriteString("</div>")
		}
	}
	return picture{"discord", text.String(), rows.String()}
}

// markdown draws Markdown as Discord does, as far as cards use it.
func markdown(s string) string {
	var out strings.Builder
	lines := strings.Split(s, "\n")
	for i := 0; i < len(lines); i++ {
		quoted, isQuote := strings.CutPrefix(lines[i], "> ")
		switch {
		case strings.HasPrefix(lines[i], "```"):
			end := i + 1
			for end < len(lines) && lines[end] != "```" {
				end++
			}
			out.WriteString("<pre>" + html.EscapeString(strings.Join(lines[i+1:end], "\n")) + "</pre>")
			i = end
		case isQuote:
			out.WriteString("<blockquote>" + inline(quoted) + "</blockquote>")
		case strings.HasPrefix(lines[i], "### "):
			out.WriteString("<h3>" + inline(lines[i][len("### "):]) + "</h3>")
		default:
			out.WriteString("<div>" + inline(lines[i]) + "</div>")
		}
	}
	return out.String()
}

// pieces are code, an escaped sign, bold, and a time.
var pieces = regexp.MustCompile("(?s)`[^`]+`|\\\\[[:punct:]]|\\*\\*|<t:\\d+:[tR]>")

func inline(s string) string {
	var out strings.Builder
	bold := false
	for s != "" {
		at := pieces.FindStringIndex(s)
		if at == nil {
			out.WriteString(html.EscapeString(s))
			break
		}
		out.WriteString(html.EscapeString(s[:at[0]]))
		switch piece := s[at[0]:at[1]]; {
		case piece == "**":
			bold = !bold
			out.WriteString(map[bool]string{true: "<b>", false: "</b>"}[bold])
		case piece[0] == '`':
			out.WriteString("<code>" + html.EscapeString(strings.Trim(piece, "`")) + "</code>")
		case piece[0] == '\\':
			out.WriteString(html.EscapeString(piece[1:]))
		default:
			out.WriteString(`<span class="time">` + timeOf(piece) + "</span>")
		}
		s = s[at[1]:]
	}
	return out.String()
}

// timeOf is a time as Discord writes it.
func timeOf(stamp string) string {
	var seconds int64
	var form string
	_, _ = fmt.Sscanf(strings.Trim(stamp, "<>"), "t:%d:%s", &seconds, &form)
	then := time.Unix(seconds, 0)
	if form == "t" {
		return then.Format("15:04")
	}
	return fmt.Sprintf("in %d minutes", int(time.Until(then).Round(time.Minute).Minutes()))
}

// page shows pictures below each other on a phone, and ends with what they measure: the
// lines of text that are seen of each, and its height with the buttons.
func page(all ...picture) string {
	var out strings.Builder
	out.WriteString("<!doctype html><meta charset=utf-8><style>" + style + "</style>")
	for _, p := range all {
		fmt.Fprintf(&out, `<div class="phone %s"><div class="face">A</div><div class="card"><div class="text">%s</div>%s</div></div>`,
			p.platform, p.text, p.buttons)
	}
	out.WriteString(`<script type="text/plain" id="measured"></script><script>` + measure + "</script>")
	return out.String()
}

// beside is page with the pictures side by side.
func beside(all ...picture) string {
	wide := fmt.Sprintf("body { display: flex; align-items: flex-start; width: %dpx; } .phone { width: %dpx; }", phoneWidth*len(all), phoneWidth)
	return strings.Replace(page(all...), "</style>", wide+"</style>", 1)
}

// phoneWidth is that of a phone, in pixels.
const phoneWidth = 360

// style imitates both chats on a phone that is 360 pixels wide, in a group, which shows
// the sender's face beside the text: 16 pixels of text on lines of 21, code somewhat
// smaller.
const style = `
* { box-sizing: border-box; margin: 0; }
body { width: 360px; font: 16px/21px Roboto, "Noto Color Emoji", sans-serif; }
.phone { display: flex; padding: 10px 8px; gap: 8px; align-items: flex-end; overflow-wrap: anywhere; }
.face { flex: none; width: 36px; height: 36px; border-radius: 50%; background: #5b8def; color: #fff; text-align: center; line-height: 36px; }
.card { flex: 1; min-width: 0; }
pre, code { font: 14px/19px "DejaVu Sans Mono", "Noto Color Emoji", monospace; white-space: pre-wrap; }
h3 { font-size: 18px; line-height: 24px; }
.row { display: flex; gap: 4px; margin-top: 4px; }
.button { flex: 1; text-align: center; font-weight: 500; }

.telegram { background: #d5e3c8; color: #000; }
.telegram .text { background: #fff; border-radius: 14px; padding: 7px 10px 8px; white-space: pre-wrap; }
.telegram pre { background: #eef3f8; border-left: 3px solid #5b8def; border-radius: 4px; padding: 3px 8px; margin: 2px 0; }
.telegram code { color: #37618e; } .telegram pre code { color: inherit; }
.telegram blockquote { background: #f1f6ee; border-left: 3px solid #6fb65f; border-radius: 4px; padding: 2px 8px; margin: 2px 0; font-size: 15px; }
.telegram .folded { max-height: 67px; overflow: hidden; position: relative; }
.telegram .folded::after { content: "⌄"; position: absolute; right: 6px; bottom: 0; color: #6fb65f; }
.telegram .button { background: #9db592; color: #fff; border-radius: 8px; line-height: 38px; }
.telegram .allow { background: #5fae57; } .telegram .deny { background: #d9655b; }

.discord { background: #313338; color: #dbdee1; align-items: flex-start; }
.discord .face { background: #5865f2; }
.discord .box { background: #2b2d31; border-left: 4px solid; border-radius: 6px; padding: 8px 12px; }
.discord pre { background: #1e1f22; border: 1px solid #3f4147; border-radius: 4px; padding: 4px 7px; margin: 2px 0; }
.discord code { background: #1e1f22; border-radius: 3px; padding: 0 3px; }
.discord blockquote { border-left: 4px solid #4e5058; border-radius: 2px; padding-left: 8px; }
.discord .time { background: #3f4147; border-radius: 3px; padding: 0 2px; }
.discord .row { gap: 8px; margin-top: 8px; }
.discord .button { background: #4e5058; color: #fff; border-radius: 6px; line-height: 36px; }
.discord .allow { background: #248046; } .discord .deny { background: #da373c; }
`

// measure counts the lines of each card, by the positions of its letters, and gives its
// height with the buttons.
const measure = `
document.fonts.ready.then(() => {
  const all = [...document.querySelectorAll('.phone')].map(phone => {
    const text = phone.querySelector('.text'), tops = [];
    const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
    for (let n; n = walk.nextNode();) {
      const range = document.createRange();
      range.selectNodeContents(n);
      const fold = n.parentElement.closest('.folded');
      for (const r of range.getClientRects()) {
        if (r.width === 0 || fold && r.bottom > fold.getBoundingClientRect().bottom + 4) continue;
        tops.push((r.top + r.bottom) / 2);
      }
    }
    tops.sort((a, b) => a - b);
    let lines = 0, last = -1e9;
    for (const t of tops) if (t - last > 9) { lines++; last = t; }
    return {lines, height: Math.ceil(phone.querySelector('.card').getBoundingClientRect().height)};
  });
  document.getElementById('measured').textContent = JSON.stringify({all, page: Math.ceil(document.body.getBoundingClientRect().height), wide: Math.ceil(document.body.getBoundingClientRect().width)});
});
`
