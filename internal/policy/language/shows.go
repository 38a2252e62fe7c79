package language

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// ShowsMore judges commands that by their words show more than they name.
func ShowsMore(x *command.Call, name string, args []workspace.Word) {
	switch {
	case name == "git":
		showsHistory(x, args)
	case compares.Has(name) && !slices.ContainsFunc(args, namesOnly):
		folders := 0
		for _, w := range args {
			file := strings.HasPrefix(w.Text, "-") || w.Kind == workspace.Computed || workspace.Sink(w.Text) || strings.HasPrefix(w.Text, "/dev/") ||
				plainFile(strings.ToLower(path.Base(w.Text)))
			if !file {
				folders++
			}
		}
		if folders > 1 {
			x.Add(finding.MayReadSecret) // of two folders it shows all files that lie in them
		}
	}
}

// plainFile reports a name that no folder usually has: conf.d, site-1.0 and app.old may be folders.
func plainFile(base string) bool {
	return workspace.PlainFile(base) && (path.Ext(base) == "" || fileEnds.MatchString(path.Ext(base)) && !words.Any(path.Ext(base), ".old", ".bak", ".new", ".orig", ".d"))
}

var fileEnds = lazy.Pattern(`^\.(?:[chmr]|[a-z]{2,8}[0-9]?)$`)

// namesOnly reports an option with which diff tells only which files differ.
func namesOnly(w workspace.Word) bool { return w.Is("--brief") || brief.MatchString(w.Text) }

var brief = lazy.Pattern(`^-[a-zA-Z]*q`)

var compares = lazy.Words("diff colordiff difft sdiff icdiff")

// mostCommits are so few that their changes are not the whole history of a repository.
const mostCommits = 200

// showsHistory judges git log -p with words that narrow nothing, or that look for a secret in all that was ever written, and
// a comparison with the empty tree, which shows every file.
func showsHistory(x *command.Call, args []workspace.Word) {
	empty := func(w workspace.Word) bool {
		return words.Holds(strings.ToLower(w.Text), "4b825dc642cb6eb9a060", "6ef19b41225c5369f1c1")
	}
	patch := func(w workspace.Word) bool { return w.IsAny("--patch", "--cc") || showsPatch.MatchString(w.Text) }
	if slices.ContainsFunc(args, empty) {
		x.Add(finding.MayReadSecret)
	}
	logs := func(w workspace.Word) bool { return w.IsAny("log", "whatchanged", "reflog", "rev-list") }
	if !slices.ContainsFunc(args, logs) || !slices.ContainsFunc(args, patch) {
		return
	}
	for i, w := range args {
		option, value, joined := strings.Cut(w.Text, "=")
		if short := len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-'; short && strings.ContainsRune("nSGL", rune(w.Text[1])) {
			option, value = w.Text[:2], w.Text[2:]
		} else if !joined && i+1 < len(args) {
			value = args[i+1].Text
		}
		switch {
		case words.Any(option, "-S", "-G", "--grep") && workspace.NearSecret(value),
			words.Any(option, "--author", "--committer", "--grep", "-G", "-S") && len(strings.Trim(value, ".*^$+?[]()|\\=:@")) < 3,
			words.Any(option, "-n", "--max-count") && many(value),
			len(option) > 1 && option[0] == '-' && strings.Trim(option[1:], "0123456789") == "" && many(option[1:]):
			x.Add(finding.MayReadSecret)
		}
	}
}

var showsPatch = lazy.Pattern(`^(?:-[a-fh-kmo-zA-FH-KM-RT-Z]*[pu].*|--unified.*|--remerge-diff)$`) // behind -S and its like is a value

func many(number string) bool {
	n, err := strconv.Atoi(number)
	return err != nil || n > mostCommits || n < 0
}
