package git

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// mostCommits are so few that their changes are not the whole history of a repository.
const mostCommits = 200

// ShowsHistory judges git log -p with words that narrow nothing, or that look for a secret in all that was ever written, a
// show of what another command names, and a comparison with the empty tree, which shows every file.
func ShowsHistory(x *command.Call, args []workspace.Word) {
	empty := func(w workspace.Word) bool {
		lower := strings.ToLower(w.Text)
		return strings.Contains(lower, "4b825dc642cb6eb9a060") || strings.Contains(lower, "6ef19b41225c5369f1c1")
	}
	patch := func(w workspace.Word) bool { return w.IsAny("--patch", "--cc") || showsPatch.MatchString(w.Text) }
	brief := func(w workspace.Word) bool {
		return w.IsAny("-s", "--no-patch", "--stat", "--name-only", "--name-status")
	}
	is := func(names ...string) bool {
		return slices.ContainsFunc(args, func(w workspace.Word) bool { return w.IsAny(names...) })
	}
	computed := func(w workspace.Word) bool { return w.Kind == workspace.Computed || w.Text == language.Hash }
	if verb := slices.IndexFunc(args, func(w workspace.Word) bool {
		return w.IsAny("log", "whatchanged", "reflog", "rev-list", "show", "diff", "diff-tree", "diff-index", "stash", "remote", "notes", "lfs")
	}); verb > 0 {
		args = args[verb:] // -c before it is another option
	}
	switch {
	case slices.ContainsFunc(args, empty),
		is("show") && !is("stash", "remote", "notes", "lfs") && slices.ContainsFunc(args, computed) && !slices.ContainsFunc(args, brief),
		is("log", "whatchanged", "reflog", "rev-list") && slices.ContainsFunc(args, patch) && !narrowed(args):
		x.Add(finding.MayReadSecret)
	}
}

// narrowed reports words of git log that name a part of the history: files, a range, a small number of commits, the last
// days, or what is looked for. Words that nearly every commit has (an author, --before=now) name none.
func narrowed(args []workspace.Word) bool {
	narrow, ranged, everywhere := false, false, false
	for i := 1; i < len(args); i++ { // behind the verb
		w := args[i]
		option, value, joined := strings.Cut(w.Text, "=")
		switch short := len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-'; {
		case short && strings.ContainsRune("nSGLO", rune(w.Text[1])):
			option, value = w.Text[:2], w.Text[2:]
		case !joined && valued.Has(option) && i+1 < len(args):
			i++
			value = args[i].Text
		}
		number := len(option) > 1 && option[0] == '-' && strings.Trim(option[1:], "0123456789") == ""
		switch {
		case option == "-n", option == "--max-count", number:
			if number {
				value = option[1:]
			}
			if many(value) {
				return false
			}
			narrow = true
		case option == "-S", option == "-G":
			if workspace.NearSecret(value) {
				return false
			}
			narrow = narrow || workspace.OwnWord(strings.ToLower(value)) && !workspace.InSecretLines(value, false)
		case option == "--grep" && workspace.NearSecret(value), option == "--pickaxe-all":
			return false
		case option == "--since", option == "--after":
			if !lately.MatchString(value) {
				return false
			}
			narrow = true
		case option == "-L":
			narrow = true
		case option == "--":
			files := args[i+1:]
			return !slices.ContainsFunc(files, func(w workspace.Word) bool { return !LeavesOut(w) && wide(w) }) &&
				(narrow || ranged && !everywhere || slices.ContainsFunc(files, func(w workspace.Word) bool { return !LeavesOut(w) }))
		case words.Any(option, "--all", "--branches", "--tags", "--remotes", "--glob", "-g", "--reflog"):
			everywhere = true
		case strings.HasPrefix(w.Text, "-"):
		case path.Clean(w.Text) == ".":
			return false // all files
		case strings.Contains(w.Text, ".."):
			ranged = true
		default:
			narrow = narrow || language.OneFile(strings.ToLower(path.Base(w.Text)))
		}
	}
	return narrow || ranged && !everywhere
}

// valued are options whose value is the next word.
var valued = lazy.Words(`-n -S -G -L -O --max-count --since --after --until --before --author --committer --grep --date --glob
	--exclude --encoding --skip --format --decorate-refs --decorate-refs-exclude --diff-filter --diff-algorithm --stat-count --inter-hunk-context
	 --stat-name-width --word-diff-regex --anchored --min-parents --max-parents --ws-error-highlight`)

// wide reports a path that may be the whole repository.
func wide(w workspace.Word) bool {
	return w.Kind != workspace.Literal || path.Clean(w.Text) == "." || strings.HasPrefix(w.Text, ":") || strings.Contains(w.Text, "..")
}

// lately are times that go back some weeks at most, as git reads them.
var lately = lazy.Pattern(`^(?:yesterday|today|midnight|noon|(?:last.week|[a-z]+day)|[0-9]{1,2}[. ](?:minute|hour|day|week)s?(?:[. ]ago)?)$`)

// showsPatch matches options with which git log shows what changed. Behind -S and its like is a value.
var showsPatch = lazy.Pattern(`^(?:-[a-fh-kmo-zA-FH-KM-RT-Z]*[pucU].*|--unified.*|--remerge-diff|--binary|--patch-with-.*` +
	`|--diff-merges.*|--dd|--word-diff.*|--color-words.*)$`)

func many(number string) bool {
	n, err := strconv.Atoi(number)
	return err != nil || n > mostCommits || n < 0
}
