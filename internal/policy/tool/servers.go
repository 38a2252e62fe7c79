package tool

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/policy/finding"
)

// Role says what a param of a tool is, and so how its value is judged.
type Role uint8

// The roles.
const (
	Plain      Role = iota // words, numbers, objects of them; what a server beyond this machine gets may not carry data out
	Opaque                 // a mark that the server gave out before, such as a cursor
	Only                   // one of Values
	Reads                  // a file whose contents are told
	Searches               // a directory all files of which are read
	Names                  // a place that is listed or described
	Writes                 // a file that is created or changed
	Removes                // a file that is deleted or moved away
	Fetches                // an address that is read
	Statements             // what a database is to run
	Runs                   // a command line
)

// Param is one param of a tool.
type Param struct {
	Role   Role
	Values map[string]bool // of Only: what it may say, in lower case
	Else   finding.Code    // of Only: what any other value means
}

// Row is what is known of one tool. A param that is not listed may be anything.
type Row struct {
	Code       finding.Code // what every call of the tool does; harmless if only Judged says it
	Judged     bool         // without Code: the params say what it does, and one of them must be there
	Overwrites bool         // its own declaration that it is destructive means only that it overwrites files
	Params     map[string]Param
}

// Table is the tools of servers: by the server's name, then by the tool's at that
// server, exactly as it writes them. Params are by their folded names.
type Table map[string]map[string]*Row

//go:embed servers.yaml
var servers []byte

// Servers gives the table of the well-known servers. It is read once, when it is first
// asked for.
var Servers = sync.OnceValues(func() (Table, error) { return Load(servers) })

// serverText is a server as the file has it. Lists of names are written with blanks between
// them.
type serverText struct {
	Server string    `yaml:"server"` // its names
	Tools  []rowText `yaml:"tools"`
}

type rowText struct {
	Tool       string            `yaml:"tool"` // its names
	Is         string            `yaml:"is"`   // a reason code
	Overwrites bool              `yaml:"overwrites"`
	Plain      string            `yaml:"plain"`
	Opaque     string            `yaml:"opaque"`
	Reads      string            `yaml:"reads"`
	Searches   string            `yaml:"searches"`
	Names      string            `yaml:"names"`
	Writes     string            `yaml:"writes"`
	Removes    string            `yaml:"removes"`
	Fetches    string            `yaml:"fetches"`
	Statements string            `yaml:"statements"`
	Runs       string            `yaml:"runs"`
	Only       map[string]string `yaml:"only"` // a param to the values that it may have
	Else       string            `yaml:"else"` // a reason code, for any other value of those; default: unknown-parameters
}

// Load reads a table. It refuses unknown keys and codes, a server, tool or param that is
// there twice, and a row that says neither what a tool does nor by which param it is
// known. The error names every mistake, one a line.
func Load(text []byte) (Table, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var list []serverText
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("the table of servers cannot be read: %w", err)
	}
	if err := d.Decode(new(any)); err != io.EOF {
		return nil, errors.New("the table of servers must be one document")
	}
	table, bad := Table{}, []error(nil)
	for _, s := range list {
		rows, wrong := s.rows()
		bad = append(bad, wrong...)
		names := strings.Fields(s.Server)
		if len(names) == 0 || len(rows) == 0 {
			bad = append(bad, fmt.Errorf("server %q: has no name or no tools", s.Server))
		}
		for _, name := range names {
			if table[name] != nil {
				bad = append(bad, fmt.Errorf("server %s: is given twice", name))
			}
			table[name] = rows
		}
	}
	return table, errors.Join(bad...)
}

func (s serverText) rows() (rows map[string]*Row, bad []error) {
	rows = map[string]*Row{}
	for _, t := range s.Tools {
		row, err := t.row()
		if err != nil {
			bad = append(bad, fmt.Errorf("server %s: tool %q: %w", s.Server, first(t.Tool), err))
			continue
		}
		for name := range strings.FieldsSeq(t.Tool) {
			if rows[name] != nil {
				bad = append(bad, fmt.Errorf("server %s: tool %q: is given twice", s.Server, name))
			}
			rows[name] = row
		}
	}
	return rows, bad
}

// first is the first name of a list.
func first(names string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(names), " ")
	return name
}

func (t rowText) row() (*Row, error) {
	row := &Row{Overwrites: t.Overwrites, Params: map[string]Param{}}
	var bad []error
	for role, names := range t.roles() {
		for name := range strings.FieldsSeq(names) {
			bad = append(bad, row.add(name, Param{Role: role}))
		}
		row.Judged = row.Judged || role > Only && names != ""
	}
	other, err := codeOf(t.Else, finding.UnknownParameters)
	bad = append(bad, err)
	for _, name := range slices.Sorted(maps.Keys(t.Only)) {
		values := map[string]bool{}
		for v := range strings.FieldsSeq(t.Only[name]) {
			values[strings.ToLower(v)] = true
		}
		if len(values) == 0 {
			bad = append(bad, fmt.Errorf("param %s: may have no value", name))
		}
		bad = append(bad, row.add(name, Param{Only, values, other}))
	}
	row.Code, err = codeOf(t.Is, finding.HarmlessTool)
	bad = append(bad, err)
	switch {
	case strings.TrimSpace(t.Tool) == "":
		bad = append(bad, errors.New("has no name"))
	case t.Is == "" && !row.Judged:
		bad = append(bad, errors.New("says neither what it does nor on which param that depends"))
	case t.Else != "" && len(t.Only) == 0:
		bad = append(bad, errors.New("else has no effect without only"))
	case t.Overwrites && t.Writes == "":
		bad = append(bad, errors.New("overwrites has no effect without writes"))
	}
	row.Judged = row.Judged && t.Is == ""
	return row, errors.Join(bad...)
}

func (t rowText) roles() map[Role]string {
	return map[Role]string{
		Plain: t.Plain, Opaque: t.Opaque, Reads: t.Reads, Searches: t.Searches, Names: t.Names, Writes: t.Writes,
		Removes: t.Removes, Fetches: t.Fetches, Statements: t.Statements, Runs: t.Runs,
	}
}

func (r *Row) add(name string, p Param) error {
	folded := fold(name)
	if _, twice := r.Params[folded]; twice {
		return fmt.Errorf("param %s: is given twice", name)
	}
	r.Params[folded] = p
	return nil
}

// codeOf gives the code of that name: one that says what a call does.
func codeOf(name string, none finding.Code) (finding.Code, error) {
	if name == "" {
		return none, nil
	}
	c, ok := finding.Named(name)
	if !ok || c >= finding.ApprovalsDisabled {
		return none, fmt.Errorf("%q is not a reason code that says what a call does", name)
	}
	return c, nil
}

// fold makes one name of filePath, file_path and file-path, as policy reads params.
func fold(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}
