package git

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Rules are those of git's subcommands, by the names under which rows ask for them.
var Rules = sync.OnceValue(func() map[string]command.Rule {
	return map[string]command.Rule{
		"git-fetch": fetch, "git-pull": pull, "git-push": pushes, "git-reset": reset, "git-clean": clean, "git-checkout": checkout,
		"git-restore": restore, "git-switch": switches, "git-rm": remove, "git-mv": move, "git-merge": merges, "git-config": config,
		"git-ls-remote": lsRemote, "git-apply": apply, "git-grep": grep,
		"git-branch": names("arvlqm", "all remotes verbose list show-current contains contains= merged merged= no-merged no-merged= sort= format= points-at= color color= no-color column no-column ignore-case"),
		"git-tag":    names("lna", "annotate message= list contains contains= merged no-merged sort= format= points-at= column no-column ignore-case"),
	}
})

// Prelude judges the words before git's subcommand, and gives the words from there on. git runs programs that its
// configuration names, so only the repository of the workspace counts, and only plain
// options. Below the workspace's root git may find another repository, whose settings are
// then code of the project that runs.
func Prelude(x *command.Call, args []workspace.Word) []workspace.Word {
	i := globals(x, args)
	switch {
	case i == len(args):
	case args[i].Kind != workspace.Literal:
		x.Add(finding.DynamicCommand)
	case !x.Place.AtRoot():
		below(x, workspace.Word{Text: "."})
	}
	return args[i:]
}

// plainGitSetting are settings for one command that name no program.
var plainGitSetting = lazy.Pattern(`^(?:color\.[a-zA-Z.]+=[a-z]+|core\.(?:quote[pP]ath|pager)=(?:true|false|on|off|cat|)|advice\.[a-zA-Z]+=(?:true|false))$`)

// globals judges the options before git's verb and gives its place.
func globals(x *command.Call, args []workspace.Word) int {
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w.Is("--no-pager"), w.Is("-P"), w.Is("--no-optional-locks"), w.Is("--literal-pathspecs"),
			w.Is("--version"), w.Is("--no-replace-objects"):
		case w.Is("-C") && i+1 < len(args):
			i++
			if strings.Contains(args[i].Text, "/..") { // behind a link that is another folder than by its words
				x.Add(finding.UnknownOption)
			}
			if d := args[i]; d.Kind != workspace.Literal || !x.Place.IsRoot(d) {
				below(x, d)
			}
		case w.Is("-c") && i+1 < len(args) && args[i+1].Fits(plainGitSetting.Compiled()):
			i++
		case w.Kind != workspace.Literal || !strings.HasPrefix(w.Text, "-"):
			return i
		default:
			x.Add(finding.UnknownOption)
			if w.IsAny("-c", "--git-dir", "--work-tree", "--exec-path", "--namespace", "--config-env") {
				i++
			}
		}
	}
	return len(args)
}

// below notes that git runs in a directory that is not the workspace.
func below(x *command.Call, dir workspace.Word) {
	if x.Place.LocalDir(dir) {
		x.Add(finding.RunsProjectCode)
	} else {
		x.Add(finding.GitElsewhere)
	}
}

// annotates are options with which a tag gets a message.
var annotates = lazy.Words("a annotate message")

// names judges branch and tag: listing reads, a new name adds, the rest asks.
func names(flags, long string) command.Rule {
	sp := command.Spec{Flags: flags, Long: command.Longs(long), Number: true, Texts: words.Set("m message")}
	tags := sp.Long["message"]
	if tags {
		sp.Values = "m"
	}
	return func(x *command.Call, verb string, args []workspace.Word) {
		lists, names := len(args) == 0, 0
		c := x.Scanner(&sp, args)
		for t, ok := c.Next(); ok; t, ok = c.Next() {
			switch {
			case t.Option == "":
				names++
			case words.Any(t.Option, "q", "v", "m"), tags && annotates.Has(t.Option):
			default:
				lists = true
			}
		}
		for _, w := range args {
			if w.Is("-D") || w.Is("-d") || w.Is("--delete") {
				x.Add(finding.GitDiscards)
			}
		}
		if lists || names == 0 {
			x.Add(finding.ReadOnlyCommand)
		} else {
			x.Add(finding.LocalGit)
		}
	}
}

// plainName is the name of a remote or a branch, and never an address: git has
// addresses that run commands.
var plainName = lazy.Pattern(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

func fetch(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.NetworkRead)
	c := x.Scanner(&command.Spec{Flags: "pqvt", Long: command.Longs("prune quiet verbose tags no-tags all depth= dry-run")}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option == "" && (t.Word.Kind != workspace.Literal || !plainName.MatchString(t.Word.Text)) {
			x.Add(finding.UnknownOption)
		}
	}
}

// pushes judges push: with force, a deletion or a "+" it overwrites what
// others have.
func pushes(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.GitPush)
	for _, w := range args {
		switch {
		case strings.ContainsAny(words.ShortOptions(w.Text), "fd"),
			words.Begins(w.Text, "--for", "--mi", "--de", "--prun", "+", ":"):
			x.Add(finding.GitForcePush)
		case w.Kind != workspace.Literal:
			x.Add(finding.DynamicArgument)
		}
	}
}

