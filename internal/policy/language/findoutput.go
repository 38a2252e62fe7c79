package language

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// finds follows what a find prints: files below its starts, each with one of the
// names, as far as its tests say so.
type finds struct {
	starts []workspace.Word
	names  []workspace.Word
	named  bool // the alternative that is being read names its files
	wide   bool // another one does not
	loose  bool // a name may be a secret's
	pruned bool // another one does not and only prunes, which prints no name if find is told to print in another way
	parens bool
	other  bool // more than names is printed, or it is not known below which directory they are
}

// maxFound bounds how many words the finds of one command may become.
const maxFound = 16

// name notes a test for a name. Other tests can only narrow what is found.
func (f *finds) name(w workspace.Word) {
	f.named = true
	f.wide = f.wide || w.Kind != workspace.Literal
	f.loose = f.loose || !workspace.SourceName(w.Text)
	if w.Kind == workspace.Literal {
		f.names = append(f.names, w)
	}
}

// alternative notes that another alternative begins.
func (f *finds) alternative(prunes bool) {
	if prunes && !f.named {
		f.pruned = true
	} else {
		f.wide = f.wide || !f.named
	}
	f.named = false
}

// act notes something that is done with what was found so far.
func (f *finds) act() {
	if !f.named || f.pruned && f.parens {
		f.wide = true
	}
}

// remade reports that all that was found is build output by its name, in any directory.
func (f *finds) remade() bool {
	more := f.other || f.wide || f.pruned
	if more || !f.named {
		return false
	}
	return !slices.ContainsFunc(f.names, func(w workspace.Word) bool { return !workspace.Made(w.Text) || workspace.MaybeMade(w.Text) })
}

// words gives globs for all that was found; nil if that is not known.
func (f *finds) words() (list []workspace.Word) {
	if f.other {
		return nil
	}
	starts := f.starts
	if len(starts) == 0 {
		starts = []workspace.Word{{Text: "."}}
	}
	names := f.names
	if f.wide || f.loose || !f.named {
		names = append(names[:len(names):len(names)], workspace.Word{})
	}
	if len(starts)*len(names) > maxFound {
		return nil
	}
	for _, s := range starts {
		for _, n := range names {
			list = append(list, workspace.Word{Text: strings.TrimSuffix(s.Text,
				"/") + strings.TrimSuffix("/**/"+n.Text, "/"), Kind: workspace.Pattern, Tilde: s.Tilde})
		}
	}
	return append(list, list...) // twice, because a program that takes the first of them gets more
}

// tellers are the programs that only print what is in the files that find hands them, or
// about them.
var tellers = lazy.Words("grep egrep fgrep cat head tail wc nl file stat ls md5sum sha1sum sha256sum sha512sum cksum du")

// checkers look at files of the project, or format them. Most run the project's own code in
// any case, so the names of its files cannot make them do more.
var checkers = lazy.Words(`gofmt goimports gofumpt ruff black isort flake8 mypy pylint prettier eslint stylelint
	biome shellcheck rubocop rustfmt clang-format clang-tidy`)

// takesNames reports a command that may be handed names of files which a program
// printed. To all others such a name may be an option.
func takesNames(all []workspace.Word) bool {
	if all[0].Is("npx") && len(all) > 1 {
		all = all[1:]
	}
	return all[0].Kind == workspace.Literal && (tellers.Has(all[0].Text) || checkers.Has(all[0].Text))
}

// ForTellers gives the words of a command. If the command takes names of files, names that
// a program printed count as files.
func ForTellers(base string, args []workspace.Word) []workspace.Word {
	listed := func(w workspace.Word) bool { return w.Listed }
	if !slices.ContainsFunc(args, listed) || !takesNames(append([]workspace.Word{{Text: base}}, args...)) {
		return args
	}
	out := slices.Clone(args)
	for i, w := range out {
		if w.Listed {
			out[i].Listed = false
			if w.Kind == workspace.Pattern && strings.IndexByte("*?[", w.Text[0]) >= 0 {
				out[i].Text = "./" + w.Text
			}
		}
	}
	return out
}

