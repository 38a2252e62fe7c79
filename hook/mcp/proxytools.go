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
}

// annotations are what the server declares of a tool; nil: nothing.
type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`
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
	return out
}

// takesSchema reports whether the desk takes a schema: no more than so many bytes, and
// not nested deeper than so far.
func takesSchema(schema jsontext.Value) bool {
	if len(schema) > maxSchema || schema.Kind() != '{' {
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

// definition gives what the server says of a tool, as the client last saw it. Where it
// has not seen it, or the server says that its tools have changed, the server is asked.
func (x *relay) definition(ctx context.Context, name string) (definition, bool, error) {
	x.mu.Lock()
	def, known := x.tools[name]
	fresh := known && !x.stale
	x.mu.Unlock()
	if fresh {
		return def, true, nil
	}
	if err := x.relist(ctx); err != nil {
		return definition{}, false, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	def, known = x.tools[name]
	return def, known, nil
}

// relist asks the server for its tools.
func (x *relay) relist(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	x.mu.Lock()
	x.stale = false
	x.mu.Unlock()
	all, params := map[string]definition{}, `{}`
	for range maxPages {
		res, err := x.roundTrip(ctx, listTools, []byte(params))
		if err != nil {
			return x.staleAgain(err)
		}
		page, err := readPage(res.Result)
		if err != nil {
			return x.staleAgain(err)
		}
		for _, t := range page.Tools {
			if _, twice := all[t.Name]; !twice {
				all[t.Name] = t.definition
			}
		}
		if page.Next == "" {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.tools = all
			return nil
		}
		params = object("cursor", page.Next)
	}
	return x.staleAgain(fmt.Errorf("its list of tools has more than %d pages", maxPages))
}

func (x *relay) staleAgain(err error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.stale = true
	return err
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
		Other members          `json:",unknown"`
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

// listed carries an answer to the client's tools/list, without the tools that the desk
// would refuse whatever the call.
func (x *relay) listed(ctx context.Context, m *jsonrpc.Response) {
	in, err := readPage(m.Result)
	if err != nil {
		x.answer(ctx, failure(m.ID, "the MCP server's answer is not passed on: "+err.Error()))
		return
	}
	kept, err := x.allowed(ctx, in.Tools)
	if err != nil {
		const why = "its tools are not shown: the approval desk did not say which may be used: "
		x.answer(ctx, failure(m.ID, why+err.Error()))
		return
	}
	x.mu.Lock()
	for _, t := range kept {
		x.tools[t.Name] = t.definition
	}
	x.mu.Unlock()
	out := in.other
	if out == nil {
		out = members{}
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
		x.answer(ctx, failure(m.ID, "the list of tools could not be written"))
		return
	}
	x.answer(ctx, &jsonrpc.Response{ID: m.ID, Result: result})
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
