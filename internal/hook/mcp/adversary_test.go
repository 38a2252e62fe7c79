package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"approvalbot/api"
	"approvalbot/internal/hook/ask"
)

// listed lets the client have the server's list.
func (s *stage) listed() {
	s.t.Helper()
	s.says(s.client, `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	s.lists(order)
	require.NotNil(s.t, s.heard(s.toClient).Result)
}

// ran lets the server answer the call that it has got, and gives that call.
func (s *stage) ran() message {
	s.t.Helper()
	m := s.heard(s.toServer)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.id())
	require.NotNil(s.t, s.heard(s.toClient).Result)
	return m
}

// last is what the desk was last asked for, as JSON.
func (s *stage) last() string {
	s.t.Helper()
	all := s.calls()
	require.NotEmpty(s.t, all)
	return string(all[len(all)-1].Params)
}

func paramsOf(t require.TestingT, raw string) (out map[string]json.RawMessage) {
	var m struct{ Params map[string]json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(raw), &m))
	return m.Params
}

// What a call says beside its arguments is asked for, and reaches the server as it was claimed.
func TestAdversary_T1_WhatReachesTheServerWasAskedFor(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","arguments":{"to":"bob"},`+
		`"_meta":{"progressToken":7,"overrides":{"to":"EVIL"},"baggage":"to=EVIL","tracestate":"a=EVIL"},"task":{"x":"EVIL"},`+
		`"inputResponses":{"confirm":{"action":"accept","content":{"to":"EVIL"}}},"requestState":"EVIL"}}`)
	got := paramsOf(t, s.ran().raw)
	require.True(t, s.calls()[0].MustAsk)
	const beside = `"inputResponses":{"confirm":{"action":"accept","content":{"to":"EVIL"}}},"requestState":"EVIL","task":{"x":"EVIL"}`
	require.JSONEq(t, `{"to":"bob","approvalbot/mcp":{`+beside+`}}`, s.last())
	require.JSONEq(t, `{"progressToken":1}`, string(got["_meta"]))
	delete(got, "_meta")
	all, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"order","arguments":{"to":"bob"},`+beside+`}`, string(all))
	require.Contains(t, <-s.log, "_meta")

	s.approval = `{"id":"x","status":"approved","claim":{"toolName":"mcp__shop__order","params":{"a":1,"approvalbot/mcp":{"requestState":"other"}}}}`
	s.says(s.client, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"order","requestState":"EVIL"}}`)
	require.JSONEq(t, `{"name":"order","arguments":{"a":1},"requestState":"other"}`, paramsText(t, s.ran().raw), "the claim alone")

	s.approval = `{"id":"x","status":"approved","claim":{"toolName":"mcp__shop__burn","params":{}}}`
	s.says(s.client, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"order"}}`)
	require.Contains(t, s.heard(s.toClient).Error["message"], "another call")
}

func paramsText(t require.TestingT, raw string) string {
	return jsonOf(t, paramsOf(t, raw))
}

// Of _meta only members of a bounded form pass, and the client's identity as it first was.
func TestAdversary_T1_OfMetaOnlyPlainMembersPass(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	const identity = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`
	for _, row := range [][2]string{
		{`"progressToken":"to=eve/amount=100000"`, `{"progressToken":1}`},
		{`"progressToken":"transfer it all"`, ``},
		{`"progressToken":{"x":1}`, ``},
		{`"progressToken":1e999`, ``},
		{`"progressToken":"` + strings.Repeat("a", 129) + `"`, ``},
		{`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`},
		{`"traceparent":"00-EVIL"`, ``},
		{`"tracestate":"a=b","baggage":"a=b"`, ``},
		{`"io.modelcontextprotocol/logLevel":"info"`, `{"io.modelcontextprotocol/logLevel":"info"}`},
		{`"io.modelcontextprotocol/logLevel":"EVIL"`, ``},
		{`"io.modelcontextprotocol/related-task":{"taskId":"EVIL"}`, ``},
		{`"io.modelcontextprotocol/protocolVersion":"EVIL","io.modelcontextprotocol/clientInfo":{"name":"EVIL"}`, ``},
		{`"approvalbot/approval":{"id":"EVIL"}`, ``},
		{identity, `{` + identity + `}`},
		{strings.ReplaceAll(identity, `"a"`, `"EVIL"`), `{` + identity + `}`},
	} {
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","_meta":{%s}}}`, row[0])
		got := string(paramsOf(t, s.ran().raw)["_meta"])
		if row[1] == "" {
			require.Empty(t, got, row[0])
			continue
		}
		require.JSONEq(t, row[1], got, row[0])
	}
}

