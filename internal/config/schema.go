package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"approvalbot/internal/platform"
)

// maxSecretFile is how much of a secret's file is read, in bytes.
const maxSecretFile = 64 << 10

// slot is one key of a block. The tag yaml names the key of a field. A field with the tag
// by:"platform" is a map with a key for each platform, beside the block's other keys.
type slot struct {
	key      string
	typ      reflect.Type // of its value
	field    int
	inMap    bool          // the value is that of key in the field
	on       *platform.Row // the platform whose bot's settings it is in; nil outside
	words    string        // the allowed words, separated by |
	unsetVar string        // as in spot
}

// slotsOf lists the keys of a block, which is in the settings of that platform's bot or, if
// on is nil, in those of none. A field with the tag only is a key if the platform has it.
func slotsOf(t reflect.Type, on *platform.Row) (slots []slot) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Tag.Get("by") == "platform" {
			for j, r := range platform.Rows {
				slots = append(slots, slot{key: r.Name, typ: f.Type.Elem(), field: i, inMap: true, on: &platform.Rows[j]})
			}
			continue
		}
		s := slot{key: f.Tag.Get("yaml"), typ: f.Type, field: i, on: on, words: f.Tag.Get("oneof"), unsetVar: f.Tag.Get("unset")}
		if s.key == "" || f.Tag.Get("only") != "" && (on == nil || !on.Has(s.key)) {
			continue
		}
		if s.words == "platform" {
			s.words = strings.Join(platform.Names(), "|")
		}
		slots = append(slots, s)
	}
	return slots
}

// slotOf finds the slot of a key.
func slotOf(t reflect.Type, on *platform.Row, key string) (slot, bool) {
	slots := slotsOf(t, on)
	if i := slices.IndexFunc(slots, func(s slot) bool { return s.key == key }); i >= 0 {
		return slots[i], true
	}
	return slot{}, false
}

// keysOf lists the keys of a block.
func keysOf(t reflect.Type, on *platform.Row) (keys []string) {
	for _, s := range slotsOf(t, on) {
		keys = append(keys, s.key)
	}
	return keys
}

// fill lets decode set the slot's value in a block that holds the default.
func (s slot) fill(block reflect.Value, decode func(reflect.Value)) {
	field := block.Field(s.field)
	if !s.inMap {
		decode(field)
		return
	}
	key, value := reflect.ValueOf(s.key), reflect.New(s.typ).Elem()
	if field.IsNil() {
		field.Set(reflect.MakeMap(field.Type()))
	}
	if old := field.MapIndex(key); old.IsValid() {
		value.Set(old)
	}
	decode(value)
	field.SetMapIndex(key, value)
}

// findKey finds a key path whose letters may differ in case, as environment
// variables write it, and gives it as the document would have it.
func findKey(t reflect.Type, parts []string) (path []string, at reflect.Type, ok bool) {
	var on *platform.Row
	for i, part := range parts {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() == reflect.Map && i == len(parts)-1 && part != "" && freeCase(t) {
			return append(path, strings.ToUpper(part)), t.Elem(), true
		}
		if t.Kind() != reflect.Struct {
			return nil, nil, false
		}
		slots := slotsOf(t, on)
		key := slices.IndexFunc(slots, func(s slot) bool { return strings.EqualFold(s.key, part) })
		if key < 0 {
			return nil, nil, false
		}
		path, t, on = append(path, slots[key].key), slots[key].typ, slots[key].on
	}
	return path, t, len(path) > 0
}

// freeCase reports whether the keys of a map have the same meaning in capitals,
// as risk classes and HTTP headers have. The rest of the maps are overridden as
// a whole.
func freeCase(m reflect.Type) bool {
	return m.Elem().Kind() == reflect.Int || m.Elem() == reflect.TypeFor[Secret]()
}

// readSecretFiles fills every secret of a block from its …File twin.
func (d *decoder) readSecretFiles(v reflect.Value, at spot) {
	for _, s := range slotsOf(v.Type(), at.on) {
		twin, ok := slotOf(v.Type(), at.on, s.key+"File")
		if s.typ != reflect.TypeFor[Secret]() || !ok {
			continue
		}
		path, value := v.Field(twin.field).String(), v.Field(s.field)
		switch {
		case path == "":
		case value.String() != "":
			d.mistake(Join(at.path, s.key+"File"), "contradicts %s; use one of them", s.key)
		default:
			d.readSecretFile(beside(d.file, path), value, Join(at.path, s.key+"File"))
		}
	}
}

func (d *decoder) readSecretFile(path string, into reflect.Value, key string) {
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		d.mistake(key, "cannot be read: %s", PlainCause(err))
	case len(data) > maxSecretFile:
		d.mistake(key, "is too long for a secret")
	default:
		into.SetString(strings.TrimRight(string(data), "\r\n"))
	}
}

// beside gives a path that the configuration names: a relative one counts from the
// configuration's own directory, so that it is the same file from any working
// directory.
func beside(config, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(config), path)
}
