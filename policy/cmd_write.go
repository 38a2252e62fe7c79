package policy

import (
	"path"
	"strings"

	"approvalbot/policy/finding"
)

// writers are the commands that change files.
func writers(m map[string]rule) {
	one := func(name string, sp spec) {
		sp.code, sp.kind = finding.ReadOnlyCommand, writes
		m[name] = sp.judge
	}
	one("mkdir", spec{flags: "pv", vals: "m", long: longs("parents verbose mode=")})
	one("touch", spec{flags: "acm", vals: "dtr", long: longs("no-create date= reference=")})
	m["tee"] = (&spec{code: finding.ReadOnlyCommand, kind: outputs, flags: "ai", long: longs("append ignore-interrupts")}).judge
	one("rmdir", spec{flags: "pv", long: longs("parents verbose ignore-fail-on-non-empty")})
	m["cp"], m["mv"], m["ln"] = copies, copies, copies
	m["chmod"], m["chown"], m["chgrp"] = permissions, permissions, permissions
	m["dd"], m["truncate"] = dd, truncate
	m["cd"] = cd
}

// copySpecs leave out -S: the ending of a backup makes any name of a harmless one.
var copySpecs = map[string]*spec{
	"cp": {flags: "rRapPfnviuLHTbx", vals: "t", long: longs("recursive archive force no-clobber verbose update dereference no-dereference no-target-directory target-directory= one-file-system parents")},
	"mv": {flags: "fnviuTb", vals: "t", long: longs("force no-clobber verbose update no-target-directory target-directory=")},
	"ln": {flags: "sfnviTrb", vals: "t", long: longs("symbolic force no-dereference verbose relative no-target-directory target-directory=")},
}

// copies judges cp, mv and ln: what they read or take away, and what they
// create, also where the last word is a directory.
func copies(s *shell, name string, args []word) {
	c := s.scanner(copySpecs[name], args)
	var files []word
	into, whole := (*word)(nil), false
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "t", "target-directory":
			into = &t.word
		case "r", "R", "a", "recursive", "archive":
			whole = true
		case "":
			files = append(files, t.word)
		}
	}
	if into == nil && len(files) > 1 {
		into, files = &files[len(files)-1], files[:len(files)-1]
	}
	if into == nil {
		into = &word{text: "."}
	}
	if !s.rootItself(*into) {
		s.content(*into)
	}
	for _, f := range files {
		s.source(name, f, whole)
		base := path.Base(f.text)
		switch {
		case f.kind == computed, f.kind == pattern && (base[0] == '.' || base[0] == '['):
			s.found.Add(finding.DynamicPath)
		case f.kind == literal && into.text != "":
			s.content(word{text: path.Join(into.text, base), kind: into.kind, tilde: into.tilde})
		}
	}
	if len(files) == 0 {
		s.found.Add(finding.UnknownOption)
	}
}

// source judges what is copied, moved or linked.
func (s *shell) source(name string, f word, whole bool) {
	s.read(f)
	if startupPath("/" + foldPath(f.text)) {
		s.found.Add(finding.WritesStartup) // a copy under another name can be changed and put back
	}
	switch {
	case name == "mv":
		s.remove(f)
	case name == "ln":
		s.write(f) // what is linked can be changed through the link
		s.deskTree(f)
	case whole:
		s.deskTree(f)
		if !s.localDir(f) {
			s.found.Add(finding.MayReadSecret)
		}
	}
}

