package main

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// ToolsConfig holds the hard layers, each of which can only take tools away, in
// the order in which they are applied, and the verifier.
type ToolsConfig struct {
	Profile          string                 `yaml:"profile" oneof:"minimal|coding|messaging|full"`
	ProviderProfiles map[string]string      `yaml:"providerProfiles" oneof:"minimal|coding|messaging|full"` // provider, or provider/model
	Allow            []string               `yaml:"allow"`
	Deny             []string               `yaml:"deny"`
	Providers        map[string]LayerConfig `yaml:"providers"` // by the same
	Groups           map[string]LayerConfig `yaml:"groups"`    // by the call's context.group
	Sandbox          LayerConfig            `yaml:"sandbox"`
	Subagent         LayerConfig            `yaml:"subagent"`
	Verifier         VerifierConfig         `yaml:"verifier"`
}

// AgentToolsConfig is the same for one agent.
type AgentToolsConfig struct {
	Profile   string                 `yaml:"profile" oneof:"minimal|coding|messaging|full"`
	Allow     []string               `yaml:"allow"`
	Deny      []string               `yaml:"deny"`
	Providers map[string]LayerConfig `yaml:"providers"`
	Verifier  VerifierConfig         `yaml:"verifier"`
}

// LayerConfig is one hard layer. The file may also hold it below a key tools, as
// gateways write it: sandbox: {tools: {allow: […]}}.
type LayerConfig struct {
	Profile string   `yaml:"profile" oneof:"minimal|coding|messaging|full"`
	Allow   []string `yaml:"allow"`
	Deny    []string `yaml:"deny"`
}

func (l *LayerConfig) decodeNode(d *decoder, n *yaml.Node, at spot) {
	type plain LayerConfig // without this method: below tools, no further tools
	if !hasKey(n, "tools") {
		d.decodeStruct(n, reflect.ValueOf((*plain)(l)).Elem(), at)
		return
	}
	var nested struct {
		Tools plain `yaml:"tools"`
	}
	d.decodeStruct(n, reflect.ValueOf(&nested).Elem(), at)
	*l = LayerConfig(nested.Tools)
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// VerifierConfig is the outside opinion on calls that nothing else objects to.
type VerifierConfig struct {
	Enabled  bool                   `yaml:"enabled"`
	Scope    VerifierScopeConfig    `yaml:"scope"`
	FailMode string                 `yaml:"failMode" oneof:"deny|allow"` // empty for an agent: as for all
	Webhook  VerifierWebhookConfig  `yaml:"webhook"`
	Telegram VerifierTelegramConfig `yaml:"telegram"`
}

// VerifierScopeConfig says which tools are verified; one of the two lists.
type VerifierScopeConfig struct {
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
}

// VerifierWebhookConfig is the HTTP verifier. Timeout and CacheTTL are in seconds.
type VerifierWebhookConfig struct {
	URL        string            `yaml:"url"`
	Timeout    int               `yaml:"timeout"`
	CacheTTL   int               `yaml:"cacheTTL"` // how long an allow counts for the same call; 0: not at all
	Headers    map[string]Secret `yaml:"headers"`
	Secret     Secret            `yaml:"secret"`
	SecretFile string            `yaml:"secretFile"`
}

// VerifierTelegramConfig is the verifier's own chat. A bot of its own asks there, or,
// without one, that of channels.telegram. Timeout is in seconds.
type VerifierTelegramConfig struct {
	Enabled        bool   `yaml:"enabled"`
	BotToken       Secret `yaml:"botToken" unset:"empty"`
	BotTokenFile   string `yaml:"botTokenFile"`
	APIURL         string `yaml:"apiUrl"` // of its own bot; empty: that of channels.telegram
	ChatID         ID     `yaml:"chatId"`
	Timeout        int    `yaml:"timeout"`
	AllowedUserIDs []ID   `yaml:"allowedUserIds"`
}
