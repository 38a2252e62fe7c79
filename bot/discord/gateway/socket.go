package gateway

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Dial opens a connection to the gateway.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

const (
	dialTimeout  = 10 * time.Second // until the WebSocket is open
	helloTimeout = 10 * time.Second // from there to HELLO, and from that to READY or RESUMED
	writeTimeout = 10 * time.Second
	maxFrame     = 16 << 20
)

// Gateway opcodes (Topics, Opcodes and Status Codes).
const (
	opDispatch       = 0
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opHeartbeatAck   = 11
)

// ending describes how a gateway connection ended.
type ending struct {
	code      int  // close code that Discord gave, or 0
	invalid   bool // op 9: the session, or the try to begin one, is refused
	resumable bool // with invalid: the session goes on all the same
	err       error
}

// Socket reads along below discordgo, which hangs when op 7 comes early, answers
// op 9 on the same connection, waits for five lost heartbeats, closes with 1000
// (which ends the session) and does not report the close code. Op 7 and 9 end
// the connection here and never reach the library; so does the lack of an
// acknowledgement. All Discord's frames are whole messages, neither masked nor
// compressed.
type Socket struct {
	net.Conn
	in  *bufio.Reader
	out []byte // read and not yet given on

	upgraded bool
	beat     time.Duration // how often there is an acknowledgement; 0 before HELLO
	ready    bool
	due      time.Time // by which a frame must have come

	writing sync.Mutex
	once    sync.Once
	end     ending
	down    chan struct{} // closed when the connection has ended, and end is set
	// leaving is closed when the library closes the session, or is about to: from then
	// on it holds its lock.
	leaving chan struct{}
	left    chan struct{} // closed when it has closed it: it releases the lock at once
	begun   sync.Once
	ended   sync.Once
	resume  func(url string)
}

func newSocket(c net.Conn, resume func(url string)) *Socket {
	return &Socket{
		Conn: c, in: bufio.NewReaderSize(c, 4096), due: time.Now().Add(dialTimeout), resume: resume,
		down: make(chan struct{}), leaving: make(chan struct{}), left: make(chan struct{}),
	}
}

// SetDeadline and the others have no effect: the socket sets its own deadlines.
func (s *Socket) SetDeadline(time.Time) error      { return nil }
func (s *Socket) SetReadDeadline(time.Time) error  { return nil }
func (s *Socket) SetWriteDeadline(time.Time) error { return nil }

// endPause is how long the library may run before it is told of the end, leaveTime
// how long it may take to close a session; it sleeps for a second of it.
const (
	endPause  = 10 * time.Millisecond
	leaveTime = 3 * time.Second
)

// Read gives the next bytes from Discord that the library may see.
func (s *Socket) Read(p []byte) (int, error) {
	for len(s.out) == 0 {
		err := s.Conn.SetReadDeadline(s.due)
		if err == nil {
			s.out, err = s.next()
		}
		if err != nil {
			err = s.cut(ending{err: err})
			s.letLeave()
			return 0, err
		}
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// letLeave waits until the library may be told of the end. It closes a session
// under the lock that its heartbeat needs to begin with, and holds it for a
// second: so the heartbeat begins first, and if it closes the session it
// finishes, since the reader needs the lock too.
func (s *Socket) letLeave() {
	time.Sleep(endPause)
	select {
	case <-s.leaving:
	default:
		return
	}
	select {
	case <-s.left:
	case <-time.After(leaveTime):
	}
}

// Write sends bytes, but never the library's close frame: its code would end the
// session, and it may come late from an earlier connection. It cuts the
// connection instead.
func (s *Socket) Write(p []byte) (int, error) {
	if len(p) > 0 && p[0] == 0x88 {
		s.begun.Do(func() { close(s.leaving) })
		return 0, s.cut(ending{err: net.ErrClosed})
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	err := s.Conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	n := 0
	if err == nil {
		n, err = s.Conn.Write(p)
	}
	if err != nil { // the heartbeat's: it closes the session now, without a close frame
		s.begun.Do(func() { close(s.leaving) })
	}
	return n, err
}

// Close ends the connection.
func (s *Socket) Close() error {
	s.ended.Do(func() { close(s.left) })
	_ = s.cut(ending{err: net.ErrClosed})
	return nil
}

// cut ends the connection at once, and returns the error for the library: the
// first reason that was given.
func (s *Socket) cut(e ending) error {
	s.once.Do(func() {
		s.end = e
		_ = s.Conn.Close()
		close(s.down)
	})
	return errEnded
}

var errEnded = errors.New("the gateway connection has ended")

// farewell closes the session for good (close code 1000) and cuts the connection.
// It takes a moment at most.
func (s *Socket) farewell() {
	frame := []byte{0x88, 0x82, 0, 0, 0, 0, 0, 0}
	_, _ = rand.Read(frame[2:6])
	frame[6], frame[7] = 1000>>8^frame[2], 1000&0xFF^frame[3]
	if s.writing.TryLock() {
		_ = s.Conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
		_, _ = s.Conn.Write(frame)
		s.writing.Unlock()
	}
	_ = s.cut(ending{err: net.ErrClosed})
}

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

// look examines a frame. If it returns an error, the connection ends before the
// library sees the frame.
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
		return errors.New("the gateway sent something other than JSON")
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

// acknowledged extends the connection's deadline beyond the next acknowledgement.
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
