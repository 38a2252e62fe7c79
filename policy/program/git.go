package program

import (
	"regexp"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// gitLog are the options of git's commands that show history and contents.
const gitLog = `oneline graph decorate decorate= no-decorate all branches branches= tags remotes stat stat= shortstat numstat name-only name-status summary
	dirstat patch no-patch raw unified unified= format= pretty pretty= abbrev abbrev= abbrev-commit no-abbrev-commit date= relative-date since= until= after= before=
	author= committer= grep= max-count= skip= reverse merges no-merges first-parent follow cached staged color color= no-color no-ext-diff no-textconv
	diff-filter= find-renames find-renames= find-copies ignore-space-change ignore-all-space ignore-blank-lines ignore-space-at-eol word-diff word-diff= color-words
	minimal patience histogram check full-index binary no-prefix quiet exit-code topo-order date-order left-right cherry-pick boundary no-renames
	invert-grep regexp-ignore-case extended-regexp fixed-strings text merge-base compact-summary no-color-moved source`

// gitReads are git's commands that only read, by their harmless options.
var gitReads = map[string]*spec{
	"status":        {flags: "sbvzunoal", kind: fileNames, long: longs("short branch porcelain porcelain= long verbose show-stash ahead-behind no-ahead-behind untracked-files untracked-files= ignored ignored= column no-column renames no-renames")},
	"log":           {flags: "pusziEFMCwbtmRqU", vals: "nSGL", num: true, kind: contents, long: longs(gitLog)},
	"diff":          {flags: "pusziMCwbtRqaU", vals: "SG", num: true, kind: repository, long: longs(gitLog)},
	"show":          {flags: "pusziMCwbtmRqaU", vals: "nSG", num: true, kind: contents, long: longs(gitLog)},
	"shortlog":      {flags: "nse", num: true, kind: contents, long: longs("numbered summary email all since= until= no-merges")},
	"rev-list":      {flags: "n", vals: "n", num: true, kind: contents, long: longs("count all max-count= since= until= no-merges merges first-parent left-right reverse objects")},
	"rev-parse":     {flags: "q", kind: plainText, long: longs("show-toplevel abbrev-ref abbrev-ref= short short= verify quiet is-inside-work-tree is-bare-repository git-dir git-common-dir show-prefix show-cdup symbolic-full-name all branches tags remotes absolute-git-dir show-superproject-working-tree")},
	"ls-files":      {flags: "cdmoskuztv", vals: "x", kind: fileNames, long: longs("cached deleted modified others ignored stage unmerged exclude-standard full-name error-unmatch exclude= directory")},
	"ls-tree":       {flags: "drtlz", kind: plainText, long: longs("name-only name-status long full-name full-tree")},
	"blame":         {flags: "lstfnewMCp", vals: "L", kind: contents, long: longs("porcelain line-porcelain show-email show-name show-number date= color-lines")},
	"describe":      {flags: "", kind: plainText, long: longs("tags all always dirty dirty= long abbrev= match= exact-match contains first-parent exclude= candidates=")},
	"cat-file":      {flags: "tspe", kind: contents},
	"name-rev":      {kind: plainText, long: longs("tags name-only always all")},
	"merge-base":    {flags: "a", kind: plainText, long: longs("all is-ancestor octopus fork-point")},
	"show-ref":      {flags: "dsq", kind: plainText, long: longs("heads tags head dereference hash verify quiet branches")},
	"for-each-ref":  {kind: plainText, long: longs("count= sort= format= points-at= merged merged= no-merged contains contains=")},
	"count-objects": {flags: "vH", kind: nothing, long: longs("verbose human-readable")},
	"check-ignore":  {flags: "vnq", kind: fileNames, long: longs("verbose quiet non-matching")},
	"version":       {kind: nothing},
	"grep":          {flags: "inwvEFGPlLcohHqI", vals: "eABCm", texts: words.Set("e"), num: true, kind: contents, skip: 1, given: "e", long: longs("ignore-case line-number word-regexp count files-with-matches name-only heading break cached color no-color show-function max-depth=")},
}

// gitAdds are git's commands that add to the local repository.
var gitAdds = map[string]*spec{
	"add":    {flags: "AunvN", kind: contents, long: longs("all update dry-run verbose intent-to-add ignore-errors")},
	"commit": {flags: "asqvn", vals: "mF", reads: words.Set("F file"), texts: words.Set("m message"), kind: fileNames, long: longs("all message= file= amend no-edit signoff quiet verbose allow-empty author= date= no-verify dry-run no-gpg-sign")},
	"init":   {flags: "q", vals: "b", kind: nothing, long: longs("quiet initial-branch=")},
}

// git judges a git command. git runs programs that its configuration names, so
// only the repository of the workspace counts, and only plain options. Below the
// workspace's root git may find another repository, whose settings are then
// code of the project that runs.
func git(x *Call, _ string, args []workspace.Word) {
	i := x.gitGlobals(args)
	if i >= len(args) {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	verb, rest := args[i], args[i+1:]
	if verb.Kind != workspace.Literal {
		x.Add(finding.DynamicCommand)
		return
	}
	if !x.Place.AtRoot() {
		x.gitBelow(workspace.Word{Text: "."})
	}
	if sp := gitReads[verb.Text]; sp != nil {
		x.gitSpec(sp, finding.ReadOnlyCommand, rest)
	} else if sp := gitAdds[verb.Text]; sp != nil {
		x.gitSpec(sp, finding.LocalGit, rest)
	} else if judge := gitRules[verb.Text]; judge != nil {
		judge(x, verb.Text, rest)
	} else {
		x.Add(finding.UnknownCommand)
	}
}

// gitGlobals judges the options before git's verb and gives its place.
func (x *Call) gitGlobals(args []workspace.Word) int {
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w.Is("--no-pager"), w.Is("-P"), w.Is("--no-optional-locks"), w.Is("--literal-pathspecs"), w.Is("--version"), w.Is("--no-replace-objects"):
		case w.Is("-C") && i+1 < len(args):
			i++
			if d := args[i]; d.Kind != workspace.Literal || x.Place.Root == "" || !x.Place.IsRoot(d) {
				x.gitBelow(d)
			}
		case w.Kind != workspace.Literal || !strings.HasPrefix(w.Text, "-"):
			return i
		default:
			x.Add(finding.UnknownOption)
			if w.Is("-c") || w.Is("--git-dir") || w.Is("--work-tree") || w.Is("--exec-path") || w.Is("--namespace") || w.Is("--config-env") {
				i++
			}
		}
	}
	return len(args)
}

