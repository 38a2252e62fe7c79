package messages

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// blockStream reads Anthropic's events.
type blockStream struct {
	index map[string]int // of a block that passes: the index it gets
	held  map[string]*heldBlock
	order []*heldBlock
	next  int
	cut   bool // the message is not complete
	tail  []json.RawMessage
}

// heldBlock is a call as it arrives.
type heldBlock struct {
	block   object
	input   strings.Builder
	stopped bool
}

func (s *blockStream) carrier() string { return "content_block" }

func (s *blockStream) chunk(raw json.RawMessage, o object) ([]json.RawMessage, error) {
	if o.lookalike("type", "index", "delta") || o.get("content_block") != nil &&
		o.text("type") != "content_block_start" {
		return nil, errMixed
	}
	at := string(o.get("index"))
	switch o.text("type") {
	case "message_start":
		m, err := parseObject(o.get("message"))
		if err != nil || !empty(m.get("content")) {
			return nil, errMixed
		}
	case "content_block_start":
		return s.start(raw, o, at)
	case "content_block_delta", "content_block_stop":
		return s.more(raw, o, at)
	case "message_delta", "message_stop":
		if d, err := parseObject(o.get("delta")); err == nil && d.text("stop_reason") == "max_tokens" {
			s.cut = true
		}
		if len(s.order) > 0 {
			s.tail = append(s.tail, raw)
			return nil, nil
		}
	}
	return []json.RawMessage{raw}, nil
}

// start holds back a block that calls a tool, and passes on every other one.
func (s *blockStream) start(raw json.RawMessage, o object, at string) ([]json.RawMessage, error) {
	inner, err := parseObject(o.get("content_block"))
	_, passed := s.index[at]
	taken := passed || s.held[at] != nil
	if err != nil || at == "" || taken {
		return nil, errMixed
	}
	if k := block(inner).kind; k == call || k == odd {
		if len(s.order) >= MaxCalls {
			return nil, errors.New("must hold at most 64 tool calls")
		}
		b := &heldBlock{block: inner}
		s.held[at], s.order = b, append(s.order, b)
		return nil, nil
	}
	s.index[at] = s.next
	s.next++
	return s.pass(raw, o, at), nil
}

// pass passes on an event of a block, under the index that the block now has.
func (s *blockStream) pass(raw json.RawMessage, o object, at string) []json.RawMessage {
	if n := strconv.Itoa(s.index[at]); n != at {
		return one(o.set("index", json.RawMessage(n)))
	}
	return []json.RawMessage{raw}
}

func (s *blockStream) more(raw json.RawMessage, o object, at string) ([]json.RawMessage, error) {
	b := s.held[at]
	if b == nil {
		if _, ok := s.index[at]; !ok {
			return nil, errMixed
		}
		return s.pass(raw, o, at), nil
	}
	if b.stopped {
		return nil, errMixed
	}
	if o.text("type") == "content_block_stop" {
		b.stopped = true
		return nil, nil
	}
	d, err := parseObject(o.get("delta"))
	if err != nil || d.lookalike("type", "partial_json") {
		return nil, errMixed
	}
	b.input.WriteString(d.text("partial_json"))
	return nil, nil
}

func (s *blockStream) message() (json.RawMessage, error) {
	if len(s.order) == 0 {
		return nil, nil
	}
	list := make([]json.RawMessage, len(s.order))
	for i, b := range s.order {
		if !b.stopped || s.tail == nil {
			return nil, errBroken
		}
		if b.input.Len() > 0 {
			b.block = b.block.set("input", quote(b.input.String())) // as text: it may be anything
		}
		if s.cut {
			b.block = b.block.set("input", json.RawMessage("[]")) // no object: the call is refused
		} else if args := asObject(b.block.get("input")); args != nil {
			b.block = b.block.set("input", args)
		}
		list[i] = b.block.encode()
	}
	return pairs("role", "assistant", "content", encodeArray(list)).encode(), nil
}

