package program

import (
	"regexp"
	"slices"
	"strings"

	"approvalbot/policy/command"
	"approvalbot/policy/finding"
	"approvalbot/policy/language"
	"approvalbot/policy/workspace"
)

// role says what a command does with a word: with an option's value, or an operand.
type role uint8

const (
	textRole        role = iota // it is text
	tellsRole                   // names or facts of a file are told
	readsRole                   // a file's contents are told
	treeRole                    // a file's contents are told, or those of all files below a directory
	repositoryRole              // contents of the workspace's files are told, or of commits
	makesRole                   // a file or directory is made or touched
	writesRole                  // a file is given contents
	projectRole                 // it may name files of the project
	addressRole                 // an address is read
	historyRole                 // contents of files, or of what git has of them, are told
	changesRole                 // the same, of all files below a directory
	jqRole                      // it is a script of jq
	slugRole                    // it is OWNER/NAME, with no host before it
	insideRole                  // a directory of the workspace, in which the program works
	contextRole                 // such a directory, which is handed on with all that is in it
	postgresRole                // statements of SQL for psql
	psqlRole                    // lines for psql: such statements, and commands of its own
	mysqlRole                   // the same for mysql
	sqliteRole                  // the same for sqlite3
	buildsRole                  // a file or directory of the project is made by one of its tools
	emptiesRole                 // such a directory, which is deleted before
	environmentRole             // names of test environments, joined by commas
	everydayRole                // a script or target that builds or checks
	packageRole                 // packages of the project
	hostRole                    // the name of a machine, too short to carry data
	noneRole                    // there must be no such word
)

var roleNames = map[string]role{
	"text": textRole, "tells": tellsRole, "reads": readsRole, "tree": treeRole, "repository": repositoryRole, "makes": makesRole,
	"writes": writesRole, "project": projectRole, "address": addressRole, "history": historyRole, "changes": changesRole, "jq": jqRole, "slug": slugRole, "inside": insideRole, "context": contextRole, "none": noneRole,
	"postgres": postgresRole, "psql": psqlRole, "mysql": mysqlRole, "sqlite": sqliteRole,
	"builds": buildsRole, "empties": emptiesRole, "environment": environmentRole, "package": packageRole, "everyday": everydayRole, "host": hostRole,
}

