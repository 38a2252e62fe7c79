package messages

import (
	"encoding/json"
	"strings"

	"approvalbot/api"
)

// Prepare gives the conversation as the model may see it: without any call of a
// client.* tool, any approval, and their results. A message that becomes empty
// is removed. Every other one keeps its bytes, or, if a part was taken out, the
// bytes of what remains. Preparing twice gives the same as preparing once.
func Prepare(req api.PrepareRequest) (api.PrepareAnswer, error) {
	out := api.PrepareAnswer{Messages: []json.RawMessage{}}
	if err := checkFormat(req.Format); err != nil {
		return out, err
	}
	objects, err := readMessages(req.Messages)
	if err != nil {
		return out, err
	}
	p := preparer{gone: map[string]bool{}}
	for i, raw := range req.Messages {
		p.add(raw, objects[i])
	}
	p.settle()
	out.Messages = append(out.Messages, p.kept...)
	return out, nil
}

// preparer walks a conversation. It remembers of each call id whether the last
// call of that id was taken out, so that its result goes with it.
type preparer struct {
	gone     map[string]bool
	kept     []json.RawMessage
	thoughts int  // how many of the last kept messages are reasoning items
	dangling bool // and the call that they led to is gone
}

func (p *preparer) add(raw json.RawMessage, o object) {
	left := p.strip(raw, o)
	if left == nil {
		p.dangling = p.dangling || p.thoughts > 0 && responseItem(o).kind != other
		return
	}
	if !isOutput(o) {
		p.settle()
	}
	p.kept, p.dangling = append(p.kept, left), false
	if p.thoughts++; o.text("type") != "reasoning" {
		p.thoughts = 0
	}
}

// settle removes reasoning items that no output follows. OpenAI requires each
// to precede the output that it led to.
func (p *preparer) settle() {
	if p.dangling {
		p.kept = p.kept[:len(p.kept)-p.thoughts]
		p.thoughts, p.dangling = 0, false
	}
}

// isOutput reports whether an item of a response may follow reasoning.
func isOutput(o object) bool {
	t := o.text("type")
	return strings.HasSuffix(t, "_call") || t == "message" && o.text("role") == "assistant"
}

// strip removes the parts of one message that the model must not see; nil if no
// part is left.
func (p *preparer) strip(raw json.RawMessage, o object) json.RawMessage {
	for _, sh := range shapes() {
		m := sh.read(raw, o)
		for i, it := range m.items {
			switch it.kind {
			case call, odd:
				if p.gone[it.id] = ours(it.id, it.name); p.gone[it.id] {
					m.drop(i)
				}
			case result:
				if ours(it.id, it.name) || it.id != "" && p.gone[it.id] {
					m.drop(i)
				}
			}
		}
		if !m.changed {
			continue
		}
		if raw = m.encode(); raw == nil {
			return nil
		}
		o, _ = parseObject(raw)
	}
	return raw
}
