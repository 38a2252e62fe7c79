package git

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// everydayBranches are names that people do not give to files: if there is no branch x,
// "git checkout x" throws changes of a file x away.
var everydayBranches = lazy.Words("main master develop - HEAD")

// checkout judges checkout. It makes and changes branches, and keeps what is
// not committed; with a path it throws that away.
func checkout(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	c := x.Scanner(&command.Spec{Flags: "qt", Values: "bB", Long: command.Longs(`quiet track no-track detach orphan=
		progress no-progress`)}, args)
	made, names := false, 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option == "b" || t.Option == "orphan":
			made = true
		case t.Option == "B":
			x.Add(finding.GitDiscards) // moves a branch that may be there
		case t.Option != "":
		case made && names == 0:
			names++ // the commit at which the new branch begins
		case names > 0 || !namesBranch(t.Word):
			x.Add(finding.GitDiscards)
		default:
			names++
		}
	}
	for _, w := range args {
		if w.Is("--") {
			x.Add(finding.GitDiscards)
		}
	}
	if names == 0 && !made || x.Has(finding.UnknownOption) {
		x.Add(finding.GitDiscards)
	}
}

// namesBranch reports a word that is the name of a branch, and hardly of a file.
func namesBranch(w workspace.Word) bool {
	return w.Kind == workspace.Literal && (everydayBranches.Has(w.Text) || branchLike(w.Text))
}

// branchLike reports the name of a remote's branch, such as origin/main.
func branchLike(name string) bool {
	head, rest, ok := strings.Cut(name, "/")
	return ok && words.Any(head, "origin", "upstream") && plainName.MatchString(strings.ReplaceAll(rest, "/", "-"))
}

// switches judges switch, which refuses to lose changes unless it is told to.
func switches(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	c := x.Scanner(&command.Spec{Flags: "qdt", Values: "c", Long: command.Longs(`quiet create= detach track no-track
		guess no-guess orphan=`)}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Word.Kind != workspace.Literal {
			x.Add(finding.DynamicArgument)
		}
	}
	if x.Has(finding.UnknownOption) || x.Has(finding.DynamicArgument) {
		x.Add(finding.GitDiscards)
	}
}

// restore judges restore: only the index may be restored without asking.
func restore(x *command.Call, _ string, args []workspace.Word) {
	for _, w := range args {
		if w.Is("--worktree") || strings.Contains(words.ShortOptions(w.Text), "W") {
			x.Add(finding.GitDiscards)
		}
	}
	if len(args) < 2 || !args[0].Is("--staged") && !args[0].Is("-S") {
		x.Add(finding.GitDiscards)
		return
	}
	tells(x, &command.Spec{Flags: "qS", Long: command.Longs("staged quiet")}, args)
}

// remove judges rm, which deletes files unless only the index is meant.
func remove(x *command.Call, _ string, args []workspace.Word) {
	if len(args) == 0 || !args[0].Is("--cached") {
		x.Add(finding.DeletesFile)
		return
	}
	tells(x, &command.Spec{Flags: "rqnf", Long: command.Longs("cached force quiet dry-run ignore-unmatch")}, args)
}

// move judges mv like the command of that name.
func move(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	for _, w := range args {
		if w.Is("-f") || w.Is("--force") {
			x.Add(finding.GitDiscards)
		}
	}
	language.Rules()["copy"](x, "mv", args)
}

// merges judges commands that bring commits together. git stops if changes would be
// lost, and the reflog keeps what it replaces. Giving up half-way, an editor and commands
// to run ask.
func merges(x *command.Call, verb string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	if verb == "cherry-pick" {
		x.Mark(command.WritesCode)
	}
	flags, vals := "qnxv", "m"
	if verb == "rebase" {
		flags, vals = "qnxvm", "" // how it merges
	}
	c := x.Scanner(&command.Spec{Flags: flags, Values: vals, Texts: words.Set(`m
		message`), Long: command.Longs(`continue quiet no-edit no-ff ff-only ff squash no-commit message= onto=
		autosquash autostash no-autostash stat no-stat signoff mainline= no-verify verbose keep-empty update-refs fork-point`)}, args)
	commits := 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option == "" {
			commits++
		}
		switch {
		case verb == "rebase" && (t.Option == "onto" || commits > 1): // commits of this branch, or of the other one, are left out
			x.Add(finding.GitDiscards)
		case t.Word.Kind != workspace.Literal && t.Option != "m" && t.Option != "message":
			x.Add(finding.DynamicArgument)
		case t.Option == "x" && verb == "rebase":
			x.Add(finding.UnknownOption) // a command
		}
	}
	if x.Has(finding.UnknownOption) || x.Has(finding.DynamicArgument) {
		x.Add(finding.GitDiscards)
	}
}

// pull judges pull: a fetch and a merge.
func pull(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.LocalGit)
	x.Add(finding.NetworkRead)
	c := x.Scanner(&command.Spec{Flags: "qvpt", Long: command.Longs(`ff-only no-rebase rebase quiet verbose prune
		tags no-edit autostash`)}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option == "" && !namesRemote(t.Word) {
			x.Add(finding.UnknownOption)
		}
	}
}

// namesRemote reports a word that is the name of a remote or of a branch, never an address.
func namesRemote(w workspace.Word) bool {
	return w.Kind == workspace.Literal && (plainName.MatchString(w.Text) || branchLike(w.Text))
}

// plainSetting names settings that hold no passwords.
var plainSetting = lazy.Pattern(`(?i)^(?:user\.(?:name|email|signingkey)|(?:core|init|pull|push|fetch|merge|rebase|commit|tag|diff|color|log|status|gpg|rerere|advice|column|format|blame|stash)\.[a-z]+|branch\.[^=]+\.(?:remote|merge|rebase)|remote\.[^.=]+\.fetch)$`)

// config reads a setting; setting one decides what git runs.
func config(x *command.Call, _ string, args []workspace.Word) {
	if len(args) > 0 && (args[0].Is("--global") || args[0].Is("--local")) {
		args = args[1:]
	}
	switch {
	case len(args) == 2 && args[0].Is("--get") && args[1].Fits(plainSetting.Compiled()):
		x.Add(finding.ReadOnlyCommand)
	case len(args) == 1 && (args[0].Is("user.name") || args[0].Is("user.email")):
		x.Add(finding.ReadOnlyCommand)
	default:
		x.Add(finding.UnknownCommand)
	}
}
