package policy

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/tool"
)

// trusts reports whether what the call says of its tool may lower its class.
func (e *Engine) trusts(c *approval.Call) bool {
	return c.Owner != "" && slices.Contains(e.cfg.TrustToolHints, c.Owner)
}

// known gives the rows of the call's server, if it is a well-known one and the asker is
// trusted to name it.
func (e *Engine) known(c *approval.Call) map[string]*tool.Row {
	if c.Context.Tool.Server == "" || !e.trusts(c) {
		return nil
	}
	return e.servers[c.Context.Tool.Server]
}

// atServer gives the tool's name at its server: mcp__github__list_issues,
// github.list_issues and list_issues are one tool of the server github. The call's own name
// is what people see and what is bound, so only that name says which tool it is.
func atServer(name, server string) string {
	name, _ = strings.CutPrefix(name, "mcp__")
	rest, own := strings.CutPrefix(name, server)
	if !own {
		return name
	}
	for _, between := range [...]string{"__", ".", "/", ":"} {
		if inner, ok := strings.CutPrefix(rest, between); ok {
			return inner
		}
	}
	return name
}

// assessServer reads what is said of the tool and the server it is of. It reports
// whether a row of a well-known server says all of the call.
func (e *Engine) assessServer(j *judging) bool {
	said := &j.Call.Context.Tool
	row := e.known(&j.Call)[atServer(j.Call.ToolName, said.Server)]
	if said.Hints.Destructive == approval.HintYes && (row == nil || !row.Overwrites) {
		j.Found.Add(finding.DeclaredDestructive)
	}
	switch {
	case row != nil:
		j.policy.Add(finding.KnownServer)
		j.ReadRow(row)
		return true
	case said.Server != "" && j.Tool.Kind != tool.Other:
		j.Found.Add(finding.UnknownTool) // a server's tool is not the runtime's own of that name
	}
	return false
}

// declared lets a tool that policy merely does not know be what its server declares, if the
// operator trusts the asker who passes that on: a tool that only reads. Its params are read
// all the same, as those of a tool that may take any of them for a path or an address. A
// declaration of a server with rows does not count: a tool that its rows do not list asks.
func (e *Engine) declared(j *judging) {
	said := &j.Call.Context.Tool
	rest := j.Found.Without(finding.Of(finding.UnknownTool))
	merelyUnknown := j.Found.Has(finding.UnknownTool) && rest.Class() <= approval.R2
	if said.Hints.ReadOnly != approval.HintYes || said.Hints.Destructive == approval.HintYes || !merelyUnknown {
		return
	}
	if said.Server == "" || !e.trusts(&j.Call) || e.servers[said.Server] != nil {
		return
	}
	j.ReadDeclared(rest)
}
