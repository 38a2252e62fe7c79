package server

import (
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

const golden = "testdata/openapi.json"

func TestOpenAPIGolden(t *testing.T) {
	d := newDesk(t)
	got := d.do("GET", "/openapi.json", "", "")
	require.Equal(t, "application/json", got.Header.Get("Content-Type"))
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got.text+"\n"), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	lines, is := strings.Split(string(want), "\n"), strings.Split(got.text+"\n", "\n")
	for i := range min(len(lines), len(is)) {
		require.Equal(t, lines[i], is[i], "line %d: the API changed; if it was meant to: go test ./internal/server -run OpenAPIGolden -update", i+1)
	}
	require.Len(t, is, len(lines))
}

// Every line of the routes' table answers in the mux, is in the document, and
// has both its bodies described.
func TestEveryRouteIsDescribed(t *testing.T) {
	d := newDesk(t)
	c := contractOf(d.srv)
	n := 0
	for _, rt := range d.srv.routes() {
		path := strings.NewReplacer("{id}", "some", "{sessionKey}", "some", "{name}", "some", "{runtime}", "codex", "{event}", "PreToolUse").Replace(rt.path)
		op := c.operation(rt.method, path)
		require.NotNil(t, op, rt.path)
		require.Equal(t, rt.name, op.OperationID)
		require.NotEmpty(t, op.Summary)
		require.NotEmpty(t, op.Description)
		require.True(t, slices.ContainsFunc(c.doc.Tags, func(tag *huma.Tag) bool { return tag.Name == op.Tags[0] }), op.Tags)
		for _, status := range rt.status {
			require.Len(t, op.Responses[strconv.Itoa(status)].Content, 1, rt.path)
		}
		require.Equal(t, rt.in != nil, op.RequestBody != nil)
		require.Equal(t, len(rt.scopes), len(op.Security))
		r := d.do(rt.method, path, "", "")
		if rt.hook {
			require.Equal(t, http.StatusNotFound, r.StatusCode, "Codex has no HTTP hooks")
		} else if len(rt.scopes) > 0 {
			require.Equal(t, http.StatusUnauthorized, r.StatusCode, "%s %s", rt.method, rt.path)
			require.Contains(t, op.Responses, "503")
		} else {
			require.Equal(t, 200, r.StatusCode)
		}
		n++
	}
	total := 0
	for _, item := range c.doc.Paths {
		for _, op := range []any{item.Get, item.Post, item.Put, item.Delete, item.Patch} {
			b, _ := json.Marshal(op)
			if string(b) != "null" {
				total++
			}
		}
	}
	require.Equal(t, n+1, total, "and nothing else is but the gateway, which is mounted beside the routes")
}

// A path takes no other method than it has, also where it is mounted beside the routes.
func TestOtherMethods(t *testing.T) {
	d := newDesk(t)
	none := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("answers another method") })
	d.srv.Mount("GET /v1/gateway", none)
	d.srv.Mount("POST /telegram/webhook", none)
	paths := []string{"/telegram/webhook"}
	for path := range contractOf(d.srv).doc.Paths {
		paths = append(paths, strings.NewReplacer("{id}", "some", "{sessionKey}", "some", "{name}", "some").Replace(path))
	}
	h := d.srv.Handler()
	for _, path := range paths {
		for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodOptions, http.MethodTrace} {
			if method == http.MethodPut && strings.HasSuffix(path, "/away") {
				continue
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, nil))
			require.Equal(t, http.StatusMethodNotAllowed, rec.Code, "%s %s", method, path)
			require.NotEmpty(t, rec.Header().Get("Allow"))
		}
	}
}

func TestOpenAPISchemas(t *testing.T) {
	doc := contractOf(newDesk(t).srv).doc
	require.Equal(t, "3.1.0", doc.OpenAPI)
	m := doc.Components.Schemas.Map()
	require.Equal(t, "object", m["CreateRequest"].Properties["params"].Type)
	require.ElementsMatch(t, []string{"toolName", "params"}, m["CreateRequest"].Required)
	require.Equal(t, false, m["CreateRequest"].AdditionalProperties)
	require.Contains(t, m["Approval"].Properties["decision"].Enum, nil)
	require.NotContains(t, m, "Token")
}
