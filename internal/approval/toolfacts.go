package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// ToolFacts is what a bridge to a tool server says of a call's tool. It is comparable.
type ToolFacts struct {
	Server      string `json:"server,omitempty"` // as the operator named it to the bridge
	Description string `json:"description,omitempty"`
	Schema      string `json:"-"`                    // of its input, as sent; not kept
	SchemaHash  string `json:"schemaHash,omitempty"` // SHA-256 of Schema in canonical form, hex; set when it is kept
	Hints       Hints  `json:"hints,omitzero"`
	Digest      string `json:"digest,omitempty"` // SHA-256 of all that is said of it, hex, if the rest does not hold all
	// Otherwise: the bridge's client was shown something else, or cannot be known to have been shown this.
	Otherwise bool `json:"otherwise,omitempty"`
	// Changed: it is not what was said when a call of the tool was last handed out, or the bridge
	// says Otherwise. Set by the Gate, never by the asker.
	Changed bool `json:"changed,omitempty"`
}

// ToolSeen is what was said of a server's tool when a call of it was last handed out.
type ToolSeen struct {
	Owner  string
	Server string
	Tool   string
	Hash   string // of all that was said, see ToolFacts.hash
}

// Hash names what is said of a tool: SHA-256, hex; empty if the tool has no facts. The
// facts must be those that are kept.
func (t ToolFacts) Hash() string {
	t.Server, t.Changed, t.Otherwise = "", false, false
	if t == (ToolFacts{}) {
		return ""
	}
	text, err := json.Marshal(t)
	if err != nil { // plain values always marshal
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ToolSeen is what a call of the tool leaves behind when it is handed out; nil if the tool
// has no facts.
func (a Approval) ToolSeen() *ToolSeen {
	hash := a.Context.Tool.Hash()
	if hash == "" {
		return nil
	}
	return &ToolSeen{Owner: a.Owner, Server: a.Context.Tool.Server, Tool: a.ToolName, Hash: hash}
}

// Hints are what a server declares of a tool.
type Hints struct {
	ReadOnly    Hint `json:"readOnly,omitempty"`
	Destructive Hint `json:"destructive,omitempty"`
	Idempotent  Hint `json:"idempotent,omitempty"`
	OpenWorld   Hint `json:"openWorld,omitempty"`
}

// Hint is one declaration. The zero Hint means that the server declared neither.
type Hint string

// The declarations.
const (
	HintYes Hint = "yes"
	HintNo  Hint = "no"
)

// HintOf is the hint that was sent; nil means that it was not sent.
func HintOf(b *bool) Hint {
	switch {
	case b == nil:
		return ""
	case *b:
		return HintYes
	}
	return HintNo
}

// Limits of a tool's schema.
const (
	maxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 64
	schemaRule     = "must be a JSON object of at most 65536 bytes, nested at most 64 deep, without duplicate names"
)

// validDigest reports whether s may be a digest; an empty one is valid.
func validDigest(s string) bool {
	raw, err := hex.DecodeString(s)
	return s == "" || err == nil && len(raw) == sha256.Size && s == strings.ToLower(s)
}

// validSchema reports whether s may be a tool's schema, see schemaRule; an empty one is
// valid.
func validSchema(s string) bool {
	if s == "" {
		return true
	}
	if len(s) > maxSchema {
		return false
	}
	d := jsontext.NewDecoder(strings.NewReader(s))
	if d.PeekKind() != '{' {
		return false
	}
	for {
		if _, err := d.ReadToken(); err != nil || d.StackDepth() > maxSchemaDepth {
			return false
		}
		if d.StackDepth() == 0 {
			_, err := d.ReadToken()
			return err == io.EOF // the schema is the whole text
		}
	}
}

// Stored is the context as it is stored with an approval: of a schema its hash.
func (c CallContext) Stored() CallContext {
	if c.Tool.Schema == "" {
		return c
	}
	form := jsontext.Value(c.Tool.Schema)
	_ = form.Canonicalize() // what has no canonical form is hashed as it was sent
	sum := sha256.Sum256(form)
	c.Tool.Schema, c.Tool.SchemaHash = "", hex.EncodeToString(sum[:])
	return c
}

// Text says on one line what the bridge says of the tool.
func (t ToolFacts) Text() string {
	var words []string
	for _, h := range [...]struct {
		hint Hint
		word string
	}{{t.Hints.ReadOnly, "read-only"}, {t.Hints.Destructive, "destructive"}, {t.Hints.OpenWorld, "open world"}} {
		switch h.hint {
		case HintYes:
			words = append(words, h.word)
		case HintNo:
			words = append(words, "not "+h.word)
		}
	}
	out := t.Server
	if len(words) > 0 {
		out += " (" + strings.Join(words, ", ") + ")"
	}
	if t.Description != "" {
		out += ": " + t.Description
	}
	return out
}
