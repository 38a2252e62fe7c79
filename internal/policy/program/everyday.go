package program

import (
	"strings"

	"approvalbot/internal/lazy"
)

// everydayWords begin the names of scripts and targets that build and check.
var everydayWords = lazy.Words(`test tests unit lint build compile type types typecheck check checks format fmt
	coverage cov cover bench benchmark vet
	all clean help verify validate analyze style prettier eslint tsc spec specs rebuild docs doc html`)

// targetParts may follow them: what is built or checked, and how.
var targetParts = lazy.Words(`all ci fix unit int integration e2e it watch fast slow quick short once debug dev race
	cover coverage report html json xml summary verbose quiet
	client server web frontend backend ui app api lib libs core cli docs doc types type js ts tsx css scss less html
	go py python rust java kotlin c cpp proto
	test tests spec specs lint format fmt check checks build compile typecheck only changed staged local node
	browser jsdom es esm cjs umd src code files style styles
	staticcheck vet eslint prettier jest vitest mocha mypy ruff black clippy`)

// everydayTarget reports the name of a script or target that builds or checks: test,
// lint:fix, build-web. Every part of it is on a list, so build-and-deploy and
// test:prod-wipe do not count.
func everydayTarget(name string) bool {
	first := true
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return strings.ContainsRune(":-_", r) }) {
		everyday := everydayWords.Has(part)
		if !first {
			everyday = targetParts.Has(part) || strings.Trim(part, "0123456789.") == ""
		}
		if !everyday {
			return false
		}
		first = false
	}
	return !first
}
