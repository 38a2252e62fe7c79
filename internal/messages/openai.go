package messages

import (
	"encoding/json"
	"strings"

	"approvalbot/api"
)

// chatCalls reads the tool_calls of OpenAI's chat messages.
func chatCalls() *shape {
	return &shape{
		format: api.OpenAIMessages, list: "tool_calls", item: chatCall,
		call: func(o object, id, name string, args json.RawMessage) object {
			return o.set("id", quote(id)).set("function", pairs("name", name, "arguments", string(args)).encode())
		},
		bare: func(o object, left []item) bool {
			silent := o.get("refusal") == nil && o.get("audio") == nil
			return silent && len(left) == 0 && empty(o.get("content"))
		},
		wrap: func(calls []json.RawMessage) []json.RawMessage {
			o := pairs("role", "assistant", "content", json.RawMessage("null"), "tool_calls", encodeArray(calls))
			return []json.RawMessage{o.encode()}
		},
	}
}

func chatCall(o object) item {
	f, err := parseObject(o.get("function"))
	it := item{kind: call, id: o.text("id"), name: f.text("name"), args: asObject(f.get("arguments"))}
	t := o.text("type")
	otherType := t != "" && t != "function"
	lookalike := o.lookalike("id", "type", "function") || f.lookalike("name", "arguments")
	if nameless := err != nil || it.name == ""; nameless || otherType || lookalike {
		it.kind = odd
	}
	return it
}

// empty reports whether a content has no text and no parts.
func empty(content json.RawMessage) bool {
	if kindOf(content) == '[' {
		list, err := parseArray(content)
		return err == nil && len(list) == 0
	}
	return content == nil || kindOf(content) == '"' && unquote(content) == ""
}

// chatResults reads the tool messages of OpenAI's chats.
func chatResults() *shape {
	return &shape{format: api.OpenAIMessages, item: func(o object) item {
		if o.text("role") != "tool" || o.get("tool_call_id") == nil {
			return item{}
		}
		return item{kind: result, id: o.text("tool_call_id"), name: o.text("name"), output: o.get("content")}
	}}
}

// chatFunction reads the form that chat messages had before tool_calls. It has
// no room for an id, so a call in it cannot wait: it counts as odd.
func chatFunction() *shape {
	return &shape{format: api.OpenAIMessages, item: func(o object) item {
		if o.text("role") == "function" {
			return item{kind: result, name: o.text("name"), output: o.get("content")}
		}
		if raw := o.get("function_call"); raw != nil {
			f, _ := parseObject(raw)
			return item{kind: odd, name: f.text("name")}
		}
		return item{}
	}}
}

// responseItems reads the items of OpenAI's responses, each a message of its own.
func responseItems() *shape {
	return &shape{
		format: api.OpenAIMessages, item: responseItem,
		call: func(o object, id, name string, args json.RawMessage) object {
			return o.set("call_id", quote(id)).set("name", quote(name)).set("arguments", quote(string(args)))
		},
		note: func(text string) json.RawMessage {
			part := pairs("type", "output_text", "text", text, "annotations", json.RawMessage("[]")).encode()
			return pairs("type", "message", "role", "assistant", "content",
				encodeArray([]json.RawMessage{part})).encode()
		},
		wrap: func(calls []json.RawMessage) []json.RawMessage { return calls },
	}
}

func responseItem(o object) item {
	switch t := o.text("type"); t {
	case "function_call":
		it := item{kind: call, id: o.text("call_id"), name: o.text("name"), args: asObject(o.get("arguments"))}
		if it.name == "" || o.lookalike("call_id", "name", "arguments", "type") {
			it.kind = odd
		}
		return it
	case "function_call_output":
		return item{kind: result, id: o.text("call_id"), output: o.get("output")}
	case "custom_tool_call_output":
		return item{kind: result, id: o.text("call_id"), output: o.get("output")}
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call":
		return item{} // these ran at the provider's
	default:
		if strings.HasSuffix(t, "_call") {
			return item{kind: odd, id: o.text("call_id"), name: o.text("name")}
		}
		return item{}
	}
}

// isThinking reports whether a block or part is a model's thinking, which is no
// content by itself.
func isThinking(o object) bool {
	switch o.text("type") {
	case "thinking", "redacted_thinking":
		return true
	}
	return string(o.get("thought")) == "true"
}
