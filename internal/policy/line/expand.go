package line

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/language"
	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// expansion judges what expanding a part of a word runs and reads.
func (s *Reading) expansion(f frame, p syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.ParamExp:
		s.param(f, p)
	case *syntax.CmdSubst:
		if p.TempFile || p.ReplyVar {
			s.Found.Add(finding.UnusualShell)
		}
		s.stmts(f, p.Stmts)
	case *syntax.ArithmExp:
		s.arithm(f, p.X)
	default:
		s.odd(f, p)
	}
}

// besides are findings of commands that change something, and so may not run beside
// the rest of a line, in any order.
var besides = finding.OfClass[approval.R1].Or(finding.OfClass[approval.R2].Without(finding.Of(finding.NetworkRead, finding.RemoteRead)))

// process judges the commands of <( ) or >( ): a shell of its own, which nobody
// waits for.
func (s *Reading) process(f frame, p *syntax.ProcSubst) {
	found, place, writes, logs := s.Found, s.Place, s.writes, len(s.logs)
	s.Found, s.input = finding.Set{}, nil
	if s.seen != nil {
		s.seen.Apart = true
	}
	s.stmts(f.subshell(), p.Stmts)
	wrote := s.writes && !writes || len(s.logs) > logs
	changes := wrote || s.Found.Any(besides)
	if changes && s.Unsure.What == "" && !f.searching {
		s.Unsure = grammar.Refusal{What: "<( ) with a command that changes something, beside the rest"}
	}
	s.Found, s.Place = s.Found.Or(found), place
}

// odd marks syntax that can run hidden commands or that shells read
// differently, and still judges the commands that can be seen in it.
func (s *Reading) odd(f frame, n syntax.Node) {
	s.Found.Add(finding.UnusualShell)
	s.inside(f, n)
}

// inside judges every command that stands anywhere in the node.
func (s *Reading) inside(f frame, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			s.stmt(f, st)
			return false
		}
		return true
	})
}

// param judges a parameter expansion. The forms that evaluate text (indirection,
// prompt expansion, arithmetic in a subscript or a slice, assignment) are odd.
func (s *Reading) param(f frame, p *syntax.ParamExp) {
	evaluated := p.Index != nil && !plainIndex(p.Index)
	if evaluated || p.Param == nil || grammar.Unusual(p) {
		s.odd(f, p)
		return
	}
	s.variable(p.Param.Value)
	if p.Repl != nil {
		s.words(f, p.Repl.Orig, p.Repl.With)
	}
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull,
			syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
			syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
			s.words(f, p.Exp.Word)
		default:
			s.odd(f, p)
		}
	}
}

// words reads words of which only the commands inside matter.
func (s *Reading) words(f frame, list ...*syntax.Word) {
	for _, w := range list {
		if w != nil {
			s.word(f, w)
		}
	}
}

// plainIndex reports a subscript that evaluates nothing.
func plainIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	if !ok {
		return false
	}
	l := w.Lit()
	return l == "@" || l == "*" || words.Digits(l)
}

// arithm judges arithmetic. A variable in it may hold text that runs commands
// when it is evaluated, so only numbers are plain.
func (s *Reading) arithm(f frame, x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		s.arithm(f, x.X)
		s.arithm(f, x.Y)
	case *syntax.UnaryArithm:
		s.arithm(f, x.X)
	case *syntax.ParenArithm:
		s.arithm(f, x.X)
	case *syntax.Word:
		if !words.Digits(x.Lit()) {
			s.odd(f, x)
		}
	case nil:
	default:
		s.odd(f, x)
	}
}

// variable judges reading a variable. The ones of the environment may hold
// secrets, unless their name is known or looks like a script's own.
func (s *Reading) variable(name string) {
	special := len(name) == 1 && strings.Contains("?#$!@*-_0123456789", name)
	if special || words.Digits(name) || command.QuietVariables[name] {
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

// wholeLines reports "IFS=" without a value.
func wholeLines(a *syntax.Assign) bool {
	if a.Name == nil || a.Append || a.Naked {
		return false
	}
	empty := a.Value == nil && a.Array == nil && a.Index == nil
	return empty && a.Name.Value == "IFS"
}

// assign judges one assignment. exported says that programs will see it.
func (s *Reading) assign(f frame, a *syntax.Assign, exported bool) {
	if a.Name == nil || a.Naked && a.Value != nil {
		s.Found.Add(finding.SetsEnvironment)
	}
	switch {
	case a.Name == nil:
	case exported && s.addsModules(f, a):
		s.Found = s.Found.Or(language.Project(&s.Place))
	case a.Value != nil:
		w := s.word(f, a.Value)
		if a.Append {
			w.Kind = workspace.Computed
		}
		s.Set(a.Name.Value, w, exported)
	default:
		s.Set(a.Name.Value, workspace.Word{}, exported)
	}
	if a.Index != nil && !plainIndex(a.Index) {
		s.odd(f, a.Index)
	}
	if a.Name == nil {
		s.words(f, a.Value)
	}
	if a.Array != nil {
		s.Found.Add(finding.UnusualShell) // fish runs what stands in the brackets
		for _, e := range a.Array.Elems {
			if e.Index != nil && !plainIndex(e.Index) {
				s.odd(f, e.Index)
			}
			s.words(f, e.Value)
		}
	}
}

// addsModules reports an assignment by which Python finds modules of the project.
func (s *Reading) addsModules(f frame, a *syntax.Assign) bool {
	return a.Name.Value == "PYTHONPATH" && a.Value != nil && command.OwnModules(&s.Place, s.word(f, a.Value))
}

// Set judges setting a variable to a value.
func (s *Reading) Set(name string, w workspace.Word, exported bool) {
	s.rehomed = s.rehomed || homeSettings[name]
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

// homeSettings say where users' configuration is.
var homeSettings = words.Set("HOME XDG_CONFIG_HOME APPDATA")

// harmless reports a setting of which the value is one of those that do no harm, or does
// not matter.
func harmless(name string, w workspace.Word) bool {
	re, ok := grammar.Settings[name]
	if re == nil {
		return ok
	}
	return w.Kind != workspace.Computed && !w.Tilde && grammar.Sets(name, w.Text)
}

// dangerousSetting reports a variable that decides which code programs run or
// whom they talk to.
func dangerousSetting(name string) bool {
	upper := strings.ToUpper(name)
	switch upper {
	case "PATH", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND",
		"CDPATH", "FPATH", "SHELL",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "HOME", "TMPDIR", "GOFLAGS", "GOPROXY", "GOROOT",
		"CC", "CXX", "LD", "MAKEFLAGS", "RUSTC_WRAPPER", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "KUBECONFIG", "ZDOTDIR":
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
