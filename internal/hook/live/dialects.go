package live

import (
	"maps"
	"net/http"
	"strings"
)

// usage is what each answer claims to have cost.
var usage = struct{ in, out int }{10, 5}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func member(v any, name string) any {
	o, _ := v.(object)
	return o[name]
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// with is o and more members.
func with(o object, more object) object {
	out := maps.Clone(o)
	maps.Copy(out, more)
	return out
}

// anthropic answers POST /v1/messages.
func (m *Model) anthropic(w http.ResponseWriter, body object) {
	tools := map[string]object{}
	for _, t := range list(body["tools"]) {
		schema, _ := member(t, "input_schema").(object)
		tools[text(member(t, "name"))] = schema
	}
	var results []any
	for _, message := range list(body["messages"]) {
		for _, part := range list(member(message, "content")) {
			if member(part, "type") == "tool_result" {
				results = append(results, member(part, "content"))
			}
		}
	}
	t := m.next(tools, results)
	block, stop := object{"type": "text", "text": t.text}, "end_turn"
	if t.tool != "" {
		block = object{"type": "tool_use", "id": "toolu_" + t.id, "name": t.tool, "input": t.args}
		stop = "tool_use"
	}
	message := object{
		"id": "msg_" + t.id, "type": "message", "role": "assistant", "model": body["model"], "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": usage.in, "output_tokens": usage.out},
	}
	if body["stream"] != true {
		writeJSON(w, with(message, object{"content": []any{block}, "stop_reason": stop}))
		return
	}
	start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": t.text}
	if t.tool != "" {
		start = with(block, object{"input": object{}})
		delta = object{"type": "input_json_delta", "partial_json": t.argsText()}
	}
	ended := object{"stop_reason": stop, "stop_sequence": nil}
	writeEvents(w,
		named(object{"type": "message_start", "message": message}),
		named(object{"type": "content_block_start", "index": 0, "content_block": start}),
		named(object{"type": "content_block_delta", "index": 0, "delta": delta}),
		named(object{"type": "content_block_stop", "index": 0}),
		named(object{"type": "message_delta", "delta": ended, "usage": object{"output_tokens": usage.out}}),
		named(object{"type": "message_stop"}),
	)
}

// named is an event that is called what its type says.
func named(data object) event { return event{text(data["type"]), data} }

