package verifier

import (
	"net/url"
	"slices"
	"strings"
)

// url checks the address of an authority.
func (c *checker) url(raw, key string) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Scheme != "https" && u.Scheme != "http":
		c.mistake(key, "must be an https address")
	case u.User != nil:
		c.mistake(key, "must not carry a user or password; use a header or the key instead")
	case u.Fragment != "":
		c.mistake(key, "must not have a part after #")
	case u.Scheme == "http" && c.production:
		c.mistake(key, "must be https in production: over http anybody on the way could answer")
	case u.Scheme == "http":
		c.warn(key, "http is for development only: anybody on the way could answer")
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

// shown is an address as it may be logged: neither path nor query, which may
// carry keys.
func shown(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "(unreadable address)"
	}
	return u.Scheme + "://" + u.Host
}
