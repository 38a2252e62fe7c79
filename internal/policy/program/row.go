package program

import (
	"slices"
	"strings"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/git"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/workspace"
)

// judge is the [Rule] of a row.
func (e *entry) judge(x *command.Call, name string, args []workspace.Word) {
	switch {
	case e.version && len(args) == 1 && args[0].Is("--version"):
		x.Add(finding.ReadOnlyCommand)
		return
	case e.onedash:
		args = dashes(args)
	case e.spelled != nil:
		args = e.respelled(x, args)
	}
	e.prints(x, args)
	switch {
	case e.rule != nil:
		addCodes(x, e.codes)
		e.rule(x, name, args)
		e.raise(x, args)
	case e.verbs != nil || e.globs != nil:
		e.command(x, name, args)
	case e.wraps:
		addCodes(x, e.codes)
		e.wrapped(x, args)
	case e.project != nil:
		e.build(x, name, args)
		e.raise(x, args)
	default:
		e.leaf(x, args)
		e.raise(x, args)
	}
}

func (e *entry) raise(x *command.Call, args []workspace.Word) {
	for i := range e.raises {
		if e.raises[i].in(args) {
			x.Add(e.raises[i].code)
		}
	}
}

// command judges a program with subcommands: options, then the subcommand. Words that raise
// the class in any position count only if something was not recognised.
func (e *entry) command(x *command.Call, name string, args []workspace.Word) {
	if e.prelude != nil {
		args = e.prelude(x, args)
	}
	c := x.Scanner(&e.spec, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option != "" {
			e.option(x, t)
			continue
		}
		verb := e.verb(t.Word)
		switch {
		case verb != nil:
		case t.Word.Kind != workspace.Literal:
			x.Add(finding.DynamicCommand)
		default:
			addCodes(x, e.otherwise)
		}
		if verb == nil {
			addCodes(x, e.unread)
			e.raise(x, args)
			return
		}
		rest := c.Rest()
		if !verb.word {
			rest = rest[1:]
		}
		if verb.rule != nil {
			name = t.Word.Text
		}
		verb.judge(x, name, rest)
		if x.Found.Any(unread) {
			addCodes(x, e.unread)
			e.raise(x, args)
		}
		return
	}
	asks := asksAbout(x, args) || len(args) == 1 && args[0].Is("-v")
	if asks && e.about != nil {
		addCodes(x, e.about)
		return
	}
	addCodes(x, e.bare)
	e.raise(x, args)
}

// verb gives the row of a subcommand; nil if it has no row.
func (e *entry) verb(w workspace.Word) *entry {
	if w.Kind != workspace.Literal {
		return nil
	}
	if v := e.verbs[w.Text]; v != nil {
		return v
	}
	for _, g := range e.globs {
		if !strings.Contains(w.Text, "/") && workspace.MatchesName(g.glob, w.Text) {
			return g.entry
		}
	}
	return nil
}

// leaf judges a command by its options and operands.
func (e *entry) leaf(x *command.Call, args []workspace.Word) {
	if e.here {
		language.RunsProject(x)
	}
	if e.fetches {
		x.Mark(command.Fetches)
	}
	if e.restores {
		x.Mark(command.WritesCode)
	}
	if begins := e.doc.Begins; begins != "" {
		if len(args) > 0 && args[0].Is(begins) {
			args = args[1:]
		} else {
			x.Add(finding.UnknownOption)
		}
	}
	c := x.Scanner(&e.spec, args)
	var words [4]workspace.Word
	var names [4]string
	operands, options := words[:0], names[:0]
	lacks := len(e.needs) > 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option == "" {
			operands = append(operands, t.Word)
			continue
		}
		e.option(x, t)
		options = append(options, t.Option)
		lacks = lacks && (!e.needs[t.Option] || t.Word.Is("false"))
		if t.Value && e.spec.All && e.operands == readsRole {
			x.Read(t.Word.Sampled()) // any option of a program that only reads may name a file
		}
	}
	if slices.ContainsFunc(operands, func(w workspace.Word) bool { return !w.IsAny("HEAD", "main", "master") }) {
		options = append(options, "") // a file or a range
	}
	if !e.allows(options) {
		x.Add(finding.UnknownOption)
	}
	e.words(x, operands)
	if lacks && x.Given != "" && e.input != textRole {
		e.input.word(x, workspace.Word{Text: x.Given})
		lacks = false
	}
	if lacks {
		addCodes(x, e.lacks)
	}
	if x.Found.Any(unread) {
		addCodes(x, e.unread)
	}
}

// allows reports whether the options that a command has may be given together.
func (e *entry) allows(options []string) bool {
	has := func(list []string) bool {
		return slices.ContainsFunc(list, func(o string) bool { return slices.Contains(options, o) })
	}
	for _, b := range e.beside {
		if has(b.options) && !has(b.others) {
			return false
		}
	}
	return true
}

// respelled gives the words of a program that joins letters in ways of its own.
func (e *entry) respelled(x *command.Call, args []workspace.Word) []workspace.Word {
	all := slices.Clone(args)
	for i, w := range all {
		if w.Kind != workspace.Literal || !w.MayBeOption() {
			continue
		}
		if !e.spelled.MatchString(w.Text) {
			x.Add(finding.UnknownOption)
		}
		if _, long := e.spec.Long[w.Text[1:]]; long && len(w.Text) > 2 {
			all[i].Text = "-" + w.Text
		}
	}
	return all
}

