package program

import (
	"strings"

	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// finds follows what a find prints: files below its starts, each with one of the
// names, as far as its tests say so.
type finds struct {
	starts []workspace.Word
	names  []workspace.Word
	named  bool // the alternative that is being read names its files
	wide   bool // another one does not
	pruned bool // another one does not and only prunes, which prints nothing where something else is told to
	parens bool
	other  bool // what is printed is not names alone, or below where is open
}

// maxFound bounds for how many words one command's finds stand.
const maxFound = 16

// name notes a test for a name. Whatever else is tested can only narrow.
func (f *finds) name(w workspace.Word) {
	f.named = true
	f.wide = f.wide || w.Kind != workspace.Literal || !workspace.SourceName(w.Text)
	if w.Kind == workspace.Literal {
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
func (f *finds) words() (list []workspace.Word) {
	if f.other {
		return nil
	}
	starts := f.starts
	if len(starts) == 0 {
		starts = []workspace.Word{{Text: "."}}
	}
	names := f.names
	if f.wide || !f.named {
		names = append(names[:len(names):len(names)], workspace.Word{})
	}
	if len(starts)*len(names) > maxFound {
		return nil
	}
	for _, s := range starts {
		for _, n := range names {
			list = append(list, workspace.Word{Text: strings.TrimSuffix(s.Text, "/") + strings.TrimSuffix("/**/"+n.Text, "/"), Kind: workspace.Pattern, Tilde: s.Tilde})
		}
	}
	return append(list, list...) // whatever takes the first of them, there are more
}

// tellers are the programs that do no more with the files that find hands them
// than to tell what is in them or about them.
var tellers = words.Set("grep egrep fgrep cat head tail wc nl file stat ls md5sum sha1sum sha256sum sha512sum cksum")

// filled gives the words of a command in which files that were found stand for
// the mark. Only for tellers they are looked at: what else may become of them is
// open.
func filled(args []workspace.Word, mark string, files []workspace.Word) []workspace.Word {
	if len(files) == 0 || len(args) == 0 || args[0].Kind != workspace.Literal || !tellers[args[0].Text] {
		return braces(args, mark)
	}
	var out []workspace.Word
	for _, w := range args {
		if w.Is(mark) {
			out = append(out, files...)
		} else {
			out = append(out, braces([]workspace.Word{w}, mark)...)
		}
	}
	return out
}
