package language

import (
	"path"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// compilerOption are options of C compilers that load no plugin and start no
// other program.
var compilerOption = lazy.Pattern(`^-(?:c|S|fsyntax-only|g[0-9]?|ggdb|O[0-9sgz]?|Ofast|W[a-z][A-Za-z0-9=+-]*|w|pedantic|pedantic-errors|std=[a-z0-9+:]+|pthread|static|shared|fPIC|fpic|f(?:no-)?(?:sanitize=[a-z,]+|omit-frame-pointer|exceptions|rtti|strict-aliasing|diagnostics-color=?[a-z]*)|m(?:32|64|arch=[a-z0-9-]+|tune=[a-z0-9-]+)|M(?:MD|D|P)|[ILDU].*|l[A-Za-z0-9_+]+|v)$`)

// compiled are the endings of what compilers take for source or a library.
var compiled = lazy.Words(".c .cc .cpp .cxx .c++ .C .h .hh .hpp .hxx .m .mm .o .a .so .lo .dylib")

// compiler judges C compilers. What a source tells them to take in (asm, .incbin) is not
// seen, so they count as running the project.
func compiler(x *command.Call, name string, args []workspace.Word) {
	if ShowsVersion(x, name, args) {
		return
	}
	RunsProject(x)
	for i := 0; i < len(args); i++ {
		switch w := args[i]; {
		case w.Is("-o") && i+1 < len(args):
			i++
			x.Write(args[i])
			if x.Place.IsScratch(args[i]) {
				x.Add(finding.WritesOutside) // a program, which others may run
			}
		case w.Is("-E"):
			x.Add(finding.MayReadSecret) // it prints everything that the source includes
		case w.MayBeOption() && (w.Kind != workspace.Literal || !compilerOption.MatchString(w.Text)):
			x.Add(finding.UnknownOption)
		case strings.HasPrefix(w.Text, "@"):
			x.Add(finding.UnknownOption)
		case !w.MayBeOption():
			ProjectWord(x, w)
			x.Read(w)
			switch ext := path.Ext(w.Text); {
			case words.Any(ext, ".s", ".S", ".sx", ".asm"):
				x.Add(finding.MayReadSecret) // it takes in whole files
			case w.Kind != workspace.Computed && !compiled.Has(ext):
				x.Add(finding.UnknownOption) // to the linker it may be a script
			}
		}
	}
}
