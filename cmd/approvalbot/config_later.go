package main

// Later is a key of a feature that is not there yet: what it may hold is not
// read, only whether it asks for something.
type Later struct{ Asks bool }

// ToolsConfig holds the hard layers: each can only take away.
type ToolsConfig struct {
	Profile          string         `yaml:"profile"`
	ProviderProfiles Later          `yaml:"providerProfiles"`
	Allow            []string       `yaml:"allow"`
	Deny             []string       `yaml:"deny"`
	Providers        Later          `yaml:"providers"`
	Groups           Later          `yaml:"groups"`
	Sandbox          Later          `yaml:"sandbox"`
	Subagent         Later          `yaml:"subagent"`
	Verifier         VerifierConfig `yaml:"verifier"`
}

// AgentToolsConfig is the same for one agent.
type AgentToolsConfig struct {
	Profile   string         `yaml:"profile"`
	Allow     Later          `yaml:"allow"`
	Deny      Later          `yaml:"deny"`
	Providers Later          `yaml:"providers"`
	Verifier  VerifierConfig `yaml:"verifier"`
}

// VerifierConfig is the outside opinion on every call.
type VerifierConfig struct {
	Enabled  bool                   `yaml:"enabled"`
	Scope    VerifierScopeConfig    `yaml:"scope"`
	FailMode string                 `yaml:"failMode" oneof:"deny|allow"`
	Webhook  VerifierWebhookConfig  `yaml:"webhook"`
	Telegram VerifierTelegramConfig `yaml:"telegram"`
}

// VerifierScopeConfig says which tools are verified; one of the two lists.
type VerifierScopeConfig struct {
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
}

// VerifierWebhookConfig is the HTTP verifier. Timeout is in seconds.
type VerifierWebhookConfig struct {
	URL        string            `yaml:"url"`
	Timeout    int               `yaml:"timeout"`
	Headers    map[string]Secret `yaml:"headers"`
	Secret     Secret            `yaml:"secret"`
	SecretFile string            `yaml:"secretFile"`
}

// VerifierTelegramConfig is the verifier's own bot. Timeout is in seconds.
type VerifierTelegramConfig struct {
	Enabled        bool   `yaml:"enabled"`
	BotToken       Secret `yaml:"botToken" unset:"empty"`
	BotTokenFile   string `yaml:"botTokenFile"`
	ChatID         ID     `yaml:"chatId"`
	Timeout        int    `yaml:"timeout"`
	AllowedUserIDs []ID   `yaml:"allowedUserIds"`
}

// ClassifierConfig is the model that is asked where static rules are unsure.
type ClassifierConfig struct {
	Enabled         bool    `yaml:"enabled"`
	Provider        string  `yaml:"provider"`
	Model           string  `yaml:"model"`
	APIURL          string  `yaml:"apiUrl"`
	APIKey          Secret  `yaml:"apiKey" unset:"empty"`
	APIKeyFile      string  `yaml:"apiKeyFile"`
	TimeoutMs       int     `yaml:"timeoutMs"`
	MaxInputChars   int     `yaml:"maxInputChars"`
	MinConfidence   float64 `yaml:"minConfidence"`
	OnLowConfidence string  `yaml:"onLowConfidence" oneof:"require_approval|deny|allow"`
}

// AgentShieldConfig is the fingerprint-only dialect.
type AgentShieldConfig struct {
	Enabled bool    `yaml:"enabled"`
	Targets []Place `yaml:"targets"`
}

// checkLater refuses what asks for a feature that is not there yet. To bring a
// feature in, take its line out.
func (c *checker) checkLater(cfg *Config, env environ) {
	refuse := func(asks bool, key string) {
		if asks {
			c.mistake(key, "not supported yet")
		}
	}
	refuse(cfg.Tools.Profile != "full", "tools.profile")
	refuse(cfg.Tools.ProviderProfiles.Asks, "tools.providerProfiles")
	refuse(cfg.Tools.Providers.Asks, "tools.providers")
	refuse(cfg.Tools.Groups.Asks, "tools.groups")
	refuse(cfg.Tools.Sandbox.Asks, "tools.sandbox")
	refuse(cfg.Tools.Subagent.Asks, "tools.subagent")
	c.refuseVerifier(cfg.Tools.Verifier, "tools.verifier", refuse)
	for i, a := range cfg.Agents.List {
		key := index("agents.list", i) + ".tools"
		refuse(a.Tools.Profile != "" && a.Tools.Profile != "full", key+".profile")
		refuse(a.Tools.Allow.Asks, key+".allow")
		refuse(a.Tools.Deny.Asks, key+".deny")
		refuse(a.Tools.Providers.Asks, key+".providers")
		c.refuseVerifier(a.Tools.Verifier, key+".verifier", refuse)
	}
	refuse(cfg.Approvals.Exec.Allowlist.Asks, "approvals.exec.allowlist")
	refuse(cfg.Approvals.Exec.SafeBins.Asks, "approvals.exec.safeBins")
	refuse(cfg.Approvals.Exec.AskFallback != "deny", "approvals.exec.askFallback")
	refuse(cfg.Approvals.AgentShield.Enabled, "approvals.agentshield.enabled")
	if env["AGENTSHIELD_APPROVALS_ENABLED"] == "1" {
		c.warn("approvals.agentshield.enabled", "AGENTSHIELD_APPROVALS_ENABLED=1 has no effect: that dialect is not supported yet")
	}
	if t := cfg.Approvals.Tools; t != nil {
		refuse(t.Classifier.Enabled, "approvals.tools.classifier.enabled")
		refuse(t.Rules.Asks, "approvals.tools.rules")
	}
}

func (c *checker) refuseVerifier(v VerifierConfig, key string, refuse func(bool, string)) {
	refuse(v.Enabled, key+".enabled")
	refuse(v.Telegram.Enabled, key+".telegram.enabled")
	if len(v.Scope.Include) > 0 && len(v.Scope.Exclude) > 0 {
		c.mistake(key+".scope", "include and exclude contradict each other; use one of them")
	}
	if v.FailMode == "allow" {
		c.warn(key+".failMode", "allow fails open: when the verifier cannot be reached, calls would run unverified")
	}
}
