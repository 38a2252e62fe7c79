package language

import (
	"path"
	"slices"
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
			named = near.Note(t.Word, plain) && named
		case "f", "file":
			given, named, near.open = true, false, true
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
			wide = wide || t.Word.Kind == workspace.Computed || !workspace.SourceName(t.Word.Text) || nameless(t.Word.Text)
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
		named = near.Note(first, plain) && named
	}
	listed := len(dirs) > 0 && slices.ContainsFunc(dirs, func(d workspace.Word) bool { return d.Kind != workspace.Literal })
	guesses := near.Tells || (recursive || listed) && (!narrow || wide) && near.whole(x, dirs, tells)
	named = named && near.Few() && !near.Near() && !near.beside || tells && !guesses // it prints which files, or how often, and no line of them
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
	shows, lists, narrow, wide, expr, given, named := false, false, false, false, false, false, true
	names, printed, other := []string(nil), false, false
	near := Around{Visible: true}
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
		case "json": // it prints lines, also after another mode
			other, shows = true, true
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
			named = near.Note(t.Word, true) && named
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
		named = near.Note(first, true) && named
	}
	tells = tells && !shows
	guesses := near.Tells || (!narrow || wide) && near.whole(x, dirs, tells)
	named = named && near.Few() && !near.Near() && !near.beside || tells && !guesses
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
	return !slices.ContainsFunc(list, func(alt string) bool { return workspace.HitsSecret(alt, true) || nameless(alt) })
}

// nameless reports a name without an ending that is no usual file's. It may lie in a folder of secrets, which it does not name.
func nameless(name string) bool {
	return !strings.ContainsAny(name, "*?[{/") && !words.Any(name, "BUILD", "WORKSPACE", "Jenkinsfile") && !workspace.PlainFile(strings.ToLower(name))
}

// CodeTypes are the types of files, as ripgrep names them, that hold code or text.
var CodeTypes = lazy.Words(`go py python js ts rust rs c cpp java kotlin ruby php swift cs css html md markdown lua
	perl sql scala proto make cmake`)

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
