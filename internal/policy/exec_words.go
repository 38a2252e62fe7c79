package policy

import (
	"strings"

	"approvalbot/internal/policy/pattern"
	"approvalbot/internal/policy/program"
)

// execWords are the words security and ask, of the configuration or of a call.
type execWords struct{ security, ask string }

// execVerdict is what the words say, further right is stricter.
type execVerdict int

const (
	execPasses execVerdict = iota
	execAsks
	execAsksAlways
	execRefuses // no approver is asked; a grant still counts
	execDenies
)

// judge says what the words mean for a command. A hit is what the allowlist names, and what
// the table recognises up to R2 (R1 with exec.strict).
func (w execWords) judge(hit bool) execVerdict {
	switch {
	case w.security == "deny":
		return execDenies
	case w.ask == "always":
		return execAsksAlways
	case w.security != "allowlist" || hit:
		return execPasses
	case w.ask == "off":
		return execRefuses
	}
	return execAsks
}

// allowlist reads the operator's lists for commands.
func allowlist(c *Config) (list []pattern.Command, safe map[string]bool, bad Mistakes) {
	at := func(list string, i int) []string { return []string{"approvals", "exec", list, entry(i)} }
	for i, text := range c.ExecAllowlist {
		p, err := pattern.NewCommand(text)
		if err == nil {
			err = p.Trusted()
		}
		if err != nil {
			bad.add(at("allowlist", i), "exec.allowlist: ", "%s", err)
			continue
		}
		p.Open = true
		list = append(list, p)
	}
	safe = map[string]bool{}
	for i, name := range c.ExecSafeBins {
		switch {
		case !program.SimpleName(name) || strings.Contains(name, "/"):
			bad.add(at("safeBins", i), "exec.safeBins: ", "%q must be a program's name", name)
		case program.Unsafe(name) != "":
			bad.add(at("safeBins", i), "exec.safeBins: ", "%s %s and is never safe; take it out of the list", name, program.Unsafe(name))
		}
		safe[name] = true
	}
	return list, safe, bad
}
