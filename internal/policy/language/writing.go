package language

import (
	"path"
	"slices"
	"strings"
	"sync"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// copySpecs leave out what gives names that are not written: -S, by whose ending a backup has any name, and cp's --parents.
// They leave out ln's -r: a link with ".." leads elsewhere when it is moved.
var copySpecs = sync.OnceValue(func() map[string]*command.Spec {
	return map[string]*command.Spec{
		"cp": {Flags: "rRapPfnviuLHTbx", Values: "t", Long: command.Longs(`recursive archive force no-clobber verbose
		update dereference no-dereference no-target-directory target-directory= one-file-system`)},
		"mv": {Flags: "fnviuTb", Values: "t", Long: command.Longs("force no-clobber verbose update no-target-directory target-directory=")},
		"ln": {Flags: "sfnviTb", Values: "t", Long: command.Longs(`symbolic force no-dereference verbose
		no-target-directory target-directory=`)},
	}
})

// copies judges cp, mv and ln: what they read or take away, and what they create, also if
// the last word is a directory.
func copies(x *command.Call, name string, args []workspace.Word) {
	c := x.Scanner(copySpecs()[name], args)
	var files []workspace.Word
	into, whole, onto, keeps := (*workspace.Word)(nil), false, false, false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "t", "target-directory":
			into = &t.Word
		case "r", "R", "a", "recursive", "archive":
			whole = true
		case "T", "no-target-directory":
			onto = true
		case "n", "no-clobber", "b":
			keeps = true
		case "":
			files = append(files, t.Word)
		}
	}
	if into == nil && len(files) > 1 {
		into, files = &files[len(files)-1], files[:len(files)-1]
		if name == "mv" && into.Kind == workspace.Literal && !strings.HasSuffix(into.Text, "/") {
			other := func(w workspace.Word) bool { return w.Kind != workspace.Literal }
			if x.Looped && workspace.PlainFile(strings.ToLower(path.Base(into.Text))) && slices.ContainsFunc(files, other) {
				x.Add(finding.DeletesFile) // each round moves another file onto that of the one before
			}
		}
	}
	alone := into == nil
	if alone {
		if len(files) == 1 && files[0].Several() {
			x.Add(finding.DynamicArgument) // of several names the last is written
		}
		into = &workspace.Word{Text: "."}
	}
	if name == "mv" && !keeps && !alone && into.Kind == workspace.Literal {
		x.Does(command.MovesOnto, *into)
	}
	contents := whole && slices.ContainsFunc(files, func(f workspace.Word) bool { return strings.HasSuffix(f.Text, "/") }) // to macOS
	tmp := into.Kind == workspace.Literal && path.Clean(into.Text) == "/tmp"
	named, tree := !tmp && !x.Place.IsRoot(*into), whole || name != "cp"
	if onto || contents || named {
		x.Fill(*into)
	} else {
		x.Add(finding.WorkspaceWrite)
	}
	for _, f := range files {
		m := moved{name, tree, ends(name, f, *into)}
		for _, end := range m.from {
			copiesFrom(x, name, end, whole)
		}
		base := path.Base(f.Text)
		at := workspace.Word{Text: path.Join(into.Text, base), Kind: into.Kind}
		hidden := x.Place.IsRoot(f) || strings.HasPrefix(base, ".")
		if whole && hidden && x.Place.IsScratch(at) {
			x.Add(finding.MayReadSecret) // others can read there
		}
		deleted := func(w workspace.Word) bool { return writtenAgain(x, w) || x.Place.IsScratch(w) }
		if name != "cp" && !deleted(f) && (deleted(at) || named && deleted(*into)) {
			x.Add(finding.DeletesFile) // what a tool makes again is deleted unasked
		}
		if name == "mv" && x.Looped && f.Kind == workspace.Pattern && !strings.ContainsAny(base, "*?[{") {
			x.Add(finding.DeletesFile) // each round may move a file of the same name
		}
		at.Tilde = into.Tilde
		if name == "mv" && !keeps && !alone && f.Kind == workspace.Literal && into.Kind == workspace.Literal {
			x.Does(command.MovesOnto, at)
		}
		if ends := path.Ext(path.Base(into.Text)); name == "mv" && words.Any(ends, ".log", ".out") && path.Ext(base) != ends {
			x.Add(finding.DeletesFile) // such files are emptied unasked
		}
		switch {
		case f.Kind == workspace.Computed, f.Kind == workspace.Pattern && (base[0] == '.' || base[0] == '['):
			x.Add(finding.DynamicPath)
		case into.Text == "":
		case f.Kind == workspace.Literal, !strings.ContainsAny(base, "*?["):
			x.Fill(at)
			m.becomes(x, at)
		default:
			at.Kind = workspace.Pattern
			x.DeskPath(at)
			x.Add(finding.WorkspaceWrite)
			texts := x.Place.IsRoot(*into) && words.Any(base, "*", "*.md", "*.*") // where agents look for them
			if workspace.HitsObeyed(at.Text) || texts || name == "mv" && workspace.HitsObeyed(f.Text) {
				x.Add(finding.WritesInstructions)
			}
		}
		if named {
			m.becomes(x, *into)
		}
	}
	if len(files) == 0 {
		x.Add(finding.UnknownOption)
	}
}

