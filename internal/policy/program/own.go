package program

import (
	"path"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// Own gives the name under which a program of the project is judged that is run by its
// path: a tool below projectBins or bin, a build tool's wrapper, or by their names alone a
// script or a built program that builds or tests. scripted says that it is one of the last
// two, whose name says only what it is for.
func Own(p *workspace.Place, file string) (name string, scripted, ok bool) {
	if !p.Known() || !p.LocalDir(workspace.Word{Text: "."}) {
		return "", false, false
	}
	file = strings.TrimPrefix(file, "./")
	if len(p.Dirs) == 1 && p.RootPath(p.Dirs[0]) {
		file = strings.TrimPrefix(file, p.Dirs[0]+"/")
	}
	dir, base := path.Split(file)
	dir = strings.TrimSuffix(dir, "/")
	tool, python := known(base).installed(), pythonNames.Has(base) || base == "pip"
	switch {
	case dir == "" && words.Any(base, "gradlew", "mvnw"),
		workspace.ProjectBins.Has(dir) && (tool || python),
		dir == "bin" && tool:
		return base, false, true
	case scriptDirs()[dir] && everydayScript(base), testProgram(dir, base):
		return handedOn, true, true
	}
	return "", false, false
}

// scriptDirs are the directories in which projects keep their scripts.
var scriptDirs = sync.OnceValue(func() map[string]bool {
	m := words.Set("bin script scripts tools ci hack dev")
	m[""] = true
	return m
})

// everydayScript reports the name of a script that builds or checks: test, lint.sh,
// run_tests.sh.
func everydayScript(name string) bool {
	ext := path.Ext(name)
	if ext != "" && !scriptEnds.Has(ext) {
		return false
	}
	name = strings.TrimSuffix(name, ext)
	if words.Begins(name, "run_", "run-") {
		name = name[len("run_"):]
	}
	return everydayTarget(name)
}

var scriptEnds = lazy.Words(".sh .bash .zsh .py .rb .pl .js .mjs .cjs .ts .php")

// testProgram reports a test among what compilers have made: build/tests/test_queue.
func testProgram(dir, base string) bool {
	top, _, _ := strings.Cut(dir, "/")
	built := builtDirs.Has(top) || strings.HasPrefix(top, "cmake-build-")
	if !built || workspace.Hidden("/"+dir) || workspace.Climbs(dir) {
		return false
	}
	for part := range strings.FieldsFuncSeq(base, func(r rune) bool { return r == '_' || r == '-' }) {
		if testParts.Has(part) {
			return strings.Trim(base, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
		}
	}
	return false
}

var (
	builtDirs = lazy.Words("build builddir _build out target zig-out")
	testParts = lazy.Words("test tests unittest unittests")
)
