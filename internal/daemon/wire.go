// Package daemon is a running desk: it wires the parts, takes the leases of what one
// instance does at a time, and puts a configuration in force that was read again.
package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/audit"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/gateway"
	"approvalbot/internal/platform"
	"approvalbot/internal/policy"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/server"
	"approvalbot/internal/server/events"
	"approvalbot/internal/server/metrics"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
	"approvalbot/routing"
)

// sweepEvery is how often what is older than the retention is deleted.
const sweepEvery = time.Hour

// databaseWait is how long a PostgreSQL is waited for at the start: together with a
// machine it starts, and recovers, beside the desk.
const databaseWait = 30 * time.Second

const gatewayPath = "/v1/gateway"

// New opens the store and wires the parts. It does not start them; Run does,
// and must be called, because it also closes the store.
func New(ctx context.Context, cfg config.Config, o Options) (_ *Daemon, err error) {
	log, version := o.Log, o.Version
	d := &Daemon{options: o, log: log, cfg: cfg, bots: map[string]bot{}, outdated: make(chan struct{}, 1), otherDuty: make(chan struct{}, 1),
		lingering: make(chan struct{}, 1)}
	d.inForce.Store(&snapshot{config: cfg})
	at := store.Options{URL: cfg.Store.URL, KeyFile: cfg.Store.KeyFile, Version: version, Build: version + " " + policy.Build(),
		Log: log, Wait: databaseWait, Saying: o.Opening.At}
	d.Store, err = store.Open(ctx, at)
	if o.Opening.End(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Store.Close())
		}
	}()
	if d.viewers, err = core.NewViewerKey(d.Store.Seed()); err != nil {
		return nil, err
	}
	d.Metrics = metrics.New(tool.Known()...)
	rules, table, err := d.rules(ctx)
	if err != nil {
		return nil, err
	}
	d.Metrics.Use(known(cfg, rules))
	d.feed = events.NewFeed(d.Store, log)
	d.inForce.Store(&snapshot{config: cfg, rules: rules, table: table})
	d.Gate = core.NewGate(d.Store.CoreStores(), rules, log, d.committed, d.Metrics.Observe, d.feed.Notify)
	d.SignIn = signin.New(d.Store.SignInStores(), d.Gate)
	d.Gate.TrustSigners(d.SignIn)
	if err := errors.Join(d.Gate.ShareSeed(d.Store.Seed()), d.SignIn.ShareSeed(d.Store.Seed())); err != nil {
		return nil, err
	}
	d.learnAbsences(ctx)
	if d.Auditor, err = audit.New(ctx, d.audited()); err != nil {
		return nil, err
	}
	d.timers = routing.NewTimers(d.Store, d.Gate, log)
	d.drills = routing.NewDrills(d.Gate.Drills(), func(t time.Time) time.Time { return d.Gate.Rules().Drill.Next(t) }, log)
	d.notices = routing.NewNotices(d.Store, d.post, d.SignIn.NoticesDue(), log)
	if d.web, err = d.pages(); err != nil {
		return nil, err
	}
	d.talk = textcmd.NewHandler(d.Gate.Chats(), pairings{d.SignIn, d}, d.Store, loginLinks{d}, d.isPlace)
	mount, err := d.connect()
	if err != nil {
		return nil, err
	}
	d.dispatch()
	own, err := d.ownCertificate()
	if err != nil {
		return nil, err
	}
	d.Server, err = server.New(server.Config{
		Gate: d.Gate, Tokens: effective.Tokens(cfg), Ready: d.ready, Policy: d.policyView, Reload: d.reloadFor, Pairings: pairings{d.SignIn, d}, LinkTo: d.linkTo(), SignIn: d.SignIn, Metrics: d.Metrics, Feed: d.feed, Audit: d.audit(), Callbacks: d.Store, CallbackDue: d.wakeDispatchers, Log: log, Version: version,
		CertFile: cfg.Server.TLS.CertFile, KeyFile: cfg.Server.TLS.KeyFile, Mount: mount, Viewers: d.viewers, Own: own,
	})
	if err != nil {
		return nil, err
	}
	d.followOne()
	d.gateway = gateway.New(gateway.Config{
		Server: d.Server, Gate: d.Gate, Feed: d.feed, Log: log, Version: version, Policy: d.policyView,
		AgentShield: func() bool { return d.Config().Approvals.AgentShield.Enabled },
	})
	d.Server.Mount("GET "+gatewayPath, d.gateway)
	d.Server.Mount(MCPPath, d.mcpHandler())
	if d.web != nil {
		d.mountPages()
	}
	d.gauges()
	return d, nil
}

