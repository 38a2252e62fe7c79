package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"approvalbot/internal/callback"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/schedule"
)

const (
	calendarLook = time.Minute // how often it is looked whether one is to be read

	calendarTime      = 20 * time.Second // for one to answer, with all redirects
	maxRedirects      = 3
	maxCalendarHeader = 64 << 10
)

// restoreCalendars gives calendars that were not read yet the copies that were kept.
// Without one all of a roster's people are on duty until the calendar was read.
func (d *Daemon) restoreCalendars(ctx context.Context, duty schedule.Duty) {
	calendars := duty.Calendars()
	if len(calendars) == 0 {
		return
	}
	kept, err := d.Store.Calendars(ctx)
	if err != nil {
		d.log.Warn("could not read the stored copies of the duty calendars; reading the "+
			"calendars again", "reason", err)
	}
	for _, c := range calendars {
		if copied, ok := kept[c.Key()]; ok {
			c.Restore(copied)
		}
	}
}

// readCalendars reads the duty calendars in force, each when it is time.
func (d *Daemon) readCalendars(ctx context.Context) error {
	fetch := fetchCalendar(calendarClient(nil, nil))
	for {
		d.refreshCalendars(ctx, d.Gate.Rules().Contact.Duty, fetch)
		select {
		case <-time.After(calendarLook):
		case <-d.otherDuty:
		case <-ctx.Done():
			return nil
		}
	}
}

// refreshCalendars reads those of the calendars that are due, and keeps good copies.
func (d *Daemon) refreshCalendars(ctx context.Context, duty schedule.Duty, fetch schedule.Fetch) {
	copies, read := map[string]schedule.Copy{}, false
	for _, c := range duty.Calendars() {
		if c.Due(time.Now()) {
			failing := c.Failing()
			err := c.Refresh(ctx, time.Now(), fetch)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				on, _ := duty.WhoNow(c.Roster, time.Now())
				d.log.Warn("could not read a duty calendar; its last good copy counts for a day, and without a "+
					"copy everyone in the roster is on duty",
					"roster", c.Roster, "reason", err, "unknown", on.Unknown != "")
			case failing:
				d.log.Info("the duty calendar can be read again", "roster", c.Roster)
			}
			read = read || err == nil
		}
		if copied, ok := c.Copy(); ok {
			copies[c.Key()] = copied
		}
	}
	if !read {
		return
	}
	if err := d.Store.KeepCalendars(ctx, copies); err != nil && ctx.Err() == nil {
		d.log.Warn("could not store copies of the duty calendars; after a restart the desk has the copies from before",
			"reason", err)
	}
}

// FetchCalendar reads a calendar as a running desk does.
func FetchCalendar(ctx context.Context, source string) ([]byte, error) {
	return fetchCalendar(calendarClient(nil, nil))(ctx, source)
}

// fetchCalendar reads a file, or an https address with that client. Its errors do not
// name the address: anyone who knows it can read the calendar.
func fetchCalendar(client *http.Client) schedule.Fetch {
	return func(ctx context.Context, source string) ([]byte, error) {
		if strings.Contains(source, "://") {
			return download(ctx, client, source)
		}
		return effective.ReadCalendar(source)
	}
}

func download(ctx context.Context, client *http.Client, source string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil || request.URL.Scheme != "https" {
		return nil, errors.New("it has no https address")
	}
	answer, err := client.Do(request)
	if err != nil {
		return nil, plainFailure(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its server answered %d", answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, schedule.MaxCalendar+1))
	if err != nil {
		return nil, plainFailure(err)
	}
	return text, nil
}

// errUnsafe says that a calendar redirects to an address that is not followed.
type errUnsafe struct{ text string }

func (e errUnsafe) Error() string { return e.text }

// plainFailure says a network error without the address.
func plainFailure(err error) error {
	var unsafe errUnsafe
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	var timeout net.Error
	switch {
	case errors.As(err, &unsafe):
		return unsafe
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("its server did not answer in time")
	case errors.As(err, &dns):
		return errors.New("its host name could not be found")
	case errors.As(err, &certificate):
		return errors.New("its server's certificate is not trusted")
	}
	return errors.New("its server could not be reached")
}

// calendarClient follows no address but https ones of public networks, and of those
// allowed. It looks at the address that is really connected to.
func calendarClient(allow []netip.Prefix, trust *tls.Config) *http.Client {
	dialer := &net.Dialer{Timeout: calendarTime, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !callback.Reachable(at.Addr(), allow) {
			return errUnsafe{"it is at a private address; a calendar inside your network can be a file"}
		}
		return nil
	}}
	return &http.Client{
		Timeout: calendarTime,
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, TLSClientConfig: trust,
			MaxResponseHeaderBytes: maxCalendarHeader},
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if to.URL.Scheme != "https" || len(via) > maxRedirects {
				return errUnsafe{"its server redirects too often, or to an address that is not https"}
			}
			return nil
		},
	}
}

// dutyTrouble counts calendars that could not be read, or rosters of which it is not
// known who is on duty.
func (d *Daemon) dutyTrouble(name string) (n float64) {
	duty := d.Gate.Rules().Contact.Duty
	for _, c := range duty.Calendars() {
		n += truth(name == "calendars_failing" && c.Failing())
	}
	for _, r := range duty.Rosters() {
		on, _ := duty.WhoNow(r.Name, time.Now())
		n += truth(name == "duty_unknown" && on.Unknown != "")
	}
	return n
}
