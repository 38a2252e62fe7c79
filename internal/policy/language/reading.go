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

// tellVersion are the programs that print their version before they do anything else. Many
// other build tools run code or settings of the directory even then.
var tellVersion = lazy.Words(`gcc g++ clang clang++ cc java javac ffmpeg pandoc python python2 python3 pypy3 node
	nodejs deno bun perl ruby php lua bash zsh
	npm make gmake cmake ninja pip pip3 apt apt-get dpkg brew docker podman kubectl helm terraform tofu aws gcloud az gh curl wget`)

// ShowsVersion reports a command that only asks a program for its version.
func ShowsVersion(x *command.Call, name string, args []workspace.Word) bool {
	if len(args) != 1 || args[0].Kind != workspace.Literal || !tellVersion.Has(name) {
		return false
	}
	switch args[0].Text {
	case "-V", "-version": // a mode of some shells, which then run their input
		if command.ShellNames.Has(name) {
			return false
		}
	case "--version":
	default:
		return false
	}
	x.Add(finding.ReadOnlyCommand)
	return true
}

// versioning is the rule of programs that are otherwise unknown and tell their version.
func versioning(x *command.Call, name string, args []workspace.Word) {
	if !ShowsVersion(x, name, args) {
		x.Add(finding.UnknownCommand)
	}
}

// lengths judges wc and du. They print how long files are, not what is in them. The
// exception is a list of names: they repeat each name of which there is no file, and tell how long secrets are that it names.
func lengths(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	lists := false
	c := x.Scanner(&command.Spec{All: true}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if strings.HasPrefix(t.Option, "f") { // long options may be cut short
			lists = true
			x.Add(finding.MayReadSecret)
		}
		operand := t.Word.Kind == workspace.Literal || !t.Word.MayBeOption()
		switch {
		case operand && !lists && t.Option == "":
			x.Name(t.Word)
		case t.Value:
			x.Read(t.Word)
		}
	}
}

// listing are the options with which tar and unzip only list an archive.
var listing = sync.OnceValue(func() map[string]*lazy.Regexp {
	return map[string]*lazy.Regexp{
		"tar":    lazy.Pattern(`^-?[vzjJa]*t[vzjJa]*f?$`),
		"bsdtar": lazy.Pattern(`^-?[vzjJa]*t[vzjJa]*f?$`),
		"jar":    lazy.Pattern(`^-?v?(?:tv?f|ft|fvt|vft)$`),
		"unzip":  lazy.Pattern(`^-(?:[lvZ1q]*[lvZ][lvZ1q]*|q?t)$`),
	}
})

// archive lists what is packed in a file. Unpacking writes all files that the archive
// names, and packing reads all files below a directory: both ask.
func archive(x *command.Call, name string, args []workspace.Word) {
	if len(args) == 0 || args[0].Kind != workspace.Literal || !listing()[name].MatchString(args[0].Text) {
		x.Add(finding.UnknownCommand)
		return
	}
	x.Add(finding.ReadOnlyCommand)
	for _, w := range args[1:] {
		if w.Kind != workspace.Literal && name != "unzip" && !strings.Contains(w.Text, "/") {
			x.Add(finding.DynamicArgument)
		}
		if w.MayBeOption() || strings.Contains(w.Text, ":") { // tar fetches host:file
			x.Add(finding.UnknownOption)
		}
		x.Name(w)
	}
}

// oldOptions are letters that ps takes for options without a dash.
var oldOptions = lazy.Pattern(`^[auxwfljvmh]+$`)

// ps lists processes. Its old options are letters without a dash; an "e" among them shows
// the environment of every process. If it cannot read its options as new ones, it reads all
// of them as old ones.
func ps(x *command.Call, _ string, args []workspace.Word) {
	sp := command.Spec{Flags: "AeafFlLHjMTNdwxu", Values: "opCtUGgsq", Kind: command.NoOperands, Code: finding.ReadOnlyCommand,
		Long: command.Longs("forest no-headers no-heading headers pid= ppid= sort= user= format= cols= columns= width= deselect")}
	every, old := false, false
	if len(args) > 0 && args[0].Fits(oldOptions.Compiled()) {
		args = args[1:]
		old = true
	}
	c := x.Scanner(&sp, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch {
		case t.Option == "e" || t.Option == "A":
			every = every || t.Option == "e"
		case t.Option == "o" || t.Option == "O" || t.Option == "format":
			if strings.Contains(strings.ToLower(t.Word.Text), "env") {
				x.Add(finding.ReadsEnvironment)
			}
		case len(t.Option) == 1 && !strings.Contains("fFlLHjTNMdwp", t.Option):
			old = true
		}
	}
	if every && old {
		x.Add(finding.ReadsEnvironment)
	}
	sp.Judge(x, "ps", args)
}

