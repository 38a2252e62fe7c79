package config

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Rule is one of the operator's own rules: which calls it is about, and
// one of risk, outcome and approve.
type Rule struct {
	Name         string   `yaml:"name"`
	Match        Match    `yaml:"match"`
	When         string   `yaml:"when"` // CEL
	During       During   `yaml:"during"`
	Risk         Risk     `yaml:"risk"`
	Outcome      string   `yaml:"outcome" oneof:"allow|ask|deny"`
	Approve      bool     `yaml:"approve"`
	SideEffects  []string `yaml:"sideEffects" oneof:"filesystem_read|filesystem_write|process_exec|network_read|external_write|message_send|payment|credential_access|security_change|data_loss|none"`
	MinApprovals int      `yaml:"minApprovals"`
	Role         string   `yaml:"role"`
	StepUp       bool     `yaml:"stepUp"`
	Confine      bool     `yaml:"confine"`
}

// During sets the time in which a rule matches: each week (Weekly, Timezone), or
// once (From, To).
type During struct {
	Weekly   string `yaml:"weekly"` // Fri 16:00-Mon 08:00
	Timezone string `yaml:"timezone"`
	From     string `yaml:"from"` // RFC 3339
	To       string `yaml:"to"`
}

// String gives the window as it is written: "Fri 16:00-Mon 08:00 Europe/Berlin".
func (d During) String() string {
	if d.Weekly != "" {
		return d.Weekly + " " + d.Timezone
	}
	return strings.TrimSpace(d.From + " to " + d.To)
}

// Match selects the calls that a rule is about: every key that is set must fit.
type Match struct {
	Tool    Patterns `yaml:"tool"`
	Command Patterns `yaml:"command"`
	Path    Patterns `yaml:"path"`
	Host    Patterns `yaml:"host"`
	Agent   Patterns `yaml:"agent"`
	Session Patterns `yaml:"session"`
}

// Patterns is one pattern, or path, or a list of them.
type Patterns []string

func (p *Patterns) decodeNode(d *decoder, n *yaml.Node, at spot) {
	if n.Kind == yaml.SequenceNode {
		d.decodeSlice(n, reflect.ValueOf((*[]string)(p)).Elem(), at)
		return
	}
	*p = make(Patterns, 1)
	d.decodeScalar(n, reflect.ValueOf(&(*p)[0]).Elem(), at)
}

// AllowEntry is an entry of approvals.exec.allowlist: a pattern, or {pattern: …}
// with the notes that other programs keep beside it, which are not read.
type AllowEntry string

func (e *AllowEntry) decodeNode(d *decoder, n *yaml.Node, at spot) {
	if n.Kind != yaml.MappingNode {
		d.decodeScalar(n, reflect.ValueOf(e).Elem(), at)
		return
	}
	var in struct {
		Pattern          string `yaml:"pattern"`
		ArgPattern       noted  `yaml:"argPattern"`
		ID               noted  `yaml:"id"`
		Source           noted  `yaml:"source"`
		CommandText      noted  `yaml:"commandText"`
		LastUsedAt       noted  `yaml:"lastUsedAt"`
		LastUsedCommand  noted  `yaml:"lastUsedCommand"`
		LastResolvedPath noted  `yaml:"lastResolvedPath"`
	}
	d.decodeStruct(n, reflect.ValueOf(&in).Elem(), at)
	if in.ArgPattern {
		d.mistake(at.path+".argPattern", "is not supported, and without it the pattern would allow more; write a "+
			"rule with match: {command: …} instead")
	}
	*e = AllowEntry(in.Pattern)
}

// noted is a key whose value is not read, only that it has one.
type noted bool

func (x *noted) decodeNode(_ *decoder, n *yaml.Node, _ spot) { *x = n.ShortTag() != "!!null" }

// Classifier is the model that is asked if static rules are unsure.
type Classifier struct {
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
