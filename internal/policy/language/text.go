package language

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

var grepSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Globs: true, Texts: words.Set("e regexp"),
		Flags: "EFGPivwxclLoqsnHhbaIUzZTurRy", Values: "ABCmefdD", Number: true,
		Long: command.Longs(`extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case
		invert-match word-regexp line-regexp count
		files-with-matches files-without-match only-matching quiet silent no-messages line-number with-filename no-filename byte-offset text
		binary-files= null null-data initial-tab line-buffered recursive dereference-recursive after-context=
		before-context= context= max-count=
		regexp= file= include= exclude= exclude-dir= exclude-from= color color= colour colour= label=`),
	}
})

// grep tells contents. A recursive search reads every file below a directory,
// secrets included, unless --include or the pattern says that it does not.
func grep(x *command.Call, name string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	recursive, narrow, wide, expr, given, named := false, false, false, false, false, true
	tells, near := false, Around{}
	lists, plain, names := false, name == "egrep", []string(nil)
	for _, w := range args {
		plain = plain || w.IsAny("-E", "-P") || extends(w.Text)
	}
	guesses := false
	specific := func(w workspace.Word) bool {
		near.For = append(near.For, w.Text)
		guesses = guesses || guessesSecret(w)
		return specific(w, plain)
	}
	c := x.Scanner(grepSpec(), args)
	var dirs []workspace.Word
	var first workspace.Word // the pattern, or a file if an option gives the pattern
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "r", "R", "recursive", "dereference-recursive":
			recursive = true
		case "l", "files-with-matches":
			lists, tells = true, true
		case "L", "files-without-match", "c", "count", "q", "quiet", "silent":
			tells = true
		case "d":
			recursive = recursive || !t.Word.Is("skip")
		case "e", "regexp":
			given = true
			named = named && specific(t.Word)
		case "f", "file":
			given, named = true, false
			x.Read(t.Word)
		case "v", "invert-match", "z", "null-data":
			named = false
		case "A", "B", "C", "after-context", "before-context", "context":
			near.Option(t.Option, t.Word.Text)
		case "i", "y", "ignore-case":
			near.Folds = true
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9": // -50
			named = false
		case "include":
			narrow = true
			wide = wide || t.Word.Kind == workspace.Computed || !workspace.SourceName(t.Word.Text)
			names = append(names, t.Word.Text)
		case "exclude", "exclude-from":
			wide = true // as the first of them it lets all others in
		case "":
			if !expr {
				expr, first = true, t.Word
				continue
			}
			dirs = append(dirs, t.Word)
		}
	}
	if given && expr {
		dirs = append(dirs, first)
	} else if expr {
		named = named && specific(first)
	}
	named = named && near.Few() || tells && !guesses // it prints which files, or how often, and no line of them
	searched(x, dirs, named)
	if recursive {
		searchesTree(x, dirs, narrow && !wide, named)
	}
	if recursive && lists && !wide {
		printsFound(x, dirs, names)
	}
}

// extends reports a cluster of grep's options with which parentheses in a pattern are
// groups.
func extends(text string) bool {
	return strings.HasPrefix(text, "-") && strings.ContainsAny(text, "EP") && extended.MatchString(text)
}

var extended = lazy.Pattern(`^-[a-zA-Z]*[EP][a-zA-Z]*$`)

// searched judges the operands of a search. If it shows only lines with a word of their
// own, a glob in the workspace is like a directory of it.
func searched(x *command.Call, list []workspace.Word, named bool) {
	for _, w := range list {
		if named && x.LikeDir(w) {
			x.DeskPath(w)
		} else {
			x.Read(w)
		}
	}
}

// specific reports a pattern that finds lines by a word of their own, and that word is not
// one of those beside secrets. Such a pattern does not show whole files. plain says that a
// parenthesis behind a backslash is no group.
func specific(w workspace.Word, plain bool) bool {
	text := w.Text
	if plain {
		text = withoutParens(text)
	}
	return w.Kind == workspace.Literal && !workspace.NearSecret(w.Text) && workspace.OwnWord(strings.ToLower(text))
}

// withoutParens writes another sign for parentheses that mean themselves.
func withoutParens(pattern string) string {
	out := []byte(pattern)
	for i := 0; i+1 < len(out); i++ {
		if out[i] != '\\' {
			continue
		}
		if i++; out[i] == '(' || out[i] == ')' {
			out[i] = '.'
		}
	}
	return string(out)
}

