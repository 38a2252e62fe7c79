package line

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// simple judges one simple command, the name and its words as they will run.
func (s *Reading) simple(f frame, all []workspace.Word) {
	before := s.Found
	s.Found = finding.Set{}
	i := s.commandsSeen()
	s.judge(f, all)
	if s.Found == (finding.Set{}) {
		s.Found.Add(finding.DynamicArgument) // its rule could say nothing of it, as of cp with one glob
	}
	if s.Found.Has(finding.RunsProjectCode) {
		if s.written || s.runsLog(all) {
			s.Found.Add(finding.WritesAndRuns)
		}
		if f.inLoop {
			s.ran = append(s.ran, all...)
		}
	}
	s.touches(all)
	if !f.searching && s.Found.Without(finding.Of(finding.TouchesDesk)).Class() == approval.R3 && s.Found.Any(mayRunWords) {
		s.searchNested(f, all[1:])
	}
	s.noteClass(f, i)
	s.Found = s.Found.Or(before)
}

// judge looks a command up and lets its rule judge it.
func (s *Reading) judge(f frame, all []workspace.Word) {
	if s.Commands++; s.Commands > maxCommands {
		s.Found.Add(finding.TooComplex)
		return
	}
	i := s.note(f, all)
	defer s.noted(i)
	before := s.Found
	name := all[0]
	base := s.program(name)
	s.opened, s.silent = 0, false
	defer func() { s.trees(f, base, all[1:], s.Found.Without(before)) }()
	switch {
	case s.Own.IsProgram(base):
		s.deskProgram(f, all[1:])
	case name.Kind != workspace.Literal || name.Text == "":
		s.Found.Add(finding.DynamicCommand)
		s.runs = true
	default:
		s.known(f, base, all[1:])
	}
}

// known judges a command whose name was read.
func (s *Reading) known(f frame, base string, args []workspace.Word) {
	judge := s.wide.Rules(base)
	switch {
	case judge == nil:
		s.Found.Add(finding.UnknownCommand)
	case program.AsksForHelp(base, args):
		s.Found.Add(finding.ReadOnlyCommand)
	case program.Rehearses(base, args):
		before := s.Found
		s.rule(f, judge, base, args)
		s.Found = s.Found.Without(program.Destroys.Without(before))
	default:
		s.rule(f, judge, base, args)
	}
	s.types(f, base, args)
}

// types notes a program that takes commands from a terminal, where the call may have one. What
// is asked for anyway is said of more programs, for people to know.
func (s *Reading) types(f frame, base string, args []workspace.Word) {
	if !s.Terminal || f.searching {
		return
	}
	asks := s.Found.Class() >= approval.R3 && program.IsWrapper(base) && !OpensLine(append([]workspace.Word{{Text: base}}, args...))
	if asks || program.TakesTyping(base, args, f.beforePipe) {
		s.Found.Add(finding.TakesTyping)
	}
}

// carries reports a word that hands data out. The digest of an image is none.
func carries(w workspace.Word) bool {
	name, digest, is := strings.Cut(w.Text, "@sha256:")
	return workspace.Carries(name) || is && (len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "")
}

// rule lets a command's rule judge it and applies what it says.
func (s *Reading) rule(f frame, judge command.Rule, base string, args []workspace.Word) {
	x := command.Call{Place: &s.Place, Looped: f.repeats(), Steps: s.steps}
	x.Input, s.input, s.printed = s.input, nil, nil
	x.Given, x.Piped, x.Empty, x.Idle, s.piped = s.given, s.piped, f.empty == nothing, f.empty == idle, false
	judge(&x, base, language.ForTellers(base, args))
	language.ListsFiles(&x, base, args)
	if x.Found.Class() == approval.R2 && slices.ContainsFunc(args, carries) {
		x.Add(finding.SendsData) // also in a header, or in what is searched for
	}
	s.Found = s.Found.Or(x.Found)
	s.silent = false
	before := s.read
	for i := range x.Effects {
		s.apply(f, &x.Effects[i])
	}
	s.emptied(x.Effects)
	if base == "tee" {
		s.overwrites(f, x.Effects, before)
	}
	s.fetched(base, x.Found)
	s.given = ""
}

