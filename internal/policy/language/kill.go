package language

import (
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// kill stops processes; -1 as a process is all of them, and 1 is the machine.
func kill(x *command.Call, _ string, args []workspace.Word) {
	if len(args) > 0 && (args[0].Is("-l") || args[0].Is("-L")) {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	if looksFor(args) {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	x.Add(finding.StopsProcess)
	for i, w := range args {
		switch {
		case i == 0 && len(args) > 1 && strings.HasPrefix(w.Text, "-"): // the signal
		case w.Is("-1"), w.Is("1"), w.Is("0"), w.Is("-0"):
			x.Add(finding.KillsEverything)
		}
	}
}

// looksFor reports signal 0, with which kill only looks whether processes are there.
func looksFor(args []workspace.Word) bool {
	if len(args) < 2 || !args[0].Is("-0") {
		return false
	}
	for _, w := range args[1:] {
		process := w.Number() || w.Kind == workspace.Computed && !w.MayBeOption()
		if !process {
			return false
		}
	}
	return true
}
