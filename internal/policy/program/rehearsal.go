package program

import (
	"slices"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Destroys are the findings of commands that would not happen if a program is told to say
// only what it would do.
var Destroys = finding.Of(finding.DestroysInfrastructure, finding.DestroysContainers, finding.RecursiveDelete,
	finding.GitForcePush, finding.GitDestroys, finding.DropsData)

// rehearsals are the options by which a program only says what it would do. An
// option of that name may also be another one's value, so it never makes a command
// harmless: it keeps doubt at R3.
var rehearsals = sync.OnceValue(func() map[string]map[string]bool {
	return map[string]map[string]bool{
		"kubectl": words.Set("--dry-run --dry-run=client --dry-run=server"), "oc": words.Set("--dry-run --dry-run=client --dry-run=server"),
		"helm": words.Set("--dry-run --dry-run=client --dry-run=server"), "aws": words.Set("--dry-run --dryrun"),
		"rsync": words.Set("--dry-run"), "git": words.Set("--dry-run -n"),
	}
})

// rehearsesRsync are clusters of rsync's options with such a one.
var rehearsesRsync = lazy.Pattern(`^-[a-zA-Z]*n[a-zA-Z]*$`)

// subcommanders are programs that only show help if the last word of any of their commands
// is "--help"; handing are the exceptions, which hand words on.
var subcommanders = lazy.Words("kubectl oc terraform tofu docker podman helm gh glab aws gcloud az systemctl cargo")

var plainVerb = lazy.Pattern(`^[a-z][a-z0-9-]*$`)

// handing are commands of them that run other programs.
var handing = lazy.Words("run exec x plugin compose buildx debug alias extension")

// helps reports a command that only shows help.
func AsksForHelp(base string, args []workspace.Word) bool {
	if len(args) == 0 {
		return false
	}
	verbs, last := args[:len(args)-1], &args[len(args)-1]
	if !last.Is("--help") && !last.Is("-help") || WrapperNames.Has(base) {
		return false
	}
	// With any words they run what the project has (grunt, husky, np).
	if e := known(base); e != nil && (slices.Contains(e.codes, finding.RunsWorkspaceCode) || slices.Contains(e.codes, finding.PublishesPackage)) {
		return false
	}
	for _, w := range verbs {
		if w.Kind != workspace.Literal || !plainVerb.MatchString(w.Text) || handing.Has(w.Text) {
			return false
		}
	}
	return len(verbs) == 0 || subcommanders.Has(base) && known(base).verb(verbs[0]) != nil // any other may be a plug-in, which runs
}

// mayAskForHelp reports a last word that asks most programs for help. Some have another
// meaning for it, so the command is not harmless: it asks instead of being refused.
// Behind "--", and behind what is to be deleted, it is the name of something.
func mayAskForHelp(args []workspace.Word) bool {
	if len(args) == 0 || slices.ContainsFunc(args, func(w workspace.Word) bool { return w.Is("--") }) {
		return false
	}
	last := args[len(args)-1]
	return last.IsAny("--help", "-help", "-h") || last.Is("help") && len(args) <= 2
}

// program judges a program of the table. If it may only be asked for help, it is not
// refused for what it would destroy otherwise.
func (e *entry) program(x *command.Call, name string, args []workspace.Word) {
	before := x.Found
	e.judge(x, name, args)
	if worse := Destroys.Or(finding.Of(finding.StopsMachine)).Without(before); e.verbs != nil && x.Found.Any(worse) && mayAskForHelp(args) {
		x.Found = x.Found.Without(worse)
		x.Add(finding.UnknownOption)
	}
}

// Rehearses reports a command that only says what it would do.
func Rehearses(base string, args []workspace.Word) bool {
	options := rehearsals()[base]
	if options == nil {
		return false
	}
	for i, w := range args {
		if w.Kind != workspace.Literal {
			continue
		}
		told := options[w.Text] || base == "rsync" && rehearsesRsync.MatchString(w.Text)
		auth := i > 0 && args[i-1].Is("auth")
		asks := auth && w.Text == "can-i" && words.Any(base, "kubectl", "oc")
		if told || asks {
			return true
		}
	}
	return false
}
