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

// field is one value in a call's params that is not an object or a list. A
// member whose name could be a path or an address is one too when it holds an
// object or a list, without text: somebody may take the name for the value.
type field struct {
	key  string // folded name of the nearest member
	root string // folded name of the member of params in which it stands
	text string // a string's value, or the JSON of a number, true, false or null
	str  bool
	top  bool  // stands in the params object itself
	odd  bool  // no tool that policy knows has a member of that name
	nest uint8 // how many lists it stands in
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
		key, odd := foldKey(o.Name)
		list = plainField(&p, list, field{key: key, root: key, top: true, odd: odd})
	}
	return list, p.Done()
}

// plainField appends what stands in a member; f says where that is.
func plainField(p *core.Plain, list []field, f field) []field {
	if len(list) >= maxFields {
		p.Refuse()
	}
	switch p.Kind() {
	case '{':
		if f.odd {
			list = append(list, f)
		}
		f.top = false
		for o := (core.Object{}); p.Member(&o); {
			f.key, f.odd = foldKey(o.Name)
			list = plainField(p, list, f)
		}
	case '[':
		if f.odd {
			list = append(list, f)
		}
		f.top, f.nest = false, f.nest+1
		for l := (core.List{}); p.Element(&l); {
			list = plainField(p, list, f)
		}
	default:
		f.text, f.str = p.Scalar()
		list = append(list, f)
	}
	return list
}

// oddFields is plainFields for all that is JSON.
func oddFields(params []byte, list []field) ([]field, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(params))
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return list, false
	}
	var at [65]field // what each open object or list, or the member in it, belongs to
	for d.StackDepth() > 0 {
		tok, err := d.ReadToken()
		depth := d.StackDepth()
		if err != nil || depth >= len(at) {
			return list, false
		}
		kind, length := d.StackIndex(depth)
		switch k := tok.Kind(); {
		case k == '{' || k == '[':
			f := at[depth-1]
			at[depth] = f
			if at[depth].top = false; k == '[' {
				at[depth].nest++
			}
			if f.odd {
				list = append(list, f)
			}
		case k == '}' || k == ']':
		case kind == '{' && length%2 == 1:
			f := &at[depth]
			f.key, f.odd = foldKey(tok.String())
			if f.top = depth == 1; f.top {
				f.root = f.key
			}
		case len(list) >= maxFields:
			return list, false
		default:
			f := at[depth]
			f.text, f.str = tok.String(), k == '"'
			list = append(list, f)
		}
	}
	_, err := d.ReadToken()
	return list, err == io.EOF // nothing may follow
}

// foldKey folds a member's name: filePath, file_path and file-path are one. It
// is odd where no tool that policy knows has such a member: with a dot, a slash, a
// colon, or other letters than those of ASCII.
func foldKey(s string) (key string, odd bool) {
	if f, ok := fold(s); ok {
		return f, false
	}
	return strings.ToLower(s), true
}
