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
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/platform"
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
			Description: "Approvals for the tool calls of programs. Times are Unix milliseconds; an empty body " +
				"is {}; a body is at most 256 KiB unless its operation names another size.",
			Contact: &huma.Contact{Name: "The approvalbot project"},
			License: &huma.License{Name: "MIT", Identifier: "MIT"}},
		Servers: []*huma.Server{{URL: "/"}},
		Tags:    tags,
		Components: &huma.Components{Schemas: registry, SecuritySchemes: map[string]*huma.SecurityScheme{
			"bearer": {Type: "http", Scheme: "bearer", Description: "An API token. Its scopes come from the " +
				"configuration."}}},
	}
	for _, rt := range routes {
		doc.AddOperation(rt.operation(registry))
	}
	doc.AddOperation(gatewayOperation(registry))
	sharpen(registry)
	return doc
}

const gatewayPath = "/v1/gateway"

// tags are the parts of the API.
var tags = []*huma.Tag{
	{Name: "approvals", Description: "Ask, wait, decide, claim, report."},
	{Name: "policy", Description: "What would be asked, and by what rules."},
	{Name: "grants", Description: "Grants and cool-downs."},
	{Name: "events", Description: "What happens, as it happens."},
	{Name: "hooks", Description: "Agent runtimes ask in their own words."},
	{Name: "messages", Description: "Approvals for agents whose state is a list of chat messages."},
	{Name: "callbacks", Description: "Calls back to owners."},
	{Name: "audit", Description: "The log, and keys to check it and receipts with."},
	{Name: "gateway", Description: "WebSockets of existing gateway clients."},
	{Name: "service", Description: "Is it well? Without a token."},
}

// tagOf is the part of the API that a path belongs to.
func tagOf(path string) string {
	section, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	switch section {
	case "": // of a path outside /v1/
		section, _, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if section == "hooks" {
			return section
		}
	case "approvals", "policy", "grants", "events", "messages", "callbacks", "audit", "gateway":
		return section
	case "evaluate", "tools":
		return "policy"
	case "sessions":
		return "grants"
	}
	if strings.HasPrefix(path, "/.well-known/") {
		return "audit"
	}
	return "service"
}

// inPath are the parameters in paths.
var inPath = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"id": "The id of what the path names. For operators an approval's code, or the prefix of a server's " +
			"id, too.",
		"name":    "The person's name, as the configuration has it.",
		"runtime": "The agent runtime: " + strings.Join(hookRuntimes(), ", ") + ".",
		"event":   "The hook's event as the runtime spells it: letter case counts.",
		"sessionKey": "As it was given with the request. It is one segment of the path: a slash in it is %2F, and . " +
			"and .. are %2E and %2E%2E.",
	}
})

func firstSentence(s string) string {
	first, _, more := strings.Cut(s, ". ")
	if more {
		return first + "."
	}
	return s
}

// gatewayOperation is the path at which WebSockets connect. What follows is not
// HTTP.
func gatewayOperation(registry huma.Registry) *huma.Operation {
	op := &huma.Operation{
		OperationID: "gateway", Method: http.MethodGet, Path: gatewayPath, Tags: []string{tagOf(gatewayPath)},
		Summary:     "The gateway: a WebSocket, on which the first request, connect, carries the token.",
		Description: "Existing gateway clients connect here. Its methods and events have a schema of their own.",
		Responses: map[string]*huma.Response{
			"101": {Description: http.StatusText(http.StatusSwitchingProtocols)}},
		Security: []map[string][]string{},
	}
	for _, c := range []approval.Code{approval.CodeForbidden, codeMethodNotAllowed, codeUpgradeRequired, approval.CodeUnavailable} {
		op.Responses[strconv.Itoa(statusOf()[c])] = &huma.Response{Description: string(c),
			Content: content(registry, problemJSON[0], reflect.TypeFor[api.Problem]())}
	}
	return op
}

