package line

import (
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// variable judges reading a variable. The ones of the environment may hold
// secrets, unless their name is known or looks like a script's own.
func (s *flow) variable(name string) {
	special := len(name) == 1 && strings.Contains("?#$!@*-_0123456789", name)
	if special || words.Digits(name) || command.QuietVariables.Has(name) {
		return
	}
	if s.Own.Setting(name) {
		s.Found.Add(finding.TouchesDesk)
	}
	if !command.OwnVariable(name) {
		s.Found.Add(finding.ReadsEnvironment)
		return
	}
	for _, w := range [...]string{"token", "secret", "passw", "cred", "apikey", "api_key"} {
		if strings.Contains(name, w) {
			s.Found.Add(finding.ReadsEnvironment)
		}
	}
}

// Set judges setting a variable to a value.
func (s *flow) Set(name string, w workspace.Word, exported bool) {
	if s.Noted == nil {
		s.set(name, w, exported)
		return
	}
	s.Note(name, func() { s.set(name, w, exported) })
}

func (s *flow) set(name string, w workspace.Word, exported bool) {
	s.rehomed = s.rehomed || homeSettings.Has(name)
	switch {
	case harmless(name, w), !exported && command.OwnVariable(name):
	case s.Own.Setting(name):
		s.Found.Add(finding.TouchesDesk)
	case dangerousSetting(name):
		s.Found.Add(finding.DangerousEnvironment)
	default:
		s.Found.Add(finding.SetsEnvironment)
	}
}

// homeSettings name the directory of a user's configuration.
var homeSettings = lazy.Words("HOME XDG_CONFIG_HOME APPDATA")

// harmless reports a setting whose value is one of those that do no harm, or does not matter.
func harmless(name string, w workspace.Word) bool {
	re, ok := grammar.Settings()[name]
	if re == nil {
		return ok
	}
	return w.Kind != workspace.Computed && !w.Tilde && grammar.Sets(name, w.Text)
}

// dangerousSetting reports a variable that decides what programs run, or which hosts they talk to.
func dangerousSetting(name string) bool {
	upper := strings.ToUpper(name)
	switch upper {
	case "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND",
		"CDPATH", "FPATH", "SHELL", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER",
		"HOME", "TMPDIR", "GOFLAGS", "GOPROXY", "GOROOT", "CC", "CXX", "LD", "MAKEFLAGS", "RUSTC_WRAPPER",
		"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "KUBECONFIG", "ZDOTDIR":
		return true
	}
	for _, p := range [...]string{"LD_", "DYLD_", "GIT_", "NODE_", "NPM_CONFIG_", "PYTHON", "PERL", "RUBY",
		"BUNDLE_", "PHP", "LUA_", "BASH_FUNC_", "SSH_", "AWS_", "DOCKER_", "CARGO_"} {
		if strings.HasPrefix(upper, p) {
			return true
		}
	}
	return strings.HasSuffix(upper, "_PROXY")
}
