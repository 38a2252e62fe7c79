package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/policy"
)

// announceTime bounds how long one chat may take to be notified of a new policy.
const announceTime = 15 * time.Second

// bySignal says in the log that a signal had the configuration read again.
const bySignal = "signal:SIGHUP"

// reloadOnSignal reads the configuration again at each SIGHUP.
func (d *Daemon) reloadOnSignal(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	for {
		select {
		case <-hup:
			if _, err := d.Reload(ctx, bySignal); err != nil {
				d.log.Error("the new configuration was not applied; the old policy stays", "by", bySignal, "reason", err)
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// reloadFor is reload for the API.
func (d *Daemon) reloadFor(ctx context.Context, who core.Caller) (api.Reloaded, error) {
	by := "token:" + who.Token
	if who.Person != "" {
		by = "person:" + who.Person
	}
	r, err := d.Reload(ctx, by)
	if !who.MayDecide && len(r.Otherwise) > 0 { // a caller who may not list requests is not told about them
		r.Otherwise = r.Otherwise[:1]
	}
	var mistakes config.Mistakes
	switch {
	case errors.As(err, &mistakes):
		d.log.Error("the new configuration was not applied; the old policy stays", "by", by, "reason", err)
		return r, refusalOf(mistakes)
	case err != nil && approval.CodeOf(err) == "":
		d.log.Error("the new configuration was not applied; the old policy stays", "by", by, "reason", err)
		return r, approval.Refuse(approval.CodeUnavailable,
			"The new configuration could not be applied, and the old policy stays; see the desk's log.")
	}
	return r, err
}

// Config is the configuration in force.
func (d *Daemon) Config() config.Config { return d.inForce.Load().config }

// Reload is reload for an operator, who wants the configuration everywhere.
func (d *Daemon) Reload(ctx context.Context, by string) (api.Reloaded, error) {
	return d.reload(ctx, by, true)
}

// reload reads the configuration again and puts policy, people, tokens and
// routing in force, as a whole: after a mistake everything stays as it was.
// Settings that a running desk cannot change (addresses, store, bots) wait for a
// restart and are logged. Pending approvals are judged again, and a list of what
// became looser is sent to the target chats.
//
// newest says that an operator wants this configuration on all instances. Without
// newest this instance follows another one, which has logged the reload and notified
// the chats: it reloads only if it is behind, and if the file that it reads has the
// policy that counts.
func (d *Daemon) reload(ctx context.Context, by string, newest bool) (api.Reloaded, error) {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	if !newest && !d.behind() {
		return api.Reloaded{}, nil
	}
	// First what removed people have left, in a step that ran beside their removal: a
	// configuration that names them again must not give it back.
	if _, err := d.SignIn.EndGone(ctx); err != nil {
		return api.Reloaded{}, err
	}
	old, generation := d.Config(), d.Store.Generation()
	next, warnings, err := d.options.Load()
	if err != nil {
		return api.Reloaded{}, err
	}
	for _, w := range warnings {
		d.log.Warn(w.String())
	}
	fixed := effective.KeepRunning(&next, old)
	bot, started := effective.VerifierBot(next), effective.VerifierBot(d.cfg)
	if bot.BotToken != started.BotToken || bot.APIURL != started.APIURL {
		fixed = append(fixed, config.VerifierChatKey)
	}
	if len(fixed) > 0 {
		d.log.Warn("some settings that changed take effect only after a restart", "keys", strings.Join(fixed, ", "))
	}
	table := effective.Table(next).After(d.table())
	rules, err := d.rulesOf(ctx, next, table)
	if err != nil {
		return api.Reloaded{}, err
	}
	if !newest {
		if err := d.Store.Agreed(rules.Policy.Hash()); err != nil {
			return api.Reloaded{}, err
		}
	}
	tokens, err := d.Server.Tokens.Next(effective.Tokens(next))
	if err != nil {
		return api.Reloaded{}, err
	}
	r := api.Reloaded{PolicyHash: rules.Policy.Hash(), Changed: rules.Policy.Hash() != d.Gate.PolicyHash(),
		Looser: list(effective.Looser(old, next)), Unproved: effective.Unproved(old, next),
		Tighter: effective.Tighter(old, next), Restart: list(fixed)}
	if len(r.Unproved) > 0 {
		r.Otherwise = d.otherwise(ctx, rules.Policy)
	}
	if err := d.Gate.Upkeep().Announce(ctx, by, r.PolicyHash, slices.Concat(r.Looser, r.Unproved)); err != nil {
		return r, err
	}
	before := d.inForce.Swap(&snapshot{config: next, rules: rules, tokens: tokens, table: table})
	before.tokens.Replaced()
	d.SignIn.RulesChanged()
	d.Metrics.Use(known(next, rules))
	select {
	case d.otherDuty <- struct{}{}:
	default:
	}
	err = d.agree(context.WithoutCancel(ctx), newest)
	if newest {
		generation = d.Store.Generation()
	}
	d.loaded.Store(generation)
	if err != nil {
		d.log.Error("could not tell the other instances about the new policy; some instances refuse calls until you "+
			"reload this instance again", "reason", err)
	}
	d.log.Info("the configuration was reloaded", "policy", r.PolicyHash[:12], "changed", r.Changed, "by", by, "looser",
		strings.Join(r.Looser, "; "), "unproved", strings.Join(r.Unproved, "; "), "otherwise", strings.Join(r.Otherwise, "; "),
		"tighter", strings.Join(r.Tighter, "; "))
	if gone, err := d.endGone(context.WithoutCancel(ctx)); err == nil {
		r.Ended, r.EndsLater = list(gone.Lines()), gone.Waits
	}
	if err := d.Gate.Upkeep().Rejudge(context.WithoutCancel(ctx)); err != nil {
		d.log.Error("could not judge all pending approvals by the new policy; each one is judged at its "+
			"next vote", "reason", err)
	}
	became := "became looser"
	if len(r.Looser) == 0 {
		became = "changed"
	}
	if said := slices.Concat(r.Looser, r.Unproved, r.Otherwise[:min(1, len(r.Otherwise))]); newest && len(said) > 0 {
		d.announce(context.WithoutCancel(ctx),
			"The approval policy "+became+" ("+reloader(by)+"): "+strings.Join(said, "; ")+".")
	}
	return r, nil
}

// otherwise says which known calls a policy would judge otherwise than the one in force. No reload
// waits for what cannot be read.
func (d *Daemon) otherwise(ctx context.Context, next core.Policy) []string {
	found, err := d.Gate.Upkeep().Otherwise(ctx, next, policy.Examples())
	if err != nil {
		d.log.Warn("could not list the calls that the new policy judges differently; the reload goes on without the list",
			"reason", err)
		return nil
	}
	return found.Lines()
}

// announced is the version whose looser judgements are announced.
const announced = "0.2"

// announceVersion tells, once in a store's life, what this version allows by the same
// configuration that the version before asked about.
func (d *Daemon) announceVersion(ctx context.Context) {
	looser := list(effective.LooserByVersion(d.Config()))
	told, err := d.Gate.Upkeep().AnnounceVersion(ctx, announced, looser)
	if err != nil {
		d.log.Error("could not record which calls this version of approvalbot newly allows; the next start tries again",
			"version", announced, "reason", err)
	}
	if !told || len(looser) == 0 {
		return
	}
	text := "The approval policy became looser by the new version of the desk: " + strings.Join(looser, "; ") + "."
	d.log.Warn(text)
	d.announce(context.WithoutCancel(ctx), text)
}

// reloader says for people who had the configuration read again.
func reloader(by string) string {
	kind, name, _ := strings.Cut(by, ":")
	switch kind {
	case "person":
		return "loaded by " + name
	case "signal":
		return "loaded by a signal at the desk's machine"
	}
	return "loaded with the token " + name
}

// announce tells every target chat something, once, as far as they can be reached.
func (d *Daemon) announce(ctx context.Context, text string) {
	d.tell(ctx, d.table().Route(approval.Approval{}).Targets, text)
}

// tell posts a text in each of the chats, once, without waiting for it.
func (d *Daemon) tell(ctx context.Context, chats []approval.Target, text string) {
	for _, t := range chats {
		b := d.bots[t.Channel]
		if b == nil {
			continue
		}
		d.telling.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, announceTime)
			defer cancel()
			if _, err := b.Post(ctx, t, core.Posting{Text: text}); err != nil {
				d.log.Warn("could not send an announcement to a chat; the desk does not "+
					"try again", "target", t.String(), "reason",
					err)
			}
		})
	}
}

// policyView is the effective policy for GET /v1/policy.
func (d *Daemon) policyView(context.Context) (api.Policy, error) {
	cfg := d.Config()
	rules := d.Gate.Rules()
	classes, err := effective.Classes(cfg)
	if err != nil {
		return api.Policy{}, err
	}
	t, x := cfg.ApprovalTools(), cfg.Approvals.Exec
	p := api.Policy{
		Enabled: rules.Enabled, Mode: t.Mode, PolicyHash: rules.Policy.Hash(), SelfApproval: t.SelfApproval,
		TimeoutMs: rules.TimeoutMs, MaxTimeoutMs: rules.MaxTimeoutMs,
		Approvers: api.Approvers{Allowed: list(t.AllowedApprovers), Disabled: list(t.DisabledApprovers),
			Effective: list(t.EffectiveApprovers()), MinApprovals: t.MinApprovals},
		Classifier: rules.Classifier != nil, Verifier: verifierView(cfg.Tools.Verifier),
		Routing: api.RoutingPolicy{Mode: t.Routing.Mode, Targets: placeNames(t.Routing.Targets),
			Fallback:        placeNames(t.Routing.Fallback),
			FallbackAfterMs: time.Duration(t.Routing.FallbackAfter).Milliseconds()},
		Exec: api.ExecPolicy{Security: x.Security, Ask: x.Ask, AskFallback: x.AskFallback,
			Allowlist: list(config.Texts(x.Allowlist)), SafeBins: list(x.SafeBins), Strict: x.Strict},
		Confine: confineView(cfg), Away: []api.Absence{},
	}
	for _, c := range classes {
		p.Classes = append(p.Classes, c.View())
	}
	for _, a := range rules.People.Absent() {
		p.Away = append(p.Away, api.Absence(a))
	}
	return p, nil
}

func verifierView(v config.Verifier) api.VerifierPolicy {
	return api.VerifierPolicy{Enabled: v.Enabled, Webhook: v.Enabled && v.Webhook.URL != "",
		Telegram: v.Enabled && v.Chat.Enabled,
		FailMode: v.FailMode, Include: list(v.Scope.Include), Exclude: list(v.Scope.Exclude)}
}

// list is never nil, so that JSON has [].
func list(words []string) []string { return append([]string{}, words...) }

func placeNames(places []config.Place) []string {
	out := []string{}
	for _, p := range config.Targets(places) {
		out = append(out, p.Normal().String())
	}
	return out
}

// refusalOf tells the mistakes to who may see the configuration.
func refusalOf(m config.Mistakes) *approval.Error {
	n := "1 mistake"
	if len(m) > 1 {
		n = fmt.Sprintf("%d mistakes", len(m))
	}
	e := approval.Invalid()
	e.Message = "The configuration has " + n + " and the old policy stays."
	for _, one := range m {
		where := fmt.Sprintf("line %d", one.Where.Line)
		if one.Where.Line == 0 {
			where = one.Where.Source
		}
		e.Fields = append(e.Fields,
			approval.FieldError{Field: cmp.Or(one.Key, "configuration"), Problem: where + ": " + one.Text})
	}
	return e
}

// follow reads the configuration again by itself when another was loaded elsewhere,
// and puts it in force if it has the policy that counts.
func (d *Daemon) follow(ctx context.Context) error {
	for logged := ""; ; {
		select {
		case <-d.outdated:
		case <-ctx.Done():
			return nil
		}
		_, err := d.reload(ctx, "instance", false)
		why := whyStray(err)
		if d.outdatedReason.Store(&why); why != logged && ctx.Err() == nil {
			if logged = why; err != nil {
				d.log.Error("this instance could not load the policy that the other instances have; give it the "+
					"same configuration file", "reason", err)
			}
		}
		select {
		case <-time.After(followEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// whyStray explains to anyone who looks at the desk, authorised or not, why the
// configuration that was read again is not in force.
func whyStray(err error) string {
	var mistakes config.Mistakes
	switch {
	case err == nil:
		return ""
	case errors.As(err, &mistakes):
		return " The file was read again and has mistakes: approvalbot config check names them."
	case approval.CodeOf(err) == approval.CodeUnavailable:
		return " The file was read again and does not say it either, or the store does not answer."
	}
	return " The file was read again and cannot be used; see the desk's log."
}

// confineView is what may run confined.
func confineView(cfg config.Config) api.ConfinePolicy {
	c := cfg.ApprovalTools().Confine
	out := api.ConfinePolicy{Mode: cmp.Or(c.Mode, "off"), Readable: list(c.Readable), Toolchains: list(c.Toolchains), Tokens: []string{}}
	for _, t := range cfg.Server.Tokens {
		if t.MayConfine {
			out.Tokens = append(out.Tokens, t.Name)
		}
	}
	return out
}
