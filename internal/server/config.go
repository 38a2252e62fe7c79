package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/connection"
	"approvalbot/internal/server/events"
	"approvalbot/internal/server/metrics"
	"approvalbot/internal/signin"
)

const (
	maxBody     = 256 << 10 // bytes of a request body
	maxLarge    = 1 << 20   // bytes of a hook's, and of a large call's
	maxBodies   = 4 << 20   // of one with many calls
	maxHeader   = 64 << 10
	headerTime  = 10 * time.Second // to send the request's head
	requestTime = 30 * time.Second // to send all of it
	answerTime  = time.Minute      // to take an answer
	idleTime    = 2 * time.Minute
	stopTime    = 1500 * time.Millisecond
	maxWait     = 60 * time.Second
	pageDefault = 50
	pageMax     = 200
)

var errNotHere = approval.Refuse(approval.CodeUnavailable, "This desk has no configuration to read.")

// Config is what a Server is made of.
type Config struct {
	Gate        *core.Gate
	Tokens      []auth.Token
	Callbacks   Callbacks                       // nil: owners are not called back
	CallbackDue func()                          // a call may be tried again
	Viewers     core.ViewerKey                  // the zero key: no viewers' tokens are given out
	Audit       *Audit                          // nil: no audit log is served, no receipts are signed
	Feed        *events.Feed                    // nil: no events are served
	Ready       func(context.Context) api.Ready // nil: ready as soon as it serves
	Policy      func(context.Context) (api.Policy, error)
	// Reload puts the configured policy in force, as a whole or not at all.
	Reload   func(context.Context, core.Caller) (api.Reloaded, error)
	Pairings Pairings // nil: pairing is off
	// LinkTo is the address of a login link to the desk's pages; nil if it has no
	// pages.
	LinkTo  func(secret string) string
	SignIn  *signin.Door // makes login links; needed with LinkTo
	Metrics *metrics.Set // nil: counts of its own; see [metrics.New]
	Log     *slog.Logger // nil: silent
	Version string       // shown in the OpenAPI description

	CertFile, KeyFile string                  // set both to serve TLS; read anew when they change
	Own               *tls.Certificate        // without CertFile: TLS beside plain HTTP on one port; nil: no TLS
	NoSuchPage        http.Handler            // answers browsers whose path no route has; nil: a problem document
	Mount             map[string]http.Handler // further ServeMux patterns, e.g. a chat's webhook
}

// Server is the HTTP API. Safe for concurrent use.
type Server struct {
	// StopTime is how long what is under way may take when Serve stops: 1.5 seconds,
	// unless it is changed before Serve.
	StopTime time.Duration
	// Tokens are the API tokens that count now: first those of Config.
	Tokens auth.Tokens

	cfg     Config
	gate    *core.Gate
	log     *slog.Logger
	metrics *metrics.Set
	cert    *connection.Certificate // nil: no TLS
	spec    func() ([]byte, error)
	own     func() http.Handler // for requests of this process; see Client

	counting chan struct{} // holds one while [Server.stats] counts

	closing  context.Context // done: waiting requests must end
	endWaits context.CancelFunc
}

// Audit is the log as auditors read it, and what can be proved of it.
type Audit struct {
	Log    events.Log
	Head   func(context.Context) (seq int64, hash string, err error)
	Pins   func() api.DeskKeys                            // what clients pin
	Keys   func() []string                                // verifier keys of its checkpoints
	Verify func(context.Context) (api.AuditReport, error) // checks the whole chain, until ctx ends
	// VerifyNew checks what came since the last check.
	VerifyNew func(context.Context) (api.AuditReport, error)
	Checking  func() (seq, head int64, is bool)       // how far a check is
	Receipt   func(approval.Approval) (string, error) // of a claimed approval
	JWKS      func() []byte                           // the receipts' public keys

	verifying atomic.Bool // a check of the chain is under way
}

// Callbacks is the outbox of calls back to owners, as operators see it.
type Callbacks interface {
	Callbacks(ctx context.Context, limit int) ([]approval.Delivery, error)
	RetryCallback(ctx context.Context, id string) (approval.Delivery, error)
}

// Pairings let chats and people make themselves known to operators.
type Pairings interface {
	Start(ctx context.Context, who core.Caller) (api.PairingCode, error)
	Get(ctx context.Context, id string) (api.Pairing, error)
	Accept(ctx context.Context, who core.Caller, id string) (api.Reloaded, error)
}

// sessionGrants is the path of a session's grants.
const sessionGrants = "/v1/sessions/{sessionKey}/grants"

// Mount adds a handler under a ServeMux pattern, beside those of Config.Mount.
// It counts for handlers made from then on: call it before [Server.Serve].
func (s *Server) Mount(pattern string, h http.Handler) { s.cfg.Mount[pattern] = h }

// NoSuchPage sets Config.NoSuchPage. Call it before [Server.Serve].
func (s *Server) NoSuchPage(h http.Handler) { s.cfg.NoSuchPage = h }

// EndWaits answers every waiting request with the current state, now and from
// now on. [Server.Serve] does it when it stops.
func (s *Server) EndWaits() { s.endWaits() }
