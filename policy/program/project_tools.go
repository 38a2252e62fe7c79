package program

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// pythonTools are Python's project tools, also by python -m.
var pythonTools = words.Set(`pytest py.test unittest mypy ruff black isort flake8 pylint pyright basedpyright pycodestyle pydocstyle autopep8 yapf bandit coverage tox nox py_compile compileall`)

// nodeTools are JavaScript's, as installed in a project.
var nodeTools = words.Set(`jest vitest mocha ava eslint prettier tsc vue-tsc tsd stylelint biome oxlint xo standard svelte-check astro vite webpack rollup esbuild tsup next nuxt
	turbo nx playwright cypress markdownlint markdownlint-cli2 swc babel knip madge depcheck size-limit`)

// nodePackages are those of them whose package has the tool's name.
var nodePackages = func() map[string]bool {
	m := maps.Clone(nodeTools)
	for _, another := range [...]string{"biome", "swc", "babel", "markdownlint"} {
		delete(m, another)
	}
	return m
}()

// projectNames are the tools that may stand where a project installs programs.
var projectNames = func() map[string]bool {
	m := words.Set("rspec rubocop standardrb rake phpunit phpstan psalm pint php-cs-fixer pest phpcs phpcbf golangci-lint staticcheck gotestsum")
	maps.Copy(m, pythonTools)
	maps.Copy(m, nodeTools)
	return m
}()

var pythonSpec = spec{
	flags: "vqxslhfiwu", vals: "kmrnWje", num: true, long: longs(`verbose quiet exitfirst maxfail= tb= lf last-failed ff failed-first nf new-first sw stepwise durations= cov
		cov= cov-report= cov-branch cov-append no-cov cov-fail-under= no-header no-summary showlocals collect-only co capture= color= color disable-warnings strict-markers
		strict-config markers fixtures junitxml= junit-xml= timeout= numprocesses= dist= reruns= asyncio-mode= ignore= deselect= setup-show runxfail benchmark-only import-mode=
		full-trace snapshot-update log-level= log-cli-level= version help strict strict-optional ignore-missing-imports show-error-codes pretty no-error-summary python-version=
		namespace-packages explicit-package-bases check-untyped-defs disallow-untyped-defs exclude= extend-exclude= follow-imports= check diff fix fix-only unsafe-fixes
		no-fix show-fixes output-format= select= extend-select= extend-ignore= line-length= target-version= force-exclude= statistics count max-line-length= max-complexity=
		profile= skip-string-normalization preview no-cache config= settings-path= rcfile= disable= enable= errors-only score= reports= jobs= show-source per-file-ignores= watch
		recursive= in-place aggressive parallel severity-level= confidence-level= locals failfast buffer start-directory= pattern= warnings level= outputjson show-missing
		skip-covered include= omit= fail-under= branch source= data-file= rcfile= session= sessions= envlist= reuse-existing-virtualenvs stop-on-first-error`),
}

var nodeSpec = spec{
	flags: "vwhuqsyb", vals: "tcpgjkR", long: longs(`watch watch= watchAll watchAll= coverage coverage= verbose silent runInBand ci bail bail= passWithNoTests updateSnapshot update json maxWorkers= max-workers=
		testNamePattern= testPathPattern= testPathPatterns= testPathIgnorePatterns= onlyChanged changedSince= detectOpenHandles forceExit listTests no-cache cache= no-coverage
		collectCoverageFrom= coverageReporters= reporter= reporters= run no-watch globals pool= threads poolOptions= environment= project= projects= shard= retry= dir= root=
		typecheck testTimeout= test-timeout= testTimeout= hookTimeout= config= fix fix-dry-run ext= max-warnings= quiet format= formatter= no-error-on-unmatched-pattern cache ignore-path= ignore-pattern=
		no-ignore color no-color report-unused-disable-directives check write list-different loglevel= log-level= ignore-unknown noEmit noEmit= noEmitOnError pretty
		pretty= skipLibCheck strict watch build project= incremental incremental= emitDeclarationOnly declaration outDir= rootDir= target= module= jsx= lib= esModuleInterop
		allowJs listFiles showConfig diagnostics extendedDiagnostics traceResolution force clean dry mode= outfile= outdir= bundle minify sourcemap format= platform= splitting
		external= out-dir= production development dev filter= affected parallel parallel= only skip-nx-cache output-style= no-daemon grep= fgrep= invert timeout= exit recursive
		headed headless debug ui browser= workers= max-failures= trace= retries= list apply unsafe changed staged since= version help all reporter-options= bail-on-failure
		tsconfig= threshold= no-lint lint`),
}

