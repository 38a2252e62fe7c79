package gateway

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
)

// next reads one line of the handshake, or one frame.
func (s *Socket) next() ([]byte, error) {
	if !s.upgraded {
		line, err := s.in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if strings.TrimRight(string(line), "\r\n") == "" && err == nil {
			s.upgraded, s.due = true, time.Now().Add(helloTimeout)
		}
		return append([]byte(nil), line...), err
	}
	head, err := s.in.Peek(2)
	if err != nil {
		return nil, err
	}
	size, extra := int(head[1]&0x7F), 0
	switch size {
	case 126:
		extra = 2
	case 127:
		extra = 8
	}
	head = make([]byte, 2+extra)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return nil, err
	}
	switch extra {
	case 2:
		size = int(binary.BigEndian.Uint16(head[2:]))
	case 8:
		size = int(min(binary.BigEndian.Uint64(head[2:]), maxFrame+1))
	}
	if size > maxFrame || head[1]&0x80 != 0 {
		return nil, errors.New("a frame of the gateway is too large or masked")
	}
	frame := append(head, make([]byte, size)...)
	if _, err := io.ReadFull(s.in, frame[len(head):]); err != nil {
		return nil, err
	}
	return frame, s.look(frame[0], frame[len(head):])
}

// look takes note of a frame. An error ends the connection before the library
// has seen it.
func (s *Socket) look(kind byte, payload []byte) error {
	const text, closing, whole = 0x1, 0x8, 0x80
	switch {
	case kind&0xF == closing && len(payload) >= 2:
		_ = s.cut(ending{code: int(binary.BigEndian.Uint16(payload))})
		return errEnded
	case kind != whole|text:
		return nil
	}
	var e struct {
		Op   int             `json:"op"`
		Type string          `json:"t"`
		Data json.RawMessage `json:"d"`
	}
	if json.Unmarshal(payload, &e) != nil {
		return errors.New("the gateway sent something else than JSON")
	}
	return s.event(e.Op, e.Type, e.Data)
}

func (s *Socket) event(op int, kind string, data json.RawMessage) error {
	switch op {
	case opReconnect:
		return s.cut(ending{err: errors.New("the gateway asks to reconnect")})
	case opInvalidSession:
		return s.cut(ending{invalid: true, resumable: string(data) == "true"})
	case opHello:
		var hello struct {
			Interval int64 `json:"heartbeat_interval"`
		}
		if json.Unmarshal(data, &hello) != nil || hello.Interval <= 0 {
			return errors.New("HELLO names no heartbeat interval")
		}
		s.beat = time.Duration(hello.Interval) * time.Millisecond
		s.due = time.Now().Add(helloTimeout)
	case opHeartbeatAck:
		s.acknowledged()
	case opDispatch:
		s.dispatched(kind, data)
	}
	return nil
}

// acknowledged gives the connection until after the next acknowledgement.
func (s *Socket) acknowledged() {
	if s.ready {
		s.due = time.Now().Add(s.beat + min(s.beat/2, 10*time.Second) + 2*time.Second)
	}
}

func (s *Socket) dispatched(kind string, data json.RawMessage) {
	if kind != "READY" && kind != "RESUMED" {
		return
	}
	s.ready = true
	s.acknowledged()
	var ready struct {
		URL string `json:"resume_gateway_url"`
	}
	if kind == "READY" && json.Unmarshal(data, &ready) == nil {
		s.resume(ready.URL)
	}
}
