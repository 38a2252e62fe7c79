package daemon

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/schedule"
	"approvalbot/internal/store"
)

// calendarOf has somebody on duty from an hour ago until in an hour.
func calendarOf(email string) string {
	const form = "20060102T150405Z"
	now := time.Now().UTC()
	return fmt.Sprintf("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:%s\r\nDTEND:%s\r\nATTENDEE:mailto:%s\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		now.Add(-time.Hour).Format(form), now.Add(time.Hour).Format(form), email)
}

// A calendar is taken from a file and from https alone, within bounds, and what is said
// of a failure does not tell where it is.
func TestFetchCalendar(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	serve := func(path string, h http.HandlerFunc) { mux.HandleFunc(path, h) }
	serve("/ops.ics", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "BEGIN:VCALENDAR") })
	serve("/long.ics", func(w http.ResponseWriter, _ *http.Request) {
		for range 100 {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<20))
		}
	})
	serve("/moved.ics", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ops.ics", http.StatusFound) })
	serve("/on.ics", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/on.ics", http.StatusFound) })
	serve("/clear.ics", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://"+r.Host+"/ops.ics", http.StatusFound)
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(server.Close)
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	trust := &tls.Config{RootCAs: trusted}
	here := calendarClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, trust)

	dir := t.TempDir()
	file, fifo := filepath.Join(dir, "ops.ics"), filepath.Join(dir, "fifo.ics")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("x", schedule.MaxCalendar+9)), 0o600))
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	secret := server.URL + "/secret"
	for name, c := range map[string]struct {
		client *http.Client
		source string
		size   int
		want   string
	}{
		"a calendar":             {here, server.URL + "/ops.ics", 15, ""},
		"one that has moved":     {here, server.URL + "/moved.ics", 15, ""},
		"one that never ends":    {here, server.URL + "/long.ics", schedule.MaxCalendar + 1, ""},
		"a file":                 {here, file, schedule.MaxCalendar + 1, ""},
		"none":                   {here, secret, 0, "its server answered 404"},
		"on and on":              {here, server.URL + "/on.ics", 0, "its server redirects too often, or to an address that is not https"},
		"to where all can read":  {here, server.URL + "/clear.ics", 0, "its server redirects too often, or to an address that is not https"},
		"where all can read":     {here, "http://127.0.0.1/secret", 0, "it has no https address"},
		"inside":                 {calendarClient(nil, trust), secret, 0, "it is at a private address; a calendar inside your network can be a file"},
		"by whom nobody trusts":  {calendarClient([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, nil), secret, 0, "its server's certificate is not trusted"},
		"where nobody answers":   {here, "https://127.0.0.1:1/secret", 0, "its server could not be reached"},
		"a file that is not":     {here, filepath.Join(dir, "secret"), 0, "no such file or directory"},
		"a directory":            {here, dir, 0, "it is not an ordinary file"},
		"a pipe that says none":  {here, fifo, 0, "it is not an ordinary file"},
		"an address of no form":  {here, "https://[secret", 0, "it has no https address"},
		"a protocol of no calls": {here, "file:///secret", 0, "it has no https address"},
	} {
		text, err := fetchCalendar(c.client)(t.Context(), c.source)
		if c.want == "" {
			require.NoError(t, err, name)
		} else {
			require.EqualError(t, err, c.want, name)
		}
		require.Len(t, text, c.size, name)
	}
}

// What was read last counts after a restart whose calendar cannot be read, and without
// it all of the roster are on duty.
func TestCalendarsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "ops.ics")
	open := func() (*Daemon, schedule.Duty) {
		s, err := store.Open(t.Context(), store.Options{URL: "sqlite:" + filepath.Join(dir, "desk.db"), KeyFile: filepath.Join(dir, "desk.key")})
		require.NoError(t, err)
		d := &Daemon{Store: s, log: slog.New(slog.DiscardHandler)}
		emails := map[string]string{"alice@example.org": "alice", "bob@example.org": "bob"}
		duty := schedule.NewDuty(schedule.Roster{
			Name: "ops", Among: []string{"alice", "bob"}, Zone: time.UTC, Calendar: schedule.NewCalendar(file, emails, time.UTC),
		})
		d.restoreCalendars(t.Context(), duty)
		return d, duty
	}
	run := func(d *Daemon, what func()) { // the store writes as long as it runs
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(t.Context())
		go func() { ended <- d.Store.Run(ctx) }()
		what()
		stop()
		require.NoError(t, <-ended)
		require.NoError(t, d.Store.Close())
	}
	fetch := fetchCalendar(nil)
	who := func(duty schedule.Duty) schedule.OnDuty {
		on, _ := duty.WhoNow("ops", time.Now())
		return on
	}

	d, duty := open()
	run(d, func() {
		d.refreshCalendars(t.Context(), duty, fetch)
		require.Equal(t, []string{"alice", "bob"}, who(duty).People)
		require.Equal(t, "the calendar cannot be read: no such file or directory", who(duty).Unknown)
		require.True(t, duty.Calendars()[0].Failing())
	})

	require.NoError(t, os.WriteFile(file, []byte(calendarOf("bob@example.org")), 0o600))
	d, duty = open()
	run(d, func() {
		d.refreshCalendars(t.Context(), duty, fetch)
		require.Equal(t, []string{"bob"}, who(duty).People)
		require.False(t, duty.Calendars()[0].Failing())
	})

	require.NoError(t, os.WriteFile(file, []byte("<html>"), 0o600))
	d, duty = open()
	run(d, func() {
		require.Equal(t, []string{"bob"}, who(duty).People, "before it is read")
		d.refreshCalendars(t.Context(), duty, fetch)
		require.Equal(t, []string{"bob"}, who(duty).People, "the last good copy")
		require.True(t, duty.Calendars()[0].Failing())
		other := schedule.NewDuty(schedule.Roster{
			Name: "ops", Among: []string{"alice", "bob"}, Zone: time.UTC,
			Calendar: schedule.NewCalendar(file, map[string]string{"alice@example.org": "bob", "bob@example.org": "alice"}, time.UTC),
		})
		d.restoreCalendars(t.Context(), other)
		require.Equal(t, "the calendar was not read yet", who(other).Unknown, "the copy was of other people")
	})
}
