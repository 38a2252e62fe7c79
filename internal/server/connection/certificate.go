package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"approvalbot/core"
)

// endsSoon is how long before its end a certificate is warned of.
const endsSoon = 14 * 24 * time.Hour

// lookTime is how old the last look at the files may be.
const lookTime = 10 * time.Second

// Certificate is the server's, read anew once its files have changed: it is
// renewed every few weeks, and a restart would cut off clients that wait for a
// decision. If the files cannot be read, the old certificate is kept, and the
// error is logged.
type Certificate struct {
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

// ReadCertificate reads a pair of files. It gives an error when the pair cannot be read or does not match.
func ReadCertificate(certFile, keyFile string, log *slog.Logger) (*Certificate, error) {
	c := &Certificate{files: [2]string{certFile, keyFile}, log: log, looked: time.Now()}
	c.seen = c.state()
	pair, err := loadPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	c.use(pair)
	return c, nil
}

// CheckCertificate reads a TLS pair as the server does and says how clients will find
// its certificate at that time: the finding is a fault if they refuse it, and a doubt
// if it ends within 14 days. The error says why the pair cannot be used, without the
// names of the files: a secret may have been put there by mistake.
func CheckCertificate(certFile, keyFile string, now time.Time) (core.Diagnostic, error) {
	pair, err := loadPair(certFile, keyFile)
	if err != nil {
		return core.Diagnostic{}, err
	}
	return validity(pair.Leaf, now), nil
}

func loadPair(certFile, keyFile string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	var unread *fs.PathError
	switch {
	case errors.As(err, &unread) && unread.Path == certFile:
		return nil, fmt.Errorf("certFile cannot be read: %w", unread.Err)
	case errors.As(err, &unread):
		return nil, fmt.Errorf("keyFile cannot be read: %w", unread.Err)
	case err != nil:
		return nil, fmt.Errorf("certFile and keyFile do not belong together: %w", err)
	}
	return &pair, nil
}

func validity(c *x509.Certificate, now time.Time) core.Diagnostic {
	const what, renew = "server.tls", "renew it; the desk takes the new one without a restart"
	at := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
	switch left := c.NotAfter.Sub(now); {
	case left < 0:
		return core.Fail(what, "the certificate ended at "+at(c.NotAfter)+", so clients refuse it", renew)
	case now.Before(c.NotBefore):
		return core.Fail(what, "the certificate is not valid before "+at(c.NotBefore)+", so clients refuse it",
			"set this machine's clock, or give a certificate that is valid now")
	case left < endsSoon:
		return core.Warn(what, "the certificate ends at "+at(c.NotAfter), renew)
	}
	return core.OK(what, "the certificate is valid until "+at(c.NotAfter))
}

// use puts a pair in force, and reports why clients may refuse it.
func (c *Certificate) use(pair *tls.Certificate) {
	c.pair = pair
	if f := validity(pair.Leaf, c.looked); f.Level != core.LevelOK {
		c.log.Warn(f.What + ": " + f.Text + "; " + f.Fix)
	}
}

func (c *Certificate) state() (now [2]fileState) {
	for i, name := range c.files {
		if info, err := os.Stat(name); err == nil {
			now[i] = fileState{info.ModTime(), info.Size()}
		}
	}
	return now
}

// Get implements tls.Config.GetCertificate.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return c.at(time.Now()), nil
}

func (c *Certificate) at(now time.Time) *tls.Certificate {
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
	pair, err := loadPair(c.files[0], c.files[1])
	if err != nil {
		c.log.Error("could not use the renewed TLS certificate; the old one stays", "path", c.files[0], "reason", err)
		return c.pair
	}
	c.use(pair)
	c.log.Info("the renewed TLS certificate is in use",
		"path", c.files[0], "until", pair.Leaf.NotAfter.UTC().Format(time.RFC3339))
	return c.pair
}
