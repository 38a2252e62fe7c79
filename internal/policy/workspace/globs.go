package workspace

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
)

// Groups reports a group such as @(a|b) in a glob. Parentheses alone are part of a
// name.
func Groups(glob string) bool {
	for i := 1; i < len(glob); i++ {
		if glob[i] == '(' && strings.IndexByte("@+?*!", glob[i-1]) >= 0 {
			return true
		}
	}
	return false
}

// maxAlternatives bounds how many globs a glob with braces may become.
const maxAlternatives = 64

// Alternatives gives the globs that a member's text means: separated by blanks or commas,
// and written in braces.
func Alternatives(text string) (list []string, ok bool) {
	depth, from := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || depth <= 0 && strings.IndexByte(" \t\n,;", text[i]) >= 0:
			if from < i {
				list = append(list, text[from:i])
			}
			from = i + 1
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth--
		}
	}
	for i := 0; i < len(list); i++ {
		for at := strings.IndexByte(list[i], '{'); at >= 0; at = strings.IndexByte(list[i], '{') {
			more := openBraces(list[i], at)
			if len(list)+len(more) > maxAlternatives || len(text) > 4096 {
				return nil, false
			}
			list = append(append(list[:i:i], more...), list[i+1:]...)
		}
	}
	return list, len(list) <= maxAlternatives
}

// maxGlobs bounds how many bytes of globs are read of one call, with all their
// alternatives.
const maxGlobs = 1 << 14

// Alternatives is the function of that name, as long as the call does not give
// more globs than are read.
func (r *Reader) Alternatives(text string) ([]string, bool) {
	list, ok := Alternatives(text)
	for _, alt := range list {
		r.globs += len(alt)
	}
	return list, ok && r.globs <= maxGlobs
}

// openBraces writes out the braces that open at a byte of the glob, but not those inside
// them.
func openBraces(glob string, at int) (list []string) {
	depth, from := 0, at+1
	for i := at; i < len(glob); i++ {
		switch c := glob[i]; {
		case c == '{':
			depth++
		case c == '}' && depth > 1:
			depth--
		case c == '}', c == ',' && depth == 1:
			list = append(list, glob[:at]+glob[from:i])
			if from = i + 1; c == '}' {
				for k := range list {
					list[k] += glob[from:]
				}
				return list
			}
		}
	}
	return []string{glob[:at] + glob[at+1:], glob[:at] + "*"} // it does not close: tools differ
}

// AimsAtSecret reports whether a glob of a search picks out names of secrets. In
// such globs signs match a dot at the beginning too.
func AimsAtSecret(glob string) bool {
	for c := range strings.SplitSeq(strings.ToLower(glob), "/") {
		if !strings.ContainsAny(c, "*?[") {
			if secretName(c) || secretBases.Has(c) || secretData(c) {
				return true
			}
			continue
		}
		if !general(c) && hitsName(c) {
			return true
		}
	}
	return false
}

// general reports a component of a glob that lets all names pass, or all of one
// sort of data.
func general(c string) bool {
	ext := path.Ext(c)
	if c[0] != '*' || strings.Trim(strings.TrimSuffix(c, ext), "*") != "" {
		return false
	}
	return strings.Trim(ext, ".*") == "" || dataEnds.Has(ext) && !secretEnds.Has(ext)
}

// hitsName reports whether a lower-case component with signs matches a name of a
// secret.
func hitsName(c string) bool {
	for _, name := range allSecretNames.List() {
		if MatchesName(c, name) {
			return true
		}
	}
	for _, name := range secretSamples() {
		if MatchesName(c, name) {
			return true
		}
	}
	if secretName(strings.NewReplacer("*", "", "?", "").Replace(c)) {
		return true
	}
	ext := path.Ext(c)
	if strings.Trim(ext, ".*") == "" && !strings.Contains(c, "[") {
		return false
	}
	for _, end := range secretEnds.List() {
		if MatchesName(ext, end) || MatchesName(c, "a"+end) && !strings.HasSuffix(c, "*") {
			return true
		}
	}
	return false
}

// secretSamples are names of secrets beside those in the lists.
var secretSamples = sync.OnceValue(func() []string {
	list := []string{".env.local", ".env.production", ".env.development", "id_rsa.bak", "passwd", "shadow"}
	for _, w := range secretWords {
		list = append(list, w, w+"s", w+".txt", w+".json", w+".yaml", w+"s.txt", w+"s.yaml")
	}
	return list
})

// PlainFile reports a lower-case name that is a file's rather than a directory's.
func PlainFile(base string) bool {
	return strings.LastIndexByte(base, '.') > 0 || bareFiles.Has(base)
}

var bareFiles = lazy.Words(`makefile dockerfile containerfile readme license licence copying authors contributors
	notice changelog codeowners gemfile rakefile procfile vagrantfile justfile pipfile brewfile version install todo`)

// SourceName reports a name, or a glob of names, that is no secret's: of hidden
// files, which find and grep --include do not set apart, only those that end as
// source code does.
func SourceName(glob string) bool {
	if strings.Contains(glob, "{") { // some programs take braces for a list; to the others they are no part of a secret's name
		list, ok := Alternatives(glob)
		return ok && !slices.ContainsFunc(list, func(one string) bool { return strings.Contains(one, "{") || !SourceName(one) })
	}
	glob = strings.ToLower(glob)
	bare := glob != "" && !strings.ContainsAny(glob, `/\`)
	if !bare || glob[0] == '.' || HitsSecret(glob, false) {
		return false
	}
	return strings.IndexByte("*?[", glob[0]) < 0 || CodeEnds.Has(glob[strings.LastIndexByte(glob, '.')+1:])
}

// CodeEnds are the endings of files that are source code, text about it, or logs.
var CodeEnds = lazy.Words(`go py pyi js jsx mjs cjs ts tsx mts cts vue svelte rs c h cc cpp cxx hh hpp m mm java kt
	kts scala groovy rb erb rake php swift cs fs vb dart lua pl pm
	ex exs erl hrl hs ml mli clj cljs elm jl r zig nim v sol css scss sass less html htm md mdx rst adoc tex sql
	proto graphql thrift sh bash zsh fish bat ps1 mk cmake gradle bzl tmpl tpl ejs hbs svg mod sum log`)

// SourceGlobs reports globs whose last components are names of source code.
func SourceGlobs(text string) bool {
	list, ok := Alternatives(text)
	some := false
	for _, alt := range list {
		if !strings.HasPrefix(alt, "!") { // what is left out makes no difference
			some, ok = true, ok && SourceName(path.Base(alt))
		}
	}
	return ok && some
}
