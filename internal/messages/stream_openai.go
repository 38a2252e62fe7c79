package messages

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

var errBroken = errors.New("must hold the whole message: it broke off before its tool calls were complete")

// fragments are tool calls of a chat as they arrive.
type fragments struct {
	calls []*fragment
	size  int
}

type fragment struct {
	index string
	first object
	id    string
	name  string
	args  strings.Builder
}

// take adds the tool_calls of one delta.
func (f *fragments) take(raw json.RawMessage) error {
	list, err := parseArray(raw)
	if err != nil {
		return errMixed
	}
	for _, v := range list {
		o, err := parseObject(v)
		if err != nil || o.lookalike("index", "id", "type", "function") {
			return errMixed
		}
		fn, err := parseObject(o.get("function"))
		if o.get("function") != nil && err != nil || fn.lookalike("name", "arguments") {
			return errMixed
		}
		c := f.of(string(o.get("index")), o)
		c.add(o, fn)
		if f.size += len(v); f.size > MaxBytes || len(f.calls) > MaxCalls {
			return errors.New("must hold at most 64 tool calls of 256 KiB together")
		}
	}
	return nil
}

// of finds the call of an index. Some providers send no index: then a new id
// begins a new call.
func (f *fragments) of(index string, o object) *fragment {
	n := len(f.calls)
	if index == "" && n > 0 {
		if id, last := o.text("id"), f.calls[n-1]; id == "" || id == last.id {
			return last
		}
	}
	for _, c := range f.calls {
		if index != "" && c.index == index {
			return c
		}
	}
	f.calls = append(f.calls, &fragment{index: index, first: o})
	return f.calls[n]
}

func (c *fragment) add(o, fn object) {
	if id := o.text("id"); id != c.id {
		c.id += id
	}
	if name := fn.text("name"); name != c.name {
		c.name += name
	}
	if args := fn.get("arguments"); kindOf(args) == '{' {
		c.args.Write(args) // some providers send the whole object
	} else {
		c.args.WriteString(unquote(args))
	}
}

// message gives the calls as a chat message.
func (f *fragments) message(whole, cut bool) (json.RawMessage, error) {
	if len(f.calls) == 0 {
		return nil, nil
	}
	if !whole {
		return nil, errBroken
	}
	list := make([]json.RawMessage, len(f.calls))
	for i, c := range f.calls {
		args := c.args.String()
		if cut {
			args = "cut off" // no JSON: the call is refused
		}
		fn := pairs("name", c.name, "arguments", args).encode()
		o := c.first.without("index")
		if c.id != "" {
			o = o.set("id", quote(c.id))
		}
		list[i] = o.set("function", fn).encode()
	}
	return pairs("role", "assistant", "tool_calls", encodeArray(list)).encode(), nil
}

// deltas gives the intercepted calls as one list of whole ones, and the sentences
// that replace the refused ones.
func deltas(m *message) (calls json.RawMessage, text string) {
	var list []json.RawMessage
	var notes []string
	for _, it := range m.items {
		if it.raw == nil {
			notes = append(notes, it.note)
			continue
		}
		o, _ := parseObject(it.raw)
		index := member{quote("index"), "index", json.RawMessage(strconv.Itoa(len(list)))}
		list = append(list, append(object{index}, o...).encode())
	}
	if list != nil {
		calls = encodeArray(list)
	}
	return calls, strings.Join(notes, "\n\n")
}

// chatStream reads the chunks of OpenAI's chat completions.
type chatStream struct {
	fragments
	head  object // of the first chunk with a call: the pattern for injected ones
	spoke bool   // text has passed
	whole bool   // a finish_reason was there
	cut   bool   // and it says that the message is not complete
	tail  []json.RawMessage
}

func (s *chatStream) carrier() string { return "choices" }

