package language

import (
	"slices"
	"strconv"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/workspace"
)

// Around are the lines that a search shows around what it finds. It does not know what is in them.
type Around struct {
	Lines   int      // of one find, at most
	For     []string // what is searched for
	Folds   bool     // letter case does not count
	Visible bool     // files with a dot before their name are left out
	Tells   bool     // it tells what is in a file of which it shows nothing, letter by letter
	beside  bool     // what it finds may be a line with a secret
	open    bool     // it is not known what is searched for
}

// Note adds a pattern of a search. plain says that a parenthesis behind a backslash is no group. It reports whether the pattern
// is specific.
func (a *Around) Note(w workspace.Word, plain bool) bool {
	a.For = append(a.For, w.Text)
	a.Tells = a.Tells || guessesSecret(w)
	a.open = a.open || w.Kind != workspace.Literal
	return specific(w, plain)
}

// whole judges a search of directories that shows lines, or only tells of them. Outside of folders of code it may tell little:
// by many searches, each for a letter more, a secret is told that none of them shows.
func (a *Around) whole(x *command.Call, dirs []workspace.Word, tells bool) (guesses bool) {
	if len(dirs) == 0 {
		dirs = []workspace.Word{{Text: "."}}
	}
	if !slices.ContainsFunc(dirs, func(d workspace.Word) bool { return !ofCode(x, d) }) {
		return false
	}
	x.Effects = append(x.Effects, command.Effect{Kind: command.SearchesFor, Count: a.weight()})
	all := slices.ContainsFunc(dirs, func(d workspace.Word) bool { return everywhere(x, d) })
	if all && !a.Visible {
		inSecret := func(pattern string) bool { return workspace.InSecretLines(pattern, a.Folds) }
		guess := func(pattern string) bool { return GuessesLetter(pattern) || a.assigns(pattern) }
		a.beside = tells && slices.ContainsFunc(a.For, guess) || !tells && slices.ContainsFunc(a.For, inSecret)
	}
	if a.Visible {
		return tells && a.Places()
	}
	return tells && (a.open || a.beside || slices.ContainsFunc(a.For, vague))
}

// Places reports a pattern without a word of its own that says at which place of a line it is, as that of a secret is. A short
// word is none, as files that a search leaves out by itself have most secrets.
func (a *Around) Places() bool {
	return slices.ContainsFunc(a.For, func(pattern string) bool { return vague(pattern) && strings.ContainsAny(pattern, "^$=:'\"") })
}

// vague reports a pattern without a word of its own, or with a part of an alphabet. One that has no letters at all tells little.
func vague(pattern string) bool {
	return anyLetter.MatchString(escapes.ReplaceAllString(pattern, "")) && !workspace.OwnWord(strings.ToLower(pattern)) || GuessesLetter(pattern)
}

// ofCode reports a directory of the workspace that usually has source code alone, by its names there.
func ofCode(x *command.Call, d workspace.Word) bool {
	if d.Kind != workspace.Literal {
		return false
	}
	code := true
	x.Place.Resolve(d, func(dir string, open bool) {
		code = code && !open && x.Place.LocalPath(dir) && workspace.HoldsCode(x.Place.Below(dir))
	})
	return code
}

// everywhere reports a word that may be the workspace, or files in any folder of it.
func everywhere(x *command.Call, d workspace.Word) bool {
	text := strings.TrimPrefix(d.Text, "./")
	own := workspace.AnyPart(text, func(c string) bool { return c == ".git" }) // which has addresses with passwords
	return own || d.Kind == workspace.Computed || d.Kind == workspace.Pattern && text != "" && text[0] == '*' || x.Place.IsRoot(d)
}

// weight is how many words are searched for; a short one, by which guessing begins, counts as four.
func (a *Around) weight() (n int) {
	for _, pattern := range a.For {
		for alt := range strings.SplitSeq(strings.ReplaceAll(pattern, `\|`, "|"), "|") {
			if n++; !longWord.MatchString(alt) {
				n += 3
			}
		}
	}
	return n
}

var (
	anyLetter   = lazy.Pattern(`[A-Za-z0-9]`)
	escapes     = lazy.Pattern(`\\(?:[a-wyzA-Z]|x[0-9A-Fa-f]{2}|\W)`)
	longWord    = lazy.Pattern(`\w{4}`)
	ranges      = lazy.Pattern(`\[[^\]]*(?:[^\]]-[^\]]|[A-Za-z0-9][^\]]*[A-Za-z0-9][^\]]*[A-Za-z0-9]|\\x)[^\]]*\]`)
	wholeRanges = strings.NewReplacer("a-z", "", "A-Z", "", "0-9", "", "a-f", "", "A-F", "", "1-9", "", "[:space:]", "", "[:alnum:]", "", "[:alpha:]", "", "[:digit:]", "", "[:blank:]", "", "[:word:]", "", "[:punct:]", "", `\x00-\x7F`, "", " -~", "", `\\`, "", `\[`, "", `\]`, "")
)

// assigns reports a variable as environments have it, with a value or its beginning: a search that only tells where it is tells
// whether a secret begins so.
func (a *Around) assigns(pattern string) bool {
	if a.Folds {
		pattern = strings.ToUpper(pattern)
	}
	return assignment.MatchString(pattern)
}

var assignment = lazy.Pattern(`(?:^|[^\w])[A-Z_][A-Z0-9_]*=[^=\s>~]|^\^\s*(?:export )?\w+=[^=\s>~]`)

// GuessesLetter reports a pattern with a part of an alphabet, which halves what a letter can be. Two letters ([Tt]) are none.
func GuessesLetter(pattern string) bool { return ranges.MatchString(wholeRanges.Replace(pattern)) }

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

// Few reports that they do not show a file with secrets. Its first line is often one that every such file has (NODE_ENV,
// PORT), so a search that finds one of these shows none of the lines around.
func (a *Around) Few() bool {
	settings := func(pattern string) bool {
		return capitals.MatchString(pattern) || workspace.InSettings(pattern, a.Folds)
	}
	most := mostAround
	if a.Visible {
		most = mostVisible
	}
	return a.Lines == 0 || a.Lines <= most && !slices.ContainsFunc(a.For, settings) // an ignore file may let hidden files in
}

// capitals finds a word of capitals, as variables' names are.
var capitals = lazy.Pattern(`(?:^|[^A-Za-z0-9_])[A-Z_][A-Z0-9_.]{2,}(?:$|[^A-Za-z0-9_])`)

// Near reports a search for lines that hold secrets, also if it finds them only as letter case does not count.
func (a *Around) Near() bool {
	return a.Folds && slices.ContainsFunc(a.For, func(pattern string) bool { return workspace.NearSecret(strings.ToUpper(pattern)) })
}

// guessesSecret reports a search that by telling whether it finds something tells what a secret begins with.
func guessesSecret(w workspace.Word) bool {
	more := w.Kind != workspace.Literal || strings.ContainsAny(w.Text, "=:[$") || nameAndSign.MatchString(w.Text)
	return begun.MatchString(w.Text) || more && workspace.NearSecret(w.Text)
}

// nameAndSign finds a name, and what matches more than itself.
var nameAndSign = lazy.Pattern(`\w{3}.*[.*+?{(]`)

// begun finds more than how secrets of some kind begin.
var begun = lazy.Pattern(`(?i)(?:^|[^a-z0-9])(?:gh[pos]_|github_pat_|glpat-|[sp]k_(?:live|test)_|sk-(?:ant|proj)-|akia|aiza|xox[a-z]-|eyj)[^"']`)