// Whatever members a call has, what the server gets is a function of what was asked for, and of
// plain members of _meta.
func TestAdversary_T1_TheServersBytesAreAFunctionOfWhatWasAskedFor(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.listed()
	names := rapid.OneOf(rapid.SampledFrom([]string{"task", "inputResponses", "requestState", "Task", "InputResponses", "requeststate",
		"arguments", "Arguments", "name", "approvalbot/mcp", "_meta", "_Meta"}), rapid.StringMatching(`[a-zA-Z_/.-]{1,12}`))
	values := rapid.SampledFrom([]string{`null`, `{}`, `[]`, `"EVIL"`, `{"a":"EVIL"}`, `["EVIL"]`, `1.50`, `{"approvalbot/mcp":{"a":1}}`,
		`{"progressToken":3}`, `{"progressToken":"EVIL AND MORE","x":"EVIL"}`, `{"traceparent":"EVIL","APPROVALBOT/MCP":1}`})
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.MapOfN(names, values, 0, 4).Draw(t, "members")
		if rapid.Bool().Draw(t, "sound") {
			maps.DeleteFunc(all, func(name, _ string) bool {
				return !slices.Contains([]string{"task", "inputResponses", "requestState", "_meta"}, name)
			})
		}
		all["name"] = `"order"`
		var text []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			text = append(text, fmt.Sprintf("%q:%s", name, all[name]))
		}
		params := "{" + strings.Join(text, ",") + "}"
		before := len(s.calls())
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}`, params)
		if _, err := readCall([]byte(params)); err != nil {
			require.NotEmpty(t, s.heard(s.toClient).Error)
			require.Len(t, s.calls(), before)
			return // and the next message to the server is another call
		}
		got := paramsOf(t, s.ran().raw)
		if meta, has := got["_meta"]; has {
			require.Regexp(t, `^{"progressToken":[0-9]+}$`, string(meta))
			delete(got, "_meta")
		}
		asked := map[string]json.RawMessage{}
		require.NoError(t, json.Unmarshal([]byte(s.last()), &asked))
		want := map[string]json.RawMessage{}
		if more, has := asked["approvalbot/mcp"]; has {
			require.NoError(t, json.Unmarshal(more, &want))
			delete(asked, "approvalbot/mcp")
			require.True(t, s.calls()[before].MustAsk)
		}
		arguments, err := json.Marshal(asked)
		require.NoError(t, err)
		want["name"], want["arguments"] = json.RawMessage(`"order"`), arguments
		one, err := json.Marshal(want)
		require.NoError(t, err)
		other, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, string(one), string(other))
	})
}

// What the client answers to the server's own questions is asked for, and reaches the server as it
// was claimed. What declines, and roots in the proxy's directory, say nothing and pass.
func TestAdversary_T1_AnswersToTheServersQuestionsAreAskedFor(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	question := func(method string) string {
		s.says(s.server, `{"jsonrpc":"2.0","id":"q","method":%q,"params":{"message":"how much?"}}`, method)
		m := s.heard(s.toClient)
		require.Equal(t, method, m.Method)
		return m.id()
	}
	last := ""
	answers := func(method, answer string) message {
		t.Helper()
		last = question(method)
		s.says(s.client, `{"jsonrpc":"2.0","id":%s,%s}`, last, answer)
		m := s.heard(s.toServer)
		require.Equal(t, "q", m.ID)
		return m
	}
	for _, name := range []string{"a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(s.dir, name), 0o700))
	}
	require.NoError(t, os.Symlink("/etc", filepath.Join(s.dir, "link")))
	for i, row := range []struct{ method, result, gets string }{
		{"ping", `{"x":"EVIL"}`, `{}`},
		{"elicitation/create", `{"action":"decline","content":{"x":"EVIL"}}`, `{"action":"decline"}`},
		{"elicitation/create", `{"action":"cancel","_meta":{"x":"EVIL"}}`, `{"action":"cancel"}`},
		{"roots/list", `{"roots":[]}`, `{"roots":[]}`},
		{"roots/list", `{"roots":[{"uri":"file://` + s.dir + `","name":"EVIL"},{"uri":"file://` + s.dir + `/a"}],"x":"EVIL"}`,
			`{"roots":[{"uri":"file://` + s.dir + `"},{"uri":"file://` + s.dir + `/a"}]}`},
	} {
		require.JSONEq(t, row.gets, jsonOf(t, answers(row.method, `"result":`+row.result).Result), i)
	}
	require.NotContains(t, answers("elicitation/create", `"error":{"code":1,"message":"EVIL","data":"EVIL"}`).raw, "EVIL")
	require.Empty(t, s.calls())

	for i, row := range [][2]string{
		{"elicitation/create", `{"action":"accept","content":{"sum":"EVIL"}}`},
		{"elicitation/create", `{"action":"Decline","content":{"sum":"EVIL"}}`},
		{"sampling/createMessage", `{"role":"assistant","content":{"type":"text","text":"EVIL"}}`},
		{"roots/list", `{"roots":[{"uri":"file://` + s.dir + `-b"}]}`},
		{"roots/list", `{"roots":[{"uri":"file://` + s.dir + `/link"}]}`},
		{"roots/list", `{"roots":[{"uri":"file://` + s.dir + `/%2e%2e"}]}`},
		{"roots/list", `{"roots":[{"uri":"file://evil` + s.dir + `"}]}`},
		{"vendor/ask", `{"action":"accept"}`},
	} { // with those below no more than a minute takes
		require.JSONEq(t, row[1], jsonOf(t, answers(row[0], `"result":`+row[1]).Result))
		require.Len(t, s.calls(), i+1)
		asked := s.calls()[i]
		require.True(t, asked.MustAsk)
		require.Equal(t, "mcp__shop__question:"+row[0], asked.ToolName)
		require.JSONEq(t, fmt.Sprintf(`{"approvalbot/mcp":{"method":%q,"params":{"message":"how much?"},"answer":%s}}`, row[0], row[1]), s.last())
	}

	s.approval = `{"id":"x","status":"denied","reason":"no"}`
	require.JSONEq(t, `{"action":"decline"}`, jsonOf(t, answers("elicitation/create", `"result":{"action":"accept"}`).Result))
	require.Contains(t, answers("sampling/createMessage", `"result":{"text":"EVIL"}`).Error["message"], "denied")

	for len(s.log) > 0 {
		<-s.log
	}
	s.says(s.client, `{"jsonrpc":"2.0","id":%s,"result":{"x":"EVIL"}}`, last)
	require.Contains(t, <-s.log, "a request that it was not sent")
}

func jsonOf(t require.TestingT, v any) string {
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

// Of the client's other messages those pass that MCP has, and what answers the server in them is
// asked for.
func TestAdversary_T1_OtherMessagesOfTheClient(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	for i, row := range []struct{ method, params, asked, gets string }{
		{"resources/read", `{"uri":"a://b"}`, "", `{"uri":"a://b"}`},
		{"prompts/get", `{"name":"a","arguments":{"x":"y"}}`, "", `{"name":"a","arguments":{"x":"y"}}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"a"}}`, "", `{"ref":{"type":"ref/prompt","name":"a"}}`},
		{"tools/list", `{"x":"EVIL","cursor":"c","_meta":{"progressToken":1,"x":"EVIL"}}`, "", `{"cursor":"c"}`},
		{"resources/read", `{"uri":"a://b","inputResponses":{"a":1},"_meta":{"x":"EVIL"}}`, `{"uri":"a://b","inputResponses":{"a":1}}`, `{"uri":"a://b","inputResponses":{"a":1}}`},
		{"prompts/get", `{"name":"a","RequestState":"x"}`, `{"name":"a","RequestState":"x"}`, `{"name":"a","RequestState":"x"}`},
		{"tasks/update", `{"taskId":"1","x":2}`, `{"taskId":"1","x":2}`, `{"taskId":"1","x":2}`},
	} {
		before := len(s.calls())
		s.says(s.client, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i, row.method, row.params)
		m := s.heard(s.toServer)
		require.Equal(t, row.method, m.Method)
		require.JSONEq(t, row.gets, paramsText(t, m.raw))
		require.Equal(t, row.asked != "", len(s.calls()) > before, row.params)
		if row.asked != "" {
			require.True(t, s.calls()[before].MustAsk)
			require.JSONEq(t, fmt.Sprintf(`{"approvalbot/mcp":{"method":%q,"params":%s}}`, row.method, row.asked), s.last())
		}
		s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.id())
		require.EqualValues(t, i, s.heard(s.toClient).ID)
	}
	for _, method := range []string{"tasks/list", "tools/call ", " tools/call", "tools//call", "Tasks/Update", "RESOURCES/READ", "vendor/run", ""} {
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"name":"order"}}`, method)
		require.Contains(t, s.heard(s.toClient).Error["message"], "does not pass the method")
	}
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"a","name":"b"}}`)
	require.NotEmpty(t, s.heard(s.toClient).Error)
	require.Contains(t, <-s.log, "_meta")
	for _, method := range []string{"tools/call", "tools/call ", "notifications/progress", "notifications/tasks/status", "vendor/run"} {
		s.says(s.client, `{"jsonrpc":"2.0","method":%q,"params":{"name":"order","message":"EVIL"}}`, method)
		require.Contains(t, <-s.log, "without an id")
	}
	s.says(s.client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99,"reason":"EVIL"}}`)
	s.says(s.client, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"x":"EVIL"}}`)
	m := s.heard(s.toServer)
	require.Equal(t, "notifications/initialized", m.Method)
	require.NotContains(t, m.raw, "EVIL")
}

// The server sees one sequence of ids, whoever asks, and each tools/list is written alike.
func TestAdversary_T2_TheProxysRequestsLookLikeTheClients(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	const identity = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	s.says(s.client, `{"jsonrpc":"2.0","id":"abc","method":"tools/list","params":{"_meta":%s}}`, identity)
	one := s.heard(s.toServer)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, one.id(), order)
	s.heard(s.toClient)
	s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	s.heard(s.toClient)
	s.says(s.client, `{"jsonrpc":"2.0","id":25,"method":"tools/call","params":{"name":"order","_meta":%s}}`, identity)
	two := s.heard(s.toServer)
	require.Equal(t, strings.Replace(one.raw, `"id":1`, `"id":2`, 1), two.raw)
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, two.id(), order)
	require.Equal(t, "3", s.ran().id())
}

// toolFacts gives what the desk is told of a tool that the client has listed.
func toolFacts(t *testing.T, description, schema, more string) string {
	t.Helper()
	s := newStage(t)
	s.approval = ""
	s.lets(fmt.Sprintf(`{"name":"order","description":%s,"inputSchema":%s%s}`, jsonOf(t, description), schema, more))
	s.calling()
	return s.told()
}

// lets lets the client have a list of one tool.
func (s *stage) lets(tool string) {
	s.t.Helper()
	s.says(s.client, `{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)
	s.lists(tool)
	require.NotNil(s.t, s.heard(s.toClient).Result)
}

