package tool

import (
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/workspace"
)

// NotePaths notes every text that may be a path, for operators' rules.
func (r *Params) NotePaths(list []field) {
	for _, p := range list {
		if p.Str && mayBePath(p.Key, p.Text) {
			r.Path(workspace.PathWord(p.Text))
		}
	}
}

// mayBePath reports text that a tool may take for a path, by the member's name or by its
// own form.
func mayBePath(key, text string) bool {
	if len(text) > 4096 || strings.Contains(text, "://") {
		return false
	}
	return PathKeys.Has(key) || strings.Contains(text, "/") && !strings.ContainsAny(text, " \n")
}

// NoteHosts notes the machines that are named by addresses, and by members for them.
func NoteHosts(list []field, hosts *command.Hosts) {
	for _, p := range list {
		switch {
		case !p.Str:
		case HostKeys.Has(p.Key):
			hosts.Address(p.Text)
		case strings.Contains(p.Text, "://"):
			for t := range strings.FieldsSeq(p.Text) {
				if strings.Contains(t, "://") {
					hosts.Address(strings.Trim(t, `"'<>(),;`))
				}
			}
		}
	}
}
