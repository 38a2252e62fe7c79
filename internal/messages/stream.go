package messages

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"approvalbot/api"
)

// Stream is [Intercept] for one message that arrives in chunks: those of OpenAI's
// chat completions, Anthropic's events, Google's responses, or plain events
// {type: "chunk", messageId, content, tool_calls} and {type: "end"}. Text passes
// at once. Chunks of a tool call are held back until the message has ended, and
// so is the chunk that ends it. Not safe for concurrent use.
//
// The chunks of text keep their bytes, except the index of an Anthropic block
// that follows one that is held back.
type Stream struct {
	in     *interceptor
	format api.MessageFormat
	speech dialect // nil until the first chunk tells which
	held   int     // bytes
	err    error   // it broke, and no call of it may run
}

// dialect is one way to cut a message into chunks.
type dialect interface {
	// carrier names the member of a chunk in which calls may be.
	carrier() string
	// chunk takes one chunk and gives those that may pass at once.
	chunk(raw json.RawMessage, o object) ([]json.RawMessage, error)
	// message gives the calls that were held back, as an assistant message; nil
	// if no call was. It is an error if they did not arrive whole.
	message() (json.RawMessage, error)
	// rest gives the chunks for the outcome of the calls, and the chunks that
	// were held back after them.
	rest(m *message) []json.RawMessage
}

// NewStream starts a stream. The request has everything except the message.
func NewStream(approvals Approvals, req api.InterceptRequest) (*Stream, error) {
	in, err := newInterceptor(approvals, req)
	if err != nil {
		return nil, err
	}
	return &Stream{in: in, format: req.Format}, nil
}

// Chunk takes the next chunk, one JSON object, and gives those to send on now. A
// chunk that cannot be understood breaks the stream: then no call of it runs.
func (s *Stream) Chunk(raw json.RawMessage) ([]json.RawMessage, error) {
	if s.err != nil {
		return nil, s.err
	}
	pass, err := s.chunk(raw)
	s.err = err
	return pass, err
}

func (s *Stream) chunk(raw json.RawMessage) ([]json.RawMessage, error) {
	o, err := parseObject(raw)
	if err != nil {
		return nil, invalid("chunks", "must be JSON objects without duplicate names")
	}
	if s.speech == nil {
		format := api.MessageFormat("")
		if s.speech, format = dialectOf(o); s.speech == nil || s.format != "" && s.format != format {
			return nil, invalid("chunks",
				"must be those of an OpenAI chat completion, of Anthropic, of Google, or plain events chunk and end")
		}
	}
	if err := onlyIn(o, s.speech.carrier()); err != nil {
		return nil, invalid("chunks", err.Error())
	}
	pass, err := s.speech.chunk(raw, o)
	if err != nil {
		return nil, invalid("chunks", err.Error())
	}
	if len(pass) == 0 {
		s.held += len(raw)
	}
	if s.held > MaxBytes {
		return nil, invalid("chunks", fmt.Sprintf("must hold at most %d bytes that are not text", MaxBytes))
	}
	return pass, nil
}

func dialectOf(o object) (dialect, api.MessageFormat) {
	t := o.text("type")
	switch {
	case o.get("choices") != nil:
		return &chatStream{}, api.OpenAIMessages
	case o.get("candidates") != nil || o.get("promptFeedback") != nil:
		return &partStream{}, api.GoogleMessages
	case t == "start" || t == "chunk" || t == "end":
		return &eventStream{}, api.OpenAIMessages
	case t == "ping", t == "error", strings.HasPrefix(t, "message_"), strings.HasPrefix(t, "content_block_"):
		return &blockStream{index: map[string]int{}, held: map[string]*heldBlock{}}, api.AnthropicMessages
	}
	return nil, ""
}

// onlyIn refuses a chunk that carries calls at a place that its dialect does not
// read.
func onlyIn(o object, carrier string) error {
	for _, m := range o {
		for _, name := range []string{"choices", "candidates", "content_block", "tool_calls", "function_call"} {
			if fold(m.name) == fold(name) && m.name != carrier && kindOf(m.value) != 'n' {
				return errMixed
			}
		}
	}
	return nil
}

// End is called when the message has ended. It asks the desk about the calls and
// gives the chunks that are left to send, and the outcome for each call. On an
// error no held-back call may run.
func (s *Stream) End(ctx context.Context) ([]json.RawMessage, []api.MessageCall, error) {
	if s.err != nil || s.speech == nil {
		return nil, s.in.calls, s.err
	}
	s.err = invalid("chunks", "must not come after the end of the message")
	raw, err := s.speech.message()
	if err != nil {
		return nil, s.in.calls, invalid("chunks", err.Error())
	}
	if raw == nil {
		return s.speech.rest(&message{}), s.in.calls, nil
	}
	read, _, err := readReply(raw, "")
	if err != nil {
		return nil, s.in.calls, err
	}
	if _, err = s.in.all(ctx, read); err != nil {
		return nil, s.in.calls, err
	}
	return s.speech.rest(read[0]), s.in.calls, nil
}

// interceptChunks is Intercept for a stream that has ended.
func interceptChunks(ctx context.Context, approvals Approvals, req api.InterceptRequest) (api.InterceptAnswer, error) {
	out := api.InterceptAnswer{Chunks: []json.RawMessage{}, Calls: []api.MessageCall{}}
	if req.Message != nil {
		return out, invalid("chunks", "or message is required, but not both")
	}
	s, err := NewStream(approvals, req)
	if err != nil {
		return out, err
	}
	for _, raw := range req.Chunks {
		pass, err := s.Chunk(raw)
		if err != nil {
			return out, err
		}
		out.Chunks = append(out.Chunks, pass...)
	}
	rest, calls, err := s.End(ctx)
	out.Chunks, out.Calls = append(out.Chunks, rest...), calls
	return out, err
}

// one makes a list of one chunk.
func one(o object) []json.RawMessage { return []json.RawMessage{o.encode()} }

// callsLeft reports whether a call, injected or not, is still in the message.
func callsLeft(m *message) bool {
	for _, it := range m.items {
		if o, err := parseObject(it.raw); it.raw != nil && err == nil && m.shape.item(o).kind == call {
			return true
		}
	}
	return false
}
