package display

import "strings"

// sensitiveWords are the words that make the value of a parameter a secret if its name contains one.
var sensitiveWords = [...]string{"key", "password", "token", "secret", "auth"}

// innocent are the parts of names that contain such a word and tell of no secret.
var innocent = map[string]bool{
	"author": true, "authors": true, "authored": true, "coauthor": true, "coauthors": true, "authority": true,
	"keys": true, "keyboard": true, "keyboards": true, "keyword": true, "keywords": true, "keyframe": true,
	"keyframes": true, "keypress": true, "keydown": true, "keyup": true, "keycode": true, "keyspace": true,
	"keyspaces": true, "keynote": true, "keypair": true,
	"monkey": true, "donkey": true, "turkey": true, "hockey": true, "jockey": true, "whiskey": true,
	"tokenizer": true, "tokenize": true, "tokenized": true, "tokenization": true, "secretary": true,
}

// Sensitive reports whether the value of a parameter of that name counts as a secret: whether the name
// contains key, password, token, secret or auth, in any case and whatever is between the letters. Words
// that only look so (author, keyboard), counts (max_tokens) and keys that name something (public_key,
// sort_key) do not count.
func Sensitive(name string) bool {
	var rest strings.Builder
	before := ""
	for _, part := range nameParts(name) {
		names := part == "key" && before != "" && kindOfKey("", before) == ordinary
		counts := strings.HasPrefix(part, "token") && isCounter(before)
		if !innocent[part] && !names && !counts {
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
