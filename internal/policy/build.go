package policy

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// sourcesSum is the SHA-256 of this room's sources, in hexadecimal digits: of all files below it except tests and
// the sources of table.txt. A test computes it, and fails if the sources have changed since (make generate). The
// sources themselves are not embedded, because they added a megabyte to each binary and each process.
//
//go:embed build.sum
var sourcesSum string

// judgingModules are the modules whose code decides how a call is read.
var judgingModules = []string{
	"cel.dev/cel-go", "github.com/bmatcuk/doublestar/v4", "github.com/go-json-experiment/json", "go.yaml.in/yaml/v3", "mvdan.cc/sh/v3",
}

// Build names how this program judges, independently of its configuration: by the built-in
// tables and the code of this room, and the versions of the modules that read shell lines,
// expressions, patterns and JSON. Two programs with the same build judge the same. It is
// part of every policy's hash.
func Build() string { return build() }

var build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(sourcesSum, info)
})

// buildOf is [Build] for sources of that sum and this program. A program that go test makes
// does not know its modules: they are then listed without a version, and the sources alone
// tell one build from another.
func buildOf(sources string, program *debug.BuildInfo) string {
	sum := sha256.New()
	for _, m := range judgingModules {
		fmt.Fprintf(sum, "module %q %q\n", m, moduleOf(program, m))
	}
	fmt.Fprintf(sum, "sources %q\n", strings.TrimSpace(sources))
	return hex.EncodeToString(sum.Sum(nil))
}

// moduleOf names the version of a module that a program was built with, and what is
// there in its place.
func moduleOf(program *debug.BuildInfo, module string) string {
	i := slices.IndexFunc(program.Deps, func(d *debug.Module) bool { return d.Path == module })
	if i < 0 {
		return ""
	}
	d := program.Deps[i]
	if d.Replace != nil {
		return fmt.Sprint(d.Version, " ", d.Replace.Path, " ", d.Replace.Version, " ", d.Replace.Sum)
	}
	return d.Version + " " + d.Sum
}