func (s *blockStream) rest(m *message) []json.RawMessage {
	var out []json.RawMessage
	for _, it := range m.items {
		o, _ := parseObject(it.raw)
		out = append(out, s.whole(o)...)
	}
	for _, raw := range s.tail {
		o, _ := parseObject(raw)
		if d, err := parseObject(o.get("delta")); err == nil && d.text("stop_reason") == "tool_use" && !callsLeft(m) {
			raw = o.set("delta", d.set("stop_reason", quote("end_turn")).encode()).encode()
		}
		out = append(out, raw)
	}
	return out
}

// whole gives the three events of a complete block.
func (s *blockStream) whole(o object) []json.RawMessage {
	n := json.RawMessage(strconv.Itoa(s.next))
	s.next++
	event := func(kind string, more ...any) json.RawMessage {
		return pairs(append([]any{"type", kind, "index", n}, more...)...).encode()
	}
	start, delta := o.set("input", json.RawMessage("{}")), pairs("type", "input_json_delta", "partial_json",
		string(o.get("input")))
	if o.text("type") == "text" {
		start, delta = o.set("text", quote("")), pairs("type", "text_delta", "text", o.text("text"))
	}
	return []json.RawMessage{
		event("content_block_start", "content_block", start.encode()),
		event("content_block_delta", "delta", delta.encode()),
		event("content_block_stop"),
	}
}

// partStream reads Google's streamed responses. A call arrives whole.
type partStream struct {
	head  object
	parts []json.RawMessage
	tail  []json.RawMessage
}

func (s *partStream) carrier() string { return "candidates" }

func (s *partStream) chunk(raw json.RawMessage, o object) ([]json.RawMessage, error) {
	list, err := parseArray(o.get("candidates"))
	if err != nil && o.get("candidates") != nil {
		return nil, errMixed
	}
	silent, ends := len(list) > 0, false
	for i, v := range list {
		c, err := parseObject(v)
		content, errContent := parseObject(c.get("content"))
		unreadable := err != nil || errContent != nil && c.get("content") != nil
		if unreadable || c.lookalike("content") || content.lookalike("parts") {
			return nil, errMixed
		}
		left, calls, err := split(content)
		if err != nil || len(calls) > 0 && i > 0 {
			return nil, errMixed
		}
		ends = ends || c.get("finishReason") != nil
		silent = silent && len(calls) > 0 && len(left) == 0
		if len(calls) == 0 {
			continue
		}
		if s.head == nil {
			s.head = o.without("usageMetadata")
		}
		if s.parts = append(s.parts, calls...); len(s.parts) > MaxCalls {
			return nil, errors.New("must hold at most 64 tool calls")
		}
		list[i] = c.set("content", content.set("parts", encodeArray(left)).encode()).encode()
		raw = o.set("candidates", encodeArray(list)).encode()
	}
	if len(s.parts) > 0 && (ends || s.tail != nil) {
		s.tail = append(s.tail, raw)
		return nil, nil
	}
	if silent {
		return nil, nil
	}
	return []json.RawMessage{raw}, nil
}

// split divides the parts of a content into calls and the rest.
func split(content object) (left, calls []json.RawMessage, err error) {
	if content.get("parts") == nil {
		return nil, nil, nil
	}
	list, err := parseArray(content.get("parts"))
	left = []json.RawMessage{}
	for _, v := range list {
		o, err := parseObject(v)
		if err != nil {
			return nil, nil, err
		}
		switch part(o).kind {
		case call, odd:
			calls = append(calls, v)
		default:
			left = append(left, v)
		}
	}
	return left, calls, err
}

func (s *partStream) message() (json.RawMessage, error) {
	if len(s.parts) == 0 {
		return nil, nil
	}
	return pairs("role", "model", "parts", encodeArray(s.parts)).encode(), nil
}

func (s *partStream) rest(m *message) []json.RawMessage {
	if len(m.items) == 0 {
		return s.tail
	}
	list := make([]json.RawMessage, len(m.items))
	for i, it := range m.items {
		list[i] = it.raw
	}
	content := pairs("role", "model", "parts", encodeArray(list)).encode()
	c := pairs("content", content, "index", json.RawMessage("0"))
	return append(one(s.head.set("candidates", encodeArray(one(c)))), s.tail...)
}