// ends gives the words that cp, mv or ln may mean by one: a symbolic link leads from the folder that it is made in.
func ends(name string, f, into workspace.Word) []workspace.Word {
	all := []workspace.Word{f}
	if name != "ln" || f.Kind != workspace.Literal || f.Tilde || strings.HasPrefix(f.Text, "/") {
		return all
	}
	for _, dir := range []string{path.Dir(into.Text), into.Text} {
		end := into
		if end.Text = path.Join(dir, f.Text); end.Text != path.Clean(f.Text) {
			all = append(all, end)
		}
	}
	return all
}

// moved is what gets another name, or one more.
type moved struct {
	by   string // cp, mv or ln
	tree bool   // it may be a folder
	from []workspace.Word
}

// becomes judges that name for what it makes of the files of a folder, or of files whose names are not known.
func (m moved) becomes(x *command.Call, to workspace.Word) {
	f := m.from[0]
	code := workspace.CodeEnds.Has(strings.TrimPrefix(path.Ext(f.Text), ".")) // which is no secret, also among those
	if m.tree || f.Kind != workspace.Literal {
		x.DeskTree(to)
	}
	if f.Kind != workspace.Literal {
		x.Place.Resolve(to, func(file string, _ bool) {
			if c, brings := x.Place.Brings("", file, m.tree); brings && !(code && c == finding.WritesSecret) {
				x.Add(c)
			}
		})
		if m.tree && !code && workspace.HitsSecret(f.Text+"/x.json", true) {
			x.Add(finding.MayReadSecret)
		}
		return
	}
	if !m.tree {
		return
	}
	for _, end := range m.from {
		x.Place.Resolve(end, func(from string, _ bool) {
			x.Place.Resolve(to, func(file string, _ bool) {
				if c, brings := x.Place.Brings(from, file, true); brings && !(code && c == finding.WritesSecret) {
					x.Add(c)
				}
				// What is linked can be changed through the link, and settings that are moved away no longer hold.
				c, loses := x.Place.Brings(file, from, true)
				holds := c == finding.WritesAgentSettings || c == finding.TouchesDesk
				if loses && (m.by == "ln" || m.by == "mv" && holds) {
					x.Add(c)
				}
				if !code && workspace.Bares(from, file) {
					x.Add(finding.MayReadSecret)
				}
			})
		})
	}
}

// copiesFrom judges what is copied, moved or linked.
func copiesFrom(x *command.Call, name string, f workspace.Word, whole bool) {
	x.Read(f)
	if f.Is("/dev/null") {
		x.Add(finding.DeletesFile) // it empties the other one
	}
	if c, obeyed := workspace.Obeyed("/" + workspace.FoldPath(f.Text)); obeyed && c != finding.WritesInstructions {
		x.Add(c) // a copy under another name can be changed and put back
	}
	// Any of these may keep secrets.
	folders := strings.HasSuffix(f.Text, "/") || strings.ContainsAny(strings.ReplaceAll(path.Dir(path.Clean(f.Text)), "**", ""), "*?[")
	switch {
	case name == "ln" && words.Holds(strings.ToLower(path.Base(f.Text)), "ignore", "exclude"):
		x.Add(finding.WritesStartup) // by another name it can be changed unseen
	case name == "mv" && x.LocalGlob(f) && !f.MayBeOption() && !folders:
		x.Add(finding.WorkspaceWrite)
		x.Mark(command.WritesCode)
		x.DeskTree(f)
	case name == "mv":
		x.Remove(f)
	case name == "ln":
		x.Write(f) // what is linked can be changed through the link
		if x.Place.IsScratch(f) {
			x.Add(finding.WritesOutside)
		}
		x.DeskTree(f)
	case whole:
		x.DeskTree(f)
		if !x.Place.LocalDir(f) {
			x.Add(finding.MayReadSecret)
		}
	}
}

