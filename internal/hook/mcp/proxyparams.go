package mcp

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/hook/ask"
	"approvalbot/internal/lazy"
)

// beside is the member of a call's params, as the desk is asked for it, in which the proxy puts
// what reaches the server beside the tool's arguments. Policy has a person asked about each call
// with a member of this name (policy/tool).
const beside = "approvalbot/mcp"

// call is a tools/call of the client, before it is asked for.
type call struct {
	name      string
	arguments members
	beside    members // inputResponses, requestState, task
	meta      members
	token     jsontext.Value // the client's, for progress; nil if it wants no progress
}

// readCall reads the params of tools/call. A member that the proxy does not know is an error: it
// may change what the call does, and no person would see it.
func readCall(raw []byte) (call, error) {
	var in struct {
		Name      string         `json:"name"`
		Arguments jsontext.Value `json:"arguments"`
		Meta      members        `json:"_meta"`
		Task      jsontext.Value `json:"task"`
		Responses jsontext.Value `json:"inputResponses"`
		State     jsontext.Value `json:"requestState"`
		Other     members        `json:",embed"`
	}
	if err := strict(raw, &in); err != nil || in.Name == "" {
		return call{}, errors.New("tools/call must have a name, no member twice, and, if it has a _meta, an object " +
			"there")
	}
	if len(in.Other) > 0 {
		name := slices.Sorted(maps.Keys(in.Other))[0]
		return call{}, fmt.Errorf("tools/call has a member %.64q that approvalbot does not know; leave it out", name)
	}
	out := call{name: in.Name, beside: members{}, meta: in.Meta}
	if len(in.Arguments) > 0 && strict(in.Arguments, &out.arguments) != nil {
		return call{}, errors.New("the arguments of tools/call must be an object")
	}
	for name := range out.arguments {
		if strings.EqualFold(name, beside) {
			return call{}, fmt.Errorf("the arguments of tools/call have a member %q, which is approvalbot's own", beside)
		}
	}
	also := members{"task": in.Task, "inputResponses": in.Responses, "requestState": in.State}
	for name, v := range also {
		if len(v) > 0 && v.Kind() != 'n' {
			out.beside[name] = v
		}
	}
	return out, nil
}

// params is what the desk is asked for.
func (c call) params() ([]byte, error) {
	all := maps.Clone(c.arguments)
	if all == nil {
		all = members{}
	}
	if len(c.beside) > 0 {
		given, err := encode(c.beside)
		if err != nil {
			return nil, err
		}
		all[beside] = jsontext.Value(given)
	}
	return encode(all)
}

// claimed takes apart the params that the desk handed out: arguments, and what goes beside them.
func claimed(params []byte) (members, error) {
	arguments, out := members{}, members{}
	if err := strict(params, &arguments); err != nil {
		return nil, err
	}
	if given, ok := arguments[beside]; ok {
		if err := strict(given, &out); err != nil || out == nil {
			return nil, fmt.Errorf("%q is not an object", beside)
		}
		delete(arguments, beside)
	}
	out["arguments"] = value(arguments)
	return out, nil
}

// Members of _meta.
const (
	progressToken = "progressToken"
	approvalMeta  = "approvalbot/approval" // the approval of a call; set by the proxy only

	protocolVersion    = "io.modelcontextprotocol/protocolVersion"
	clientInfo         = "io.modelcontextprotocol/clientInfo"
	clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// plainMeta are the members of _meta that do not affect what a call does, and their form. Free
// text is not among them: W3C's tracestate and baggage are.
var plainMeta = sync.OnceValue(func() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		progressToken: regexp.MustCompile(`^("[A-Za-z0-9._:/+=-]{1,128}"|-?[0-9]{1,16})$`),
		"traceparent": regexp.MustCompile(`^"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"$`),
		"io.modelcontextprotocol/logLevel": regexp.MustCompile(
			`^"(debug|info|notice|warning|error|critical|alert|emergency)"$`),
	}
})

var versionForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"[0-9]{4}-[0-9]{2}-[0-9]{2}"$`) })

// meta is what of a request's _meta reaches the server: plain members, and the client's identity if
// the request has one, as the client first gave it on this connection. The server gets a number of
// the proxy's own as the progress token; own keeps it.
func (x *relay) meta(given members, own *pending) members {
	out := maps.Clone(x.identified(given))
	if out == nil {
		out = members{}
	}
	for name, form := range plainMeta() {
		if v, ok := given[name]; ok && form.Match(v) {
			out[name] = v
		}
	}
	if token, wanted := out[progressToken]; wanted {
		x.mu.Lock()
		x.numbered++
		own.progress, own.token = x.numbered, token
		x.mu.Unlock()
		out[progressToken] = value(own.progress)
	}
	for name := range given {
		if _, kept := out[name]; !kept {
			x.dropped.Do(func() { x.log("dropped members of _meta that approvers are not shown") })
		}
	}
	return out
}

// identified is the client's identity, if the request has one.
func (x *relay) identified(given members) members {
	if !versionForm().Match(given[protocolVersion]) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.identity == nil {
		x.identity = members{}
		if info := plainInfo(given[clientInfo]); len(info) > 0 {
			x.identity[clientInfo] = value(info)
		}
		if can, ok := plainCapabilities(given[clientCapabilities], maxCapabilities); ok {
			x.identity[clientCapabilities] = can
		}
	}
	out := maps.Clone(x.identity)
	out[protocolVersion] = given[protocolVersion] // it takes another if the server refuses one
	return out
}

var infoForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9 ._/()@+-]{1,64}$`) })

// plainInfo are the members by which the client may describe itself.
func plainInfo(raw jsontext.Value) members {
	var in members
	_ = strict(raw, &in) // no member passes of what is not an object
	out := members{}
	for _, name := range []string{"name", "version", "title"} {
		var text string
		if strict(in[name], &text) == nil && infoForm().MatchString(text) {
			out[name] = value(text)
		}
	}
	return out
}

var versionWord = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"[A-Za-z0-9.-]{1,32}"$`) })

// initParams are the params of initialize: who the client is, in the same bounds as in _meta, and as
// the first initialize of the connection said.
func (x *relay) initParams(given members) []byte {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.greeted == nil {
		x.greeted = members{"clientInfo": given["clientInfo"], "capabilities": given["capabilities"]}
	}
	info, can := members{"name": value("client"), "version": value("0")}, jsontext.Value(`{}`)
	maps.Copy(info, plainInfo(x.greeted["clientInfo"]))
	if plain, ok := plainCapabilities(x.greeted["capabilities"], maxCapabilities); ok {
		can = plain
	}
	out := members{"clientInfo": value(info), "capabilities": can}
	if v := given["protocolVersion"]; versionWord().Match(v) {
		out["protocolVersion"] = v
	}
	return value(out)
}

// capabilities are the names that MCP has in a client's capabilities, at any depth.
var capabilities = lazy.Words(`roots listChanged sampling context tools
	elicitation form url extensions io.modelcontextprotocol/tasks`)

const maxCapabilities = 4 // levels of objects

// plainCapabilities is a client's capabilities, with names that MCP has and booleans alone.
func plainCapabilities(raw jsontext.Value, levels int) (jsontext.Value, bool) {
	switch raw.Kind() {
	case 't', 'f':
		return raw, levels < maxCapabilities
	case '{':
	default:
		return nil, false
	}
	var in members
	if strict(raw, &in) != nil {
		return nil, false
	}
	out := members{}
	for name, v := range in {
		if plain, ok := plainCapabilities(v, levels-1); ok && capabilities.Has(name) && levels > 0 {
			out[name] = plain
		}
	}
	return value(out), true
}

// approvalOf says in a call's _meta which approval it has.
func approvalOf(got ask.Allowed) jsontext.Value {
	fields := []any{"id", got.Approval.ID, "code", got.Approval.Code,
		"decision", got.Claim.Decision, "fingerprint", got.Claim.Fingerprint}
	if got.Claim.Receipt != "" {
		fields = append(fields, "receipt", got.Claim.Receipt)
	}
	return jsontext.Value(object(fields...))
}
