package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Parsed appends the form of a line as a parser of bash read it. What the grammar
// of [Plain] does not hold is written with a mark that Plain never writes, so that
// the forms differ.
func Parsed(dst []byte, f *syntax.File) []byte {
	w := writer{dst}
	w.stmts(f.Stmts)
	return w.out
}

// writer writes the form of a syntax tree.
type writer struct{ out []byte }

func (w *writer) mark(marks ...byte) { w.out = append(w.out, marks...) }

func (w *writer) stmts(list []*syntax.Stmt) {
	for _, st := range list {
		w.stmt(st)
		w.mark(markEnd)
	}
}

func (w *writer) stmt(st *syntax.Stmt) {
	if st.Background || st.Coprocess || st.Disown {
		w.mark(markOther)
	}
	if st.Negated {
		w.mark(markNot)
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.BinaryCmd:
		w.binary(c)
	case *syntax.TimeClause:
		w.mark(markTime)
		if c.PosixFormat || c.Stmt == nil {
			w.mark(markOther)
			return
		}
		w.stmt(c.Stmt)
	case *syntax.Subshell:
		w.mark(markOpen, '(')
		w.stmts(c.Stmts)
		w.mark(markClose)
	case *syntax.Block:
		w.mark(markOpen, '{')
		w.stmts(c.Stmts)
		w.mark(markClose)
	case *syntax.IfClause:
		w.mark(markOpen, 'i')
		w.branches(c)
		w.mark(markClose)
	case *syntax.WhileClause:
		kind := byte('w')
		if c.Until {
			kind = 'u'
		}
		w.mark(markOpen, kind)
		w.stmts(c.Cond)
		w.mark(markPart)
		w.stmts(c.Do)
		w.mark(markClose)
	case *syntax.ForClause:
		w.loop(c)
	default:
		w.mark(markOther)
	}
	for _, r := range st.Redirs {
		w.redirect(r)
	}
}

func (w *writer) binary(c *syntax.BinaryCmd) {
	w.stmt(c.X)
	switch c.Op {
	case syntax.AndStmt:
		w.mark(markAnd)
	case syntax.OrStmt:
		w.mark(markOr)
	case syntax.Pipe:
		w.mark(markPipe)
	default:
		w.mark(markOther)
	}
	w.stmt(c.Y)
}

func (w *writer) branches(c *syntax.IfClause) {
	w.stmts(c.Cond)
	w.mark(markPart)
	w.stmts(c.Then)
	switch e := c.Else; {
	case e == nil:
	case e.ThenPos.IsValid():
		w.mark(markPart)
		w.branches(e)
	default:
		w.mark(markPart)
		w.stmts(e.Then)
	}
}

func (w *writer) loop(c *syntax.ForClause) {
	words, ok := c.Loop.(*syntax.WordIter)
	if !ok || c.Select || c.Braces {
		w.mark(markOther)
		return
	}
	w.mark(markOpen, 'f')
	w.out = append(append(w.out, words.Name.Value...), markWord)
	for _, item := range words.Items {
		w.word(item)
	}
	w.mark(markPart)
	w.stmts(c.Do)
	w.mark(markClose)
}

func (w *writer) call(c *syntax.CallExpr) {
	for _, a := range c.Assigns {
		scalar := a.Name != nil && a.Index == nil && a.Array == nil
		if !scalar || a.Append || a.Naked {
			w.mark(markOther)
			continue
		}
		w.mark(markAssign)
		w.out = append(append(w.out, a.Name.Value...), '=')
		w.word(a.Value)
	}
	for _, arg := range c.Args {
		w.word(arg)
	}
}

func (w *writer) redirect(r *syntax.Redirect) {
	op := r.Op.String()
	if r.N != nil {
		op = r.N.Value + op
	}
	w.mark(markRedirect)
	if r.Op == syntax.Hdoc {
		w.out = append(append(w.out, op...), markWord)
		w.document(r.Hdoc)
		return
	}
	target := ""
	if r.Op == syntax.DplOut && r.Word != nil {
		target = r.Word.Lit()
		op += target
	}
	w.out = append(append(w.out, op...), markWord)
	if r.Op != syntax.DplOut {
		w.word(r.Word)
	} else if target == "" {
		w.mark(markOther)
	}
}