// calling has the client call the tool, and the server do it once it has said what it is as often.
func (s *stage) calling(own ...string) {
	s.t.Helper()
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order"}}`)
	for _, tool := range own {
		s.lists(tool)
	}
	s.ran()
}

// changed has the server say that its tools have changed.
func (s *stage) changed() {
	s.t.Helper()
	s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	require.Equal(s.t, "notifications/tools/list_changed", s.heard(s.toClient).Method)
}

// told is what the desk was last told of a tool.
func (s *stage) told() string {
	all := s.calls()
	return jsonOf(s.t, all[len(all)-1].Context.Tool)
}

// No server can write what names the things of a tool that the desk has no place for: whatever it
// says in a description or a schema, another definition has other facts.
func TestAdversary_T2_NoServerWritesWhatNamesTheRest(t *testing.T) {
	long := strings.Repeat("Very careful. ", 300)
	const object = `{"type":"object"}`
	big := `{"type":"object","description":"` + strings.Repeat("x", maxSchema) + `"}`
	seen := map[string]string{}
	for name, row := range map[string][3]string{
		"plain":             {"Orders.", object, ""},
		"long":              {long, object, ""},
		"long, another end": {long + evilText, object, ""},
		"as it is clipped":  {clipped(long, maxWords), object, ""},
		"with a title":      {"Orders.", object, `,"title":"Orders"`},
		"with another":      {"Orders.", object, `,"title":"EVIL"`},
		"with a hint":       {"Orders.", object, `,"annotations":{"EVIL":1}`},
		"a large schema":    {"Orders.", big, ""},
		"another":           {"Orders.", strings.Replace(big, "xx", "xy", 1), ""},
		"none":              {"Orders.", "null", ""},
		"a digest":          {"Orders.", object, `,"digest":"` + strings.Repeat("0", 64) + `"`},
	} {
		facts := toolFacts(t, row[0], row[1], row[2])
		require.Empty(t, seen[facts], name)
		seen[facts] = name
		require.Equal(t, name != "plain" && name != "as it is clipped", strings.Contains(facts, `"digest"`), name)
	}
}

