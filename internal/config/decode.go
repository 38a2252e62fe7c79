package config

import (
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"approvalbot/internal/platform"
)

// decoder reads a YAML document into a value strictly: unknown, repeated and
// mistyped keys are mistakes, all of them are collected, and keys keep their case.
// It descends along the types, so aliases can neither multiply the work nor form a
// loop.
type decoder struct {
	*Report
	env      Environ
	override map[*yaml.Node]string // nodes that an environment variable or flag put there, with its name
}

// spot is the decoder's position.
type spot struct {
	path     string
	source   string
	literal  bool          // text of an override: ${NAME} in it is not replaced
	words    string        // the allowed words, separated by |
	unsetVar string        // "empty": an unset ${NAME} is empty text here
	on       *platform.Row // whose bot's settings it is in; nil outside
}

// selfDecoder is a type that reads its own node.
type selfDecoder interface {
	decodeNode(d *decoder, n *yaml.Node, at spot)
}

// decode reads n into v, which is settable and holds the default.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, at spot) {
	if name, ok := d.override[n]; ok {
		at.source, at.literal = name, true
	}
	d.note(n, at)
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if self, ok := v.Addr().Interface().(selfDecoder); ok {
		self.decodeNode(d, n, at)
		return
	}
	if n.ShortTag() == "!!null" && v.Kind() != reflect.Struct && v.Kind() != reflect.Pointer {
		d.mistake(at.path, "has no value; write one or take the key out")
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(n, v, at)
	case reflect.Pointer:
		d.decodePointer(n, v, at)
	case reflect.Slice:
		d.decodeSlice(n, v, at)
	case reflect.Map:
		d.decodeMap(n, v, at)
	default:
		d.decodeScalar(n, v, at)
	}
}

// note records the position of the key at this spot.
func (d *decoder) note(n *yaml.Node, at spot) {
	if at.literal {
		d.places[at.path] = Position{Source: at.source}
		return
	}
	d.places[at.path] = Position{Source: at.source, Line: n.Line}
}

func (d *decoder) decodeStruct(n *yaml.Node, v reflect.Value, at spot) {
	if n.ShortTag() == "!!null" { // all keys are commented out
		return
	}
	for _, e := range d.entries(n, at) {
		s, ok := slotOf(v.Type(), at.on, e.name)
		if !ok {
			d.places[Join(at.path, e.name)] = e.place
			d.mistake(Join(at.path, e.name), "unknown key%s", DidYouMean(e.name, keysOf(v.Type(), at.on)))
			continue
		}
		inner := spot{path: Join(at.path, e.name), source: at.source, literal: at.literal,
			words: s.words, unsetVar: s.unsetVar, on: s.on}
		s.fill(v, func(value reflect.Value) { d.decode(e.value, value, inner) })
		d.settle(e, inner)
	}
	d.readSecretFiles(v, at)
}

// settle records the key's own line, even if its value begins below it.
func (d *decoder) settle(e entry, at spot) {
	if _, overridden := d.override[e.value]; !overridden && !at.literal {
		d.places[at.path] = e.place
	}
}

// entry is one key of a mapping.
type entry struct {
	name  string
	value *yaml.Node
	place Position
}

// entries gives the keys of a mapping, each once.
func (d *decoder) entries(n *yaml.Node, at spot) []entry {
	if n.Kind != yaml.MappingNode {
		d.mistake(at.path, "must be a mapping of keys")
		return nil
	}
	var out []entry
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		e := entry{name: k.Value, value: n.Content[i+1], place: Position{Source: at.source, Line: k.Line}}
		if at.literal {
			e.place.Line = 0
		}
		d.places[Join(at.path, e.name)] = e.place
		switch first, twice := lines[e.name]; {
		case k.Kind != yaml.ScalarNode:
			d.mistake(at.path, "has a key that is not a plain word")
		case twice:
			d.mistake(Join(at.path, e.name), "is given twice, first on line %d", first)
		default:
			lines[e.name] = k.Line
			out = append(out, e)
		}
	}
	return out
}

// decodePointer reads a block whose presence alone has a meaning; an empty one
// counts as absent.
func (d *decoder) decodePointer(n *yaml.Node, v reflect.Value, at spot) {
	if n.ShortTag() == "!!null" {
		return
	}
	block := reflect.New(v.Type().Elem())
	if b, ok := block.Interface().(interface{ setDefaults() }); ok {
		b.setDefaults()
	}
	d.decode(n, block.Elem(), at)
	v.Set(block)
}

func (d *decoder) decodeSlice(n *yaml.Node, v reflect.Value, at spot) {
	if n.Kind != yaml.SequenceNode {
		d.mistake(at.path, "must be a list")
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, c := range n.Content {
		inner := at
		inner.path = Index(at.path, i)
		d.decode(c, list.Index(i), inner)
	}
	v.Set(list)
}

func (d *decoder) decodeMap(n *yaml.Node, v reflect.Value, at spot) {
	m := reflect.MakeMap(v.Type())
	for _, e := range d.entries(n, at) {
		value := reflect.New(v.Type().Elem()).Elem()
		inner := at
		inner.path = Join(at.path, e.name)
		d.decode(e.value, value, inner)
		d.settle(e, inner)
		m.SetMapIndex(reflect.ValueOf(e.name), value)
	}
	v.Set(m)
}

// decodeScalar reads text, a number or a truth value, ${NAME} filled in.
func (d *decoder) decodeScalar(n *yaml.Node, v reflect.Value, at spot) {
	text, tag, ok := d.scalar(n, at)
	if !ok {
		return
	}
	is := func(tags ...string) bool { return tag == anyTag || slices.Contains(tags, tag) }
	switch v.Kind() {
	case reflect.String:
		d.decodeText(text, is("!!str"), v, at)
	case reflect.Bool:
		if !is("!!bool") || text != "true" && text != "false" {
			d.mistake(at.path, "must be true or false")
			return
		}
		v.SetBool(text == "true")
	case reflect.Float64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !is("!!float", "!!int") || f != f {
			d.mistake(at.path, "must be a number")
			return
		}
		v.SetFloat(f)
	default:
		i, err := strconv.ParseInt(text, 10, v.Type().Bits())
		if err != nil || !is("!!int") {
			d.mistake(at.path, "must be a whole number")
			return
		}
		v.SetInt(i)
	}
}

func (d *decoder) decodeText(text string, isText bool, v reflect.Value, at spot) {
	switch words := strings.Split(at.words, "|"); {
	case !isText:
		d.mistake(at.path, "must be text; put it in quotes")
	case at.words != "" && !slices.Contains(words, text):
		d.mistake(at.path, "must be %s%s", orList(words), DidYouMean(text, words))
	default:
		v.SetString(text)
	}
}

// PlainCause says why a file cannot be read, without repeating its name.
func PlainCause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
