package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/language"
	"approvalbot/internal/policy/words"
)

// asIs reports a statement that gives the status of its command, and is waited for.
func asIs(st *syntax.Stmt) bool { return !st.Negated && !st.Background }

// plainStmt reports a statement that consists of simple commands in lists and
// pipes, whose output goes nowhere but on; single if it is one command whose
// output stays as it is.
func plainStmt(st *syntax.Stmt) (plain, single bool) {
	apart := st.Coprocess || st.Disown
	if apart || !asIs(st) || len(st.Comments) > 0 {
		return false, false
	}
	for _, r := range st.Redirs {
		target := ""
		if r.Word != nil {
			target = r.Word.Lit()
		}
		plain := target == "/dev/null" || r.Op == syntax.DplOut && words.Digits(target)
		if r.Hdoc != nil || !plain {
			return false, false
		}
	}
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		plain = len(c.Assigns) == 0 && len(c.Args) > 0
		return plain, plain && len(st.Redirs) == 0
	case *syntax.BinaryCmd:
		x, _ := plainStmt(c.X)
		y, _ := plainStmt(c.Y)
		return x && y && c.Op != syntax.PipeAll, false
	}
	return false, false
}

// listsFiles reports a statement whose output is that of a plain command which lists files,
// or hands such a list on.
func listsFiles(st *syntax.Stmt) bool {
	for {
		c, ok := st.Cmd.(*syntax.BinaryCmd)
		pipe := ok && (c.Op == syntax.Pipe || c.Op == syntax.PipeAll)
		if !pipe || !asIs(st) || len(st.Redirs) > 0 {
			break
		}
		st = c.Y
	}
	c, ok := st.Cmd.(*syntax.CallExpr)
	for _, r := range st.Redirs {
		ok = ok && writesOut(r)
	}
	named := ok && len(c.Assigns) == 0 && len(c.Args) > 0
	return named && asIs(st) && language.Lists(c.Args[0].Lit())
}

// readsName gives the variable into which a condition reads a line as it is.
func readsName(cond []*syntax.Stmt) (string, bool) {
	if len(cond) != 1 || len(cond[0].Redirs) > 0 || cond[0].Negated {
		return "", false
	}
	c, ok := cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || c.Args[0].Lit() != "read" {
		return "", false
	}
	if n := len(c.Assigns); n > 1 || n == 1 && !wholeLines(c.Assigns[0]) {
		return "", false
	}
	args := c.Args[1:]
	if len(args) > 0 && args[0].Lit() == "-r" {
		args = args[1:]
	}
	if len(args) != 1 {
		return "", false
	}
	return args[0].Lit(), command.OwnVariable(args[0].Lit())
}

// readsPipe reports a plain command after a pipe whose words contain no other command that could
// read the pipe.
func readsPipe(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	reads := func(r *syntax.Redirect) bool { return !writesOut(r) }
	if !ok || len(c.Assigns) > 0 || slices.ContainsFunc(st.Redirs, reads) {
		return false
	}
	alone := true
	for _, w := range c.Args {
		if !expands(w) {
			continue
		}
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n.(type) {
			case *syntax.CmdSubst, *syntax.ProcSubst:
				alone = false
			}
			return alone
		})
	}
	return alone
}

// overwrites reports a redirection that takes away what was in a file.
func overwrites(r *syntax.Redirect) bool {
	return slices.Contains([]syntax.RedirOperator{syntax.RdrOut, syntax.RdrAll, syntax.RdrClob}, r.Op)
}

// writesOut reports a redirection that does not change the input.
func writesOut(r *syntax.Redirect) bool {
	return r.Op == syntax.RdrOut || r.Op == syntax.AppOut || r.Op == syntax.DplOut
}

// takesErrors reports "&>" and "&>>".
func takesErrors(r *syntax.Redirect) bool { return r.Op == syntax.RdrAll || r.Op == syntax.AppAll }

