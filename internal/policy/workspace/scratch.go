package workspace

import (
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/words"
)

// Scratch reports a file below /tmp that a session of the agent may have made, by its clean path.
// A file that others may run or obey, or have made themselves, is not one: scripts and programs,
// hidden files, settings, secrets, sockets, directories that programs keep there, and files
// beside a workspace.
func (p *Place) Scratch(file string) bool {
	rest, below := strings.CutPrefix(file, "/tmp/")
	if !below || !p.Known() || p.LocalPath(file) {
		return false
	}
	lower := FoldPath(rest)
	top, _, _ := strings.Cut(rest, "/")
	first := FoldPath(top)
	base := path.Base(lower)
	switch {
	case Hidden("/" + lower), Apart(lower), words.Begins(first, othersTmp...):
		return false
	case runEnds.Has(path.Ext(base)), top == rest && foundUpwards.Has(base), strings.Contains(base, ".so."), strings.TrimSpace(rest) != rest, AnyPart(lower, isHooks), OwnProgram("/" + lower),
		words.Any(base, "package.json", "node_modules", "pyvenv.cfg"), AnyPart(lower, isBin):
		return false
	}
	// A project may have more there than its workspace.
	beside := func(root string) bool { return Under(root, path.Dir(file)) || Under(root, "/tmp/"+top) }
	return !slices.ContainsFunc(p.Roots, beside)
}

// IsScratch reports a word that names only such files.
func (p *Place) IsScratch(w Word) bool {
	ok := w.Kind == Literal && !w.Tilde && !Climbs(w.Text) && w.Text != ""
	p.Resolve(w, func(file string, open bool) { ok = ok && !open && p.Scratch(file) })
	return ok
}

func isHooks(c string) bool { return words.Any(c, "hooks", "git-hooks", "githooks") }

// foundUpwards are files that builds of others below /tmp find beside or above them.
var foundUpwards = lazy.Words(`directory.build.props directory.build.targets nuget.config global.json pytest.ini conftest.py tox.ini setup.cfg
	pyproject.toml go.mod go.work gemfile rakefile makefile gnumakefile cargo.toml pom.xml build.gradle settings.gradle build.xml tsconfig.json
	deno.json bunfig.toml composer.json cmakelists.txt justfile taskfile.yml dockerfile`)

// isBin reports a directory of programs.
func isBin(c string) bool { return words.Any(c, "bin", "sbin", "node_modules", "site-packages") }

// othersTmp are how the names begin of what programs of their own accord keep below /tmp.
var othersTmp = []string{"systemd-", "ssh-", "tmux-", "krb5", "snap", "dbus-", "pulse-", "vscode", "com.apple.",
	"hsperfdata_", "gpg-", "agent.", "docker", "podman", "containers-", "crun", "runc", "runtime-",
	"go-build", "cargo-install", "node-compile-cache", "v8-compile-cache", "jest", "metro-", "tsx-",
	"babel", "ts-node", "sess_", "claude", "codex", "openclaw", "cursor", "gemini", "qwen",
	"opencode", "npm-", "pip-", "yarn--", "screens", "crontab", "sudo", "orbit-", "xauth_", "pipe-",
	"clr-debug-", "mysql.sock"}

// runEnds are the endings of what is run, loaded or started.
var runEnds = lazy.Words(`.sh .bash .zsh .fish .ksh .csh .command .py .pyc .pyo .pyd .pth .pl .pm .rb .php .lua .js .mjs .cjs .ts .jsx .tsx .so .dylib .dll .exe .bat .cmd .ps1 .jar
	.war .class .desktop .service .timer .socket .sock .path .rules .mk .nix .el .vim .scpt .app .run .bin .appimage .deb .rpm .apk .pkg .msi .ko .node .wasm .plist .test .elf`)