// rm deletes. What it deletes is gone, so it always asks; whole directories
// and force outside the workspace are worse.
func rm(s *shell, _ string, args []word) {
	s.found.Add(finding.DeletesFile)
	c := s.scanner(&spec{flags: "rRfivdIP", long: longs("recursive force interactive interactive= verbose dir one-file-system preserve-root no-preserve-root")}, args)
	recursive, force := false, false
	var files []word
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "r", "R", "recursive", "no-preserve-root":
			recursive = true
		case "f", "force":
			force = true
		case "":
			files = append(files, t.word)
			s.remove(t.word)
		}
	}
	recursive = recursive || s.found.Has(finding.UnknownOption) // long options may be cut short
	for _, f := range files {
		local := s.local(f)
		switch {
		case recursive && !(local && f.kind == literal && rebuilt[path.Base(path.Clean(f.text))]):
			s.found.Add(finding.RecursiveDelete)
		case force && !local:
			s.found.Add(finding.ForceDelete)
		}
	}
}

// rebuilt are directories that tools make again.
var rebuilt = set("node_modules dist build target out coverage .next .turbo .cache .parcel-cache __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox tmp temp")

// permissions judges chmod, chown and chgrp. Only an ordinary mode for a file in
// the workspace passes.
func permissions(s *shell, name string, args []word) {
	plain := name == "chmod"
	whole, first := false, true
	for _, w := range args {
		switch {
		case w.is("--"), w.is("-R"), w.is("--recursive"), w.kind != literal && w.mayBeOption():
			whole = true
		case len(w.text) > 1 && w.text[0] == '-' && strings.Trim(w.text[1:], "vcfRhHLP") == "":
			whole = whole || strings.Contains(w.text, "R")
		case first:
			first = false
			plain = plain && w.kind == literal && plainMode(w.text)
		default:
			plain = plain && !strings.HasPrefix(w.text, "/dev") // a device is no sink here
			s.write(w)
			if whole && !s.local(w) {
				s.found.Add(finding.RecursivePermissions)
			}
		}
	}
	if !plain || whole {
		s.found.Add(finding.ChangesPermissions)
	}
}

// plainMode reports a mode that gives nobody new power: no set-id bits, nothing
// writable for everyone.
func plainMode(mode string) bool {
	if digits(mode) {
		return (len(mode) == 3 || len(mode) == 4 && mode[0] == '0') && strings.IndexByte("0145", mode[len(mode)-1]) >= 0
	}
	for _, list := range [...]string{"+a", "-a", "=a"} { // an access list, to macOS
		if strings.Contains(mode, list) {
			return false
		}
	}
	return !strings.ContainsAny(mode, "stlo") && strings.Trim(mode, "ugarwxX+-=,") == "" &&
		(!strings.Contains(mode, "w") || strings.HasPrefix(mode, "u") && !strings.ContainsAny(mode, "ga,"))
}

// dd copies blocks; it asks even where it stays in the workspace.
func dd(s *shell, _ string, args []word) {
	s.found.Add(finding.UnknownCommand)
	for _, w := range args {
		switch k, v, _ := strings.Cut(w.text, "="); k {
		case "if":
			s.read(word{text: v, kind: w.kind})
		case "of":
			s.content(word{text: v, kind: w.kind})
		}
	}
}

func truncate(s *shell, _ string, args []word) {
	s.found.Add(finding.DeletesFile)
	for _, w := range args {
		if w.mayBeOption() {
			continue
		}
		s.write(w)
	}
}

// cd changes what later relative paths mean. In a loop or a function that
// cannot be followed.
func cd(s *shell, _ string, args []word) {
	s.found.Add(finding.ReadOnlyCommand)
	for len(args) > 0 && (args[0].is("-P") || args[0].is("-L") || args[0].is("--")) {
		args = args[1:]
	}
	switch {
	case len(args) > 1, len(args) == 1 && (args[0].kind == literal && args[0].mayBeOption() || strings.HasPrefix(args[0].text, "+")):
		s.found.Add(finding.UnknownOption) // -LP, -e and -q go home in some shells, -1 and +1 back
		s.place.move(word{kind: computed}, false)
	case len(args) == 0:
		s.place.move(word{text: "~", tilde: true}, s.looped == 0)
	default:
		s.place.move(args[0], s.looped == 0)
		if s.looped > 0 {
			s.found.Add(finding.DynamicArgument)
		}
	}
}
