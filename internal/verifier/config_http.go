package verifier

import (
	"net/url"
	"slices"
	"strings"

	"approvalbot/internal/display"
)

// url checks the address of an authority.
func (c *checker) url(raw, key string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || !slices.Contains([]string{"https", "http"}, u.Scheme):
		c.mistake(key, "must be an https address")
	case u.User != nil:
		c.mistake(key, "must not carry a user or password; use a header or the key instead")
	case u.Fragment != "":
		c.mistake(key, "must not have a part after #")
	case u.Scheme == "http" && c.production:
		c.mistake(key, "must be https in production: over http any machine on the way could answer")
	case u.Scheme == "http":
		c.warn(key, "http is for development only: any machine on the way could answer")
	}
}

// reserved are the headers that the request itself decides.
var reserved = []string{"host", "content-type", "content-length", "content-encoding", "transfer-encoding", "connection",
	"trailer", "te", "upgrade", "expect", strings.ToLower(signatureHeader)}

// header checks one configured header, without ever naming its value.
func (c *checker) header(name, value, key string) {
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return !isTokenRune(r) }):
		c.mistake(key, "%q is not the name of a header", name)
	case slices.Contains(reserved, strings.ToLower(name)):
		c.mistake(key, "%s is set by the desk itself", name)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
		c.mistake(key, "the value of %s has a line break or another control character", name)
	}
}

func isTokenRune(r rune) bool {
	return r > ' ' && r < 0x7f && !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// endpointOf is an address in the form that approvals show: host and path. It has no
// user and no query, and "…" for each part of the path that may be a key.
func endpointOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	parts := strings.Split(u.Path, "/")
	for i, p := range parts {
		if maybeKey(p) {
			parts[i] = "…"
		}
	}
	return display.Safe(u.Host + strings.Join(parts, "/"))
}

// maybeKey reports a part of a path that is as long as keys are and has a digit as they
// have, or says that it is one.
func maybeKey(part string) bool {
	lower := strings.ToLower(part)
	named := func(word string) bool { return strings.Contains(lower, word) }
	return slices.ContainsFunc([]string{"secret", "token", "key", "password"}, named) || len(part) >= 16 &&
		strings.ContainsAny(part, "0123456789")
}

// shown is an address as it may be logged: neither path nor query, which may
// carry keys.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable address)"
	}
	return u.Scheme + "://" + u.Host
}
