package config

import (
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/platform"
)

// The example names every key there is.
func TestExampleIsComplete(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../config.example.yaml")
	require.NoError(t, err)
	var walk func(reflect.Type, *platform.Row, string)
	walk = func(typ reflect.Type, on *platform.Row, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for _, s := range slotsOf(typ, on) {
			require.Contains(t, string(text), s.key, "%s.%s", path, s.key)
			walk(s.typ, s.on, path+"."+s.key)
		}
	}
	walk(reflect.TypeFor[Config](), nil, "")
}
