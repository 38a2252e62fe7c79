package store

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/store/pgtest"
)

// firstLine is a log that says when something was written to it.
type firstLine struct {
	mu   sync.Mutex
	text bytes.Buffer
	once sync.Once
	seen chan struct{}
}

func (l *firstLine) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.once.Do(func() { close(l.seen) })
	return l.text.Write(b)
}

// A PostgreSQL that does not listen yet, and then recovers, is waited for, which is said
// once.
func TestOpenWaitsForAServerThatStarts(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	o := pgOptions(t, server.New(t))
	lines := &firstLine{seen: make(chan struct{})}
	o.Log, o.Wait = slog.New(slog.NewTextHandler(lines, nil)), 10*time.Minute
	for name, begin := range map[string]func(testing.TB){"nothing listens": func(testing.TB) {}, "it recovers": server.StartRecovering} {
		t.Run(name, func(t *testing.T) {
			lines.text.Reset()
			lines.seen, lines.once = make(chan struct{}), sync.Once{}
			server.Stop(t)
			begin(t)
			opened := make(chan error, 1)
			go func() {
				s, err := Open(ctx, o)
				if err == nil {
					err = s.Close()
				}
				opened <- err
			}()
			select {
			case <-lines.seen:
			case err := <-opened:
				require.Fail(t, "it does not wait", "%v", err)
			}
			select {
			case err := <-opened:
				require.Fail(t, "it does not wait", "%v", err)
			case <-time.After(4 * lookForServer):
			}
			if name == "it recovers" {
				server.Stop(t)
			}
			server.Start(t)
			require.NoError(t, <-opened)
			require.Equal(t, 1, strings.Count(lines.text.String(), "does not accept connections yet"), lines.text.String())
		})
	}
}

// What waiting does not help is refused at once, and nobody is made to wait for longer
// than was asked for.
func TestOpenWaitsForNothingElse(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	o := pgOptions(t, server.New(t))
	o.Wait = 10 * time.Minute
	wrong := o
	wrong.URL = strings.Replace(o.URL, "///test", "///nothing", 1)
	_, err := Open(ctx, wrong)
	require.ErrorContains(t, err, "does not exist")

	server.Stop(t)
	none := o
	none.Wait = 0
	_, err = Open(ctx, none)
	require.ErrorContains(t, err, "start PostgreSQL")
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err = Open(stopped, o)
	require.Error(t, err)
	server.Start(t)
}