// nodeTest is the test runner of node itself.
var nodeTest = &projectTool{spec: spec{long: longs("test test-reporter= test-name-pattern= test-only test-concurrency= test-timeout= experimental-test-coverage test-force-exit no-warnings")}}

// scriptSpecs are the options of npm, pnpm, yarn and bun before a script's name.
// What one of them does not know takes no value there, so that the next word
// would be its command.
var scriptSpecs = map[string]*spec{
	"npm":  {flags: "sh", vals: "Cw", posix: true, long: longs("silent if-present workspace= workspaces ws prefix= include-workspace-root loglevel= no-color color quiet")},
	"pnpm": {flags: "srwh", vals: "CF", posix: true, long: longs("silent if-present workspace-root recursive filter= dir= parallel stream no-bail loglevel= no-color color")},
	"yarn": {flags: "sh", posix: true, long: longs("silent cwd=")},
	"bun":  {flags: "sh", vals: "F", posix: true, long: longs("silent if-present filter= cwd=")},
}

// scriptSpec are the options of all of them behind it.
var scriptSpec = spec{flags: "srwh", vals: "wCF", posix: true,
	long: longs("silent if-present workspace= workspaces ws recursive filter= prefix= dir= cwd= parallel stream no-bail include-workspace-root loglevel= no-color color quiet")}

// scriptArgs judges what stands behind a script's name: it goes to whatever
// tool the script starts.
var scriptArgs = &projectTool{spec: joined(joined(nodeSpec, scriptSpec), spec{flags: "lagpc", long: longs("depth= long parseable bail= verbose")})}

// joined is the spec that knows the options of both; one that takes a value in
// one of them takes it.
func joined(a, b spec) spec {
	out := spec{flags: a.flags + b.flags, vals: a.vals + b.vals, num: a.num || b.num, long: map[string]bool{}}
	for _, m := range [...]map[string]bool{a.long, b.long} {
		for name, takes := range m {
			out.long[name] = out.long[name] || takes
		}
	}
	for _, v := range out.vals {
		out.flags = strings.ReplaceAll(out.flags, string(v), "")
	}
	return out
}

// without is the spec without some of its short options.
func (sp spec) without(flags string) spec {
	for _, f := range flags {
		sp.flags = strings.ReplaceAll(sp.flags, string(f), "")
	}
	return sp
}

// lintSpec are the options of formatters and linters of other languages.
var lintSpec = spec{
	flags: "adwlqvhAxsegcfn", vals: "jpio", long: longs(`version help fix write check list diff all verbose quiet format= config= severity= exclude= include= output-format= color= color no-color
		autocorrect autocorrect-all auto-correct only= except= parallel display-cop-names fail-level= fail-fast profile tag= order= seed= example= backtrace warnings documentation progress
		timeout= new new-from-rev= fast enable= disable= disable-all skip-dirs= build-tags= allow-parallel-runners concurrency= max-issues-per-linter= max-same-issues= out-format=
		edition= emit= external-sources shell= recursive strict memory-limit= level= no-progress ansi no-ansi filter= testsuite= stop-on-failure testdox coverage-text dry-run
		allow-risky= allow-risky test dirty exitcode simplify local= dedup-results presets= check-only sort-imports junitfile= packages= rerun-fails format-hide-empty-pkg`),
}

// clangOption is a long option with one dash, which clang's tools do not take for
// letters: -export-fixes=FILE writes a file.
var clangOption = regexp.MustCompile(`^-[a-oq-zA-Z].`)

