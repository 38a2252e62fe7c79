package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/hook"
)

// Find looks for approvalbot in the files of the options' scope and gives the options with
// which install wrote it: the program, the client file, and whether it asks beside the
// dialog. The caller adds the content of the client file. ok is false if no file has it.
func Find(o Options) (found Options, ok bool) {
	found = o
	found.Silent, found.Confine = false, false
	asks := map[bool]bool{}
	for _, t := range targets(o.Runtime.Name) {
		if t.scope != o.Scope {
			continue
		}
		for _, part := range o.parts(t) {
			ok = true
			if program, client := o.paths(part); client != "" {
				found.Program, found.Client = program, client
			}
			found.Silent = found.Silent || strings.Contains(part, silentFlag)
			found.Confine = found.Confine || strings.Contains(part, confineFlag)
			if e, _ := o.Runtime.Event(t.event); e.Phase != hook.After && !t.looks {
				asks[t.beside] = true
			}
		}
	}
	found.Beside = asks[true] && !asks[false]
	return found, ok
}

// Differs describes, in one sentence each, how the files of the options' scope differ
// from what install writes with these options. Other programs' parts of these files are
// ignored.
func Differs(o Options) []string {
	chosen, err := o.chosen()
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	say := func(t target, how string) {
		path, _ := o.path(t)
		out = append(out, strings.TrimSpace("the hook "+t.event)+" "+how+" "+path)
	}
	mine := map[string]bool{}
	for _, t := range chosen {
		mine[t.event] = true
		got, path := o.parts(t), ""
		if path, err = o.path(t); err != nil {
			return []string{err.Error()}
		}
		info, err := os.Stat(path)
		switch {
		case len(got) == 0:
			say(t, "is missing in")
		case len(got) > 1:
			say(t, "is more than once in")
		case !slices.Contains(o.forms(t), got[0]):
			say(t, "was changed in")
		case err != nil || t.runs && o.OS != "windows" && info.Mode()&0o111 == 0:
			say(t, "cannot be executed:")
		}
	}
	for _, t := range targets(o.Runtime.Name) {
		if t.scope == o.Scope && t.beside != o.Beside && !mine[t.event] && len(o.parts(t)) > 0 {
			say(t, "asks a second time in")
		}
	}
	return out
}

// forms gives the forms that a part may have in its file: today's, and those that do the same.
func (o Options) forms(t target) (out []string) {
	for _, now := range []Options{o, o.shellStarted()} {
		now.mute = false
		out = append(out, o.canonical(t, now.fill(t)))
		now.mute = true
		out = append(out, o.canonical(t, now.fill(t)))
	}
	return out
}

// shellStarted are the options by which 0.1.0 wrote a hook that is started by words now.
func (o Options) shellStarted() Options {
	o.byShell = true
	return o
}

// File is the first file of the options' scope that install writes; empty if it writes no file.
func (o Options) File() string {
	if chosen, err := o.chosen(); err == nil {
		path, _ := o.path(chosen[0])
		return path
	}
	return ""
}

// parts are what approvalbot has written for a target, as its file is now, in the form
// that canonical gives.
func (o Options) parts(t target) []string {
	path, err := o.path(t)
	if err != nil {
		return nil
	}
	text, _ := os.ReadFile(path)
	var all []string
	switch t.form {
	case wholeFile:
		all = []string{string(text)}
	case tomlBlock:
		_, rest, _ := strings.Cut(string(text), blockBegin)
		block, _, _ := strings.Cut(rest, blockEnd)
		all = []string{block}
	case listItem:
		said, err := readFile(path)
		list, _ := lookUp(said, t.list...).([]any)
		for _, item := range list {
			all = append(all, plainJSON(item))
		}
		if err != nil { // the part that install wrote is there, but other parts are wrong
			all = []string{string(text)}
		}
	}
	var out []string
	for _, part := range all {
		of := t.event == "" || strings.Contains(part, " "+t.event+" ") || strings.Contains(part, "/"+t.event+"?")
		if of && ours(part, o.Runtime.Name) {
			out = append(out, part)
		}
	}
	return out
}

// canonical is a part in the form in which two of them are compared.
func (o Options) canonical(t target, part string) string {
	if t.form != listItem {
		return part
	}
	v, err := scan(part)
	if err != nil {
		return part
	}
	return plainJSON(v.plain(part))
}

// plainJSON is a JSON value with its members in the order of their names.
func plainJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return ""
	}
	return b.String()
}

// patterns finds the paths in what install writes: JSON strings, and shell words as
// shellWord quotes them.
var patterns = sync.OnceValue(func() (p struct{ jsonString, jsPaths, hookWords *regexp.Regexp }) {
	const word = `([A-Za-z0-9/._-]+|'(?:[^']|'\\'')*')`
	p.jsonString = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	const text = `("(?:[^"\\]|\\.)*")`
	p.jsPaths = regexp.MustCompile(`(?m)^(?:const program = ` + text + `;\n)?const clientFile = ` + text + `;$`)
	p.hookWords = regexp.MustCompile(word + `( hook)? (\S+) \S+ --client ` + word)
	return p
})

// paths are the program and the client file that a part names; empty if it does not
// name one, as OpenCode's plugin of 0.1.0 names no program.
func (o Options) paths(part string) (program, client string) {
	if m := patterns().jsPaths.FindStringSubmatch(part); m != nil {
		_, _ = json.Unmarshal([]byte(m[1]), &program), json.Unmarshal([]byte(m[2]), &client) // not a string: no name
		return program, client
	}
	lines := strings.Split(part, "\n") // a program of its own has the words on a line
	for _, literal := range patterns().jsonString.FindAllString(part, -1) {
		var line string
		if json.Unmarshal([]byte(literal), &line) == nil {
			lines = append(lines, line)
		}
	}
	for i := len(lines) - 1; i >= 0; i-- { // a decoded string first
		if m := patterns().hookWords.FindStringSubmatch(lines[i]); m != nil && m[3] == o.Runtime.Name &&
			onlyHooks(unquoted(m[1])) == (m[2] == "") {
			return unquoted(m[1]), unquoted(m[4])
		}
	}
	return "", ""
}

// unquoted is the path that shellWord wrote as that word.
func unquoted(word string) string {
	if !strings.HasPrefix(word, "'") {
		return word
	}
	return strings.ReplaceAll(word[1:len(word)-1], `'\''`, "'")
}

// commandLine installs with the options' scope and way.
func (o Options) commandLine() string {
	line := fmt.Sprintf("approvalbot install %s --%s", o.Runtime.Name, o.Scope)
	if o.Beside {
		line += " --beside"
	}
	if o.Silent {
		line += silentFlag
	}
	if o.Confine {
		line += confineFlag
	}
	return line
}
