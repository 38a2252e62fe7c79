package line

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// passers only run the command that is in their words.
var passers = lazy.Words("sudo doas env nohup setsid nice ionice timeout gtimeout time stdbuf chronic command " +
	"builtin exec")

// Opens reports a wrapper that runs only commands which were read; inner is how many. The words of
// a shell are no such command if the shell computes in them.
func Opens(args []workspace.Word, inner int) bool {
	base := program.ProgramOf(args[0])
	names := func(w workspace.Word) bool { return program.NamesProgram(base, w.Text) }
	if inner == 0 || slices.ContainsFunc(args[1:], names) {
		return false
	}
	return passers.Has(base) || OpensLine(args) && !strings.ContainsAny(args[2].Text, "$`")
}

// OpensLine reports a shell that is given only one line.
func OpensLine(args []workspace.Word) bool {
	if len(args) != 3 || !command.ShellNames.Has(program.ProgramOf(args[0])) {
		return false
	}
	return args[1].Fits(lineFlags.Compiled()) && args[2].Kind == workspace.Literal
}

var lineFlags = lazy.Pattern(`^-[celux]*c$`)

// maxNestedWords bounds how many words of a command are taken for commands, and how
// many words such a command has.
const maxNestedWords = 64

// InsideWords calls fn with every end of the words that could be a command of its own, until fn
// gives true.
func InsideWords(args []workspace.Word, fn func([]workspace.Word) bool) bool {
	for i := 1; i < min(len(args), maxNestedWords); i++ {
		if args[i].Text != "" && fn(args[i:]) {
			return true
		}
		if !strings.ContainsAny(args[i].Text, " \t\n") {
			continue
		}
		var inside []workspace.Word
		ends := func(r rune) bool { return strings.ContainsRune(" \t\n;&|()`'\"", r) }
		for t := range strings.FieldsFuncSeq(args[i].Text, ends) {
			inside = append(inside, workspace.Word{Text: t})
		}
		for k := range inside {
			if fn(inside[k:]) {
				return true
			}
		}
	}
	return false
}

// MayHide reports a command that could run what is in its words without policy knowing how.
func (e *Wide) MayHide(args []workspace.Word) bool {
	base := program.ProgramOf(args[0])
	return e.Rules(base) == nil || program.IsWrapper(base)
}

// fileRunners run what a file says, one that they are given or that they look for.
var fileRunners = lazy.Words(`docker-compose podman-compose ansible-playbook salt fab pssh sftp ftp lftp telnet
	vagrant tilt skaffold serverless sls cdk
	pm2 supervisorctl helm helmfile flatpak crontab patch tar bsdtar unzip
	fastlane mage goreleaser wrangler firebase scons snakemake nix-build dvc earthly quarto jekyll
	nomad dpkg mise direnv eb flyway liquibase java javaw wasmtime wasmer mono wine open xdg-open flatpak-builder`)

// fromFiles are subcommands of programs for containers that do.
var fromFiles = lazy.Words("build buildx bake up compose stack play apply create replace patch deploy submit load")

// gitFromFiles are commands of git that do what a file or a setting says.
var gitFromFiles = lazy.Words("apply am config")

// TakesFiles reports a command of a package manager that takes packages, or lists of them, from
// files: it names one, or no package at all.
func TakesFiles(args []workspace.Word) bool {
	operands := 0
	for _, w := range args[1:] {
		if namesPackageFile(w.Text) {
			return true
		}
		if !strings.HasPrefix(w.Text, "-") {
			operands++
		}
	}
	return operands < 2 // the verb, or no more than the program has by itself
}

// namesPackageFile reports a word for a package, or for a list of them, that is a file or in a folder.
// With a slash it may be one, unless it is a scope (@types/node) or an address.
func namesPackageFile(text string) bool {
	local := words.Begins(text, ".", "/", "~", "file:") || packageFiles.Has(path.Ext(text))
	option := words.Begins(text, "-r", "-e", "-c", "-if", "--req", "--con", "--edit", "--path", "--file", "--gemdeps",
		"--manifest", "--dangerous")
	folder := strings.Contains(text, "/") && !strings.Contains(text, "://") && !strings.HasPrefix(text, "@")
	return local || option || folder || words.Any(text, "bundle", "bundler", "make")
}

