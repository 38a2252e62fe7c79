package config

import (
	"net"
	"net/netip"
	"net/url"

	"go.yaml.in/yaml/v3"
)

// Server is the HTTP side.
type Server struct {
	Listen      string  `yaml:"listen"` // host:port
	Socket      string  `yaml:"socket"` // a Unix socket's path, or [SocketOff]; empty means beside the SQLite store
	PublicURL   string  `yaml:"publicUrl"`
	TLS         TLS     `yaml:"tls"`
	BehindProxy bool    `yaml:"behindProxy"`
	Limits      Limits  `yaml:"limits"`
	Production  bool    `yaml:"production"` // also set by NODE_ENV=production
	Tokens      []Token `yaml:"tokens"`
	Web         Web     `yaml:"web"`
}

// Web is the desk's pages for people.
type Web struct {
	Enabled      Switch   `yaml:"enabled"`
	EmbedOrigins []string `yaml:"embedOrigins"` // of pages that may be told the dialog's outcome
	OIDC         OIDC     `yaml:"oidc"`
	Push         Push     `yaml:"push"`
}

// OIDC is a provider that tells who a person is. Without an issuer it is switched
// off.
type OIDC struct {
	Issuer           string `yaml:"issuer"`
	ClientID         string `yaml:"clientId"`
	ClientSecret     Secret `yaml:"clientSecret"`
	ClientSecretFile string `yaml:"clientSecretFile"`
}

// Push configures notifications to browsers that are not open.
type Push struct {
	VAPIDKeyFile string `yaml:"vapidKeyFile"`
}

// Switch is auto, true or false.
type Switch string

func (s *Switch) decodeNode(d *decoder, n *yaml.Node, at spot) {
	text, _, ok := d.scalar(n, at)
	switch {
	case !ok:
	case text == "auto" || text == "true" || text == "false":
		*s = Switch(text)
	default:
		d.mistake(at.path, "must be auto, true or false")
	}
}

// WebOn reports whether the desk has pages. With auto it has them if only this
// machine can reach it.
func (s Server) WebOn() bool {
	if s.Web.Enabled != "auto" {
		return s.Web.Enabled == "true"
	}
	return s.OnLoopback()
}

// OnLoopback reports whether the desk is reached from this machine only, as far as it
// can tell.
func (s Server) OnLoopback() bool {
	host, _, err := net.SplitHostPort(s.Listen)
	return err == nil && Loopback(host) && !s.BehindProxy
}

// PagesAtLocalhost reports whether browsers reach the pages by that name, at the port at
// which the desk listens.
func (s Server) PagesAtLocalhost() bool {
	_, port, err := net.SplitHostPort(s.Listen)
	u, errURL := url.Parse(s.WebURL())
	return err == nil && errURL == nil && u.Host == net.JoinHostPort("localhost", port)
}

// WebURL is the address of the desk's pages for people: by its public name, else on this
// machine. It is empty if the desk has no pages.
func (s Server) WebURL() string {
	_, port, err := net.SplitHostPort(s.Listen)
	public, errURL := url.Parse(s.PublicURL)
	switch {
	case !s.WebOn() || err != nil || errURL != nil:
		return ""
	case s.PublicURL != "":
		return public.Scheme + "://" + public.Host
	case s.TLS.CertFile != "":
		return "https://" + net.JoinHostPort("localhost", port)
	}
	return "http://" + net.JoinHostPort("localhost", port)
}

// Loopback reports whether a listener on that host is reached from this machine only.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
