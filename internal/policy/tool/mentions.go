package tool

import (
	"strings"
	"unicode"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/workspace"
)

// mentionTools are given text in which their client looks for mentions of files: it reads each file that is named after an "@"
// for its model, as if a person had typed it (seen with Claude Code 2.1.330).
var mentionTools = lazy.Words("skill activateskill slashcommand")

const (
	mostMentions  = 64   // of a text
	mostArguments = 1024 // words of a text
)

// mentions reads the files that a text mentions. A page of a skill may put its "@" before an argument ("see @$1"), so an
// argument without one counts if it names a secret. If there are more than is looked at, any file may be among them. A page
// may also put the text into a shell command (!`git log $ARGUMENTS`).
func (r *Params) mentions(text string) {
	if strings.ContainsAny(text, ";&|$<>`\n\r") {
		r.Found.Add(finding.EvaluatesText)
	}
	arguments, left := mostArguments, mostMentions
	alone := strings.IndexFunc(strings.TrimFunc(text, endsMention), endsMention) < 0
	for word := range strings.FieldsFuncSeq(text, endsMention) {
		word = unquoted.Replace(word)
		if strings.HasPrefix(word, "-") && strings.Trim(word, "-") != "" {
			r.Found.Add(finding.EvaluatesText) // an option of that command
		}
		for _, name := range spellings(word) {
			if alone || strings.ContainsAny(strings.TrimRight(name, "?"), "./~_*?[{") { // in a sentence a word such as token is no file
				r.couldBeMentioned(name)
			}
		}
		if arguments--; arguments == 0 {
			break
		}
	}
	_, rest, found := strings.Cut(text, "@")
	for ; found && left > 0; left-- {
		for _, name := range mentioned(rest) {
			r.Read(workspace.PathWord(name))
		}
		_, rest, found = strings.Cut(rest, "@")
	}
	if arguments == 0 || left == 0 {
		r.Found.Add(finding.MayReadSecret)
	}
}

var unquoted = strings.NewReplacer(`'`, "", `"`, "", `\`, "")

// mentioned gives what a client may take for the file that is mentioned by an "@" before that text.
func mentioned(text string) []string {
	if quoted, is := strings.CutPrefix(text, `"`); is {
		name, _, _ := strings.Cut(quoted, `"`)
		return spellings(name)
	}
	if end := strings.IndexFunc(text, endsMention); end >= 0 {
		text = text[:end]
	}
	return spellings(text)
}

// spellings gives what a client may take for a file's name in a word: all of it, without the signs at its end, and without the
// lines.
func spellings(text string) []string {
	name := strings.TrimRightFunc(text, isPunctuation)
	file, _, _ := strings.Cut(name, "#") // "#L10-20" are lines of it
	return []string{text, name, file}
}

// couldBeMentioned reads a file if it is a secret, or one of the desk's.
func (r *Params) couldBeMentioned(name string) {
	var found finding.Set
	probe := Params{r.Reader}
	probe.Found, probe.Paths, probe.Noted = &found, nil, nil
	w, codes := workspace.PathWord(name), finding.Of(finding.ReadsSecret, finding.TouchesDesk)
	if strings.ContainsAny(name, "*?[{") { // to a shell
		w.Kind, codes = workspace.Pattern, codes.Or(finding.Of(finding.MayReadSecret))
	}
	if probe.Read(w); found.Any(codes) {
		r.Read(w)
	}
}

// endsMention reports what JavaScript takes for white space.
func endsMention(c rune) bool {
	return c == '\uFEFF' || c != '\u0085' && unicode.IsSpace(c)
}

func isPunctuation(c rune) bool {
	return c != '_' && (c >= unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c))
}