// date tells the time; with an operand that is no format it sets it.
func date(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	c := x.Scanner(&command.Spec{Flags: "uRIjn", Values: "drvz", Texts: words.Set(`d
		date`), Long: command.Longs("utc universal date= reference= iso-8601 iso-8601= rfc-3339= rfc-email")}, args)
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		if t.Option == "" && !strings.HasPrefix(t.Word.Text, "+") {
			x.Add(finding.UnknownOption)
		}
	}
}

// commandBuiltin looks a name up, or runs it past functions.
func commandBuiltin(x *command.Call, _ string, args []workspace.Word) {
	c := x.Scanner(&command.Spec{Flags: "vVp", Posix: true}, args)
	looks := false
	for t, ok := c.Next(); ok; t, ok = c.Next() {
		switch t.Option {
		case "v", "V":
			looks = true
		case "p":
			x.Add(finding.UnknownOption)
		case "":
			if !looks {
				x.Run(c.Rest())
				return
			}
		}
	}
	x.Add(finding.ReadOnlyCommand)
}

// findTests are what find looks at, and whether it takes a value.
var findTests = sync.OnceValue(func() map[string]bool {
	return map[string]bool{
		"-name": true, "-iname": true, "-path": true, "-ipath": true, "-wholename": true, "-type": true, "-xtype": true, "-size": true,
		"-mtime": true, "-mmin": true, "-atime": true, "-amin": true, "-ctime": true, "-cmin": true, "-newer": true, "-newermt": true,
		"-maxdepth": true, "-mindepth": true, "-perm": true, "-user": true, "-group": true, "-uid": true, "-gid": true, "-regex": true,
		"-iregex": true, "-regextype": true, "-links": true, "-inum": true, "-samefile": true, "-printf": true, "-lname": true, "-fstype": true,
		"-not": false, "!": false, "-o": false, "-or": false, "-a": false, "-and": false, "(": false, ")": false, ",": false,
		"-print": false, "-print0": false, "-empty": false, "-prune": false, "-ls": false, "-L": false, "-H": false, "-P": false, "-E": false,
		"-xdev": false, "-mount": false, "-follow": false, "-depth": false, "-d": false, "-daystart": false, "-executable": false,
		"-readable": false, "-writable": false, "-nouser": false, "-nogroup": false, "-quit": false, "-true": false,
		"-false": false, "-noleaf": false,
	}
})

// findNarrows are the tests that keep find from deleting everything it sees.
var findNarrows = lazy.Words(`-name -iname -path -ipath -wholename -regex -iregex -lname -empty -newer -newermt
	-mtime -mmin -ctime -cmin -atime -amin -size -inum -samefile -xtype`)

// findActs are what find does beyond looking and printing.
var findActs = [...]string{"-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"}

// couldAct reports a word that may become several words, one of which tells find to act: a
// glob does if there is a file of that name.
func couldAct(w workspace.Word) bool {
	matches := func(act string) bool { return workspace.Matches(w.Text, act) }
	return w.Split || w.Kind == workspace.Pattern && slices.ContainsFunc(findActs[:], matches)
}

// finder judges a find: what it finds, and what it does to that.
type finder struct {
	flat  bool // only of the folders themselves, and none below
	files bool // only files, and no folders
	finds
	x      *command.Call
	args   []workspace.Word
	local  bool // it begins in directories of the workspace only
	tests  bool // its tests have begun
	narrow bool // some test keeps it from deleting everything
	prints bool // it says itself what it prints
}

// find judges what it does to what it finds: -exec and its kin run a command, -delete deletes.
func find(x *command.Call, _ string, args []workspace.Word) {
	x.Add(finding.ReadOnlyCommand)
	f := finder{x: x, args: args, local: x.Place.LocalDir(workspace.Word{Text: "."})}
	for i := 0; i < len(args); i++ {
		w := args[i]
		takes, known := findTests()[w.Text]
		switch {
		case w.Kind != workspace.Literal && w.MayBeOption():
			f.computed()
		case known:
			f.test(i)
			if !takes {
				continue
			}
			if i++; i < len(args) && couldAct(args[i]) {
				f.computed()
			}
		case w.IsAny("-exec", "-execdir", "-ok", "-okdir"):
			i = f.exec(i)
		case w.Is("-delete"):
			f.delete()
		case f.tests || w.Text != "" && w.Text[0] == '-':
			x.Add(finding.UnknownOption)
		default:
			f.start(w)
		}
	}
	f.wide = f.wide || f.pruned && !f.prints
	x.Effects = append(x.Effects, command.Effect{Kind: command.PrintsFiles, Words: f.words()})
}

