package main

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"approvalbot/core"
	"approvalbot/server"
)

// checker finds what is wrong with a configuration whose keys and types are right.
type checker struct{ *report }

// mistake reports what is wrong with a key, unless something is already, also with the
// file that its value was to come from.
func (c *checker) mistake(key, format string, args ...any) {
	if !slices.ContainsFunc(c.mistakes, func(m Mistake) bool { return m.Key == key || m.Key == key+"File" }) {
		c.report.mistake(key, format, args...)
	}
}

func (c *checker) check(cfg *Config, env environ) {
	c.checkServer(cfg.Server)
	c.checkTokens(cfg.Server.Tokens, cfg.People)
	c.checkStore(cfg.Store)
	c.checkPeople(cfg.People)
	c.checkChannels(cfg.Channels)
	c.checkAgents(cfg)
	c.checkTools(cfg.Tools)
	c.checkVerifiers(cfg)
	c.checkApprovals(cfg)
	c.checkExec(cfg.Approvals.Exec)
	c.checkPolicy(cfg)
	c.checkReach(cfg)
}

func (c *checker) checkServer(s ServerConfig) {
	host, port, err := net.SplitHostPort(s.Listen)
	n, errPort := strconv.Atoi(port)
	switch {
	case err != nil || errPort != nil:
		c.mistake("server.listen", "must be host:port, such as 127.0.0.1:8787")
	case n < 0 || n > 65535:
		c.mistake("server.listen", "must have a port from 0 to 65535, such as 127.0.0.1:8787")
	case !loopback(host) && !s.BehindProxy && s.TLS.CertFile == "":
		c.mistake("server.listen", "is reachable from other machines, where tokens would travel in the clear: set server.tls, or server.behindProxy: true if a proxy in front speaks TLS")
	}
	if (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		c.mistake("server.tls", "needs both certFile and keyFile")
	}
	if s.PublicURL != "" {
		c.checkURL("server.publicUrl", s.PublicURL)
	}
	c.atLeast("server.limits.pending", s.Limits.Pending, 1)
	c.atLeast("server.limits.requestsPerSecond", s.Limits.RequestsPerSecond, 1)
}

// checkCertificate reads the files of server.tls. Only config check asks for it: a
// store can be read, and a reload put in force, while they cannot be read.
func (c *checker) checkCertificate(cfg Config) {
	tls := cfg.Server.TLS
	if tls.CertFile == "" || tls.KeyFile == "" {
		return
	}
	switch f, err := server.CheckCertificate(tls.CertFile, tls.KeyFile, time.Now()); {
	case err != nil:
		c.mistake("server.tls", "%s", err)
	case f.Level != core.LevelOK:
		c.warn("server.tls", "%s; %s", f.Text, f.Mend)
	}
}

// loopback reports whether a listener on that host is reached from this machine only.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// checkURL takes absolute http and https URLs without user, query or fragment,
// and gives the parsed one, or nil.
func (c *checker) checkURL(key, text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		c.mistake(key, "must be an absolute http or https URL without a query")
		return nil
	}
	return u
}

// has reports whether a key is written down somewhere.
func (c *checker) has(key string) bool {
	_, ok := c.places[key]
	return ok
}

func (c *checker) atLeast(key string, n, least int) {
	if n < least {
		c.mistake(key, "must be %d or more", least)
	}
}

func (c *checker) checkStore(s StoreConfig) {
	file, sqlite := strings.CutPrefix(s.URL, "sqlite:")
	switch {
	case strings.HasPrefix(s.URL, "postgres://") || strings.HasPrefix(s.URL, "postgresql://"):
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" && u.Query().Get("host") == "" {
			c.mistake("store.url", "must be postgres://user:password@host:port/database")
		}
	case !sqlite || file == "":
		c.mistake("store.url", "must be sqlite: and a file's path, such as sqlite:approvalbot.db, or postgres://user:password@host:port/database")
	}
	if s.KeyFile == "" && file != ":memory:" {
		c.mistake("store.keyFile", "must name the file of the key that seals calls")
	}
	if log, calls := s.Retention.Audit, s.Retention.Approvals; log > 0 && (calls == 0 || log < calls) {
		c.warn("store.retention.audit", "is shorter than store.retention.approvals: records are gone before the approvals that they are about")
	}
}

// name is what people, tokens and agents may be called: it stands in the log and
// on cards. (Patterns here do not count: a class repeated 64 times is compiled 64
// times, at every start, and this one would take 2 MB.)
var name = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._-]*$`)

func goodName(s string) bool { return utf8.RuneCountInString(s) <= 64 && name.MatchString(s) }

// names checks that each of a list has a good name that no other one has, also
// not in other letters' case.
func (c *checker) names(list, field string, all []string) {
	seen := map[string]int{}
	for i, n := range all {
		key := index(list, i) + "." + field
		if !goodName(n) {
			c.mistake(key, "must be a name: 1 to 64 letters, digits or . _ -, a letter or digit first")
			continue
		}
		folded := strings.ToLower(n)
		if first, twice := seen[folded]; twice {
			c.mistake(key, "is the same name as %s", index(list, first)+"."+field)
			continue
		}
		seen[folded] = i
	}
}

// distinct reports the entries of a list that stand in it twice.
func distinct[T comparable](c *checker, key string, list []T) {
	twice(list, func(i, first int) { c.mistake(index(key, i), "is the same as %s", index(key, first)) })
}

// distinctPlaces is distinct for chats, of which each gets one card all the same.
func (c *checker) distinctPlaces(key string, places []Place) {
	twice(places, func(i, first int) { c.warn(index(key, i), "is the same as %s", index(key, first)) })
}

// twice calls found for each entry that stands in a list before.
func twice[T comparable](list []T, found func(i, first int)) {
	for i, x := range list {
		if first := slices.Index(list, x); first < i {
			found(i, first)
		}
	}
}
