package messages

import (
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/display"
)

// redacted replaces a secret.
const redacted = "[REDACTED]"

// maxDepth is how deep args may nest, as the desk accepts them.
const maxDepth = 64

// Sanitise gives args (any JSON value) as a person may see them. At any depth the value
// of a member whose name contains key, password, token, secret or auth (see
// display.Sensitive) becomes "[REDACTED]", and of every other text the literal secrets in
// it. A value that is not JSON, or nests deeper than 64 levels, becomes "[REDACTED]" as a
// whole.
func Sanitise(args []byte) []byte {
	if !jsontext.Value(args).IsValid() {
		return quote(redacted)
	}
	out, _ := sanitise(args, 0)
	return out
}

// sanitise also reports whether all that is hidden by its name is a plain
// literal, which cannot conceal text that acts. If it is not, a person who
// looks at the result has not seen the call.
func sanitise(raw json.RawMessage, depth int) (out json.RawMessage, honest bool) {
	if depth > maxDepth {
		return quote(redacted), false
	}
	switch kindOf(raw) {
	case '{':
		o, err := parseObject(raw)
		if err != nil {
			return quote(redacted), false
		}
		honest = true
		for i, m := range o {
			ok := true
			if display.Sensitive(m.name) {
				o[i].value, ok = quote(redacted), literal(m.value)
			} else {
				o[i].value, ok = sanitise(m.value, depth+1)
			}
			honest = honest && ok
		}
		return o.encode(), honest
	case '[':
		list, err := parseArray(raw)
		if err != nil {
			return quote(redacted), false
		}
		honest = true
		for i, v := range list {
			var ok bool
			list[i], ok = sanitise(v, depth+1)
			honest = honest && ok
		}
		return encodeArray(list), honest
	case '"':
		if s := unquote(raw); display.HasSecret(s) {
			return quote(display.Redact(s)), true
		}
		return raw, true
	case '0', 't', 'f', 'n':
		return raw, true
	}
	return quote(redacted), false
}

// literal reports whether a value is one plain word of at most 200 characters,
// or no text at all.
func literal(raw json.RawMessage) bool {
	switch kindOf(raw) {
	case '0', 't', 'f', 'n':
		return true
	case '"':
		s := unquote(raw)
		return len(s) <= 200 && !strings.ContainsFunc(s, func(r rune) bool {
			return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' ||
				strings.ContainsRune("._~+/=:@-,%!#^", r))
		})
	}
	return false
}
