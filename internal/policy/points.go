package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/command"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/program"
	"approvalbot/internal/policy/tool"
	"approvalbot/internal/policy/workspace"
)

// Limits of what people are told of what a call's reasons come from.
const (
	maxPoints = 64 // of a call
	maxOfOne  = 24 // of one reason
)

// points says what of a call its reasons come from, worst first. It reads the call once more, and notes what it sees:
// only a call that a person is asked about costs that.
func (e *Engine) points(j *judging) []approval.Point {
	var notes line.Notes
	k, ok := e.noting(j, &notes)
	defer e.spent(k)
	if !ok {
		return nil
	}
	p := pointing{text: bare.Replace(textOf(k) + "\x00" + strings.Join(k.Call.Context.Untracked.All(), "\x00")), sql: map[string]program.Sentence{}}
	if j.Found.Has(finding.UnknownParameters) {
		p.unknown(e, &j.Call)
	}
	switch {
	case j.Tool.Kind != tool.Exec:
		p.params(k, notes.Rest())
	case k.argv == nil && k.line == nil: // its parameters cannot be read
	default:
		if notes.Runs.Codes.Add(finding.RunsDownload); j.Found.Has(finding.RunsDownload) {
			notes.List = append(notes.List, notes.Runs)
		}
		p.commands(&notes, &k.place)
		p.line(k, &notes, j.Found)
		p.inParam(k)
	}
	return p.sorted(j.Found)
}

// noting reads a call once more and takes notes. ok is false if the steps of a judgement are not enough for that.
func (e *Engine) noting(j *judging, notes *line.Notes) (k *judging, ok bool) {
	k = e.calls.Get().(*judging)
	k.steps = j.steps.Again()
	k.Steps, k.agent = &k.steps, j.agent
	k.Call, k.Wants, k.Own, k.Lines, k.Roots, k.Tool = j.Call, j.Wants, j.Own, j.Lines, j.Roots, j.Tool
	k.seen.Notes, k.Noted = notes, notes.Word
	return k, k.steps.Within(func() { e.assessAll(k) }) && !k.cut
}

// textOf gives all that an asker says of a call, as it is written.
func textOf(k *judging) string {
	var values any
	if json.Unmarshal(k.Call.Params, &values) != nil {
		return ""
	}
	var out strings.Builder
	out.WriteString(k.Call.ToolName + "\x00")
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				out.WriteString("\x00" + name + "\x00")
				walk(value)
			}
		case []any:
			for _, value := range v {
				out.WriteByte(' ')
				walk(value)
			}
		case string:
			out.WriteString(v)
		case nil, bool:
		default:
			fmt.Fprint(&out, v)
		}
	}
	walk(values)
	return out.String()
}

// pointing gathers the points of a call.
type pointing struct {
	all  []coded
	text string                      // of the call, bare
	sql  map[string]program.Sentence // what a statement of SQL does, by the command that it is in
}

type coded struct {
	approval.Point
	code finding.Code
	read bool // of an unknown option: the sentence says what it does
}

// add adds a point. A sentence that names what the reading made of the call's words, as the files that a search finds,
// is left out: people could not find it in the call.
func (p *pointing) add(c finding.Code, at approval.Point) {
	if slices.ContainsFunc(at.Of, p.made) {
		at.Does, at.Of = "", nil
	}
	if at.Code = finding.Reasons[c].Name; at.Text != "" {
		p.all = append(p.all, coded{Point: at, code: c})
	}
}

// made reports a word that is not in the call as it is written.
func (p *pointing) made(w string) bool { return !strings.Contains(p.text, bare.Replace(w)) }

