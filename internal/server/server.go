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
	"approvalbot/internal/server/connection"
	"approvalbot/internal/server/metrics"
)

// New makes a Server. It refuses two tokens of one name or one secret, and a TLS
// pair that is half or cannot be used; of one that clients refuse it warns.
func New(cfg Config) (*Server, error) {
	if (cfg.CertFile == "") != (cfg.KeyFile == "") {
		return nil, errors.New("server.tls needs both certFile and keyFile")
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
// answered with the current state, requests under way are finished, and it returns nil,
// after StopTime at the latest. When l fails it does the same and returns its error. It
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
		srv.SetKeepAlivesEnabled(false) // first, so that each answer says that its connection ends
		s.EndWaits()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopTime)
		defer cancel()
		if srv.Shutdown(grace) != nil {
			srv.Close()
		}
	}
	running := context.AfterFunc(ctx, stop)
	err := serve(from)
	if running() { // ctx has not ended: it failed by itself
		stop()
		return err
	}
	<-stopped
	return nil
}

// endpoint makes a route's handler.
func (s *Server) endpoint(rt route) http.HandlerFunc {
	if rt.raw != nil {
		return rt.raw
	}
	seen := s.metrics.Route(rt.method, rt.path)
	if rt.stream != nil {
		return s.streaming(&rt, seen)
	}
	if rt.hook {
		return s.hooks(&rt, seen)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		start, status := time.Now(), http.StatusServiceUnavailable // a panic's
		defer func() {
			took := time.Since(start)
			seen(status, took)
			if s.log.Enabled(r.Context(), slog.LevelDebug) {
				s.log.Debug("request", "method", rt.method, "route", rt.path, "status", status, "took", took)
			}
		}()
		a, err := s.serve(&rt, w, r)
		if wait := a.wait; wait != nil {
			got, failed := s.await(wait)
			a, err = s.after(&rt, wait, got, failed)
		}
		if a.location != "" {
			w.Header().Set("Location", a.location)
		}
		if err != nil {
			status = s.refuse(w, r, err)
			return
		}
		status = a.status
		s.write(w, r, a.status, plainJSON, a.body)
	}
}