// gitBelow notes that git runs in a directory that is not the workspace.
func (x *Call) gitBelow(dir workspace.Word) {
	if x.Place.LocalDir(dir) {
		x.Add(finding.RunsProjectCode)
	} else {
		x.Add(finding.GitElsewhere)
	}
}

// gitSpec judges a git command by its spec. What names a file after a colon
// (HEAD:.env) is read as well.
func (x *Call) gitSpec(sp *spec, c finding.Code, args []workspace.Word) {
	x.Add(c)
	judged := *sp
	judged.code = c
	judged.judge(x, "git", args)
	if sp.kind != contents && sp.kind != repository {
		return
	}
	for _, w := range args {
		if w.Kind == workspace.Literal && strings.ContainsAny(w.Text, "*?[") {
			x.Read(workspace.Word{Text: w.Text, Kind: workspace.Pattern}) // git matches it even where the shell does not
		}
		if strings.HasPrefix(w.Text, ":(") {
			x.Add(finding.MayReadSecret)
		}
		if _, file, ok := strings.Cut(w.Text, ":"); ok {
			x.Read(workspace.Word{Text: file, Kind: w.Kind})
			x.Read(workspace.Word{Text: file[strings.LastIndexByte(file, ':')+1:], Kind: w.Kind})
		}
	}
}

var gitRules = map[string]Rule{
	"branch": gitNames("arvlqm", "all remotes verbose list show-current contains contains= merged merged= no-merged no-merged= sort= format= points-at= color color= no-color column no-column"),
	"tag":    gitNames("ln", "list contains contains= merged no-merged sort= format= points-at= column no-column"),
	"remote": gitRemote, "fetch": gitFetch, "push": gitPushes, "reset": gitReset, "clean": gitClean,
	"checkout": gitCheckout, "restore": gitRestore, "switch": gitSwitch, "rm": gitRemove, "mv": gitMove,
	"stash": gitStash, "reflog": gitHistory, "gc": gitHistory, "prune": gitAsk(finding.GitDestroys), "filter-branch": gitAsk(finding.GitDestroys),
	"filter-repo": gitAsk(finding.GitDestroys), "update-ref": gitHistory, "send-email": gitAsk(finding.MessageSend), "worktree": gitHistory,
	"rebase": gitMerges, "merge": gitMerges, "cherry-pick": gitMerges, "revert": gitMerges, "pull": gitPull, "clone": gitAsk(finding.SavesDownload),
	"config": gitConfig,
}

func gitAsk(c finding.Code) Rule {
	return func(x *Call, _ string, _ []workspace.Word) { x.Add(c) }
}

