package tool

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"approvalbot/internal/lazy"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/words"
	"approvalbot/internal/policy/workspace"
)

// What the members of a tool's params mean, by their folded names. The lists are closed: a
// member that is in no list may be anything, so the call asks, unless its value is harmless
// (see harmless).

// besideKey is the member in which the MCP proxy (hook/mcp) puts what the server gets beside the
// tool's arguments.
const besideKey = "approvalbot/mcp"

// BesideArguments reports a call with such a member, or one that may have it and cannot be read.
func (x *Reading) BesideArguments() bool {
	list, ok := x.Fields()
	if !ok {
		return bytes.Contains(x.Call.Params, []byte(besideKey))
	}
	return slices.ContainsFunc(list, func(f field) bool { return f.root == besideKey })
}

// PathKeys are members that name the file.
var PathKeys = lazy.Words(`path filepath file filename absolutepath targetfile targetpath notebookpath targetnotebook
	relativeworkspacepath uri paths files destination
	filepaths targetfiles relativepath abspath fullpath pathname`)

// sourceKeys name files to tools that read, beside pathKeys.
var sourceKeys = lazy.Words("image images imagepath imagepaths pdf pdfs document documents searchpath searchpaths source sources input")

// dirKeys are members that name a directory. What a path of the same call means
// may depend on it.
var dirKeys = lazy.Words(`workdir cwd dir dirs dirpath dirname directory directories directorypath folder folders
	folderpath root roots rootdir rootpath rootdirectory
	base basedir basepath basedirectory workingdir workingdirectory workingpath workspace workspacedir workspacepath
	workspaceroot workspacefolder
	project projectroot projectdir projectpath targetdirectory targetdirectories targetdir searchdirectory
	searchdirectories searchdir startdir startpath
	parent parentdir parentpath prefix pathprefix subdir subdirectory subpath location repo repodir repopath
	repository gitroot worktree chdir currentdirectory currentdir pwd home
	relativeto`)

// machineKeys are members that name another machine, the account that acts there, or what
// else is started.
var machineKeys = lazy.Words(`host hosts hostname server servername domain endpoint baseurl proxy remote remotehost
	node nodeid machine instance container containerid pod ssh sshhost
	user username port socket environment env sandbox gateway gatewayurl gatewaytoken connection device deviceid
	token auth authorization headers
	as runas sudo with program app application using via interpreter runner handler viewer opener preprocessor
	filter pipe pre post callback hook hooks formatter`)

// textKeys are members of reading tools that are not paths.
var textKeys = lazy.Words(`pattern patterns query queries regex regexp search q searchterm description
	displaydescription explanation prompt reason title intent taskprogress toolsummary
	type filetype outputmode language model symbol symbolname identifier instruction instructions question questions toolcallid
	exclude excludes excludepattern excludepatterns excludeglob excludeglobs excludefilepattern ignore ignores
	ignoreglobs ignorepattern ignorepatterns`)

// globKeys are members that say which names a search looks at.
var globKeys = lazy.Words(`glob globs include includes includepattern includepatterns includeglob includeglobs
	filepattern filepatterns fileglob globpattern globpatterns namepattern`)

// outKeys are members that say in which file or directory a tool is to put what it got.
var outKeys = lazy.Words(`output outputfile outputpath outputdir outputfilename out outfile outpath save saveto
	saveas savepath savedir savefile savefilename
	dest destination destinationpath destpath writeto writepath export exportto exportpath download downloadto
	downloadpath downloaddir logfile tee redirect`)

// codeKeys are members that would make a reading tool more than that.
var codeKeys = lazy.Words("command cmd script code exec argv args arguments flags extraargs shell sql")

// deedKeys say what a tool that can do several things is to do.
var deedKeys = lazy.Words("operation operations action actions op mode method verb task subcommand commandtype")

// readingDeeds are values of deedKeys that only read.
var readingDeeds = lazy.Words(`read view get list ls search find grep glob show open print cat stat info outline
	preview hover references definition implementation symbols
	gotodefinition gotoimplementation gototypedefinition findreferences documentsymbol documentsymbols
	workspacesymbol workspacesymbols preparecallhierarchy incomingcalls outgoingcalls diagnostics
	line lines directory image text raw slice indentation content contents files fileswithmatches count full auto
	default summary file regex literal fuzzy exact`)

// contentKeys are members of writing tools that are not paths.
var contentKeys = lazy.Words(`content contents text newstring oldstring newtext oldtext newstr oldstr newcontent
	filetext filecontent inserttext instructions
	instruction codeedit edits diff explanation description displaydescription cellid celltype newsource source
	reason title aiproposedcontent aiproposedstring
	taskprogress toolsummary summary commitmessage toolcallid search replace searchtext replacetext`)

