package policy

import (
	"regexp"
	"strings"
)

// textTools search and rewrite text; some of them can do more than that.
func textTools(m map[string]rule) {
	for _, n := range [...]string{"grep", "egrep", "fgrep", "zgrep"} {
		m[n] = grep
	}
	m["rg"], m["sed"], m["gsed"] = ripgrep, sed, sed
	m["awk"], m["gawk"], m["mawk"], m["nawk"] = awk, awk, awk, awk
	m["jq"], m["printf"], m["test"], m["["] = jq, printf, test, test
}

var grepSpec = spec{
	flags: "EFGPivwxclLoqsnHhbaIUzZTurRy", vals: "ABCmefdD", num: true,
	long: longs(`extended-regexp fixed-strings basic-regexp perl-regexp ignore-case no-ignore-case invert-match word-regexp line-regexp count
		files-with-matches files-without-match only-matching quiet silent no-messages line-number with-filename no-filename byte-offset text
		binary-files= null null-data initial-tab line-buffered recursive dereference-recursive after-context= before-context= context= max-count=
		regexp= file= include= exclude= exclude-dir= exclude-from= color color= colour= colour= label=`),
}

// grep tells contents. A recursive search reads every file below a directory,
// secrets included, unless --include says that it does not.
func grep(s *shell, _ string, args []word) {
	s.found.add(readOnlyCommand)
	recursive, narrow, wide, expr := false, false, false, false
	c := s.scanner(&grepSpec, args)
	var dirs []word
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "r", "R", "recursive", "dereference-recursive":
			recursive = true
		case "d":
			recursive = recursive || !t.word.is("skip")
		case "e", "regexp":
			expr = true
		case "f", "file":
			expr = true
			s.read(t.word)
		case "include":
			narrow = true
			wide = wide || t.word.kind == computed || hitsSecret(t.word.text)
		case "":
			if !expr {
				expr = true
				continue
			}
			dirs = append(dirs, t.word)
			s.read(t.word)
		}
	}
	if recursive {
		s.tree(dirs, narrow && !wide)
	}
}

// tree judges reading all files below directories. narrow says that their names
// are limited to what is no secret.
func (s *shell) tree(dirs []word, narrow bool) {
	if !narrow {
		s.found.add(mayReadSecret)
	}
	for _, d := range dirs {
		s.deskTree(d)
		if !s.localDir(d) && s.place.root != "" {
			s.found.add(mayReadSecret)
		}
	}
}

var ripgrepSpec = spec{
	flags: "ivwxclnNHhoqFPsSUapI0", vals: "ABCmejEtTrgM", num: true,
	long: longs(`ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches files-with-matches files-without-match
		line-number no-line-number with-filename no-filename heading no-heading only-matching quiet fixed-strings pcre2 multiline text json column
		trim vimgrep stats after-context= before-context= context= max-count= regexp= color= colors= type= type-not= glob= iglob= max-depth=
		max-columns= sort= sortr= replace= threads= type-list files null no-config no-messages`),
}

// ripgrep searches recursively by itself; a glob or a type narrows it.
func ripgrep(s *shell, _ string, args []word) {
	s.found.add(readOnlyCommand)
	narrow, expr := false, false
	c := s.scanner(&ripgrepSpec, args)
	var dirs []word
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "g", "glob", "iglob":
			if t.word.kind != literal || strings.HasPrefix(t.word.text, "!") || hitsSecret(t.word.text) {
				s.found.add(mayReadSecret)
			}
			narrow = true
		case "t", "type":
			narrow = narrow || codeTypes[t.word.text]
		case "files", "type-list":
			narrow, expr = true, true
		case "e", "regexp":
			expr = true
		case "":
			if !expr {
				expr = true
				continue
			}
			dirs = append(dirs, t.word)
			s.read(t.word)
		}
	}
	s.tree(dirs, narrow)
}

var codeTypes = set("go py python js ts rust rs c cpp java kotlin ruby php swift cs css html md markdown lua perl sql scala proto make cmake")

// plainSed are the scripts of sed that can only print and substitute. sed can
// also run commands and write files.
var plainSed = regexp.MustCompile(`^(?:(?:(?:\d+|\$|/[^/\\\[\n]*/)(?:,(?:\d+|\$|\+\d+|/[^/\\\[\n]*/))?)?[pdq=]|s/[^/\\\[\n]*/[^/\\\[\n]*/[gIp0-9]*)$`)

