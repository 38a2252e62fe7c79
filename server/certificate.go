package server

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookTime is how old the last look at the files may be.
const lookTime = 10 * time.Second

// certificate is the server's, read anew once its files have changed: it is
// renewed every few weeks, and whoever waits for a decision should not be cut off
// for that. What cannot be read changes nothing, and is logged.
type certificate struct {
	files [2]string // certificate, key
	log   *slog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]fileState // when pair was read, or could not be
	looked time.Time
}

// fileState tells one content of a file from the next.
type fileState struct {
	changed time.Time
	size    int64
}

// readCertificate gives an error when the pair cannot be read or does not match.
func readCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{files: [2]string{certFile, keyFile}, log: log, looked: time.Now()}
	c.seen = c.state()
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	c.pair = &pair
	return c, err
}

func (c *certificate) state() (now [2]fileState) {
	for i, name := range c.files {
		if info, err := os.Stat(name); err == nil {
			now[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return now
}

// get implements tls.Config.GetCertificate.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.at(time.Now()), nil
}

func (c *certificate) at(now time.Time) *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < lookTime {
		return c.pair
	}
	c.looked = now
	state := c.state()
	if state == c.seen {
		return c.pair
	}
	c.seen = state
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		c.log.Error("the renewed TLS certificate cannot be used; the old one stays", "reason", err)
		return c.pair
	}
	c.pair = &pair
	c.log.Info("the renewed TLS certificate is in use", "until", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	return c.pair
}