// goLint are the tools of Go that read their options as the go command does.
var goLint = &projectTool{spec: spec{long: longs(`l w d e h v version help verbose format= color no-color oneline extra local= tests checks= tags= exclude= blank asserts ignoretests abspath fail=`)}}

var makeSpec = spec{flags: "sknBwhil", vals: "jC", num: true, long: longs("silent quiet keep-going dry-run always-make jobs= directory= no-print-directory print-directory output-sync= output-sync trace")}

var cargoSpec = spec{
	flags: "vqr", vals: "pjF", long: longs(`release workspace all package= exclude= features= no-default-features all-features lib bin= bins test= tests example= examples bench= benches
		all-targets target= profile= verbose quiet jobs= locked offline frozen no-run no-fail-fast doc message-format= color= manifest-path= keep-going timings no-deps check
		fix allow-dirty allow-staged depth= edges= invert= duplicates format-version= version help test-threads= retries= run-ignored= ignore-rust-version document-private-items target-dir=`),
}

// cargoAfter are the words that go to tests and to clippy.
var cargoAfter = regexp.MustCompile(`^(?:--(?:nocapture|no-capture|exact|ignored|include-ignored|show-output|list|test-threads(?:=\d+)?|skip|check|quiet)|-[DWAF]|[A-Za-z0-9_:]+)$`)

var gradleSpec = spec{flags: "qidsh", vals: "xp", long: longs(`tests= info debug stacktrace quiet offline no-daemon daemon parallel no-parallel build-cache no-build-cache continue rerun-tasks dry-run
	warning-mode= console= exclude-task= project-dir= no-scan configuration-cache no-configuration-cache max-workers= version help refresh-dependencies`)}

var mavenSpec = spec{flags: "qBeXoUhva", vals: "plT", long: longs("quiet batch-mode offline errors fail-at-end fail-fast fail-never also-make projects= threads= no-transfer-progress update-snapshots version help file= resume-from=")}

var dotnetSpec = spec{flags: "h", vals: "cfovr", long: longs(`configuration= framework= no-build no-restore verbosity= filter= logger= nologo runtime= output= collect= results-directory= verify-no-changes
	include= exclude= severity= blame list-tests no-incremental settings= version help info self-contained`)}

// register makes the tool the rule of the named programs.
func (p *projectTool) register(m map[string]Rule, names string) {
	for n := range strings.FieldsSeq(names) {
		m[n] = p.judge
	}
}

// registerVerbs makes the tool the rule of the named programs for its verbs;
// for all else they keep the rule they have.
func (p *projectTool) registerVerbs(m map[string]Rule, names string) {
	for n := range strings.FieldsSeq(names) {
		m[n] = runnerOr(p.judge, m[n], p.verbs)
	}
}

// projectTools gives the rules of a project's own tools.
func projectTools(m map[string]Rule) {
	pythonRules(m)
	nodeRules(m)
	lintRules(m)
	buildRules(m)
	compilers(m)
}

func pythonRules(m map[string]Rule) {
	for n := range pythonTools {
		(&projectTool{spec: pythonSpec}).register(m, n)
	}
	(&projectTool{spec: pythonSpec, verbs: words.Set("check format version rule")}).register(m, "ruff")
	m["tox"], m["nox"] = environments(toxSpec), environments(noxSpec)
	m["coverage"] = coverage
	for n := range strings.FieldsSeq("poetry pipenv pdm hatch uv rye") {
		m[n] = runsIn("run", m[n])
	}
}