// filled gives the words of a command with the files that were found in place of the mark.
func filled(args []workspace.Word, mark string, files []workspace.Word) []workspace.Word {
	if len(files) == 0 || len(args) == 0 || args[0].Kind != workspace.Literal {
		return braces(args, mark)
	}
	var out []workspace.Word
	for _, w := range args {
		if w.Is(mark) {
			out = append(out, files...)
		} else {
			out = append(out, braces([]workspace.Word{w}, mark)...)
		}
	}
	return out
}

// Lists reports a program that can be limited to listing files, or to handing on a part of
// such a list.
func Lists(name string) bool {
	switch name {
	case "find", "fd", "fdfind", "git", "ls", "rg", "grep", "sort", "uniq", "head", "tail":
		return true
	}
	return false
}

// below gives a glob for what is called so below a directory.
func below(dir, name string) workspace.Word {
	if name = strings.TrimSuffix("**/"+name, "/"); dir != "" && dir != "." && dir != "./" {
		name = strings.TrimSuffix(dir, "/") + "/" + name
	}
	return workspace.Word{Text: name, Kind: workspace.Pattern, Listed: true}
}

// printsFound notes the files that a search lists: those of the names below the
// directories.
func printsFound(x *command.Call, dirs []workspace.Word, names []string) {
	if len(names) == 0 {
		names = []string{""}
	}
	if len(dirs) == 0 {
		dirs = []workspace.Word{{Text: "."}}
	}
	if len(dirs)*len(names) > maxFound {
		return
	}
	var list []workspace.Word
	for _, d := range dirs {
		if option := strings.HasPrefix(d.Text, "-"); option || d.Text == "" || workspace.Climbs(d.Text) {
			return
		}
		if !d.Exact() {
			return
		}
		for _, n := range names {
			list = append(list, below(d.Text, n))
		}
	}
	x.Effects = append(x.Effects, command.Effect{Kind: command.PrintsFiles, Words: append(list, list...)})
}

// gitLists are the commands of git that can print names only: the options that do not
// change that, and the options of which they need one for it.
var gitLists = sync.OnceValue(func() map[string]struct{ may, needs map[string]bool } {
	return map[string]struct{ may, needs map[string]bool }{
		"ls-files": {may: words.Set("-c -m -o -z --cached --modified --others --exclude-standard")},
		"diff":     {may: words.Set("-z --cached --staged --no-renames --relative"), needs: words.Set("--name-only")},
		"grep":     {may: words.Set("-i -n -w -E -F -I -z"), needs: words.Set("-l --files-with-matches --name-only")},
	}
})

// gitPrints notes globs for the names that a command of git prints. It notes none if the
// command prints something else.
func gitPrints(x *command.Call, args []workspace.Word) {
	if len(args) == 0 || args[0].Kind != workspace.Literal {
		return
	}
	if printsHashes(args) {
		one := workspace.Word{Kind: workspace.Computed, Split: true, Sample: Hash}
		x.Effects = append(x.Effects, command.Effect{Kind: command.PrintsFiles, Words: []workspace.Word{one, one}})
		return
	}
	verb, ok := gitLists()[args[0].Text]
	told, paths := len(verb.needs) == 0, args[0].Is("ls-files")
	var list []workspace.Word
	for _, w := range args[1:] {
		switch {
		case w.Kind != workspace.Literal:
			return
		case w.Is("--"):
			paths = true
		case w.Text != "" && w.Text[0] == '-':
			told = told || verb.needs[w.Text]
			known := verb.may[w.Text] || verb.needs[w.Text] || strings.HasPrefix(w.Text, "--diff-filter=")
			ok = ok && known
		case paths:
			p, plain := pathspec(w.Text)
			ok = ok && plain
			list = append(list, p)
		}
	}
	if !ok || !told || len(list) > maxFound {
		return
	}
	if len(list) == 0 {
		list = append(list, below("", ""))
	}
	x.Effects = append(x.Effects, command.Effect{Kind: command.PrintsFiles, Words: append(list, list...)})
}

