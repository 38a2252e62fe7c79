package language

import (
	"strings"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
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
	signal := false
	for i, w := range args {
		switch {
		case w.Is("-s") || w.Is("-n") || w.Is("--"):
			signal = true
		case !signal && i == 0 && strings.HasPrefix(w.Text, "-") && !(len(args) == 1):
			signal = true
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
		if w.Kind == workspace.Pattern || w.Kind == workspace.Literal && !words.Digits(w.Text) || w.Kind == workspace.Computed && w.MayBeOption() {
			return false
		}
	}
	return true
}