// chat answers POST /v1/chat/completions.
func (m *Model) chat(w http.ResponseWriter, body object) {
	tools := map[string]object{}
	for _, t := range list(body["tools"]) {
		schema, _ := member(member(t, "function"), "parameters").(object)
		tools[text(member(member(t, "function"), "name"))] = schema
	}
	var results []any
	for _, message := range list(body["messages"]) {
		if member(message, "role") == "tool" {
			results = append(results, member(message, "content"))
		}
	}
	t := m.next(tools, results)
	message, finish := object{"role": "assistant", "content": t.text}, "stop"
	if t.tool != "" {
		call := object{
			"index": 0, "id": "call_" + t.id, "type": "function",
			"function": object{"name": t.tool, "arguments": t.argsText()},
		}
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	base := object{"id": "chatcmpl-" + t.id, "created": 1, "model": body["model"]}
	cost := object{
		"prompt_tokens": usage.in, "completion_tokens": usage.out, "total_tokens": usage.in + usage.out,
	}
	if body["stream"] != true {
		choice := object{"index": 0, "message": message, "finish_reason": finish}
		writeJSON(w, with(base, object{"object": "chat.completion", "choices": []any{choice}, "usage": cost}))
		return
	}
	chunk := func(delta object, finish any) event {
		choice := object{"index": 0, "delta": delta, "finish_reason": finish}
		return event{data: with(base, object{"object": "chat.completion.chunk", "choices": []any{choice}})}
	}
	last := with(base, object{"object": "chat.completion.chunk", "choices": []any{}, "usage": cost})
	writeEvents(w, chunk(message, nil), chunk(object{}, finish), event{data: last}, event{data: "[DONE]"})
}

// responses answers POST /v1/responses.
func (m *Model) responses(w http.ResponseWriter, body object) {
	tools, spaces := map[string]object{}, map[string]string{}
	for _, t := range list(body["tools"]) {
		name := text(member(t, "name"))
		for _, inner := range list(member(t, "tools")) { // of a namespace, whose name comes before theirs
			schema, _ := member(inner, "parameters").(object)
			tools[name+text(member(inner, "name"))], spaces[name+text(member(inner, "name"))] = schema, name
		}
		if name == "" {
			name = text(member(t, "type"))
		}
		schema, _ := member(t, "parameters").(object)
		tools[name] = schema
	}
	var results []any
	for _, item := range list(body["input"]) {
		if strings.HasSuffix(text(member(item, "type")), "_output") {
			results = append(results, member(item, "output"))
		}
	}
	t := m.next(tools, results)
	message := object{"type": "output_text", "text": t.text, "annotations": []any{}}
	item := object{
		"type": "message", "id": "msg_" + t.id, "role": "assistant", "status": "completed", "content": []any{message},
	}
	if t.tool != "" {
		item = object{
			"type": "function_call", "id": "fc_" + t.id, "call_id": "call_" + t.id, "name": t.tool,
			"arguments": t.argsText(), "status": "completed",
		}
		if space := spaces[t.tool]; space != "" {
			item["namespace"], item["name"] = space, strings.TrimPrefix(t.tool, space)
		}
	}
	answer := object{
		"id": "resp_" + t.id, "object": "response", "created_at": 1, "status": "completed", "model": body["model"],
		"output": []any{item}, "usage": object{
			"input_tokens": usage.in, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": usage.out, "output_tokens_details": object{"reasoning_tokens": 0},
			"total_tokens": usage.in + usage.out,
		},
	}
	if body["stream"] != true {
		writeJSON(w, answer)
		return
	}
	begun := with(answer, object{"status": "in_progress", "output": []any{}})
	writeEvents(w,
		named(object{"type": "response.created", "sequence_number": 0, "response": begun}),
		named(object{"type": "response.output_item.added", "sequence_number": 1, "output_index": 0, "item": item}),
		named(object{"type": "response.output_item.done", "sequence_number": 2, "output_index": 0, "item": item}),
		named(object{"type": "response.completed", "sequence_number": 3, "response": answer}),
	)
}

// gemini answers POST …:generateContent and …:streamGenerateContent.
func (m *Model) gemini(w http.ResponseWriter, body object, stream bool) {
	tools := map[string]object{}
	for _, t := range list(body["tools"]) {
		for _, f := range list(member(t, "functionDeclarations")) {
			schema, ok := member(f, "parametersJsonSchema").(object)
			if !ok {
				schema, _ = member(f, "parameters").(object)
			}
			tools[text(member(f, "name"))] = schema
		}
	}
	var results []any
	for _, content := range list(body["contents"]) {
		for _, part := range list(member(content, "parts")) {
			if answered := member(part, "functionResponse"); answered != nil {
				results = append(results, member(answered, "response"))
			}
		}
	}
	var part object
	settings, _ := body["generationConfig"].(object)
	if settings["responseMimeType"] == "application/json" || settings["responseJsonSchema"] != nil {
		part = object{"text": `{"model_choice":"flash","reasoning":"x","complexity_reasoning":"x",` +
			`"complexity_score":1,"next_speaker":"user"}`} // requests of the runtime for its own purposes
	} else if t := m.next(tools, results); t.tool != "" {
		part = object{"functionCall": object{"id": t.id, "name": t.tool, "args": t.args}}
	} else {
		part = object{"text": t.text}
	}
	candidate := object{"content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP", "index": 0}
	answer := object{
		"candidates": []any{candidate}, "modelVersion": "fake", "responseId": "fake",
		"usageMetadata": object{
			"promptTokenCount": usage.in, "candidatesTokenCount": usage.out, "totalTokenCount": usage.in + usage.out,
		},
	}
	if stream {
		writeEvents(w, event{data: answer})
		return
	}
	writeJSON(w, answer)
}
