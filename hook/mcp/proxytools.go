package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"approvalbot/api"
)

const (
	listTime    = 30 * time.Second // for the server to list its tools
	maxPages    = 100
	maxTools    = 1000 // that the desk takes in one question
	maxWords    = 4000 // bytes of a description that the desk takes
	maxToolName = 128

	maxSchema      = 64 << 10 // bytes that the desk takes
	maxSchemaDepth = 64
)

// definition is what the server says of one tool.
type definition struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"inputSchema"`
	Annotations annotations    `json:"annotations"`
	Other       members        `json:",embed"`
}

// annotations are what the server declares of a tool; nil: nothing.
type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`

	Other members `json:",embed"`
}

// also names by a hash what the desk has no place for: a title, a schema of the output, icons. It
// is empty if there is nothing of that kind.
func (d definition) also() string {
	if len(d.Other)+len(d.Annotations.Other) == 0 {
		return ""
	}
	return hashOf(value([]members{d.Other, d.Annotations.Other}))
}

// facts are what the server says of the tool, as the desk takes it. What is too long
// for it is named by its hash, so that another end is another description.
func (d definition) facts(server string) *api.Tool {
	hints := d.Annotations
	out := &api.Tool{
		Server: server, Schema: stdjson.RawMessage(d.Schema),
		Description: clipped(strings.ToValidUTF8(d.Description, "?"), maxWords),
		Hints: &api.ToolHints{ReadOnly: hints.ReadOnly, Destructive: hints.Destructive,
			Idempotent: hints.Idempotent, OpenWorld: hints.OpenWorld},
	}
	if !takesSchema(d.Schema) {
		out.Schema = stdjson.RawMessage(object("$comment", "too large to be shown; SHA-256 "+hashOf(d.Schema)))
	}
	if also := d.also(); also != "" {
		schema := members{}
		_ = strict(out.Schema, &schema) // it is an object
		schema["approvalbot/also"] = value(also)
		out.Schema = stdjson.RawMessage(value(schema))
	}
	return out
}

// factsOf are the facts of a tool of which several things were said: nothing that one of them says
// makes a call milder, and each of them is in what the desk compares. unseen: the client was not
// given the tool by this proxy.
func factsOf(all []definition, server string, unseen bool) *api.Tool {
	out := all[0].facts(server)
	if len(all) > 1 {
		texts, yes := []string{}, true
		out.Hints = &api.ToolHints{}
		for _, d := range all {
			texts = append(texts, d.Description)
			if hint := d.Annotations.Destructive; hint != nil && *hint {
				out.Hints.Destructive = &yes
			}
		}
		out.Schema = stdjson.RawMessage(object("$comment", "SHA-256 of all that was said "+hashOf(value(all))))
		out.Description = clipped(strings.ToValidUTF8("The server describes it in several ways: "+
			strings.Join(texts, " | "), "?"), maxWords)
	}
	if unseen {
		const note = " (not listed for the client by this proxy)"
		out.Description = clipped(out.Description, maxWords-len(note)) + note
	}
	return out
}

