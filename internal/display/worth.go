package display

import (
	"path"
	"strings"
)

// worthHiding reports whether a value with a name of kind k is a secret, and
// not a setting, a path or a link, which an approver must see. Loose is a
// value whose name may be no more than a word of a sentence.
func worthHiding(k kind, value string, loose bool) bool {
	switch {
	case k == ordinary, isKeyword(value), isPath(value), strings.Contains(value, "://"):
		return false
	case len(value) < 4 && strings.Trim(value, "0123456789") == "":
		return false // a small number
	case k == hint:
		return looksRandom(value)
	case loose:
		return len(value) >= 6 && strings.ContainsAny(value, "0123456789")
	}
	return true
}

// looksRandom reports whether a value looks like a generated key: one word with
// letters and digits. Short ones with punctuation may be anything.
func looksRandom(value string) bool {
	digit, letter, other := false, false, false
	for i := range len(value) {
		switch c := value[i]; {
		case c >= '0' && c <= '9':
			digit = true
		case isAlnum(c):
			letter = true
		case strings.IndexByte("+/.=", c) >= 0:
			other = true
		case c != '_' && c != '-':
			return false
		}
	}
	long := len(value) >= 20 || len(value) >= 8 && !other
	return long && digit && letter
}

func isKeyword(value string) bool {
	switch strings.ToLower(value) {
	case "true", "false", "null", "none", "nil", "yes", "no", "undefined", "on", "off":
		return true
	}
	return isScheme(value)
}

// isScheme reports whether the word is one that precedes a credential in HTTP.
func isScheme(word string) bool {
	switch strings.ToLower(word) {
	case "bearer", "basic", "token", "digest", "negotiate", "apikey", "bot", "key":
		return true
	}
	return false
}

// isPath reports whether a value names a file or a source rather than a secret.
func isPath(value string) bool {
	value = strings.TrimPrefix(value, "@")
	for _, start := range []string{"./", "../", "~/", "file:", "env:", "fd:"} {
		if strings.HasPrefix(value, start) {
			return true
		}
	}
	if rest, ok := strings.CutPrefix(value, "/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		return strings.Trim(first, "abcdefghijklmnopqrstuvwxyz0123456789._-") == ""
	}
	switch path.Ext(value) {
	case ".sh", ".bash", ".py", ".js", ".mjs", ".ts", ".rb", ".pl", ".php", ".ps1", ".bat",
		".cmd", ".exe", ".jar", ".pem", ".key", ".crt", ".p12", ".pfx", ".json", ".yaml",
		".yml", ".toml", ".ini", ".txt", ".env", ".conf", ".gpg", ".asc", ".pub", ".sql":
		return true
	}
	return false
}