func nodeRules(m map[string]Rule) {
	for n := range nodeTools {
		(&projectTool{spec: nodeSpec}).register(m, n)
	}
	(&projectTool{spec: nodeSpec, verbs: words.Set("build check lint typecheck")}).register(m, "vite astro next nuxt")
	(&projectTool{spec: nodeSpec, verbs: words.Set("check lint format ci")}).register(m, "biome")
	(&projectTool{spec: nodeSpec, verbs: words.Set("test")}).register(m, "playwright")
	(&projectTool{spec: nodeSpec, verbs: words.Set("verify version")}).register(m, "cypress")
	m["turbo"], m["nx"] = monorepo, monorepo
	(&projectTool{spec: spec{flags: "cwmhv", vals: "iodfne", long: longs("config config= watch input= file= dir= format= name= external= sourcemap sourcemap= silent version help")}}).register(m, "rollup")
	for _, n := range [...]string{"npm", "pnpm", "yarn", "bun"} {
		m[n] = scripts(m[n])
	}
	m["npx"], m["bunx"] = npx, npx
	(&projectTool{spec: nodeSpec, verbs: words.Set("test")}).registerVerbs(m, "bun")
	deno := joined(nodeSpec, spec{flags: "A", long: longs("allow-all allow-read allow-env check no-check fail-fast parallel coverage= doc")})
	(&projectTool{spec: deno, verbs: words.Set("test lint fmt check")}).registerVerbs(m, "deno")
}

// lintRules are the formatters and linters that have no room of their own, and
// the tools of smaller languages, whose options are like theirs.
func lintRules(m map[string]Rule) {
	(&projectTool{spec: lintSpec}).register(m, `shellcheck shfmt hadolint yamllint rustfmt cppcheck rubocop standardrb rspec
		phpstan psalm pint php-cs-fixer phpcs phpcbf ktlint swiftlint swiftformat stylua luacheck taplo tflint cpplint gotestsum ormolu hlint`)
	for n := range strings.FieldsSeq("clang-format clang-tidy") {
		m[n] = func(x *Call, name string, args []workspace.Word) {
			if slices.ContainsFunc(args, func(w workspace.Word) bool { return clangOption.MatchString(w.Text) }) {
				x.Add(finding.UnknownOption)
			}
			(&projectTool{spec: lintSpec}).judge(x, name, args)
		}
	}
	for n := range strings.FieldsSeq("actionlint gofumpt goimports staticcheck errcheck") {
		m[n] = func(x *Call, name string, args []workspace.Word) { goLint.judge(x, name, dashes(args)) }
	}
	for names, verbs := range map[string]string{
		"golangci-lint": "run fmt linters version", "buf": "lint format build", "mix": "test compile format credo dialyzer", "swift": "build test",
		"flutter dart": "test analyze format",
	} {
		(&projectTool{spec: lintSpec, verbs: words.Set(verbs)}).register(m, names)
	}
	(&projectTool{spec: lintSpec.without("w"), verbs: words.Set("build test")}).register(m, "stack cabal") // -w names the compiler
	(&projectTool{spec: lintSpec.without("d")}).register(m, "phpunit pest")                                // -d sets what PHP loads
	(&projectTool{spec: spec{flags: "av", long: longs("all-files files= verbose show-diff-on-failure version")}, verbs: words.Set("run")}).register(m, "pre-commit")
	(&projectTool{spec: lintSpec, verbs: words.Set("test lint check analyse phpstan cs format validate")}).registerVerbs(m, "composer")
	(&projectTool{spec: spec{long: longs("check diff recursive")}, verbs: words.Set("fmt validate")}).registerVerbs(m, "terraform tofu")
	m["bundle"] = runsIn("exec", m["bundle"])
}

