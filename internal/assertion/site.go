package assertion

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
)

// Site is the web site for which passkeys are made and sign. For the zero Site there are
// no passkeys.
type Site struct {
	ID     string // WebAuthn's relying party: the host
	Origin string // of its pages: "https://desk.example.org"
	base   string // its links begin with it
}

// SiteOf is the site of the desk's public URL. A browser gives passkeys to an https site
// with a DNS name, and to localhost; for any other URL, SiteOf returns an error that says
// so.
func SiteOf(publicURL string) (Site, error) {
	u, err := url.Parse(publicURL)
	if err != nil || u.Host == "" {
		return Site{}, errors.New("must be the URL under which people reach the desk: https with a DNS name, or localhost")
	}
	host := strings.ToLower(u.Hostname())
	_, notIP := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost")
	switch {
	case notIP == nil:
		return Site{}, errors.New("must have a DNS name as its host, or localhost: " +
			"browsers keep no passkeys for an IP address")
	case u.Scheme != "https" && !(local && u.Scheme == "http"):
		return Site{}, errors.New("must begin with https: browsers keep passkeys for https only, except on localhost")
	case !local && !strings.Contains(host, "."):
		return Site{}, errors.New("must have a whole DNS name as its host, or localhost: " +
			"browsers keep no passkeys for other hosts")
	}
	origin := u.Scheme + "://" + host
	if port := u.Port(); port != "" && port != map[string]string{"http": "80", "https": "443"}[u.Scheme] {
		origin += ":" + port
	}
	return Site{ID: host, Origin: origin, base: strings.TrimRight(publicURL, "/")}, nil
}

// Link is the address of a path of the desk: "https://desk.example.org/a/K7QX2M".
func (s Site) Link(path string) string { return s.base + path }