// Around are the lines that a search shows around what it finds. It does not know what is in them.
type Around struct {
	Lines   int      // of one find, at most
	For     []string // what is searched for
	Folds   bool     // letter case does not count
	Visible bool     // files with a dot before their name are left out
}

// Most lines around a find that do not show a whole file: if files with a dot before their name are searched, and if not.
const (
	mostAround  = 6
	mostVisible = 20
)

// Option notes an option that says how many lines there are on one side, or on both.
func (a *Around) Option(name, value string) {
	lines, err := strconv.Atoi(value)
	if err != nil || lines < 0 || lines > mostVisible {
		lines = mostVisible + 1
	}
	if name == "C" || strings.HasSuffix(name, "context") && !strings.HasPrefix(name, "after") && !strings.HasPrefix(name, "before") {
		lines *= 2
	}
	a.Lines += lines
}

// Few reports that they do not show a file with secrets. Its first line is often one with a variable that every such
// file has (NODE_ENV, PORT), so a search for what may be a variable's name shows none of them.
func (a *Around) Few() bool {
	names := func(pattern string) bool {
		return capitals.MatchString(pattern) || a.Folds && variable.MatchString(pattern)
	}
	switch {
	case a.Lines == 0:
		return true
	case a.Visible:
		return a.Lines <= mostVisible
	}
	return a.Lines <= mostAround && !slices.ContainsFunc(a.For, names)
}

// capitals finds a word of capitals, as variables' names are.
var capitals = lazy.Pattern(`(?:^|[^A-Za-z0-9_])[A-Z_][A-Z0-9_.]{2,}(?:$|[^A-Za-z0-9_])`)

var variable = lazy.Pattern(`^\W*[A-Za-z][A-Za-z0-9_]*\W*$`)

// guessesSecret reports a search that by telling whether it finds something tells what a secret begins with.
func guessesSecret(w workspace.Word) bool {
	return workspace.NearSecret(w.Text) && (w.Kind != workspace.Literal || strings.ContainsAny(w.Text, "=:[$"))
}

// searchesTree judges reading all files below directories. narrow says that their names
// are limited to what is no secret, named that their lines are, which is enough
// in the workspace only.
func searchesTree(x *command.Call, dirs []workspace.Word, narrow, named bool) {
	inside := x.Place.Known() && x.Place.LocalDir(workspace.Word{Text: "."})
	if !narrow && !(named && inside) {
		x.Add(finding.MayReadSecret)
	}
	for _, d := range dirs {
		x.DeskTree(d)
		inside := x.Place.LocalDir(d) || d.Kind == workspace.Pattern && x.Place.Local(d)
		if !inside && x.Place.Known() {
			x.Add(finding.MayReadSecret)
		}
	}
}

var ripgrepSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Texts: words.Set("e regexp"),
		Flags: "ivwxclnNHhoqFPsSUapI0u.", Values: "ABCmejEtTrgM", Number: true,
		Long: command.Longs(`ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count
		count-matches files-with-matches files-without-match
		line-number no-line-number with-filename no-filename heading no-heading only-matching quiet fixed-strings
		pcre2 multiline text json column
		trim vimgrep stats after-context= before-context= context= max-count= regexp= color= colors= type= type-not= glob= iglob= max-depth=
		max-columns= sort= sortr= replace= threads= type-list files null no-config no-messages hidden no-ignore
		no-ignore-vcs unrestricted`),
	}
})