// computed notes a word that may tell find to do anything.
func (f *finder) computed() {
	f.x.Add(finding.DynamicArgument)
	f.local = false
}

// test reads the word at i, which is one of findTests.
func (f *finder) test(i int) {
	f.tests = true
	text, not := f.args[i].Text, i > 0 && f.args[i-1].IsAny("!", "-not")
	f.narrow = f.narrow || findNarrows.Has(text)
	switch {
	case words.Any(text, "-name", "-iname") && !not && i+1 < len(f.args):
		f.name(f.args[i+1])
	case text == "-maxdepth" && i+1 < len(f.args) && f.args[i+1].Is("1"):
		f.flat = true
	case text == "-type" && !not && i+1 < len(f.args) && f.args[i+1].Is("f"):
		f.files = true
	case words.Any(text, "-o", "-or"):
		f.alternative(i > 0 && f.args[i-1].Is("-prune"))
	case text == "(":
		f.parens = true
		f.wide = f.wide || not
	case words.Any(text, "-print", "-print0"):
		f.prints = true
		f.act()
	case words.Any(text, "-printf", "-ls", ",", "-L", "-follow"):
		f.other = true
	case not && words.Any(text, "!", "-not"):
		f.wide = true
	}
}

// exec judges the command after the -exec at i, and gives the index of the word that ends it.
func (f *finder) exec(i int) (end int) {
	f.tests = true
	end = i + 1
	for end < len(f.args) && !f.args[end].IsAny(";", "+") {
		end++
	}
	if end < len(f.args) && f.args[end].Is("+") && !f.args[end-1].Is("{}") {
		f.x.Add(finding.UnknownOption) // ends no command to most finds
	}
	f.act()
	inner, files := f.args[i+1:min(end, len(f.args))], f.words()
	endsCommand(f.x, inner)
	if f.args[i].IsAny("-execdir", "-okdir") && (!f.local || !onlyFound(inner)) {
		f.x.Add(finding.DynamicPath) // it runs in the folder of what is found, which may be any
	}
	if f.local && f.remade() && removes(inner) && (f.files || !f.byEnding() || !recursive(inner)) {
		f.x.Add(finding.RemovesBuildOutput)
	} else {
		each := command.Effect{Kind: command.RunsEach, Words: filled(inner, "{}", files), Narrow: f.narrow, Flat: f.flat && len(f.starts) < 2}
		f.x.Effects = append(f.x.Effects, each)
	}
	deskAmong(f.x, files)
	f.other = true
	return end
}

// onlyFound reports a command that names no files but those that find has found, and some.
func onlyFound(inner []workspace.Word) bool {
	found := false
	for i, w := range inner {
		found = found || w.Is("{}")
		if i > 0 && !w.Is("{}") && !plainOption.MatchString(w.Text) {
			return false
		}
	}
	return found
}

// plainOption matches options without a value in the same word.
var plainOption = lazy.Pattern(`^(?:-[a-zA-Z]{1,3}|--[a-z-]*)$`)

// delete judges -delete.
func (f *finder) delete() {
	f.tests = true
	f.act()
	switch {
	case f.local && f.remade():
		f.x.Add(finding.RemovesBuildOutput)
	case f.local && f.narrow:
		f.x.Add(finding.DeletesFile)
	default:
		f.x.Add(finding.DeletesFile)
		f.x.Add(finding.RecursiveDelete)
	}
	deskAmong(f.x, f.words())
}

// start reads a directory in which find begins.
func (f *finder) start(w workspace.Word) {
	f.x.Name(w)
	f.local = f.local && f.x.Place.LocalDir(w)
	f.starts = append(f.starts, w)
	known := w.Kind == workspace.Literal && w.Text != "" && !workspace.Misleads(w.Text)
	f.other = f.other || !known
}

// byEnding reports that what was found is build output by the ending of its name alone, which a folder with sources may get.
func (f *finder) byEnding() bool {
	return slices.ContainsFunc(f.words(), func(w workspace.Word) bool { return workspace.MadeEnds.Has(path.Ext(w.Text)) })
}

func recursive(inner []workspace.Word) bool {
	return slices.ContainsFunc(inner, func(w workspace.Word) bool { return w.IsAny("-r", "-rf", "-fr", "-R") })
}

