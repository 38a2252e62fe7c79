package shell

import (
	"bytes"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
)

// reserved words of any of the shells, in the position of a command's name.
var reserved = lazy.Words(`if then elif else fi for in do done while until case esac select function time coproc foreach end repeat
	nocorrect noglob - typeset declare local export readonly integer float nameref [[`)

// zshNames are variables that zsh ties to what it does; some are several words
// also in quotes. bash's auto_resume and histchars are among them.
var zshNames = lazy.Words(`path fpath cdpath manpath mailpath module_path fignore psvar prompt argv status aliases galiases saliases dis_aliases
	dis_galiases dis_saliases functions dis_functions functions_source dis_functions_source options commands builtins dis_builtins reswords
	dis_reswords patchars dis_patchars parameters history historywords histchars nameddirs userdirs usergroups modules dirstack jobdirs
	jobstates jobtexts funcstack functrace funcfiletrace funcsourcetrace pipestatus signals watch widgets keymaps term termcap terminfo
	mapfile errnos sysparams epochtime langinfo zsh_eval_context zsh_scheduled_events auto_resume
	precmd_functions preexec_functions chpwd_functions periodic_functions zshexit_functions zshaddhistory_functions
	zsh_directory_name_functions`)

// comparers are programs that read the files they are given from the first byte to
// the last, and so may be given <( ).
var comparers = lazy.Words("diff cmp comm join paste cat sort uniq head tail wc nl cut grep sdiff colordiff md5sum sha256sum")

// locales are those by which shells read text.
var locales = lazy.Words("LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME LANGUAGE")

// locale reports a locale in which every byte below 0x80 is ASCII.
func locale(name string) bool {
	lower := strings.ToLower(name)
	utf8 := strings.HasSuffix(lower, ".utf-8") || strings.HasSuffix(lower, ".utf8")
	return utf8 || name == "C" || name == "POSIX"
}

// assignable reports a variable that a line may set: a name in small letters that
// no shell obeys, or one of [Settings].
func assignable(name string) bool {
	return settable(name) || name == strings.ToLower(name) && readable(name)
}

// readable reports a variable that every shell takes for a text. What it may hold
// is policy's to say. IFS holds a NUL in zsh, at which the word of a program ends.
func readable(name string) bool {
	return name != "" && name != "_" && name != "IFS" && !zshNames.Has(name)
}

// builtins are all builtins of the five shells, with the words that they may be given.
// Builtins evaluate words: if one takes a number or a variable's name, some shell runs what
// is between the brackets of "a[$(…)]". A builtin without a rule is refused.
var builtins = sync.OnceValue(func() map[string]func([][]byte) bool {
	m := map[string]func([][]byte) bool{}
	for name := range strings.FieldsSeq(`. : [ alias autoload bg bind bindkey break builtin bye cap caller cd chdir clone command
		comparguments compcall compctl
		compadd compdescribe compfiles compgen compgroups complete compopt compquote compset comptags comptry
		compvalues continue declare dirs
		disable disown echo echotc echoti emulate enable eval exec exit export false fc fg float functions getcap getln getopts global hash
		help history integer jobs kill let limit local log login logout mapfile nameref nohup noglob popd print printf private pushd pushln
		pwd r read readarray readonly rehash rename return sched set setcap setopt shift shopt source stop suspend test times trap true
		ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt vared wait whence where which zcompile zformat zle
		zmodload zparseopts zregexparse zstyle mknod bashopts realpath`) {
		m[name] = nil
	}
	for name := range strings.FieldsSeq("true false pwd echo : which type realpath") {
		m[name] = func([][]byte) bool { return true }
	}
	m["cd"] = func(args [][]byte) bool {
		return len(args) == 0 || len(args) == 1 && bytes.IndexByte(args[0], '{') < 0 // of two words zsh makes one directory
	}
	m["command"] = func(args [][]byte) bool { return len(args) == 2 && is(args[0], "-v") }
	m["break"] = func(args [][]byte) bool { return len(args) == 0 || len(args) == 1 && number(args[0]) }
	m["exit"] = func(args [][]byte) bool { return m["break"](args) || len(args) == 1 && status(args[0]) }
	m["continue"] = m["break"]
	m["wait"] = func(args [][]byte) bool { return len(args) == 0 }
	m["jobs"], m["times"], m["hash"] = m["wait"], m["wait"], m["wait"]
	m["umask"] = m["break"]
	m["kill"] = allLiteral
	m["."] = func(args [][]byte) bool { // without a slash shells search in different places
		path, ok := "", len(args) == 1
		if ok {
			path, ok = literal(args[0])
		}
		return ok && strings.Contains(path, "/") && path[0] != '-'
	}
	m["source"] = m["."]
	m["set"], m["read"], m["printf"] = setWords, readWords, printfWords
	m["test"] = testWords
	m["["] = func(args [][]byte) bool {
		return len(args) > 0 && is(args[len(args)-1], "]") && testWords(args[:len(args)-1])
	}
	return m
})

