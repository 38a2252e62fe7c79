package line

import (
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
		went := s.Place.Went
		s.stmts(f, p.Stmts)
		s.Place.Went = went
	case *syntax.ArithmExp:
		s.arithm(f, p.X)
	default:
		s.odd(f, p)
	}
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
		s.Found.Add(finding.UnusualShell) // fish runs what is in the brackets
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

// besides are findings of commands that change something, and so may not run beside
// the rest of a line, in any order.
var besides = finding.OfClass[approval.R1].Or(finding.OfClass[approval.R2]).
	Without(finding.Of(finding.NetworkRead, finding.RemoteRead))

// process judges the commands of <( ) or >( ): a shell of its own, which is not waited for.
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

// inside judges every command anywhere in the node.
func (s *Reading) inside(f frame, n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if st, ok := n.(*syntax.Stmt); ok {
			s.stmt(f, st)
			return false
		}
		return true
	})
}

// words reads words of which only the commands inside matter.
func (s *Reading) words(f frame, list ...*syntax.Word) {
	for _, w := range list {
		if w != nil {
			s.word(f, w)
		}
	}
}