var packageFiles = lazy.Words(".whl .tgz .gz .xz .bz2 .zip .deb .rpm .gem .rb .pkg .jar .crate .txt " +
	".apk .snap .nix .toml .yaml .yml .json .lock")

// unpackers put the contents of a file among others, and run no part of it.
var unpackers = lazy.Words("tar bsdtar unzip")

// RunsFile reports a command that may run what a file says, or its input if it is fed: a program
// that policy does not know may do so with any file. remote says that it acts on containers,
// services or another system.
func (e *Wide) RunsFile(args []workspace.Word, remote, fed bool) bool {
	base := program.ProgramOf(args[0])
	if base == "git" && slices.ContainsFunc(args[1:], func(w workspace.Word) bool { return gitFromFiles.Has(w.Text) }) {
		return true
	}
	known := e.Rules(base) != nil
	if fileRunners.Has(base) || !known && fed {
		return true
	}
	return (!known || remote) && slices.ContainsFunc(args[1:], func(w workspace.Word) bool {
		return looksLikeFile(w.Text) || remote && sends(base, w.Text)
	})
}

// RunsChanging reports a command that surely does what a file says, which may change under the
// same words, or that puts on another system (remote) what it finds or a file says.
func (e *Wide) RunsChanging(args []workspace.Word, remote bool) bool {
	base, one := program.ProgramOf(args[0]), ""
	if len(args) > 1 {
		one = args[1].Text
	}
	switch {
	case unpackers.Has(base), base == "git" && one == "config":
		return false
	case e.RunsFile(args, false, false):
		return true
	}
	forge := base == "gh" || base == "glab" // is given text
	return slices.ContainsFunc(args[1:], func(w workspace.Word) bool {
		text := command.AfterEquals(w.Text)
		told := words.Begins(text, "file://", "fileb://") ||
			words.Begins(w.Text, "--files-from", "--include-from", "--exclude-from", "--config", "--from-file")
		return told || remote && (!forge && sends(base, text) || namesFile(text))
	})
}

// namesFile reports a word that is sure to be a file of this machine: it begins like a path, or
// with the @ that many programs read a file for, or ends as texts and lists do.
func namesFile(text string) bool {
	if strings.ContainsAny(text, " :\n") {
		return false // text, an address, or a file of another machine
	}
	return words.Begins(text, "./", "../", "/", "~", "@") || fileEnds.Has(strings.ToLower(path.Ext(text)))
}

var fileEnds = lazy.Words(`.json .yaml .yml .toml .xml .ini .conf .cfg .cnf .hcl .tf .tfstate .txt .csv .tsv .list
	.sql .sh .bash .py .js .rb .pl .lua .ps1
	.env .key .pem .crt .rules .tmpl .tpl .j2 .zip .tgz .gz .tar .jar .war .whl .rpm .deb
	.iso .img .bin .ko .so .dat .data .out .html .md`)

// sends reports one of fromFiles; "deploy" is what kubectl calls a kind of object, too.
func sends(base, word string) bool {
	return fromFiles.Has(word) && (word != "deploy" || base != "kubectl" && base != "oc")
}

// looksLikeFile reports a word with a directory in it, or with an ending of letters.
func looksLikeFile(text string) bool {
	text = command.AfterEquals(text)
	if strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "fileb://") {
		return true
	}
	if strings.Contains(text, "://") {
		return false
	}
	if strings.ContainsAny(text, "/~") || text == "." || text == ".." {
		return true
	}
	dot := strings.LastIndexByte(text, '.')
	if dot < 0 || dot+1 == len(text) || words.Digits(text[dot+1:]) {
		return false
	}
	return strings.Trim(strings.ToLower(text[dot+1:]), "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