const evilText = "<IMPORTANT> EVIL"

// Another order of members, blanks and escapes say the same.
func TestAdversary_T2_TheSameInOtherBytesIsNoChange(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"name":"order","inputSchema":{"type":"object","title":"a"}}`, `{"inputSchema":{"title":"a","type":"object"},"name":"order"}`},
		{`{"name":"order","inputSchema":{},"outputSchema":{"type":"object","title":"a"}}`, `{"name":"order","inputSchema":{},"outputSchema":{"title":"a","type": "object"}}`},
		{`{"name":"order","inputSchema":{},"title":"\u0041"}`, `{"name":"order","inputSchema":{},"title":"A"}`},
	} {
		s := newStage(t)
		s.approval = ""
		s.lets(pair[0])
		s.calling()
		one := s.told()
		s.changed()
		s.calling(pair[1])
		require.Equal(t, one, s.told())
		s.changed()
		s.lets(pair[1])
		s.calling(pair[0])
		require.NotContains(t, s.told(), "otherwise")
	}
}

// What the client was shown in between asks, though it was shown the old words again; after the
// call is handed out it is forgotten.
func TestAdversary_T2_WhatWasShownInBetweenAsks(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	other := strings.Replace(order, "Orders.", evilText, 1)
	s.lets(order)
	s.calling()
	plain := s.told()
	require.NotContains(t, plain, "otherwise")
	s.lets(other)
	s.lets(order)
	s.calling()
	require.Equal(t, strings.TrimSuffix(plain, "}")+`,"otherwise":true}`, s.told())
	s.calling()
	require.Equal(t, plain, s.told())
	s.lets(other)
	s.calling() // one change, which the desk sees
	require.NotContains(t, s.told(), "otherwise")

	s.mu.Lock()
	s.approval = `{"id":"x","status":"denied","reason":"no"}`
	s.mu.Unlock()
	s.lets(order)
	s.lets(other)
	for range 2 { // until one is handed out
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order"}}`)
		require.Equal(t, true, s.heard(s.toClient).Result["isError"])
		require.Contains(t, s.told(), `"otherwise":true`)
	}
}

