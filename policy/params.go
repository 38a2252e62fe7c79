package policy

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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

// decoder is kept for the next call, since making one costs more than reading
// small params does.
type decoder struct {
	json  jsontext.Decoder
	bytes bytes.Reader
}

// fields lists the values of a call's params in order, until the call is spent. It
// reports false for what is not a JSON object, for duplicate names and for more
// than maxFields values.
func (e *Engine) fields(j *judging) ([]field, bool) {
	if !j.listed {
		d := e.decoders.Get().(*decoder)
		d.bytes.Reset(j.call.Params)
		d.json.Reset(&d.bytes)
		j.fields, j.readable = fields(&d.json, j.fields[:0])
		e.decoders.Put(d)
		j.listed = true
	}
	if !j.readable {
		return nil, false
	}
	return j.fields, true
}

// fields appends the values that are left to list.
func fields(d *jsontext.Decoder, list []field) ([]field, bool) {
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return list, false
	}
	var names [65]string // the member that each open object or list belongs to
	for d.StackDepth() > 0 {
		tok, err := d.ReadToken()
		depth := d.StackDepth()
		if err != nil || depth >= len(names) || len(list) == maxFields {
			return list, false
		}
		kind, length := d.StackIndex(depth)
		switch k := tok.Kind(); {
		case k == '{' || k == '[':
			names[depth] = names[depth-1]
		case k == '}' || k == ']':
		case kind == '{' && length%2 == 1:
			names[depth] = foldKey(tok.String())
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
