package command

import (
	"strings"

	"approvalbot/internal/lazy"
)

// ShellNames are the shells whose line after -c is read.
var ShellNames = lazy.Words("sh bash dash zsh ksh ash mksh rbash")

// AfterEquals gives the value of a word like --option=value.
func AfterEquals(text string) string {
	if strings.HasPrefix(text, "-") {
		if _, v, ok := strings.Cut(text, "="); ok {
			return v
		}
	}
	return text
}

// WordMatches reports a word that is p, or begins with it if p ends in "*".
func WordMatches(word, p string) bool {
	if prefix, ok := strings.CutSuffix(p, "*"); ok {
		return strings.HasPrefix(word, prefix)
	}
	return word == p
}
