package pattern

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"approvalbot/internal/policy/workspace"
)

// Path is a pattern for files.
type Path struct {
	glob, lower string
	rooted      bool
}

// NewPath reads a clean path, absolute or below the workspace.
func NewPath(text string) (Path, error) {
	p := Path{text, strings.ToLower(text), strings.HasPrefix(text, "/")}
	if !clean(text) || workspace.Climbs(text) || text[0] == '~' {
		return p, fmt.Errorf("%q must be a plain path (without ~, ., .. and double or final slashes), absolute or "+
			"below the workspace; * matches within a name, ** across folders", text)
	}
	return p, nil
}

// clean reports a glob that can be read and is written as [path.Clean] writes it.
func clean(glob string) bool { return doublestar.ValidatePattern(glob) && path.Clean(glob) == glob }

// Covers reports whether the file is certainly meant. Letter case counts. A pattern that is
// not rooted counts from each of the agent's workspaces. Wildcards match no secret and no
// file that others obey: a pattern must spell these.
func (p Path) Covers(f workspace.File, roots []string) bool {
	sure := f.Kind == workspace.Literal && !f.Open && !f.Climb
	if !sure || !path.IsAbs(f.Path) {
		return false
	}
	fits := func(name string, below bool) bool {
		ok, err := doublestar.Match(p.glob, name)
		return below && ok && err == nil && !p.reachesApart(name)
	}
	if p.rooted {
		return fits(f.Path, true)
	}
	return slices.ContainsFunc(roots, func(root string) bool { return fits(strings.CutPrefix(f.Path, root+"/")) })
}

// reachesApart reports a file that the pattern matches, if a wildcard matches the part of its
// name that makes it different from the files beside it.
func (p Path) reachesApart(name string) bool {
	globs, names := strings.Split(p.glob, "/"), strings.Split(workspace.FoldPath(name), "/")
	spells := func(glob string) bool {
		literal := strings.TrimRight(glob, "*?")
		plain := !strings.ContainsAny(literal, "*?[{\\")
		return plain && (literal == glob || literal != "" && workspace.Apart(strings.ToLower(literal)))
	}
	from, to, back := 0, len(names), len(globs)
	for from < min(len(globs), to) && spells(globs[from]) {
		from++
	}
	for back > from && to > from && spells(globs[back-1]) {
		back, to = back-1, to-1
	}
	if from == to {
		return false
	}
	spelled := strings.Join(append(slices.Clone(names[:from]), names[to:]...), "/")
	return workspace.Apart(strings.Join(names[from:to], "/")) || !workspace.Apart(spelled) && workspace.Apart(strings.Join(names, "/"))
}

// MayBe reports whether the file could be one that is meant.
func (p Path) MayBe(f workspace.File, roots []string) bool {
	if f.Kind == workspace.Computed {
		return true
	}
	name := strings.ToLower(f.Path)
	if f.Kind == workspace.Pattern {
		return meet(p.lower, name, roots)
	}
	if f.Open || !p.rooted && len(roots) == 0 {
		ok, err := doublestar.Match("/**/"+strings.TrimPrefix(p.lower, "/"), "/"+strings.TrimPrefix(name, "/"))
		anyEnd := f.Open && p.rooted && strings.HasSuffix(p.lower, "*")
		return err != nil || ok || anyEnd
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

// NewHost checks a host's name: "example.com", "*.example.com" or "*".
func NewHost(text string) (string, error) {
	rest := strings.TrimPrefix(text, "*.")
	if text != "*" && (rest == "" || strings.ContainsAny(rest, "*?/@: ")) {
		return "", fmt.Errorf("%q must be a host's name such as api.example.com or *.example.com", text)
	}
	return strings.ToLower(text), nil
}

// HostFits reports a host that the pattern means.
func HostFits(pattern, host string) bool {
	if tail, ok := strings.CutPrefix(pattern, "*"); ok {
		return strings.HasSuffix(host, tail) && len(host) > len(tail)
	}
	return pattern == host
}
