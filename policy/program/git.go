package program

import (
	"regexp"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/workspace"
)

// prelude reads the words before a subcommand and gives the words from there on.
type prelude func(x *Call, args []workspace.Word) []workspace.Word

// preludes are those of the table, by their names.
var preludes = map[string]prelude{"git": gitPrelude}

// gitPrelude judges what stands before git's subcommand. git runs programs that its
// configuration names, so only the repository of the workspace counts, and only plain
// options. Below the workspace's root git may find another repository, whose settings
// are then code of the project that runs.
func gitPrelude(x *Call, args []workspace.Word) []workspace.Word {
	i := x.gitGlobals(args)
	switch {
	case i == len(args):
	case args[i].Kind != workspace.Literal:
		x.Add(finding.DynamicCommand)
	case !x.Place.AtRoot():
		x.gitBelow(workspace.Word{Text: "."})
	}
	return args[i:]
}

// plainGitSetting are settings for one command that name no program.
var plainGitSetting = regexp.MustCompile(`^(?:color\.[a-zA-Z.]+=[a-z]+|core\.(?:quote[pP]ath|pager)=(?:true|false|on|off|cat|)|advice\.[a-zA-Z]+=(?:true|false))$`)

// gitGlobals judges the options before git's verb and gives its place.
func (x *Call) gitGlobals(args []workspace.Word) int {
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w.Is("--no-pager"), w.Is("-P"), w.Is("--no-optional-locks"), w.Is("--literal-pathspecs"), w.Is("--version"), w.Is("--no-replace-objects"):
		case w.Is("-C") && i+1 < len(args):
			i++
			if d := args[i]; d.Kind != workspace.Literal || !x.Place.IsRoot(d) {
				x.gitBelow(d)
			}
		case w.Is("-c") && i+1 < len(args) && args[i+1].Kind == workspace.Literal && plainGitSetting.MatchString(args[i+1].Text):
			i++
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

// revision judges a word of git's that may name a file after a colon, or be a pattern
// of files although the shell sees none.
func (x *Call) revision(w workspace.Word) {
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

// gitLsRemote judges ls-remote, which tells the address of a remote, with the token in
// it, where it is not given one.
func gitLsRemote(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.RemoteRead)
	names := 0
	c := x.scanner(&spec{flags: "tq", long: longs("heads branches tags refs quiet symref exit-code sort=")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		if t.option != "" {
			continue
		}
		if names++; t.word.Kind != workspace.Literal || names == 1 && !plainName.MatchString(t.word.Text) {
			x.Add(finding.UnknownOption)
		}
	}
	if names == 0 {
		x.Add(finding.MayReadSecret)
	}
}

// gitTells is a git command that tells names, or changes the index alone.
func gitTells(x *Call, sp *spec, args []workspace.Word) {
	sp.kind, sp.code = fileNames, finding.LocalGit
	sp.judge(x, "git", args)
}

// gitApply judges apply: with an option that only asks about a patch it changes
// nothing, unless it is told to do both.
func gitApply(x *Call, _ string, args []workspace.Word) {
	asks := false
	c := x.scanner(&spec{flags: "vqRz3", vals: "pC", strict: true, long: longs("check stat numstat summary verbose quiet reverse cached index ignore-whitespace ignore-space-change unidiff-zero recount")}, args)
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "check", "stat", "numstat", "summary":
			asks = true
		case "":
			x.Read(t.word)
		}
	}
	if asks {
		x.Add(finding.ReadOnlyCommand)
	} else {
		x.Add(finding.UnknownCommand)
	}
}
