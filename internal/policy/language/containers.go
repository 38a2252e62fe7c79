package language

import (
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/workspace"
)

// container looks for the desk in what a container is given.
func container(x *command.Call, _ string, args []workspace.Word) {
	for _, w := range args {
		for _, v := range [...]string{w.Text, command.AfterEquals(w.Text), strings.TrimPrefix(w.Text, "-v")} {
			mounts(x, v)
		}
	}
}

// mounts looks for the desk in what a container is given: dir:/there, or
// type=bind,source=dir,target=/there.
func mounts(x *command.Call, text string) {
	if dir, _, ok := strings.Cut(text, ":"); ok {
		x.DeskTree(workspace.Word{Text: dir})
	}
	for part := range strings.SplitSeq(text, ",") {
		if key, dir, ok := strings.Cut(part, "="); ok && (key == "source" || key == "src") {
			x.DeskTree(workspace.Word{Text: dir})
		}
	}
}
