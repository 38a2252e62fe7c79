package daemon

import (
	"errors"
	"fmt"
	"net"
	"net/http"
)

// socketPathMost is how long a socket's path may be: the limit of macOS, which is lower than
// that of Linux.
const socketPathMost = 103

// errLive says that another process answers at the socket's path.
var errLive = errors.New("another process answers at this path")

// socket opens the desk's Unix socket; nil if it has none. If the path is too long,
// or if the default one cannot be opened, it only warns: the desk is reached at its
// address as before.
func (d *Daemon) socket() (net.Listener, error) {
	path := d.cfg.SocketFile()
	if path == "" || !hasSockets && d.cfg.Server.Socket == "" {
		return nil, nil
	}
	if n := len(path); n > socketPathMost {
		d.log.Warn("this desk has no Unix socket, because the path is too long; set server.socket to a shorter "+
			"path, or to off",
			"path", path, "bytes", n, "most", socketPathMost)
		return nil, nil
	}
	l, err := openSocket(path)
	switch {
	case err == nil:
		d.log.Info("the desk has a Unix socket for programs of its own user", "path", path)
		return l, nil
	case errors.Is(err, errLive):
		return nil, fmt.Errorf("server.socket %s: %w; stop that process, or set server.socket to another path or to "+
			"off", path, err)
	case d.cfg.Server.Socket != "":
		return nil, fmt.Errorf("server.socket %s cannot be opened: %w; repair that, or set "+
			"server.socket to another path, or to off",
			path, err)
	}
	d.log.Warn("this desk has no Unix socket; set server.socket to a path, or to off", "path", path, "reason", err)
	return nil, nil
}

// noPages answers for the pages on the Unix socket: cookies and origins belong to an
// address.
func noPages(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok && at.Network() == "unix" {
			http.Error(w, "The desk's pages are at its address, not on its Unix socket.", http.StatusNotFound)
			return
		}
		pages.ServeHTTP(w, r)
	})
}
