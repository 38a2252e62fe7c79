package program

import (
	"regexp"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// runners are interpreters, build tools and package managers: they run code
// that policy does not see, whatever their options say.
func runners(m map[string]Rule) {
	for n := range strings.FieldsSeq(`python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 node nodejs deno bun
		perl perl5 ruby irb php lua luajit tclsh wish expect osascript Rscript R julia pwsh powershell groovy scala erl elixir iex ghci guile sbcl swift`) {
		m[n] = interpreter
	}
	asks(m, finding.InterpreterCode, "cmd wscript cscript mshta ex vim vi nvim emacs ed nano less more man m4 bc gnuplot octave")
	tools := func(c finding.Code, names string) {
		for n := range strings.FieldsSeq(names) {
			m[n] = func(x *Call, _ string, args []workspace.Word) {
				if !x.version(n, args) {
					x.Add(c)
				}
			}
		}
	}
	tools(finding.RunsWorkspaceCode, `make gmake cmake ninja just rake task npm npx pnpm pnpx yarn bunx tsx ts-node cargo mvn gradle ant sbt bazel buck pytest tox nox unittest
		jest vitest mocha playwright cypress rspec phpunit ctest dotnet mix rebar3 stack cabal invoke poe hatch pdm poetry uv uvx pipenv bundle composer pre-commit
		husky nx turbo lerna gulp grunt act air`)
	tools(finding.InstallsPackages, `pip pip3 pipx gem apt apt-get aptitude dpkg yum dnf rpm zypper pacman yay apk brew port snap flatpak nix nix-env nix-shell conda mamba
		choco winget scoop easy_install cpan luarocks opam rustup asdf mise nvm sdk`)
	asks(m, finding.PublishesPackage, "twine flit goreleaser semantic-release np release-it")
	pip := m["pip"]
	m["pip"] = func(x *Call, name string, args []workspace.Word) {
		if len(args) > 0 && (args[0].Is("list") || args[0].Is("show") || args[0].Is("freeze") || args[0].Is("check")) {
			(&spec{flags: "flv", code: finding.ReadOnlyCommand, long: longs("format= files verbose local")}).judge(x, name, args[1:])
			return
		}
		pip(x, name, args)
	}
	m["pip3"] = m["pip"]
	for _, n := range [...]string{"npm", "pnpm", "yarn", "cargo", "gem"} {
		first := m[n]
		m[n] = func(x *Call, name string, args []workspace.Word) {
			first(x, name, args)
			x.verbs(args, finding.DropsData, "unpublish yank")
			x.verbs(args, finding.PublishesPackage, "publish push deprecate dist-tag owner")
			x.verbs(args, finding.InstallsPackages, "install i add ci publish update remove uninstall")
		}
	}
}

// interpreter judges a program that runs code of its own language.
func interpreter(x *Call, name string, args []workspace.Word) {
	if x.version(name, args) || len(args) == 1 && args[0].Is("-v") && (name == "node" || name == "perl" || name == "ruby" || name == "php") {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	if strings.HasPrefix(name, "python") && pythonModule(x, args) {
		return
	}
	if name == "node" && len(args) > 0 && args[0].Is("--test") {
		nodeTest.judge(x, name, args)
		return
	}
	file, computes := false, false
	for _, w := range args {
		computes = computes || w.Kind == workspace.Computed
	}
	defer func() {
		if computes || !x.Has(finding.InterpreterCode) {
			x.add(RunsUnread)
		}
	}()
	for _, w := range args {
		file = file || !w.MayBeOption() && w.Text != "-"
		switch w.Text {
		case "-c", "-e", "-E", "-p", "-r", "-m", "--eval", "--print", "-ne", "-pe", "-i", "-Command", "-EncodedCommand", "-enc", "eval":
			x.Add(finding.InterpreterCode)
			return
		}
		if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text[1:3], "cerE") || w.MayBeOption() && strings.HasPrefix(w.Text, "--eval") {
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

// goSpecs are the go commands that run no code of the workspace.
var goSpecs = map[string]*spec{
	"version": {flags: "", kind: fileNames, code: finding.ReadOnlyCommand},
	"env":     {kind: plainText, code: finding.ReadOnlyCommand, long: longs("json")},
	"doc":     {kind: plainText, code: finding.ReadOnlyCommand, long: longs("all u src short c cmd")},
	"list":    {kind: plainText, code: finding.LocalBuild, long: longs("m json json= f= e deps test find compiled export_ versions u")},
	"build":   {kind: plainText, code: finding.LocalBuild, texts: goFlags, long: longs(goBuild)},
	"vet":     {kind: plainText, code: finding.LocalBuild, long: longs("v tags= json n x")},
	"fmt":     {kind: plainText, code: finding.WorkspaceWrite, long: longs("n x")},
	"clean":   {kind: plainText, code: finding.LocalBuild, long: longs("cache testcache fuzzcache n x")},
	"test": {kind: plainText, code: finding.RunsProjectCode, texts: goFlags, long: longs(goBuild + ` run= skip= bench= benchmem benchtime= count= cover coverprofile= covermode= coverpkg= short timeout=
		parallel= failfast json vet= cpu= list= shuffle= fuzz= fuzztime= c cpuprofile= memprofile= blockprofile= mutexprofile= trace= outputdir= fullpath`)},
}

const goBuild = "o= v race msan asan trimpath tags= a n x p= mod= buildvcs buildvcs= ldflags= gcflags= work C="

// goFlags are its options whose value is options of another program.
var goFlags = words.Set("ldflags gcflags")

// goMods are the commands of go mod and what they are.
var goMods = map[string]finding.Code{"graph": finding.LocalBuild, "why": finding.LocalBuild, "verify": finding.LocalBuild, "tidy": finding.NetworkRead, "download": finding.NetworkRead, "vendor": finding.NetworkRead}

// plainFlags are what a linker and a compiler are told that makes them load and
// write nothing else.
var plainFlags = regexp.MustCompile(`^(?:-s|-w|-X[ =][A-Za-z0-9_./-]+=[A-Za-z0-9_.+:-]*|(?:all=)?-[NlmS]|all=| )*$`)

// golang judges the go command. Its options have one dash or two.
func golang(x *Call, _ string, args []workspace.Word) {
	if len(args) == 0 {
		x.Add(finding.ReadOnlyCommand)
		return
	}
	if len(args) > 1 && args[0].Is("mod") && args[1].Kind == workspace.Literal && goMods[args[1].Text] != 0 {
		x.Add(goMods[args[1].Text])
		x.Add(finding.LocalBuild)
		goArgs(x, args[1].Text, &spec{kind: plainText, long: longs("v x m modcacherw_ compat= go= json")}, args[2:])
		return
	}
	if len(args) > 1 && args[0].Is("tool") && args[1].Is("cover") {
		goArgs(x, "cover", &spec{kind: plainText, code: finding.LocalBuild, long: longs("func= html= o= mode=")}, args[2:])
		return
	}
	sp := goSpecs[args[0].Text]
	if sp == nil || args[0].Kind != workspace.Literal {
		x.Add(finding.RunsWorkspaceCode)
		return
	}
	goArgs(x, args[0].Text, sp, args[1:])
}

// dashes writes options of one dash with two.
func dashes(args []workspace.Word) []workspace.Word {
	words := make([]workspace.Word, 0, len(args))
	for _, w := range args {
		if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' || w.Is("-"+strings.TrimPrefix(w.Text, "-")) && len(w.Text) == 2 && w.Text != "--" {
			w.Text = "-" + w.Text
		}
		words = append(words, w)
	}
	return words
}

// goArgs judges the words of one go command.
func goArgs(x *Call, verb string, sp *spec, args []workspace.Word) {
	x.Add(sp.code)
	c := x.scanner(sp, dashes(args))
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.swallowed() && t.option != "ldflags" && t.option != "gcflags":
			x.Add(finding.UnknownOption)
		case t.option == "o" || strings.HasSuffix(t.option, "profile") || t.option == "trace" || t.option == "outputdir":
			x.Write(t.word)
		case (t.option == "ldflags" || t.option == "gcflags") && (t.word.Kind != workspace.Literal || !plainFlags.MatchString(strings.Replace(t.word.Text, "--", "-", 1))):
			x.Add(finding.UnknownOption)
		case t.option == "html":
			x.Add(finding.MayReadSecret) // the profile names the files that it shows
			x.Read(t.word)
		case verb == "list" && (t.option == "versions" || t.option == "u"):
			x.Add(finding.NetworkRead)
		case t.option == "C" && !x.Place.LocalDir(t.word):
			x.Add(finding.OutsideProject)
		case t.option == "" && (workspace.Climbs(t.word.Text) || strings.Contains(t.word.Text, "@")) && verb != "env":
			x.Add(finding.UnknownOption)
		case t.option == "" && sp.code != finding.ReadOnlyCommand:
			x.projectWord(t.word)
		}
	}
	switch local := x.Place.LocalDir(workspace.Word{Text: "."}); {
	case local || sp.code == finding.ReadOnlyCommand:
	case sp.code == finding.RunsProjectCode:
		x.Add(finding.OutsideProject)
	default:
		x.Add(finding.WritesOutside)
	}
}

// verbs adds c when one of the words is one of the verbs; "erase*" goes on.
func (x *Call) verbs(args []workspace.Word, c finding.Code, verbs string) {
	for v := range strings.FieldsSeq(verbs) {
		for _, w := range args {
			if WordMatches(w.Text, v) && (w.Kind == workspace.Literal || strings.HasSuffix(v, "*")) {
				x.Add(c)
			}
		}
	}
}
