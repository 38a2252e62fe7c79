package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// probeTime bounds each single thing that Probe looks at.
const probeTime = 10 * time.Second

// Probe looks at Telegram as the desk would find it without changing it: it
// fetches no updates, sets no webhook and sends no messages, so that a running
// desk is not disturbed. It reports of the bot whether the token is good and taps
// would come in, of the clock whether it agrees with Telegram's, of each place
// whether cards would get there, and of each user (numeric ids of accounts that
// may decide) whether it is a human. A finding's What is the channel, "clock",
// the place's text form, or "telegram user <id>".
func Probe(ctx context.Context, cfg Config, places []approval.Target, users []string) []core.Diagnostic {
	cfg, err := cfg.checked()
	if err != nil {
		return []core.Diagnostic{core.Fail(cmp.Or(cfg.Channel, platform), err.Error(), "correct its bot token")}
	}
	w, stop := newWire(cfg, probeTime)
	defer stop()
	p := &probe{wire: w, cfg: cfg}
	found, ok := p.self(ctx)
	if !ok {
		return found
	}
	looks := []func() []core.Diagnostic{func() []core.Diagnostic { return p.updates(ctx) }}
	for _, t := range places {
		looks = append(looks, func() []core.Diagnostic {
			return p.bounded(ctx, func(ctx context.Context) core.Diagnostic { return p.place(ctx, t) })
		})
	}
	for _, id := range users {
		looks = append(looks, func() []core.Diagnostic {
			return p.bounded(ctx, func(ctx context.Context) core.Diagnostic { return p.user(ctx, id, places) })
		})
	}
	return append(found, core.Gather(probesAtOnce, looks...)...)
}

// bounded looks at one thing, in its own time.
func (p *probe) bounded(ctx context.Context, look func(context.Context) core.Diagnostic) []core.Diagnostic {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	return []core.Diagnostic{look(ctx)}
}

const probesAtOnce = 4

// probe is one look at Telegram.
type probe struct {
	wire *wire
	cfg  Config
	id   int64 // the bot's
}

// self asks who the bot is; ok is false if no more questions make sense.
func (p *probe) self(ctx context.Context) (found []core.Diagnostic, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var me struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
		ReadsAll bool   `json:"can_read_all_group_messages"`
	}
	asked := time.Now()
	date, err := p.wire.dated(ctx, "getMe", &me)
	if err != nil {
		text, mend := p.say(err)
		return []core.Diagnostic{core.Fail(p.cfg.Channel, text, mend)}, false
	}
	p.id = me.ID
	found = append(found, core.OK(p.cfg.Channel, "the token is good, the bot is @"+me.Username))
	found = append(found, core.ClockDiagnostic("Telegram", date, asked, time.Now())...)
	if !me.ReadsAll {
		found = append(found, core.OK(p.cfg.Channel, "privacy mode is on: buttons, /commands and replies to a card work in groups, a plain \"approve CODE\" only if the bot is an administrator"))
	}
	return found, true
}

// updates reports whether taps would come in.
func (p *probe) updates(ctx context.Context) []core.Diagnostic {
	var hook struct {
		URL       string `json:"url"`
		Pending   int    `json:"pending_update_count"`
		LastAt    int64  `json:"last_error_date"`
		LastError string `json:"last_error_message"`
	}
	if err := p.wire.post(ctx, "getWebhookInfo", struct{}{}, &hook); err != nil {
		text, mend := p.say(err)
		return []core.Diagnostic{core.Fail(p.cfg.Channel, "cannot find out how taps come in: "+text, mend)}
	}
	switch {
	case p.cfg.Updates == Polling && hook.URL != "":
		return []core.Diagnostic{core.Fail(p.cfg.Channel, "a webhook is set for this bot, so polling gets no taps",
			"restart the desk, which removes the webhook; if it comes back, another program uses this token")}
	case p.cfg.Updates == Polling:
		return []core.Diagnostic{core.OK(p.cfg.Channel, "taps come by polling, and no webhook is in the way")}
	case hook.URL == "":
		return []core.Diagnostic{core.Fail(p.cfg.Channel, "no webhook is set, so no taps come", "start the desk, which sets it")}
	case hook.URL != p.cfg.WebhookURL:
		return []core.Diagnostic{core.Fail(p.cfg.Channel,
			"the webhook that is set has another address than channels.telegram.updates.webhook.url",
			"start the desk again, which sets its own; if it changes back, another program uses this token")}
	case hook.LastError != "" && time.Since(time.Unix(hook.LastAt, 0)) < time.Hour:
		return []core.Diagnostic{core.Warn(p.cfg.Channel,
			fmt.Sprintf("the webhook is set, but Telegram last reported: %s (%d updates wait)", p.wire.clean(hook.LastError), hook.Pending),
			"make sure that Telegram can reach the address")}
	}
	return []core.Diagnostic{core.OK(p.cfg.Channel, "taps come by the webhook that is set")}
}

