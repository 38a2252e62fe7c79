package program

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// pointedAt says what a project's tool does to the files that it is pointed at.
type pointedAt struct {
	lists  bool // it takes a word @x for a file of more words
	checks bool // it leaves all of them as they are
	prints bool // it shows all of them
	silent bool // it only tells which of them it finds fault with
}

func (p *projectTool) pointing(args []workspace.Word) pointedAt {
	checks := hasWord(args, p.checks) && !rewrites(args)
	silent := checks || hasWord(args, p.silent)
	return pointedAt{p.lists, checks || p.checks["*"], p.silent != nil && !silent, p.silent != nil && silent}
}

// rewrites reports a word that tells a tool to change the files, which it then does
// although another one says that it only checks them.
func rewrites(args []workspace.Word) bool {
	return slices.ContainsFunc(args, func(w workspace.Word) bool {
		name, _, _ := strings.Cut(w.Text, "=")
		letters := words.ShortOptions(name)
		return rewriting.Has(name) || len(letters) > 1 && strings.Contains(letters, "w")
	})
}

var rewriting = lazy.Words("-w --w --write --overwrite-in-place --in-place --fix")

// hasWord reports that one of some options is among the words.
func hasWord(args []workspace.Word, some map[string]bool) bool {
	if end := slices.IndexFunc(args, func(w workspace.Word) bool { return w.Is("--") }); end >= 0 {
		args = args[:end]
	}
	return slices.ContainsFunc(args, func(w workspace.Word) bool { return some[w.Text] })
}

// file judges a file or directory that a tool is pointed at. Most tools print
// lines of what they cannot read, and many rewrite what they can.
func (p *pointedAt) file(x *command.Call, w workspace.Word) {
	if p.lists && strings.HasPrefix(w.Text, "@") {
		x.Add(finding.UnknownOption)
	}
	x.DeskPath(w)
	list, ok := workspace.Alternatives(w.Text)
	if !ok {
		x.Add(finding.MayReadSecret)
	}
	for _, file := range list {
		base, lower := path.Base(file), workspace.FoldPath(path.Clean(file))
		switch {
		case !p.checks && workspace.SettingsPath(lower):
			x.Add(finding.WritesAgentSettings)
		case !p.checks && workspace.StartupPath(lower) && !strings.EqualFold(base, "head"):
			x.Add(finding.WritesStartup)
		case strings.ContainsAny(file, "*?[") && workspace.AimsAtSecret(file),
			!p.silent && w.Kind == workspace.Literal && anyFile.MatchString(file),
			p.prints && !workspace.PlainFile(strings.ToLower(base)),
			p.prints && strings.ContainsAny(base, "*?[") && !workspace.SourceName(base):
			x.Add(finding.MayReadSecret)
		case workspace.SecretLower(lower):
			x.Add(finding.ReadsSecret)
		}
	}
}

// anyFile finds a glob, which the tool itself expands, of all files below the directory.
var anyFile = lazy.Pattern(`^(?:\./)?\*+(?:/\*+)*(?:/?\*\.\*)?$`)

// outputDirs are directories that builds make again, besides rebuilt.
var outputDirs = lazy.Words(".output htmlcov storybook-static lcov-report test-results")

// settings matches JSON, YAML or TOML in place of a file's name.
var settings = lazy.Pattern(`^\s*\{\s*["']|["'\n]|^[A-Za-z][A-Za-z._-]*\s*=`)

// taken judges a file or directory of the project that a tool is told to read.
func takesProjectFile(x *command.Call, w workspace.Word) {
	if settings.MatchString(w.Text) {
		x.Add(finding.UnknownOption) // some tools take the settings themselves in place of a file's name
	}
	language.ProjectWord(x, w)
	x.DeskPath(w)
	for _, file := range append(language.WordParts(w.Text), w.Text) {
		if workspace.SecretLower(workspace.FoldPath(path.Clean(file))) {
			x.Add(finding.ReadsSecret)
		}
	}
}

// built judges a file or directory of the project that a tool makes.
func buildsFile(x *command.Call, w workspace.Word) {
	language.ProjectWord(x, w)
	for _, file := range append(language.WordParts(w.Text), w.Text) {
		lower := workspace.FoldPath(path.Clean(file))
		if c, obeyed := workspace.Obeyed(lower); obeyed {
			x.Add(c)
		}
		if workspace.SecretLower(lower) {
			x.Add(finding.WritesSecret)
		}
	}
}

// emptied judges a directory that a tool deletes before it makes it.
func emptiesDir(x *command.Call, w workspace.Word) {
	buildsFile(x, w)
	file := path.Clean(x.Place.Below(w.Text))
	known := func(c string) bool {
		return workspace.Rebuilt.Has(c) || outputDirs.Has(c) || strings.HasPrefix(c, ".coverage")
	}
	if !workspace.AnyPart(file, known) {
		x.Add(finding.DeletesFile)
	}
}
