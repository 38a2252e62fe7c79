package policy

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/core"
)

// maxFields bounds how much of a call's params is read.
const maxFields = 4096

// field is one value in a call's params that is not an object or a list.
type field struct {
	key  string // folded name of the nearest member
	text string // a string's value, or the JSON of a number, true, false or null
	str  bool
	top  bool // stands in the params object itself
}

// fields lists the values of a call's params in order, until the call is spent. It
// reports false for what is not a JSON object, for duplicate names and for more
// than maxFields values.
func (j *judging) fields() ([]field, bool) {
	if !j.listed {
		j.listed = true
		if j.list, j.readable = plainFields(j.call.Params, j.list[:0]); !j.readable {
			j.list, j.readable = oddFields(j.call.Params, j.list[:0])
		}
	}
	if !j.readable {
		return nil, false
	}
	return j.list, true
}

// plainFields appends the values to list, or reports false for what only
// oddFields can tell.
func plainFields(params []byte, list []field) ([]field, bool) {
	p := core.ReadPlain(params)
	for o := (core.Object{}); p.Member(&o); {
		list = plainField(&p, list, foldKey(o.Name), true)
	}
	return list, p.Done()
}

func plainField(p *core.Plain, list []field, key string, top bool) []field {
	switch p.Kind() {
	case '{':
		for o := (core.Object{}); p.Member(&o); {
			list = plainField(p, list, foldKey(o.Name), false)
		}
	case '[':
		for l := (core.List{}); p.Element(&l); {
			list = plainField(p, list, key, false)
		}
	default:
		if len(list) == maxFields {
			p.Refuse()
		}
		text, str := p.Scalar()
		list = append(list, field{key, text, str, top})
	}
	return list
}

// oddFields is plainFields for all that is JSON.
func oddFields(params []byte, list []field) ([]field, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(params))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return list, false
	}
	var names [65]string // the member that each open object or list belongs to
	for d.StackDepth() > 0 {
		tok, err := d.ReadToken()
		depth := d.StackDepth()
		if err != nil || depth >= len(names) {
			return list, false
		}
		kind, length := d.StackIndex(depth)
		switch k := tok.Kind(); {
		case k == '{' || k == '[':
			names[depth] = names[depth-1]
		case k == '}' || k == ']':
		case kind == '{' && length%2 == 1:
			names[depth] = foldKey(tok.String())
		case len(list) == maxFields:
			return list, false
		default:
			list = append(list, field{names[depth], tok.String(), k == '"', depth == 1 && kind == '{'})
		}
	}
	_, err := d.ReadToken()
	return list, err == io.EOF // nothing may follow
}

// foldKey folds a member's name: filePath, file_path and file-path are one.
func foldKey(s string) string {
	if f, ok := fold(s); ok {
		return f
	}
	return strings.ToLower(s)
}
