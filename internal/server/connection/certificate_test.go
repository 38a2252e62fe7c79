package connection

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

// A server starts with a certificate that clients refuse, which may be renewed at any
// time, and says so.
func TestCertificate_SaysWhatClientsRefuse(t *testing.T) {
	cert, key := selfSigned(t)
	pair, err := loadPair(cert, key)
	require.NoError(t, err)
	from, until := pair.Leaf.NotBefore, pair.Leaf.NotAfter
	for _, c := range []struct {
		now   time.Time
		level core.Level
		text  string
	}{
		{from.Add(-time.Second), core.LevelFail, "the certificate is not valid before " + from.UTC().Format("2006-01-02 15:04 MST")},
		{until.Add(-endsSoon), core.LevelOK, "the certificate is valid until "},
		{until.Add(-endsSoon + time.Second), core.LevelWarn, "the certificate ends at " + until.UTC().Format("2006-01-02 15:04 MST")},
		{until, core.LevelWarn, "ends at"},
		{until.Add(time.Second), core.LevelFail, "the certificate ended at " + until.UTC().Format("2006-01-02 15:04 MST") + ", so clients refuse it"},
	} {
		f, err := CheckCertificate(cert, key, c.now)
		require.NoError(t, err)
		require.Equal(t, c.level, f.Level, c.text)
		require.Contains(t, f.Text, c.text)
		var log bytes.Buffer
		(&Certificate{log: slog.New(slog.NewTextHandler(&log, nil)), looked: c.now}).use(pair)
		require.Equal(t, c.level != core.LevelOK, strings.Contains(log.String(), f.Text), c.text)
	}
}

// A renewed certificate is used without a restart; half of a renewal is not.
func TestCertificate_IsReadAnew(t *testing.T) {
	cert, key := selfSigned(t)
	var log bytes.Buffer
	_, err := ReadCertificate(cert, cert, slog.New(slog.DiscardHandler))
	require.Error(t, err)
	c, err := ReadCertificate(cert, key, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	now := time.Now()
	later := func() *tls.Certificate { now = now.Add(lookTime); return c.at(now) }
	first := c.pair
	require.Same(t, first, later())

	renew := func(to, from string) {
		b, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, b, 0o600))
		require.NoError(t, os.Chtimes(to, time.Time{}, now))
	}
	newCert, newKey := selfSigned(t)
	renew(cert, newCert)
	require.Same(t, first, c.at(now), "not at every handshake")
	require.Same(t, first, later())
	require.Contains(t, log.String(), "the old one stays")
	renew(key, newKey)
	second := later()
	require.NotEqual(t, first.Certificate, second.Certificate)
	require.NoError(t, os.Remove(key))
	require.Same(t, second, later())
	require.Equal(t, 2, strings.Count(log.String(), "the old one stays"))
	require.Same(t, second, later(), "said once")
	require.Equal(t, 2, strings.Count(log.String(), "the old one stays"))
}
