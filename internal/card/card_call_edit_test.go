package card

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/display"
)

// An edit of indented text is shown line by line, tabs as tabs, also if it begins or ends with a blank.
func TestEditsOfIndentedTextAreADiff(t *testing.T) {
	for _, c := range []struct{ params, want string }{
		{`{"file_path":"/w/a.go","old_string":"\tif err != nil {\n\t\treturn err\n\t}","new_string":"\tif err != nil {\n\t\treturn nil\n\t}"}`,
			"  \tif err != nil {\n- \t\treturn err\n+ \t\treturn nil\n  \t}"},
		{`{"file_path":"/w/a.go","old_string":"\treturn err","new_string":"\treturn nil\n"}`, "- \treturn err\n+ \treturn nil"},
		{`{"file_path":"/w/a.go","old_string":"  a\n  b ","new_string":"  a\n  c "}`, "    a\n-   b \n+   c "},
		{`{"file_path":"/w/a.go","old_string":"a\tb","new_string":"\u202ec"}`, "- a\\u{9}b\n+ \\u{202E}c"},
	} {
		fields, err := display.Params([]byte(c.params))
		require.NoError(t, err)
		require.Len(t, fields, 3)
		got := changes(fields[1].Value, fields[2].Value)
		require.Equal(t, c.want, got)
	}
}
