package display

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// redacted replaces a secret. It contains no part of it.
const redacted = "[REDACTED]"

// Redact replaces literal secrets by [REDACTED], and only those. It knows
// secrets by the name before them (KEY=value, --flag value, --flag=value, JSON
// members, HTTP headers), by their place (user:pass@ in URLs, -pS3cret of
// database clients and the like), and by their shape (keys and tokens of AWS,
// GitHub, GitLab, Slack, OpenAI, Anthropic, Google, Stripe, npm, SendGrid, Docker,
// Telegram, Discord and others (see shapes), JSON web tokens, PEM private keys).
//
// A hidden stretch is one plain literal of at most 200 characters: it has no
// white space, line break, quotation mark, escape, expansion, pattern or shell
// separator in it, so that no text that would run can hide there. A value that
// breaks this rule is shown whole; of a JSON web token that is longer the last
// 200 characters are hidden, of a PEM key each line by itself. A word that a
// shell would take for a command is not hidden either.
//
// Invisible characters, raw or as Escape writes them, do not keep a secret
// from being found; control characters and escapes inside it stay. Redact is to be applied
// before Escape. Redact(Redact(s)) == Redact(s).
func Redact(s string) string {
	spans := secrets(s)
	if len(spans) == 0 {
		return s
	}
	var out strings.Builder
	out.Grow(len(s))
	end := 0
	for _, secret := range spans {
		out.WriteString(s[end:secret.from])
		out.WriteString(redacted)
		end = secret.to
	}
	out.WriteString(s[end:])
	return out.String()
}

// HasSecret reports whether Redact would hide something of s.
func HasSecret(s string) bool { return len(secrets(s)) > 0 }

// Safe is Escape(Redact(s)): untrusted text as a person may see it. Applying it
// again exposes no secret.
func Safe(s string) string { return Escape(Redact(s)) }

// span is the stretch of bytes [from, to) of a text.
type span struct{ from, to int }

// secrets returns the stretches of s that Redact hides, in order and apart.
func secrets(s string) []span {
	var found []span
	for _, secret := range find(s) {
		found = append(found, visible(s, secret)...)
	}
	if b, ok := bare(s); ok {
		for _, secret := range find(b.text) {
			found = append(found, b.spans(s, secret)...)
		}
	}
	return union(s, found)
}

// visible leaves the control characters out of a stretch of s.
func visible(s string, of span) []span {
	var out []span
	from := of.from
	for i := of.from; i <= of.to; i++ {
		if i < of.to && !isControl(s[i]) {
			continue
		}
		if from < i {
			out = append(out, span{from, i})
		}
		from = i + 1
	}
	return out
}

func isControl(c byte) bool { return c < ' ' || c == 0x7F }

// union joins stretches that overlap or touch. A stretch that becomes too long
// to be hidden by that is shown.
func union(s string, spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out []span
	for _, next := range spans {
		if n := len(out); n > 0 && next.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, next.to)
			continue
		}
		out = append(out, next)
	}
	return slices.DeleteFunc(out, func(x span) bool {
		return utf8.RuneCountInString(s[x.from:x.to]) > longest
	})
}

// finder looks for secrets in one text. Each of its passes is a single walk
// through the text, in order.
type finder struct {
	text   string
	spans  []span
	words  lexer
	dotted int // the position up to which runs of dots and letters were read
	budget int // bytes that may still be read again for the sake of inner quotes
}

func find(s string) []span {
	f := finder{text: s, budget: 1 << 20}
	f.named()
	f.shaped()
	f.urls()
	f.clients()
	f.pem()
	return f.spans
}

// hide records a secret, if it may be hidden.
func (f *finder) hide(from, to int) {
	if hideable(f.text[from:to]) {
		f.spans = append(f.spans, span{from, to})
	}
}