func (s *chatStream) chunk(raw json.RawMessage, o object) ([]json.RawMessage, error) {
	list, err := parseArray(o.get("choices"))
	if err != nil && o.get("choices") != nil {
		return nil, errMixed
	}
	empty, ends := len(list) > 0, false
	for i, v := range list {
		choice, err := parseObject(v)
		delta, errDelta := parseObject(choice.get("delta"))
		unreadable := err != nil || errDelta != nil && choice.get("delta") != nil
		lookalike := choice.lookalike("delta", "message") || delta.lookalike("tool_calls", "function_call")
		other := choice.get("message") != nil || delta.get("function_call") != nil
		if unreadable || lookalike || other {
			return nil, errMixed
		}
		if calls := delta.get("tool_calls"); calls != nil {
			if index := string(choice.get("index")); index != "" && index != "0" {
				return nil, errors.New("must hold one choice")
			}
			if err := s.take(calls); err != nil {
				return nil, err
			}
			if s.head == nil {
				s.head = o.without("usage")
			}
			choice = choice.set("delta", delta.without("tool_calls").encode())
			list[i] = choice.encode()
			raw = o.set("choices", encodeArray(list)).encode()
		}
		if why := choice.text("finish_reason"); why != "" {
			ends, s.whole = true, true
			s.cut = s.cut || why == "length" || why == "content_filter"
		}
		s.spoke = s.spoke || delta.text("content") != ""
		empty = empty && delta.get("tool_calls") != nil && silent(delta.without("tool_calls"))
	}
	if len(s.calls) > 0 && (ends || s.tail != nil) {
		s.tail = append(s.tail, raw)
		return nil, nil
	}
	if empty {
		return nil, nil
	}
	return []json.RawMessage{raw}, nil
}

// silent reports whether a delta carries no content.
func silent(delta object) bool {
	for _, m := range delta {
		if k := kindOf(m.value); k != 'n' && !(k == '"' && unquote(m.value) == "") {
			return false
		}
	}
	return true
}

func (s *chatStream) message() (json.RawMessage, error) { return s.fragments.message(s.whole, s.cut) }

func (s *chatStream) rest(m *message) []json.RawMessage {
	var out []json.RawMessage
	emit := func(delta object) {
		choice := pairs("index", json.RawMessage("0"), "delta", delta.encode(), "finish_reason",
			json.RawMessage("null"))
		out = append(out, s.head.set("choices", encodeArray(one(choice))).encode())
	}
	calls, text := deltas(m)
	if text != "" {
		if s.spoke {
			text = "\n\n" + text
		}
		emit(pairs("content", text))
	}
	if calls != nil {
		emit(pairs("tool_calls", calls))
	}
	for _, raw := range s.tail {
		if len(m.items) > 0 && calls == nil {
			raw = withFinish(raw)
		}
		out = append(out, raw)
	}
	return out
}

// withFinish marks a message in which no call is left as simply stopped.
func withFinish(raw json.RawMessage) json.RawMessage {
	o, _ := parseObject(raw)
	list, _ := parseArray(o.get("choices"))
	for i, v := range list {
		if choice, err := parseObject(v); err == nil && choice.text("finish_reason") == "tool_calls" {
			list[i] = choice.set("finish_reason", quote("stop")).encode()
		}
	}
	if len(list) == 0 {
		return raw
	}
	return o.set("choices", encodeArray(list)).encode()
}

// eventStream reads plain events: {type: "chunk", messageId, content, tool_calls}
// and {type: "end", messageId}.
type eventStream struct {
	fragments
	head  object
	spoke bool
	tail  []json.RawMessage
}

func (s *eventStream) carrier() string { return "tool_calls" }

func (s *eventStream) chunk(raw json.RawMessage, o object) ([]json.RawMessage, error) {
	if o.lookalike("type") {
		return nil, errMixed
	}
	s.spoke = s.spoke || o.text("content") != ""
	calls := o.get("tool_calls")
	switch {
	case calls != nil && o.text("type") != "chunk":
		return nil, errMixed
	case calls != nil:
		if err := s.take(calls); err != nil {
			return nil, err
		}
		left := o.without("tool_calls")
		if s.head == nil {
			s.head = left.without("content")
		}
		if o.text("content") == "" {
			return nil, nil
		}
		return one(left), nil
	case o.text("type") == "end" || s.tail != nil:
		s.tail = append(s.tail, raw)
		return nil, nil
	}
	return []json.RawMessage{raw}, nil
}

func (s *eventStream) message() (json.RawMessage, error) {
	return s.fragments.message(s.tail != nil, false)
}

func (s *eventStream) rest(m *message) []json.RawMessage {
	var out []json.RawMessage
	calls, text := deltas(m)
	if text != "" {
		if s.spoke {
			text = "\n\n" + text
		}
		out = append(out, s.head.set("content", quote(text)).encode())
	}
	if calls != nil {
		out = append(out, s.head.set("tool_calls", calls).encode())
	}
	return append(out, s.tail...)
}

var _, _ dialect = (*chatStream)(nil), (*eventStream)(nil)
