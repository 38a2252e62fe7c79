package approval

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A tool's schema is a JSON object within limits, and is kept as a hash of its
// canonical form.
func TestToolFacts_Schema(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for schema, valid := range map[string]bool{
		"": true, `{}`: true, `{"type":"object","properties":{"path":{"type":"string"}}}`: true, nested(64): true, nested(65): false,
		`[]`: false, `null`: false, `"x"`: false, `{} {}`: false, `{"a":1,"a":2}`: false, `{"a":`: false, `{"a":"` + strings.Repeat(
			"x", 64<<10,
		) + `"}`: false,
	} {
		c := Call{ToolName: "x", Params: json.RawMessage(`{}`), Context: CallContext{Tool: ToolFacts{Schema: schema}}}
		bad := c.Validate()
		require.Equal(t, valid, len(bad) == 0, schema[:min(40, len(schema))])
		if !valid {
			require.Equal(t, FieldError{"context.tool.schema", schemaRule}, bad[0], "the value is not echoed")
			continue
		}
		kept := c.Context.Stored()
		require.Empty(t, kept.Tool.Schema)
		require.Equal(t, schema != "", kept.Tool.SchemaHash != "")
		require.Equal(t, kept, kept.Stored())
	}
	hash := func(schema string) string {
		return CallContext{Tool: ToolFacts{Schema: schema}}.Stored().Tool.SchemaHash
	}
	require.Equal(t, hash(`{"a":1,"b":2}`), hash(`{ "b": 2, "a": 1.0 }`))
	require.NotEqual(t, hash(`{"a":1}`), hash(`{"a":2}`))
}

// Old facts keep their hash. A digest is part of what is said; whether the client was shown something
// else is not, and makes a call one of a tool that has changed, whatever is on record.
func TestAdversary_T2_DigestAndOtherwise(t *testing.T) {
	facts := ToolFacts{Description: "Orders.", SchemaHash: "x"}
	require.Equal(t, "4487af14c96806409bb2809c1257e4ef40cb3642d83ca7291cd87d7a01bfa2ce", facts.Hash())
	digest := facts
	digest.Digest = strings.Repeat("0", 64)
	require.NotEqual(t, facts.Hash(), digest.Hash())
	otherwise := facts
	otherwise.Otherwise = true
	require.Equal(t, facts.Hash(), otherwise.Hash())
	for digest, sound := range map[string]bool{
		"": true, strings.Repeat("0f", 32): true, strings.Repeat("0F", 32): false, strings.Repeat("0", 63): false, "evil": false,
	} {
		c := Call{ToolName: "x", Params: json.RawMessage(`{}`), Context: CallContext{Tool: ToolFacts{Digest: digest}}}
		require.Equal(t, sound, len(c.Validate()) == 0, digest)
	}
}
