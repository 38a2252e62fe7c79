package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"approvalbot/api"
	"approvalbot/internal/fakechat"
)

// room is a chat on either platform, as the load uses it.
type room interface {
	target() api.Target
	// tap has one of the people tap a button, by what it carries.
	tap(who int, message, data string) touch
	// waitFor waits until the message shows how its approval has ended, and gives
	// the text that it shows.
	waitFor(ctx context.Context, message string, a api.Approval) (string, error)
}

// touch is a tap on its way.
type touch interface {
	// said is what the voter was told, if they were.
	said() (string, bool)
	// lost says that the voter sees that it came to nothing.
	lost() bool
}

// roomName writes a room as a target does.
func roomName(t api.Target) string { return t.Channel + ":" + t.To }

// rooms are all chats, of both platforms.
func (c *chaos) rooms() (all []room) {
	for _, chat := range c.chats {
		all = append(all, tgRoom{c, chat})
	}
	for _, channel := range c.channels {
		all = append(all, dcRoom{c, channel})
	}
	return all
}

// roomNamed is the room of that name.
func (c *chaos) roomNamed(place string) room {
	for _, r := range c.rooms() {
		if roomName(r.target()) == place {
			return r
		}
	}
	c.t.Fatalf("there is no chat %s", place)
	return nil
}

type tgRoom struct {
	c    *chaos
	chat *fakechat.TelegramChat
}

func (r tgRoom) target() api.Target {
	return api.Target{Channel: "telegram", To: fmt.Sprint(r.chat.ID)}
}

func (r tgRoom) tap(who int, message, data string) touch {
	return tgTouch{r.c.people[who].TapData(r.chat, messageNumber(message), data)}
}

func (r tgRoom) waitFor(ctx context.Context, message string, a api.Approval) (text string, err error) {
	err = r.c.tg.WaitFor(ctx, func() bool {
		m, ok := r.chat.Message(messageNumber(message))
		text = m.Text
		return ok && !decides(m.Labels()) && showsEnd(text, a)
	})
	return text, err
}

// messageNumber is a Telegram message's id.
func messageNumber(id string) int {
	n, _ := strconv.Atoi(id)
	return n
}

type tgTouch struct{ *fakechat.TelegramTap }

func (t tgTouch) said() (string, bool) {
	said, ok := t.Answered()
	return said.Text, ok
}

// lost: Telegram keeps a tap until a desk takes it.
func (t tgTouch) lost() bool {
	said, ok := t.Answered()
	return ok && (strings.HasPrefix(said.Text, "The store ") || tooEarly(said.Text))
}

// tooEarly says whether a tap was refused because the desk that took it had not noted yet that this card
// is in the chat, or had given the chat away. It counts when it is made again; if the desk never notes
// the card, it never does, and the approval does not end.
func tooEarly(said string) bool {
	return strings.HasPrefix(said, "Another instance has taken over this chat") ||
		strings.HasPrefix(said, "Not everything that would run has been shown in this chat. Send /show ")
}

type dcRoom struct {
	c       *chaos
	channel *fakechat.DiscordChannel
}

func (r dcRoom) target() api.Target { return api.Target{Channel: "discord", To: r.channel.ID} }

func (r dcRoom) tap(who int, message, data string) touch {
	return dcTouch{r.c.accounts[who].ClickData(r.channel, message, data)}
}

func (r dcRoom) waitFor(ctx context.Context, message string, a api.Approval) (text string, err error) {
	err = r.c.dc.WaitFor(ctx, func() bool {
		m, ok := r.channel.Message(message)
		text = dcText(m.Text())
		return ok && !decides(m.Labels()) && showsEnd(text, a)
	})
	return text, err
}

type dcTouch struct{ *fakechat.DiscordInteraction }

func (t dcTouch) said() (string, bool) {
	for _, m := range t.Replies() {
		return dcText(m.Text()), true
	}
	return "", false
}

// lost: Discord keeps no tap for a bot that is away, and says so after three
// seconds; what could not be stored the desk says itself.
func (t dcTouch) lost() bool {
	said, _ := t.said()
	return t.Failed() || strings.HasPrefix(said, "The store ") || strings.HasPrefix(said, "The desk could not record this.") ||
		tooEarly(said)
}

// showsEnd says whether a card's text says how its approval has ended.
func showsEnd(text string, a api.Approval) bool {
	words := map[api.Status]string{
		api.Approved: "allowed once by ", api.Denied: "denied by ", api.Withdrawn: "withdrawn", api.Expired: "nobody answered in ",
	}[a.Status]
	return strings.Contains(text, a.Code) && strings.Contains(strings.ToLower(text), words)
}