// user reports whether an account that may decide is a human that can be asked.
// Telegram describes only accounts that the bot has met: members of a group that
// it is in, and people who have pressed Start.
func (p *probe) user(ctx context.Context, id string, places []approval.Target) core.Diagnostic {
	what := "telegram user " + id
	if _, ours := senders()[id]; ours {
		return core.Warn(what, "is "+senders()[id]+", not a person: it cannot approve", "take it out of the configuration")
	}
	for _, t := range groups(places) {
		m, err := p.member(ctx, t.To, id)
		if err != nil {
			continue
		}
		name := p.wire.clean(m.User.Name)
		switch {
		case m.User.IsBot:
			return core.Warn(what, "is a bot ("+name+"), and bots cannot approve", "take it out of the configuration")
		case m.in():
			return core.OK(what, name+" is in "+t.String())
		}
	}
	var c struct {
		Type string `json:"type"`
		Name string `json:"first_name"`
	}
	err := p.wire.post(ctx, "getChat", map[string]any{"chat_id": id}, &c)
	var refused *apiError
	switch {
	case errors.As(err, &refused) && refused.Code == http.StatusBadRequest:
		return core.Warn(what, "is in no target chat, and Telegram does not show the bot people who never "+
			"wrote to it",
			"add the person to a target chat, or have them open the bot and press Start")
	case err != nil:
		text, mend := p.say(err)
		return core.Warn(what, text, mend)
	case c.Type != "private":
		return core.Warn(what, "is a "+c.Type+", not a person", "name the numeric id that /whoami gives")
	}
	if slices.ContainsFunc(places, func(t approval.Target) bool { return t.To == id }) {
		return core.OK(what, p.wire.clean(c.Name)+" is asked in their own chat with the bot")
	}
	return core.Warn(what, p.wire.clean(c.Name)+" has written to the bot, but is in no target chat",
		"add the person to a target chat, or make their private chat a target")
}

// groups gives the chats among the places in which there are members, each once.
func groups(places []approval.Target) []approval.Target {
	var out []approval.Target
	for _, t := range places {
		if t = t.Chat(); strings.HasPrefix(t.To, "-") && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// senders are accounts that replace the true sender (telegram-bot-api, Client.cpp).
var senders = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"1087968824": "every group's anonymous administrators", "136817688": "every channel's sender", "777000": "Telegram itself",
	}
})

// say words an error with its cause and the remedy.
func (p *probe) say(err error) (text, mend string) {
	var e *apiError
	if !errors.As(err, &e) {
		return strings.TrimSuffix(plain(err).Error(), "."), "check the network and channels.telegram.apiUrl"
	}
	if v := e.look(anyCall); v.say != "" && e.Code != tooManyRequests {
		text, mend, both := strings.Cut(strings.TrimSuffix(v.say, "."), "; ")
		if !both {
			text, mend, _ = strings.Cut(text, ". ")
		}
		return text + " (" + e.Error() + ")", mend
	}
	return e.Error(), "try again in a while"
}

// dated calls a method without parameters, reads its result and gives the server's
// time as its answer tells it; zero if it does not.
func (w *wire) dated(ctx context.Context, method string, result any) (time.Time, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.base+"/bot"+w.token+"/"+method, nil)
	if err != nil {
		return time.Time{}, errors.New("the Telegram API address cannot be used")
	}
	resp, err := w.Do(req)
	if err != nil {
		return time.Time{}, err
	}
	answer := struct {
		Result any `json:"result"`
	}{result}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return time.Time{}, &errUnreachable{"the result of " + method + " has another form than documented"}
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return time.Time{}, nil
	}
	return date, nil
}
