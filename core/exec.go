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
	e, ok := plainExec(params)
	if !ok {
		e, ok = oddExec(params)
	}
	if !ok {
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

// plainExec reads what most calls have, or reports false for what only oddExec
// can tell.
func plainExec(params []byte) (e Exec, ok bool) {
	p := ReadPlain(params)
	for o := (Object{}); p.Member(&o); {
		switch o.Name {
		case "command":
			e.Command = new(p.Text())
		case "argv":
			e.Argv = []string{}
			for l := (List{}); p.Element(&l); {
				e.Argv = append(e.Argv, p.Text())
			}
		case "workdir":
			e.Workdir = p.Text()
		case "timeout":
			e.TimeoutMs = p.Whole()
		case "host":
			e.Host = p.Text()
		case "security":
			e.Security = p.Text()
		case "ask":
			e.Ask = p.Text()
		default:
			p.Refuse()
		}
	}
	return e, p.Done()
}

// oddExec is plainExec for all that is JSON.
func oddExec(params []byte) (e Exec, ok bool) {
	err := json.Unmarshal(params, &e, json.RejectUnknownMembers(true))
	return e, err == nil
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
