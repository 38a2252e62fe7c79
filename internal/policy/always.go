package policy

import (
	"slices"
	"strings"

	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// An approval of exactly this call for always needs no subject and no workspace, because
// the words are the same. It is offered only if what runs cannot change while the words
// stay the same. So it is not offered for a file that an interpreter reads, a program of
// the workspace, code of the project or anything that a shell computes.

// always says for people what an always for the call covers. It is empty if no always may
// be given.
func (j *judging) always(e *Engine) string {
	switch {
	case j.Tool.Kind != tool.Exec && j.Found.Any(shiftingTool), j.Tool.Kind == tool.Exec && !j.fixed(e):
		return ""
	case j.unplaced:
		return "exactly this call, in any directory"
	}
	return "exactly this call"
}

// shifting are the findings after which the same words may run something else another time.
// shiftingTool are those for tools that are no commands, if what they act on may be another
// thing then (the third button of a page, a program that waits for input).
var (
	shifting = uncovered.Or(shiftingTool).Or(finding.Of(finding.DynamicArgument, finding.DynamicPath,
		finding.ProgramByPath, finding.OutsideProject,
		finding.InstallsPackages, finding.ChangesSchedule, finding.AsksTheDesk,
		finding.WritesStartup, finding.WritesSystem, finding.WritesAccess))
	shiftingTool = finding.Of(finding.InterpreterCode, finding.InterpreterInput, finding.EvaluatesText,
		finding.RunsScript, finding.RunsWorkspaceCode, finding.RunsProjectCode,
		finding.WritesAndRuns, finding.FeedsProcess, finding.ApprovesPlan, finding.BrowserActs, finding.StartsAgent, finding.KeywordExecute,
		finding.KeywordCommand, finding.KeywordShell)
)

// remote are the findings of commands that act on containers, services or another system.
var remote = finding.Of(finding.RunsContainer, finding.RemoteSystem, finding.ChangesServices, finding.DestroysContainers,
	finding.ChangesNetwork)

// changing reports a command that may do, under the same words, what a file says that may change,
// or that is about the branch that is checked out: neither a session's yes nor an always is
// offered. An option that policy does not know may name such a file. What is merely sent or
// copied may have changed too, and people know that.
func (j *judging) changing(e *Engine, args []workspace.Word) bool {
	runs := shiftingTool.Or(finding.Of(finding.ProgramByPath, finding.OutsideProject, finding.PublishesPackage,
		finding.UnknownOption))
	if j.Found.Has(finding.InstallsPackages) {
		if line.TakesFiles(args) {
			return true
		}
		runs = runs.Without(finding.Of(finding.RunsWorkspaceCode)) // managers run scripts of the project beside it
	}
	if j.Found.Has(finding.RemoteCommand) {
		runs = runs.Without(finding.Of(finding.UnknownOption)) // so a machine is called, of which no operand is known
	}
	return j.Found.Any(runs) || program.OfTheBranch(args) || e.lines.RunsChanging(args, j.Found.Any(remote))
}

// fixed reports whether a command with these words runs the same whenever it runs.
func (j *judging) fixed(e *Engine) bool {
	v := &j.seen
	computes := j.line != nil && strings.ContainsAny(*j.line, "$`")
	if computes || len(v.Commands) == 0 || j.Found.Any(shifting) {
		return false
	}
	fed := func(i int) bool {
		if j.line == nil {
			return false
		}
		return strings.Contains(*j.line, "<") || i > 0 && strings.Contains(*j.line, "|")
	}
	far := j.Found.Any(remote)
	for i, c := range v.Commands {
		args := v.Args(c)
		literal := !slices.ContainsFunc(args, func(w workspace.Word) bool { return w.Kind != workspace.Literal })
		others := literal && program.RunsOthers(args) && !line.Opens(args, c.Inner)
		if !literal || others {
			return false
		}
		if j.changing(e, args) || e.lines.RunsFile(args, far, fed(i)) {
			return false
		}
	}
	return true
}
