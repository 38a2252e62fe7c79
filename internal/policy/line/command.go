package line

import (
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/git"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// simple judges one simple command, its name and its words as they will run. What it finds is
// put aside first, so that the class of this command alone is known.
func (s *Reading) simple(f frame, all []workspace.Word) {
	before := s.Found
	s.Found = finding.Set{}
	i := s.commandsSeen()
	s.judge(f, all)
	if s.Found == (finding.Set{}) {
		s.Found.Add(finding.DynamicArgument) // its rule found no code, as for cp with one glob
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
	asks := s.Found.Without(finding.Of(finding.TouchesDesk)).Class() == approval.R3
	if asks && !f.searching && s.Found.Any(mayRunWords) {
		s.searchNested(f, all[1:])
	}
	s.noteClass(f, i)
	s.Found = s.Found.Or(before)
}

// judge looks a command up and lets its rule judge it.
func (s *Reading) judge(f frame, all []workspace.Word) {
	n := s.notes(f)
	if n == nil {
		s.lookUp(f, all)
		return
	}
	l := s.opens(n)
	s.lookUp(f, all)
	s.closes(n, l, all)
}

func (s *Reading) lookUp(f frame, all []workspace.Word) {
	if s.Commands++; s.Commands > maxCommands {
		s.Found.Add(finding.TooComplex)
		return
	}
	i := s.note(f, all)
	defer s.noted(i)
	before := s.Found
	name, base := all[0], s.program(all[0])
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
		s.Place.Went.Open = s.Place.Went.Open || base == "pushd" || base == "popd"
	case program.AsksForHelp(base, args):
		s.Found.Add(finding.ReadOnlyCommand)
		if loadsProject(judge, base, &s.Place) {
			s.Found.Add(finding.RunsProjectCode)
		}
	case program.Rehearses(base, args):
		before := s.Found
		s.rule(f, judge, base, args)
		s.Found = s.Found.Without(program.Destroys.Without(before))
	default:
		s.rule(f, judge, base, args)
	}
	s.types(f, base, args)
}

// loadsProject reports a program that loads code or settings of the project even to tell its version, so to print its help, too
// (pytest imports conftest.py).
func loadsProject(judge command.Rule, base string, p *workspace.Place) bool {
	found := func(word string) finding.Set {
		x := command.Call{Place: p}
		judge(&x, base, []workspace.Word{{Text: word}})
		return x.Found
	}
	told := found("--version")
	if told.Class() >= approval.R3 { // it has no such option
		told = found("version")
	}
	return told.Has(finding.RunsProjectCode) || told.Class() >= approval.R3 && program.BuildsProject(base) // grunt lists its tasks
}

// program gives the name by which a program is looked up. A path outside the system's
// directories, another letter case (which some file systems do not tell apart) and an ending are
// findings, but do not hide what is known to be worse.
func (s *Reading) program(w workspace.Word) string {
	name := w.Text
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		own, scripted, ok := "", false, false
		if w.Exact() {
			own, scripted, ok = program.Own(&s.Place, name)
		}
		switch {
		case program.ProgramDirs.Has(name[:i]):
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
	if slices.Contains(s.OfProject, w.Text) || s.brought || s.joined(w.Text) {
		s.Found = s.Found.Or(language.Project(&s.Place))
	}
	return name
}

// joined reports the name of a program that the text does not have, as it was put together from words of a loop: the asker could not
// find whether it is the project's.
func (s *Reading) joined(name string) bool {
	return len(s.Programs) > 0 && !strings.Contains(s.Text, name)
}

// rule lets the rule of a command judge it, and applies the effects that the rule gives.
func (s *Reading) rule(f frame, judge command.Rule, base string, args []workspace.Word) {
	x := command.Call{Place: &s.Place, Looped: f.repeats(), Steps: s.steps}
	x.Input, s.input, s.printed = s.input, nil, nil
	x.Given, x.Piped, x.Empty, x.Idle, s.piped = s.given, s.piped, f.empty == nothing, f.empty == idle, false
	judge(&x, base, language.ForTellers(base, args))
	language.ListsFiles(&x, base, args)
	language.ShowsFolders(&x, base, args)
	if base == "git" {
		git.ShowsHistory(&x, args)
	}
	if x.Found.Class() == approval.R2 && slices.ContainsFunc(args, carries) {
		x.Add(finding.SendsData) // also in a header, or in what is searched for
	}
	s.Found = s.Found.Or(x.Found)
	s.silent = false
	before, names, dirs := s.read, len(s.PutNames), s.PutDirs
	for i := range x.Effects {
		s.apply(f, &x.Effects[i])
	}
	many := len(s.PutNames) == names || slices.ContainsFunc(args, several)
	if many && s.PutDirs > dirs && !words.Any(base, "mkdir", "touch", "chmod", "chown", "install") {
		s.Found.Add(finding.WritesStartup)
	}
	s.emptied(x.Effects)
	if s.unignored(base, args, x.Effects); base == "git" {
		s.takesUntracked(f, args)
	}
	if base == "tee" {
		s.overwrites(f, x.Effects, before)
	}
	s.fetched(base, x.Found)
	s.given = ""
}

// several reports a word by which more files may be copied than are named.
func several(w workspace.Word) bool {
	return w.Kind != workspace.Literal || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "rRaT")
}

// apply does what one effect of a command says, at the place that the line has come to.
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
		if w := e.Word; w.Kind == workspace.Literal && strings.HasSuffix(w.Text, "/") { // a folder, in which something is made
			w.Text += "x"
			s.Write(w)
		}
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
		f.forEach, f.flat = true, e.Flat
		s.inner(f, e.Words)
		if s.Found.Has(finding.DeletesFile) && !e.Narrow {
			s.Found.Add(finding.RecursiveDelete)
		}
	case command.RunsLine:
		s.line(f, e.Word.Text)
	case command.MovesTo:
		s.Place.Resolve(e.Word, func(dir string, _ bool) {
			if workspace.OfConfined(dir) {
				s.Found.Add(finding.TouchesDesk)
			}
		})
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
	case command.SearchesFor:
		if s.searched += e.Count; s.searched > mostSearched {
			s.Found.Add(finding.MayReadSecret)
		}
	case command.PrintsNothing:
		s.silent = true
	}
}

// mostSearched is for how many words a line may search all files of the workspace, see [language.Around].
const mostSearched = 16

// carries reports a word that hands data out, or has a server change something. The digest of an image does not.
func carries(w workspace.Word) bool {
	name, digest, is := strings.Cut(w.Text, "@sha256:")
	return workspace.Carries(name) || otherMethod.MatchString(w.Text) || is && (len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "")
}

// otherMethod finds a header or a query by which many servers take a GET for another method.
var otherMethod = lazy.Pattern(`(?i)x-(?:http-)?method|[?&]_method=`)

// inner judges a command that another one runs. simple has looked for the desk in its words.
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
