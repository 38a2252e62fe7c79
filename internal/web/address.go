package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// address is how people reach the desk. It may be known only once the desk listens.
type address struct{ url *url.URL }

// local reports whether people reach the desk by localhost.
func (a *address) local() bool { return hostname(a.url.Host) == "localhost" }

// numeric reports whether a host is an address of this machine's own.
func numeric(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// hostname is a Host without its port, in small letters.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// pathOf is the path of an approval's page, or of a page that belongs to it.
func pathOf(code string, more ...string) string {
	return strings.Join(append([]string{"/a", url.PathEscape(code)}, more...), "/")
}

// nextQuery remembers which page was asked for.
func nextQuery(r *http.Request) string {
	if r.Method != http.MethodGet || r.URL.Path == "/" {
		return ""
	}
	return "?" + url.Values{"next": {r.URL.RequestURI()}}.Encode()
}

// next is the page that was asked for before signing in: one of the desk's own, or the
// first.
func next(asked string) string {
	u, err := url.Parse(asked)
	ours := err == nil && u.Scheme == "" && u.Host == "" && u.User == nil && strings.HasPrefix(u.Path, "/") &&
		!strings.HasPrefix(u.Path, "//") && !strings.ContainsAny(asked, "\\\t\r\n")
	if !ours {
		return "/"
	}
	return u.RequestURI()
}