// takesSchema reports whether the desk takes a schema: no more than so many bytes, with room for
// a further member, and not nested deeper than so far.
func takesSchema(schema jsontext.Value) bool {
	if len(schema) > maxSchema-100 || schema.Kind() != '{' {
		return false
	}
	depth, d := 0, jsontext.NewDecoder(bytes.NewReader(schema))
	for {
		if _, err := d.ReadToken(); err != nil {
			return errors.Is(err, io.EOF) && depth <= maxSchemaDepth
		}
		depth = max(depth, d.StackDepth())
	}
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func clipped(s string, most int) string {
	if len(s) <= most {
		return s
	}
	mark := " … (SHA-256 of all of it: " + hashOf([]byte(s)) + ")"
	cut := s[:most-len(mark)]
	for len(cut) > 0 && s[len(cut)]&0xC0 == 0x80 { // in the middle of a character
		cut = cut[:len(cut)-1]
	}
	return cut + mark
}

// shown is a tool as the client was last given it: several definitions if one listing gave several.
type shown struct {
	listing int
	as      []definition
}

// facts gives what the server says of a tool: what the client was last given, and what the proxy
// was told if it asked. It asks if the client was not given the tool, if the server says that its
// tools have changed, and after each listing once it has asked: an answer to one of the two is not
// believed for the other.
func (x *relay) facts(ctx context.Context, name string) (*api.Tool, error) {
	x.mu.Lock()
	_, told := x.own[name]
	relist := x.told != x.changes || !told && len(x.shown[name].as) == 0
	x.mu.Unlock()
	if relist {
		if err := x.relist(ctx); err != nil {
			return nil, fmt.Errorf("not allowed: the MCP server does not say what its tools are: %w", err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	given := x.shown[name].as
	all := slices.Clone(given)
	def, known := x.own[name]
	if known {
		all = with(all, def)
	}
	if len(all) == 0 || !known && x.own != nil {
		return nil, errors.New("not allowed: the MCP server lists no tool of that name")
	}
	return factsOf(all, x.Name, len(given) == 0), nil
}

// with adds a definition to others, if it is another.
func with(all []definition, d definition) []definition {
	if slices.ContainsFunc(all, func(o definition) bool { return bytes.Equal(value(o), value(d)) }) {
		return all
	}
	return append(all, d)
}

// listParams are the params of every tools/list, the client's and the proxy's own.
func listParams(cursor jsontext.Value, identity members) []byte {
	out := members{}
	if cursor.Kind() == '"' {
		out["cursor"] = cursor
	}
	if len(identity) > 0 {
		out["_meta"] = value(identity)
	}
	return value(out)
}

// relist asks the server for its tools.
func (x *relay) relist(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	x.mu.Lock()
	identity, changes := x.lastMeta, x.changes
	x.mu.Unlock()
	all, cursor := map[string]definition{}, jsontext.Value(nil)
	for range maxPages {
		res, err := x.roundTrip(ctx, listTools, listParams(cursor, identity), nil)
		if err == nil {
			err = res.Error
		}
		if err != nil {
			return err
		}
		page, err := readPage(res.Result)
		if err != nil {
			return err
		}
		for _, t := range page.Tools {
			if _, twice := all[t.Name]; !twice {
				all[t.Name] = t.definition
			}
		}
		if page.Next == "" {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.own, x.told = all, changes
			return nil
		}
		cursor = value(page.Next)
	}
	return fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// page is one answer to tools/list.
type page struct {
	Tools []listedTool
	Next  string
	other members
}

// listedTool is a tool, and what the server wrote of it.
type listedTool struct {
	definition
	raw jsontext.Value
}

func readPage(raw []byte) (page, error) {
	var in struct {
		Tools []jsontext.Value `json:"tools"`
		Next  string           `json:"nextCursor"`
		Other members          `json:",embed"`
	}
	if err := strict(raw, &in); err != nil {
		return page{}, errors.New("its list of tools cannot be read")
	}
	out := page{Next: in.Next, other: in.Other}
	for _, t := range in.Tools {
		tool := listedTool{raw: t}
		if err := strict(t, &tool.definition); err != nil {
			return page{}, errors.New("one of its tools cannot be read")
		}
		out.Tools = append(out.Tools, tool)
	}
	return out, nil
}

// begins gives which listing of the client a request for a page of tools belongs to.
func (x *relay) begins(method string, params []byte) int {
	var in struct {
		Cursor jsontext.Value `json:"cursor"`
	}
	_ = strict(params, &in) // outgoing wrote them
	x.mu.Lock()
	defer x.mu.Unlock()
	if method == listTools && len(in.Cursor) == 0 {
		x.listing++
	}
	return x.listing
}

// listed makes the answer to the client's tools/list, without the tools that the desk would refuse
// whatever the call.
func (x *relay) listed(ctx context.Context, m *jsonrpc.Response, listing int, own *pending) *jsonrpc.Response {
	in, err := readPage(m.Result)
	if err != nil {
		return failure(m.ID, "the MCP server's answer is not passed on: "+err.Error())
	}
	kept, err := x.allowed(ctx, in.Tools)
	if err != nil {
		const why = "its tools are not shown: the approval desk did not say which may be used: "
		return failure(m.ID, why+err.Error())
	}
	out := members{}
	for name, v := range in.other { // nor under a name that a client may take for one of these
		if !strings.EqualFold(name, "tools") && !strings.EqualFold(name, "nextCursor") {
			out[name] = v
		}
	}
	tools := make([]jsontext.Value, len(kept))
	for i, t := range kept {
		tools[i] = t.raw
	}
	out["tools"] = value(tools)
	if in.Next != "" {
		out["nextCursor"] = value(in.Next)
	}
	result, err := encode(out)
	if err != nil {
		return failure(m.ID, "the list of tools could not be written")
	}
	own.shows = func() { x.shows(kept, listing) }
	return &jsonrpc.Response{Result: result}
}

// shows notes the tools that the client is given.
func (x *relay) shows(tools []listedTool, listing int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.own != nil {
		x.changes++
	}
	for _, t := range tools {
		was := x.shown[t.Name]
		if was.listing < listing {
			was = shown{listing: listing}
		}
		was.as = with(slices.Clone(was.as), t.definition)
		x.shown[t.Name] = was
	}
}

// allowed gives the tools that the hard layers leave, each name once.
func (x *relay) allowed(ctx context.Context, tools []listedTool) ([]listedTool, error) {
	byName, kept, seen := map[string]bool{}, []listedTool(nil), map[string]bool{}
	var names []string
	for _, t := range tools {
		if nameable(x.named(t.Name)) {
			names = append(names, x.named(t.Name))
		}
	}
	for len(names) > 0 {
		n := min(len(names), maxTools)
		if x.Desk.Fault != nil || x.Desk.Client == nil {
			return nil, errors.New("no approval desk is named")
		}
		got, err := x.Desk.Client.Tools(ctx, api.ToolsRequest{Tools: names[:n]})
		if err != nil {
			return nil, err
		}
		for _, name := range got.Allowed {
			byName[name] = true
		}
		names = names[n:]
	}
	for _, t := range tools {
		if byName[x.named(t.Name)] && !seen[t.Name] {
			seen[t.Name] = true
			kept = append(kept, t)
		}
	}
	return kept, nil
}

// nameable reports whether the desk takes a tool's name.
func nameable(name string) bool {
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != ':' && c != '/' && c != '-' {
			return false
		}
	}
	return len(name) <= maxToolName
}
