package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

const (
	schemaFile = "schema/gateway.json"
	apiFile    = "../server/testdata/openapi.json"
)

// nothingElse refuses to load whatever a schema refers to outside of itself.
type nothingElse struct{}

func (nothingElse) Load(string) (any, error) { return nil, errors.New("the schema stands by itself") }

var compiled = sync.OnceValue(func() func(def string) *jsonschema.Schema {
	text, err := os.ReadFile(schemaFile)
	if err != nil {
		panic(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothingElse{})
	if err := c.AddResource("urn:approvalbot:gateway", doc); err != nil {
		panic(err)
	}
	var mu sync.Mutex
	return func(def string) *jsonschema.Schema {
		mu.Lock()
		defer mu.Unlock()
		return c.MustCompile("urn:approvalbot:gateway#" + def)
	}
})

func check(t testing.TB, def string, text []byte) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	require.NoError(t, compiled()("/$defs/"+def).Validate(v), "%s: %s", def, text)
}

// checkSent holds a request of a known method to the schema, unless the test
// marks its mistake with "mistake".
func checkSent(t testing.TB, method, frame, params string) {
	if methods()[method] == nil && method != "connect" || strings.Contains(params, "mistake") {
		return
	}
	check(t, "request", []byte(frame))
	check(t, method+".params", []byte(params))
}

func checkReceived(t testing.TB, method string, f frame, text []byte) {
	switch {
	case f.Type == "event":
		check(t, "event", text)
		check(t, f.Event+".event", f.Payload)
	case f.OK:
		check(t, "response", text)
		check(t, method+".result", f.Payload)
	default:
		check(t, "response", text)
	}
}

// What the HTTP API describes too is described in the same words: run with
// -update after the API's description has changed.
func TestSchemaSaysWhatTheAPISays(t *testing.T) {
	var api struct {
		Components struct {
			Schemas map[string]any `json:"schemas"`
		} `json:"components"`
	}
	text, err := os.ReadFile(apiFile)
	require.NoError(t, err)
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	require.NoError(t, json.Unmarshal(text, &api))

	var schema map[string]any
	committed, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(committed, &schema))
	defs := schema["$defs"].(map[string]any)
	for _, name := range withAllTheyNeed(api.Components.Schemas, "CreateRequest", "Event", "List", "Policy", "Tools", "ToolsRequest") {
		defs[name] = api.Components.Schemas[name]
	}
	for name, of := range map[string]string{"CreateRequestOpen": "CreateRequest", "EventOpen": "Event"} {
		open := maps.Clone(api.Components.Schemas[of].(map[string]any))
		delete(open, "additionalProperties")
		defs[name] = open
	}
	want, err := json.MarshalIndent(schema, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *update {
		require.NoError(t, os.WriteFile(schemaFile, want, 0o644))
		return
	}
	require.True(t, bytes.Equal(want, committed), "the API's description changed: go test ./internal/gateway -run SchemaSays -update")
}

// withAllTheyNeed gives the names of the schemas and of those that they refer to.
func withAllTheyNeed(schemas map[string]any, names ...string) []string {
	for i := 0; i < len(names); i++ {
		text, _ := json.Marshal(schemas[names[i]])
		for _, m := range regexp.MustCompile(`"#/\$defs/(\w+)"`).FindAllSubmatch(text, -1) {
			if name := string(m[1]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Every method and every event has its schema, and nothing else has.
func TestSchemaIsComplete(t *testing.T) {
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	text, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &schema))
	var described, want []string
	for name := range schema.Defs {
		if strings.Contains(name, ".") {
			described = append(described, name)
		}
		compiled()("/$defs/" + name)
	}
	for _, m := range methodNames() {
		if !strings.Contains(m, ".") {
			continue // connect's defs have one dot of their own
		}
		want = append(want, m+".params", m+".result")
	}
	want = append(want, "connect.params", "connect.result")
	for _, e := range eventNames {
		want = append(want, e+".event")
	}
	slices.Sort(described)
	slices.Sort(want)
	require.Equal(t, want, described)
}
