package git

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// apply judges apply. With an option that only asks about a patch it changes no file,
// unless it is also told to apply it. A patch that a here-document gives it is read for the
// files that it names.
func apply(x *command.Call, _ string, args []workspace.Word) {
	asks, compares, plain := false, false, x.Given != ""
	c := x.Scanner(&command.Spec{Flags: "vqRz3", Values: "pC", Strict: true, Long: command.Longs(`check stat numstat
		summary verbose quiet reverse cached index ignore-whitespace ignore-space-change unidiff-zero recount`)}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "check":
			asks, compares = true, true
		case "stat", "numstat", "summary":
			asks = true
		case "R", "reverse", "p", "z": // what is made is deleted, and names mean something else
			plain = false
		case "":
			plain = plain && t.Word.Is("-")
			x.Read(t.Word)
		}
	}
	switch {
	case compares && !(plain && x.Place.AtRoot() && patches(x, x.Given)):
		x.Add(finding.MayReadSecret) // it tells whether lines of the files that the patch names were guessed
	case asks:
		x.Add(finding.ReadOnlyCommand)
	case plain && x.Place.AtRoot() && patches(x, x.Given):
		x.Add(finding.LocalGit)
	default:
		x.Add(finding.UnknownCommand)
	}
}

// patches judges the files of a patch as written. It reports false if the patch does more
// than change the contents of files, or cannot be read. A line of its contents may look
// like a header: then more files are judged than it has.
func patches(x *command.Call, text string) bool {
	files := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.ContainsAny(line, "\r\v\f"):
			return false
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "diff --git "):
			names := patchNames.FindStringSubmatch(line)
			if names == nil {
				return false
			}
			for _, name := range names[1:] {
				if name != "" {
					files++
					x.Fill(workspace.Word{Text: name})
				}
			}
		case line == "", strings.IndexByte(" +-\\", line[0]) >= 0, patchLine.MatchString(line):
		default:
			return false // a mode, a rename, a copy, something binary
		}
	}
	return files > 0
}

var (
	patchNames = lazy.Pattern(`^(?:--- (?:a/([A-Za-z0-9_.+@/-]+)|/dev/null)|\+\+\+ b/([A-Za-z0-9_.+@/-]+)|diff --git a/([A-Za-z0-9_.+@/-]+) b/([A-Za-z0-9_.+@/-]+))$`)
	patchLine  = lazy.Pattern(`^(?:@@ .*|index [0-9a-f]+\.\.[0-9a-f]+(?: 100(?:644|755))?|new file mode 100(?:644|755))$`)
)
