package config

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/lazy"
)

// Environ is the process environment as a value.
type Environ map[string]string

// NewEnviron reads NAME=value lines, as os.Environ gives them.
func NewEnviron(lines []string) Environ {
	e := Environ{}
	for _, l := range lines {
		if name, value, ok := strings.Cut(l, "="); ok {
			e[name] = value
		}
	}
	return e
}

var (
	variable     = lazy.Pattern(`\$?\$\{[^}]*\}?`)
	variableName = lazy.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// IsVariable reports whether text can be the name of an environment variable.
func IsVariable(text string) bool { return variableName.MatchString(text) }

// anyTag is the YAML type of text from the environment: any type that fits.
const anyTag = ""

// scalar gives a node's text with every ${NAME} filled in from the environment,
// and the YAML type of the result. $${NAME} gives the text ${NAME}. On a
// mistake, which is reported, ok is false.
func (d *decoder) scalar(n *yaml.Node, at spot) (text, tag string, ok bool) {
	if n.Kind != yaml.ScalarNode {
		d.mistake(at.path, "must be a single value")
		return "", "", false
	}
	if at.literal || !strings.Contains(n.Value, "${") {
		return n.Value, n.ShortTag(), true
	}
	ok = true
	text = variable.ReplaceAllStringFunc(n.Value, func(s string) string {
		if rest, escaped := strings.CutPrefix(s, "$$"); escaped {
			return "$" + rest
		}
		name := strings.TrimSuffix(strings.TrimPrefix(s, "${"), "}")
		value, set := d.env[name]
		switch {
		case !IsVariable(name) || !strings.HasSuffix(s, "}"):
			d.mistake(at.path, "has a ${…} that names no environment variable; write $${ for the text ${")
			ok = false
		case !set && at.unsetVar != "empty":
			d.mistake(at.path, "the environment variable %s is not set", name)
			ok = false
		}
		return value
	})
	return text, anyTag, ok
}

// orList writes words as "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:last], ", "), words[last])
}

// DidYouMean gives " (did you mean x?)" for the nearest of the words, if one is
// near enough to be meant.
func DidYouMean(got string, words []string) string {
	best, nearest := "", 3
	if len(got) < 4 {
		nearest = 2
	}
	for _, w := range words {
		if len(got) > 64 {
			break
		}
		if n := distance(strings.ToLower(got), strings.ToLower(w)); n < nearest {
			best, nearest = w, n
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// distance counts the letters to change, add or drop to get from a to b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			keep := corner
			if a[i] != b[j] {
				keep++
			}
			corner = row[j+1]
			row[j+1] = min(keep, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
