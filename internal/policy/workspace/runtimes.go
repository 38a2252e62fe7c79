package workspace

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
)

// Obeyed gives what a change of a file means that other programs or agents obey, by its
// folded path. It reports false for all others.
func Obeyed(lower string) (finding.Code, bool) {
	switch {
	case SettingsPath(lower):
		return finding.WritesAgentSettings, true
	case StartupPath(lower):
		return finding.WritesStartup, true
	case InstructionPath(lower):
		return finding.WritesInstructions, true
	}
	return 0, false
}

// SettingsPath reports a file by which the runtime of an agent asks a desk, or no longer
// does, by its folded path: settings, hooks, MCP servers and plugins in a hidden directory,
// or in a directory of runtimes below /etc and ~/.config. Their names are known by their
// shape, because runtimes are many; hidden directories of other programs are known by name.
// The path may be a glob.
func SettingsPath(lower string) bool {
	if !strings.ContainsRune(lower, '.') && !strings.Contains(lower, "etc/") && path.Base(lower) != "crushrc" {
		return false // which is most of them
	}
	before, inside := "", false
	for rest, more := lower, true; more; {
		var c string
		c, rest, more = strings.Cut(rest, "/")
		c = strings.TrimRight(c, ". ") // Windows drops them
		last := !more || strings.Trim(rest, "/.") == ""
		switch {
		case c == "":
			continue
		case last && runtimeFiles.Has(c),
			last && c[0] == '.' && runtimeDirs.Has(c[1:]),
			inside && attaches(c),
			before == ".github" && attaches(c) && words.Any(c[:1], "h", "*", "?"), // Copilot's
			before == ".github" && c == "copilot":
			return true
		case c[0] == '.':
			inside = inside || !otherDirs.Has(withoutCopy(c)) && !(strings.LastIndexByte(c, '.') > 0 && settingEnds.Has(path.Ext(c)))
		case words.Any(before, "etc", ".config", "roaming", "application support"):
			inside = inside || runtimeDirs.Has(c)
		}
		before = c
	}
	return false
}

// SettingsIn reports text in which such a file is named.
func SettingsIn(text string) bool {
	apart := func(c rune) bool { return c < 0x80 && !words.WordByte(byte(c)) && !strings.ContainsRune("./-~*?[]", c) }
	for name := range strings.FieldsFuncSeq(FoldPath(text), apart) {
		if SettingsPath(path.Clean(name)) {
			return true
		}
	}
	return false
}

// attaching are how the names begin of what attaches a runtime to a desk.
var attaching = []string{"settings", "managed-", "hook", "mcp", "config", "plugin", "extension", "requirements",
	"polic", "permission", "trusted"}

// attaches reports such a name, or a glob that may match one. A file of text is not one.
func attaches(name string) bool {
	if words.Any(path.Ext(name), ".md", ".mdc", ".txt") {
		return false
	}
	head := name
	if at := strings.IndexAny(name, "*?[{"); at >= 0 {
		head = name[:at]
	}
	for _, begin := range attaching {
		if strings.HasPrefix(name, begin) || len(head) < len(name) && strings.HasPrefix(begin, head) {
			return true
		}
	}
	return false
}

var (
	// runtimeFiles hold such settings in any directory.
	runtimeFiles = lazy.Words(`.claude.json .mcp.json mcp.json opencode.json opencode.jsonc crush.json .crush.json crushrc .crushrc openclaw.json
		.aider.conf.yml .aider.conf.yaml managed-settings.json managed-mcp.json mcp_settings.json cline_mcp_settings.json claude_desktop_config.json .mcphub.json
		gemini-extension.json .goose.yaml .ampcode.json .codex.json firebender.json`)

	// runtimeDirs are directories of runtimes; with a dot in a project or a home, without one
	// below /etc and ~/.config.
	runtimeDirs = lazy.Words(`claude claude-code claudecode codex gemini gemini-cli geminicli qwen qwen-code copilot github-copilot cursor windsurf codeium
		cline kiro goose opencode openclaw amazonq crush amp factory augment roo kilocode kilo continue trae junie openhands agents zed`)

	// otherDirs are hidden directories of other programs, whose settings are no runtime's, and names of usual hidden files.
	otherDirs = lazy.Words(`. .. .git .hg .svn .bzr .jj .github .gitlab .gitea .forgejo .circleci .buildkite .semaphore .tekton .builds .woodpecker .teamcity
		.azure-pipelines .zuul.d .config .local .cache .ssh .aws .azure .kube .docker .gnupg .gcloud .cargo .rustup .m2 .mvn .gradle .npm .yarn .pnpm-store .bundle .gem
		.rbenv .pyenv .nvm .volta .asdf .mise .sdkman .vim .nvim .emacs.d .vscode .vscode-test .vs .idea .fleet .settings .run .bsp .metals .bloop .clj-kondo .lsp
		.husky .githooks .lefthook .changeset .devcontainer .vitepress .vuepress .storybook .streamlit .jupyter .ipython .dvc .docusaurus .astro .next .nuxt
		.output .svelte-kit .angular .expo .venv .tox .nox .pytest_cache .mypy_cache .ruff_cache .terraform .terragrunt-cache .serverless .vercel
		.netlify .firebase .turbo .nx .parcel-cache .ddev .lando .ebextensions .elasticbeanstalk .platform .devbox .flox .ansible .molecule .chef .kitchen
		.vagrant .swiftpm .build .dart_tool .pub-cache .reuse .allure .trunk .obsidian .direnv .autoenv .ctags.d .well-known
		.gitignore .dockerignore .npmignore .eslintignore .prettierignore .stylelintignore .helmignore .vercelignore .gcloudignore .gitattributes .gitkeep .keep
		.editorconfig .eslintrc .prettierrc .babelrc .stylelintrc .browserslistrc .nvmrc .node-version .python-version .ruby-version .coveragerc .flake8 .clang-format
		.clang-tidy .yamllint .markdownlintrc .nojekyll .mailmap .tmp .temp .backup .backups .bak .old .ci .archive .amplify-hosting .dist .out .logs .report .reports`)
)