// ripgrep searches recursively by itself; a glob or a type narrows it.
func ripgrep(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	tells := false
	lists, narrow, wide, expr, given, named := false, false, false, false, false, true
	names, printed, other := []string(nil), false, false
	near, guesses := Around{Visible: true}, false
	specific := func(w workspace.Word) bool {
		near.For = append(near.For, w.Text)
		guesses = guesses || guessesSecret(w)
		return specific(w, true)
	}
	c := x.Scanner(ripgrepSpec(), args)
	var dirs []workspace.Word
	var first workspace.Word
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "g", "glob", "iglob":
			switch {
			case t.Word.Kind == workspace.Literal && strings.HasPrefix(t.Word.Text, "!"): // what is left out
				continue
			case t.Word.Kind != workspace.Literal || !narrows(t.Word.Text):
				x.Add(finding.MayReadSecret)
			}
			narrow = true
			names = append(names, t.Word.Text)
		case "l", "files-with-matches":
			printed, tells = true, true
		case "files-without-match", "c", "count", "count-matches", "q", "quiet":
			tells = true
		case "json":
			other = true
		case "t", "type":
			narrow, wide = true, wide || !CodeTypes.Has(t.Word.Text)
			ends := "*"
			if CodeTypes.Has(t.Word.Text) {
				ends = "*." + t.Word.Text // in place of the endings of the type, which are not known here
			}
			names = append(names, ends)
		case "files", "type-list":
			lists, given = true, true
			printed, other = printed || t.Option == "files", other || t.Option == "type-list"
		case "v", "invert-match", "U", "multiline", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
			named = false
		case "A", "B", "C", "after-context", "before-context", "context":
			near.Option(t.Option, t.Word.Text)
		case "i", "ignore-case", "S", "smart-case":
			near.Folds = true
		case "u", ".", "hidden", "no-ignore", "no-ignore-vcs", "unrestricted":
			near.Visible = false
		case "e", "regexp":
			given = true
			named = named && specific(t.Word)
		case "":
			if !expr {
				expr, first = true, t.Word
				continue
			}
			dirs = append(dirs, t.Word)
		}
	}
	if given && expr {
		dirs = append(dirs, first)
	} else if expr {
		named = named && specific(first)
	}
	named = named && near.Few() || tells && !guesses
	searched(x, dirs, named)
	input := x.Piped && len(dirs) == 0 && !lists
	if !input && !filesOnly(dirs) {
		searchesTree(x, dirs, lists || narrow && !wide, named)
	}
	open := slices.ContainsFunc(names, func(n string) bool { return strings.ContainsAny(n, "/{,") })
	prints := printed && !other
	if prints && !input && !open {
		printsFound(x, dirs, names)
	}
}

// filesOnly reports words that are all names of files, and some.
func filesOnly(list []workspace.Word) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(w workspace.Word) bool {
		return w.Kind != workspace.Literal || !workspace.PlainFile(strings.ToLower(path.Base(w.Text)))
	})
}

// narrows reports a glob of ripgrep that lets no secrets in.
func narrows(glob string) bool {
	list, ok := workspace.Alternatives(glob)
	if !ok || len(list) == 0 || strings.HasPrefix(glob, "!") {
		return false
	}
	return !slices.ContainsFunc(list, func(alt string) bool { return workspace.HitsSecret(alt, true) })
}

// CodeTypes are the types of files, as ripgrep names them, that hold code or text.
var CodeTypes = lazy.Words(`go py python js ts rust rs c cpp java kotlin ruby php swift cs css html md markdown lua
	perl sql scala proto make cmake`)

// plainSed are the commands of sed that can only print, delete and add text.
// sed can also run commands and write files.
var (
	plainSed = lazy.Pattern(`^(?:[pdq=])?$`)
	sedAt    = lazy.Pattern(`^(?:(?:\d+|\$|` + sedRegexp + `)(?:,(?:\d+|\$|\+\d+|` + sedRegexp + `))?)?!?`)
	sedAdds  = lazy.Pattern(`^[aic](?:\\ ?| )[^\\\n;{}]*$`)
)

// sedRegexp is an address that every sed ends at the same slash: no slash is in brackets,
// and a backslash takes the next character with it.
const sedRegexp = `/(?:[^/\\\[\n]|\\[^\nc]|\[\^?[A-Za-z0-9 _.,#*+=-]+\])*/`

// plainScript reports one such command, with its address.
func plainScript(part string) bool {
	part = strings.TrimSpace(part)
	part = part[len(sedAt.FindString(part)):]
	return plainSed.MatchString(part) || sedAdds.MatchString(part) || substitutes(part)
}

// deletesAll reports a script that begins with deleting every line, or the
// lines of a pattern that fits a line of any text.
func deletesAll(script string) bool {
	m := sedDeletes.FindStringSubmatch(script)
	if m == nil || m[1] == "" {
		return m != nil
	}
	lines, err := regexp.Compile(strings.NewReplacer(`\(`, "(", `\)`, ")", `\|`, "|").Replace(m[1]))
	return err == nil && lines.MatchString("\x01")
}

var sedDeletes = lazy.Pattern(`^\s*(?:[01] *, *(?:\$|\+?[0-9]{4,})|/((?:[^/\\]|\\.)*)/)? *d(?:[; ].*)?$`)

