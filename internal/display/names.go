package display

import (
	"slices"
	"strings"
)

// kind is what a name tells about its value.
type kind int

const (
	ordinary kind = iota
	hint          // may be a secret, if it looks like one: key, auth
	secret        // is a secret: password, token, API_KEY
)

// kindOf reads a name such as DB_PASSWORD, --api-key or clientSecret.
func kindOf(name string) kind {
	parts := nameParts(name)
	for len(parts) > 1 && isQualifier(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 0 || isSwitch(parts[0]) && len(parts) > 1 {
		return ordinary
	}
	last, before := parts[len(parts)-1], ""
	if len(parts) > 1 {
		before = parts[len(parts)-2]
	}
	switch last = strings.TrimRight(last, "0123456789"); last {
	case "key":
		return kindOfKey(name, before)
	case "auth", "cookie", "signature", "sig":
		return hint
	case "pass", "authorization", "secrets", "passwords":
		return secret
	}
	return kindOfEnding(last, before)
}

func kindOfEnding(last, before string) kind {
	if strings.HasSuffix(last, "token") && isCounter(before) {
		return ordinary
	}
	for _, ending := range []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token",
		"credential", "credentials", "apikey", "accesskey", "secretkey", "privatekey",
	} {
		if strings.HasSuffix(last, ending) {
			return secret
		}
	}
	return ordinary
}

// kindOfKey tells the keys that unlock something from those that only name it.
func kindOfKey(name, before string) kind {
	switch before {
	case "public", "primary", "foreign", "sort", "partition", "cache", "routing",
		"session", "idempotency", "unique", "registry", "object", "group", "row",
		"column", "hot", "host", "index", "lookup", "shortcut", "project", "issue":
		return ordinary
	case "api", "access", "secret", "private", "auth", "encryption", "signing",
		"master", "service", "account", "client", "license", "deploy", "ssh",
		"webhook", "storage", "app", "consumer", "shared", "admin", "root":
		return secret
	}
	if strings.ToUpper(name) == name {
		return secret // an environment variable
	}
	return hint
}

// isQualifier reports whether a name keeps its meaning if the part follows it.
func isQualifier(part string) bool {
	switch part {
	case "value", "val", "string", "str", "text", "plain", "plaintext", "raw", "base64",
		"b64", "hex", "prod", "production", "dev", "staging", "test", "live", "old", "new",
		"current", "previous", "primary", "secondary", "main", "default", "env", "base":
		return true
	}
	return strings.Trim(part, "0123456789") == ""
}

// isSwitch reports whether the part begins flags that take no secret: --ask-pass.
func isSwitch(part string) bool {
	switch part {
	case "no", "ask", "show", "skip", "disable", "enable", "use", "prompt", "require",
		"reset", "generate", "print", "get", "list", "with", "without", "has", "is":
		return true
	}
	return false
}

// isCounter reports whether the word before "token" means text, not access.
func isCounter(part string) bool {
	switch part {
	case "max", "min", "num", "total", "next", "page", "continuation", "stop", "start",
		"end", "pad", "eos", "bos", "mask", "per":
		return true
	}
	return false
}

// nameParts splits a name at punctuation and capitals, in lower case.
func nameParts(name string) []string {
	var parts []string
	start := 0
	for i := 0; i <= len(name); i++ {
		switch {
		case i == len(name) || !isAlnum(name[i]):
			parts = append(parts, strings.ToLower(name[start:i]))
			start = i + 1
		case i > start && startsPart(name, i):
			parts = append(parts, strings.ToLower(name[start:i]))
			start = i
		}
	}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// startsPart reports a capital behind another letter that begins a word: the N of
// userName, the T of APIToken.
func startsPart(name string, i int) bool {
	if !isUpper(name[i]) {
		return false
	}
	return !isUpper(name[i-1]) || i+1 < len(name) && isLower(name[i+1])
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