// audited is what the auditor works for.
func (d *Daemon) audited() audit.Desk {
	return audit.Desk{
		Store: d.Store, Log: d.log, Keep: time.Duration(d.cfg.Store.Retention.Audit), Tell: d.tell,
		Issuer: func() string { return cmp.Or(d.Config().Server.PublicURL, "approvalbot") },
		Chats:  func() []approval.Target { return config.Targets(d.Config().ApprovalTools().Routing.AuditChats) },
	}
}

// audit is the auditor as the server needs it.
func (d *Daemon) audit() *server.Audit {
	a := d.Auditor
	return &server.Audit{Log: d.Store, Head: d.Store.Head, Keys: a.Keys, Verify: a.Verify, VerifyNew: a.VerifyNew, Checking: a.Checking, Receipt: a.Receipt,
		JWKS: a.JWKS, Pins: a.Pins}
}

// rules makes the snapshot of what the operator configured, with the chats that
// have moved since.
func (d *Daemon) rules(ctx context.Context) (core.Rules, *routing.Table, error) {
	table := effective.Table(d.cfg)
	if err := d.learnMoves(ctx, table); err != nil {
		return core.Rules{}, nil, err
	}
	rules, err := d.rulesOf(ctx, d.cfg, table)
	return rules, table, err
}

// connect makes the bots that are on, and gives the handlers for updates that come by HTTP.
func (d *Daemon) connect() (map[string]http.Handler, error) {
	mount := map[string]http.Handler{}
	for _, name := range effective.Outboxes() {
		if !effective.Bot(d.cfg, name).On() {
			continue
		}
		b, updates, err := d.newBot(name)
		switch own := name == approval.VerifierChannel; {
		case err != nil && own:
			return nil, fmt.Errorf("%s: %w", config.VerifierChatKey, err)
		case err != nil:
			return nil, err
		case updates != nil && !own:
			mount["POST "+platform.ByName(name).Path()] = d.poking(updates)
		}
		d.bots[name] = b
	}
	return mount, nil
}

// dispatch makes a dispatcher for each channel; one that is off fails its
// messages with the way out.
func (d *Daemon) dispatch() {
	for _, name := range effective.Outboxes() {
		wayOut := "set channels." + name + ".botToken"
		if name == approval.VerifierChannel {
			wayOut = "set " + config.VerifierChatKey + ".botToken, and start the desk again"
		}
		var channel core.Channel = routing.Off{Name: name, WayOut: wayOut}
		if b := d.bots[name]; b != nil {
			channel = b
		}
		d.dispatchers = append(d.dispatchers,
			routing.NewDispatcher(name, channel, d.Store, d.Gate, d.table, d.timers.Wake, d.log))
	}
	d.dispatchers = append(d.dispatchers,
		routing.NewDispatcher(approval.CallbackChannel, d.callbacks(), d.Store, d.Gate, d.table, func() {}, d.log))
	if d.pushKey.Public != "" {
		d.dispatchers = append(d.dispatchers,
			routing.NewDispatcher(core.PushChannel, d.notifications(), d.Store, d.Gate, d.table, func() {}, d.log))
	}
}

// committed wakes the parts that have work after a change.
func (d *Daemon) committed(c core.Change) {
	if c.Redraw || len(c.Deliveries) > 0 || len(c.Open) > 0 {
		for _, x := range d.dispatchers {
			x.WakeFor(c.Approval.Deliveries)
		}
	}
	if !c.Approval.Final() && d.timers != nil {
		d.timers.WakeBy(core.TimerMs(c.Approval))
	}
}

// isPlace reports whether the operator named that chat: as a target, or as a
// chat of sessions.
func (d *Daemon) isPlace(t approval.Target) bool {
	if d.table().Names(t) {
		return true
	}
	cfg := d.Config()
	if slices.ContainsFunc(effective.VerifierChats(cfg), func(p approval.Target) bool { return p.Names(t) }) {
		return true
	}
	for _, token := range cfg.Server.Tokens {
		if slices.ContainsFunc(token.SessionChats, func(p config.Place) bool { return p.Names(t) }) {
			return true
		}
	}
	return false
}

