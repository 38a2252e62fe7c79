package language

import (
	"regexp"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// plainSed are the commands of sed that can only print, delete and add text.
// sed can also run commands and write files.
var (
	plainSed = lazy.Pattern(`^(?:[pdq=])?$`)
	sedAt    = lazy.Pattern(`^(?:(?:\d+|\$|` + sedRegexp + `)(?:,(?:\d+|\$|\+\d+|` + sedRegexp + `))?)?!?`)
	sedAdds  = lazy.Pattern(`^[aic](?:\\ ?| )[^\\\n;{}]*$`)
)

// sedRegexp is an address that every sed ends at the same slash: no slash is in brackets,
// and a backslash takes the next character with it.
const sedRegexp = `/(?:[^/\\\[\n]|\\[^\nc]|\[\^?[A-Za-z0-9 _.,#*+=-]+\])*/`

// plainScript reports one such command, with its address.
func plainScript(part string) bool {
	part = strings.TrimSpace(part)
	part = part[len(sedAt.FindString(part)):]
	return plainSed.MatchString(part) || sedAdds.MatchString(part) || substitutes(part)
}

// deletesAll reports a script that begins with deleting every line, or the
// lines of a pattern that fits a line of any text.
func deletesAll(script string) bool {
	m := sedDeletes.FindStringSubmatch(script)
	if m == nil || m[1] == "" {
		return m != nil
	}
	lines, err := regexp.Compile(strings.NewReplacer(`\(`, "(", `\)`, ")", `\|`, "|").Replace(m[1]))
	return err == nil && lines.MatchString("\x01")
}

var sedDeletes = lazy.Pattern(`^\s*(?:[01] *, *(?:\$|\+?[0-9]{4,})|/((?:[^/\\]|\\.)*)/)? *d(?:[; ].*)?$`)

// substitutes reports s/a/b/ with any separator, and with flags that neither run a command
// nor write a file.
func substitutes(part string) bool {
	if len(part) < 4 || part[0] != 's' || !separates(part[1]) {
		return false
	}
	seps, i := 1, 2
	for ; i < len(part) && seps < 3; i++ {
		switch part[i] {
		case '\n':
			return false
		case '\\':
			i++
		case '[':
			if seps > 1 {
				continue
			}
			end := workspace.BracketEnd(part, i)
			if end < 0 || strings.ContainsAny(part[i:end], "\\\n"+part[1:2]) {
				return false // seds differ on the end of s then
			}
			i = end
		case part[1]:
			seps++
		}
	}
	return seps == 3 && i <= len(part) && strings.Trim(part[i:], "gIp0123456789") == ""
}

// separates reports a sign that every sed takes between the parts of s.
func separates(c byte) bool {
	sign := c > ' ' && c < 0x80 && !words.WordByte(c)
	return sign && strings.IndexByte(`\[]`, c) < 0
}

// slashScript is a script with the signs of a glob that is what it says, and not the name
// of a file instead, which has no slash in it.
var slashScript = lazy.Pattern(`^[0-9,$]*s/[^;\n]*/[^;\n]*/[gIp0-9]*$`)

// otherSed is a file's name that writes or reads another file if it is taken for the
// script: sed of BSD takes the word after -i for a suffix, and the next one for the script.
var otherSed = lazy.Pattern(`^[^a-zA-Z]*([wWr])[ \t]*(.+)$`)

var sedSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Flags: "nErsuz", Values: "e",
		Long: command.Longs("quiet silent regexp-extended expression= separate unbuffered null-data posix in-place"),
	}
})

// sed edits a stream, or with -i the files it names.
func sed(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	c := x.Scanner(sedSpec(), args)
	script, places, suffix := false, false, false
	scripts, quiet, files := []string(nil), false, 0
	check := func(w workspace.Word) {
		script = true
		scripts = append(scripts, w.Text)
		if deletesAll(w.Text) {
			x.Mark(command.PrintsNothing)
		}
		if !w.Fixed(slashScript.Compiled()) {
			x.Add(finding.InterpreterCode)
			return
		}
		if plainScript(w.Text) {
			return
		}
		for part := range strings.SplitSeq(w.Text, ";") {
			if !plainScript(part) {
				x.Add(finding.InterpreterCode)
			}
		}
	}
	for i, w := range args {
		if w.IsAny("-i", "-i.bak", "-i.orig", "-ni", "-Ei", "-ri") {
			places, suffix = true, true
			quiet = quiet || w.Is("-ni")
			args = append(append([]workspace.Word{}, args[:i]...), args[i+1:]...)
			if i < len(args) && args[i].Is("") {
				args = append(args[:i], args[i+1:]...) // as sed of BSD takes it
			}
			c.Args = args
			break
		}
	}
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if suffix && script && t.Option == "" {
			takenForScript(x, t.Word)
		}
		quiet = quiet || words.Any(t.Option, "n", "quiet", "silent", "z", "null-data") // a whole file is one line
		if t.Option == "" && script {
			if files++; t.Word.Kind != workspace.Literal || x.Looped {
				files++
			}
		}
		switch {
		case t.Option == "e" || t.Option == "expression":
			check(t.Word)
		case t.Option == "in-place":
			places = true
			if t.Value {
				x.Add(finding.UnknownOption) // the directory or ending of the old file
			}
		case t.Option != "":
		case !script:
			check(t.Word)
		case places && x.OwnFiles(t.Word):
			x.Add(finding.WorkspaceWrite)
			x.Mark(command.WritesCode)
		case places:
			x.Fill(t.Word)
			x.Read(t.Word)
		default:
			x.Read(t.Word)
		}
	}
	if places && files > 1 && (quiet || losesMuch(strings.Join(scripts, ";"))) {
		x.Add(finding.DeletesFile) // of many files no more is left than of ones that are deleted
	}
}

// takenForScript judges a file's name that is the script to another sed.
func takenForScript(x *command.Call, w workspace.Word) {
	switch m := otherSed.FindStringSubmatch(w.Text); {
	case m == nil:
	case m[1] == "r":
		x.Read(workspace.Word{Text: m[2], Kind: w.Kind})
	default:
		x.Fill(workspace.Word{Text: m[2], Kind: w.Kind})
	}
}
