package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"approvalbot/policy/program"
	"approvalbot/policy/workspace"
)

// commandPattern is a pattern for the words of one command.
type commandPattern struct {
	text  string
	words []string // the first is the program
	open  bool     // further words may follow
}

// newCommandPattern reads words. A "*" at the end stands for any further words,
// one in between for one word, one inside a word for any text.
func newCommandPattern(text string) (commandPattern, error) {
	p := commandPattern{text: text, words: strings.Fields(text)}
	if n := len(p.words); n > 1 && (p.words[n-1] == "*" || p.words[n-1] == "**") {
		p.words, p.open = p.words[:n-1], true
	}
	switch {
	case len(p.words) == 0 || len(p.words) > 60:
		return p, fmt.Errorf("a command pattern must name a program, and have at most 60 words")
	case strings.ContainsAny(text, "\"'`$\\;|&<>()\n\t"):
		return p, fmt.Errorf("%q must be the words of one command, without quotes, pipes or other signs of the shell", text)
	case strings.Contains(p.words[0], "/") && !(path.IsAbs(p.words[0]) && doublestar.ValidatePattern(p.words[0]) && path.Clean(p.words[0]) == p.words[0]):
		return p, fmt.Errorf("%q must name its program, or give its absolute path", text)
	}
	return p, nil
}

// trusted says why the pattern may not stand for a permission; nil where it may.
func (p commandPattern) trusted() error {
	name := p.words[0]
	base := name[strings.LastIndexByte(name, '/')+1:]
	switch {
	case !strings.Contains(name, "/") && strings.ContainsAny(name, "*?[{"):
		return fmt.Errorf("%q must name its program exactly", p.text)
	case strings.Trim(base, "*") == "" && strings.Count(name, "/") < 2:
		return fmt.Errorf("%q would stand for every program", p.text)
	case program.IsWrapper(program.ProgramOf(workspace.Word{Text: base})):
		return fmt.Errorf("%q cannot be permitted: %s runs other programs or code, so what it is trusted with is never known; name the program that it runs", p.text, base)
	case len(p.words) > 1 && program.RunnerVerbs[base+"/"+p.words[1]]:
		return fmt.Errorf("%q cannot be permitted: %s %s runs other programs or code; name the program that it runs", p.text, base, p.words[1])
	}
	return nil
}

// covers reports whether the pattern certainly means the command: every word is
// known, and each fits. Letter case counts.
func (p commandPattern) covers(args []workspace.Word) bool {
	if len(args) < len(p.words) || len(args) > len(p.words) && !p.open {
		return false
	}
	for i, w := range args {
		if w.Kind != workspace.Literal || w.Tilde || i > 0 && i < len(p.words) && !wild(p.words[i], w.Text) {
			return false
		}
	}
	name := args[0].Text
	if strings.Contains(p.words[0], "/") {
		ok, err := doublestar.Match(p.words[0], name)
		return ok && err == nil && path.Clean(name) == name
	}
	return p.words[0] == name
}

// mayBe reports whether the command could be one that the pattern means,
// whatever else stands in it: options between the words do not count, nor does
// what follows them.
func (p commandPattern) mayBe(args []workspace.Word) bool {
	if args[0].Kind != workspace.Literal {
		return true
	}
	if !wild(program.ProgramOf(workspace.Word{Text: p.words[0]}), program.ProgramOf(args[0])) {
		return false
	}
	// One bit per number of words of the pattern that were found so far; value
	// holds those after which the next word may be an option's value.
	rest := p.words[1:]
	found, value, done := uint64(1), uint64(0), uint64(1)<<len(rest)
	for _, w := range args[1:] {
		if (found|value)&done != 0 || w.Kind != workspace.Literal && w.Split {
			return true
		}
		dash, free := strings.HasPrefix(w.Text, "-"), value
		var next uint64
		for i, want := range rest {
			bit := uint64(1) << i
			if (found|value)&bit == 0 {
				continue
			}
			if w.Kind != workspace.Literal || wild(want, w.Text) {
				next |= bit << 1
			}
			if want[0] == '-' {
				free |= bit
			}
		}
		if dash {
			found, value = next, found|value
		} else {
			found, value = next|free&(found|value), 0
		}
	}
	return (found|value)&done != 0
}

// pathPattern is a pattern for files.
type pathPattern struct {
	glob, lower string
	rooted      bool
}

func newPathPattern(text string) (pathPattern, error) {
	p := pathPattern{text, strings.ToLower(text), strings.HasPrefix(text, "/")}
	if text == "" || !doublestar.ValidatePattern(text) || path.Clean(text) != text || workspace.Climbs(text) || text[0] == '~' {
		return p, fmt.Errorf("%q must be a clean path, absolute or below the workspace; * within a name, ** across directories", text)
	}
	return p, nil
}

// covers reports whether the file is certainly meant. Letter case counts. A
// pattern that is not rooted counts from each of the agent's workspaces.
func (p pathPattern) covers(f workspace.File, roots []string) bool {
	if f.Kind != workspace.Literal || f.Open || f.Climb || f.Path == "" || f.Path[0] != '/' {
		return false
	}
	fits := func(name string, below bool) bool {
		ok, err := doublestar.Match(p.glob, name)
		return below && ok && err == nil
	}
	if p.rooted {
		return fits(f.Path, true)
	}
	return slices.ContainsFunc(roots, func(root string) bool { return fits(strings.CutPrefix(f.Path, root+"/")) })
}

// mayBe reports whether the file could be one that is meant.
func (p pathPattern) mayBe(f workspace.File, roots []string) bool {
	if f.Kind == workspace.Computed {
		return true
	}
	name := strings.ToLower(f.Path)
	if f.Kind == workspace.Pattern {
		return meet(p.lower, name, roots)
	}
	if f.Open || !p.rooted && len(roots) == 0 {
		ok, err := doublestar.Match("/**/"+strings.TrimPrefix(p.lower, "/"), "/"+strings.TrimPrefix(name, "/"))
		return err != nil || ok || f.Open && p.rooted && strings.HasSuffix(p.lower, "*")
	}
	fits := func(name string, below bool) bool {
		ok, err := doublestar.Match(p.lower, name)
		return below && (ok || err != nil)
	}
	if p.rooted {
		return fits(name, true)
	}
	return slices.ContainsFunc(roots, func(root string) bool {
		return fits(strings.CutPrefix(name, strings.ToLower(root)+"/"))
	})
}

// meet reports whether a glob and a file pattern could mean the same file, by
// the directories that both name exactly.
func meet(glob, name string, roots []string) bool {
	b := stem(name)
	near := func(glob string) bool {
		a := stem(glob)
		return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
	}
	if glob[0] == '/' || len(roots) == 0 {
		return near("/" + strings.TrimPrefix(glob, "/"))
	}
	return slices.ContainsFunc(roots, func(root string) bool { return near(strings.ToLower(root) + "/" + glob) })
}

func stem(glob string) string {
	if i := strings.IndexAny(glob, "*?[{"); i >= 0 {
		return glob[:i]
	}
	return glob
}

// newHostPattern checks a host's name: "example.com", "*.example.com" or "*".
func newHostPattern(text string) (string, error) {
	rest := strings.TrimPrefix(text, "*.")
	if text != "*" && (rest == "" || strings.ContainsAny(rest, "*?/@: ")) {
		return "", fmt.Errorf("%q must be a host's name such as api.example.com or *.example.com", text)
	}
	return strings.ToLower(text), nil
}

func hostFits(pattern, host string) bool {
	if tail, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, tail) && len(host) > len(tail)
	}
	return pattern == host
}
