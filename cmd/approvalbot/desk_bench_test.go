package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/config"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/daemon"
)

// BenchmarkEvaluate is what the desk does of POST /v1/evaluate on the shipped
// example configuration, beyond the connection: route, token, strict decoding,
// policy, grants, answer, metrics.
func BenchmarkEvaluate(b *testing.B) {
	h := exampleHandler(b)
	const ask = `{"toolName":"message","params":{"to":"bob","text":"the build is green"},"agentId":"main","sessionKey":"agent:main:1"}`
	for _, c := range []struct{ name, body string }{
		{"allow", `{"toolName":"read","params":{"path":"/workspace/server/handler.go","limit":200},"agentId":"main","sessionKey":"agent:main:1"}`},
		{"ask", ask},
		{"batch", `{"calls":[` + ask + strings.Repeat(","+ask, 999) + `]}`},
		{"pipeline", `{"toolName":"exec","params":{"command":"cat /workspace/a.go | grep -n \"func (s\" | sort -k2 | uniq -c | head -n 20 && git status --short > /dev/null"},"agentId":"main","sessionKey":"agent:main:1"}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, err := http.NewRequest("POST", "/v1/evaluate", nil)
			require.NoError(b, err)
			r.Header.Set("Authorization", "Bearer bench-agent-token-0123456789")
			r.Header.Set("Content-Type", "application/json")
			r.ContentLength = int64(len(c.body))
			body := strings.NewReader(c.body)
			r.Body = io.NopCloser(body)
			w := &answerTo{}
			b.ReportAllocs()
			for b.Loop() {
				body.Reset(c.body)
				w.header, w.status = http.Header{}, 0
				w.body.Reset()
				h.ServeHTTP(w, r)
				if w.status != http.StatusOK {
					b.Fatal(w.body.String())
				}
			}
		})
	}
}

// answerTo takes one answer after the other.
type answerTo struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *answerTo) Header() http.Header         { return w.header }
func (w *answerTo) WriteHeader(status int)      { w.status = status }
func (w *answerTo) Write(p []byte) (int, error) { return w.body.Write(p) }

// SetReadDeadline is there because a connection has one: without it the handler
// would pay for an error that no request sees.
func (w *answerTo) SetReadDeadline(time.Time) error { return nil }

// exampleHandler is the API of a desk on the shipped example configuration.
func exampleHandler(b *testing.B) http.Handler {
	dir := b.TempDir()
	text, err := os.ReadFile(configExample)
	require.NoError(b, err)
	file := filepath.Join(dir, "config.yaml")
	require.NoError(b, os.WriteFile(file, text, 0o600))
	env := map[string]string{"AGENT_TOKEN": "bench-agent-token-0123456789", "ALICE_TOKEN": "bench-operator-token-0123456789",
		"CALLBACK_SECRET": "bench-callback-secret-0123", "WEBHOOK_SECRET": "bench-webhook-secret-0123",
		"APPROVALBOT_CFG__SERVER__LIMITS": "{pending: 1000000, requestsPerSecond: 100000000}",
		"APPROVALBOT_CFG__STORE__URL":     "sqlite:" + dir + "/desk.db", "APPROVALBOT_CFG__STORE__KEYFILE": dir + "/desk.key"}
	var environ []string
	for k, v := range env {
		environ = append(environ, k+"="+v)
	}
	load := func() (config.Config, []config.Warning, error) { return effective.Load(file, environ, nil) }
	cfg, _, err := load()
	require.NoError(b, err)
	d, err := daemon.New(context.Background(), cfg, daemon.Options{Version: version, Load: load, Log: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, d.Store.Close()) })
	return d.Server.Handler()
}