// removes reports an rm of exactly the files that find has found.
func removes(inner []workspace.Word) bool {
	last := len(inner) - 1
	ok := last > 0 && inner[0].Is("rm") && inner[last].Is("{}")
	for _, w := range inner[min(1, len(inner)):max(last, 1)] {
		ok = ok && w.IsAny("-r", "-f", "-rf", "-fr", "--")
	}
	return ok
}

var fdSpec = sync.OnceValue(func() *command.Spec {
	return &command.Spec{
		Flags: "HIuspagL0iF1", Values: "tedEcSj", Kind: command.FileNames, Skip: 1, Code: finding.ReadOnlyCommand,
		Long: command.Longs(`hidden no-ignore unrestricted case-sensitive ignore-case glob fixed-strings absolute-path
		follow full-path print0 type= extension= max-depth= min-depth=
		exact-depth= exclude= size= changed-within= changed-before= color= max-results= prune`),
	}
})

// fd finds names; with -x and -X it runs a command for them, and may run another
// behind ";".
func fd(x *command.Call, name string, args []workspace.Word) {
	inner := []workspace.Word(nil)
	for i, w := range args {
		if w.IsAny("-x", "-X", "--exec", "--exec-batch") {
			endsCommand(x, args[i+1:])
			if end := slices.IndexFunc(args[i:], func(w workspace.Word) bool { return w.Is(";") }); end >= 0 && i+end+1 < len(args) {
				x.Add(finding.UnknownOption)
			}
			inner = args[i+1:]
			args = args[:i]
			break
		}
	}
	fdLists(x, args)
	if inner == nil {
		return
	}
	files := lastPrinted(x)
	if !slices.ContainsFunc(inner, func(w workspace.Word) bool { return w.Is("{}") }) {
		inner = append(slices.Clone(inner), workspace.Word{Text: "{}"})
	}
	if slices.ContainsFunc(inner, func(w workspace.Word) bool { return strings.ContainsAny(w.Text, "{}") && !w.Is("{}") }) {
		files = nil // {/} and its kin
	}
	if len(files) == 0 {
		inner = append(braces(inner, "{"), workspace.Word{Kind: workspace.Computed})
	}
	x.Run(filled(inner, "{}", files))
}

// fdLists judges the words of fd about what it looks for, and notes what it lists.
func fdLists(x *command.Call, args []workspace.Word) {
	x.Add(fdSpec().Code)
	c := x.Scanner(fdSpec(), args)
	var names []string
	var dirs []workspace.Word
	glob, pattern, plain := false, "", true
	for operands, ok := 0, true; ok; {
		var t command.Token
		if t, ok = c.Next(); !ok {
			break
		}
		switch t.Option {
		case "":
			if operands++; operands == 1 {
				pattern, plain = t.Word.Text, t.Word.Kind == workspace.Literal
				continue
			}
			x.Name(t.Word)
			dirs = append(dirs, t.Word)
		case "e", "extension":
			plain = plain && t.Word.Kind == workspace.Literal
			names = append(names, "*."+strings.TrimPrefix(t.Word.Text, "."))
		case "g", "glob":
			glob = true
		}
	}
	name := pattern != "" && !strings.ContainsAny(pattern, "/{")
	if glob && name && len(names) == 0 {
		names = append(names, pattern)
	}
	if plain {
		printsFound(x, dirs, names)
	}
}

// lastPrinted gives the files that the command lists, as far as is known.
func lastPrinted(x *command.Call) []workspace.Word {
	if n := len(x.Effects); n > 0 && x.Effects[n-1].Kind == command.PrintsFiles {
		return x.Effects[n-1].Words
	}
	return nil
}

// endsCommand judges the words of a command that find or fd runs: one that may become ";"
// or "+" ends the command, and what follows is for find.
func endsCommand(x *command.Call, args []workspace.Word) {
	for _, w := range args {
		for _, end := range [...]string{";", "+"} {
			if w.MayBecome(end) {
				x.Add(finding.DynamicArgument)
			}
		}
	}
}

// deskAmong looks for the desk in what was found, if the command does more with it than is
// known to be harmless.
func deskAmong(x *command.Call, files []workspace.Word) {
	for _, w := range files {
		x.Does(command.LooksIfAsking, w)
	}
}

// braces gives the words, with those that contain a placeholder marked as computed: the
// placeholder is replaced when they run.
func braces(args []workspace.Word, mark string) []workspace.Word {
	out := append([]workspace.Word{}, args...)
	for i, w := range out {
		if at := strings.Index(w.Text, mark); at >= 0 && mark != "" {
			out[i] = workspace.Word{Text: w.Text[:at], Kind: workspace.Computed}
		}
	}
	return out
}
