package daemon

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/card"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/platform"
	"approvalbot/internal/server/connection"
	"approvalbot/internal/web"
)

// staleCheckpoint is how old the newest signed checkpoint of the log may be, and staleDue
// for how long a message may be due, before health reports it.
const (
	staleCheckpoint = 25 * time.Hour
	staleDue        = 5 * time.Minute
)

// webConfig is what the pages need of the desk. base is how people reach it.
func (d *Daemon) webConfig(base *url.URL) web.Config {
	s := d.cfg.Server.Web
	return web.Config{Gate: d.Gate, SignIn: d.SignIn, Log: d.log, PublicURL: base, Authenticated: connection.Authenticated,
		OIDC:     web.OIDC{Issuer: s.OIDC.Issuer, ClientID: s.OIDC.ClientID, ClientSecret: string(s.OIDC.ClientSecret)},
		BotToken: string(d.cfg.Channels.Bots[web.AppPlatform].BotToken),
		Changes:  d.feed, Rights: d.rightsOf, Policy: d.policyView, OnDisk: d.onDisk, Health: d.health,
		Audit:        &web.Audit{Entries: d.Store, Keys: d.Auditor.Keys, Verify: d.Auditor.Verify},
		Receipt:      d.Auditor.Receipt,
		EmbedOrigins: s.EmbedOrigins, Viewers: d.viewers, Asks: d.asks, PushKey: d.pushKey.Public}
}

// onDisk tells how the configuration file differs from what is in force. It does not reload it.
func (d *Daemon) onDisk(ctx context.Context) web.OnDisk {
	next, _, err := d.options.Load()
	if err != nil {
		return web.OnDisk{Mistake: err.Error()}
	}
	old := d.Config()
	out := web.OnDisk{Restart: effective.KeepRunning(&next, old)}
	rules, err := effective.Rules(next, effective.Table(next))
	if err != nil {
		return web.OnDisk{Mistake: err.Error()}
	}
	if out.Same = rules.Policy.Hash() == d.Gate.PolicyHash(); !out.Same {
		unproved := effective.Unproved(old, next)
		out.Looser = append(effective.Looser(old, next), unproved...)
		if len(unproved) > 0 {
			out.Otherwise = d.otherwise(ctx, rules.Policy)
		}
	}
	return out
}

// rightsOf is what the tokens of a person may, together, beside deciding.
func (d *Daemon) rightsOf(person string) (r web.Rights) {
	for _, t := range d.Config().Server.Tokens {
		if t.Person == person && person != "" {
			r.Audit = r.Audit || slices.Contains(t.Scopes, "operator.audit")
			r.Admin = r.Admin || slices.Contains(t.Scopes, "operator.admin")
		}
	}
	return r
}

// health is the state of the desk, from what it knows without requests to other
// servers: what waits, what failed, and what was never looked at.
func (d *Daemon) health(ctx context.Context) []core.Diagnostic {
	r := d.ready(ctx)
	out := []core.Diagnostic{
		found("store", r.Store, r.Store == "ok", "look at the disk, or at the database"),
		found("policy", r.Policy, r.Policy == "ok" || r.Policy == api.PolicyDisabled,
			"run approvalbot config check, and reload"),
	}
	for _, name := range platform.Names() {
		c, on := r.Channels[name], d.bots[name] != nil
		out = append(out, found(name, c.Detail, c.Up || !on, "run approvalbot doctor"))
	}
	if n := int(d.dutyTrouble("calendars_failing")); n > 0 {
		out = append(out, core.Warn("duty calendars", fmt.Sprintf("%d could not be read at the last try", n),
			"run approvalbot duty"))
	}
	s, err := d.Store.Stats(ctx)
	if err != nil {
		return out
	}
	now := time.Now().UnixMilli()
	age := func(ms int64) time.Duration { return time.Duration(now-ms) * time.Millisecond }
	if s.OldestDueMs != 0 && age(s.OldestDueMs) > staleDue {
		out = append(out, core.Warn("messages", "a message has been due for "+card.Span(age(s.OldestDueMs)),
			"look at the chats above"))
	}
	if s.FailedCalls > 0 {
		out = append(out, core.Warn("callbacks", fmt.Sprintf("%d were given up", s.FailedCalls),
			"see approvalbot doctor, and retry them"))
	}
	if s.LastCheckMs != 0 && age(s.LastCheckMs) > staleCheckpoint {
		out = append(out, core.Warn("audit log",
			"its newest signed checkpoint is "+card.Span(age(s.LastCheckMs))+" old", "look at the desk's log"))
	}
	if checked, err := d.Store.LastChecked(ctx); err == nil {
		out = append(out, checked.Diagnostic(time.Now()))
	}
	if last, drilled, err := d.Gate.Drills().LastDrill(ctx); err == nil && drilled && len(last.Missing) > 0 {
		out = append(out, core.Warn("drill", fmt.Sprintf("%d chats got no card", len(last.Missing)), "run approvalbot drill"))
	}
	waiting := fmt.Sprintf("%d requests wait", s.Pending)
	if s.Pending == 1 {
		waiting = "1 request waits"
	}
	return append(out, core.OK("waiting", waiting), core.OK("log", fmt.Sprintf("%d records", s.LogHead)))
}

// found is a diagnostic of what is either well or not.
func found(what, text string, well bool, fix string) core.Diagnostic {
	if well {
		return core.OK(what, text)
	}
	return core.Fail(what, text, fix)
}