// substitutes reports s/a/b/ with any separator, and with flags that neither run a command
// nor write a file.
func substitutes(part string) bool {
	if len(part) < 4 || part[0] != 's' || !separates(part[1]) {
		return false
	}
	seps, i := 1, 2
	for ; i < len(part) && seps < 3; i++ {
		switch part[i] {
		case '\n':
			return false
		case '\\':
			i++
		case '[':
			if seps > 1 {
				continue
			}
			end := workspace.BracketEnd(part, i)
			if end < 0 || strings.ContainsAny(part[i:end], "\\\n"+part[1:2]) {
				return false // seds differ on the end of s then
			}
			i = end
		case part[1]:
			seps++
		}
	}
	return seps == 3 && i <= len(part) && strings.Trim(part[i:], "gIp0123456789") == ""
}

// separates reports a sign that every sed takes between the parts of s.
func separates(c byte) bool {
	sign := c > ' ' && c < 0x80 && !words.WordByte(c)
	return sign && strings.IndexByte(`\[]`, c) < 0
}

// slashScript is a script with the signs of a glob that is what it says, and not the name
// of a file instead, which has no slash in it.
var slashScript = lazy.Pattern(`^[0-9,$]*s/[^;\n]*/[^;\n]*/[gIp0-9]*$`)

// otherSed is a file's name that writes or reads another file if it is taken for the
// script: sed of BSD takes the word after -i for a suffix, and the next one for the script.
var otherSed = lazy.Pattern(`^[^a-zA-Z]*([wWr])[ \t]*(.+)$`)

var sedSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Flags: "nErsuz", Values: "e",
		Long: command.Longs("quiet silent regexp-extended expression= separate unbuffered null-data posix in-place"),
	}
})

// sed edits a stream, or with -i the files it names.
func sed(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	c := x.Scanner(sedSpec(), args)
	script, places, suffix := false, false, false
	scripts, quiet, files := []string(nil), false, 0
	check := func(w workspace.Word) {
		script = true
		scripts = append(scripts, w.Text)
		if deletesAll(w.Text) {
			x.Mark(command.PrintsNothing)
		}
		if !w.Fixed(slashScript.Compiled()) {
			x.Add(finding.InterpreterCode)
			return
		}
		if plainScript(w.Text) {
			return
		}
		for part := range strings.SplitSeq(w.Text, ";") {
			if !plainScript(part) {
				x.Add(finding.InterpreterCode)
			}
		}
	}
	for i, w := range args {
		if w.IsAny("-i", "-i.bak", "-i.orig", "-ni", "-Ei", "-ri") {
			places, suffix = true, true
			quiet = quiet || w.Is("-ni")
			args = append(append([]workspace.Word{}, args[:i]...), args[i+1:]...)
			if i < len(args) && args[i].Is("") {
				args = append(args[:i], args[i+1:]...) // as sed of BSD takes it
			}
			c.Args = args
			break
		}
	}
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if suffix && script && t.Option == "" {
			takenForScript(x, t.Word)
		}
		quiet = quiet || words.Any(t.Option, "n", "quiet", "silent")
		if t.Option == "" && script {
			if files++; t.Word.Kind != workspace.Literal || x.Looped {
				files++
			}
		}
		switch {
		case t.Option == "e" || t.Option == "expression":
			check(t.Word)
		case t.Option == "in-place":
			places = true
			if t.Value {
				x.Add(finding.UnknownOption) // the directory or ending of the old file
			}
		case t.Option != "":
		case !script:
			check(t.Word)
		case places && x.OwnFiles(t.Word):
			x.Add(finding.WorkspaceWrite)
			x.Mark(command.WritesCode)
		case places:
			x.Fill(t.Word)
			x.Read(t.Word)
		default:
			x.Read(t.Word)
		}
	}
	if places && files > 1 && (quiet || losesMuch(strings.Join(scripts, ";"))) {
		x.Add(finding.DeletesFile) // of many files no more is left than of ones that are deleted
	}
}

// takenForScript judges a file's name that is the script to another sed.
func takenForScript(x *command.Call, w workspace.Word) {
	switch m := otherSed.FindStringSubmatch(w.Text); {
	case m == nil:
	case m[1] == "r":
		x.Read(workspace.Word{Text: m[2], Kind: w.Kind})
	default:
		x.Fill(workspace.Word{Text: m[2], Kind: w.Kind})
	}
}

