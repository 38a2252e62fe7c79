package policy

import (
	"slices"
	"strings"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/program"
	"approvalbot/policy/tool"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// A standing yes for exactly a call needs no subject and no workspace: the words are
// the same. It is offered wherever what runs cannot change under the same words, so
// for no file that an interpreter reads, no program of the workspace, no code of the
// project, and nothing that a shell computes.

// always says for people what an always for the call covers; it is empty where none
// may be given.
func (j *judging) always(e *Engine) string {
	switch {
	case j.Tool.Kind != tool.Exec && j.Found.Any(shiftingTool), j.Tool.Kind == tool.Exec && !j.fixed(e):
		return ""
	case j.unplaced:
		return "exactly this call, in whatever directory it runs"
	}
	return "exactly this call"
}

// shifting are the findings after which the same words may run something else another
// time; shiftingTool are those for other tools than commands, where what they act on
// may be another thing (the third button of a page, a program that waits for input).
var (
	shifting = uncovered.Or(shiftingTool).Or(finding.Of(finding.DynamicArgument, finding.DynamicPath,
		finding.ProgramByPath, finding.OutsideProject,
		finding.InstallsPackages, finding.ChangesSchedule, finding.AsksTheDesk,
		finding.WritesStartup, finding.WritesSystem, finding.WritesAccess))
	shiftingTool = finding.Of(finding.InterpreterCode, finding.InterpreterInput, finding.EvaluatesText,
		finding.RunsScript, finding.RunsWorkspaceCode, finding.RunsProjectCode,
		finding.WritesAndRuns, finding.FeedsProcess, finding.BrowserActs, finding.KeywordExecute,
		finding.KeywordCommand, finding.KeywordShell)
)

// fixed reports whether a command with these words runs the same whenever it runs.
func (j *judging) fixed(e *Engine) bool {
	v := &j.seen
	line := j.line != nil && strings.ContainsAny(*j.line, "$`")
	if line || len(v.Commands) == 0 || j.Found.Any(shifting) {
		return false
	}
	fed := func(i int) bool {
		if j.line == nil {
			return false
		}
		return strings.Contains(*j.line, "<") || i > 0 && strings.Contains(*j.line, "|")
	}
	for i, c := range v.Commands {
		args := v.Args(c)
		literal := !slices.ContainsFunc(args, func(w workspace.Word) bool { return w.Kind != workspace.Literal })
		others := literal && program.RunsOthers(args) && !opens(args, c.Inner)
		if !literal || others || j.readsFile(e, args, fed(i)) {
			return false
		}
	}
	return true
}

// passers run the command that stands in their words, and nothing else.
var passers = words.Set("sudo doas env nohup setsid nice ionice timeout gtimeout time stdbuf chronic command builtin exec")

// opens reports a wrapper that runs nothing but commands which were read: inner is how
// many. What stands in the words of a shell is none where a shell computes in it.
func opens(args []workspace.Word, inner int) bool {
	base := program.ProgramOf(args[0])
	names := func(w workspace.Word) bool { return program.NamesProgram(base, w.Text) }
	if inner == 0 || slices.ContainsFunc(args[1:], names) {
		return false
	}
	return passers[base] || opensLine(args) && !strings.ContainsAny(args[2].Text, "$`")
}

// fileRunners run what a file says, one that they are given or that they look for.
var fileRunners = words.Set(`docker-compose podman-compose ansible-playbook salt fab pssh sftp ftp lftp telnet
	vagrant tilt skaffold serverless sls cdk
	pm2 supervisorctl helm helmfile flatpak crontab patch tar bsdtar unzip
	fastlane mage goreleaser wrangler firebase scons snakemake nix-build dvc earthly quarto jekyll`)

// fromFiles are subcommands of programs for containers that do.
var fromFiles = words.Set("build buildx bake up compose stack play apply create replace patch")

// gitFromFiles are commands of git that do what a file or a setting says.
var gitFromFiles = words.Set("apply am config")

// readsFile reports a command that may run what a file says, or its input where it is
// fed: of a program that policy does not know, any file may be such a one.
func (j *judging) readsFile(e *Engine, args []workspace.Word, fed bool) bool {
	base := program.ProgramOf(args[0])
	if base == "git" && slices.ContainsFunc(args[1:], func(w workspace.Word) bool { return gitFromFiles[w.Text] }) {
		return true
	}
	known := e.lines.Rules[base] != nil
	if fileRunners[base] || !known && fed {
		return true
	}
	remote := j.Found.Any(finding.Of(finding.RunsContainer, finding.RemoteSystem, finding.ChangesServices, finding.DestroysContainers))
	return (!known || remote) && slices.ContainsFunc(args[1:], func(w workspace.Word) bool {
		return looksLikeFile(w.Text) || remote && fromFiles[w.Text]
	})
}

// looksLikeFile reports a word with a directory in it, or with an ending of letters.
func looksLikeFile(text string) bool {
	text = command.AfterEquals(text)
	if strings.Contains(text, "://") {
		return false
	}
	dot := strings.LastIndexByte(text, '.')
	ending := strings.Trim(strings.ToLower(text[dot+1:]), "abcdefghijklmnopqrstuvwxyz0123456789") == "" && dot+1 < len(text) && !words.Digits(text[dot+1:])
	directory := strings.ContainsAny(text, "/~") || text == "." || text == ".."
	return directory || dot >= 0 && ending
}
