package policy

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// sources is this room with all that is below it but for tests, which would be a third
// of it: the patterns take each name that ends in no t, or in a t behind no s. A test
// finds what they leave out.
//
//go:embed *[^t].go *[^s]t.go */*[^t].go */*[^s]t.go program/table.txt tool/*.yaml
var sources embed.FS

// judgingModules are the modules whose code decides how a call is read.
var judgingModules = []string{
	"cel.dev/cel-go", "github.com/bmatcuk/doublestar/v4", "github.com/go-json-experiment/json", "go.yaml.in/yaml/v3", "mvdan.cc/sh/v3",
}

// Build names how this program judges, whatever it is configured to: the built-in
// tables and the code of this room, and the versions of the modules that read shell
// lines, expressions, patterns and JSON. Two programs with the same build judge the
// same. It is part of every policy's hash.
func Build() (string, error) { return build() }

var build = sync.OnceValues(func() (string, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(sources, info)
})

// buildOf is [Build] for these sources and this program. One that go test makes does
// not know its modules: there they stand without a version, and the sources alone
// tell one build from another.
func buildOf(sources fs.FS, program *debug.BuildInfo) (string, error) {
	sum := sha256.New()
	for _, m := range judgingModules {
		fmt.Fprintf(sum, "module %q %q\n", m, moduleOf(program, m))
	}
	err := fs.WalkDir(sources, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "testdata":
			return fs.SkipDir
		case d.IsDir() || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		f, err := sources.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		size, err := io.Copy(sum, f)
		fmt.Fprintf(sum, "\nfile %q %d\n", name, size)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("the policy's own sources cannot be read: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
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
