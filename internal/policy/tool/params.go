package tool

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxFields bounds how much of a call's params is read.
const maxFields = 4096

// maxNesting bounds how deep objects and lists are nested.
const maxNesting = 64

// field is one value in a call's params that is not an object or a list. A member whose
// name could be a path or an address is one too if it holds an object or a list, without
// text, because a tool may take the name for the value.
type field struct {
	Key  string // folded name of the nearest member
	root string // folded name of the member of params that contains it
	Text string // a string's value, or the JSON of a number, true, false or null
	Str  bool
	top  bool  // is in the params object itself
	odd  bool  // no tool that policy knows has a member of that name
	nest uint8 // how many lists it is in
}

// Fields lists the values of a call's params in order, until the call is spent. It
// reports false for what is not a JSON object, for duplicate names and for more
// than maxFields values.
func (x *Reading) Fields() ([]field, bool) {
	if !x.listed {
		x.listed = true
		x.List, x.readable = x.readFields(x.List[:0])
	}
	if !x.readable {
		return nil, false
	}
	return x.List, true
}

// decoding is a decoder that is used again for call after call.
type decoding struct {
	in bytes.Buffer
	jsontext.Decoder
}

// readFields appends the values to list.
func (x *Reading) readFields(list []field) ([]field, bool) {
	if x.decoder == nil {
		x.decoder = new(decoding)
	}
	x.decoder.in = *bytes.NewBuffer(x.Call.Params)
	d := &x.decoder.Decoder
	d.Reset(&x.decoder.in)
	if tok, err := d.ReadToken(); err != nil || tok.Kind() != '{' {
		return list, false
	}
	var few [8]field
	at := few[:] // what each open object or list, or the member in it, belongs to
	for d.StackDepth() > 0 {
		tok, err := d.ReadToken()
		depth := d.StackDepth()
		if err != nil || depth > maxNesting {
			return list, false
		}
		if depth == len(at) {
			at = append(at, field{})
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
			f.Key, f.odd = foldKey(tok.String())
			if f.top = depth == 1; f.top {
				f.root = f.Key
			}
		case len(list) >= maxFields:
			return list, false
		default:
			f := at[depth]
			f.Text, f.Str = tok.String(), k == '"'
			list = append(list, f)
		}
	}
	_, err := d.ReadToken()
	return list, err == io.EOF // no text may follow
}

// foldKey folds a member's name: filePath, file_path and file-path are one. The name is odd
// if no tool that policy knows has such a member: with a dot, a slash, a colon, or other
// letters than those of ASCII.
func foldKey(s string) (key string, odd bool) {
	if f, ok := Fold(s); ok {
		return f, false
	}
	return strings.ToLower(s), true
}