func buildRules(m map[string]Rule) {
	for names, p := range map[string]*projectTool{
		"make gmake just task rake": {spec: makeSpec, verbs: words.Set("* default"), each: true},
		"gradle gradlew":            {spec: gradleSpec, verbs: gradleTasks, each: true},
		"ninja":                     {spec: spec{flags: "vn", vals: "Cjk", long: longs("version quiet verbose")}, verbs: words.Set("default all test check"), each: true},
		"zig":                       {spec: spec{long: longs("summary=")}, verbs: words.Set("build test fmt"), each: true},
		"sbt":                       {spec: spec{flags: "v", long: longs("client no-colors")}, verbs: words.Set("test compile Test/compile scalafmtCheck scalafmtAll"), each: true},
		"meson":                     {spec: spec{flags: "v", vals: "Cj", long: longs("version verbose print-errorlogs")}, verbs: words.Set("setup compile test")},
		"ctest":                     {spec: spec{flags: "VQN", vals: "jRELC", long: longs("output-on-failure verbose parallel= test-dir= timeout= rerun-failed label-regex= tests-regex= build-config= version")}},
		"bazel":                     {spec: spec{vals: "c", long: longs("test_output= config= jobs= keep_going verbose_failures cache_test_results= test_filter=")}, verbs: words.Set("build test query info version"), free: true},
	} {
		p.register(m, names)
	}
	(&projectTool{spec: cargoSpec, verbs: words.Set("test t build b check c clippy fmt bench doc tree metadata"), after: cargoAfter}).registerVerbs(m, "cargo")
	cargo, nextest := m["cargo"], &projectTool{spec: cargoSpec, verbs: words.Set("run r list"), after: cargoAfter} // "self" updates it
	m["cargo"] = func(x *Call, name string, args []workspace.Word) {
		if len(args) > 0 && args[0].Is("nextest") {
			nextest.judge(x, name, args[1:])
			return
		}
		cargo(x, name, args)
	}
	(&projectTool{spec: dotnetSpec, verbs: words.Set("test build format restore clean")}).registerVerbs(m, "dotnet")
	m["mvn"], m["mvnw"], m["cmake"] = maven, maven, cmake
}

// gradleTasks end in the project, also in one of its parts (:app:test).
var gradleTasks = words.Set(`test check build assemble clean classes testClasses jar compileJava compileKotlin compileTestJava compileTestKotlin lint ktlintCheck ktlintFormat
	detekt spotlessCheck spotlessApply checkstyleMain assembleDebug testDebugUnitTest lintDebug compileDebugKotlin dependencies projects tasks`)

// runnerOr judges a program as a project's tool where its first operand is one
// of the verbs, and by its other rule where it is not.
func runnerOr(tool, other Rule, verbs map[string]bool) Rule {
	return func(x *Call, name string, args []workspace.Word) {
		if len(args) > 0 && args[0].Kind == workspace.Literal && verbs[args[0].Text] || x.asksAbout(args) {
			tool(x, name, args)
			return
		}
		other(x, name, args)
	}
}

var (
	toxSpec = spec{flags: "rvqhl", vals: "ep", long: longs("recreate verbose quiet help version listenvs list parallel= skip-missing-interpreters notest skip-pkg-install no-recreate-pkg")}
	noxSpec = spec{flags: "rRvxhl", vals: "esp", long: longs("session= sessions= list verbose help version reuse-existing-virtualenvs no-install stop-on-first-error non-interactive python= error-on-missing-interpreters")}
)

// everydayEnvironment is the name of an environment or session that is called
// after a Python or a tool; testFile is what may be handed on to its commands,
// which are whatever the project says.
var (
	everydayEnvironment = regexp.MustCompile(`^(?:py(?:py)?[0-9.]*|pep8|style|docs?|static|typing)(?:-(?:[a-z]*[0-9][0-9.]*|cov|cover|coverage|unit|test|tests|lint|min|latest|dev|mypy|build))*$`)
	testFile            = regexp.MustCompile(`^(?:tests?(?:/[A-Za-z0-9_]+)*/?|[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)*\.py(?:::[A-Za-z0-9_:]+)?)$`)
)

// environments judges tox and nox. What they run in an environment is the
// project's; they also run any command in one.
func environments(sp spec) Rule {
	return func(x *Call, _ string, args []workspace.Word) {
		x.project()
		c := x.scanner(&sp, args)
		verb := false
		for t, ok := c.next(); ok; t, ok = c.next() {
			switch {
			case t.option == "e", t.option == "s", strings.HasPrefix(t.option, "session"):
				x.environment(t.word)
			case t.option != "":
				x.projectOption(t)
			case c.ended && t.word.Kind == workspace.Literal && testFile.MatchString(t.word.Text):
			case !c.ended && !verb && (t.word.Is("run") || t.word.Is("r") || t.word.Is("list") || t.word.Is("l")):
				verb = true
			default:
				x.Add(finding.RunsWorkspaceCode)
			}
		}
	}
}

