package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	quietTime = 45 * time.Second // the desk sends a sign of life every 15
	maxLine   = 4 << 20          // bytes of one line of the stream
)

// Events follows what happens to approvals, your own or with operator.approvals
// all of them, and gives each event to fn, once and in order. lastID is the id
// (Seq, in decimals) after which it begins: "0" for the start of the log, empty
// for now. It reconnects if the desk is down, restarting or busy, and resumes
// from its last event; if none has come yet, it begins with the events after
// the reconnection.
//
// It ends with ctx's error, with fn's, or with a final refusal of the desk.
func (c *Client) Events(ctx context.Context, lastID string, fn func(Event) error) error {
	return c.Follow(ctx, lastID, func(bool) {}, fn)
}

// Follow is [Client.Events] that also tells when the stream opens and when it is
// lost. Events that happened before the first received one, while the stream was
// not open, are not told: a caller that keeps a list must read it from the desk
// when open is true.
func (c *Client) Follow(ctx context.Context, lastID string, state func(open bool), fn func(Event) error) error {
	s := &stream{client: c, last: lastID, state: state, fn: fn}
	backoff := firstBackoff
	for {
		err := s.read(ctx)
		var refused *Problem
		var ended *endError
		pause := s.retry
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &ended):
			return ended.error
		case errors.As(err, &refused) && !refused.passing():
			return err
		case refused != nil:
			pause = refused.RetryAfter
		}
		if s.opened {
			s.opened, backoff = false, firstBackoff
		}
		if !sleep(ctx, max(pause, backoff)) {
			return context.Cause(ctx)
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// stream is a stream of server-sent events over several connections (WHATWG HTML,
// Server-sent events).
type stream struct {
	client *Client
	last   string
	state  func(bool)
	fn     func(Event) error
	opened bool          // in this connection
	retry  time.Duration // as the desk asks
}

// endError is an error after which there is no next connection.
type endError struct{ error }

// read follows one connection to its end.
func (s *stream) read(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(quietTime, cancel)
	defer quiet.Stop()
	req, err := s.client.request(ctx, call{method: http.MethodGet, path: "/v1/events"})
	if err != nil {
		return &endError{err}
	}
	req.Header.Set("Accept", "text/event-stream")
	if s.last != "" {
		req.Header.Set("Last-Event-ID", s.last)
	}
	res, err := s.client.http().Do(req)
	if err != nil {
		return notReached(req.URL, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(io.LimitReader(res.Body, maxLine))
		return problemOf(res, body)
	}
	if kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); strings.TrimSpace(kind) != "text/event-stream" {
		return &endError{errors.New("the server did not answer with an event stream; is " +
			"it an approval desk that has events?")}
	}
	s.opened = true
	s.state(true)
	defer s.state(false)
	return s.lines(res.Body, func() { quiet.Reset(quietTime) })
}

// lines reads events, each ended by an empty line.
func (s *stream) lines(body io.Reader, alive func()) error {
	in := bufio.NewScanner(body)
	in.Buffer(nil, maxLine)
	id, data := "", ""
	for in.Scan() {
		alive()
		line := strings.TrimSuffix(in.Text(), "\r")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != "":
			if err := s.give(id, data); err != nil {
				return err
			}
			data = ""
		case name == "id":
			id = value
		case name == "data" && data != "":
			data += "\n" + value
		case name == "data":
			data = value
		case name == "retry":
			if ms, err := strconv.ParseUint(value, 10, 31); err == nil {
				s.retry = min(time.Duration(ms)*time.Millisecond, maxBackoff)
			}
		}
	}
	return in.Err()
}

func (s *stream) give(id, data string) error {
	var e Event
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return &endError{fmt.Errorf("an event of the approval desk is not the JSON it should be: %w", err)}
	}
	if err := s.fn(e); err != nil {
		return &endError{err}
	}
	if s.last = id; id == "" {
		s.last = strconv.FormatInt(e.Seq, 10)
	}
	return nil
}
