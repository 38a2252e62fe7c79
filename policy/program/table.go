package program

import (
	"strings"

	"approvalbot/policy/workspace"
)

// Rule judges one simple command. args are the words after its name.
type Rule func(x *Call, name string, args []workspace.Word)

// commands is every program and builtin that policy has something to say about.
// Whatever is not here asks. It is made once per engine.
func Rules() map[string]Rule {
	m := map[string]Rule{}
	for _, add := range [...]func(map[string]Rule){readers, textTools, writers, wrappers, runners, networkTools, builtins, destroyers, remotes, projectTools} {
		add(m)
	}
	m["git"], m["go"], m["rm"], m["unlink"] = git, golang, rm, rm
	return m
}

// AfterEquals gives the value of a word like --option=value.
func AfterEquals(text string) string {
	if strings.HasPrefix(text, "-") {
		if _, v, ok := strings.Cut(text, "="); ok {
			return v
		}
	}
	return text
}

func WordMatches(word, p string) bool {
	if prefix, ok := strings.CutSuffix(p, "*"); ok {
		return strings.HasPrefix(word, prefix)
	}
	return word == p
}