// split gives the words of a form.
func split(form []byte) (words [][]byte) {
	start, depth := 0, 0
	for i, c := range form {
		switch c {
		case markSubst, markQuoted, markFile:
			depth++
		case markSubstEnd:
			depth--
		case markWord:
			if depth == 0 {
				words = append(words, form[start:i])
				start = i + 1
			}
		}
	}
	return words
}

func is(word []byte, text string) bool { return string(word) == text }

func allLiteral(args [][]byte) bool {
	for _, a := range args {
		if _, ok := literal(a); !ok {
			return false
		}
	}
	return true
}

func number(word []byte) bool {
	for _, c := range word {
		if !digit(c) {
			return false
		}
	}
	return len(word) > 0 && len(word) < 10
}

// plainName reports the name of a variable that a line may set.
func plainName(word []byte) bool {
	for i, c := range word {
		inside := i > 0 && digit(c)
		if !inside && !letter(c) && c != '_' {
			return false
		}
	}
	return assignable(string(word)) && !settable(string(word))
}

// setWords takes the options with which scripts begin.
func setWords(args [][]byte) bool {
	for i := 0; i < len(args); i++ {
		a, ok := literal(args[i])
		letters, dash := strings.CutPrefix(a, "-")
		if !ok || !dash || letters == "" {
			return false
		}
		letters, named := strings.CutSuffix(letters, "o")
		if strings.Trim(letters, "eux") != "" {
			return false
		}
		if !named {
			continue
		}
		if i++; i == len(args) || !is(args[i], "pipefail") {
			return false
		}
	}
	return len(args) > 0
}

// readWords takes names of variables, to which a line is read.
func readWords(args [][]byte) bool {
	if len(args) > 0 && is(args[0], "-r") {
		args = args[1:]
	}
	for _, a := range args {
		if !plainName(a) {
			return false
		}
	}
	return len(args) > 0
}

// printfWords takes a written format. Numbers are evaluated by zsh, so computed
// words go to formats of text only.
func printfWords(args [][]byte) bool {
	if len(args) == 0 {
		return false
	}
	format, ok := literal(args[0])
	if !ok || strings.HasPrefix(format, "-") {
		return false
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		for i < len(format) && (digit(format[i]) || strings.IndexByte("-. ", format[i]) >= 0) {
			i++
		}
		if i == len(format) {
			return false
		}
		switch c := format[i]; {
		case c == 's', c == '%':
		case strings.IndexByte("bdiouxXcfgeq", c) < 0, !allLiteral(args[1:]):
			return false
		}
	}
	return true
}

var (
	fileTests  = lazy.Words("-b -c -d -e -f -g -h -k -L -n -p -r -s -S -u -w -x -z -G -O")
	textTests  = lazy.Words("= != -nt -ot -ef")
	countTests = lazy.Words("-eq -ne -lt -le -gt -ge")
)

// testWords takes one test of written form. What decides how the words are read
// must not be computed.
func testWords(args [][]byte) bool {
	if len(args) > 1 && is(args[0], "!") {
		args = args[1:]
	}
	switch len(args) {
	case 1:
		return one(args[0]) && !is(args[0], "!")
	case 2:
		return fileTests.Has(string(args[0])) && one(args[1])
	case 3:
		switch {
		case countTests.Has(string(args[1])):
			return integer(args[0]) && integer(args[2])
		case textTests.Has(string(args[1])):
			return one(args[0]) && one(args[2]) && !is(args[0], "(")
		}
	}
	return false
}

// one reports a word that stays one word: no part of it is a pattern, or computed and
// unquoted.
func one(word []byte) bool {
	for _, c := range word {
		if c == markName || c == markSubst || c == markPattern {
			return false
		}
	}
	return true
}

// integer reports a written number, or a status.
func integer(word []byte) bool {
	return number(bytes.TrimPrefix(word, []byte("-"))) || status(word)
}

// status reports the status of the last command, or of a part of the last pipeline.
func status(word []byte) bool {
	expands := len(word) >= 3 && (word[0] == markName || word[0] == markQuotedName)
	if !expands || word[len(word)-1] != markNameEnd {
		return false
	}
	name, one := literal(word[1 : len(word)-1])
	return one && (name == "?" || strings.HasSuffix(name, "]"))
}
