package messages

import (
	"encoding/json"
	"slices"
	"strings"

	"approvalbot/api"
)

// blocks reads the content blocks of Anthropic's messages.
func blocks() *shape {
	return &shape{
		format: api.AnthropicMessages, list: "content", item: block,
		call: func(o object, id, name string, args json.RawMessage) object {
			return o.set("id", quote(id)).set("name", quote(name)).set("input", args)
		},
		note: func(text string) json.RawMessage { return pairs("type", "text", "text", text).encode() },
		bare: onlyThinking,
		wrap: func(calls []json.RawMessage) []json.RawMessage {
			return []json.RawMessage{pairs("role", "assistant", "content", encodeArray(calls)).encode()}
		},
	}
}

// harmless are the blocks of Anthropic and OpenAI that make no call on this
// side. Calls that run at the provider are beyond any desk.
var harmless = [...]string{
	"text", "thinking", "redacted_thinking", "image", "document", "search_result", "container_upload",
	"image_url", "input_audio", "file", "refusal", "input_text", "output_text", "input_image", "input_file",
	"reasoning_text", "summary_text",
	"server_tool_use", "mcp_tool_use", "compaction",
}

func block(o object) item {
	t := o.text("type")
	switch {
	case t == "tool_use":
		it := item{kind: call, id: o.text("id"), name: o.text("name"), args: asObject(o.get("input"))}
		if it.name == "" || o.lookalike("type", "id", "name", "input") {
			it.kind = odd
		}
		return it
	case t == "tool_result":
		return item{kind: result, id: o.text("tool_use_id"), output: o.get("content")}
	case slices.Contains(harmless[:], t) && !o.lookalike("type"), strings.HasSuffix(t, "_tool_result"):
		return item{}
	}
	return item{kind: odd, id: o.text("id"), name: o.text("name")}
}

// onlyThinking reports whether no item is left but thoughts.
func onlyThinking(_ object, left []item) bool {
	return !slices.ContainsFunc(left, func(it item) bool { return !isThinking(it.obj) })
}

// parts reads the parts of Google's contents.
func parts() *shape {
	return &shape{
		format: api.GoogleMessages, list: "parts", item: part,
		call: func(o object, id, name string, args json.RawMessage) object {
			given := json.RawMessage(nil)
			if id != "" {
				given = quote(id)
			}
			return o.set(callName(o), pairs("id", given, "name", name, "args", args).encode())
		},
		note: func(text string) json.RawMessage { return pairs("text", text).encode() },
		bare: onlyThinking,
		wrap: func(calls []json.RawMessage) []json.RawMessage {
			return []json.RawMessage{pairs("role", "model", "parts", encodeArray(calls)).encode()}
		},
	}
}

// callName is the name of the member that holds a part's call; Google's own
// libraries write both.
func callName(o object) string {
	if o.get("function_call") != nil {
		return "function_call"
	}
	return "functionCall"
}

func part(o object) item {
	one, two := o.get("functionCall"), o.get("function_call")
	if one != nil || two != nil {
		f, err := parseObject(o.get(callName(o)))
		it := item{kind: call, id: f.text("id"), name: f.text("name"), args: asObject(f.get("args"))}
		unreadable := err != nil || it.name == "" || f.lookalike("id", "name", "args")
		doubled := one != nil && two != nil
		partial := f.get("willContinue") != nil || f.get("partialArgs") != nil
		if unreadable || doubled || partial {
			it.kind = odd
		}
		return it
	}
	for _, name := range []string{"functionResponse", "function_response"} {
		if raw := o.get(name); raw != nil {
			f, _ := parseObject(raw)
			return item{kind: result, id: f.text("id"), name: f.text("name"), output: f.get("response")}
		}
	}
	for _, m := range o {
		if !slices.Contains(plainParts[:], fold(m.name)) {
			return item{kind: odd}
		}
	}
	return item{}
}

// plainParts are the members of parts that make no call on this side, folded.
// Any other member of a part may be a call to some reader.
var plainParts = [...]string{
	"text", "thought", "thoughtsignature", "inlinedata", "filedata", "executablecode", "codeexecutionresult",
	"videometadata", "mediaresolution", "partmetadata",
}