func (rt route) operation(registry huma.Registry) *huma.Operation {
	op := &huma.Operation{
		OperationID: rt.name, Method: rt.method, Path: rt.path, Tags: []string{tagOf(rt.path)},
		Summary: firstSentence(rt.summary), Description: rt.summary,
		Responses: map[string]*huma.Response{}, Security: []map[string][]string{},
	}
	for _, s := range rt.scopes { // any one of them will do; OpenAPI 3.1 has such names for bearer tokens too, as roles
		op.Security = append(op.Security, map[string][]string{"bearer": {string(s)}})
	}
	for _, name := range slices.Sorted(maps.Keys(inPath())) {
		doc := inPath()[name]
		if strings.Contains(rt.path, "{"+name+"}") {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "path", Required: true,
				Description: doc, Schema: &huma.Schema{Type: huma.TypeString}})
		}
	}
	for _, p := range rt.query {
		s := &huma.Schema{Type: p.kind}
		for _, e := range p.enum {
			s.Enum = append(s.Enum, e)
		}
		op.Parameters = append(op.Parameters, &huma.Param{Name: p.name, In: "query",
			Description: cmp.Or(p.doc, "Only those."), Schema: s})
	}
	if rt.in != nil {
		op.RequestBody = &huma.RequestBody{Content: content(registry, "application/json", rt.in, rt.ins)}
	}
	for _, status := range rt.status {
		r := &huma.Response{Description: http.StatusText(status)}
		if rt.out != nil {
			r.Content = content(registry, cmp.Or(rt.media, "application/json"), rt.out, rt.outs)
		}
		op.Responses[strconv.Itoa(status)] = r
	}
	rt.describeRefusals(op, registry)
	return op
}

// describeRefusals adds the problems that a route can answer, by status.
func (rt route) describeRefusals(op *huma.Operation, registry huma.Registry) {
	codes := append([]approval.Code{codeMethodNotAllowed}, rt.codes...) // all that can go wrong without a token and a body
	if rt.raw == nil && !rt.hook {
		codes = append([]approval.Code{approval.CodeUnauthorized, approval.CodeForbidden, approval.CodeInvalidRequest,
			approval.CodeMalformed,
			approval.CodeRateLimited, approval.CodeUnavailable, approval.CodePayloadTooLarge}, rt.codes...)
	}
	byStatus := map[int][]string{}
	for _, c := range codes {
		byStatus[statusOf()[c]] = append(byStatus[statusOf()[c]], string(c))
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		slices.Sort(byStatus[status])
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: strings.Join(byStatus[status], ", "),
			Content:     content(registry, problemJSON[0], reflect.TypeFor[api.Problem]()),
		}
	}
}

// content is a body of one of those types; nil types are skipped.
func content(registry huma.Registry, kind string, types ...reflect.Type) map[string]*huma.MediaType {
	var list []*huma.Schema
	for _, t := range types {
		if t != nil {
			list = append(list, registry.Schema(t, true, ""))
		}
	}
	if len(list) == 1 {
		return map[string]*huma.MediaType{kind: {Schema: list[0]}}
	}
	return map[string]*huma.MediaType{kind: {Schema: &huma.Schema{AnyOf: list}}}
}

// sharpen adds what Go types cannot express: raw params are objects, null is
// one of the words of a nullable enum, arrays are never null, and a requester
// may be null.
func sharpen(registry huma.Registry) {
	delete(registry.Map(), "Judged") // it is one of two types, and no other member uses it
	registry.Map()["Evaluations"].Properties["results"].Items = &huma.Schema{
		AnyOf: []*huma.Schema{{Ref: schemas + "Evaluation"}, {Ref: schemas + "Problem"}}}
	for name, s := range registry.Map() {
		for field, p := range s.Properties {
			switch {
			case field == "params":
				p.Type, p.AdditionalProperties = huma.TypeObject, true
			case field == "channel" && (name == "Target" || name == "PairingWho"):
				for _, platform := range platform.Names() {
					p.Enum = append(p.Enum, platform)
				}
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
