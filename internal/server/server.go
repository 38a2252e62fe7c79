package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
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
	Callbacks   Callbacks                       // nil: nobody is called back
	CallbackDue func()                          // a call may be tried again
	Viewers     core.ViewerKey                  // the zero key: no viewers' tokens are given out
	Audit       *Audit                          // nil: no audit log is served, no receipts are signed
	Feed        *events.Feed                    // nil: no events are served
	Ready       func(context.Context) api.Ready // nil: ready as soon as it serves
	Policy      func(context.Context) (api.Policy, error)
	// Reload puts the configured policy in force, all or nothing.
	Reload   func(context.Context, core.Caller) (api.Reloaded, error)
	Pairings Pairings // nil: there are none
	// LinkTo is the address of a login link to the desk's pages; nil: it has none.
	LinkTo  func(secret string) string
	SignIn  *signin.Door // makes login links; needed with LinkTo
	Metrics *metrics.Set // nil: counts of its own; see [metrics.New]
	Log     *slog.Logger // nil: silent
	Version string       // shown in the OpenAPI description

	CertFile, KeyFile string                  // both or none: serve TLS; read anew when they change
	Own               *tls.Certificate        // without CertFile: TLS beside plain HTTP, on the same port; nil: none
	NoSuchPage        http.Handler            // answers browsers whose path no route has; nil: nothing does
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

	closing  context.Context // done: nobody waits any more
	endWaits context.CancelFunc
}

// New makes a Server. It refuses two tokens of one name or one secret, and a TLS
// pair that is half or cannot be used; of one that clients refuse it warns.
func New(cfg Config) (*Server, error) {
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, errors.New("TLS needs both a certificate file and a key file")
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Mount = maps.Clone(cfg.Mount)
	if cfg.Mount == nil {
		cfg.Mount = map[string]http.Handler{}
	}
	if cfg.Metrics == nil {
		cfg.Metrics = metrics.New()
	}
	if cfg.Policy == nil {
		cfg.Policy = func(context.Context) (api.Policy, error) { return api.Policy{}, errNotHere }
	}
	if cfg.Reload == nil {
		cfg.Reload = func(context.Context, core.Caller) (api.Reloaded, error) { return api.Reloaded{}, errNotHere }
	}
	if cfg.Pairings == nil {
		cfg.Pairings = noPairings{}
	}
	var cert *connection.Certificate
	if cfg.CertFile != "" {
		var err error
		if cert, err = connection.ReadCertificate(cfg.CertFile, cfg.KeyFile, cfg.Log); err != nil {
			return nil, fmt.Errorf("server.tls: %w", err)
		}
	}
	s := &Server{StopTime: stopTime, cfg: cfg, gate: cfg.Gate, log: cfg.Log, metrics: cfg.Metrics, cert: cert,
		counting: make(chan struct{}, 1)}
	s.closing, s.endWaits = context.WithCancel(context.Background())
	s.spec = sync.OnceValues(func() ([]byte, error) { return openAPI(s.routes(), cfg.Version) })
	s.own = sync.OnceValue(s.Handler)
	return s, s.Tokens.Use(cfg.Tokens)
}

// Mount adds a handler under a ServeMux pattern, beside those of Config.Mount.
// It counts for handlers made from then on: call it before [Server.Serve].
func (s *Server) Mount(pattern string, h http.Handler) { s.cfg.Mount[pattern] = h }

// NoSuchPage sets Config.NoSuchPage. Call it before [Server.Serve].
func (s *Server) NoSuchPage(h http.Handler) { s.cfg.NoSuchPage = h }

// EndWaits answers every waiting request with the current state, now and from
// now on. [Server.Serve] does it when it stops.
func (s *Server) EndWaits() { s.endWaits() }

// Handler gives the whole API as one handler.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	byPath := map[string]methods{}
	for _, rt := range s.routes() {
		if byPath[rt.path] == nil {
			byPath[rt.path] = methods{}
		}
		byPath[rt.path][rt.method] = s.endpoint(rt)
	}
	for pattern, h := range s.cfg.Mount {
		method, path, named := strings.Cut(pattern, " ")
		if !named {
			mux.Handle(pattern, h)
			continue
		}
		if byPath[path] == nil {
			byPath[path] = methods{}
		}
		byPath[path][method] = h.ServeHTTP
	}
	for path, m := range byPath {
		mux.Handle(path, s.byMethod(m))
	}
	mux.HandleFunc("/", s.nothingHere)
	mux.Handle("/v1/sessions/", s.sessionOfTheRoot(s.byMethod(byPath[sessionGrants])))
	return s.outermost(mux)
}

// sessionGrants is the path of a session's grants.
const sessionGrants = "/v1/sessions/{sessionKey}/grants"

// sessionOfTheRoot serves the session whose key is a slash. ServeMux takes that segment
// for the end of a path, and no wildcard of one segment fits it.
func (s *Server) sessionOfTheRoot(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.EqualFold(r.URL.EscapedPath(), strings.ReplaceAll(sessionGrants, "{sessionKey}", "%2F")) {
			s.nothingHere(w, r)
			return
		}
		r.SetPathValue("sessionKey", "/")
		next.ServeHTTP(w, r)
	})
}

// Serve answers requests on l until ctx ends: on a Unix socket plain HTTP, else as Config
// says. It may run for several listeners at a time. When ctx ends, waiting requests are
// answered with the current state, what is under way is finished, and it returns nil, after
// StopTime at the latest. When l fails it does the same and returns its error. It
// closes l.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnContext: connection.WithContext,
		DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
	limited, serve := connection.NewLimiter(l, s.metrics, s.log), srv.Serve
	from := net.Listener(limited)
	switch {
	case l.Addr().Network() == "unix":
	case s.cert != nil:
		srv.TLSConfig = &tls.Config{GetCertificate: s.cert.Get}
		serve = func(l net.Listener) error { return srv.ServeTLS(l, "", "") }
	case s.cfg.Own != nil:
		from = connection.WithTLS(limited, s.cfg.Own)
	}
	stopped := make(chan struct{})
	stop := func() {
		defer close(stopped)
		s.EndWaits()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopTime)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close()
		}
	}
	running := context.AfterFunc(ctx, stop)
	err := serve(from)
	if running() { // ctx still stands: it failed by itself
		stop()
		return err
	}
	<-stopped
	return nil
}
