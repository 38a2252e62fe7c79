package setup

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/web"
)

// webFindings says whether people can sign in to the desk's pages.
func webFindings(ctx context.Context, cfg config.Config, offline bool) []core.Diagnostic {
	s := cfg.Server
	at := s.WebURL()
	if at == "" {
		return nil
	}
	found := []core.Diagnostic{core.OK("web", "the pages are at "+at)}
	if u, err := url.Parse(at); err == nil && u.Scheme == "http" && !config.Loopback(u.Hostname()) {
		found = []core.Diagnostic{core.Warn("web", "people cannot stay signed in at "+at,
			"set server.publicUrl to an https URL; on this machine http://localhost works too")}
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if s.PagesAtLocalhost() && !offline {
		found = append(found, localhostFindings(ctx, at)...)
	}
	if s.Web.OIDC.Issuer == "" {
		return found
	}
	provider := web.OIDC{Issuer: s.Web.OIDC.Issuer, ClientID: s.Web.OIDC.ClientID}
	if err := provider.Check(ctx); err != nil {
		return append(found, core.Warn("oidc", "the provider cannot be read: "+oneLine(err),
			"check server.web.oidc.issuer, and whether this machine can reach it"))
	}
	return append(found, core.OK("oidc", s.Web.OIDC.Issuer+" answers"))
}

// localhostFindings says whether both addresses of localhost are the same desk's: a
// browser takes either of them for the pages. If no desk runs, it gives no finding.
func localhostFindings(ctx context.Context, at string) []core.Diagnostic {
	u, err := url.Parse(at)
	if err != nil {
		return nil
	}
	var keys []string
	var silent string
	for _, host := range []string{"127.0.0.1", "::1"} {
		if !hasAddress(host) {
			continue
		}
		u.Host = net.JoinHostPort(host, u.Port())
		if said, err := deskKeys(ctx, u.String()); err != nil {
			silent = u.Host
		} else {
			keys = append(keys, said)
		}
	}
	switch {
	case len(keys) == 2 && keys[0] != keys[1]:
		return []core.Diagnostic{core.Fail("web", "127.0.0.1 and ::1 do not lead to the same desk",
			"stop the other program that listens on port "+u.Port()+", sign everybody out, and start the desk again")}
	case len(keys) > 0 && silent != "":
		return []core.Diagnostic{core.Fail("web", "localhost is "+silent+" too, and the desk does not answer there",
			"start the desk again; otherwise browsers could take another program for the desk's pages")}
	}
	return nil
}

// hasAddress reports whether this machine has that address.
func hasAddress(host string) bool {
	ln, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	return err == nil && ln.Close() == nil
}

// deskKeys gives the keys with which the desk at that address signs receipts.
func deskKeys(ctx context.Context, base string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/.well-known/jwks.json", nil)
	if err != nil {
		return "", err
	}
	// The certificate is another name's, and what is read is public.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	out, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	text, err := io.ReadAll(io.LimitReader(out.Body, maxKeys))
	if err == nil && out.StatusCode != http.StatusOK {
		err = errors.New(out.Status)
	}
	return string(text), err
}

// maxKeys bounds what is read of the desk's public keys, in bytes.
const maxKeys = 64 << 10
