package core

import (
	stdjson "encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"approvalbot/display"
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
	var e Exec
	if json.Unmarshal(params, &e, json.RejectUnknownMembers(true)) != nil {
		return Exec{}, []FieldError{{"params", "of exec may have command or argv, workdir, env (text values), timeout (a number), host, security and ask"}}
	}
	var bad []FieldError
	check := func(ok bool, field, problem string) {
		if !ok {
			bad = append(bad, FieldError{"params." + field, problem})
		}
	}
	check((e.Command == nil) != (e.Argv == nil), "command", "or params.argv is required, and not both")
	if e.Command != nil {
		check(*e.Command != "" && len(*e.Command) <= maxShellLine, "command", "must be a shell line of 1 byte to 128 KiB")
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
