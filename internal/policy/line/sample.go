package line

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
)

// sample gives an example of what statements print, if that is only a number, a hash of git's or a
// date; "" if it may be anything else. always says that they surely print something.
func sample(list []*syntax.Stmt) (text string, always bool) {
	if len(list) != 1 {
		return "", false
	}
	return printsSample(list[0])
}

func printsSample(st *syntax.Stmt) (text string, always bool) {
	if !asIs(st) {
		return "", false
	}
	input := false
	for _, r := range st.Redirs {
		errors := r.N != nil && r.N.Value == "2"
		quiet := errors && r.Op == syntax.RdrOut && r.Word.Lit() == "/dev/null"
		input = r.Op == syntax.RdrIn
		if !quiet && !input {
			return "", false
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.Pipe:
			if text, always = printsSample(c.Y); text == counted {
				return text, always
			}
		case syntax.OrStmt:
			one, _ := printsSample(c.X)
			other, always := printsSample(c.Y)
			if one != "" && other != "" && len(st.Redirs) == 0 {
				return one, always
			}
		}
	case *syntax.CallExpr:
		return tellsSample(c, input)
	}
	return "", false
}

// Samples of what commands print.
const (
	counted = "4"
	hashed  = "4f3a2b1c"
	dated   = "2024-01-31"
)

// samples are commands by all of their words.
var samples = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"nproc": counted, "nproc --all": counted, "getconf _NPROCESSORS_ONLN": counted,
		"getconf NPROCESSORS_ONLN": counted, "sysctl -n hw.ncpu": counted, "sysctl -n hw.logicalcpu": counted,
		"sysctl -n hw.physicalcpu": counted, "wc -l": counted, "wc -c": counted, "wc -w": counted, "date +%s": counted,
		"date +%Y%m%d": counted, "date +%F": dated, "date +%Y-%m-%d": dated, "date -u +%F": dated,
		"git rev-parse HEAD": hashed, "git rev-parse --short HEAD": hashed, "git rev-list --count HEAD": counted,
		"git log -1 --format=%h": hashed, "git log -1 --format=%H": hashed,
		"git log -1 --pretty=%h": hashed, "git log -1 --pretty=%H": hashed,
	}
})

func tellsSample(c *syntax.CallExpr, input bool) (text string, always bool) {
	if len(c.Assigns) > 0 {
		return "", false
	}
	var all []string
	for _, w := range c.Args {
		text := w.Lit()
		if text == "" || text[0] == '~' || HasSpecial(plainInside.Replace(text)) {
			return "", false
		}
		all = append(all, text)
	}
	command := strings.Join(all, " ")
	switch {
	case input && all[0] != "wc":
		return "", false
	case all[0] == "echo" && len(all) == 2 && words.Digits(all[1]):
		return counted, true
	case mergeBase.MatchString(command), parsed.MatchString(command), all[0] == "git" && language.PrintsHash(all[1:]):
		return hashed, false
	}
	return samples()[command], all[0] == "nproc" || all[0] == "date"
}

// mergeBase finds the commit from which two branches come.
var mergeBase = lazy.Pattern(`^git merge-base ` +
	`(?:[A-Za-z0-9][A-Za-z0-9/_.-]* [A-Za-z0-9][A-Za-z0-9/_.-]*|--fork-point [A-Za-z0-9][A-Za-z0-9/_.-]*)$`)

// parsed finds a commit's hash. If there is none, rev-parse prints its last word.
var parsed = lazy.Pattern(`^git rev-parse (?:--short )?(?:HEAD|origin/(?:HEAD|main|master|develop))[~0-9]*$`)

// plainInside are signs that mean themselves within a word.
var plainInside = strings.NewReplacer("=", "", "~", "")
