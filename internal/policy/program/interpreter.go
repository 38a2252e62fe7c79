package program

import (
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// interpreter judges a program that runs code of its own language.
func interpreter(x *command.Call, name string, args []workspace.Word) {
	short := len(args) == 1 && args[0].Is("-v") && words.Any(name, "node", "perl", "ruby", "php")
	if short || language.ShowsVersion(x, name, args) {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	if strings.HasPrefix(name, "python") && pythonModule(x, args) {
		return
	}
	if len(args) > 0 && args[0].Kind == workspace.Literal {
		if only := strings.Fields(onlyParse()[name]); slices.Contains(only, args[0].Text) {
			parsesFiles(x, args[1:])
			return
		}
		if tool := known(toolOf()[name+" "+args[0].Text]); tool != nil {
			tool.judge(x, name, args[1:])
			return
		}
	}
	file, computes := false, false
	for _, w := range args {
		computes = computes || w.Kind == workspace.Computed
	}
	defer func() {
		if computes || !x.Has(finding.InterpreterCode) {
			x.Mark(command.RunsUnread)
		}
	}()
	for _, w := range args {
		file = file || !w.MayBeOption() && w.Text != "-"
		switch w.Text {
		case "-c", "-e", "-E", "-p", "-r", "-m", "--eval", "--print", "-ne", "-pe", "-i", "-Command", "-EncodedCommand", "-enc", "eval":
			x.Add(finding.InterpreterCode)
			return
		}
		if givesCode(w) {
			x.Add(finding.InterpreterCode)
			return
		}
	}
	if file {
		x.Add(finding.RunsScript)
	} else {
		x.Add(finding.InterpreterInput)
	}
}

// givesCode reports a word of options that has code in it or behind it: -ne, -c1, --eval=1.
func givesCode(w workspace.Word) bool {
	if letters := words.ShortOptions(w.Text); len(letters) > 1 {
		return strings.ContainsAny(letters[:2], "cerE")
	}
	return w.MayBeOption() && strings.HasPrefix(w.Text, "--eval")
}

// onlyParse are the options with which an interpreter reads a file and runs no part of it.
var onlyParse = sync.OnceValue(func() map[string]string {
	return map[string]string{"node": "-c --check", "nodejs": "-c --check", "ruby": "-c -wc -cw", "php": "-l --syntax-check"}
})

// toolOf names the rows of what interpreters do with a project.
var toolOf = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"node --test": "node(--test)", "nodejs --test": "node(--test)", "php artisan": "php(artisan)", "php bin/console": "php(console)",
		"python manage.py": "python(manage.py)", "python3 manage.py": "python(manage.py)",
		"python ./manage.py": "python(manage.py)", "python3 ./manage.py": "python(manage.py)",
	}
})

// parsed judges files of which an interpreter tells at most wrong lines.
func parsesFiles(x *command.Call, files []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	for _, w := range files {
		if w.MayBeOption() {
			x.Add(finding.UnknownOption)
		}
		x.Read(w)
	}
	if len(files) == 0 {
		x.Add(finding.InterpreterInput)
	}
}

// dashes writes options of one dash with two.
func dashes(args []workspace.Word) []workspace.Word {
	out := slices.Clone(args)
	for i, w := range out {
		if n := len(words.ShortOptions(w.Text)); n > 1 || n == 1 && w.Kind == workspace.Literal {
			out[i].Text = "-" + w.Text
		}
	}
	return out
}

// pkg judges a word that names packages of the project.
func packageWord(x *command.Call, w workspace.Word) {
	host, name, _ := strings.Cut(w.Text, "/")
	elsewhere := strings.Trim(host, ".") != "" && strings.Contains(host, ".") // a module's path, for which that machine answers
	tells := elsewhere && slices.ContainsFunc(strings.Split(name, "/"), carries)
	if tells || workspace.Climbs(w.Text) || strings.Contains(w.Text, "@") {
		x.Add(finding.UnknownOption)
	}
}

// pythonNames are how Python is called.
var pythonNames = lazy.Words("python python3")

// pythonModule judges python -m: the modules that are project tools themselves.
func pythonModule(x *command.Call, args []workspace.Word) bool {
	if len(args) < 2 || !args[0].Is("-m") || args[1].Kind != workspace.Literal {
		return false
	}
	switch name := args[1].Text; {
	case name == "json.tool":
		language.RunsProject(x) // a json.py of this directory comes first
		for _, w := range args[2:] {
			if w.MayBeOption() || w.Several() {
				x.Add(finding.UnknownOption)
			}
			x.Read(w)
		}
		if len(args) > 3 {
			x.Add(finding.UnknownOption) // the second operand is written
		}
	case known(name).module():
		x.Run(args[1:])
	case name == "pip":
		language.RunsProject(x) // a pip.py of this directory comes first
		x.Run(args[1:])
	case known("python("+name+")") != nil:
		known("python("+name+")").judge(x, name, args[2:])
	default:
		return false
	}
	return true
}
