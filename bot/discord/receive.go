package discord

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/render"
	"approvalbot/bot/discord/rest"
	"approvalbot/bot/textcmd"
	"approvalbot/internal/approval"
	"approvalbot/internal/fault"
)

const notStoredText = "The desk could not record this. Please look at the request and tap again in a moment."

// onInteraction stores an interaction that came over the gateway, and gives its
// first answer.
func (b *Bot) onInteraction(ctx context.Context, raw json.RawMessage) {
	i, err := readInteraction(raw)
	if err != nil || i.Type == pingInteraction {
		b.log.Warn("dropped an interaction of Discord that could not be read", "reason", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerWindow)
	defer cancel()
	done := b.acks.begin(i.ID)
	defer done()
	first := b.take(ctx, i, raw)
	path := "/interactions/" + i.ID + "/" + i.Token + "/callback"
	for try := 0; ; try++ {
		err := b.rest.Call(ctx, http.MethodPost, path, first, nil)
		if err == nil || rest.CodeOf(err) != 0 && rest.RetryAfter(err) == 0 {
			b.note(i.ID, err)
			return
		}
		if !textcmd.Sleep(ctx, max(rest.RetryAfter(err), textcmd.Backoff(try, 100*time.Millisecond, time.Second))) {
			b.note(i.ID, err)
			return
		}
	}
}

// note logs a first answer that did not arrive: the tap counts anyway, if it was stored.
func (b *Bot) note(id string, err error) {
	if err != nil {
		b.log.Warn("could not answer a Discord interaction in time; the interaction counts if it was stored",
			"update", id, "reason", err)
	}
}

func readInteraction(raw []byte) (*interaction, error) {
	var i interaction
	if err := json.Unmarshal(raw, &i); err != nil {
		return nil, err
	}
	named := render.IsID(i.ID) && render.IsID(i.App) && i.Token != ""
	if i.Type != pingInteraction && !named {
		return nil, fmt.Errorf("it has no id or token")
	}
	return &i, nil
}

// take stores an interaction and gives its first answer.
func (b *Bot) take(ctx context.Context, i *interaction, raw json.RawMessage) callback {
	if i.Type == typingInteraction {
		return b.suggest(ctx, i)
	}
	keep, cancel := context.WithTimeout(ctx, storeWindow)
	defer cancel()
	if err := b.keep(keep, i.ID, stored{Interaction: raw}); err != nil {
		b.log.Warn("could not store an interaction; the person was asked to tap again", "update", i.ID, "reason", err)
		return callback{discordgo.InteractionResponseChannelMessageWithSource, discordgo.InteractionResponseData{
			Content: notStoredText, Flags: discordgo.MessageFlagsEphemeral, AllowedMentions: render.Nobody()}}
	}
	return b.first(i)
}

// storeTries is how often a message is stored that came over the gateway, which does not repeat it.
const storeTries = 3

// onMessage takes a message that came over the gateway, if it is for the bot.
func (b *Bot) onMessage(ctx context.Context, raw json.RawMessage) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil || !render.IsID(m.ID) || !m.forMe(b.self.user) {
		return
	}
	for try := range storeTries {
		err := b.keep(ctx, m.ID, stored{Message: raw})
		if err == nil {
			return
		}
		said := "could not store an incoming message; trying again"
		if try == storeTries-1 {
			said = "could not store an incoming message; it is lost"
		}
		b.log.Warn(said, "update", m.ID, "target", m.At, "reason", err)
		if !textcmd.Sleep(ctx, textcmd.Backoff(try, time.Second, time.Minute)) {
			return
		}
	}
}

// keep stores an update and wakes the handlers.
func (b *Bot) keep(ctx context.Context, id string, body stored) error {
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return fmt.Errorf("its id is not a snowflake")
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	fault.Point("before-update-stored")
	err = b.inbox.SaveInbound(ctx, []approval.Inbound{{
		InboundRef: approval.InboundRef{Source: b.source, ID: number}, Body: raw, ReceivedMs: time.Now().UnixMilli(),
	}})
	if err != nil {
		return err
	}
	fault.Point("after-update-stored")
	b.intake.Poke()
	return nil
}

// guarded runs f in a goroutine whose panic does not end the program.
func (b *Bot) guarded(f func()) {
	b.tasks.start(func() {
		defer func() {
			if p := recover(); p != nil {
				b.log.Error("receiving an update caused a panic; the update is lost", "reason", fmt.Sprint(p), "stack",
					string(debug.Stack()))
			}
		}()
		f()
	})
}
