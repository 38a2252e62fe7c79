package config

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
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
			said := regexp.MustCompile(`(?m)(?:^|[ {\[#-])` + regexp.QuoteMeta(s.key) + `:`).Match(text)
			if of, twin := strings.CutSuffix(s.key, "File"); twin && !said { // all of these are told of together
				_, said = slotOf(typ, on, of)
			}
			assert.True(t, said, "config.example.yaml does not have %s.%s", path, s.key)
			walk(s.typ, s.on, path+"."+s.key)
		}
	}
	walk(reflect.TypeFor[Config](), nil, "")
}