// reset judges reset: it leaves the files alone unless it is told otherwise,
// and the commits it leaves stay in the reflog.
func reset(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	c := x.Scanner(&command.Spec{Flags: "qN", Long: command.Longs("soft mixed quiet intent-to-add hard merge keep no-refresh")}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option == "":
		case strings.HasPrefix(t.Option, "h"), strings.HasPrefix(t.Option, "me"), strings.HasPrefix(t.Option, "k"):
			x.Add(finding.GitDestroys)
		}
	}
	if x.Has(finding.UnknownOption) || x.Has(finding.DynamicArgument) || x.Has(finding.GitDestroys) {
		x.Add(finding.GitDiscards)
	}
}

func clean(x *command.Call, _ string, args []workspace.Word) {
	dry, plain := false, true
	for _, w := range args {
		letters := cleanLetters.MatchString(w.Text)
		dry = dry || w.Is("--dry-run") || letters && strings.Contains(w.Text, "n")
		plain = plain && w.Kind == workspace.Literal && (letters || w.Is("--dry-run") || !strings.HasPrefix(w.Text, "-"))
	}
	if dry && plain { // it tells names
		x.Add(finding.ReadOnlyCommand)
		return
	}
	x.Add(finding.GitDiscards)
	if !dry {
		x.Add(finding.GitDestroys)
	}
}

// cleanLetters matches options of git clean without a value.
var cleanLetters = lazy.Pattern(`^-[ndxXfq]+$`)

// LeavesOut reports a pattern of files that git is to leave out.
func LeavesOut(w workspace.Word) bool {
	return w.Kind == workspace.Literal && words.Begins(w.Text, ":!", ":^", ":(exclude)")
}

// Revision judges a word of git's that may name a file after a colon, or be a pattern of
// files although it is no pattern to the shell.
func Revision(x *command.Call, w workspace.Word) {
	if LeavesOut(w) {
		return
	}
	if w.Kind == workspace.Literal && strings.ContainsAny(w.Text, "*?[") {
		x.Read(workspace.Word{Text: w.Text, Kind: workspace.Pattern})
	}
	if strings.HasPrefix(w.Text, ":(") {
		x.Add(finding.MayReadSecret)
	}
	if _, file, ok := strings.Cut(w.Text, ":"); ok {
		x.Read(workspace.Word{Text: file, Kind: w.Kind})
		x.Read(workspace.Word{Text: file[strings.LastIndexByte(file, ':')+1:], Kind: w.Kind})
	}
}

// lsRemote judges ls-remote. If it is not given the address of a remote, it prints the
// address, with the token in it.
func lsRemote(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.RemoteRead)
	names := 0
	c := x.Scanner(&command.Spec{Flags: "tq", Long: command.Longs("heads branches tags refs quiet symref exit-code sort=")}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option != "" {
			continue
		}
		if names++; t.Word.Kind != workspace.Literal || names == 1 && !plainName.MatchString(t.Word.Text) {
			x.Add(finding.UnknownOption)
		}
	}
	if names == 0 {
		x.Add(finding.MayReadSecret)
	}
}

// tells is a git command that tells names, or changes the index alone.
func tells(x *command.Call, sp *command.Spec, args []workspace.Word) {
	sp.Kind, sp.Code = command.FileNames, finding.LocalGit
	sp.Judge(x, "git", args)
}

var grepSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Flags: "inwvEFGPlLcohHqIWpaz", Values: "eABCm", Texts: words.Set("e"), Number: true, Strict: true,
		Long: command.Longs(`ignore-case line-number word-regexp count files-with-matches files-without-match name-only heading
		break cached no-color color= color show-function function-context column only-matching extended-regexp fixed-strings
		perl-regexp basic-regexp all-match and or not text null quiet no-line-number recurse-submodules invert-match
		full-name max-depth= context= after-context= before-context= max-count= threads=`),
	}
})

// grep judges git grep: it prints lines of what git tracks, like grep of a tree. If the
// pattern finds all lines, the call must name files, and they must hold no secrets.
func grep(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	named, tells, given, numbered := true, false, false, false
	near := language.Around{}
	var operands []workspace.Word
	c := x.Scanner(grepSpec(), args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "l", "L", "c", "q", "files-with-matches", "files-without-match", "name-only", "count", "quiet":
			tells = true
		case "e":
			given, named = true, near.Note(t.Word, true) && named
		case "v", "W", "not", "invert-match", "function-context":
			named = false
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
			named = named && !numbered // -50 is two of them
			numbered = true
		case "A", "B", "C", "context", "after-context", "before-context":
			near.Option(t.Option, t.Word.Text)
		case "i", "ignore-case":
			near.Folds = true
		case "":
			operands = append(operands, t.Word)
		}
	}
	if !given && len(operands) > 0 {
		named, operands = near.Note(operands[0], true) && named, operands[1:]
	}
	for _, w := range operands {
		x.Read(w.Sampled())
		Revision(x, w.Sampled())
	}
	wide := func(w workspace.Word) bool { return !workspace.CodeEnds.Has(strings.TrimPrefix(path.Ext(w.Text), ".")) }
	narrow := len(operands) > 0 && !slices.ContainsFunc(operands, wide)
	if !(named && near.Few() && !near.Near()) && (!tells || near.Tells || near.Places()) && !narrow {
		x.Add(finding.MayReadSecret)
	}
}