// bare takes out what shells take out of words, and what makes lists of them.
var bare = strings.NewReplacer(`\`, "", `'`, "", `"`, "", "\n", "", "{", "", "}", "", ",", "")

// sorted gives the points of the codes that were found, in the order of their reasons.
func (p *pointing) sorted(found finding.Set) (out []approval.Point) {
	var buf [24]finding.Code
	for _, c := range found.List(buf[:0]) {
		of := p.of(c)
		n := min(len(of), maxOfOne, maxPoints-len(out))
		for i := range of[:n] {
			of[i].More = len(of) - n
		}
		out = append(out, of[:n]...)
	}
	return out
}

// of gives the points of one code. If some of them name what they touch and others cannot, these come first, in the
// code's own words: a sentence about one command must not take the place of what is said of another.
func (p *pointing) of(c finding.Code) []approval.Point {
	var named, unnamed []approval.Point
	for i := range p.all {
		at := p.all[i].Point
		same := func(q approval.Point) bool {
			return q.Text == at.Text && q.Line == at.Line && q.Param == at.Param && q.Does == at.Does && slices.Equal(q.Of, at.Of)
		}
		switch {
		case p.all[i].read && p.unread(c):
		case p.all[i].code != c || slices.ContainsFunc(named, same) || slices.ContainsFunc(unnamed, same):
		case at.Does == "":
			unnamed = append(unnamed, at)
		default:
			named = append(named, at)
		}
	}
	generic, half := strings.CutPrefix(strings.TrimSuffix(finding.Reasons[c].Text, "."), "It ")
	switch mixed := len(named) > 0 && len(unnamed) > 0; {
	case mixed && half:
		for i := range unnamed {
			unnamed[i].Does = generic
		}
	case mixed: // its words are no half sentence
		for i := range named {
			named[i].Does, named[i].Of = "", nil
		}
	}
	return append(unnamed, named...)
}

// inPlace are findings of files, and of what is in a directory.
var inPlace = finding.Of(finding.RecursiveDelete, finding.ForceDelete, finding.DeletesFile, finding.GitDestroys, finding.GitDiscards,
	finding.RecursivePermissions, finding.ChangesPermissions, finding.WritesOutside, finding.NoWorkspace, finding.PathClimbs,
	finding.WritesSecret, finding.WritesStartup, finding.WritesInstructions, finding.WritesSystem, finding.WritesDevice, finding.WritesAccess,
	finding.WritesAgentSettings, finding.MisleadingName, finding.ReadsSecret, finding.MayReadSecret, finding.RunsScript, finding.ProgramByPath)

// within adds to a sentence the directory in which its relative names are, if commands changed that.
func (p *pointing) within(at *approval.Point, went workspace.Went) {
	whole := func(w string) bool { return strings.HasPrefix(w, "/") || strings.HasPrefix(w, "~") }
	relative := len(at.Of) == 0 || slices.ContainsFunc(at.Of, func(w string) bool { return !whole(w) })
	switch {
	case at.Does == "" || !relative:
	case went.Open, slices.ContainsFunc(went.To, p.made): // as the home directory of a bare cd
		at.Does += ", in a directory that cd sets"
	case len(went.To) > 0:
		at.Does += ", in directory %s" + strings.Repeat(" and there %s", len(went.To)-1)
		if at.Of = slices.Concat(at.Of, went.To); !went.Sure {
			at.Does += " if cd succeeds"
		}
	}
}

// unread reports whether some point of a code is about what no sentence of the table says.
func (p *pointing) unread(c finding.Code) bool {
	return slices.ContainsFunc(p.all, func(at coded) bool { return at.code == c && !at.read })
}

// commands adds what was noted of a call's commands.
func (p *pointing) commands(notes *line.Notes, place *workspace.Place) {
	for _, n := range notes.List {
		at := approval.Point{Text: n.Text, Line: n.Line}
		if at.Text == "" && len(n.Args) > 0 {
			at.Text = program.Line(written(n.Args))
		}
		var said []program.Sentence
		if len(n.Args) > 0 {
			said = program.Says(n.Args, n.Codes)
			here := func(s program.Sentence) bool {
				return strings.Contains(s.Does, "this folder") || strings.Contains(s.Does, "this directory")
			}
			if n.Moved {
				said = slices.DeleteFunc(said, here)
			}
		}
		for _, s := range said {
			if s.Code == finding.DatabaseClient && at.Text != "" {
				p.sql[at.Text] = s
			}
		}
		for c := range finding.CodeCount {
			if !n.Codes.Has(c) {
				continue
			}
			named := at
			if i := slices.IndexFunc(said, func(s program.Sentence) bool { return s.Code == c }); i >= 0 {
				named.Does, named.Of = said[i].Does, said[i].Of
			} else if named.Does, named.Of = naming(c, &n); c == finding.UnknownOption {
				named.Does, named.Of = unlisted(&n, place)
			}
			read := c == finding.UnknownOption && len(said) > 0
			if read { // a sentence of the table is about all options of its command
				named.Does, named.Of = said[0].Does, said[0].Of
			}
			if inPlace.Has(c) {
				p.within(&named, n.Went)
			}
			p.add(c, named)
			if n := len(p.all); n > 0 && p.all[n-1].code == c {
				p.all[n-1].read = read
			}
		}
	}
	for _, w := range notes.Rest() { // before any command: the call's environment
		for c := range finding.CodeCount {
			if w.Codes.Has(c) {
				p.add(c, approval.Point{Param: "env", Text: w.Text, Does: finding.Naming[c], Of: []string{w.Text}})
			}
		}
	}
}

// naming gives the sentence of a code that names the one word which it comes from.
func naming(c finding.Code, n *line.Note) (does string, of []string) {
	if finding.Naming[c] == "" {
		return "", nil
	}
	for _, w := range n.Words {
		if w.Codes.Has(c) && !slices.Contains(of, w.Text) {
			of = append(of, w.Text)
		}
	}
	if finding.OfProgram.Has(c) && len(n.Args) > 0 && n.Args[0].Kind == workspace.Literal {
		of = []string{n.Args[0].Text}
	}
	if len(of) != 1 || of[0] == "" {
		return "", nil
	}
	return finding.Naming[c], of
}

// unlisted names the word of a command that no row of the table lists: the only one without which the row knows all.
func unlisted(n *line.Note, place *workspace.Place) (does string, of []string) {
	if len(n.Args) < 2 || len(n.Args) > maxUnlisted || n.Args[0].Kind != workspace.Literal {
		return "", nil
	}
	name := program.ProgramOf(n.Args[0])
	rule := program.RuleOf(name)
	if rule == nil {
		return "", nil
	}
	for i, w := range n.Args[1:] {
		x := command.Call{Place: place}
		rule(&x, name, slices.Delete(slices.Clone(n.Args[1:]), i, i+1))
		if x.Has(finding.UnknownOption) || w.Text == "" {
			continue
		}
		if of != nil || w.Kind == workspace.Computed {
			return "", nil
		}
		of = []string{name, w.Text}
	}
	if of == nil {
		return "", nil
	}
	if strings.HasPrefix(of[1], "-") {
		return "gives %s the option %s, which the desk does not know to be harmless", of
	}
	return "gives %s the word %s, which the desk does not know to be harmless", of
}

// maxUnlisted bounds the words of a command of which one is looked for that no row lists.
const maxUnlisted = 40

// written gives the words of a command, with a sign for computed ones.
func written(args []workspace.Word) []string {
	list, _ := texts(args)
	return list
}

// line adds what was found of a line as a whole: the place at which shells may read it otherwise, words of destructive
// commands in what cannot be read; and for what comes from no command, the line if it is only one.
func (p *pointing) line(k *judging, notes *line.Notes, found finding.Set) {
	if k.line == nil {
		return
	}
	n, from := 0, 0
	for text := range strings.Lines(*k.line) {
		n++
		at := approval.Point{Text: strings.TrimSpace(text), Line: n}
		if found.Has(finding.DestructiveWord) && line.Destructive(line.WordsOf(text)) {
			worded := at
			if s, ok := p.sql[at.Text]; ok { // the whole line is SQL
				worded.Does, worded.Of = s.Does, s.Of
			}
			p.add(finding.DestructiveWord, worded)
		}
		if unsure := notes.Unsure; unsure > from && unsure <= from+len(text) {
			p.add(finding.UnusualShell, at)
		}
		from += len(text)
	}
	whole := strings.TrimSpace(*k.line)
	for _, c := range p.missing(found) {
		if !strings.Contains(whole, "\n") {
			p.add(c, approval.Point{Text: whole, Line: 1})
		}
	}
}

// missing gives the codes that were found and that no point is for yet.
func (p *pointing) missing(found finding.Set) (codes []finding.Code) {
	for _, c := range found.List(nil) {
		if !slices.ContainsFunc(p.all, func(at coded) bool { return at.code == c }) {
			codes = append(codes, c)
		}
	}
	return codes
}

// inParam says in which parameter the line is, of a tool that is not exec.
func (p *pointing) inParam(k *judging) {
	var members map[string]json.RawMessage
	if k.Call.ToolName == "exec" || k.line == nil || json.Unmarshal(k.Call.Params, &members) != nil {
		return
	}
	name, _, ok := paramOf(members, *k.line)
	for i := range p.all {
		if at := &p.all[i]; ok && at.Param == "" {
			at.Param = name
		}
	}
}

// unknown adds the parameter that the desk does not know: the only one without which it knows all.
func (p *pointing) unknown(e *Engine, call *approval.Call) {
	var members map[string]json.RawMessage
	if len(call.Params) > line.MaxLine || json.Unmarshal(call.Params, &members) != nil || len(members) > maxMembers {
		return
	}
	var found approval.Point
	for name, value := range members {
		delete(members, name)
		params, err := json.Marshal(members)
		members[name] = value
		if err != nil {
			return
		}
		without := e.read(context.Background(), call.WithParams(params))
		knows := !without.Found.Has(finding.UnknownParameters)
		e.spent(without)
		switch {
		case !knows:
		case found.Text != "":
			return
		default:
			found = approval.Point{Param: name, Text: valueOf(value),
				Does: "has the parameter %s, which the desk does not know", Of: []string{name}}
		}
	}
	p.add(finding.UnknownParameters, found)
}

// maxMembers bounds the parameters of which one is looked for that the desk does not know.
const maxMembers = 20

// valueOf is a parameter's value as people write it.
func valueOf(value json.RawMessage) string {
	text := ""
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	return text
}

// params adds what was noted of the parameters of a tool that runs no command.
func (p *pointing) params(k *judging, noted []line.NotedWord) {
	var members map[string]json.RawMessage
	if json.Unmarshal(k.Call.Params, &members) != nil {
		return
	}
	for _, w := range noted {
		if w.Text == "" {
			continue
		}
		name, n, ok := paramOf(members, w.Text)
		if !ok {
			continue
		}
		for c := range finding.CodeCount {
			if !w.Codes.Has(c) {
				continue
			}
			at := approval.Point{Param: name, Line: n, Text: w.Text}
			if finding.Naming[c] != "" {
				at.Does, at.Of = finding.Naming[c], []string{w.Text}
			}
			p.add(c, at)
		}
	}
	for _, c := range p.missing(k.Found) {
		p.add(c, chosen(k.Call.ToolName, members, c))
	}
}

// chosen gives the parameter that a finding of a tool comes from as a rule, or else the tool's name.
func chosen(tool string, members map[string]json.RawMessage, c finding.Code) approval.Point {
	names := "action command method code"
	switch c {
	case finding.UnknownTool, finding.RemoteWrite, finding.DestroysInfrastructure:
		return approval.Point{Text: tool, Does: finding.Naming[c], Of: []string{tool}}
	case finding.DatabaseClient, finding.DestructiveWord, finding.DropsData:
		names = "sql query statement statements"
	case finding.DeletesFile, finding.WorkspaceWrite, finding.MayReadSecret, finding.ReadOnlyTool:
		names = "path file_path filePath target_file filename file files paths input patch"
	case finding.InterpreterCode:
		names = "code javaScript script expression"
	case finding.SendsData:
		names = "method body data json url"
	case finding.MessageSend:
		names = "to channel recipient recipients target sessionKey action"
	case finding.Payment:
		names = "amount total"
	case finding.FeedsProcess:
		names = "data chars input text"
	}
	for name := range strings.FieldsSeq(names) {
		value, ok := members[name]
		if !ok || strings.ContainsAny(string(value[:1]), "{[") {
			continue
		}
		text := valueOf(value)
		at := approval.Point{Param: name, Text: text}
		does, table, ok := program.ChangesTable(text)
		switch {
		case given(members, names) > 1: // a sentence about one of them would say less than the call
		case ok && strings.HasPrefix(names, "sql"):
			at.Does, at.Of = does, []string{table}
		case c == finding.DeletesFile:
			at.Does, at.Of = "deletes or empties %s", []string{text}
		case c == finding.MessageSend && name != "action":
			at.Does, at.Of = "sends a message to %s", []string{text}
		case c == finding.Payment && name == "amount":
			at.Does, at.Of = "moves money: %s", []string{text}
		}
		return at
	}
	return approval.Point{Text: tool}
}

// given is how many of the parameters there are.
func given(members map[string]json.RawMessage, names string) (n int) {
	for name := range strings.FieldsSeq(names) {
		if _, ok := members[name]; ok && name != "action" {
			n++
		}
	}
	return n
}

// paramOf gives the parameter in which a word is, and the line of its text if that has several.
func paramOf(members map[string]json.RawMessage, word string) (name string, n int, ok bool) {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, exact := range [...]bool{true, false} {
		for _, name := range names {
			text := valueOf(members[name])
			i := strings.Index(text, word)
			if i < 0 || exact && text != word {
				continue
			}
			if strings.Contains(text, "\n") {
				n = 1 + strings.Count(text[:i], "\n")
			}
			return name, n, true
		}
	}
	return "", 0, false
}
