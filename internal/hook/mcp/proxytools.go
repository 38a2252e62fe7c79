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

	"github.com/go-json-experiment/json"
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
	maxListed   = 16 << 20 // bytes of the proxy's own listing, and of what is kept of the client's
	maxKnown    = 4096     // tools of its own listing

	maxSchema      = 64 << 10 // bytes that the desk takes
	maxSchemaDepth = 64
)

// definition is the server's description of one tool.
type definition struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"inputSchema"`
	Annotations annotations    `json:"annotations"`
	Other       members        `json:",embed"`

	all jsontext.Value // of it, in canonical form (RFC 8785)
}

// annotations are what the server declares of a tool; nil if it declares none of them.
type annotations struct {
	ReadOnly    *bool `json:"readOnlyHint"`
	Destructive *bool `json:"destructiveHint"`
	Idempotent  *bool `json:"idempotentHint"`
	OpenWorld   *bool `json:"openWorldHint"`

	Other members `json:",embed"`
}

// readDefinition reads what the server wrote of a tool.
func readDefinition(raw jsontext.Value) (d definition, err error) {
	if err = strict(raw, &d); err != nil {
		return d, err
	}
	d.all = canonical(raw)
	return d, nil
}

// canonical is v as JSON in its canonical form, which has one order of members.
func canonical(v any) jsontext.Value {
	out := value(v)
	_ = out.Canonicalize() // a value without that form is kept as written
	return out
}

func (d definition) is(o definition) bool { return bytes.Equal(d.all, o.all) }

// factsOf are the facts of a tool of which these things were said, as the desk takes them: no
// single one of them can make a call milder. If the desk has no place for something, a digest of
// all of it is in a member that no server can write.
func factsOf(all []definition, server string) *api.Tool {
	d := all[0]
	hints := d.Annotations
	out := &api.Tool{
		Server: server, Schema: stdjson.RawMessage(d.Schema), Description: d.Description,
		Hints: &api.ToolHints{ReadOnly: hints.ReadOnly, Destructive: hints.Destructive,
			Idempotent: hints.Idempotent, OpenWorld: hints.OpenWorld},
	}
	if len(all) > 1 {
		texts, yes := []string{}, true
		out.Schema, out.Hints = nil, &api.ToolHints{}
		for _, d := range all {
			texts = append(texts, d.Description)
			if hint := d.Annotations.Destructive; hint != nil && *hint {
				out.Hints.Destructive = &yes
			}
		}
		out.Description = "The server describes it in several ways: " + strings.Join(texts, " | ")
	}
	if len(all) > 1 || len(out.Description) > maxWords || !takesSchema(d.Schema) ||
		len(d.Other)+len(d.Annotations.Other) > 0 {
		out.Digest = digestOf(all)
	}
	if !takesSchema(d.Schema) {
		out.Schema = nil
	}
	out.Description = clipped(out.Description, maxWords)
	return out
}

// takesSchema reports whether the desk takes a schema: an object of no more than so many bytes, not
// nested deeper than so far.
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

// digestOf is the SHA-256 of an array of these definitions in canonical form, in one order.
func digestOf(all []definition) string {
	texts := make([]jsontext.Value, len(all))
	for i, d := range all {
		texts[i] = d.all
	}
	slices.SortFunc(texts, func(a, b jsontext.Value) int { return bytes.Compare(a, b) })
	return hashOf(canonical(texts))
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// clipped is a text of no more than so many bytes.
func clipped(s string, most int) string {
	const mark = " …"
	if len(s) <= most {
		return s
	}
	cut := s[:most-len(mark)]
	for len(cut) > 0 && s[len(cut)]&0xC0 == 0x80 { // in the middle of a character
		cut = cut[:len(cut)-1]
	}
	return cut + mark
}

// shown is what the client was given of a tool.
type shown struct {
	listing int
	as      []definition // the newest: several if one listing gave several
	at      int          // the last gift of one of these
	other   int          // the last gift of something else; 0 if it never was
	handed  bool         // a call of the tool was handed out on this connection
	forgot  int          // gifts up to this one were made before such a call was asked for
}

// otherwise reports whether the client may understand the tool differently than as: it was
// given another definition since, or was given no definition.
func (s shown) otherwise() bool {
	return s.other > s.forgot || len(s.as) == 0 && !s.handed
}

// facts gives the server's descriptions of a tool: the one that the client was last given, and the
// one that the proxy got if it asked. The proxy asks if the client was not given the tool, if the
// server reports changed tools, and after each listing once it has asked: an answer to one of the
// two is not trusted for the other. gift is the last that the client was given.
func (x *relay) facts(ctx context.Context, name string) (_ *api.Tool, gift int, _ error) {
	if err := x.relist(ctx, name); err != nil {
		return nil, 0, fmt.Errorf("not allowed: the MCP server's list of tools cannot be read: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	given := x.shown[name]
	all := slices.Clone(given.as)
	def, known := x.own[name]
	if known {
		all = with(all, def)
	}
	if len(all) == 0 || !known && x.own != nil || strings.HasPrefix(name, questionName) {
		return nil, 0, errors.New("not allowed: the MCP server lists no tool of that name")
	}
	out := factsOf(all, x.Name)
	out.Otherwise = given.otherwise()
	return out, x.gifts, nil
}

// handed notes that a call was handed out that was asked for after that gift.
func (x *relay) handed(name string, gift int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	is, known := x.shown[name]
	if !known {
		is.other = x.forgotten // while the call waited
	}
	is.handed, is.forgot = true, max(is.forgot, gift)
	x.shown[name] = is
}

// with adds a definition to others, if it differs from them.
func with(all []definition, d definition) []definition {
	if slices.ContainsFunc(all, d.is) {
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

// ownList is one listing of the proxy's own. Each call that needs one waits for the same.
type ownList struct {
	changes int // of the relay when it began
	done    chan struct{}
	err     error // once it is done
}

// relist has the server asked for its tools if what it said is not known to count still.
func (x *relay) relist(ctx context.Context, name string) error {
	x.mu.Lock()
	_, told := x.own[name]
	needed, since := x.told != x.changes || !told && len(x.shown[name].as) == 0, x.changes
	x.mu.Unlock()
	for needed {
		x.mu.Lock()
		l := x.asking
		if l == nil {
			l = &ownList{changes: x.changes, done: make(chan struct{})}
			x.asking = l
			identity := x.lastMeta
			x.do(func() { x.listOwn(l, identity) })
		}
		x.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if l.changes >= since { // else it began before a change that the call came after
			return l.err
		}
	}
	return nil
}

// listOwn asks the server for its tools.
func (x *relay) listOwn(l *ownList, identity members) {
	ctx, cancel := context.WithTimeout(x.ctx, listTime)
	defer cancel()
	all, err := x.everyPage(ctx, identity)
	x.mu.Lock()
	defer x.mu.Unlock()
	if err == nil {
		x.own, x.told = all, l.changes
	}
	x.asking, l.err = nil, err
	close(l.done)
}

// everyPage gives the server's tools.
func (x *relay) everyPage(ctx context.Context, identity members) (map[string]definition, error) {
	all, cursor, size := map[string]definition{}, jsontext.Value(nil), 0
	for range maxPages {
		res, err := x.roundTrip(ctx, listTools, listParams(cursor, identity), nil)
		if err == nil {
			err = res.Error
		}
		if err != nil {
			return nil, err
		}
		page, err := readPage(res.Result)
		if err != nil {
			return nil, err
		}
		for _, t := range page.Tools {
			if _, twice := all[t.Name]; !twice {
				all[t.Name] = t.definition
			}
		}
		if size += len(res.Result); size > maxListed || len(all) > maxKnown {
			return nil, fmt.Errorf("its list of tools has more than %d bytes or %d tools", maxListed, maxKnown)
		}
		if page.Next == "" {
			return all, nil
		}
		cursor = value(page.Next)
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
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
	out, bad := page{other: members{}}, errors.New("its list of tools cannot be read")
	lax := jsontext.AllowDuplicateNames(true) // a tool with a repeated member is left out
	d := jsontext.NewDecoder(bytes.NewReader(raw), lax)
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return page{}, bad
	}
	seen, tools := map[string]bool{}, []jsontext.Value(nil)
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil || seen[t.String()] {
			return page{}, bad
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return page{}, bad
		}
		v, seen[name] = v.Clone(), true
		switch name {
		case "tools":
			err = json.Unmarshal(v, &tools, lax)
		case "nextCursor":
			err = strict(v, &out.Next)
		default:
			var any any
			err = strict(v, &any)
			out.other[name] = v
		}
		if err != nil {
			return page{}, bad
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return page{}, bad
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return page{}, bad
	}
	for _, t := range tools {
		if d, err := readDefinition(t); err == nil {
			out.Tools = append(out.Tools, listedTool{d, t})
		}
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
// for any call.
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

// shows notes the tools that the client is given. If they are too many it forgets the others: a
// tool that the client is not known to have asks.
func (x *relay) shows(tools []listedTool, listing int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.own != nil {
		x.changes++
	}
	x.gifts++
	kept := 0
	for _, is := range x.shown {
		for _, d := range is.as {
			kept += len(d.all)
		}
	}
	for _, t := range tools {
		kept += len(t.all)
	}
	if kept > maxListed || len(x.shown)+len(tools) > 2*maxKnown {
		x.shown, x.forgotten = map[string]shown{}, x.gifts
	}
	for _, t := range tools {
		is, known := x.shown[t.Name]
		if !known {
			is.other = x.forgotten
		}
		x.shown[t.Name] = is.given(t.definition, listing, x.gifts)
	}
}

// given is what the client was given of a tool once a listing gives d.
func (s shown) given(d definition, listing, gift int) shown {
	if s.listing < listing {
		if len(s.as) > 0 && (len(s.as) > 1 || !s.as[0].is(d)) {
			s.other = s.at
		}
		s.listing, s.as = listing, nil
	}
	s.as, s.at = with(slices.Clone(s.as), d), gift
	return s
}

// allowed gives the tools that the hard layers leave, each name once.
func (x *relay) allowed(ctx context.Context, tools []listedTool) ([]listedTool, error) {
	byName, kept, seen := map[string]bool{}, []listedTool(nil), map[string]bool{}
	var names []string
	for _, t := range tools {
		if !seen[t.Name] && nameable(x.named(t.Name)) && !strings.HasPrefix(t.Name, questionName) {
			seen[t.Name] = true
			names = append(names, x.named(t.Name))
		}
	}
	if len(names) > maxKnown {
		return nil, fmt.Errorf("a page of the list of tools has more than %d", maxKnown)
	}
	clear(seen)
	for len(names) > 0 {
		n := min(len(names), maxTools)
		if x.Desk.Fault != nil || x.Desk.Client == nil {
			return nil, errors.New("no approval desk is configured")
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