// settingEnds are endings of hidden files that are settings of a program, and no directory.
var settingEnds = lazy.Words(".json .jsonc .json5 .yaml .yml .toml .js .cjs .mjs .ts .cts .mts")

// instructionNames are files that agents take for what people told them to do.
var instructionNames = lazy.Words(`agents.md agent.md agents.override.md agents.local.md claude.md claude.local.md gemini.md qwen.md crush.md crush.local.md
	heartbeat.md identity.md bootstrap.md memory.md conventions.md skill.md .roorules .kilocoderules .continuerules .augmentrules .augment-guidelines
	airules.md warp.md codex.md copilot-instructions.md openhands.md soul.md .cursorrules .windsurfrules .goosehints .rules
	codebuddy.md iflow.md replit.md .blackboxrules .voidrules`)

// instructionDirs are folders of a runtime's hidden folder in which it finds texts for its model, and instructionTexts are
// such texts that lie beside them.
var (
	instructionDirs  = lazy.Words("rules workflows skills prompts agents commands steering guidelines modes personas")
	instructionTexts = lazy.Words("system.md append_system.md")
)

// InstructionPath reports a file that tells agents what to do, by its folded path.
func InstructionPath(lower string) bool {
	name := strings.TrimRight(path.Base(lower), ". ") // Windows drops them
	return instructionNames.Has(name) || strings.HasSuffix(name, ".instructions.md") || strings.HasSuffix(name, ".chatmode.md") ||
		strings.HasSuffix(name, ".agent.md") || runtimeText(lower, name)
}

// HitsObeyed reports a glob whose last part is written for a name that others obey: "C*.md" for CLAUDE.md. One that has only an
// ending ("*.md") is written for no name.
func HitsObeyed(glob string) bool {
	last := path.Base(FoldPath(glob))
	first := strings.IndexAny(last, "*?[")
	if first < 0 {
		return false
	}
	matches := func(name string) bool { return MatchesName(last, name) }
	if words.Holds(last, ".instructions.", ".chatmode.", ".agent.") {
		return true
	}
	if first == 0 && strings.IndexFunc(strings.TrimSuffix(last, path.Ext(last)), unicode.IsLetter) < 0 {
		return false
	}
	return slices.ContainsFunc(instructionNames.List(), matches) || slices.ContainsFunc(startupNames.List(), matches)
}

// runtimeText reports a text in a hidden folder that is not known to be of another program than a runtime.
func runtimeText(lower, name string) bool {
	if ext := path.Ext(name); ext != "" && !words.Any(ext, ".md", ".mdc", ".txt") {
		return false
	}
	inside := false
	for dir := range strings.SplitSeq(path.Dir(lower), "/") {
		switch dir = strings.TrimRight(dir, ". "); {
		case dir == "":
		case dir[0] == '.':
			inside = inside || !otherDirs.Has(withoutCopy(dir))
		case inside && instructionDirs.Has(dir):
			return true
		}
	}
	return inside && instructionTexts.Has(name)
}

// obeyed is [Obeyed] of the part of a path below the workspace, whose own name counts.
func (p *Place) obeyed(file string) (finding.Code, bool) {
	below := p.Below(file)
	if root := file[:len(file)-len(below)]; root != "" && SettingsPath(FoldPath(path.Base(root)+below)) {
		return finding.WritesAgentSettings, true
	}
	return Obeyed(FoldPath(below))
}

// Apart reports a file that a yes for the files beside it does not cover: what usually holds
// secrets, says who may do what, or is obeyed. The path is folded.
func Apart(lower string) bool {
	_, obeyed := Obeyed(lower)
	return obeyed || SecretPath(lower) || AccessPath(lower)
}