// wildAwk are the words and signs with which awk reads, writes and runs things
// beyond its input.
var wildAwk = lazy.Pattern("[|<>@`]|system|getline|ENVIRON|PROCINFO|FUNCTAB|SYMTAB|/inet|extension|ARGV|ARGC")

func awk(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	c := x.Scanner(&command.Spec{Values: "Fv", Posix: true}, args)
	program := false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option != "":
			if t.Word.Kind == workspace.Computed {
				x.Add(finding.DynamicArgument)
			}
		case !program:
			program = true
			if t.Word.Kind != workspace.Literal || wildAwk.MatchString(compared(t.Word.Text)) {
				x.Add(finding.InterpreterCode)
			}
		case strings.HasPrefix(t.Word.Text, "/inet"):
			x.Add(finding.UnknownOption) // some awks open connections by such a name
		default:
			x.Read(t.Word)
		}
	}
}

// compared takes out of an awk program what only compares and joins conditions:
// ">" writes a file only in an action that prints.
func compared(program string) string {
	if rest := awkRegexp.ReplaceAllString(program, "$1"); !strings.Contains(rest, "/") {
		program = rest // what is left could be the other half of a regular expression
	}
	program = strings.NewReplacer("||", " ", ">=", " ", "<=", " ").Replace(program)
	program = awkCondition.ReplaceAllStringFunc(program,
		func(c string) string { return strings.NewReplacer(">", " ", "<", " ").Replace(c) })
	head, rest, _ := strings.Cut(program, "{")
	if !strings.Contains(program, "getline") {
		head = strings.NewReplacer(">", " ", "<", " ").Replace(head)
	}
	return head + "{" + rest
}

// awkRegexp is a pattern at a position at which there can be no division.
var awkRegexp = lazy.Pattern(`(^|\|\||&&|[!~(,;{])\s*/[\w|.^$ -]*/`)

// awkCondition is a comparison in parentheses, in which ">" writes no file.
var awkCondition = lazy.Pattern(`\([\w$.\s&!=<>+*-]*\)`)

// JQ judges a script of jq in an option of another program.
func JQ(x *command.Call, w workspace.Word) {
	if w.Kind != workspace.Literal || wildJq.MatchString(w.Text) {
		x.Add(finding.InterpreterCode)
	}
}

// wildJq are the words with which jq reads the environment and other files. wildYq are also
// those with which yq runs text.
var (
	wildJq = lazy.Pattern(`env|ENV|import|include|modulemeta`)
	wildYq = lazy.Pattern(`env|ENV|import|include|modulemeta|load|eval|system|split_doc`)
)

// fieldJq is a program that prints only fields that hold no secret in any file.
var fieldJq = lazy.Pattern(`^(?:\.[A-Za-z_][A-Za-z0-9_-]*(?:\[\d*\])?)*` +
	`\.(?:version|name|kind|apiVersion|namespace|type|id|title|description|scripts|engines|main|module|license|private|status|replicas|workspaces|(?:d|devD|peerD)ependencies)` +
	`(?: ?\| ?(?:length|keys|type))?$`)

var (
	jqSpec = sync.OnceValue(func() *command.Spec {
		return &command.Spec{Flags: "rcSesnMCajR", Long: command.Longs(`raw-output compact-output sort-keys exit-status
		slurp null-input monochrome-output color-output tab indent= join-output raw-input`)}
	})
	// yq is two programs; each of these options means the same to both, or is unknown to
	// one.
	yqSpec = sync.OnceValue(func() *command.Spec {
		return &command.Spec{Flags: "recnMCPNji", Values: "poI", Strict: true, Long: command.Longs(`inplace in-place
		exit-status colors no-colors no-doc prettyPrint unwrapScalar unwrapScalar= null-input output-format= input-format= indent=`)}
	})
)

