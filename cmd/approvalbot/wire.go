package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"approvalbot/api"
	"approvalbot/bot/telegram"
	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/routing"
	"approvalbot/server"
	"approvalbot/store"
)

// sweepEvery is how often what is older than the retention is deleted.
const sweepEvery = time.Hour

// webhookPath is where Telegram's webhook is served.
const webhookPath = "/telegram/webhook"

// desk is every part of a running desk, wired.
type desk struct {
	cfg         Config
	log         *slog.Logger
	store       *store.Store
	gate        *core.Gate
	table       *routing.Table
	telegram    *telegram.Bot // nil: off
	dispatchers []*routing.Dispatcher
	timers      *routing.Timers
	server      *server.Server
}

// newDesk opens the store and wires the parts. It starts nothing; Run does, and
// must be called, because it also closes the store.
func newDesk(ctx context.Context, cfg Config, log *slog.Logger) (_ *desk, err error) {
	d := &desk{cfg: cfg, log: log}
	if d.store, err = store.Open(ctx, store.Options{URL: cfg.Store.URL, KeyFile: cfg.Store.KeyFile, Log: log}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.store.Close())
		}
	}()
	rules, err := d.rules(ctx)
	if err != nil {
		return nil, err
	}
	metrics := server.NewMetrics()
	d.gate = core.NewGate(d.store, rules, log, d.committed, metrics.Observe)
	d.timers = routing.NewTimers(d.store, d.gate, log)
	talk := textcmd.NewDesk(d.gate, d.store, d.isPlace)
	mount := map[string]http.Handler{}
	if cfg.Channels.Telegram.On() {
		if d.telegram, err = telegram.New(telegramConfig(cfg.Channels.Telegram), talk, d.store, d.gate.Handled, log); err != nil {
			return nil, err
		}
		mount["POST "+webhookPath] = d.telegram.WebhookHandler()
	}
	d.dispatch()
	d.server, err = server.New(server.Config{
		Gate: d.gate, Tokens: cfg.tokens(), Ready: d.ready, Metrics: metrics, Log: log, Version: version,
		CertFile: cfg.Server.TLS.CertFile, KeyFile: cfg.Server.TLS.KeyFile, Mount: mount,
	})
	return d, err
}

// rules makes the snapshot of what the operator configured, with the chats that
// have moved since.
func (d *desk) rules(ctx context.Context) (core.Rules, error) {
	d.table = d.cfg.table()
	moves, err := d.store.Moves(ctx)
	if err != nil {
		return core.Rules{}, err
	}
	for from, to := range moves {
		old, err := core.ParseTarget(from)
		if err != nil {
			return core.Rules{}, err
		}
		d.table.Moved(old, to)
	}
	return d.cfg.rules(d.table)
}

// dispatch makes a dispatcher for each channel; one that is off fails its
// messages with the way out.
func (d *desk) dispatch() {
	channels := map[string]core.Channel{"telegram": routing.Off{Name: "telegram"}, "discord": routing.Off{Name: "discord"}}
	if d.telegram != nil {
		channels["telegram"] = d.telegram
	}
	for name, channel := range channels {
		d.dispatchers = append(d.dispatchers, routing.NewDispatcher(name, channel, d.store, d.gate, d.table, d.timers.Wake, d.log))
	}
}

// committed wakes whoever has work after a change.
func (d *desk) committed(c core.Change) {
	if c.Redraw || len(c.Deliveries) > 0 {
		for _, x := range d.dispatchers {
			x.Wake()
		}
	}
	if !c.Approval.Final() && d.timers != nil {
		d.timers.Wake()
	}
}

// isPlace reports whether the operator named that chat: as a target, or as a
// chat where sessions live.
func (d *desk) isPlace(t core.Target) bool {
	if d.table.Names(t) {
		return true
	}
	for _, token := range d.cfg.Server.Tokens {
		if slices.ContainsFunc(token.SessionChats, func(p Place) bool { return p.Names(t) }) {
			return true
		}
	}
	return false
}

// Run serves on ln until ctx ends. Inbound stops first, then what goes out; the
// store closes last.
func (d *desk) Run(ctx context.Context, ln net.Listener) error {
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	stored := make(chan error, 1)
	go func() { stored <- d.store.Run(storeCtx) }()

	work, ctx := errgroup.WithContext(ctx)
	caughtUp := make(chan struct{})
	if d.telegram != nil {
		work.Go(func() error { return d.telegram.Run(ctx) })
		work.Go(func() error {
			defer close(caughtUp)
			select {
			case <-d.telegram.CaughtUp():
			case <-ctx.Done():
			}
			return nil
		})
	} else {
		close(caughtUp)
	}
	for _, x := range d.dispatchers {
		work.Go(func() error { return x.Run(ctx) })
	}
	work.Go(func() error { return d.timers.Run(ctx, caughtUp) })
	work.Go(func() error { return d.sweep(ctx) })
	work.Go(func() error { return d.server.Serve(ctx, ln) })
	err := work.Wait()
	stopStore()
	return errors.Join(err, <-stored, d.store.Close())
}

// sweep deletes what is older than the configured retention.
func (d *desk) sweep(ctx context.Context) error {
	keep := time.Duration(d.cfg.Store.Retention.Approvals).Milliseconds()
	for {
		if n, err := d.store.Sweep(ctx, time.Now().UnixMilli(), keep); err != nil && ctx.Err() == nil {
			d.log.Error("old approvals could not be deleted", "reason", err)
		} else if n > 0 {
			d.log.Info("deleted approvals older than the retention", "count", n)
		}
		select {
		case <-time.After(sweepEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// ready says whether the desk can take requests. A chat that is down does not
// take it down.
func (d *desk) ready(ctx context.Context) api.Ready {
	r := api.Ready{Ready: true, Store: "ok", Policy: "ok", Channels: map[string]api.Channel{}}
	if err := d.store.Ping(ctx); err != nil {
		d.log.Error("the store does not answer", "reason", err)
		r.Ready, r.Store = false, "the store does not take writes; see the log"
	}
	if !d.gate.Rules().Enabled {
		r.Policy = "approvals disabled"
	}
	r.Channels["telegram"] = api.Channel{Detail: "off: no bot token"}
	if d.telegram != nil {
		s := d.telegram.State()
		r.Channels["telegram"] = api.Channel{Up: s.Up, Detail: s.Detail}
	}
	return r
}

// listen opens the configured address.
func (d *desk) listen() (net.Listener, error) {
	ln, err := net.Listen("tcp", d.cfg.Server.Listen)
	if err != nil {
		return nil, fmt.Errorf("server.listen %s: %w; choose another address or stop what uses it", d.cfg.Server.Listen, err)
	}
	return ln, nil
}

func telegramConfig(t TelegramConfig) telegram.Config {
	return telegram.Config{
		Token: string(t.BotToken), APIURL: t.APIURL, Updates: t.Updates.Mode,
		WebhookURL: t.Updates.Webhook.URL, WebhookSecret: string(t.Updates.Webhook.Secret),
	}
}