// fetched notes what others wrote: git brings it, and once that is there, whatever
// changes the working tree may put it among the project's code.
func (s *Reading) fetched(base string, found finding.Set) {
	if base == "git" {
		s.fetchedByGit = s.fetchedByGit || found.Has(finding.NetworkRead)
		s.writes = s.writes || s.fetchedByGit && found.Has(finding.LocalGit)
	}
}

// apply does what one effect says, at the place where the line stands.
func (s *Reading) apply(f frame, e *command.Effect) {
	switch e.Kind {
	case command.TellsName:
		s.reads(f, e.Word)
		s.Name(e.Word)
	case command.LooksAt:
		s.reads(f, e.Word)
		s.DeskPath(e.Word)
	case command.ReadsFile:
		s.reads(f, e.Word)
		s.Read(e.Word)
	case command.SearchesTree:
		s.reads(f, e.Word)
		s.Search(e.Word)
	case command.WritesFile:
		s.Write(e.Word)
	case command.FillsFile:
		s.content(e.Word)
	case command.RemovesFile:
		s.Remove(e.Word)
	case command.TakesTree:
		s.DeskTree(e.Word)
	case command.ReadsAddress:
		s.Address(e.Word.Text)
	case command.RunsWords:
		s.inner(f, e.Words)
	case command.MovesOnto:
		s.replaces(f, e.Word)
	case command.RunsEach:
		f.forEach = true
		s.inner(f, e.Words)
		if s.Found.Has(finding.DeletesFile) && !e.Narrow {
			s.Found.Add(finding.RecursiveDelete)
		}
	case command.RunsLine:
		s.line(f, e.Word.Text)
	case command.MovesTo:
		s.move(f, e.Word)
	case command.SetsVariable:
		s.Set(e.Name, e.Word, true)
	case command.PrintsFiles:
		s.printed = e.Words
	case command.LooksIfAsking:
		if s.Found.Class() >= approval.R3 {
			s.DeskPath(e.Word)
		}
	case command.Fetches:
		s.fetches = true
	case command.RunsUnread:
		s.runs = true
	case command.WritesCode:
		s.writes = true
	case command.PrintsNothing:
		s.silent = true
	}
}

// move goes to another directory. In a loop or a function that cannot be followed,
// and where the word may be anything, it is open where the line stands.
func (s *Reading) move(f frame, w workspace.Word) {
	if s.eachDir(w) {
		w = workspace.Word{Text: w.Text} // as the name of one of them, which begins with no dot
	}
	s.Place.Move(w, !f.repeats() && w.Kind != workspace.Computed)
}

// eachDir reports a glob for directories of one of the workspace, in which nothing of the
// desk lies: a loop's "packages/*/", in quotes.
func (s *Reading) eachDir(w workspace.Word) bool {
	parent, ok := strings.CutSuffix(strings.TrimSuffix(w.Text, "/"), "*")
	if !ok || w.Kind != workspace.Pattern || strings.ContainsAny(parent, "*?[") {
		return false
	}
	named := parent != "" && !strings.HasSuffix(parent, "/")
	if named || w.Listed || w.Tilde {
		return false
	}
	dir := workspace.Word{Text: path.Clean("./" + parent)}
	if strings.HasPrefix(parent, "/") {
		dir.Text = path.Clean(parent)
	}
	if !s.Place.LocalDir(dir) || workspace.Hidden("/"+parent) {
		return false
	}
	clear := true
	s.Place.Resolve(dir, func(file string, open bool) { clear = clear && !open && !s.Own.Below(file, true) })
	return clear
}

// program gives the name by which a program is looked up. A path outside the
// system's directories, a different letter case (which some file systems do not
// tell apart) and an ending are findings, but do not hide what is known to be
// worse.
func (s *Reading) program(w workspace.Word) string {
	name := w.Text
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		own, scripted, ok := "", false, false
		if w.Exact() {
			own, scripted, ok = program.Own(&s.Place, name)
		}
		switch {
		case program.ProgramDirs[name[:i]]:
		case ok:
			s.scripted = s.scripted || scripted
			s.Found = s.Found.Or(language.Project(&s.Place))
			return own
		default:
			s.Found.Add(finding.ProgramByPath)
			inside := w.Exact() && !workspace.Climbs(name) && s.Place.EndsInside(name)
			s.OutsideProgram = s.OutsideProgram || !inside
		}
		name = name[i+1:]
	}
	lower := strings.ToLower(name)
	if lower != name || strings.HasSuffix(lower, ".exe") || strings.HasSuffix(lower, ")") { // rows of no program end so
		s.Found.Add(finding.UnknownCommand)
		name = strings.TrimSuffix(lower, ".exe")
	}
	if w.Tilde {
		s.Found.Add(finding.ProgramByPath)
	}
	return name
}

