//go:build linux

package confine

import (
	"maps"
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/workspace"
)

// guard knows which names of one workspace are protected.
type guard struct {
	root  string          // of the workspace, clean and absolute
	repos map[string]bool // git's own directories before, relative to root
	envs  map[string]bool // environments of languages before, and folders of PATH
	named map[string]bool // folded paths that protected links lead to
}

// place is how a directory is looked at.
type place struct {
	Held  bool   // it and all below it are protected
	Git   bool   // it is or lies in a directory of git's own
	Joins bool   // its path has a name that may be taken for something else together with others
	Under string // its folded path, from the folder .git that it lies in
}

// in gives the place of a name in a directory, and whether the name is protected.
func (g *guard) in(dir place, dirRel, name string) place {
	lower := workspace.FoldPath(name)
	p := place{Held: dir.Held, Git: dir.Git, Joins: dir.Joins || workspace.Joins(name), Under: join(dir.Under, lower)}
	if p.Git {
		return p
	}
	if lower == ".git" {
		return place{Held: true, Git: true}
	}
	p.Git = g.repos[join(dirRel, name)]
	p.Held = p.Held || p.Git || g.envs[join(dirRel, name)] || !workspace.Unasked(p.Under) || workspace.Odd(name) ||
		alsoObeyed.Has(lower) || alsoLike.MatchString(lower) || strings.HasSuffix(p.Under, "/mise/config.toml") ||
		p.Joins && workspace.Odd(g.root+"/"+join(dirRel, name))
	if !p.Held && len(g.named) > 0 {
		_, p.Held = g.named[workspace.FoldPath(join(dirRel, name))]
	}
	return p
}

// top is how the root is looked at: what a name in it is to others depends on the folders above too.
func (g *guard) top() place {
	return place{Joins: workspace.Joins(g.root), Under: workspace.FoldPath(g.root)}
}

var (
	// envParts are the folders of an environment of Python or conda that has its programs and what they load.
	envParts = lazy.Words("bin Scripts lib Lib lib64 Library share etc conda-meta")

	// alsoObeyed are files and folders that others obey and policy's names do not have: of editors, agents, CI, linters
	// that run what their settings say, what an .envrc that is allowed reads again, and Python's compiled files: it runs
	// them instead of the sources that people read.
	alsoObeyed = lazy.Words(`.helix .volta .agent .qoder .lingma iflow.md replit.md .replit .idx .gitpod.yml .taskcluster.yml .cirrus.star .drone.star
		.drone.jsonnet .packit.yaml .copr .azuredevops .theia .nova .vim .ycm_extra_conf.py .pylintrc .autoenv_leave.zsh prek.toml hk.pkl
		captainhook.json .claude-plugin .lsp.json .antigravity .codebuddy .iflow replit.nix .gitpod .ona .codesandbox
		.harness .evergreen.yml .prow.yaml .pipelines flake.nix devenv.nix .dir-locals-2.el .repo __pycache__
		.lazygit.yml .lite_project.lua .opencode.json gptme.toml codebuff.json .luarc.json .solargraph.yml hie.yaml .lsp .bloop
		.local-overcommit.yml grumphp.yml .huskyrc .pre-commit-config.yml .tool-versions.local .tfswitchrc global.json .venv
		.continuerc.json .opencode.jsonc .serena fastagent.config.yaml .kilocodemodes .openhands_instructions .mcp .devin .coderabbit.yaml
		.pr_agent.toml monotonerc
		.externaltoolbuilders pylintrc .pylintrc.toml .gitlint .readthedocs.yaml amplify.yml .mergify.yml .warp activate-hermit
		hermit.hcl shell.nix default.nix flake.lock devenv.yaml devenv.lock`)

	alsoLike = lazy.Pattern(`^\.?mise(?:rc)?\..*toml$|\.py[co]$`)
)

// isRepository reports a directory that git takes for a repository, or that a name more would make one.
func isRepository(has func(name string) bool) bool {
	return has("HEAD") && (has("objects") || has("refs") || has("commondir"))
}

func absolute(dir, file string) string {
	if path.IsAbs(file) {
		return file
	}
	return dir + "/" + file
}

// placeOf gives the place of a path of the workspace; of one that is protected, that of its first part that is.
func (g *guard) placeOf(rel string) place {
	if rel == "" {
		return g.top()
	}
	dir, name := splitPath(rel)
	if p := g.placeOf(dir); !p.Held {
		return g.in(p, dir, name)
	}
	return place{Held: true}
}

// held reports a path that is protected by its names alone, or lies in a repository's own directory.
func (g *guard) held(rel string) bool { return g.placeOf(rel).Held }

// splitPath gives the directory and the name of a relative path.
func splitPath(rel string) (dir, name string) {
	if at := strings.LastIndexByte(rel, '/'); at >= 0 {
		return rel[:at], rel[at+1:]
	}
	return "", rel
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// sorted gives the keys of a map, each directory before what is in it.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