// word writes one word and its end; nil is an empty one.
func (w *writer) word(word *syntax.Word) {
	if word != nil {
		for i, p := range word.Parts {
			w.part(p, i == 0)
		}
	}
	w.mark(markWord)
}

func (w *writer) part(p syntax.WordPart, first bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		w.lit(p.Value, first)
	case *syntax.SglQuoted:
		if p.Dollar {
			w.mark(markOther)
		}
		w.out = append(w.out, p.Value...)
	case *syntax.DblQuoted:
		if p.Dollar {
			w.mark(markOther)
		}
		for _, q := range p.Parts {
			if l, ok := q.(*syntax.Lit); ok {
				w.quoted(l.Value)
			} else {
				w.expansion(q, true)
			}
		}
	default:
		w.expansion(p, false)
	}
}

// lit writes unquoted text.
func (w *writer) lit(text string, first bool) {
	if !strings.ContainsAny(text, `\*?[~{`) {
		w.out = append(w.out, text...)
		return
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			w.mark(text[i])
		case c == '*',
			c == '?',
			c == '[',
			c == '~' && first && i == 0,
			c == '{' && mayList(text, i):
			w.mark(markPattern, c)
		default:
			w.mark(c)
		}
	}
}

// mayList reports a brace that may begin a list: not that of {}, nor git's behind @ and ^.
func mayList(text string, at int) bool {
	git := at > 0 && (text[at-1] == '@' || text[at-1] == '^')
	return !git && !strings.HasPrefix(text[at+1:], "}")
}

// quoted writes text in double quotes.
func (w *writer) quoted(text string) {
	if strings.IndexByte(text, '\\') < 0 {
		w.out = append(w.out, text...)
		return
	}
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				w.mark(markOther)
			}
		}
		w.mark(text[i])
	}
}

func (w *writer) expansion(p syntax.WordPart, inQuotes bool) {
	name, subst := byte(markName), byte(markSubst)
	if inQuotes {
		name, subst = markQuotedName, markQuoted
	}
	switch p := p.(type) {
	case *syntax.ParamExp:
		if p.Param == nil || Operates(p) {
			w.mark(markOther)
			return
		}
		w.mark(name)
		w.out = append(w.out, p.Param.Value...)
		if i, ok := p.Index.(*syntax.Word); ok {
			w.out = append(append(append(w.out, '['), i.Lit()...), ']')
		} else if p.Index != nil {
			w.mark(markOther)
		}
		w.mark(markNameEnd)
	case *syntax.CmdSubst:
		if p.Backquotes || p.TempFile || p.ReplyVar {
			w.mark(markOther)
		}
		w.mark(subst)
		w.stmts(p.Stmts)
		w.mark(markSubstEnd)
	case *syntax.ProcSubst:
		if p.Op != syntax.CmdIn {
			w.mark(markOther)
		}
		w.mark(markFile)
		w.stmts(p.Stmts)
		w.mark(markSubstEnd)
	default:
		w.mark(markOther)
	}
}

// Operates reports a parameter expansion that does more than give a value, or one of
// several.
func Operates(p *syntax.ParamExp) bool {
	changes := p.Repl != nil || p.Exp != nil
	return changes || p.Length || Unusual(p)
}

// Unusual reports a parameter expansion in a form that evaluates text, or that not all
// shells have.
func Unusual(p *syntax.ParamExp) bool {
	return slices.Contains([]bool{p.Excl, p.Width, p.IsSet, p.Slice != nil, p.Names != 0,
		p.Flags != nil, p.Split != 0, p.GlobSubst != 0, p.RcExpand != 0, p.NestedParam != nil, len(p.Modifiers) > 0}, true)
}

// document writes the body of a here-document: one text if its delimiter is quoted, else
// text with the parts that shells fill in.
func (w *writer) document(body *syntax.Word) {
	if body != nil {
		for _, p := range body.Parts {
			if text, ok := p.(*syntax.Lit); ok {
				w.out = append(w.out, text.Value...)
			} else {
				w.expansion(p, true)
			}
		}
	}
	w.mark(markWord)
}
