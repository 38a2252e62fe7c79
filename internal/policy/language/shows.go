package language

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// ShowsFolders judges commands that compare two folders: they show all files that lie in them.
func ShowsFolders(x *command.Call, name string, args []workspace.Word) {
	if !compares.Has(name) || slices.ContainsFunc(args, namesOnly) {
		return
	}
	folders := 0
	for _, w := range args {
		file := strings.HasPrefix(w.Text, "-") || w.Kind == workspace.Computed || workspace.Sink(w.Text) || strings.HasPrefix(w.Text, "/dev/") ||
			OneFile(strings.ToLower(path.Base(w.Text)))
		if !file {
			folders++
		}
	}
	if folders > 1 {
		x.Add(finding.MayReadSecret)
	}
}

// OneFile reports a name that no folder usually has: conf.d, site-1.0 and app.old may be folders.
func OneFile(base string) bool {
	return workspace.PlainFile(base) && (path.Ext(base) == "" || fileEnds.MatchString(path.Ext(base)) && !words.Any(path.Ext(base), ".old", ".bak", ".new", ".orig", ".d"))
}

var fileEnds = lazy.Pattern(`^\.(?:[chmr]|[a-z]{2,8}[0-9]?)$`)

// namesOnly reports an option with which diff tells only which files differ.
func namesOnly(w workspace.Word) bool { return w.Is("--brief") || brief.MatchString(w.Text) }

var brief = lazy.Pattern(`^-[a-zA-Z]*q`)

var compares = lazy.Words("diff colordiff difft sdiff icdiff")
