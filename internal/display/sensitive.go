package display

import (
	"strings"

	"approvalbot/internal/lazy"
)

// sensitiveWords are the words that make the value of a parameter a secret if its name contains one.
var sensitiveWords = [...]string{"key", "password", "token", "secret", "auth"}

// innocent are the parts of names that contain such a word and tell of no secret.
var innocent = lazy.Words(`
	author authors authored coauthor coauthors authority keys keyboard keyboards keyword keywords keyframe
	keyframes keypress keydown keyup keycode keyspace keyspaces keynote keypair monkey donkey turkey hockey
	jockey whiskey tokenizer tokenize tokenized tokenization secretary`)

// Sensitive reports whether the value of a parameter of that name counts as a secret: whether the name
// contains key, password, token, secret or auth, in any case and with any other characters between the
// letters. Words that only look so (author, keyboard), counts (max_tokens) and keys that name something
// (public_key, sort_key) do not count.
func Sensitive(name string) bool {
	var rest strings.Builder
	before := ""
	for _, part := range nameParts(name) {
		names := part == "key" && before != "" && kindOfKey("", before) == ordinary
		counts := strings.HasPrefix(part, "token") && isCounter(before)
		if !innocent.Has(part) && !names && !counts {
			rest.WriteString(part)
		}
		before = part
	}
	for _, word := range sensitiveWords {
		if strings.Contains(rest.String(), word) {
			return true
		}
	}
	return false
}

// kindOfParam is what the name of a parameter tells about its value.
func kindOfParam(name string) kind {
	if k := kindOf(name); k != ordinary || !Sensitive(name) {
		return k
	}
	return secret
}