// mixes reports a redirection that sends one channel to another one.
func mixes(redirs []*syntax.Redirect) bool {
	return slices.ContainsFunc(redirs, func(r *syntax.Redirect) bool { return r.Op == syntax.DplOut })
}

// mixesErrors reports a statement that sends what it says on another channel along with
// its output.
func mixesErrors(st *syntax.Stmt) bool {
	if len(st.Redirs) == 0 {
		switch c := st.Cmd.(type) {
		case *syntax.BinaryCmd:
			return c.Op == syntax.PipeAll || mixesErrors(c.X) || mixesErrors(c.Y)
		case *syntax.CallExpr:
			if len(c.Assigns) == 0 && !slices.ContainsFunc(c.Args, expands) {
				return false
			}
		}
	}
	errors := false
	syntax.Walk(st, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			errors = errors || n.Op == syntax.DplOut || takesErrors(n)
		case *syntax.BinaryCmd:
			errors = errors || n.Op == syntax.PipeAll
		}
		return !errors
	})
	return errors
}

// hereText gives the text of a here-document that is what it says: its delimiter is
// quoted, and no tabs are taken away.
func hereText(r *syntax.Redirect) string {
	one := r.Hdoc != nil && len(r.Hdoc.Parts) == 1
	if !one || r.Op != syntax.Hdoc || len(r.Word.Parts) != 1 {
		return ""
	}
	if q, ok := r.Word.Parts[0].(*syntax.SglQuoted); !ok || q.Dollar {
		return ""
	}
	text, ok := r.Hdoc.Parts[0].(*syntax.Lit)
	if !ok {
		return ""
	}
	return text.Value
}

// changes reports whether statements could give the variable another value.
func changes(list []*syntax.Stmt, name string) (yes bool) {
	for _, st := range list {
		syntax.Walk(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				yes = yes || n.Name == nil || n.Name.Value == name
			case *syntax.WordIter:
				yes = yes || n.Name.Value == name
			case *syntax.CallExpr:
				sets := len(n.Args) > 0 && !plainProgram(n.Args[0].Lit()) && !prints(n.Args)
				yes = yes || sets
			case *syntax.ParamExp:
				assigns := n.Exp != nil && (n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull)
				yes = yes || assigns
			}
			return !yes
		})
	}
	return yes
}

// plainProgram reports a command that sets no variable of the shell.
func plainProgram(name string) bool {
	switch name {
	case "", "read", "printf", "eval", "source", ".", "getopts", "mapfile", "readarray",
		"unset", "builtin", "command", "wait":
		return false
	}
	return true
}

// prints reports printf with a format that is written out: other words than the first
// name no variable.
func prints(args []*syntax.Word) bool {
	if args[0].Lit() != "printf" || len(args) < 2 || len(args[1].Parts) != 1 {
		return false
	}
	switch p := args[1].Parts[0].(type) {
	case *syntax.SglQuoted:
		return !p.Dollar && p.Value != "" && p.Value[0] != '-'
	case *syntax.DblQuoted:
		text := lastText(args[1].Parts)
		format := strings.Trim(text, "-") != "" && text[0] != '-'
		return format && !p.Dollar && len(p.Parts) == 1
	case *syntax.Lit:
		return p.Value[0] != '-' && p.Value[0] != '\\' && !HasSpecial(p.Value)
	}
	return false
}

// wholeLines reports "IFS=" without a value.
func wholeLines(a *syntax.Assign) bool {
	if a.Name == nil || a.Append || a.Naked {
		return false
	}
	empty := a.Value == nil && a.Array == nil && a.Index == nil
	return empty && a.Name.Value == "IFS"
}

// calls reports whether the body starts the named function in the background
// or in a pipe.
func calls(body *syntax.Stmt, name string) (found bool) {
	named, spreads := false, false
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			named = named || len(n.Args) > 0 && n.Args[0].Lit() == name
		case *syntax.Stmt:
			spreads = spreads || n.Background
		case *syntax.BinaryCmd:
			spreads = spreads || n.Op == syntax.Pipe
		}
		return true
	})
	return named && spreads
}
