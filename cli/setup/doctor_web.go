package setup

import (
	"context"
	"net/url"

	"approvalbot/config"
	"approvalbot/core"
	"approvalbot/web"
)

// webFindings says whether people can sign in to the desk's pages.
func webFindings(ctx context.Context, cfg config.Config) []core.Diagnostic {
	s := cfg.Server
	at := s.WebURL()
	if at == "" {
		return nil
	}
	found := []core.Diagnostic{core.OK("web", "the pages are at "+at)}
	if u, err := url.Parse(at); err == nil && u.Scheme == "http" && !config.Loopback(u.Hostname()) {
		found = []core.Diagnostic{core.Warn("web", "browsers keep no session at "+at,
			"give server.publicUrl with https; on this machine http://localhost does")}
	}
	if s.Web.OIDC.Issuer == "" {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	provider := web.OIDC{Issuer: s.Web.OIDC.Issuer, ClientID: s.Web.OIDC.ClientID}
	if err := provider.Check(ctx); err != nil {
		return append(found, core.Warn("oidc", "the provider cannot be read: "+oneLine(err),
			"look at server.web.oidc.issuer, and whether this machine reaches it"))
	}
	return append(found, core.OK("oidc", s.Web.OIDC.Issuer+" answers"))
}
