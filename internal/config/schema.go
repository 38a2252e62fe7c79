package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// maxSecretFile is how much of a secret's file is read, in bytes.
const maxSecretFile = 64 << 10

// fieldOf finds the field of a key.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("yaml") == key && key != "" {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// keysOf lists the keys of a block.
func keysOf(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		if k := t.Field(i).Tag.Get("yaml"); k != "" {
			keys = append(keys, k)
		}
	}
	return keys
}

// findKey finds a key path whose letters may differ in case, as environment
// variables write it, and gives it as the document would have it.
func findKey(t reflect.Type, parts []string) (path []string, at reflect.Type, ok bool) {
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
		key := slices.IndexFunc(keysOf(t), func(k string) bool { return strings.EqualFold(k, part) })
		if key < 0 {
			return nil, nil, false
		}
		name := keysOf(t)[key]
		f, _ := fieldOf(t, name)
		path, t = append(path, name), f.Type
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
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key := f.Tag.Get("yaml")
		twin, ok := fieldOf(v.Type(), key+"File")
		if f.Type != reflect.TypeFor[Secret]() || !ok {
			continue
		}
		path := v.FieldByIndex(twin.Index).String()
		switch {
		case path == "":
		case v.Field(i).String() != "":
			d.mistake(Join(at.path, key+"File"), "contradicts %s; use one of them", key)
		default:
			d.readSecretFile(beside(d.file, path), v.Field(i), Join(at.path, key+"File"))
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
