package policy

import (
	"path"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// came notes how a command was given and in which directory and on which machine it runs.
func (j *judging) came(x approval.Exec, s *line.Reading) {
	v := &j.seen
	if x.Command == nil {
		v.Alone = len(x.Argv) > 0
	} else if x.Argv != nil {
		v.Alone, v.Apart = false, true
	}
	j.line, j.argv, j.place = x.Command, x.Argv, s.Place
	bound, _, _ := j.Call.Bind.Fields()
	j.dirs, j.host = [2]string{x.Workdir, bound}, x.Host
	j.unplaced = !path.IsAbs(x.Workdir) && !path.IsAbs(bound)
	j.stays = len(x.Env) == 0 && s.Place.Stays()
}

// uncovered are findings about how and in which place a line runs, or that it could not be
// read. They belong to no command, so no permission for a command covers them.
var uncovered = finding.Opaque.Or(finding.Of(finding.HiddenInComment, finding.MalformedCall,
	finding.UnknownParameters, finding.OtherHost, finding.TakesTyping, finding.OpensTerminal, finding.GitElsewhere, finding.DefinesFunction,
	finding.SetsEnvironment, finding.DangerousEnvironment))

// plain reports whether all commands of the call were seen, and the call has no other part
// that changes what they mean or in which place they run.
func (j *judging) plain() bool { return j.stays && !j.seen.Apart && !j.Found.Any(uncovered) }

// covered reports whether the call is a line of plain commands in the workspace and ok is
// true for each of them that is not harmless by itself. What runs behind a wrapper is never
// covered, except in the system's own shell if that only runs a line that was read. A
// program that is named by a path is covered only if ok is true for that very path.
func (j *judging) covered(ok func(args []workspace.Word, class approval.RiskClass) bool) bool {
	v := &j.seen
	if j.Tool.Kind != tool.Exec || len(v.Commands) == 0 || !j.plain() {
		return false
	}
	for i := 0; i < len(v.Commands); i++ {
		c := v.Commands[i]
		args := v.Args(c)
		switch {
		case c.Class <= approval.R1:
			i += c.Inner
		case c.Inner > 0 && line.OpensLine(args) && program.ByName(args[0]):
		case c.Inner > 0, c.Class == approval.R4, program.RunsOthers(args), !ok(args, c.Class):
			return false
		}
	}
	return true
}
