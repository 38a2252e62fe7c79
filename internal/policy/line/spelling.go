package line

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	grammar "approvalbot/internal/policy/shell"
	"approvalbot/internal/policy/words"
)

// special marks the bytes that make an unquoted literal more than its text.
var special = [256]bool{'\\': true, '*': true, '?': true, '[': true, '{': true, '~': true, '$': true, '`': true,
	'=': true, '<': true, '>': true, '(': true, ')': true, '&': true, ';': true, '|': true}

func HasSpecial(s string) bool {
	for i := range len(s) {
		if special[s[i]] {
			return true
		}
	}
	return false
}

// nameBegins reports a byte with which the name of a program may begin, perhaps escaped.
func nameBegins(c byte) bool { return c == '\\' || words.WordByte(c) }

// expands reports a word that has more in it than text and quoted text.
func expands(w *syntax.Word) bool { return slices.ContainsFunc(w.Parts, expandsPart) }

func expandsPart(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return false
	case *syntax.DblQuoted:
		return slices.ContainsFunc(p.Parts, expandsPart)
	}
	return true
}

// splits reports an expansion that becomes several words even in quotes.
func splits(p syntax.WordPart) bool {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil {
		return ok
	}
	return e.Param.Value == "@" || e.Index != nil
}

// bareVariable gives the name of a variable that is expanded to its value.
func bareVariable(p syntax.WordPart) (string, bool) {
	e, ok := p.(*syntax.ParamExp)
	if !ok || e.Param == nil {
		return "", false
	}
	return e.Param.Value, e.Index == nil && !grammar.Operates(e)
}

// plainIndex reports a subscript that needs no evaluation.
func plainIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	if !ok {
		return false
	}
	l := w.Lit()
	return l == "@" || l == "*" || words.Digits(l)
}

// status reports $? or ${PIPESTATUS[0]} alone, or in quotes.
func status(parts []syntax.WordPart) bool {
	if len(parts) != 1 {
		return false
	}
	switch p := parts[0].(type) {
	case *syntax.DblQuoted:
		return !p.Dollar && status(p.Parts)
	case *syntax.ParamExp:
		if index, ok := p.Index.(*syntax.Word); ok && plainIndex(index) {
			return !grammar.Operates(p) && (p.Param.Value == "PIPESTATUS" || p.Param.Value == "pipestatus")
		}
		name, plain := bareVariable(p)
		return plain && name == "?"
	}
	return false
}

// lastText gives the literal text with which a word ends.
func lastText(parts []syntax.WordPart) string {
	switch p := parts[len(parts)-1].(type) {
	case *syntax.Lit:
		return p.Value
	case *syntax.SglQuoted:
		return p.Value
	case *syntax.DblQuoted:
		if len(p.Parts) > 0 {
			return lastText(p.Parts)
		}
	}
	return ""
}

// unescape takes the backslashes out of double-quoted text.
func unescape(v string) string {
	if strings.IndexByte(v, '\\') < 0 {
		return v
	}
	out := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) && strings.IndexByte("$`\"\\\n", v[i+1]) >= 0 {
			if i++; v[i] == '\n' {
				continue
			}
		}
		out = append(out, v[i])
	}
	return string(out)
}

// maxList is how many words a brace list is read as. What is longer is any word.
const maxList = 32

// braceList gives the words of a plain brace list, nil for everything else.
func braceList(w *syntax.Word) (before string, words []string, after string) {
	text := w.Lit()
	before, rest, ok := strings.Cut(text, "{")
	inside, after, closed := strings.Cut(rest, "}")
	special := strings.Contains(text, `\`) || strings.ContainsAny(inside, "{*?[~=") || strings.ContainsAny(after, "{}")
	if !ok || !closed || special {
		return "", nil, ""
	}
	if commas := strings.Count(inside, ","); commas == 0 || commas >= maxList || strings.Contains(inside, "..") {
		return "", nil, ""
	}
	return before, strings.Split(inside, ","), after
}