// inner judges a command that another one runs, with words that simple has
// looked at.
func (s *Reading) inner(f frame, all []workspace.Word) {
	if len(all) == 0 {
		s.Found.Add(finding.UnknownOption)
		return
	}
	if f.depth++; f.depth > maxDepth {
		s.Found.Add(finding.NestedTooDeep)
	} else {
		s.judge(f, all)
	}
	s.opened = len(all)
}

// takers are programs that read, change or hand on directories with all that is
// in them.
var takers = words.Set("tar bsdtar gtar pax zip 7z 7za 7zr rar rsync scp sftp rclone diff ditto chmod chown chgrp chattr setfacl mount")

// blind are the findings after which it is open what a program does with a
// directory.
var blind = finding.Of(finding.UnknownCommand, finding.UnknownOption, finding.ProgramByPath, finding.DynamicCommand,
	finding.InterpreterCode, finding.InterpreterInput, finding.RunsScript, finding.RunsWorkspaceCode,
	finding.OutsideProject, finding.RemoteCommand, finding.RemoteSystem, finding.RunsContainer,
	finding.GitElsewhere, finding.InstallsPackages, finding.EvaluatesText)

// listers are programs that tell at most what is in a directory, whatever their
// options, or that only go there.
var listers = words.Set("ls dir vdir stat du df file tree find fd fdfind realpath readlink cd test [")

// trees looks for directories in which the desk lies among the words of a
// command, where it may do something with all that is in them. An unknown command
// says no more by a directory of the workspace, or the one in which it runs, than
// by no word at all, and where it runs must be known.
func (s *Reading) trees(f frame, base string, args []workspace.Word, added finding.Set) {
	if opened := s.opened; opened > 0 && program.WrapperNames[base] && base != "find" {
		args = args[:max(0, len(args)-opened)] // the rest was looked at by itself
	}
	takes := takers[base]
	if !takes && !s.mayTake(f, base, args, added) {
		return
	}
	for _, w := range args {
		if w.Kind == workspace.Computed {
			continue
		}
		v := command.AfterEquals(w.Text)
		if takes && strings.HasPrefix(v, "-") && words.At(v, 2) == '/' { // -C/x
			v = v[2:]
		}
		value := v == "/" && v != w.Text
		if v == "" || value && !takes {
			continue
		}
		some, all := false, true
		s.Place.Resolve(workspace.Word{Text: v, Tilde: w.Tilde}, func(dir string, open bool) {
			below := !open && s.Own.Below(dir, w.Kind == workspace.Pattern)
			some = some || below
			here := s.Place.LocalPath(dir) || slices.Contains(s.Place.Dirs, dir)
			all = all && below && !here
		})
		if takes && some || all {
			s.Found.Add(finding.TouchesDesk)
		}
	}
}

// mayTake reports a command of which it is open what it does with directories.
func (s *Reading) mayTake(f frame, base string, args []workspace.Word, added finding.Set) bool {
	if f.searching || listers[base] || !added.Any(blind) {
		return false
	}
	return !elsewhere(base, args)
}

// elsewhere reports a command whose words another machine or a container reads.
func elsewhere(base string, args []workspace.Word) bool {
	switch base {
	case "ssh", "rsh", "mosh", "sshpass", "autossh":
		return true
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "kubectl", "oc", "lxc", "multipass", "vagrant":
		for _, w := range args {
			if w.Is("exec") || w.Is("run") || w.Is("debug") {
				return true
			}
		}
	}
	return false
}

// maxNestedWords bounds how many words of a command are taken for commands, and how
// many words such a command has.
const maxNestedWords = 64

// maxEquals bounds after how many equals signs of a word a command may begin,
// as in --option=exec=command.
const maxEquals = 4

// mayRunWords are the findings after which some word of a command may be run as one.
var mayRunWords = finding.OfClass[approval.R3].Without(finding.Of(finding.MayReadSecret, finding.SendsData,
	finding.ReadsSecret, finding.ReadsEnvironment, finding.TakesTyping, finding.OpensTerminal, finding.GitPush, finding.DynamicArgument, finding.DynamicPath, finding.HiddenInComment))

