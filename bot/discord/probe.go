package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bwmarrin/discordgo"

	"approvalbot/bot/discord/rest"
	"approvalbot/core"
	"approvalbot/internal/approval"
)

const (
	probeTime    = 10 * time.Second // for each single check of Probe
	probesAtOnce = 4
)

// Probe looks at Discord as the desk would find it without changing it: it opens
// no gateway connection and no direct messages and sends no message, so that a
// running desk is not disturbed. It reports of the bot whether the token is good
// and taps would come in, of the clock whether it agrees with Discord's, of each
// place whether cards would get there (permissions computed from roles and
// overwrites), of each user whether it is a human, and of each role whether a
// server of the places has it. A finding's What is "discord", "clock", the
// place's text form, "discord user <id>" or "discord role <id>".
func Probe(ctx context.Context, cfg Config, places []approval.Target, users, roles []string) []core.Diagnostic {
	cfg, _, err := cfg.checked()
	if err != nil {
		return []core.Diagnostic{core.Fail("discord", err.Error(), "correct channels.discord")}
	}
	w := rest.New(cfg.APIURL, cfg.Token, cfg.Transport)
	w.Limit(probeTime)
	defer w.Close()
	p := &probe{rest: w, cfg: cfg, guilds: map[string]*guild{}}
	found, ok := p.self(ctx)
	if !ok {
		return found
	}
	var looks []func() []core.Diagnostic
	look := func(at func(context.Context) core.Diagnostic) {
		looks = append(looks, func() []core.Diagnostic {
			ctx, cancel := context.WithTimeout(ctx, probeTime)
			defer cancel()
			return []core.Diagnostic{at(ctx)}
		})
	}
	for _, t := range places {
		look(func(ctx context.Context) core.Diagnostic { return p.place(ctx, t) })
	}
	for _, id := range users {
		look(func(ctx context.Context) core.Diagnostic { return p.user(ctx, id) })
	}
	found = append(found, core.Gather(probesAtOnce, looks...)...)
	for _, id := range roles {
		found = append(found, p.role(id))
	}
	return found
}

// probe is one run of Probe.
type probe struct {
	rest *rest.Client
	cfg  Config
	me   string // the bot's user id

	mu     sync.Mutex
	guilds map[string]*guild // the servers that were looked at
}

// self asks Discord for the bot's account; ok is false if no more questions make
// sense.
func (p *probe) self(ctx context.Context) (found []core.Diagnostic, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	var me user
	asked := time.Now()
	header, err := p.rest.Send(ctx, http.MethodGet, "/users/@me", nil, &me)
	if err != nil {
		text, mend := p.say(err)
		return []core.Diagnostic{core.Fail("discord", text, mend)}, false
	}
	p.me = me.ID
	found = []core.Diagnostic{core.OK("discord", "the token is good, the bot is "+p.rest.Clean(me.Name))}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		found = append(found, core.ClockDiagnostic("Discord", date, asked, time.Now())...)
	}
	return append(found, p.application(ctx)), true
}

// application reports whether taps would come in: Discord sends them over the
// gateway or to an address, never both.
func (p *probe) application(ctx context.Context) core.Diagnostic {
	var app struct {
		Key      string `json:"verify_key"`
		Endpoint string `json:"interactions_endpoint_url"`
	}
	if err := p.rest.Call(ctx, http.MethodGet, "/applications/@me", nil, &app); err != nil {
		text, mend := p.say(err)
		return core.Fail("discord", "cannot find out how taps come in: "+text, mend)
	}
	switch {
	case p.cfg.Updates == Gateway && app.Endpoint != "":
		return core.Fail("discord", "the application has an Interactions Endpoint URL, so the gateway gets no taps",
			"empty that field in the developer portal, or use updates: {interactions: …}")
	case p.cfg.Updates == Gateway:
		return core.OK("discord", "taps come over the gateway; no privileged intent is needed")
	case app.Endpoint == "":
		return core.Fail("discord", "the application has no Interactions Endpoint URL, so no taps come",
			"set it in the developer portal to server.publicUrl and /discord/interactions")
	case app.Key != "" && !strings.EqualFold(app.Key, strings.TrimSpace(p.cfg.PublicKey)):
		return core.Fail("discord", "publicKey is not the application's, so every tap is refused",
			"copy the Public Key from the developer portal")
	}
	return core.OK("discord", "taps come to "+p.rest.Clean(app.Endpoint))
}

// user reports whether an account that may decide is a human.
func (p *probe) user(ctx context.Context, id string) core.Diagnostic {
	what := "discord user " + id
	var u user
	if err := p.rest.Call(ctx, http.MethodGet, "/users/"+id, nil, &u); err != nil {
		text, mend := p.say(err)
		return core.Warn(what, text, mend)
	}
	if why := u.notHuman(); why != "" {
		return core.Warn(what, "is "+why+" ("+p.rest.Clean(u.Name)+"), which cannot approve", "take it out of the configuration")
	}
	return core.OK(what, "is "+p.rest.Clean(cmp.Or(u.Shown, u.Name))+
		", a person; whether they take direct messages shows only when one is sent")
}

// role reports whether a role that may decide exists in a server that gets cards.
func (p *probe) role(id string) core.Diagnostic {
	what := "discord role " + id
	for _, g := range p.guilds {
		if i := slices.IndexFunc(g.Roles, func(r *discordgo.Role) bool { return r.ID == id }); i >= 0 {
			return core.OK(what, fmt.Sprintf("is %q in %q", p.rest.Clean(g.Roles[i].Name), p.rest.Clean(g.Name)))
		}
	}
	return core.Warn(what, "is not a role of a server that gets cards, so no member becomes an "+
		"approver by it", "correct allowedRoleIds")
}

// say words an error with its cause and the remedy.
func (p *probe) say(err error) (text, mend string) {
	var e *rest.Error
	if !errors.As(err, &e) {
		return strings.TrimSuffix(err.Error(), "."), "check the network and channels.discord.apiUrl"
	}
	if advice := e.Advice(); advice != "" && e.Status != http.StatusTooManyRequests {
		text, mend, both := strings.Cut(strings.TrimSuffix(advice, "."), "; ")
		if !both {
			text, mend, _ = strings.Cut(text, ". ")
		}
		return text + " (" + e.Error() + ")", mend
	}
	return e.Error(), "try again in a while"
}

// guild asks for a server and the bot's membership in it, once.
func (p *probe) guild(ctx context.Context, id string) (*guild, error) {
	p.mu.Lock()
	defer p.mu.Unlock() // callers that need the same one wait for the answer
	if g := p.guilds[id]; g != nil {
		return g, nil
	}
	g := &guild{me: p.me}
	if err := p.rest.Call(ctx, http.MethodGet, "/guilds/"+id, nil, &g.Guild); err != nil {
		return nil, err
	}
	if err := p.rest.Call(ctx, http.MethodGet, "/guilds/"+id+"/members/"+p.me, nil, &g.self); err != nil {
		return nil, err
	}
	g.ID = id
	p.guilds[id] = g
	return g, nil
}