// rm deletes. What it deletes is gone, so it asks, unless tools make it again; whole
// directories and force outside the workspace are worse.
func rm(x *command.Call, _ string, args []workspace.Word) {
	c := x.Scanner(&command.Spec{Flags: "rRfivdIP", Long: command.Longs(`recursive force interactive interactive=
		verbose dir one-file-system preserve-root no-preserve-root`)}, notOptions(args))
	recursive, force := false, false
	var files []workspace.Word
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "r", "R", "recursive", "no-preserve-root":
			recursive = true
		case "f", "force":
			force = true
		case "":
			files = append(files, t.Word)
		}
	}
	if len(files) == 0 {
		x.Add(finding.DeletesFile)
	}
	recursive = recursive || x.Has(finding.UnknownOption) // long options may be cut short
	for _, f := range files {
		if writtenAgain(x, f) && !(recursive && byEnding(f.Text)) {
			x.DeskTree(f)
			x.DeskPath(f)
			x.Add(finding.RemovesBuildOutput)
			continue
		}
		if !recursive && x.Place.IsScratch(f) {
			x.Remove(f)
			continue
		}
		x.Add(finding.DeletesFile)
		x.Remove(f)
		local := x.Place.Local(f)
		one := local && f.Kind == workspace.Literal && noTree(path.Base(path.Clean(f.Text)))
		switch {
		case recursive && !one:
			x.Add(finding.RecursiveDelete)
		case force && !local:
			x.Add(finding.ForceDelete)
		}
	}
}

// noTree reports a name of a file, or of a directory that tools make again.
func noTree(base string) bool {
	return workspace.Rebuilt.Has(base) || workspace.PlainFile(strings.ToLower(base))
}

// notOptions writes "./" before globs that begin with a sign and whose names end in
// an ending such as ".o": rm has no option that such a name could be.
func notOptions(args []workspace.Word) []workspace.Word {
	out := slices.Clone(args)
	for i, w := range out {
		name := strings.HasPrefix(w.Text, "*") && !strings.Contains(w.Text, "/")
		if name && w.Kind == workspace.Pattern && workspace.MadeEnds.Has(path.Ext(w.Text)) {
			out[i].Text = "./" + w.Text
		}
	}
	return out
}

// writtenAgain reports a word that names in the workspace only what tools make again: such
// a directory, something below it, or files that compilers leave.
func writtenAgain(x *command.Call, w workspace.Word) bool {
	expands := w.Tilde || w.Split
	if expands || !x.Place.Local(w) || workspace.SecretPath(w.Text) {
		return false
	}
	again := true
	x.Place.Resolve(w, func(file string, _ bool) {
		inside := strings.TrimPrefix(x.Place.Below(file), "/")
		again = again && !workspace.StartupPath(workspace.FoldPath("/"+inside)) && workspace.Made(inside)
	})
	return again
}

// byEnding reports a path that is build output by the ending of its name alone, which a
// directory may have as well.
func byEnding(file string) bool {
	base := path.Base(file)
	return workspace.MadeEnds.Has(path.Ext(base)) && !workspace.Made(path.Dir(file)+"/x")
}

// permissions judges chmod, chown and chgrp. Only an ordinary mode for a file in
// the workspace passes.
func permissions(x *command.Call, name string, args []workspace.Word) {
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
			plain = plain && !x.Place.IsScratch(w)              // which others may run then
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

// plainMode reports a mode that adds no power: no set-id bits, and no file becomes writable
// for everyone.
func plainMode(mode string) bool {
	if words.Digits(mode) {
		return plainDigits.MatchString(mode)
	}
	for _, list := range [...]string{"+a", "-a", "=a"} { // an access list, to macOS
		if strings.Contains(mode, list) {
			return false
		}
	}
	owners := strings.HasPrefix(mode, "u") && !strings.ContainsAny(mode, "ga,")
	writable := strings.Contains(mode, "w") && !owners
	return !writable && strings.Trim(mode, "ugarwxX+-=,") == ""
}

var plainDigits = lazy.Pattern(`^0?[0-9][0-9][0145]$`)

// dd copies blocks; it asks even if it stays in the workspace.
func dd(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.UnknownCommand)
	for _, w := range args {
		switch k, v, _ := strings.Cut(w.Text, "="); k {
		case "if":
			x.Read(workspace.Word{Text: v, Kind: w.Kind})
		case "of":
			x.Fill(workspace.Word{Text: v, Kind: w.Kind})
		}
	}
}

// cdOption reports a word that is an option of cd to some shell.
func cdOption(w workspace.Word) bool {
	return strings.HasPrefix(w.Text, "+") || w.Kind == workspace.Literal && w.MayBeOption()
}

// cd changes what later relative paths mean. In a loop or a function that
// cannot be followed.
func cd(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	for len(args) > 0 && args[0].IsAny("-P", "-L", "--") {
		args = args[1:]
	}
	switch {
	case len(args) > 1, len(args) == 1 && cdOption(args[0]):
		x.Add(finding.UnknownOption) // -LP, -e and -q go home in some shells, -1 and +1 back
		x.Does(command.MovesTo, workspace.Word{Kind: workspace.Computed})
	case len(args) == 0:
		x.Does(command.MovesTo, workspace.Word{Text: "~", Tilde: true})
	default:
		x.Does(command.MovesTo, args[0])
	}
	if x.Looped {
		x.Add(finding.DynamicArgument) // the next round begins there
	}
}
