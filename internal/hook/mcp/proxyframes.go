package mcp

import (
	"bufio"
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxFrame is the size in bytes of a line, of an event of a stream, and of an answer over HTTP.
const maxFrame = 16 << 20

// unreadable is what a Read gives for a frame that holds no message. The connection goes on.
type unreadable struct {
	why string
	of  jsonrpc.ID // the request that it would have answered; not valid: it is not known
}

// Error says why.
func (u unreadable) Error() string { return u.why }

var errTooLong = unreadable{why: fmt.Sprintf("it is larger than %d MiB", maxFrame>>20)}

// frame is a message that came, or the reason why it is missing.
type frame struct {
	msg jsonrpc.Message
	err error
}

// maxBatch is how many messages a batch may have.
const maxBatch = 1000

// framesOf reads the text of one frame: a message, or a batch of them, each by itself.
func framesOf(text []byte) []frame {
	if jsontext.Value(text).Kind() != '[' {
		return []frame{frameOf(text)}
	}
	var out []frame
	bad := []frame{{err: unreadable{
		why: fmt.Sprintf("it is a batch that cannot be read, or that has more than %d messages", maxBatch)}}}
	d := jsontext.NewDecoder(bytes.NewReader(text), asWritten())
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != ']' {
		var raw jsontext.Value
		if raw, err = d.ReadValue(); err != nil || len(out) == maxBatch {
			return bad
		}
		out = append(out, frameOf(raw))
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	if _, after := d.ReadToken(); err != nil || !errors.Is(after, io.EOF) || len(out) == 0 {
		return bad
	}
	return out
}

// asWritten leaves it to the readers of params what a member means that is there twice.
func asWritten() json.Options {
	return json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// frameOf reads one message.
func frameOf(raw []byte) frame {
	var in struct {
		Version string             `json:"jsonrpc"`
		ID      jsontext.Value     `json:"id"`
		Method  *string            `json:"method"`
		Params  stdjson.RawMessage `json:"params"`
		Result  stdjson.RawMessage `json:"result"`
		Error   *jsonrpc.Error     `json:"error"`
	}
	if err := json.Unmarshal(raw, &in, asWritten()); err != nil || in.Version != "2.0" {
		return frame{err: unreadable{why: "it is not a JSON-RPC 2.0 message on one line"}}
	}
	id, err := idOf(in.ID)
	switch {
	case err != nil:
		return frame{err: err}
	case in.Method != nil:
		return frame{msg: &jsonrpc.Request{ID: id, Method: *in.Method, Params: in.Params}}
	case !id.IsValid():
		return frame{err: unreadable{why: "it has neither a method nor an id"}}
	case in.Error == nil && len(in.Result) == 0:
		in.Error = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer has no result"}
	}
	if in.Error != nil { // no typed nil
		return frame{msg: &jsonrpc.Response{ID: id, Error: in.Error}}
	}
	return frame{msg: &jsonrpc.Response{ID: id, Result: in.Result}}
}

const roundedFrom = 1 << 53 // from here on not every integer is one for each reader of JSON

// idOf reads an id: a string, or an integer that no reader rounds, since an answer must not come
// under another id. It is not valid if there is no id.
func idOf(raw jsontext.Value) (jsonrpc.ID, error) {
	var given any
	bad := unreadable{why: "its id is neither a string nor an integer between -2^53 and 2^53"}
	if len(raw) > 0 && json.Unmarshal(raw, &given, asWritten()) != nil {
		return jsonrpc.ID{}, bad
	}
	if n, number := given.(float64); number && (n != math.Trunc(n) || math.Abs(n) >= roundedFrom) {
		return jsonrpc.ID{}, bad
	}
	id, err := jsonrpc.MakeID(given)
	if err != nil {
		return jsonrpc.ID{}, bad
	}
	return id, nil
}

// readLine gives the next line. One that is too long is read to its end, and is errTooLong, with the
// request that it answers.
func readLine(from *bufio.Reader) (line []byte, err error) {
	var seen *outline // of a line that is too long
	for {
		part, err := from.ReadSlice('\n')
		if seen == nil && len(line)+len(part) > maxFrame {
			seen = &outline{}
			seen.read(line)
		}
		if seen != nil {
			line = nil
			seen.read(part)
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && !(errors.Is(err, io.EOF) && (seen != nil || len(line) > 0)):
			return nil, err
		case seen != nil:
			long := errTooLong
			long.of = seen.answers()
			return nil, long
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// outline reads a message without keeping it: its members' names, and its id.
type outline struct {
	depth   int
	text    bool   // within a string
	escaped bool   // behind a backslash
	value   bool   // behind a colon of the message itself
	name    []byte // of the member, with its quotes
	id      []byte
	ids     int // how many members are called id
	method  bool
}

// maxOutline is how many bytes of a name or an id are kept.
const maxOutline = 128

func (o *outline) read(text []byte) {
	for _, c := range text {
		top := o.depth == 1
		switch {
		case o.text:
			o.text = o.escaped || c != '"'
			o.escaped = !o.escaped && c == '\\'
		case c == '"':
			o.text = true
		case c == '{', c == '[':
			o.depth++
		case c == '}', c == ']':
			o.depth--
		case top && c == ':':
			o.value = true
			o.method = o.method || string(o.name) == `"method"`
			if string(o.name) == `"id"` {
				o.ids++
			}
			continue
		case top && c == ',':
			o.value, o.name = false, nil
			continue
		}
		switch isID := o.value && string(o.name) == `"id"`; {
		case !top || c == '}' || c == ' ' && !o.text:
		case isID && len(o.id) < maxOutline:
			o.id = append(o.id, c)
		case !o.value && len(o.name) < maxOutline:
			o.name = append(o.name, c)
		}
	}
}

// answers is the request that the message answers; not valid if it is not an answer, or names the request twice.
func (o *outline) answers() jsonrpc.ID {
	if o.method || o.ids != 1 || o.depth != 0 {
		return jsonrpc.ID{}
	}
	id, err := idOf(bytes.TrimSpace(o.id))
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}

// lines is a connection on which each line is a frame.
type lines struct {
	from io.Closer
	to   io.WriteCloser
	in   chan frame
	gone chan struct{}
	once sync.Once
	mu   sync.Mutex // held while a line is written
}

// Lines speaks MCP on a pair of streams, a message or a batch a line. It closes them when it is
// closed. A line that is no message is an error of one Read; the lines after it are still read.
func Lines(from io.ReadCloser, to io.WriteCloser) mcp.Connection {
	l := &lines{from: from, to: to, in: make(chan frame), gone: make(chan struct{})}
	go l.read(from)
	return l
}

func (l *lines) read(from io.Reader) {
	for r := bufio.NewReaderSize(from, 64<<10); ; {
		line, err := readLine(r)
		var frames []frame
		switch {
		case err != nil:
			frames = []frame{{err: err}}
		case len(bytes.TrimSpace(line)) > 0:
			frames = framesOf(line)
		}
		for _, f := range frames {
			select {
			case l.in <- f:
			case <-l.gone:
				return
			}
		}
		if err != nil && !errors.As(err, new(unreadable)) {
			return
		}
	}
}

// Read implements mcp.Connection.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case f := <-l.in:
		return f.msg, f.err
	case <-l.gone:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection.
func (l *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	out, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	_, err = l.to.Write(append(out, '\n'))
	return err
}

// Close implements mcp.Connection.
func (l *lines) Close() (err error) {
	l.once.Do(func() {
		close(l.gone)
		err = errors.Join(l.from.Close(), l.to.Close())
	})
	return err
}

// SessionID implements mcp.Connection.
func (l *lines) SessionID() string { return "" }