var slug = regexp.MustCompile(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$`)

// word says what the role does to a word.
func (r role) word(x *command.Call, w workspace.Word) {
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
	case everydayRole:
		if !everydayTarget(w.Text) {
			x.Add(finding.RunsWorkspaceCode)
		}
	case packageRole:
		packageWord(x, w)
	case addressRole:
		x.Address(w.Text)
	case hostRole:
		if carries(w.Text) {
			x.Add(finding.UnknownOption)
		}
	case historyRole:
		w = w.Sampled()
		x.Read(w)
		language.Revision(x, w)
	case changesRole:
		w = w.Sampled()
		x.Search(w)
		language.Revision(x, w)
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

// carries reports a name so long that it may carry data to whoever answers for it.
func carries(name string) bool {
	long := 0
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > 30 {
			long++
		}
	}
	return len(name) > 80 || long > 1
}

// entry is one row of the table: a program, or one of its subcommands.
type entry struct {
	codes     []finding.Code            // what the command is, where nothing worse is found
	spec      command.Spec              // its options
	roles     map[string]role           // what becomes of the options' values
	shapes    map[string]*regexp.Regexp // what such values must look like
	needs     map[string]bool           // options of which one must be given
	lacks     []finding.Code            // what the command is besides without one of them
	operands  role                      // and of the other words
	leading   role                      // and of the first of them
	input     role                      // and of what a here-document gives it, if not text
	skip      int                       // so many leading operands are text
	most      int                       // so many operands there may be, if not 0
	least     int                       // so many operands there must be
	looks     *regexp.Regexp            // what operands must look like
	beside    []beside                  // options that need others
	spelled   *regexp.Regexp            // what words with a dash must look like
	wraps     bool                      // it runs the command that follows
	onedash   bool                      // long options have one dash or two
	version   bool                      // --version alone tells the version, and does nothing else first
	raises    []raise                   // what words make of the command
	verbs     map[string]*entry         // subcommands
	globs     []globVerb                // the same, by patterns
	bare      []finding.Code            // what it is without a subcommand
	otherwise []finding.Code            // what any other subcommand is
	unread    []finding.Code            // what the command is besides, where some word is not recognised
	here      bool                      // it runs code of the project in which it stands
	fetches   bool                      // what it prints comes from the network
	about     []finding.Code            // what it is where it is only asked for its version or for help; bare if nil
	named     []finding.Code            // what it is instead where it has operands
	word      bool                      // a subcommand that is the first of its own operands
	project   *projectTool              // it runs the project's own code
	prelude   language.Prelude          // what stands before the subcommand, where it has rules of its own
	rule      command.Rule              // of a program with a language of its own
	doc       row                       // as it is written
}

// beside are options that need one of the others.
type beside struct{ options, others []string }

type globVerb struct {
	glob string
	*entry
}

// raise is a code for a command in which one of the words stands. A word is a glob in
// small letters; one with "=" stands for two words as well.
type raise struct {
	code  finding.Code
	words []string
}

func (r *raise) in(args []workspace.Word) bool {
	for i, w := range args {
		if w.Kind == workspace.Computed {
			continue
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1].Text
		}
		for _, glob := range r.words {
			if raised(glob, w.Text, next) {
				return true
			}
		}
	}
	return false
}

func raised(glob, word, next string) bool {
	lower := strings.ToLower(word)
	if strings.HasPrefix(glob, "-") {
		if strings.HasPrefix(word, "--") && !strings.HasPrefix(glob, "--") {
			return false
		}
		if glob == word || strings.HasPrefix(word, glob+"=") && strings.HasPrefix(glob, "--") {
			return true
		}
		return workspace.MatchesName(glob, lower) || strings.Contains(glob, "=") && glob == lower+"="+strings.ToLower(next)
	}
	for part := range strings.SplitSeq(lower, ",") {
		if workspace.MatchesName(glob, part) {
			return true
		}
	}
	return false
}

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

// add1 notes what a command is. What builds the project or runs its code may do so
// inside the workspace only.
func addCodes(x *command.Call, codes []finding.Code) {
	for _, c := range codes {
		x.Add(c)
		switch {
		case c != finding.RunsProjectCode && c != finding.LocalBuild, x.Place.LocalDir(workspace.Word{Text: "."}):
		case c == finding.RunsProjectCode:
			x.Add(finding.OutsideProject)
		default:
			x.Add(finding.WritesOutside)
		}
	}
}

func (e *entry) raise(x *command.Call, args []workspace.Word) {
	for i := range e.raises {
		if e.raises[i].in(args) {
			x.Add(e.raises[i].code)
		}
	}
}

// command judges a program with subcommands: options, then the subcommand. What
// raises a class anywhere counts only where something was not recognised.
func (e *entry) command(x *command.Call, name string, args []workspace.Word) {
	if e.prelude != nil {
		args = e.prelude(x, args)
	}
	sp := e.spec
	sp.Posix = true
	c := x.Scanner(&sp, args)
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
	if e.about != nil && (asksAbout(x, args) || len(args) == 1 && args[0].Is("-v")) {
		addCodes(x, e.about)
		return
	}
	addCodes(x, e.bare)
	e.raise(x, args)
}

// unread are the codes of a command of which some word was not recognised.
var unread = finding.Of(finding.UnknownOption, finding.UnknownCommand, finding.DynamicArgument)

// verb gives the row of a subcommand; nil for none.
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
	e.roles[t.Option].word(x, t.Word)
}

// leaf judges a command by its options and operands.
func (e *entry) leaf(x *command.Call, args []workspace.Word) {
	if e.here {
		language.RunsProject(x)
	}
	if e.fetches {
		x.Mark(command.Fetches)
	}
	c := x.Scanner(&e.spec, args)
	var operands []workspace.Word
	var options []string
	given, lacks := false, len(e.needs) > 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option == "" {
			operands = append(operands, t.Word)
			continue
		}
		e.option(x, t)
		options = append(options, t.Option)
		given = given || strings.Contains(e.spec.Given, t.Option)
		lacks = lacks && (!e.needs[t.Option] || t.Word.Is("false"))
		if t.Value && e.spec.All && e.operands == readsRole {
			x.Read(t.Word.Sampled()) // any option of a program that only reads may name a file
		}
	}
	if !e.allows(options) {
		x.Add(finding.UnknownOption)
	}
	e.words(x, operands, given)
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

// allows reports whether the options that a command has may stand together.
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

// words judges the operands of a command; given says that an option has given what is
// the first of them otherwise.
func (e *entry) words(x *command.Call, operands []workspace.Word, given bool) {
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
		if i >= e.skip || given {
			e.operands.word(x, w)
		} else {
			e.leading.word(x, w)
		}
	}
	if e.most > 0 && (len(operands) > e.most || several) || len(operands) < e.least {
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
