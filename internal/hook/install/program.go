package install

import (
	"io"
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

// Small is the path beside an approvalbot at which the small program is, if it was installed.
func Small(approvalbot string) string {
	return filepath.Join(filepath.Dir(approvalbot), small+filepath.Ext(approvalbot))
}

// HookProgram is the small program if it lies beside approvalbot, else approvalbot itself. It must be a program and
// no script, its owner's alone to write, as approvalbot is: a program that another user put there must not answer
// hooks.
func HookProgram(approvalbot string) string {
	own, err := os.Stat(approvalbot)
	if err != nil {
		return approvalbot
	}
	beside := Small(approvalbot)
	info, err := os.Lstat(beside)
	loose := runtime.GOOS != "windows" && err == nil && info.Mode().Perm()&0o022 != 0 && own.Mode().Perm()&0o022 == 0
	if err != nil || !runs(info) || loose || !sameOwner(own, info) || !isBinary(beside) {
		return approvalbot
	}
	return beside
}

// isBinary reports whether a file begins as programs of the platforms that releases are for do.
func isBinary(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	if _, err := io.ReadFull(f, head); err != nil {
		return false
	}
	magic := []string{"\x7fELF", "\xcf\xfa\xed\xfe", "\xfe\xed\xfa\xcf"}
	return slices.Contains(magic, string(head)) || string(head[:2]) == "MZ"
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

// jsHook is the program's first argument in the plugin for OpenCode; the small program takes no such argument.
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