func sed(s *shell, _ string, args []word) {
	s.found.add(readOnlyCommand)
	c := s.scanner(&spec{flags: "nErsuz", vals: "e", long: longs("quiet silent regexp-extended expression= separate unbuffered null-data posix")}, args)
	script := false
	check := func(w word) {
		script = true
		for part := range strings.SplitSeq(w.text, ";") {
			if w.kind == computed || !plainSed.MatchString(strings.TrimSpace(part)) {
				s.found.add(interpreterCode)
			}
		}
	}
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option == "e" || t.option == "expression":
			check(t.word)
		case t.option != "":
		case !script:
			check(t.word)
		default:
			s.read(t.word)
		}
	}
}

// wildAwk are the words and signs with which awk reads, writes and runs things
// beyond its input.
var wildAwk = regexp.MustCompile("[|<>@`]|system|getline|ENVIRON|PROCINFO|FUNCTAB|SYMTAB|/inet|extension|ARGV|ARGC")

func awk(s *shell, _ string, args []word) {
	s.found.add(readOnlyCommand)
	c := s.scanner(&spec{vals: "Fv", posix: true}, args)
	program := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option != "":
			if t.word.kind == computed {
				s.found.add(dynamicArgument)
			}
		case !program:
			program = true
			if t.word.kind == computed || wildAwk.MatchString(t.word.text) {
				s.found.add(interpreterCode)
			}
		default:
			s.read(t.word)
		}
	}
}

// wildJq are the words with which jq reads the environment and other files.
var wildJq = regexp.MustCompile(`env|ENV|import|include|modulemeta`)

func jq(s *shell, _ string, args []word) {
	s.found.add(readOnlyCommand)
	c := s.scanner(&spec{flags: "rcSesnMCajR", long: longs("raw-output compact-output sort-keys exit-status slurp null-input monochrome-output color-output tab indent= join-output raw-input")}, args)
	program := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option != "":
		case !program:
			program = true
			if t.word.kind == computed || wildJq.MatchString(t.word.text) {
				s.found.add(interpreterCode)
			}
		default:
			s.read(t.word)
		}
	}
}

// printf prints. Some of its conversions set variables, and some evaluate their
// argument in some shells: only text and numbers written out pass.
func printf(s *shell, _ string, args []word) {
	s.found.add(readOnlyCommand)
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	if len(args) == 0 || args[0].kind == computed || args[0].mayBeOption() {
		s.found.add(unknownOption)
		return
	}
	numbers := false
	format := args[0].text
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		for i++; i < len(format) && strings.IndexByte("-+ #0123456789.", format[i]) >= 0; i++ {
		}
		if i == len(format) || strings.IndexByte("sbqc%diuxXofeEgG", format[i]) < 0 {
			s.found.add(unknownOption)
			return
		}
		numbers = numbers || strings.IndexByte("sbqc%", format[i]) < 0
	}
	for _, w := range args[1:] {
		if numbers && (w.kind != literal || strings.Trim(w.text, "0123456789.+-") != "") {
			s.found.add(dynamicArgument)
		}
	}
}

// numeric are the tests that compare numbers.
var numeric = set("-eq -ne -lt -le -gt -ge")

// test judges test and [. Words that are computed stand where they can only be
// operands, since -v and -R evaluate text.
func test(s *shell, name string, args []word) {
	s.found.add(readOnlyCommand)
	if name == "[" && len(args) > 0 {
		args = args[:len(args)-1]
	}
	for len(args) > 0 && args[0].is("!") {
		args = args[1:]
	}
	fixed := true
	for i, w := range args {
		if numeric[w.text] && (i == 0 || i+1 == len(args) || !digits(args[i-1].text) || !digits(args[i+1].text)) || w.is("-t") && (i+1 == len(args) || !digits(args[i+1].text)) {
			s.found.add(dynamicArgument) // some shells evaluate what is compared as a number
		}
		fixed = fixed && w.kind == literal && w.text != "-v" && w.text != "-R" && !strings.ContainsAny(w.text, "[`$")
		if w.split {
			s.found.add(dynamicArgument)
		}
	}
	if fixed {
		return
	}
	switch {
	case len(args) == 1:
	case len(args) == 2 && args[0].kind == literal && len(args[0].text) == 2 && strings.Contains("-e-f-d-r-w-x-s-z-n-L-h-p-S-b-c-g-u-k-O-G-N", args[0].text):
	case len(args) == 3 && (args[1].is("=") || args[1].is("==") || args[1].is("!=") || args[1].is("-nt") || args[1].is("-ot") || args[1].is("-ef")):
	default:
		s.found.add(dynamicArgument)
	}
}
