package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"approvalbot/internal/approval"
)

const referenceHead = "# Routes and types of the HTTP API\n\nFrom the OpenAPI description, which every desk has at `/openapi.json`; docs/api.md says how they are used.\n"

// usual are the refusals of every route that needs a token, and of other methods. docs/api.md
// says so once.
func usual() []approval.Code {
	return []approval.Code{approval.CodeMalformed, approval.CodeUnauthorized, approval.CodeForbidden, approval.CodeInvalidRequest,
		approval.CodePayloadTooLarge, approval.CodeRateLimited, approval.CodeUnavailable, codeMethodNotAllowed}
}

// Reference is a page of Markdown with each route of the API and each type.
func Reference() string {
	routes := (&Server{}).routes()
	doc := description(routes, "")
	r := &reference{schemas: maps.Clone(doc.Components.Schemas.Map())}
	r.WriteString(referenceHead)
	r.line("## Routes\n\nA name that ends in `?` may be left out.")
	for _, rt := range routes {
		r.route(rt, operationOf(doc, rt))
	}
	r.line("## Types")
	for _, n := range slices.Sorted(maps.Keys(r.schemas)) {
		r.section(n, "###")
	}
	return r.String()
}

// operationOf is what the description has of a route.
func operationOf(doc *huma.OpenAPI, rt route) *huma.Operation {
	item := doc.Paths[rt.path]
	return map[string]*huma.Operation{http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put,
		http.MethodDelete: item.Delete, http.MethodPatch: item.Patch}[rt.method]
}

// reference is the page while it is written.
type reference struct {
	strings.Builder
	schemas map[string]*huma.Schema // those that have no section yet
}

func (r *reference) line(format string, args ...any) { fmt.Fprintf(r, "\n"+format+"\n", args...) }

func (r *reference) route(rt route, op *huma.Operation) {
	who := "anybody, without a token"
	if len(rt.scopes) > 0 {
		who = "a token with `" + strings.ReplaceAll(scopeWords(rt.scopes), " or ", "` or `") + "`"
	}
	r.line("### %s %s\n\n%s\n\nWho: %s.", rt.method, rt.path, op.Description, who)
	if len(rt.query) > 0 {
		r.WriteString("\n| query parameter | type | what |\n|---|---|---|\n")
	}
	for _, p := range op.Parameters {
		if p.In == "query" {
			r.row(p.Name, false, p.Schema, cmp.Or(p.Description, "Only those."))
		}
	}
	if op.RequestBody == nil {
		r.answers(op)
		return
	}
	body := op.RequestBody.Content["application/json"].Schema
	r.line("Body: %s.", kind(body))
	r.answers(op)
	for _, s := range append(body.AnyOf, body) {
		r.section(strings.TrimPrefix(s.Ref, schemas), "####")
	}
}

// answers lists what a route answers: its bodies, and the refusals of its own.
func (r *reference) answers(op *huma.Operation) {
	var good, bad []string
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		res := op.Responses[status]
		if res.Content["application/problem+json"] != nil {
			codes := slices.DeleteFunc(strings.Split(res.Description, ", "), func(c string) bool { return slices.Contains(usual(), approval.Code(c)) })
			if len(codes) > 0 {
				bad = append(bad, status+" `"+strings.Join(codes, "` `")+"`")
			}
			continue
		}
		text := "`" + status + "`"
		for mime, media := range res.Content {
			text += " " + kind(media.Schema) + strings.TrimSuffix(" as `"+mime+"`", " as `application/json`")
		}
		good = append(good, text)
	}
	r.line("Answers: %s.", strings.Join(good, ", "))
	if len(bad) > 0 {
		r.line("Refusals of its own: %s.", strings.Join(bad, " · "))
	}
}

func (r *reference) section(n, level string) {
	s := r.schemas[n]
	if s == nil || len(s.Properties) == 0 {
		return
	}
	delete(r.schemas, n)
	r.line("%s %s\n\n| field | type | what |\n|---|---|---|", level, n)
	for _, f := range s.Required {
		r.row(f, true, s.Properties[f], s.Properties[f].Description)
	}
	for _, f := range slices.Sorted(maps.Keys(s.Properties)) {
		if !slices.Contains(s.Required, f) {
			r.row(f, false, s.Properties[f], s.Properties[f].Description)
		}
	}
}

func (r *reference) row(name string, needed bool, s *huma.Schema, what string) {
	if !needed {
		name += "?"
	}
	fmt.Fprintf(r, "| `%s` | %s | %s |\n", name, kind(s), strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(what))
}

// kind says a type in words.
func kind(s *huma.Schema) string {
	values, isMap := s.AdditionalProperties.(*huma.Schema)
	words := "any JSON"
	switch {
	case s.Ref != "":
		n := strings.TrimPrefix(s.Ref, schemas)
		words = strings.ReplaceAll("["+n+"](#"+strings.ToLower(n)+")", "[Empty](#empty)", "`{}`")
	case len(s.AnyOf) > 0:
		words = kind(s.AnyOf[0]) + " or " + kind(s.AnyOf[1])
	case s.Type == huma.TypeArray:
		words = "list of " + kind(s.Items)
	case isMap:
		words = "object of " + kind(values)
	case len(s.Enum) > 0:
		list := slices.DeleteFunc(slices.Clone(s.Enum), func(e any) bool { return e == nil })
		words = "`" + strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", "` `"), "[]") + "`"
	case s.MaxLength != nil:
		words = fmt.Sprintf("%s, at most %d bytes", s.Type, *s.MaxLength)
	case s.Type != "":
		words = s.Type
	}
	if s.Nullable {
		words += " or null"
	}
	return words
}