// A client that was not shown the tool on this connection may have anything in mind: its first call
// asks, the next do not, and neither does one of a client that has listed meanwhile.
func TestAdversary_T2_ACallWithoutAListAsksOnce(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.calling(order)
	require.Contains(t, s.told(), `"otherwise":true`)
	s.calling()
	plain := s.told()
	require.NotContains(t, plain, "otherwise")
	s.lets(order)
	s.calling(order)
	require.Equal(t, plain, s.told())
}

// What the proxy cannot keep it takes for something else.
func TestAdversary_T2_WhatIsForgottenAsks(t *testing.T) {
	x := &relay{shown: map[string]shown{}}
	give := func(name, text string, listing int) {
		d, err := readDefinition([]byte(fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{}}`, name, text)))
		require.NoError(t, err)
		x.shows([]listedTool{{definition: d}}, listing)
	}
	give("order", "EVIL", 1)
	for i := range 20 {
		give(fmt.Sprint("t", i), strings.Repeat("x", 1<<20), i+2)
	}
	give("order", "Orders.", 30)
	require.True(t, x.shown["order"].otherwise())
	require.Less(t, len(x.shown), 20)
	x.handed("order", x.gifts)
	require.False(t, x.shown["order"].otherwise())
}

// Of the client's identity words of a bounded form pass, and capabilities that MCP has; the server
// never gets the client's progress token, nor the client one of progress that it did not ask for.
func TestAdversary_T1_IdentityAndProgressSayNothing(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	s.lets(order)
	const id = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"Claude (a)","version":"1.0+b",` +
		`"title":"send it\nEVIL","overrides":{"to":"EVIL"}},"io.modelcontextprotocol/clientCapabilities":{"EVIL":{},"experimental":{"EVIL":{"amount":1}},` +
		`"roots":{"listChanged":true,"EVIL":true},"elicitation":{"form":{},"url":"EVIL"},"extensions":{"EVIL":{},"io.modelcontextprotocol/tasks":{"EVIL":1}},"tasks":{"requests":{"sampling":{"createMessage":{"EVIL":1}}}},"sampling":"EVIL"}`
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","_meta":{"progressToken":"EVIL/100",%s}}}`, id)
	m := s.heard(s.toServer)
	require.NotContains(t, m.raw, "EVIL")
	require.JSONEq(t, `{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"Claude (a)","version":"1.0+b"},"io.modelcontextprotocol/clientCapabilities":`+
		`{"roots":{"listChanged":true},"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`, string(paramsOf(t, m.raw)["_meta"]))
	for _, token := range []string{`2`, `0`, `"EVIL/100"`, `null`, `1`} {
		s.says(s.server, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":2,"message":"half"}}`, token)
	}
	require.JSONEq(t, `{"progressToken":"EVIL/100","progress":2,"message":"half"}`, paramsText(t, s.heard(s.toClient).raw), "the last alone")
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.id())
	require.NotNil(t, s.heard(s.toClient).Result)

	for _, method := range []string{"resources/read", "prompts/get", "completion/complete"} {
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"uri":"a://b","_meta":{"approvalbot/approval":{"id":"EVIL"},"baggage":"EVIL"}}}`, method)
		m := s.heard(s.toServer)
		require.JSONEq(t, `{"uri":"a://b"}`, paramsText(t, m.raw))
		s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id())
		s.heard(s.toClient)
	}
}

// What initialize says of the client is in the same bounds.
func TestAdversary_T1_InitializeSaysWhoTheClientIs(t *testing.T) {
	s := newStage(t)
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"a\nEVIL","version":"2","x":"EVIL"},`+
		`"capabilities":{"roots":{"listChanged":true},"experimental":{"EVIL":1}},"_meta":{"x":"EVIL"},"EVIL":1}}`)
	require.JSONEq(t, `{"protocolVersion":"2025-06-18","clientInfo":{"name":"client","version":"2"},"capabilities":{"roots":{"listChanged":true}}}`,
		paramsText(t, s.heard(s.toServer).raw))
}