// searchNested looks for destructive commands in the words of one that asks anyway:
// behind wrappers that policy does not know, and in words that are themselves
// shell lines. It only ever adds what is R4.
func (s *Reading) searchNested(f frame, args []workspace.Word) {
	outside, place, fetches, runs, silent := s.Found, s.Place, s.fetches, s.runs, s.silent
	f.searching = true
	s.Found = finding.Set{}
	for i, w := range args[:min(len(args), maxNestedWords)] {
		if w.Kind == workspace.Computed || w.Text == "" {
			continue
		}
		if s.fetches, s.runs = false, false; w.Text[0] != '-' {
			s.inner(f, args[i:min(len(args), i+maxNestedWords)])
		}
		if s.fetches && s.runs { // one command that does both, as nc -e
			s.Found.Add(finding.RunsDownload)
		}
		if strings.ContainsAny(w.Text, " \t\n;&|`") {
			s.line(f, strings.TrimLeft(w.Text, "!")) // as git writes a command
			value, ok := w.Text, true
			for range maxEquals {
				if _, value, ok = strings.Cut(value, "="); !ok {
					break
				}
				s.line(f, strings.TrimLeft(value, "!"))
			}
		}
	}
	if s.Found.Any(finding.Opaque) {
		for _, w := range args {
			s.scan(w.Text)
		}
	}
	s.Place, s.fetches, s.runs, s.silent = place, fetches, runs, silent
	s.Found = s.Found.And(finding.OfClass[approval.R4]).Or(outside)
}

// touches looks for the desk in a command: its files in any word, and for a
// command that is more than local, its programs and its port.
func (s *Reading) touches(all []workspace.Word) {
	class, changes := s.Found.Class(), s.Found.Without(finding.OnlyReads).Class() >= approval.R3
	for i, w := range all {
		s.DeskPath(w)
		if v := command.AfterEquals(w.Text); v != w.Text {
			s.DeskPath(workspace.Word{Text: v, Kind: w.Kind})
		} else if _, v, ok := strings.Cut(w.Text, "="); ok || strings.HasPrefix(w.Text, "@") {
			s.DeskPath(workspace.Word{Text: strings.TrimPrefix(cmp.Or(v, w.Text), "@"), Kind: w.Kind})
		}
		if s.meansDesk(w.Text, class, i == 0) {
			s.Found.Add(finding.TouchesDesk)
		}
		if changes && i > 0 && workspace.SettingsPath(workspace.FoldPath(command.AfterEquals(w.Text))) {
			s.Found.Add(finding.WritesAgentSettings) // it is not known to only read it
		}
	}
}

// meansDesk reports a word of a command of some class that names the desk. The first one
// was judged as a program.
func (s *Reading) meansDesk(text string, class approval.RiskClass, first bool) bool {
	d := s.Own
	switch {
	case class >= approval.R2 && (d.HasPort(text, false) || d.ApiPath(text)):
		return true
	case class < approval.R3:
		return false
	case !first && (d.Names(text) || d.Reads(text)):
		return true
	}
	return d.Mentions(text)
}

// deskProgram judges a call of the desk's own program. An agent may ask through
// it; everything else it can do is the operator's.
func (s *Reading) deskProgram(f frame, args []workspace.Word) {
	verb := ""
	if len(args) > 0 && args[0].Kind == workspace.Literal {
		verb = args[0].Text
	}
	switch verb {
	case "--version", "--help", "help":
		s.Found.Add(finding.ReadOnlyCommand)
	case "request", "wait", "evaluate", "run":
		s.Found.Add(finding.AsksTheDesk)
	default:
		s.Found.Add(finding.TouchesDesk)
		return
	}
	if s.rehomed { // another client file may name another desk
		s.Found.Add(finding.TouchesDesk)
	}
	for i, w := range args[1:] {
		if verb == "run" && w.Is("--") {
			s.inner(f, args[i+2:])
			return
		}
		for _, o := range [...]string{"--token", "--server", "--client", "--config"} {
			if strings.HasPrefix(w.Text, o) {
				s.Found.Add(finding.TouchesDesk)
			}
		}
		if w.Kind == workspace.Computed {
			s.Found.Add(finding.DynamicArgument)
		}
	}
}