// gitNames judges branch and tag: listing reads, a new name adds, the rest asks.
func gitNames(flags, long string) Rule {
	sp := spec{flags: flags, long: longs(long), num: true}
	return func(x *Call, verb string, args []workspace.Word) {
		lists, names := len(args) == 0, 0
		c := x.scanner(&sp, args)
		for t, ok := c.next(); ok; t, ok = c.next() {
			switch {
			case t.option == "":
				names++
			case t.option != "q" && t.option != "v" && t.option != "m":
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

func gitRemote(x *Call, _ string, args []workspace.Word) {
	switch {
	case len(args) == 0:
		x.Add(finding.ReadOnlyCommand)
	case len(args) == 1 && (args[0].Is("-v") || args[0].Is("--verbose")), len(args) == 2 && args[0].Is("get-url") && plainName.MatchString(args[1].Text):
		x.Add(finding.MayReadSecret) // an address may hold a token
	default:
		x.Add(finding.UnknownCommand)
	}
}

// plainName is the name of a remote or a branch, and never an address: git has
// addresses that run commands.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

func gitFetch(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.NetworkRead)
	c := x.scanner(&spec{flags: "pqvt", long: longs("prune quiet verbose tags no-tags all depth= dry-run")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.option == "" && (t.word.Kind != workspace.Literal || !plainName.MatchString(t.word.Text)) {
			x.Add(finding.UnknownOption)
		}
	}
}

// gitPushes judges push: with force, a deletion or a "+" it overwrites what
// others have.
func gitPushes(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.GitPush)
	for _, w := range args {
		t := w.Text
		short := len(t) > 1 && t[0] == '-' && t[1] != '-'
		switch {
		case short && strings.ContainsAny(t, "fd"), strings.HasPrefix(t, "--for"), strings.HasPrefix(t, "--mi"), strings.HasPrefix(t, "--de"), strings.HasPrefix(t, "--prun"),
			strings.HasPrefix(t, "+"), strings.HasPrefix(t, ":"):
			x.Add(finding.GitForcePush)
		case w.Kind != workspace.Literal:
			x.Add(finding.DynamicArgument)
		}
	}
}

// gitReset judges reset: it leaves the files alone unless it is told otherwise,
// and the commits it leaves stay in the reflog.
func gitReset(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	c := x.scanner(&spec{flags: "qN", long: longs("soft mixed quiet intent-to-add hard merge keep no-refresh")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option == "":
		case strings.HasPrefix(t.option, "h"), strings.HasPrefix(t.option, "me"), strings.HasPrefix(t.option, "k"):
			x.Add(finding.GitDestroys)
		}
	}
	if x.Has(finding.UnknownOption) || x.Has(finding.DynamicArgument) || x.Has(finding.GitDestroys) {
		x.Add(finding.GitDiscards)
	}
}

func gitClean(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.GitDiscards)
	dry := false
	for _, w := range args {
		dry = dry || w.Is("--dry-run") || len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.Contains(w.Text, "n")
	}
	if !dry {
		x.Add(finding.GitDestroys)
	}
}

// gitStash judges stash: what it puts away it can bring back.
func gitStash(x *Call, _ string, args []workspace.Word) {
	verb := "push"
	if len(args) > 0 && !args[0].MayBeOption() {
		verb, args = args[0].Text, args[1:]
	}
	switch verb {
	case "list", "show":
		x.gitSpec(gitReads["log"], finding.ReadOnlyCommand, args)
	case "drop", "clear":
		x.Add(finding.GitDestroys)
	case "push", "save", "apply", "pop", "branch", "create":
		x.gitSpec(&spec{flags: "qukSp", vals: "m", texts: words.Set("m message"), kind: fileNames, long: longs("keep-index include-untracked staged message= quiet index")}, finding.LocalGit, args)
	default:
		x.Add(finding.GitDiscards)
	}
}

// gitHistory judges commands that can throw history away with some words.
func gitHistory(x *Call, verb string, args []workspace.Word) {
	if verb == "reflog" && (len(args) == 0 || args[0].Is("show")) {
		x.gitSpec(gitReads["log"], finding.ReadOnlyCommand, args[min(1, len(args)):])
		return
	}
	if verb == "worktree" && len(args) == 1 && args[0].Is("list") {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	x.Add(finding.UnknownCommand)
	for _, w := range args {
		switch {
		case w.Is("expire"), w.Is("delete"), w.Is("-d"), w.Is("--delete"), w.Is("-f"), w.Is("--force"), strings.HasPrefix(w.Text, "--prune"), w.Is("remove") && verb == "worktree":
			x.Add(finding.GitDestroys)
		}
	}
}
