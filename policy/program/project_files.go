package program

import (
	"path"
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// onlyChecks are the tools that change no file they are pointed at, checkOptions
// what makes others do the same.
var (
	onlyChecks   = words.Set("actionlint yamllint shellcheck hadolint pytest py.test unittest mypy flake8 pylint pyright bandit jest vitest mocha ava tflint cpplint cppcheck")
	checkOptions = words.Set("--check --diff --list-different --dry-run --check-only")
)

// pointedAt says what a project's tool does to the files that it is pointed at.
type pointedAt struct {
	name   string
	checks bool // it changes none of them
	prints bool // it shows all of them
}

func pointing(name string, args []workspace.Word) pointedAt {
	has := func(some map[string]bool) bool {
		return slices.ContainsFunc(args, func(w workspace.Word) bool { return some[w.Text] })
	}
	return pointedAt{name, onlyChecks[name] || has(checkOptions), name == "prettier" && !has(checkOptions) && !has(prettierQuiet)}
}

// prettierQuiet are the options with which prettier prints no files.
var prettierQuiet = words.Set("-c --write -w -l")

// file judges a file or directory that a tool is pointed at. Most tools print
// lines of what they cannot read, and many rewrite what they can.
func (p *pointedAt) file(x *Call, w workspace.Word) {
	if argumentFiles[p.name] && strings.HasPrefix(w.Text, "@") {
		x.Add(finding.UnknownOption)
	}
	list, ok := workspace.Alternatives(w.Text)
	if !ok {
		x.Add(finding.MayReadSecret)
	}
	for _, file := range list {
		base, lower := path.Base(file), workspace.FoldPath(path.Clean(file))
		switch {
		case !p.checks && workspace.StartupPath(lower) && !strings.EqualFold(base, "head"):
			x.Add(finding.WritesStartup)
		case strings.ContainsAny(file, "*?[") && workspace.AimsAtSecret(file), p.prints && !workspace.PlainFile(strings.ToLower(base)), p.prints && strings.ContainsAny(base, "*?[") && !workspace.SourceName(base):
			x.Add(finding.MayReadSecret)
		case workspace.SecretLower(lower):
			x.Add(finding.ReadsSecret)
		}
	}
}

// argumentFiles are the tools that take a word @x for a file of more words.
var argumentFiles = words.Set("pytest py.test tsc vue-tsc dotnet mypy pylint")

// What the values of a tool's options name: files that it reads, or what it leaves
// alone. Any other value may be a file that it writes.
var (
	readOptions  = words.Set("config c rcfile settings settings-path tsconfig project projects p C ignore-path include root rootDir")
	leaveOptions = words.Set("ignore ignore-pattern exclude extend-exclude force-exclude deselect omit skip-dirs exclude-task changedSince since new-from-rev filter per-file-ignores")
)

// emptying are the tools that delete what is in the directory they build into, and
// those that stand for a script, which may call one.
var emptying = words.Set("vite astro next nuxt tsup webpack npm pnpm yarn bun nx turbo")

// outputDirs are directories that builds make anew, besides rebuilt.
var outputDirs = words.Set(".output htmlcov storybook-static lcov-report test-results")

// built judges the value of an option as a file or directory that a tool writes.
func (x *Call) built(name string, t token) {
	if !t.value || textOptions[t.option] || leaveOptions[t.option] {
		return
	}
	for _, file := range append(wordParts(t.word.Text), t.word.Text) {
		switch lower := workspace.FoldPath(path.Clean(file)); {
		case readOptions[t.option]:
			if workspace.SecretLower(lower) {
				x.Add(finding.ReadsSecret)
			}
		case workspace.StartupPath(lower):
			x.Add(finding.WritesStartup)
		case workspace.SecretLower(lower):
			x.Add(finding.WritesSecret)
		}
	}
	gone := false
	switch t.option {
	case "outDir", "out-dir", "outdir":
		gone = emptying[name]
	case "coverage":
		gone = name == "deno"
	case "data-file":
		gone = !strings.HasPrefix(path.Base(t.word.Text), ".coverage")
	}
	if gone && !workspace.AnyPart(path.Clean(x.Place.Below(t.word.Text)), func(c string) bool { return rebuilt[c] || outputDirs[c] }) {
		x.Add(finding.DeletesFile)
	}
}

// wordParts gives the parts of a word that may each name a file.
func wordParts(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(`=:,;"'{}()[] `+"\t\n", r) })
}
