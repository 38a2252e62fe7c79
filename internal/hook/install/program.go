package install

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// small is the name of the program that only answers hooks.
const small = "approvalbot-hook"

// onlyHooks reports whether a program is the small one.
func onlyHooks(program string) bool {
	name := program[strings.LastIndexAny(program, `/\`)+1:]
	return strings.TrimSuffix(name, ".exe") == small
}

// HookProgram is the small program if it lies beside approvalbot, else approvalbot itself.
func HookProgram(approvalbot string) string {
	beside := filepath.Join(filepath.Dir(approvalbot), small+filepath.Ext(approvalbot))
	if info, err := os.Stat(beside); err == nil && runs(info) {
		return beside
	}
	return approvalbot
}

// ask are the words for a shell that start a hook's program, before the runtime's name.
func (o Options) ask() string {
	if onlyHooks(o.Program) {
		return shellWord(o.Program)
	}
	return shellWord(o.Program) + " hook"
}

// runs reports whether a file can be executed.
func runs(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0)
}

// jsHook is the program's first argument in the plugin for OpenCode; the small program has none.
func (o Options) jsHook() string {
	if onlyHooks(o.Program) {
		return ""
	}
	return `"hook", `
}

// asksFor reports whether a text has the words, of either program, that ask for a runtime.
func asksFor(text, runtime string) bool {
	return slices.ContainsFunc([]string{" hook ", small + " ", small + "' ", small + ".exe ", small + ".exe' "},
		func(words string) bool { return strings.Contains(text, words+runtime+" ") })
}
