package effective

import (
	"net/url"
	"strings"

	"approvalbot/internal/config"
)

// checkWeb finds what is wrong with the desk's pages. A person who is signed in
// there may decide, so pages are never served unencrypted to other machines.
func (c *checker) checkWeb(s config.Server) {
	secure := strings.HasPrefix(s.PublicURL, "https://")
	if s.WebOn() && !s.OnLoopback() && !secure {
		c.Mistake("server.web.enabled", "needs server.publicUrl with https, because other machines can reach "+
			"these pages, and people decide there")
	}
	if u, err := url.Parse(s.PublicURL); s.Web.Enabled == "true" && err == nil && strings.Trim(u.Path, "/") != "" {
		c.Mistake("server.publicUrl", "must have no path if server.web.enabled is true: "+
			"the pages are at the root of their host")
	}
	for i, origin := range s.Web.EmbedOrigins {
		if !goodOrigin(origin) {
			c.Mistake(config.Index("server.web.embedOrigins", i),
				"must be an origin such as https://chat.example.org, with https unless it is on localhost, and no path")
		}
	}
	c.checkOIDC(s)
}

func goodOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && origin == u.Scheme+"://"+u.Host && secureOrLocal(u)
}

// secureOrLocal reports whether requests to that address cannot be read on the way.
func secureOrLocal(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && config.Loopback(u.Hostname())
}

func (c *checker) checkOIDC(s config.Server) {
	o := s.Web.OIDC
	if o.Issuer == "" {
		if o.ClientID != "" || o.ClientSecret != "" {
			c.Mistake("server.web.oidc.issuer", "must name the provider, such as https://login.example.org")
		}
		return
	}
	if u, err := url.Parse(o.Issuer); err != nil || u.Host == "" || u.RawQuery != "" || !secureOrLocal(u) {
		c.Mistake("server.web.oidc.issuer", "must be the provider's https address, such as https://login.example.org")
	}
	if o.ClientID == "" {
		c.Mistake("server.web.oidc.clientId", "must be the client id that the provider gave this desk")
	}
	if !s.WebOn() {
		c.Warn("server.web.oidc", "has no effect: server.web.enabled is %s here", s.Web.Enabled)
	}
}
