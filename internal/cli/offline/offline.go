package offline

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/cli/app"
	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/server"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/store"
)

// Client is a client that reads the store of the desk's configuration itself, so that no
// desk need run; closes closes the store.
func Client(ctx context.Context, a *app.App) (c *api.Client, closes func(), err error) {
	cfg, _, err := effective.Load(a.Config, a.Environ, nil)
	if err != nil {
		return nil, nil, err
	}
	s, err := store.OpenToRead(ctx, store.Options{URL: cfg.Store.URL, KeyFile: cfg.Store.KeyFile})
	if err != nil {
		return nil, nil, err
	}
	h, secret, err := readOnlyDesk(cfg, s, a.Version)
	if err != nil {
		return nil, nil, err
	}
	return &api.Client{Server: "http://offline", Token: secret, HTTP: &http.Client{Transport: inProcess{h}}},
		func() { _ = s.Close() }, nil
}

// readOnlyDesk is the API over a store that was opened to be read, with a token
// that lives as long as this process. It does not listen on the network, and starts no
// goroutine.
func readOnlyDesk(cfg config.Config, s *store.Store, version string) (h http.Handler, secret string, err error) {
	rules, err := effective.Rules(cfg, effective.Table(cfg))
	if err != nil {
		return nil, "", err
	}
	secret = rand.Text()
	log := slog.New(slog.DiscardHandler)
	desk, err := server.New(server.Config{
		Gate: core.NewGate(s.CoreStores(), rules, log), Log: log, Version: version,
		Tokens: []auth.Token{{Name: "offline", Hash: auth.Hash(secret), RequestsPerSecond: 1 << 20,
			Caller: core.Caller{Token: "offline", MayDecide: true}}},
	})
	if err != nil {
		return nil, "", err
	}
	return desk.Handler(), secret, nil
}

// inProcess carries requests to a handler in this process.
type inProcess struct{ to http.Handler }

// RoundTrip implements http.RoundTripper.
func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := &kept{header: http.Header{}, status: http.StatusOK}
	p.to.ServeHTTP(w, r)
	return &http.Response{Status: http.StatusText(w.status), StatusCode: w.status, Header: w.header,
		Body: io.NopCloser(&w.body), Request: r}, nil
}

// kept is an answer that was kept.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header         { return k.header }
func (k *kept) WriteHeader(status int)      { k.status = status }
func (k *kept) Write(b []byte) (int, error) { return k.body.Write(b) }