func jq(x *command.Call, name string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	sp, wild := jqSpec(), wildJq
	if name == "yq" {
		sp, wild = yqSpec(), wildYq
		if len(args) > 0 && args[0].IsAny("eval", "e", "eval-all", "ea") {
			args = args[1:]
		}
	} else {
		args = namedFiles(x, args)
	}
	c := x.Scanner(sp, args)
	program, fields, places, files := false, false, false, 0
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option == "i" || t.Option == "inplace" || t.Option == "in-place":
			places = true
			if t.Value || program {
				x.Add(finding.UnknownOption)
			}
		case t.Option != "":
		case !program:
			program = true
			if !t.Word.Fixed(indexed.Compiled()) || wild.MatchString(t.Word.Text) {
				x.Add(finding.InterpreterCode)
			}
			if places && !strings.ContainsAny(t.Word.Text, "=|(") {
				x.Add(finding.UnknownOption) // it may be a file, which is rewritten then
			}
			fields = t.Word.Kind == workspace.Literal && fieldJq.MatchString(t.Word.Text)
			if name == "yq" {
				x.Read(t.Word) // if there is such a file, yq takes the word for it
			}
		case places:
			files++
			x.Read(t.Word)
			x.Fill(t.Word)
		default:
			searched(x, []workspace.Word{t.Word}, fields)
		}
	}
	if places && files == 0 {
		x.Add(finding.UnknownOption)
	}
}

// indexed is a program of jq with the signs of a glob only as an index.
var indexed = lazy.Pattern(`^\.[\w.-]*(?:\[\d*\][\w.-]*)+$`)

// namedFiles takes jq's options --arg and --argjson out, whose two values are text.
func namedFiles(x *command.Call, args []workspace.Word) (rest []workspace.Word) {
	for i := 0; i < len(args); i++ {
		if args[i].Is("--arg") || args[i].Is("--argjson") {
			for _, w := range args[min(i+1, len(args)):min(i+3, len(args))] {
				x.One(w)
			}
			i += 2
			continue
		}
		if args[i].Is("--") {
			return append(rest, args[i:]...)
		}
		rest = append(rest, args[i])
	}
	return rest
}

// printf prints. Some of its conversions set variables, and some evaluate their
// argument in some shells: only text and numbers written out pass.
func printf(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	if len(args) > 0 && args[0].Is("--") {
		args = args[1:]
	}
	if len(args) == 0 || args[0].Kind != workspace.Literal || args[0].MayBeOption() {
		x.Add(finding.UnknownOption)
		return
	}
	numbers := false
	format := args[0].Text
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0; i++ {
		}
		if i == len(format) || strings.IndexByte("sbqc%diuxXofeEgG", format[i]) < 0 {
			x.Add(finding.UnknownOption)
			return
		}
		numbers = numbers || strings.IndexByte("sbqc%", format[i]) < 0
	}
	for _, w := range args[1:] {
		if numbers && (w.Kind != workspace.Literal || strings.Trim(w.Text, "0123456789.+-") != "") {
			x.Add(finding.DynamicArgument)
		}
	}
}

// numeric are the tests that compare numbers.
var numeric = lazy.Words("-eq -ne -lt -le -gt -ge")

// counted reports whether the word at a position is a number, which needs no evaluation.
func counted(args []workspace.Word, i int) bool {
	if i < 0 || i >= len(args) {
		return false
	}
	return args[i].Status || args[i].Number()
}

// looksAt reports a test of one file or text.
func looksAt(w workspace.Word) bool {
	const tests = "-e-f-d-r-w-x-s-z-n-L-h-p-S-b-c-g-u-k-O-G-N"
	return w.Kind == workspace.Literal && len(w.Text) == 2 && strings.Contains(tests, w.Text)
}

// test judges test and [. A computed word is accepted only in a position in which it can only
// be an operand, because -v and -R evaluate text.
func test(x *command.Call, name string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	if name == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	}
	for len(args) > 0 && args[0].Is("!") {
		args = args[1:]
	}
	fixed := true
	for i, w := range args {
		between := counted(args, i-1) && counted(args, i+1)
		descriptor := i+1 < len(args) && words.Digits(args[i+1].Text)
		switch {
		case numeric.Has(w.Text) && !between, w.Is("-t") && !descriptor:
			x.Add(finding.DynamicArgument) // some shells evaluate what is compared as a number
		}
		written := w.Kind == workspace.Literal && !strings.ContainsAny(w.Text, "[`$")
		fixed = fixed && written && !w.IsAny("-v", "-R")
		if w.Split && !w.Status {
			x.Add(finding.DynamicArgument)
		}
	}
	if fixed {
		return
	}
	switch {
	case len(args) == 3 && args[1].Kind == workspace.Literal && numeric.Has(args[1].Text):
	case len(args) == 1:
	case len(args) == 2 && looksAt(args[0]):
	case len(args) == 3 && args[1].IsAny("=", "==", "!=", "-nt", "-ot", "-ef"):
	default:
		x.Add(finding.DynamicArgument)
	}
}
