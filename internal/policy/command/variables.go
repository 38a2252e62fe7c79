package command

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// QuietVariables are variables of the environment that hold no secrets.
var QuietVariables = lazy.Words(`HOME PWD PIPESTATUS pipestatus OLDPWD USER LOGNAME SHELL PATH LANG LC_ALL LC_CTYPE
	LANGUAGE TERM TERM_PROGRAM COLORTERM HOSTNAME HOSTTYPE
	OSTYPE MACHTYPE UID EUID GROUPS PPID RANDOM SECONDS LINENO COLUMNS LINES TMPDIR TMP TEMP EDITOR PAGER VISUAL IFS REPLY BASH_VERSION
	ZSH_VERSION SHLVL DISPLAY TZ CI GOPATH GOROOT GOBIN GOOS GOARCH GOCACHE GOMODCACHE JAVA_HOME NODE_ENV VIRTUAL_ENV CONDA_PREFIX
	XDG_CONFIG_HOME XDG_CACHE_HOME XDG_DATA_HOME XDG_RUNTIME_DIR MANPATH CDPATH DEBIAN_FRONTEND`)

// shellVariables are lower-case names that mean something to a shell.
var shellVariables = lazy.Words(`path fpath cdpath manpath mailpath module_path fignore psvar prompt options aliases
	galiases saliases functions
	dis_aliases dis_functions commands builtins parameters history historywords nameddirs userdirs usergroups watch argv status term
	zsh_eval_context signals precmd_functions preexec_functions chpwd_functions periodic_functions zshexit_functions
	zsh_directory_name_functions`)

// OwnVariable reports a name that scripts give to their own variables and that
// neither shells nor programs obey.
func OwnVariable(name string) bool {
	for i := range len(name) {
		inside := i > 0 && (words.Digit(name[i]) || name[i] == '_')
		if !inside && !words.Lower(name[i]) {
			return false
		}
	}
	obeyed := strings.HasSuffix(name, "_proxy") || words.Begins(name, "npm_config", "pip_", "git_")
	return name != "" && !shellVariables.Has(name) && !obeyed
}

// OwnModules reports a value of PYTHONPATH that names directories of the project
// only: it runs the project's own code, as its tests do.
func OwnModules(p *workspace.Place, w workspace.Word) bool {
	if !w.Exact() || w.Text == "" {
		return false
	}
	for dir := range strings.SplitSeq(w.Text, ":") {
		if !p.EndsInside(dir) {
			return false
		}
	}
	return true
}
