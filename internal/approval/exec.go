package approval

import (
	stdjson "encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/display"
)

// Exec is the params of tool "exec": exactly one of Command (a shell line) and
// Argv says what runs.
type Exec struct {
	Command   *string           `json:"command,omitempty"`
	Argv      []string          `json:"argv,omitempty"`
	Workdir   string            `json:"workdir,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
	TimeoutMs int64             `json:"timeout,omitempty"`
	Host      string            `json:"host,omitempty"`
	Security  string            `json:"security,omitempty"` // deny, allowlist, full: may only tighten
	Ask       string            `json:"ask,omitempty"`      // off, on-miss, always: may only tighten
}

// ParseExec reads the params of tool "exec" strictly: an unknown field, both or
// neither of command and argv, a wrong type or an unknown security or ask word
// is named by its field.
func ParseExec(params stdjson.RawMessage) (Exec, []FieldError) {
	var bad []FieldError
	var e Exec
	if jsontext.Value(params).Kind() != '{' || json.Unmarshal(params, &e, json.RejectUnknownMembers(true)) != nil {
		e, bad = execMembers(params)
	}
	unread := len(bad) > 0
	reported := func(field string) bool {
		return slices.ContainsFunc(bad, func(f FieldError) bool { return f.Field == field })
	}
	check := func(ok bool, field, problem string) {
		if !ok && !reported("params."+field) {
			bad = append(bad, FieldError{"params." + field, problem})
		}
	}
	one := (e.Command == nil) != (e.Argv == nil)
	check(one || reported("params") || reported("params.argv"), "command", "or params.argv is required, but not both")
	if e.Command != nil {
		check(*e.Command != "" && len(*e.Command) <= maxShellLine, "command",
			"must be a shell line of 1 byte to 128 KiB")
	}
	check(e.Argv == nil || len(e.Argv) > 0 && e.Argv[0] != "", "argv", "must start with the program's name")
	for _, a := range e.Argv {
		if strings.IndexByte(a, 0) >= 0 || !utf8.ValidString(a) {
			check(false, "argv", "must be text without NUL bytes")
			break
		}
	}
	check(oneOf(e.Security, "", "deny", "allowlist", "full"), "security", "must be deny, allowlist or full")
	check(oneOf(e.Ask, "", "off", "on-miss", "always"), "ask", "must be off, on-miss or always")
	check(e.TimeoutMs >= 0, "timeout", "must not be negative")
	if unread {
		return Exec{}, bad
	}
	return e, bad
}

// maxExecMistakes is how many members execMembers names at most.
const maxExecMistakes = 20

// execMembers reads params member by member, and names what is wrong with one.
func execMembers(params []byte) (e Exec, bad []FieldError) {
	var members map[string]jsontext.Value
	if json.Unmarshal(params, &members) != nil || members == nil {
		return e, []FieldError{{"params", "must be a JSON object without duplicate keys"}}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var into any
		problem := "must be text"
		switch name {
		case "command":
			into = &e.Command
		case "argv":
			into, problem = &e.Argv, "must be a list of strings"
		case "workdir":
			into = &e.Workdir
		case "env":
			into, problem = &e.Env, "must be an object whose values are strings"
		case "timeout":
			into, problem = &e.TimeoutMs, "must be a whole number of milliseconds"
		case "host":
			into = &e.Host
		case "security":
			into = &e.Security
		case "ask":
			into = &e.Ask
		default:
			problem = "is not a parameter of exec, which takes command or argv, workdir, " +
				"env, timeout, host, security and ask"
		}
		if (into == nil || json.Unmarshal(members[name], into) != nil) && len(bad) < maxExecMistakes {
			bad = append(bad, FieldError{"params." + FieldName(name), problem})
		}
	}
	return e, bad
}

func oneOf(s string, words ...string) bool {
	for _, w := range words {
		if s == w {
			return true
		}
	}
	return false
}

// Line is the command as a person reads it: redacted, escaped, argv quoted so
// that it reads back to the same argv.
func (e Exec) Line() string {
	if e.Command != nil {
		return display.Safe(*e.Command)
	}
	return display.Redact(display.Argv(e.Argv))
}

// Text is the command as lines of its own: redacted, and escaped by display.EscapeText.
func (e Exec) Text() string {
	if e.Command != nil {
		return display.EscapeText(display.Redact(*e.Command))
	}
	return display.ArgvText(e.Argv)
}

// Block is Line for a block of its own: the line feeds of a script stay.
func (e Exec) Block() string {
	switch {
	case e.Command != nil:
		return display.EscapeBlock(display.Redact(*e.Command))
	case slices.ContainsFunc(e.Argv, func(s string) bool { return strings.Contains(s, "\n") }):
		return display.ArgvBlock(e.Argv)
	}
	return e.Line()
}
