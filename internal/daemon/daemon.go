package daemon

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"approvalbot/bot/textcmd"
	"approvalbot/core"
	"approvalbot/internal/audit"
	"approvalbot/internal/config"
	"approvalbot/internal/config/local"
	"approvalbot/internal/gateway"
	"approvalbot/internal/progress"
	"approvalbot/internal/push"
	"approvalbot/internal/server"
	"approvalbot/internal/server/events"
	"approvalbot/internal/server/metrics"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
	"approvalbot/internal/web"
	"approvalbot/routing"
)

// bot is one platform's adapter.
type bot interface {
	core.Channel
	// Run takes updates in until ctx ends.
	Run(ctx context.Context) error
	// CaughtUp is closed when the updates that came while the desk was down are
	// handled, or when it is known that no more will come.
	CaughtUp() <-chan struct{}
	State() core.ChannelState
	// Poke has stored updates looked at.
	Poke()
}

// Options is what a daemon is made with, beside its configuration.
type Options struct {
	Version string
	Log     *slog.Logger
	// Load reads the configuration again.
	Load func() (config.Config, []config.Warning, error)
	// Local is the configuration file if serve --local generates it; else nil.
	Local *local.File
	// Terminal gets a link that signs the operator in to the desk's pages; nil: no link.
	Terminal io.Writer
	// Opening shows on a terminal the progress of slow steps while the store is opened; nil:
	// no progress is shown.
	Opening *progress.Line
}

// Daemon is every part of a running desk, wired. The exported parts are to look at; it
// runs them itself.
type Daemon struct {
	Store   *store.Store
	Gate    *core.Gate
	SignIn  *signin.Door
	Server  *server.Server
	Metrics *metrics.Set
	Auditor *audit.Auditor

	options        Options
	log            *slog.Logger
	cfg            config.Config            // the configuration at the start
	inForce        atomic.Pointer[snapshot] // the snapshot of the newest configuration
	reloading      sync.Mutex
	loaded         atomic.Int64           // the store's generation of the configuration in force
	outdated       chan struct{}          // another was loaded elsewhere
	outdatedReason atomic.Pointer[string] // why it is not in force here
	telling        sync.WaitGroup         // announcements under way
	lingering      chan struct{}          // removed people have something still
	otherDuty      chan struct{}          // another configuration may have other calendars
	talk           *textcmd.Handler
	bots           map[string]bot // by platform; those that are on
	receivers      receivers      // the adapters that take updates in here
	dispatchers    []*routing.Dispatcher
	timers         *routing.Timers
	drills         *routing.Drills
	feed           *events.Feed
	gateway        *gateway.Gateway
	web            *web.Web // nil: the desk has no pages
	viewers        core.ViewerKey
	pushKey        push.Key // empty: no browser is notified
	notices        *routing.Notices
}

// learnMoves tells a routing table which chats live elsewhere now.
func (d *Daemon) learnMoves(ctx context.Context, table *routing.Table) error {
	moves, err := d.Store.Moves(ctx)
	if err != nil {
		return err
	}
	for from, to := range moves {
		table.Moved(from, to)
	}
	return nil
}

func (d *Daemon) wakeDispatchers() {
	for _, x := range d.dispatchers {
		x.Wake()
	}
}
