package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every key that names a file ends in File, so that none is left to count from elsewhere.
func TestPathsOfTheConfigurationEndInFile(t *testing.T) {
	var look func(reflect.Type)
	look = func(v reflect.Type) {
		for v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
			v = v.Elem()
		}
		if v.Kind() == reflect.Map {
			require.NotContains(t, strings.Join(keysOf(structOf(v.Elem())), " "), "File", "locate does not look into maps")
		}
		if v.Kind() != reflect.Struct {
			return
		}
		for i := range v.NumField() {
			look(v.Field(i).Type)
		}
	}
	look(reflect.TypeFor[Config]())
}

func structOf(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Struct {
		return t
	}
	return reflect.TypeFor[struct{}]()
}

// The example names every key there is.
func TestExampleIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../config.example.yaml")
	require.NoError(t, err)
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for _, key := range keysOf(typ) {
			require.Contains(t, string(text), key, "%s.%s", path, key)
			f, _ := fieldOf(typ, key)
			walk(f.Type, path+"."+key)
		}
	}
	walk(reflect.TypeFor[Config](), "")
}
