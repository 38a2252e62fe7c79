// Command release writes the files of a release to dist/, from the module two folders up:
// static binaries in archives with completions and manual pages, packages for Debian and
// Red Hat, an image archive, the list of modules with their licences, and the checksums
// of all that. The same commit gives the same bytes on every machine.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is an operating system and architecture for which binaries are made.
type platform struct{ os, arch string }

var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

// programs are what is built: the desk and its verbs, and the small one that runtimes start before each tool call.
var programs = []string{"approvalbot", "approvalbot-hook"}

// release is one run.
type release struct {
	root, dist string
	version    string              // without a leading v
	at         time.Time           // of the commit; every file's time
	binaries   map[platform][]file // a program each
	pages      []file              // manual pages and completions
}

// file is one file of an archive.
type file struct {
	name  string // with slashes, relative; one at its end: an empty folder
	text  []byte
	mode  os.FileMode
	owner int // its user's and group's number
}

func main() {
	dist := flag.String("out", "dist", "the folder that the release is written into; it is emptied first")
	only := flag.String("only", "", "one platform, as linux/amd64, for a try")
	flag.Parse()
	if err := run(*dist, *only); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(dist, only string) error {
	r, err := begin(dist)
	if err != nil {
		return err
	}
	if err := r.build(only); err != nil {
		return err
	}
	if err := r.describe(); err != nil {
		return err
	}
	for _, step := range []func() error{r.archives, r.packages, r.image, r.modules, r.checksums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// begin finds the module, its version and the time of its commit, and empties dist.
func begin(dist string) (*release, error) {
	r := &release{binaries: map[platform][]file{}}
	root, err := output(".", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r.root = strings.TrimSpace(root)
	if r.dist, err = filepath.Abs(dist); err != nil {
		return nil, err
	}
	version, err := output(r.root, "git", "describe", "--tags", "--always", "--dirty", "--match", "v*")
	if err != nil {
		return nil, err
	}
	r.version = packageVersion(strings.TrimSpace(version))
	seconds, err := output(r.root, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	at, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
	if err != nil {
		return nil, err
	}
	r.at = time.Unix(at, 0).UTC()
	if err := os.RemoveAll(r.dist); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(r.dist, 0o755)
}

// packageVersion is a version in the form that packages require: a commit without a tag
// comes before every release.
func packageVersion(described string) string {
	if v, tagged := strings.CutPrefix(described, "v"); tagged {
		return v
	}
	return "0.0.0-" + described
}

// build makes the binaries. They contain no trace of the machine: no paths, and of git
// the commit alone.
func (r *release) build(only string) error {
	for _, p := range platforms {
		if only != "" && only != p.os+"/"+p.arch {
			continue
		}
		for _, program := range programs {
			binary, err := r.program(p, program)
			if err != nil {
				return err
			}
			r.binaries[p] = append(r.binaries[p], file{name: program, text: binary, mode: 0o755})
		}
	}
	if len(r.binaries) == 0 {
		return fmt.Errorf("no platform is called %s", only)
	}
	return nil
}

func (r *release) program(p platform, name string) ([]byte, error) {
	out := filepath.Join(r.dist, "binary")
	defer os.Remove(out) // the file does not exist if the build fails
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true",
		"-gcflags=approvalbot/internal/web=-l", "-gcflags=approvalbot/internal/cli/...=-l", "-gcflags=approvalbot/internal/hook/...=-l", "-gcflags=approvalbot/internal/config/...=-l", "-gcflags=github.com/go-webauthn/...=-l", "-gcflags=github.com/antlr4-go/...=-l", "-gcflags=google.golang.org/protobuf/...=-l", "-gcflags=github.com/pressly/goose/...=-l", "-gcflags=github.com/pelletier/go-toml/...=-l", "-gcflags=github.com/spf13/...=-l", "-gcflags=github.com/arran4/golang-ical/...=-l", "-gcflags=github.com/coreos/go-oidc/...=-l", "-gcflags=github.com/modelcontextprotocol/...=-l", "-gcflags=github.com/fxamacker/...=-l", "-gcflags=github.com/bwmarrin/...=-l", "-gcflags=github.com/google/jsonschema-go/...=-l", "-gcflags=approvalbot/internal/daemon=-l", "-gcflags=approvalbot/internal/confine=-l",
		"-ldflags", "-s -w -buildid= -X main.version="+r.version, "-o", out, "./cmd/"+name)
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s for %s/%s does not build: %w\n%s", name, p.os, p.arch, err, text)
	}
	return os.ReadFile(out)
}

// describe has a binary of this machine write the manual pages and the completions.
func (r *release) describe() error {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "approvalbot")
	binaries := r.binaries[platform{runtime.GOOS, runtime.GOARCH}]
	if binaries == nil {
		return fmt.Errorf("a release is made on a platform that it has a binary for, not on %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := os.WriteFile(program, binaries[0].text, 0o755); err != nil {
		return err
	}
	cmd := exec.Command(program, "docs", "man", filepath.Join(dir, "man"))
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docs man: %w\n%s", err, text)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "man", "*.1"))
	if err != nil || len(pages) == 0 {
		return errors.Join(errors.New("there are no manual pages"), err)
	}
	slices.Sort(pages)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{name: "man/man1/" + filepath.Base(page), text: text, mode: 0o644})
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		text, err := output(dir, program, "completion", shell)
		if err != nil {
			return err
		}
		r.pages = append(r.pages, file{name: "completions/approvalbot." + shell, text: []byte(text), mode: 0o644})
	}
	return nil
}

// write writes one file of the release.
func (r *release) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.dist, name), text, 0o644)
}

// checksums writes SHA256SUMS, as sha256sum -c reads it.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.dist)
	if err != nil {
		return err
	}
	var sums bytes.Buffer
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(r.dist, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), e.Name())
	}
	return r.write("SHA256SUMS", sums.Bytes())
}

// output gives what a program prints; its error has what the program complained of.
func output(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(text), nil
}
