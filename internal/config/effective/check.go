package effective

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/internal/config"
	"approvalbot/internal/server/connection"
)

func (c *checker) check(cfg *config.Config) {
	c.checkServer(cfg.Server)
	if s := cfg.Server.Socket; s != "" && slices.Contains([]string{cfg.File, cfg.DatabaseFile(), cfg.Store.KeyFile}, s) {
		c.Mistake("server.socket", "is the path of another file of the desk; choose an unused path, such as approvalbot.sock")
	}
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

func (c *checker) checkServer(s config.Server) {
	host, port, err := net.SplitHostPort(s.Listen)
	n, errPort := strconv.Atoi(port)
	switch {
	case err != nil || errPort != nil:
		c.Mistake("server.listen", "must be host:port, such as 127.0.0.1:8787")
	case n < 0 || n > 65535:
		c.Mistake("server.listen", "must have a port from 0 to 65535, such as 127.0.0.1:8787")
	case !config.Loopback(host) && !s.BehindProxy && s.TLS.CertFile == "":
		c.Mistake("server.listen", "is reachable from other machines, so tokens would travel in the clear: set server.tls, or server.behindProxy: true if a proxy in front speaks TLS")
	}
	if (s.TLS.CertFile == "") != (s.TLS.KeyFile == "") {
		c.Mistake("server.tls", "needs both certFile and keyFile")
	}
	if s.PublicURL != "" {
		c.checkURL("server.publicUrl", s.PublicURL)
	}
	c.checkWeb(s)
	c.atLeast("server.limits.pending", s.Limits.Pending, 1)
	c.atLeast("server.limits.requestsPerSecond", s.Limits.RequestsPerSecond, 1)
}

// Certificate reads the files of server.tls. Only config check asks for it: a
// store can be read, and a reload put in force, while they cannot be read.
func Certificate(r *config.Report, cfg config.Config) {
	c := &checker{r}
	tls := cfg.Server.TLS
	if tls.CertFile == "" || tls.KeyFile == "" {
		return
	}
	switch f, err := connection.CheckCertificate(tls.CertFile, tls.KeyFile, time.Now()); {
	case err != nil:
		c.Mistake("server.tls", "%s", err)
	case f.Level != core.LevelOK:
		c.Warn("server.tls", "%s; %s", f.Text, f.Fix)
	}
}

func (c *checker) checkStore(s config.Store) {
	file, sqlite := strings.CutPrefix(s.URL, "sqlite:")
	switch {
	case strings.HasPrefix(s.URL, "postgres://") || strings.HasPrefix(s.URL, "postgresql://"):
		if u, err := url.Parse(s.URL); err != nil || u.Host == "" && u.Query().Get("host") == "" {
			c.Mistake("store.url", "must be postgres://user:password@host:port/database")
		}
	case !sqlite || file == "":
		c.Mistake("store.url", "must be sqlite: and a file's path, such as sqlite:approvalbot.db, or postgres://user:password@host:port/database")
	}
	if s.KeyFile == "" && file != ":memory:" {
		c.Mistake("store.keyFile", "must name the file of the key that seals calls")
	}
	if log, calls := s.Retention.Audit, s.Retention.Approvals; log > 0 && (calls == 0 || log < calls) {
		c.Warn("store.retention.audit", "is shorter than store.retention.approvals: "+
			"records are deleted before their approvals")
	}
}
