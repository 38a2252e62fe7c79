package main

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"approvalbot/core"
	"approvalbot/policy"
	"approvalbot/routing"
	"approvalbot/server"
)

// rights says who may decide where.
func (c Config) rights() core.Rights {
	r := core.Rights{
		AllowedUsers: map[string][]string{}, AllowedRoles: map[string][]string{}, Tokens: map[string]string{},
		Verifiers: c.verifierConfig().Accounts(),
	}
	for _, p := range c.People {
		accounts := map[string]string{}
		if p.Telegram != "" {
			accounts["telegram"] = string(p.Telegram)
		}
		if p.Discord != "" {
			accounts["discord"] = string(p.Discord)
		}
		r.People = append(r.People, core.Person{Name: p.Name, Accounts: accounts, Roles: p.Roles})
	}
	if t := c.Channels.Telegram; t.On() {
		r.AllowedUsers["telegram"] = texts(t.AllowedUserIDs)
	}
	if d := c.Channels.Discord; d.On() {
		r.AllowedUsers["discord"], r.AllowedRoles["discord"] = texts(d.AllowedUserIDs), texts(d.AllowedRoleIDs)
	}
	for _, t := range c.Server.Tokens {
		if t.Person != "" && slices.Contains(t.Scopes, "operator.approvals") {
			r.Tokens[t.Name] = t.Person
		}
	}
	return r
}

// tokens gives the API tokens, secrets hashed.
func (c Config) tokens() []server.Token {
	out := make([]server.Token, len(c.Server.Tokens))
	for i, t := range c.Server.Tokens {
		out[i] = server.Token{
			Name: t.Name, Hash: server.HashToken(string(t.Token)), RequestsPerSecond: c.Server.Limits.RequestsPerSecond,
			Caller: core.Caller{
				Token: t.Name, Person: t.Person, AgentID: t.AgentID, SessionChats: targets(t.SessionChats),
				MaxPending: c.Server.Limits.Pending, Callbacks: t.callbackRight(c.Server.Production),
				RequireRequester: t.RequireRequester,

				MayRequest: slices.Contains(t.Scopes, "approvals.request"),
				MayDecide:  slices.Contains(t.Scopes, "operator.approvals"),
				MayAudit:   slices.Contains(t.Scopes, "operator.audit"),
				MayAdmin:   slices.Contains(t.Scopes, "operator.admin"),
			},
		}
	}
	return out
}

// ownFiles lists the desk's own files by absolute path: configuration, key,
// database, secrets, certificates, and the client files that serve --local writes.
func (c Config) ownFiles() []string {
	t := c.Channels.Telegram
	files := []string{c.File, c.Store.KeyFile, c.databaseFile(), c.Server.TLS.CertFile, c.Server.TLS.KeyFile, t.BotTokenFile,
		t.Updates.Webhook.SecretFile, c.Channels.Discord.BotTokenFile, c.approvals().Classifier.APIKeyFile,
		c.Tools.Verifier.Webhook.SecretFile, c.Tools.Verifier.Telegram.BotTokenFile}
	for _, a := range c.Agents.List {
		files = append(files, a.Tools.Verifier.Webhook.SecretFile, a.Tools.Verifier.Telegram.BotTokenFile)
	}
	if db := c.databaseFile(); db != "" {
		files = append(files, db+"-wal", db+"-shm", db+".lock")
	}
	if c.File != "" {
		own := localFiles.in(filepath.Dir(c.File))
		files = append(files, own.client, own.operator)
	}
	for _, token := range c.Server.Tokens {
		files = append(files, token.TokenFile, token.CallbackSecretFile)
	}
	var out []string
	for _, f := range files {
		if f == "" {
			continue
		}
		if abs, err := filepath.Abs(f); err == nil {
			out = append(out, abs)
		}
	}
	return out
}

// hasToken reports whether a caller may come with that token.
func (c Config) hasToken(token string) bool {
	return slices.ContainsFunc(c.Server.Tokens, func(t TokenConfig) bool { return string(t.Token) == token })
}

// databaseFile is the path of the SQLite file; empty for a store in memory.
func (c Config) databaseFile() string {
	path, sqlite := strings.CutPrefix(c.Store.URL, "sqlite:")
	if !sqlite || path == ":memory:" {
		return ""
	}
	return path
}

// table is the operator's routing.
func (c Config) table() *routing.Table {
	r := c.approvals().Routing
	t := &routing.Table{
		Mode: routing.Mode(r.Mode), Targets: targets(r.Targets), Fallback: targets(r.Fallback),
		FallbackAfterMs: time.Duration(r.FallbackAfter).Milliseconds(), AgentShield: targets(c.Approvals.AgentShield.Targets),
	}
	if c.Approvals.AgentShield.Enabled {
		t.Drills = t.AgentShield
	}
	return t
}

// rules makes the snapshot that the Gate judges by. The error names what Load
// cannot see in the file.
func (c Config) rules(router core.Router) (core.Rules, error) {
	people, err := core.NewDirectory(c.rights())
	if err != nil {
		return core.Rules{}, err
	}
	p := c.policyConfig()
	if p.Beside, err = c.judged(); err != nil {
		return core.Rules{}, err
	}
	engine, err := policy.New(p)
	if err != nil {
		return core.Rules{}, err
	}
	t := c.approvals()
	return core.Rules{
		Enabled: c.Approvals.Enabled(), Policy: engine, People: people, Router: router,
		Solo: t.SelfApproval == "solo", Clamp: t.ClampMinApprovals, TimeoutMs: t.TimeoutMs, MaxTimeoutMs: t.MaxTimeoutMs,
		RetryWindowMs: time.Duration(t.RetryWindow).Milliseconds(),
	}, nil
}

// approvals gives the approvals.tools block, or what it says by default.
func (c Config) approvals() ApprovalToolsConfig {
	if c.Approvals.Tools != nil {
		return *c.Approvals.Tools
	}
	var t ApprovalToolsConfig
	t.setDefaults()
	return t
}

func targets(places []Place) []core.Target {
	out := make([]core.Target, len(places))
	for i, p := range places {
		out[i] = p.Target
	}
	return out
}

func texts(ids []ID) []string { return words[string](ids) }