// lsPrints notes the files that ls is told to name, if they are no directories.
func lsPrints(x *command.Call, args []workspace.Word) {
	var list []workspace.Word
	for _, w := range args {
		base := path.Base(w.Text)
		switch {
		case w.Is("-1"), w.Is("-t"), w.Is("-r"), w.Is("-tr"), w.Is("-1t"):
			continue
		case w.Kind == workspace.Computed, w.Tilde, w.MayBeOption(), !workspace.SourceName(base),
			!workspace.CodeEnds.Has(strings.TrimPrefix(path.Ext(base), ".")):
			return
		}
		list = append(list, workspace.Word{Text: w.Text, Kind: workspace.Pattern, Listed: true})
	}
	if len(list) > 0 && len(list) <= maxFound {
		x.Effects = append(x.Effects, command.Effect{Kind: command.PrintsFiles, Words: append(list, list...)})
	}
}

// pathspec gives a glob for what a path means to git: a directory with all that is
// below it, or a glob whose signs match slashes, too.
func pathspec(text string) (workspace.Word, bool) {
	special := strings.IndexByte(":-/~", words.At(text, 0)) >= 0 || strings.Contains(text, `\`)
	if text == "" || special || workspace.Climbs(text) {
		return workspace.Word{}, false
	}
	sign := strings.IndexAny(text, "*?[")
	if sign < 0 && workspace.CodeEnds.Has(strings.TrimPrefix(path.Ext(text), ".")) {
		return workspace.Word{Text: text, Kind: workspace.Pattern, Listed: true}, true
	}
	if sign < 0 {
		return below(text, ""), true
	}
	return below(text[:strings.LastIndexByte(text[:sign], '/')+1], path.Base(text)), true
}

// passing are the options with which programs hand on some lines of their input as they
// are.
var passing = sync.OnceValue(func() map[string]*lazy.Regexp {
	return map[string]*lazy.Regexp{
		"sort": lazy.Pattern(`^-[urfVs]+$`), "uniq": lazy.Pattern(`^-[ud]$`), "grep": lazy.Pattern(`^-[EFviw]+$`),
		"rg":   lazy.Pattern(`^-[Fviw]+$`),
		"head": lazy.Pattern(`^-n?[-+]?[0-9]+$`), "tail": lazy.Pattern(`^-n?[-+]?[0-9]+$`),
	}
})

// nameEnds is a pattern for names that end so.
var nameEnds = lazy.Pattern(`^\\\.(?:([a-z]+)|\(([a-z|]+)\))\$$`)

// listsPassed notes that a command hands on the names that it reads, or some of them.
func listsPassed(x *command.Call, name string, args []workspace.Word) {
	if len(x.Input) == 0 || name == "rg" && !x.Piped {
		return
	}
	options := passing()[name]
	if options == nil {
		return
	}
	if name == "rg" { // it reads a pipe as grep does
		name = "grep"
	}
	list, pattern, inverted, fixed := x.Input, "", false, false
	counts := name == "head" || name == "tail"
	for i, w := range args {
		number := counts && i > 0 && args[i-1].Is("-n")
		switch {
		case w.Kind != workspace.Literal:
			return
		case counts && w.Is("-n") && i+1 < len(args),
			number && options.MatchString("-n"+w.Text):
		case options.MatchString(w.Text):
			inverted = inverted || name == "grep" && strings.Contains(w.Text, "v")
			fixed = fixed || name == "grep" && strings.Contains(w.Text, "F")
		case name == "grep" && pattern == "" && !w.MayBeOption():
			pattern = w.Text
		default:
			return
		}
	}
	if m := nameEnds.FindStringSubmatch(pattern); m != nil && !inverted && !fixed {
		list = ending(list, strings.Split(m[1]+m[2], "|"))
	}
	x.Effects = append(x.Effects, command.Effect{Kind: command.PrintsFiles, Words: list})
}

// ending narrows globs for all names below a directory to those with an ending.
func ending(list []workspace.Word, ends []string) (out []workspace.Word) {
	for _, w := range list {
		if !strings.HasSuffix(w.Text, "**") || len(ends)*len(list) > 2*maxFound {
			out = append(out, w)
			continue
		}
		for _, e := range ends {
			n := w
			n.Text += "/*." + e
			out = append(out, n)
		}
	}
	return out
}

// ListsFiles notes the files that a command lists in ways that its rule does not know of.
func ListsFiles(x *command.Call, name string, args []workspace.Word) {
	switch name {
	case "git":
		gitPrints(x, args)
	case "ls":
		lsPrints(x, args)
	default:
		listsPassed(x, name, args)
	}
}