// environment judges the names of environments, joined by commas.
func (x *Call) environment(w workspace.Word) {
	for name := range strings.SplitSeq(w.Text, ",") {
		first, rest, more := strings.Cut(name, "-")
		tool := pythonTools[first] && (!more || everydayTarget("test-"+rest))
		if w.Kind != workspace.Literal || !everydayTarget(name) && !everydayEnvironment.MatchString(name) && !tool {
			x.Add(finding.RunsWorkspaceCode)
		}
	}
}

// coverage runs tests under measurement, or reports.
func coverage(x *Call, name string, args []workspace.Word) {
	x.project()
	switch {
	case len(args) > 2 && args[0].Is("run") && args[1].Is("-m") && (args[2].Is("pytest") || args[2].Is("unittest")):
		x.inner(args[2:])
	case len(args) > 0 && (args[0].Is("report") || args[0].Is("html") || args[0].Is("xml") || args[0].Is("combine") || args[0].Is("erase") || args[0].Is("json")):
		(&projectTool{spec: pythonSpec}).judge(x, name, args[1:])
	default:
		x.Add(finding.RunsWorkspaceCode)
	}
}

// monorepo judges turbo run TASK and nx TASK PROJECT.
func monorepo(x *Call, name string, args []workspace.Word) {
	x.project()
	c := x.scanner(&nodeSpec, args)
	task := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option == "t" || strings.HasPrefix(t.option, "target"):
			x.Add(finding.RunsWorkspaceCode)
		case t.option != "":
			x.projectOption(t)
			x.built(name, t)
		case c.ended && task:
			scriptArgs.judge(x, name, c.rest())
			return
		case t.word.Is("run") || t.word.Is("run-many") || t.word.Is("affected"):
		case c.ended:
			x.projectWord(t.word)
		case t.word.Kind == workspace.Literal && everydayTarget(t.word.Text[strings.LastIndexByte(t.word.Text, ':')+1:]):
			if name == "nx" {
				scriptArgs.judge(x, name, c.rest()[1:])
				return
			}
			task = true // turbo takes several
		default:
			x.Add(finding.RunsWorkspaceCode)
			return
		}
	}
	if !task && !x.asksAbout(args) {
		x.Add(finding.RunsWorkspaceCode)
	}
}

// mavenGoals end before anything leaves the project: install and deploy do not.
var mavenGoals = words.Set("clean validate compile test test-compile package verify process-resources dependency:tree dependency:analyze checkstyle:check spotless:check spotless:apply fmt:format")

var mavenSetting = regexp.MustCompile(`^-D(?:test|it\.test|skipTests|skipITs|maven\.test\.skip|failIfNoTests|surefire\.failIfNoSpecifiedTests|checkstyle\.skip|style\.color|revision|spring\.profiles\.active)(?:=[A-Za-z0-9_.,*#+$-]*)?$`)

func maven(x *Call, _ string, args []workspace.Word) {
	x.project()
	rest := make([]workspace.Word, 0, len(args))
	for _, w := range args {
		switch {
		case w.Kind == workspace.Literal && mavenSetting.MatchString(w.Text), w.Is("-am"):
			continue
		case w.Is("-pl"):
			w.Text = "--projects"
		}
		rest = append(rest, w)
	}
	c := x.scanner(&mavenSpec, rest)
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch {
		case t.option != "":
			x.projectOption(t)
			x.built("mvn", t)
		case t.word.Kind != workspace.Literal || !mavenGoals[t.word.Text]:
			x.Add(finding.RunsWorkspaceCode)
		}
	}
}

var cmakeSetting = regexp.MustCompile(`^-D(?:CMAKE_BUILD_TYPE|CMAKE_EXPORT_COMPILE_COMMANDS|CMAKE_C(?:XX)?_STANDARD|CMAKE_VERBOSE_MAKEFILE|BUILD_[A-Z_]+|ENABLE_[A-Z_]+|WITH_[A-Z_]+|USE_[A-Z_]+)(?::[A-Z]+)?=[A-Za-z0-9]+$`)

