package config

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Tools holds the hard layers, each of which can only take tools away, in
// the order in which they are applied, and the verifier.
type Tools struct {
	Profile          string            `yaml:"profile" oneof:"minimal|coding|messaging|full"`
	ProviderProfiles map[string]string `yaml:"providerProfiles" oneof:"minimal|coding|messaging|full"` // provider, or provider/model
	Allow            []string          `yaml:"allow"`
	Deny             []string          `yaml:"deny"`
	Providers        map[string]Layer  `yaml:"providers"` // by the same
	Groups           map[string]Layer  `yaml:"groups"`    // by the call's context.group
	Sandbox          Layer             `yaml:"sandbox"`
	Subagent         Layer             `yaml:"subagent"`
	Verifier         Verifier          `yaml:"verifier"`
}

// AgentTools is the same for one agent.
type AgentTools struct {
	Profile   string           `yaml:"profile" oneof:"minimal|coding|messaging|full"`
	Allow     []string         `yaml:"allow"`
	Deny      []string         `yaml:"deny"`
	Providers map[string]Layer `yaml:"providers"`
	Verifier  Verifier         `yaml:"verifier"`
}

// Layer is one hard layer. The file may also hold it below a key tools, as
// gateways write it: sandbox: {tools: {allow: […]}}.
type Layer struct {
	Profile string   `yaml:"profile" oneof:"minimal|coding|messaging|full"`
	Allow   []string `yaml:"allow"`
	Deny    []string `yaml:"deny"`
}

func (l *Layer) decodeNode(d *decoder, n *yaml.Node, at spot) {
	type plain Layer // without this method: below tools, no further tools
	if !hasKey(n, "tools") {
		d.decodeStruct(n, reflect.ValueOf((*plain)(l)).Elem(), at)
		return
	}
	var nested struct {
		Tools plain `yaml:"tools"`
	}
	d.decodeStruct(n, reflect.ValueOf(&nested).Elem(), at)
	*l = Layer(nested.Tools)
}

func hasKey(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == key {
			return true
		}
	}
	return false
}

// Verifier is the outside opinion on calls that no other rule objects to.
type Verifier struct {
	Enabled  bool            `yaml:"enabled"`
	Scope    VerifierScope   `yaml:"scope"`
	FailMode string          `yaml:"failMode" oneof:"deny|allow"` // empty for an agent means as for all
	Webhook  VerifierWebhook `yaml:"webhook"`
	Chat     VerifierChat    `yaml:"telegram" json:"Telegram"` // VerifierChatKey; json is for the policy's hash
}

// VerifierScope selects the tools that are verified; one of the two lists.
type VerifierScope struct {
	Include []string `yaml:"include"`
	Exclude []string `yaml:"exclude"`
}

// VerifierWebhook is the HTTP verifier. Timeout and CacheTTL are in seconds.
type VerifierWebhook struct {
	URL        string            `yaml:"url"`
	Timeout    int               `yaml:"timeout"`
	CacheTTL   int               `yaml:"cacheTTL"` // how long an allow counts for the same call; 0 means not at all
	Headers    map[string]Secret `yaml:"headers"`
	Secret     Secret            `yaml:"secret"`
	SecretFile string            `yaml:"secretFile"`
}

// VerifierChatKey is the key of the verifier's own chat, which is on [platform.Verifier].
const VerifierChatKey = "tools.verifier.telegram"

// VerifierChat is the verifier's own chat. A bot of its own asks there, or, without one,
// that of the platform. Timeout is in seconds.
type VerifierChat struct {
	Enabled        bool   `yaml:"enabled"`
	BotToken       Secret `yaml:"botToken" unset:"empty"`
	BotTokenFile   string `yaml:"botTokenFile"`
	APIURL         string `yaml:"apiUrl"` // of its own bot; empty means that of the platform
	ChatID         ID     `yaml:"chatId"`
	Timeout        int    `yaml:"timeout"`
	AllowedUserIDs []ID   `yaml:"allowedUserIds"`
}
