package policy

import "strings"

// finds follows what a find prints: files below its starts, each with one of the
// names, as far as its tests say so.
type finds struct {
	starts []word
	names  []word
	named  bool // the alternative that is being read names its files
	wide   bool // another one does not
	pruned bool // another one does not and only prunes, which prints nothing where something else is told to
	parens bool
	other  bool // what is printed is not names alone, or below where is open
}

// maxFound bounds for how many words one command's finds stand.
const maxFound = 16

// name notes a test for a name. Whatever else is tested can only narrow.
func (f *finds) name(w word) {
	f.named = true
	f.wide = f.wide || w.kind != literal || !sourceName(w.text)
	if w.kind == literal {
		f.names = append(f.names, w)
	}
}

// alternative notes that another alternative begins.
func (f *finds) alternative(prunes bool) {
	if prunes && !f.named {
		f.pruned = true
	} else {
		f.wide = f.wide || !f.named
	}
	f.named = false
}

// act notes something that is done with what was found so far.
func (f *finds) act() { f.wide = f.wide || !f.named || f.pruned && f.parens }

// words gives globs for all that was found; none where that is open.
func (f *finds) words() (list []word) {
	if f.other {
		return nil
	}
	starts := f.starts
	if len(starts) == 0 {
		starts = []word{{text: "."}}
	}
	names := f.names
	if f.wide || !f.named {
		names = append(names[:len(names):len(names)], word{})
	}
	if len(starts)*len(names) > maxFound {
		return nil
	}
	for _, s := range starts {
		for _, n := range names {
			list = append(list, word{text: strings.TrimSuffix(s.text, "/") + strings.TrimSuffix("/**/"+n.text, "/"), kind: pattern, tilde: s.tilde})
		}
	}
	return append(list, list...) // whatever takes the first of them, there are more
}

// tellers are the programs that do no more with the files that find hands them
// than to tell what is in them or about them.
var tellers = set("grep egrep fgrep cat head tail wc nl file stat ls md5sum sha1sum sha256sum sha512sum cksum")

// filled gives the words of a command in which files that were found stand for
// the mark. Only for tellers they are looked at: what else may become of them is
// open.
func filled(args []word, mark string, files []word) []word {
	if len(files) == 0 || len(args) == 0 || args[0].kind != literal || !tellers[args[0].text] {
		return braces(args, mark)
	}
	var out []word
	for _, w := range args {
		if w.is(mark) {
			out = append(out, files...)
		} else {
			out = append(out, braces([]word{w}, mark)...)
		}
	}
	return out
}

// sourceName reports a name, or a glob of names, that is no secret's: of hidden
// files, which find and grep --include do not set apart, only those that end as
// source code does.
func sourceName(glob string) bool {
	glob = strings.ToLower(glob)
	if glob == "" || strings.ContainsAny(glob, `/\`) || glob[0] == '.' || hitsSecret(glob, false) {
		return false
	}
	return strings.IndexByte("*?[", glob[0]) < 0 || codeEnds[glob[strings.LastIndexByte(glob, '.')+1:]]
}

// codeEnds are the endings of files that are source code or text about it.
var codeEnds = set(`go py pyi js jsx mjs cjs ts tsx mts cts vue svelte rs c h cc cpp cxx hh hpp m mm java kt kts scala groovy rb erb rake php swift cs fs vb dart lua pl pm
	ex exs erl hrl hs ml mli clj cljs elm jl r zig nim v sol css scss sass less html htm md mdx rst adoc tex sql proto graphql thrift sh bash zsh fish bat ps1 mk cmake gradle bzl tmpl tpl ejs hbs svg mod sum`)