// writerKeys are members of writing tools that hold a number, a flag or a word and say
// which part of the file is written, or how it is looked for.
var writerKeys = lazy.Words(`replaceall changeall allowmultiple expectedreplacements insertline viewrange cellidx
	cellindex cellnumber cellname celllanguage isnewcell linecount line lines
	startline endline linenumber offset limit encoding editmode replaceallmatches replaceallmultiple modifiedbyuser
	append overwrite createdirs createdirectories createparents mkdirs
	timeout waitforprevious useregex isregex regex casesensitive ignorecase matchcase ignorewhitespace count
	occurrence beforecontext aftercontext newline trailingnewline dryrun`)

// editDeeds are values of a writing tool's "mode" and of an editor's "command".
var editDeeds = lazy.Words("create edit overwrite append write insert replace strreplace undoedit view")

// patchKeys are members that hold a patch.
var patchKeys = lazy.Words("input patch patchtext patchcontent diff text content unifieddiff")

// HostKeys are members whose text is an address even without a scheme.
var HostKeys = lazy.Words(`host hostname url urls uri domain server address endpoint baseurl link href target to
	origin ip proxy httpproxy httpsproxy socks
	unixsocket socketpath socket resolve connectto gateway upstream fallback mirror destination dest remote`)

// placeKeys are members that name a file or a directory.
var placeKeys = lazy.Union(PathKeys, sourceKeys, dirKeys)

// absent reports a member that might as well not be there.
func (f *field) absent() bool { return f.Text == "" && f.Str || f.null() }

func (f *field) null() bool { return !f.Str && f.Text == "null" }

// direct reports a value of a member of params itself, or in a list of one: no part of
// an object.
func (f *field) direct() bool { return f.top || f.Key == f.root }

// harmless reports a value that names no file but one of the workspace, no host,
// no address and no code: a number, a flag, a short word, a range of lines.
func (f *field) harmless() bool {
	if !f.Str {
		return true
	}
	if len(f.Text) > 40 || strings.HasPrefix(f.Text, "-") {
		return false
	}
	for i := range len(f.Text) {
		if c := f.Text[i]; !words.WordByte(c) && c != '-' && c != ',' {
			return false
		}
	}
	lower := strings.ToLower(f.Text)
	if workspace.SecretPath(lower) || nameWords()[lower]&(saysWrite|saysEnd) != 0 || program.IsWrapper(lower) {
		return false
	}
	return !workspace.MetadataHosts.Has(lower) && lower != "localhost"
}

// off reports a flag that is not set.
func (f *field) off() bool { return !f.Str && f.Text == "false" }

// standIn takes a directory that a member names: paths of the call may count
// from there as well.
func (r *Params) standIn(w workspace.Word) {
	dir := path.Clean(w.Text)
	bases := []string{dir}
	if !w.Tilde && !path.IsAbs(dir) {
		bases = bases[:0]
		for _, d := range append(r.Place.Dirs[:len(r.Place.Dirs):len(r.Place.Dirs)], r.Place.Also...) {
			bases = append(bases, path.Join(d, dir))
		}
		if len(r.Place.Dirs) == 0 {
			bases = append(bases, dir)
		}
	}
	also := r.Place.Also
	for _, b := range bases {
		if !slices.Contains(also, b) && !slices.Contains(r.Place.Dirs, b) {
			also = append(also[:len(also):len(also)], b)
		}
	}
	if len(also) > workspace.MaxDirs {
		r.Found.Add(finding.UnknownParameters)
		also = also[:workspace.MaxDirs]
	}
	r.Place.Also = also
}

// standsIn takes all directories that the call's members name. It adds unclear if one of
// them cannot be read.
func (r *Params) standsIn(list []field, unclear finding.Code) {
	for i := range list {
		f := &list[i]
		if !dirKeys.Has(f.Key) || !f.Str || f.Text == "" {
			continue
		}
		w := workspace.PathWord(f.Text)
		if w.Kind != workspace.Literal || strings.Contains(f.Text, "://") {
			r.Found.Add(unclear)
		}
		if workspace.Climbs(w.Text) && unclear == finding.DynamicPath {
			r.Found.Add(finding.PathClimbs)
		}
		r.Name(w)
		r.standIn(w)
	}
}

// said gives what the call says with that key in the params object, if it says
// so once: two spellings of one name may be read either way.
func said(list []field, key string) (text string, ok bool) {
	for i := range list {
		if f := &list[i]; f.Key == key && f.top {
			if ok && f.Text != text || !f.Str {
				return "", false
			}
			text, ok = f.Text, true
		}
	}
	return text, ok
}

// Operand judges a word of a command that may be a path or an address to it: read or
// written, by itself or as an option's value.
func (r *Params) Operand(w workspace.Word) {
	values := []string{w.Text, command.AfterEquals(w.Text)}
	if len(w.Text) > 2 && w.Text[0] == '-' {
		values = append(values, w.Text[2:])
	}
	for _, text := range values {
		w.Text, w.Tilde = text, strings.HasPrefix(text, "~")
		switch {
		case strings.HasPrefix(text, "-"):
		case strings.Contains(text, "://"):
			r.Address(text)
		default:
			r.hostsIn(text, false)
			r.Read(w)
			r.Write(w)
		}
	}
}
