package daemon

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"approvalbot/internal/config"
	"approvalbot/internal/server/connection"
)

// Listeners are the addresses at which one desk is reached.
type Listeners struct {
	net.Listener // the configured one
	twins        []net.Listener
	Lost         error // why the pages would not be the desk's alone; nil if they are

	begin, end sync.Once
	accepted   chan accepted
	closed     chan struct{}
	accepting  sync.WaitGroup
}

type accepted struct {
	conn net.Conn
	err  error
}

// Listen opens the configured address. If the pages are at "localhost", which is two
// addresses, it opens the other one too: another program that listened there would be the
// pages' origin to a browser, and would get their sign-in links. An address that the
// machine does not have is skipped.
func Listen(s config.Server) (*Listeners, error) {
	main, err := net.Listen("tcp", s.Listen)
	if err != nil {
		return nil, fmt.Errorf("server.listen %s: %w; choose another address or stop what uses it", s.Listen, err)
	}
	l := &Listeners{Listener: main, accepted: make(chan accepted), closed: make(chan struct{})}
	at, err := netip.ParseAddrPort(main.Addr().String())
	if err != nil {
		return l, nil
	}
	s.Listen = at.String()
	for _, host := range [...]netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()} {
		if !s.PagesAtLocalhost() || host == at.Addr() || at.Addr() == netip.IPv6Unspecified() ||
			at.Addr() == netip.IPv4Unspecified() && host.Is4() {
			continue
		}
		other := netip.AddrPortFrom(host, at.Port()).String()
		twin, err := net.Listen("tcp", other)
		switch {
		case err == nil:
			l.twins = append(l.twins, twin)
		case errors.Is(err, syscall.EADDRNOTAVAIL), errors.Is(err, syscall.EAFNOSUPPORT):
		default:
			l.Lost = fmt.Errorf("the pages are at localhost, which is %s too, but this desk cannot listen there: "+
				"%w; stop the program that listens there, or choose another port "+
				"(server.listen), and start the desk again", other, err)
		}
	}
	return l, nil
}

// Accept implements net.Listener, for all addresses.
func (l *Listeners) Accept() (net.Conn, error) {
	if len(l.twins) == 0 {
		return l.Listener.Accept()
	}
	l.begin.Do(func() {
		for _, each := range append([]net.Listener{l.Listener}, l.twins...) {
			l.accepting.Go(func() { l.acceptFrom(each) })
		}
	})
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// acceptFrom hands on what one address accepts, until that is closed.
func (l *Listeners) acceptFrom(one net.Listener) {
	for {
		conn, err := one.Accept()
		select {
		case l.accepted <- accepted{conn, err}:
		case <-l.closed:
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Close implements net.Listener, for all addresses. It waits until all have stopped
// accepting.
func (l *Listeners) Close() error {
	l.begin.Do(func() {}) // from now on accepting cannot begin
	err := l.Listener.Close()
	l.end.Do(func() { close(l.closed) })
	for _, twin := range l.twins {
		err = errors.Join(err, twin.Close())
	}
	l.accepting.Wait()
	return err
}

// ownCertificate is what the desk's own programs know it by: of the key that they have
// pinned.
func (d *Daemon) ownCertificate() (*tls.Certificate, error) {
	key, err := d.Auditor.TLS.ForTLS()
	if err != nil {
		return nil, err
	}
	host, _, _ := net.SplitHostPort(d.cfg.Server.Listen) // config has checked it
	return connection.OwnCertificate(key, host, time.Now())
}
