package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// conn is one HTTP/1.1 connection that is kept alive. It does as little as it
// can: the load shares the processors with what it measures.
type conn struct {
	net  net.Conn
	in   *bufio.Reader
	body []byte
}

// patience is how long a connection may live: no measurement hangs for ever.
const patience = 3 * time.Minute

// dial connects to host:port; buffer is in bytes and bounds a header's length.
func dial(addr string, buffer int) (*conn, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	return &conn{net: c, in: bufio.NewReaderSize(c, buffer)}, nil
}

// request is what goes over the wire, made once.
func request(method, path, token, body string) []byte {
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: desk\r\n", method, path)
	if token != "" {
		b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", token)
	}
	if body != "" {
		b = fmt.Appendf(b, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return fmt.Appendf(b, "\r\n%s", body)
}

// do sends a request and gives the answer's body, which the next call
// overwrites. A status other than 2xx is an error.
func (c *conn) do(req []byte) ([]byte, error) {
	if _, err := c.net.Write(req); err != nil {
		return nil, err
	}
	status, length, chunked, err := c.head()
	if err != nil {
		return nil, err
	}
	var body io.Reader = io.LimitReader(c.in, length)
	if chunked {
		body = httputil.NewChunkedReader(c.in)
	}
	into := bytes.NewBuffer(c.body[:0])
	if _, err := into.ReadFrom(body); err != nil {
		return nil, err
	}
	if c.body = into.Bytes(); chunked {
		if _, err := c.in.Discard(2); err != nil {
			return nil, err
		}
	}
	if status < 200 || status > 299 {
		return nil, fmt.Errorf("answered %d: %.300s", status, c.body)
	}
	return c.body, nil
}

// head reads the status line and what says how long the body is.
func (c *conn) head() (status int, length int64, chunked bool, err error) {
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, 0, false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if len(line) < 12 {
				return 0, 0, false, errors.New("no HTTP answer")
			}
			status, err = strconv.Atoi(string(line[9:12]))
		case len(line) == 0:
			return status, length, chunked, nil
		case header(line, "Content-Length: "):
			length, err = strconv.ParseInt(string(line[16:]), 10, 64)
		case header(line, "Transfer-Encoding: chunked"):
			chunked = true
		}
		if err != nil {
			return 0, 0, false, err
		}
	}
}

func header(line []byte, start string) bool {
	return len(line) >= len(start) && bytes.EqualFold(line[:len(start)], []byte(start))
}

// sample is what one turn of a load gave.
type sample struct {
	perSecond float64
	p50, p99  time.Duration
	count     int
}

// load sends the requests, one after the other, over so many connections for so
// long. The first error ends it.
func load(addr string, reqs [][]byte, connections int, span time.Duration) (sample, error) {
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var stop atomic.Bool
	var wg sync.WaitGroup
	began := time.Now()
	timer := time.AfterFunc(span, func() { stop.Store(true) })
	defer timer.Stop()
	for i := range connections {
		wg.Go(func() {
			took, err := hammer(addr, reqs, i, &stop)
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", addr, err)
				stop.Store(true)
			}
		})
	}
	wg.Wait()
	took := time.Since(began).Seconds()
	if failed != nil {
		return sample{}, failed
	}
	return sample{perSecond: float64(len(all)) / took, p50: median(all), p99: quantile(all, 0.99), count: len(all)}, nil
}

func hammer(addr string, reqs [][]byte, at int, stop *atomic.Bool) (took []time.Duration, err error) {
	c, err := dial(addr, 4096)
	if err != nil {
		return nil, err
	}
	defer c.net.Close()
	for !stop.Load() {
		began := time.Now()
		if _, err := c.do(reqs[at%len(reqs)]); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		at++
	}
	return took, nil
}
