package workspace

import (
	"regexp"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
)

// OwnWord reports a lower-case pattern that finds lines by a word of their own, which may
// be any word. It understands only a little of what the kinds of patterns can express: in
// the rest such a word could match anything, or an empty text.
func OwnWord(lower string) bool {
	if strings.ContainsAny(lower, "\n\r") { // each line is a pattern
		return false
	}
	if strings.Contains(lower, "(") && strings.Contains(lower, ")") && !strings.ContainsAny(lower, `[\`) {
		lower = optional.ReplaceAllString(lower, ".")
	}
	for _, loose := range [...]string{")?", ")*", "){", `\)`, `\?`, `\{`, "(*"} {
		if strings.Contains(lower, loose) {
			return false
		}
	}
	for rest := lower; ; {
		_, after, found := strings.Cut(rest, "(?")
		if !found {
			break
		}
		if !strings.HasPrefix(after, ":") && !strings.HasPrefix(after, "i)") && !strings.HasPrefix(after, "i:") {
			return false
		}
		rest = after
	}
	for alt := range strings.SplitSeq(strings.ReplaceAll(lower, `\|`, "|"), "|") {
		if !hasRun(alt) {
			return false
		}
	}
	return true
}

// optional is a group that may be left out, of one alternative.
var optional = lazy.Pattern(`\([a-z0-9 _-]+\)[?*]`)

// plainEscapes are the letters that, after a backslash, mean one sign or a position between
// signs.
const plainEscapes = "wdsbnrt"

// hasRun reports three letters, digits or underscores in a row that a lower-case
// pattern must match.
func hasRun(alt string) bool {
	run, found := 0, false
	for i := 0; i < len(alt); i++ {
		switch c := alt[i]; {
		case c == '\\':
			i++
			escaped := words.At(alt, i)
			special := words.WordByte(escaped) && strings.IndexByte(plainEscapes, escaped) < 0
			if special || words.At(alt, i+1) == '{' {
				return false
			}
			run = 0
		case c == '[':
			end := BracketEnd(alt, i)
			if end < 0 {
				return false
			}
			i, run = end, 0
		case c == '{' && countBegins(words.At(alt, i+1)):
			end := strings.IndexByte(alt[i:], '}')
			if end < 0 {
				return false
			}
			i, run = i+end, 0
		case words.WordByte(c):
			if run++; run >= 3 && (i+1 == len(alt) || strings.IndexByte("*?{", alt[i+1]) < 0) {
				found = true
			}
		default:
			run = 0
		}
	}
	return found
}

// countBegins reports a character with which the number of repetitions begins.
func countBegins(c byte) bool { return c == ',' || words.Digit(c) }

// BracketEnd gives the position at which the bracket expression ends that begins at a byte,
// or -1 if the kinds of patterns end it at different positions.
func BracketEnd(alt string, at int) int {
	i := at + 1
	if i < len(alt) && alt[i] == '^' {
		i++
	}
	for first := true; i < len(alt); i, first = i+1, false {
		switch {
		case alt[i] == ']' && first:
			return -1
		case alt[i] == ']':
			return i
		case alt[i] == '\\':
			if i++; i < len(alt) && alt[i] == ']' {
				return -1
			}
		case strings.HasPrefix(alt[i:], "[:"):
			end := strings.Index(alt[i:], ":]")
			if end < 0 {
				return -1
			}
			i += end + 1
		case alt[i] == '[':
			return -1
		}
	}
	return -1
}

// secretLines are such as hold secrets, in lower case.
var secretLines = [...]string{"password", "passwd", "secret", "token", "api_key", "apikey", "credential", "private", "bearer"}

// maxPattern is the length of the longest pattern that is tried on them.
const maxPattern = 256

// findsSecret reports a lower-case pattern that matches in the words beside
// secrets: "assw" finds passwords as well as "password" does.
func findsSecret(lower string) bool {
	if len(lower) > maxPattern {
		return true
	}
	if wantsOther(lower) {
		return false
	}
	matches := func(line string) bool { return strings.Contains(line, lower) }
	if lower != regexp.QuoteMeta(lower) {
		if re, err := regexp.Compile(strings.ReplaceAll(lower, `\|`, "|")); err == nil {
			matches = re.MatchString
		}
	}
	return slices.ContainsFunc(secretLines[:], matches)
}

// otherSigns are in no word of secretLines.
const otherSigns = "fghjmquxz0123456789 "

// wantsOther reports a lower-case pattern that begins with a sign which every match must
// contain, and which no word of secretLines has. It saves compiling a regular expression
// for most patterns of code.
func wantsOther(lower string) bool {
	if lower == "" || strings.ContainsAny(lower, "|*?{") {
		return false
	}
	return strings.IndexByte(otherSigns, lower[0]) >= 0
}