// cmake configures and builds; -P, -E and --install do anything else.
func cmake(x *Call, _ string, args []workspace.Word) {
	x.project()
	rest := make([]workspace.Word, 0, len(args))
	for _, w := range args {
		if w.Kind == workspace.Literal && cmakeSetting.MatchString(w.Text) {
			continue
		}
		rest = append(rest, w)
	}
	c := x.scanner(&spec{flags: "v", vals: "SBGj", long: longs("build= target= config= parallel= parallel verbose version preset= clean-first")}, rest)
	builds := false
	for t, ok := c.next(); ok; t, ok = c.next() {
		builds = builds || t.option == "build"
		switch {
		case (t.option == "target" || t.option == "" && builds || c.ended) && !everydayTarget(t.word.Text): // --target takes several
			x.Add(finding.RunsWorkspaceCode)
		case t.swallowed(), t.option == "j" && t.value && !words.Digits(t.word.Text):
			x.Add(finding.UnknownOption)
		case t.option == "G", t.option == "j", t.option == "config":
		case t.value:
			x.projectWord(t.word)
			x.built("cmake", t)
		}
	}
}

// compilers turn source into programs. What a source tells them to take in (asm,
// .incbin) is not seen, so they count as running the project.
func compilers(m map[string]Rule) {
	for n := range strings.FieldsSeq("gcc g++ clang clang++ cc c++") {
		m[n] = compiler
	}
	m["javac"] = javac
}

// compilerOption are options of C compilers that load no plugin and start no
// other program.
var compilerOption = regexp.MustCompile(`^-(?:c|S|g[0-9]?|ggdb|O[0-9sgz]?|Ofast|W[a-z][A-Za-z0-9=+-]*|w|pedantic|pedantic-errors|std=[a-z0-9+:]+|pthread|static|shared|fPIC|fpic|f(?:no-)?(?:sanitize=[a-z,]+|omit-frame-pointer|exceptions|rtti|strict-aliasing|diagnostics-color=?[a-z]*)|m(?:32|64|arch=[a-z0-9-]+|tune=[a-z0-9-]+)|M(?:MD|D|P)|[ILDU].*|l[A-Za-z0-9_+]+|v)$`)

// compiled are the endings of what compilers take for source or a library.
var compiled = words.Set(".c .cc .cpp .cxx .c++ .C .h .hh .hpp .hxx .m .mm .o .a .so .lo .dylib")

func compiler(x *Call, name string, args []workspace.Word) {
	if x.version(name, args) {
		return
	}
	x.project()
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w.Is("-o") && i+1 < len(args):
			i++
			x.Write(args[i])
		case w.Is("-E"):
			x.Add(finding.MayReadSecret) // it prints whatever the source includes
		case w.MayBeOption() && (w.Kind != workspace.Literal || !compilerOption.MatchString(w.Text)):
			x.Add(finding.UnknownOption)
		case strings.HasPrefix(w.Text, "@"):
			x.Add(finding.UnknownOption)
		case !w.MayBeOption():
			x.projectWord(w)
			x.Read(w)
			switch ext := path.Ext(w.Text); {
			case ext == ".s" || ext == ".S" || ext == ".sx" || ext == ".asm":
				x.Add(finding.MayReadSecret) // it takes in whole files
			case w.Kind != workspace.Computed && !compiled[ext]:
				x.Add(finding.UnknownOption) // to the linker it may be a script
			}
		}
	}
}

// javac's options have one dash; its annotation processors are code of the
// project.
func javac(x *Call, name string, args []workspace.Word) {
	if x.version(name, args) {
		return
	}
	x.project()
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case (w.Is("-d") || w.Is("-cp") || w.Is("-classpath") || w.Is("--release") || w.Is("-source") || w.Is("-target") || w.Is("-encoding") || w.Is("-sourcepath")) && i+1 < len(args):
			i++
			x.projectWord(args[i])
			if w.Is("-d") {
				x.built("javac", token{option: "d", word: args[i], value: true})
			}
		case w.Is("-g"), w.Is("-nowarn"), w.Is("-parameters"), w.Kind == workspace.Literal && strings.HasPrefix(w.Text, "-Xlint"):
		case w.MayBeOption(), strings.HasPrefix(w.Text, "@"):
			x.Add(finding.UnknownOption)
		default:
			x.projectWord(w)
		}
	}
}