// No tool has the name as which an answer to a server's question is asked for.
func TestAdversary_H5_NoToolIsNamedAsAQuestion(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	const name = `{"name":"question:elicitation/create","inputSchema":{}}`
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	s.lists(name)
	require.Empty(t, s.heard(s.toClient).Result["tools"])
	s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"question:elicitation/create"}}`)
	s.lists(name)
	require.Equal(t, true, s.heard(s.toClient).Result["isError"])
	require.Empty(t, s.calls())
}

// A tool that cannot be read takes none of the others away.
func TestProxy_AnOddToolLeavesTheOthers(t *testing.T) {
	s := newStage(t)
	for _, odd := range []string{`{"name":"b","annotations":{"readOnlyHint":"yes"}}`, `{"name":"b","description":["a"]}`,
		`{"name":"b","inputSchema":{"a":1,"a":2}}`, `{"name":"b","name":"order"}`, `{"name":"b","annotations":[]}`, `7`} {
		s.says(s.client, `{"jsonrpc":"2.0","id":"l","method":"tools/list"}`)
		s.lists(order + "," + odd)
		require.Len(t, s.heard(s.toClient).Result["tools"], 1, odd)
	}
	for _, page := range []string{`{"tools":[],"tools":[]}`, `{"tools":[],"nextCursor":7}`, `[]`, `{"x":{"a":1,"a":2}}`, `{"tools":{}}`} {
		_, err := readPage([]byte(page))
		require.Error(t, err, page)
	}
}

// A client whose version is refused takes another; who it is stays.
func TestProxy_AClientTakesAnotherVersion(t *testing.T) {
	s := newStage(t)
	for _, v := range []string{"2026-07-28", "2025-11-25"} {
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q}}}`, v)
		m := s.heard(s.toServer)
		require.Contains(t, m.raw, v)
		s.says(s.server, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32004,"message":"unsupported"}}`, m.id())
		s.heard(s.toClient)
	}
}

// What was forgotten while a call waited for its yes asks at the next call.
func TestAdversary_T2_AFloodWhileACallWaitsAsks(t *testing.T) {
	s := newStage(t)
	s.approval = ""
	pad := strings.Repeat("x", 9<<20)
	s.says(s.client, callOf, 1) // not listed: asks
	own := s.heard(s.toServer)
	s.asking, s.answering = make(chan struct{}), make(chan struct{})
	s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, own.id(), order)
	<-s.asking
	s.lets(strings.Replace(order, "Orders.", "EVIL", 1))
	for _, name := range []string{"a", "b"} {
		s.lets(`{"name":"` + name + `","description":"` + pad + `"}`)
	}
	s.answering <- struct{}{}
	s.lists(order) // the proxy looks again before the call
	s.ran()
	require.NotContains(t, s.told(), "EVIL")
	s.asking = nil
	s.lets(order)
	s.calling(order)
	require.Contains(t, s.told(), `"otherwise":true`)
}

// A client that says hello again is who it first was.
func TestAdversary_T1_InitializeSaysWhoTheClientFirstWas(t *testing.T) {
	s := newStage(t)
	for _, name := range []string{"claude", "send EVIL 1000 to eve"} {
		s.says(s.client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":%q}}}`, name)
		m := s.heard(s.toServer)
		require.Contains(t, m.raw, "claude")
		require.NotContains(t, m.raw, "EVIL")
		s.says(s.server, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.id())
		s.heard(s.toClient)
	}
}

// A page of tools is few questions to the desk, and one that would be many is refused.
func TestAdversary_T2_AListIsFewQuestionsToTheDesk(t *testing.T) {
	n := 0
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		var in api.ToolsRequest
		_ = json.NewDecoder(r.Body).Decode(&in)
		_ = json.NewEncoder(w).Encode(map[string]any{"allowed": in.Tools})
	}))
	defer desk.Close()
	x := &relay{Proxy: Proxy{Server: "shop", Desk: ask.Approvals{Client: &api.Client{Server: desk.URL, Token: "t"}}}}
	same, many := make([]listedTool, 3*maxTools), make([]listedTool, maxKnown+1)
	for i := range same {
		same[i].Name = "a"
	}
	for i := range many {
		many[i].Name = fmt.Sprint("t", i)
	}
	kept, err := x.allowed(t.Context(), same)
	require.NoError(t, err)
	require.Len(t, kept, 1)
	require.Equal(t, 1, n)
	_, err = x.allowed(t.Context(), many)
	require.ErrorContains(t, err, "more than")
	require.Equal(t, 1, n)
}