// wrapped judges a program that runs another one: options, words of its own, then the
// command.
func (e *entry) wrapped(x *command.Call, args []workspace.Word) {
	c := x.Scanner(&e.spec, args)
	own := e.skip
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option != "":
			e.option(x, t)
		case own > 0:
			c.Ended = false
			own--
			x.One(t.Word)
		default:
			x.Run(c.Rest())
			return
		}
	}
	x.Add(finding.ReadOnlyCommand)
	if e.skip > 0 || len(e.codes) > 0 {
		x.Add(finding.UnknownOption)
	}
}

// words judges the operands of a command.
func (e *entry) words(x *command.Call, operands []workspace.Word) {
	several := slices.ContainsFunc(operands, workspace.Word.Several)
	if len(operands) > 0 && len(e.named) > 0 {
		addCodes(x, e.named)
	} else {
		addCodes(x, e.codes)
	}
	for i, w := range operands {
		switch {
		case e.spec.Fixed && w.Kind == workspace.Computed:
			x.Add(finding.DynamicArgument)
		case e.operands == noneRole, e.looks != nil && (w.Kind != workspace.Literal || !e.looks.MatchString(w.Text)):
			x.Add(finding.UnknownOption)
		}
		if i >= e.skip {
			e.operands.word(x, w)
		} else {
			e.leading.word(x, w)
		}
	}
	tooMany := e.most > 0 && (len(operands) > e.most || several)
	if tooMany || len(operands) < e.least {
		x.Add(finding.UnknownOption)
	}
}

// shortNames gives the names of options as they are written in a row: "-abc" are three
// letters, "--name" is one name.
func shortNames(list string, onedash bool) (letters, long []string) {
	for w := range strings.FieldsSeq(list) {
		switch name := strings.TrimLeft(w, "-"); {
		case strings.HasPrefix(w, "--") || onedash:
			long = append(long, name)
		default:
			letters = append(letters, strings.Split(name, "")...)
		}
	}
	return letters, long
}

// word says what the role does to a word.
func (r role) word(x *command.Call, w workspace.Word) {
	files := r == tellsRole || r == readsRole || r == treeRole
	if files && strings.Contains(w.Text, "://") {
		x.Address(w.Text) // some programs fetch what they are given as a file
	}
	switch r {
	case tellsRole:
		x.Name(w)
	case readsRole:
		x.Read(w)
	case treeRole:
		x.ReadTree(w)
	case repositoryRole:
		x.Search(w)
	case makesRole:
		x.Write(w)
	case prefixRole:
		if workspace.Begins(w.Text) {
			x.Add(finding.WritesStartup)
		}
		x.Fill(w)
	case writesRole:
		x.Fill(w)
	case projectRole:
		takesProjectFile(x, w)
	case buildsRole:
		buildsFile(x, w)
	case emptiesRole:
		emptiesDir(x, w)
	case environmentRole:
		testEnvironment(x, w)
	case profilesRole:
		if w.Kind == workspace.Computed || namesProduction(w.Text) {
			x.Add(finding.RemoteSystem)
		}
	case everydayRole:
		if !everydayTarget(w.Text) {
			x.Add(finding.RunsWorkspaceCode)
		}
	case packageRole:
		packageWord(x, w)
	case addressRole:
		x.Address(w.Text)
	case hostRole:
		if carries(w.Text) || workspace.Carries(w.Text) {
			x.Add(finding.UnknownOption)
		}
	case historyRole, changesRole:
		if w = w.Sampled(); git.LeavesOut(w) {
			return
		}
		if r == historyRole {
			x.Read(w)
		} else {
			x.Search(w)
		}
		git.Revision(x, w)
	case jqRole:
		language.JQ(x, w)
	case slugRole:
		if w.Kind != workspace.Literal || !slug.MatchString(w.Text) {
			x.Add(finding.UnknownOption)
		}
	case insideRole, contextRole:
		if r == contextRole {
			x.DeskTree(w)
		}
		if !x.Place.LocalDir(w) {
			x.Add(finding.OutsideProject)
		}
	case psqlRole:
		judgePsql(x, w)
	case postgresRole, mysqlRole, sqliteRole:
		judgeSQL(x, r, w)
	}
}

// option judges the value of an option.
func (e *entry) option(x *command.Call, t command.Token) {
	if !t.Value {
		return
	}
	if t.Word.Kind == workspace.Computed && e.spec.Fixed && t.Word.Sample == "" {
		x.Add(finding.DynamicArgument)
	}
	if shape := e.shapes[t.Option]; shape != nil {
		if w := t.Word.Sampled(); w.Kind != workspace.Literal || !shape.MatchString(w.Text) {
			x.Add(finding.UnknownOption)
		}
	}
	builds := slices.Contains(e.codes, finding.LocalBuild) || e.project != nil
	if builds && t.Option == "o" && x.Place.IsScratch(t.Word) {
		x.Add(finding.WritesOutside) // a program, which others may run
	}
	e.roles[t.Option].word(x, t.Word)
}
