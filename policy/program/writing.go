package program

import (
	"path"
	"strings"

	"approvalbot/policy/finding"
	"approvalbot/policy/words"
	"approvalbot/policy/workspace"
)

// writers are the commands that change files.
func writers(m map[string]Rule) {
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
func copies(x *Call, name string, args []workspace.Word) {
	c := x.scanner(copySpecs[name], args)
	var files []workspace.Word
	into, whole := (*workspace.Word)(nil), false
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
		into = &workspace.Word{Text: "."}
	}
	if !x.Place.IsRoot(*into) {
		x.content(*into)
	}
	for _, f := range files {
		x.source(name, f, whole)
		base := path.Base(f.Text)
		switch {
		case f.Kind == workspace.Computed, f.Kind == workspace.Pattern && (base[0] == '.' || base[0] == '['):
			x.Add(finding.DynamicPath)
		case f.Kind == workspace.Literal && into.Text != "":
			x.content(workspace.Word{Text: path.Join(into.Text, base), Kind: into.Kind, Tilde: into.Tilde})
		}
	}
	if len(files) == 0 {
		x.Add(finding.UnknownOption)
	}
}

// source judges what is copied, moved or linked.
func (x *Call) source(name string, f workspace.Word, whole bool) {
	x.Read(f)
	if workspace.StartupPath("/" + workspace.FoldPath(f.Text)) {
		x.Add(finding.WritesStartup) // a copy under another name can be changed and put back
	}
	switch {
	case name == "mv":
		x.Remove(f)
	case name == "ln":
		x.Write(f) // what is linked can be changed through the link
		x.DeskTree(f)
	case whole:
		x.DeskTree(f)
		if !x.Place.LocalDir(f) {
			x.Add(finding.MayReadSecret)
		}
	}
}

// rm deletes. What it deletes is gone, so it always asks; whole directories
// and force outside the workspace are worse.
func rm(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.DeletesFile)
	c := x.scanner(&spec{flags: "rRfivdIP", long: longs("recursive force interactive interactive= verbose dir one-file-system preserve-root no-preserve-root")}, args)
	recursive, force := false, false
	var files []workspace.Word
	for t, ok := c.next(); ok; t, ok = c.next() {
		switch t.option {
		case "r", "R", "recursive", "no-preserve-root":
			recursive = true
		case "f", "force":
			force = true
		case "":
			files = append(files, t.word)
			x.Remove(t.word)
		}
	}
	recursive = recursive || x.Has(finding.UnknownOption) // long options may be cut short
	for _, f := range files {
		local := x.Place.Local(f)
		switch {
		case recursive && !(local && f.Kind == workspace.Literal && rebuilt[path.Base(path.Clean(f.Text))]):
			x.Add(finding.RecursiveDelete)
		case force && !local:
			x.Add(finding.ForceDelete)
		}
	}
}

// rebuilt are directories that tools make again.
var rebuilt = words.Set("node_modules dist build target out coverage .next .turbo .cache .parcel-cache __pycache__ .pytest_cache .mypy_cache .ruff_cache .tox .nox tmp temp")

// permissions judges chmod, chown and chgrp. Only an ordinary mode for a file in
// the workspace passes.
func permissions(x *Call, name string, args []workspace.Word) {
	plain := name == "chmod"
	whole, first := false, true
	for _, w := range args {
		switch {
		case w.Is("--"), w.Is("-R"), w.Is("--recursive"), w.Kind != workspace.Literal && w.MayBeOption():
			whole = true
		case len(w.Text) > 1 && w.Text[0] == '-' && strings.Trim(w.Text[1:], "vcfRhHLP") == "":
			whole = whole || strings.Contains(w.Text, "R")
		case first:
			first = false
			plain = plain && w.Kind == workspace.Literal && plainMode(w.Text)
		default:
			plain = plain && !strings.HasPrefix(w.Text, "/dev") // a device is no sink here
			x.Write(w)
			if whole && !x.Place.Local(w) {
				x.Add(finding.RecursivePermissions)
			}
		}
	}
	if !plain || whole {
		x.Add(finding.ChangesPermissions)
	}
}

// plainMode reports a mode that gives nobody new power: no set-id bits, nothing
// writable for everyone.
func plainMode(mode string) bool {
	if words.Digits(mode) {
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
func dd(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.UnknownCommand)
	for _, w := range args {
		switch k, v, _ := strings.Cut(w.Text, "="); k {
		case "if":
			x.Read(workspace.Word{Text: v, Kind: w.Kind})
		case "of":
			x.content(workspace.Word{Text: v, Kind: w.Kind})
		}
	}
}

func truncate(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.DeletesFile)
	for _, w := range args {
		if w.MayBeOption() {
			continue
		}
		x.Write(w)
	}
}

// cd changes what later relative paths mean. In a loop or a function that
// cannot be followed.
func cd(x *Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	for len(args) > 0 && (args[0].Is("-P") || args[0].Is("-L") || args[0].Is("--")) {
		args = args[1:]
	}
	switch {
	case len(args) > 1, len(args) == 1 && (args[0].Kind == workspace.Literal && args[0].MayBeOption() || strings.HasPrefix(args[0].Text, "+")):
		x.Add(finding.UnknownOption) // -LP, -e and -q go home in some shells, -1 and +1 back
		x.does(MovesTo, workspace.Word{Kind: workspace.Computed})
	case len(args) == 0:
		x.does(MovesTo, workspace.Word{Text: "~", Tilde: true})
	default:
		x.does(MovesTo, args[0])
		if x.Looped {
			x.Add(finding.DynamicArgument)
		}
	}
}