// Run serves on ln, and on the Unix socket, until ctx ends. Inbound stops first, then what goes out; the
// store closes last.
func (d *Daemon) Run(ctx context.Context, ln net.Listener) error {
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	stored := make(chan error, 1)
	go func() { stored <- d.Store.Run(storeCtx) }()
	socket, err := d.socket()
	if err != nil {
		stopStore()
		return errors.Join(err, ln.Close(), <-stored, d.Store.Close())
	}

	if err := d.agree(ctx, false); err != nil {
		d.log.Error("the desk is not ready yet, and refuses calls until this instance has the policy in force", "reason", err)
	}
	if err := d.Auditor.RecordLoss(ctx); err != nil {
		d.log.Error("could not record in the audit log which commits were lost with the damaged write-ahead "+
			"log", "reason", err)
	}
	if err := d.settle(ctx); err != nil {
		stopStore()
		if socket != nil {
			err = errors.Join(err, socket.Close())
		}
		return errors.Join(err, ln.Close(), <-stored, d.Store.Close())
	}
	d.loaded.Store(d.Store.Generation())
	d.announceVersion(ctx)
	_, _ = d.endGone(ctx) // a removal while the desk was down; it has said why if it failed, and is tried again
	d.reachedBy(ln)
	work, ctx := errgroup.WithContext(ctx)
	for _, name := range d.botNames() {
		work.Go(func() error { return d.receive(ctx, name) })
	}
	for _, x := range d.dispatchers {
		work.Go(func() error { return x.Run(ctx) })
	}
	work.Go(func() error { return d.once(ctx, "timers", d.onTime) })
	work.Go(func() error { return d.once(ctx, "sweep", d.sweep) })
	work.Go(func() error { return d.once(ctx, "notices", d.notices.Run) })
	work.Go(func() error { return d.Auditor.Run(ctx) })
	work.Go(func() error { return d.Auditor.RunChecks(ctx) })
	work.Go(func() error { return d.Store.CountOn(ctx) })
	work.Go(func() error { return d.Gate.Run(ctx) })
	work.Go(func() error { return d.Store.Listen(ctx, d.onChange(ctx)) })
	work.Go(func() error { return d.readCalendars(ctx) })
	work.Go(func() error { return d.reloadOnSignal(ctx) })
	work.Go(func() error { return d.follow(ctx) })
	work.Go(func() error { return d.keepEndingGone(ctx) })
	work.Go(func() error { return d.feed.Run(ctx) })
	work.Go(func() error { return d.gateway.Run(ctx) })
	work.Go(func() error { return d.Server.Serve(ctx, ln) })
	if socket != nil {
		work.Go(func() error { return d.Server.Serve(ctx, socket) })
	}
	if d.web != nil {
		work.Go(func() error { return d.web.Run(ctx) })
	}
	work.Go(func() error { return d.greet(ctx, d.options.Terminal) })
	err = work.Wait()
	d.telling.Wait()
	stopStore()
	return errors.Join(err, <-stored, d.Store.Close())
}

// settle takes back, before anything is served, approvals that a store restored from a
// backup would hand out: they may have been claimed since the backup was made.
func (d *Daemon) settle(ctx context.Context) error {
	put, err := d.Store.PutBack(ctx)
	if err == nil && put {
		err = d.Store.Hold(ctx, "settle", func(ctx context.Context, _ int64) error {
			if put, err := d.Store.PutBack(ctx); err != nil || !put { // another instance was first, and may serve already
				return err
			}
			if err := d.Gate.Upkeep().RevokeUnclaimed(ctx, "the store was put back from a backup; ask again"); err != nil {
				return err
			}
			return d.Store.Settled(ctx)
		})
		err = cmp.Or(err, context.Cause(ctx)) // then it may not be done
	}
	if err != nil {
		return fmt.Errorf("cannot revoke the approvals that a restored store would hand out again: %w", err)
	}
	return nil
}

// onTime does what time asks for: timers of approvals, and scheduled drills.
func (d *Daemon) onTime(ctx context.Context) error {
	work, ctx := errgroup.WithContext(ctx)
	ready := d.caughtUp(ctx)
	work.Go(func() error { // it was planned by the configuration of before
		if err := d.Gate.Upkeep().Replan(ctx); err != nil && ctx.Err() == nil {
			d.log.Error("could not reschedule reminders for this configuration; the reminders of an approval are "+
				"rescheduled when it next changes", "reason", err)
		}
		return nil
	})
	work.Go(func() error { return d.timers.Run(ctx, ready) })
	work.Go(func() error { return d.drills.Run(ctx, ready) })
	return work.Wait()
}

// sweep deletes what is older than the configured retention.
func (d *Daemon) sweep(ctx context.Context) error {
	for {
		keep := store.Keep{
			ApprovalsMs: time.Duration(d.cfg.Store.Retention.Approvals).Milliseconds(),
			CallsMs:     d.Gate.Rules().RetryWindowMs,
		}
		if n, err := d.Store.Sweep(ctx, time.Now().UnixMilli(), keep); err != nil && ctx.Err() == nil {
			d.log.Error("could not delete old approvals; they stay until the next try", "reason", err)
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
