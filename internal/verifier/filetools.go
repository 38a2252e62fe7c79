package verifier

import (
	"strings"

	"approvalbot/internal/lazy"
)

// fileTools are the tools that write files, by their folded names as the common
// agent runtimes and file servers call them.
var fileTools = lazy.Words("write writefile writetofile writefiles createfile create fswrite savefile appendfile " +
	"appendtofile putfile overwritefile updatefile " +
	"edit editfile editfiles multiedit multieditfile notebookedit editnotebook editnotebookfile replace " +
	"replaceinfile searchreplace searchandreplace " +
	"strreplace strreplaceeditor strreplacebasededittool texteditor inserttext insertintofile insertedit " +
	"inserteditintofile editblock " +
	"applypatch patch patchfile applydiff applyedit createorupdatefile pushfiles createtextfile replacelines " +
	"insertatline replacecontent")

// contentKeys are the members of such a tool that hold what is written, folded.
var contentKeys = lazy.Words("content contents filecontent filecontents newcontent oldcontent text newtext oldtext " +
	"filetext inserttext " +
	"newstring oldstring newstr oldstr newsource oldsource newcode oldcode code codeedit codecontent edits edit " +
	"changes hunks blocks lines " +
	"patch patchtext diff input search replace replacement find insert append body data snippet old new")

// pathKeys are members that name a file: they stay readable, also among edits.
var pathKeys = lazy.Words("path paths filepath file filename absolutepath absolutefilepath relativepath targetfile " +
	"targetpath notebookpath destination uri")

// writesFiles reports whether the tool is known to write files; of a tool that
// another server brings ("mcp__files__write_file") only the last part counts.
func writesFiles(tool string) bool {
	if i := strings.LastIndexAny(tool, ".:/"); i >= 0 {
		tool = tool[i+1:]
	}
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		tool = tool[i+2:]
	}
	return fileTools.Has(foldKey(tool))
}

// foldKey folds a member's name: filePath, file_path and file-path are one.
func foldKey(name string) string { return strings.ToLower(dashes.Replace(name)) }
