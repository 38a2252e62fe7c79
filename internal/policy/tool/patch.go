package tool

import (
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Patch reads a tool that applies patches: every file that a header names, in
// "*** Update File: x" or in a unified diff. A patch that names no file cannot be
// read.
func (r *Params) Patch(list []field) {
	r.standsIn(list, finding.DynamicPath)
	named := false
	for i := range list {
		f := &list[i]
		switch {
		case f.odd || !f.direct():
			r.Found.Add(finding.UnknownParameters)
		case f.absent():
		case dirKeys.Has(f.Key) && f.Str:
		case PathKeys.Has(f.Key) && f.Str:
			r.Write(workspace.PathWord(f.Text))
		case patchKeys.Has(f.Key) && f.Str:
			p := patchReader{Params: r}
			p.lines(f.Text)
			if addsNothing.MatchString(f.Text) {
				r.Found.Add(finding.DeletesFile)
			}
			named = named || p.named
		case writerKeys.Has(f.Key) && f.harmless(), contentKeys.Has(f.Key) && !writerKeys.Has(f.Key):
		default:
			r.Found.Add(finding.UnknownParameters)
		}
	}
	if !named {
		r.Found.Add(finding.MalformedCall)
	}
}

// addsNothing finds a file that a patch adds with empty contents. Some runtimes overwrite a
// file of that name.
var addsNothing = lazy.Pattern(`(?m)^\s*\*\*\* Add File:.*(?:\n\+?[ \t]*)*(?:\n\*\*\*|\n?\z)`)

// patchReader reads the lines of one patch.
type patchReader struct {
	*Params
	named bool // some header named a file
}

// patchBreaks are what one or another runtime takes for the end of a line.
var patchBreaks = strings.NewReplacer("\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n",
	"\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

func (p *patchReader) lines(text string) {
	if strings.ContainsAny(text, "\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029") {
		text = patchBreaks.Replace(text)
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimLeft(line, " \tX")) // as patch takes a patch out of a mail
		p.line(strings.TrimPrefix(line, "- "))
	}
}

// patchHeaders start the lines that name a file.
var patchHeaders = [...]string{"*** Add File:", "*** Update File:", "*** Move to:", "*** Delete File:",
	"rename to ", "rename from ", "rename new ", "rename old ",
	"copy to ", "copy from ", "+++ ", "--- ", "Index:"}

// line reads one line, which may be a header anywhere in the patch: what is a line of
// contents to one runtime is a header to another.
func (p *patchReader) line(line string) {
	if line == "" || strings.IndexByte("*+-IrcdnoG", line[0]) < 0 {
		p.gitLine(line)
		return
	}
	for _, header := range patchHeaders {
		rest, found := strings.CutPrefix(line, header)
		if !found {
			continue
		}
		name, _, dated := strings.Cut(strings.TrimSpace(rest), "\t")
		unified := header == "+++ " || header == "--- "
		plain := header == "Index:" || unified
		if short, _, more := strings.Cut(name, " "); more && plain && !dated {
			p.file(short, true, false) // as patch and git read a date without a tab
		}
		if header == "*** Delete File:" || header == "+++ " && name == "/dev/null" {
			p.Found.Add(finding.DeletesFile)
		}
		p.file(name, unified, header == "copy from ")
		return
	}
	p.gitLine(line)
}

// gitLine reads the lines of git's headers that do more than name one file, and lines that
// look like a header but are no known one.
func (p *patchReader) gitLine(line string) {
	switch {
	case strings.HasPrefix(line, "diff --git "):
		p.pair(line[len("diff --git "):])
	case strings.HasPrefix(line, "deleted file mode"):
		p.Found.Add(finding.DeletesFile)
	case strings.HasPrefix(line, "new file mode "), strings.HasPrefix(line, "new mode "):
		p.mode(line[strings.LastIndexByte(line, ' ')+1:])
	case strings.HasPrefix(line, "index ") && strings.Contains(line, ".."):
		if hashes, mode, ok := strings.Cut(line[len("index "):], " "); ok && !strings.Contains(hashes, " ") && words.Digits(mode) {
			p.mode(mode)
		}
	case strings.HasPrefix(line, "***"):
		if !knownStars(line) {
			p.Found.Add(finding.MalformedCall)
		}
		p.context(line)
	}
}

// context reads a line of stars that a context diff may begin with: it then names a file,
// though no more is known of a patch that names no other.
func (p *patchReader) context(line string) {
	rest, ok := strings.CutPrefix(line, "*** ")
	if !ok || strings.HasSuffix(rest, "*") || marks()[strings.ToLower(rest)] {
		return
	}
	named := p.named
	name, _, dated := strings.Cut(rest, "\t")
	if !dated {
		name, _, _ = strings.Cut(rest, " ")
	}
	p.file(name, true, false)
	p.named = named
}

// marks are lines of stars that name no file.
var marks = sync.OnceValue(func() map[string]bool {
	return map[string]bool{"begin patch": true, "end patch": true, "end of file": true}
})

// knownStars reports a line of stars that names no file: a mark of the patch, or
// a line of its contents.
func knownStars(line string) bool {
	lower := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "*")))
	if marks()[lower] {
		return true
	}
	_, _, colon := strings.Cut(lower, ":")
	return !colon || !words.Holds(lower, "file", "environment", "move", "rename", "copy")
}

// mode judges what a patch makes of a file: a plain file, perhaps one that can be run. A
// symbolic link leads to the path in its contents, and a submodule to other code.
func (p *patchReader) mode(mode string) {
	switch mode {
	case "100644", "100755", "100664", "100775":
	default:
		p.Found.Add(finding.ChangesPermissions)
	}
	if strings.HasPrefix(mode, "12") || strings.HasPrefix(mode, "16") {
		p.Found.Add(finding.MakesLink)
	}
}

// pair reads the two names of "diff --git a/x b/y", which are all that is said of
// a file whose name or mode alone changes.
func (p *patchReader) pair(names string) {
	half := len(names) / 2
	if len(names)%2 == 1 && names[half] == ' ' && strings.TrimPrefix(names[:half], "a/") == strings.TrimPrefix(names[half+1:], "b/") {
		p.file(names[half+1:], true, false) // one name twice, blanks and all
		return
	}
	for name := range strings.FieldsSeq(names) {
		p.file(name, true, false)
	}
}

// file judges a file that a header names. unified says that the name may start with a
// directory for the old or the new side, reads that its contents are taken to another file.
func (p *patchReader) file(name string, unified, reads bool) {
	if quoted := strings.HasPrefix(name, `"`); quoted {
		name = strings.TrimSuffix(name[1:], `"`)
	}
	if unified {
		name = strings.TrimPrefix(strings.TrimPrefix(name, "a/"), "b/")
		if strings.Contains(name, "//") { // without its first directory it could be absolute
			p.Found.Add(finding.MalformedCall)
		}
	}
	if name == "" || name == "/dev/null" {
		return
	}
	p.named = true
	if reads {
		p.Read(workspace.PathWord(name))
	}
	p.Write(workspace.PathWord(name))
}
