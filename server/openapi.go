package server

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"approvalbot/api"
	"approvalbot/core"
)

const schemas = "#/components/schemas/"

// openAPI writes the OpenAPI 3.1 description of the routes.
func openAPI(routes []route, version string) ([]byte, error) {
	return json.MarshalIndent(description(routes, version), "", "  ")
}

func description(routes []route, version string) *huma.OpenAPI {
	registry := huma.NewMapRegistry(schemas, huma.DefaultSchemaNamer)
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{Title: "approvalbot", Version: cmp.Or(version, "dev"),
			Description: "Approvals for the tool calls of programs. Times are Unix milliseconds; an empty body is {}; a body is at most 256 KiB."},
		Servers: []*huma.Server{{URL: "/"}},
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "An API token. Its scopes come from the configuration."}}},
	}
	for _, rt := range routes {
		doc.AddOperation(rt.operation(registry))
	}
	doc.AddOperation(gatewayOperation(registry))
	sharpen(registry)
	return doc
}

// gatewayOperation is where WebSockets connect. What is said there is no HTTP.
func gatewayOperation(registry huma.Registry) *huma.Operation {
	op := &huma.Operation{
		OperationID: "gateway", Method: http.MethodGet, Path: "/v1/gateway",
		Summary:   "The gateway: a WebSocket, on which the first request, connect, carries the token.",
		Responses: map[string]*huma.Response{"101": {Description: http.StatusText(http.StatusSwitchingProtocols)}}, Security: []map[string][]string{},
	}
	for _, c := range []core.Code{core.CodeForbidden, codeUpgradeRequired, core.CodeUnavailable} {
		op.Responses[strconv.Itoa(statusOf[c])] = &huma.Response{Description: string(c), Content: content(registry, reflect.TypeFor[api.Problem](), problemJSON[0])}
	}
	return op
}

func (rt route) operation(registry huma.Registry) *huma.Operation {
	op := &huma.Operation{
		OperationID: rt.name, Method: rt.method, Path: rt.path, Summary: rt.summary,
		Responses: map[string]*huma.Response{}, Security: []map[string][]string{},
	}
	for _, s := range rt.scopes { // any one of them will do
		op.Security = append(op.Security, map[string][]string{"bearer": {string(s)}})
	}
	if strings.Contains(rt.path, "{id}") {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "id", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if strings.Contains(rt.path, "{sessionKey}") {
		op.Parameters = append(op.Parameters, &huma.Param{Name: "sessionKey", In: "path", Required: true, Description: "One segment of the path: a slash in it is %2F, and . and .. are %2E and %2E%2E.", Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, p := range rt.query {
		s := &huma.Schema{Type: p.kind}
		for _, e := range p.enum {
			s.Enum = append(s.Enum, e)
		}
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: "query", Description: p.doc, Schema: s})
	}
	if rt.in != nil {
		op.RequestBody = &huma.RequestBody{Content: content(registry, rt.in, "application/json")}
	}
	for _, status := range rt.status {
		r := &huma.Response{Description: http.StatusText(status)}
		if rt.out != nil {
			kind := "application/json"
			if rt.stream != nil {
				kind = "text/event-stream" // the schema is of one event's data
			}
			r.Content = content(registry, rt.out, kind)
		}
		op.Responses[strconv.Itoa(status)] = r
	}
	rt.describeRefusals(op, registry)
	return op
}

// describeRefusals adds the problems that a route can answer, by status.
func (rt route) describeRefusals(op *huma.Operation, registry huma.Registry) {
	if rt.raw != nil {
		return
	}
	codes := append([]core.Code{core.CodeUnauthorized, core.CodeForbidden, core.CodeInvalidRequest, core.CodeMalformed,
		core.CodeRateLimited, core.CodeUnavailable}, rt.codes...)
	if rt.in != nil {
		codes = append(codes, core.CodePayloadTooLarge)
	}
	byStatus := map[int][]string{}
	for _, c := range codes {
		byStatus[statusOf[c]] = append(byStatus[statusOf[c]], string(c))
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		slices.Sort(byStatus[status])
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(byStatus[status], ", "),
			Content:     content(registry, reflect.TypeFor[api.Problem](), problemJSON[0]),
		}
	}
}

func content(registry huma.Registry, t reflect.Type, kind string) map[string]*huma.MediaType {
	return map[string]*huma.MediaType{kind: {Schema: registry.Schema(t, true, "")}}
}

// sharpen says what Go types cannot: raw params are objects, null is one of the
// words of a nullable enum, arrays are never null, and a requester may be null.
func sharpen(registry huma.Registry) {
	for name, s := range registry.Map() {
		for field, p := range s.Properties {
			switch {
			case field == "params":
				p.Type, p.AdditionalProperties = huma.TypeObject, true
			case p.Nullable && p.Type == huma.TypeArray:
				p.Nullable = false
			case p.Nullable && len(p.Enum) > 0:
				p.Enum = append(p.Enum, nil)
			case name == "Approval" && field == "requester", name == "GrantPreview" && field == "grant":
				s.Properties[field] = &huma.Schema{Description: p.Description,
					AnyOf: []*huma.Schema{{Ref: p.Ref}, {Type: "null"}}}
			}
		}
	}
}
