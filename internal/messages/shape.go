package messages

import (
	"encoding/json"
	"errors"

	"approvalbot/api"
)

// kind is the role of a message's item in the approval flow.
type kind int

const (
	other  kind = iota
	call        // the model calls a tool
	result      // a tool's answer
	odd         // it may be a call to some reader, and cannot be judged
)

// item is one part of a message: a call, a result, or anything else.
type item struct {
	kind kind
	raw  json.RawMessage // nil: it is empty and left out
	obj  object

	id, name string          // of the call; a result has the id of its call
	args     json.RawMessage // of a call: a JSON object, nil if it cannot be read
	output   json.RawMessage // of a result
	note     string          // a sentence that replaces a refused call
}

// shape is one way to write calls and results into messages.
type shape struct {
	format api.MessageFormat
	list   string              // the member that holds the items; "": the message is itself the item
	item   func(o object) item // reads one item; never fails
	// call writes a call in the place of another and keeps the other members.
	call func(o object, id, name string, args json.RawMessage) object
	// note writes a sentence in the place of a call; nil if it joins the content.
	note func(text string) json.RawMessage
	bare func(o object, items []item) bool               // no content is left that a model would need
	wrap func(calls []json.RawMessage) []json.RawMessage // makes assistant messages of calls
}

// like reports whether both have their calls at the same place of a message.
func (s *shape) like(other *shape) bool { return s.format == other.format && s.list == other.list }

// shapes are all of them. A message is read with each, since frameworks mix them.
func shapes() []*shape {
	return []*shape{chatCalls(), chatResults(), chatFunction(), responseItems(), blocks(), parts()}
}

// message is a chat message read in one shape.
type message struct {
	shape   *shape
	raw     json.RawMessage
	obj     object
	items   []item
	changed bool
}

// read reads a message in one shape. It has no items if the shape does not
// apply.
func (sh *shape) read(raw json.RawMessage, o object) *message {
	m := &message{shape: sh, raw: raw, obj: o}
	if sh.list == "" {
		if it := sh.item(o); it.kind != other {
			it.raw, it.obj = raw, o
			m.items = []item{it}
		}
		return m
	}
	list, err := parseArray(o.get(sh.list))
	if err != nil {
		return m
	}
	for _, v := range list {
		it := item{kind: odd}
		if inner, err := parseObject(v); err == nil {
			it = sh.item(inner)
			it.obj = inner
		} else if kindOf(v) == '"' { // a bare string is text
			it.kind = other
		}
		it.raw = v
		m.items = append(m.items, it)
	}
	return m
}

// has reports whether the message has items of one of the kinds.
func (m *message) has(kinds ...kind) bool {
	for _, it := range m.items {
		for _, k := range kinds {
			if it.kind == k {
				return true
			}
		}
	}
	return false
}

// drop takes an item out.
func (m *message) drop(i int) { m.items[i].raw, m.changed = nil, true }

// refuse puts a sentence in the place of a call.
func (m *message) refuse(i int, text string) {
	m.changed = true
	m.items[i].raw, m.items[i].note = nil, text
	if m.shape.note != nil {
		m.items[i].raw = m.shape.note(text)
	}
}

// replace puts another call in the place of a call.
func (m *message) replace(i int, id, name string, args json.RawMessage) {
	m.changed = true
	m.items[i].raw = m.shape.call(m.items[i].obj, id, name, args).encode()
}

// encode writes the message: its own bytes if it is unchanged, nil if it has
// become empty.
func (m *message) encode() json.RawMessage {
	if !m.changed {
		return m.raw
	}
	if m.shape.list == "" {
		return m.items[0].raw
	}
	o, list, left := m.obj, []json.RawMessage{}, []item{}
	for _, it := range m.items {
		if it.raw != nil {
			list, left = append(list, it.raw), append(left, it)
		} else if it.note != "" {
			o = withText(o, it.note)
		}
	}
	if m.shape.bare(o, left) {
		return nil
	}
	if len(list) == 0 {
		return o.without(m.shape.list).encode()
	}
	return o.set(m.shape.list, encodeArray(list)).encode()
}

// withText adds a paragraph to a chat message's content.
func withText(o object, text string) object {
	content := o.get("content")
	switch {
	case kindOf(content) == '[':
		list, _ := parseArray(content)
		return o.set("content", encodeArray(append(list, pairs("type", "text", "text", text).encode())))
	case unquote(content) != "":
		return o.set("content", quote(unquote(content)+"\n\n"+text))
	}
	return o.set("content", quote(text))
}

// asObject gives args that are a JSON object, or hold one as text; nil for
// anything else. No args at all are an empty object.
func asObject(raw json.RawMessage) json.RawMessage {
	if kindOf(raw) == '"' {
		raw = json.RawMessage(unquote(raw))
	}
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	if canonical(raw) == nil || kindOf(raw) != '{' {
		return nil
	}
	return raw
}

// readMessages reads a list of messages: each must be a JSON object.
func readMessages(list []json.RawMessage) ([]object, error) {
	out := make([]object, len(list))
	for i, raw := range list {
		o, err := parseObject(raw)
		if err != nil {
			return nil, invalid("messages", "must be chat messages: JSON objects without duplicate names")
		}
		out[i] = o
	}
	return out, nil
}

var (
	errMixed     = errors.New("must hold its calls in one shape, under the names that its provider uses")
	errAssistant = errors.New("must be what a model said: one assistant message, or the output items of a response")
)
