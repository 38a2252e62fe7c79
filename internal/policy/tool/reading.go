package tool

import (
	"bytes"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/budget"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/workspace"
)

// Reading is one call as what is read of its params.
type Reading struct {
	Call  approval.Call
	Tool  Tool
	Own   *workspace.Own
	Lines *line.Wide // reads shell lines
	Steps *budget.Budget
	Roots []string // the agent's workspaces

	Memory
	listed, readable bool // the params were read, and are what List says

	Found finding.Set                          // what the call could do
	Noted func(codes finding.Set, text string) // see workspace.Reader
	Wants bool                                 // some rule looks at paths
}

// Memory is what one Reading can use after another.
type Memory struct {
	List    []field          // of the params; see fields
	Paths   []workspace.File // that the call names, if Wants is set
	decoder *decoding        // reads the params
}

// Spent gives the memory of a Reading without anything of what it read.
func (x *Reading) Spent() Memory {
	clear(x.List)
	clear(x.Paths)
	if x.decoder != nil {
		x.decoder.in = bytes.Buffer{}
		x.decoder.Reset(&x.decoder.in)
	}
	return Memory{x.List[:0], x.Paths[:0], x.decoder}
}

// Wanted gives the list to which paths are added; nil if no rule looks at them.
func (x *Reading) Wanted() *[]workspace.File {
	if !x.Wants {
		return nil
	}
	return &x.Paths
}

// Params reads the params of tools that name files and addresses.
type Params struct{ workspace.Reader }

// Params makes a reader of a call's params, which adds what it finds to a set.
func (x *Reading) Params(found *finding.Set, paths *[]workspace.File) Params {
	return Params{workspace.Reader{Own: x.Own, Place: x.stands(), Found: found, Paths: paths, Noted: x.Noted}}
}

// assessText looks through all strings of a call for what is always R4: the desk itself,
// and commands in members that are named like one.
func (x *Reading) assessText() {
	list, ok := x.Fields()
	if !ok {
		x.Found.Add(finding.MalformedCall)
		return
	}
	var lines, argv []string
	for _, f := range list {
		if !f.Str {
			continue
		}
		if x.Own.InText(f.Text) {
			x.Found.Add(finding.TouchesDesk)
		}
		text := f.Text
		if f.Key == "sql" {
			text = line.Uncompared(text)
		}
		switch {
		case codeKeys.Has(f.Key) && f.top:
			lines = append(lines, text)
		case codeKeys.Has(f.Key):
			lines, argv = append(lines, text), append(argv, text)
		}
	}
	if len(lines) == 0 {
		return
	}
	sh := x.Lines.Read(x.Steps, x.stands(), nil, nil)
	for _, l := range append(lines, strings.Join(argv, " ")) {
		sh.Line(l)
	}
	x.Found = x.Found.Or(sh.Finish(strings.Join(lines, "\n")).And(finding.OfClass[approval.R4]))
}

// The place from which the call's params count.
func (x *Reading) stands() workspace.Place {
	return workspace.At(x.Roots, x.Own, x.Call.Bind, "", "")
}
