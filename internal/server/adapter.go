package server

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/panics"
	"approvalbot/internal/server/auth"
	"approvalbot/internal/server/connection"
)

// route is one line of the API's table.
type route struct {
	method, path string
	name         string // operation id of the description
	summary      string
	scopes       []auth.Scope // one of them is needed; empty: no token is needed
	query        []param
	in, out      reflect.Type    // bodies; nil if there is no body
	ins, outs    reflect.Type    // bodies instead, for many at once; nil if not allowed
	maxBody      int64           // bytes; 0 means maxBody
	media        string          // type of out; empty: JSON, or events of a stream
	status       []int           // of a success
	codes        []approval.Code // of refusals, beside those that every route of its kind has
	serve        func(*call, []byte) (answer, error)
	hook         bool             // instead of serve, for agent runtimes: see hooks
	raw          http.HandlerFunc // instead of serve, for what is no API call
	stream       streamFunc       // instead of serve, for an answer that goes on
}

// streamFunc writes an answer by itself. An error is only for what was found
// before the first byte.
type streamFunc func(*call, http.ResponseWriter, *http.Request) error

// call is one authenticated request.
type call struct {
	ctx   context.Context
	who   core.Caller
	token [32]byte // its hash
	still core.Standing
	id    string
	query query
}

// answer is what a route gives back. Its location is sent with an error too, so
// that the client finds what was created before the failed step.
type answer struct {
	status   int
	location string
	body     any   // a [*bytes.Buffer] is JSON already, and write's from then on
	wait     *wait // instead of all else: this comes first
}

// with makes a route's serve from a function that takes the decoded body.
func with[In any](fn func(*call, In) (answer, error)) func(*call, []byte) (answer, error) {
	return func(c *call, body []byte) (answer, error) {
		var in In
		if err := Decode(body, &in); err != nil {
			return answer{}, err
		}
		return fn(c, in)
	}
}

// without makes a route's serve from a function that takes no body.
func without(fn func(*call) (answer, error)) func(*call, []byte) (answer, error) {
	return func(c *call, _ []byte) (answer, error) { return fn(c) }
}

// streaming makes the handler of a route whose answer goes on.
func (s *Server) streaming(rt *route, seen func(status int, took time.Duration)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		c, err := s.admit(rt, r)
		if err == nil {
			err = skipBody(w, r)
		}
		if err == nil {
			connection.Authenticated(w, r)
			seen(http.StatusOK, time.Since(start)) // the length of a stream is no measure of the desk
			err = rt.stream(c, w, r)
		}
		if err != nil {
			seen(s.refuse(w, r, err), time.Since(start))
		}
	}
}

// serve does what is the same for every route with a body.
func (s *Server) serve(rt *route, w http.ResponseWriter, r *http.Request) (answer, error) {
	c, err := s.admit(rt, r)
	if err != nil {
		return answer{}, err
	}
	var body []byte
	if rt.in != nil {
		body, err = readBody(w, r, cmp.Or(rt.maxBody, maxBody))
	} else {
		err = skipBody(w, r)
	}
	if err == nil {
		_, err = c.still() // the body may have taken long
	}
	if err != nil {
		return answer{}, err
	}
	connection.Authenticated(w, r)
	a, err := rt.serve(c, body)
	s.gate.Forbidden(c.ctx, c.who, rt.pattern(), err)
	return a, err
}

// pattern names a route in the log.
func (rt *route) pattern() string { return rt.method + " " + rt.path }

// admit does what is the same for every route, in this order: who, may it, is
// the request well-formed.
func (s *Server) admit(rt *route, r *http.Request) (*call, error) {
	who, token, err := s.Tokens.Authenticate(r.Header.Values("Authorization"))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(rt.scopes, func(x auth.Scope) bool { return x.Of(who) }) {
		err = approval.Refuse(approval.CodeForbidden, "This token may not do that: it needs the scope %s.", scopeWords(rt.scopes))
		s.gate.Forbidden(r.Context(), who, rt.pattern(), err)
		return nil, err
	}
	c := &call{ctx: r.Context(), who: who, token: token, still: s.Tokens.Standing(token, who), id: r.PathValue("id")}
	if c.query, err = parseQuery(r.URL.RawQuery, rt.query); err != nil {
		return nil, err
	}
	if session := r.PathValue("sessionKey"); session != "" {
		c.id = session
	}
	if person := r.PathValue("name"); person != "" {
		c.id = person
	}
	if strings.Contains(rt.path, "{id}") && !approval.ValidID(c.id) {
		return nil, approval.Refuse(approval.CodeNotFound, "%s", nothingOf(rt.path))
	}
	return c, nil
}

// nothingOf says that what a path names by its id is not there, as the store would.
func nothingOf(path string) string {
	switch {
	case strings.HasPrefix(path, "/v1/grants/"):
		return "There is no such grant."
	case strings.HasPrefix(path, "/v1/pairing/"):
		return "There is no such pairing."
	case strings.HasPrefix(path, "/v1/callbacks/"):
		return "There is no failed callback with that id."
	}
	return "There is no such approval."
}

func scopeWords(scopes []auth.Scope) string {
	words := make([]string, len(scopes))
	for i, x := range scopes {
		words[i] = string(x)
	}
	return strings.Join(words, " or ")
}

// write sends one JSON answer.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, kind []string, body any) {
	b, is := body.(*bytes.Buffer)
	if !is {
		b = newBuffer()
		if err := json.MarshalWrite(b, body, encoding); err != nil { // plain values always marshal
			panic(fmt.Sprintf("answer of %s: %v", r.URL.Path, err))
		}
	}
	send(w, status, kind, b.Bytes())
	if b.Cap() <= maxBuffer {
		b.Reset()
		buffers.Put(b)
	}
}

// maxBuffer is how large a buffer may be that is kept for another answer.
const maxBuffer = 1 << 20

// buffers are for answers: a new buffer for each would have to grow from zero.
var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func newBuffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// send sends an answer that is JSON already.
func send(w http.ResponseWriter, status int, kind []string, b []byte) {
	h := w.Header()
	h["Content-Type"] = kind
	h["Content-Length"] = []string{strconv.Itoa(len(b) + 1)}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // a client that has gone needs no answer
}

// encoding is how answers are written.
var encoding = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
	json.Deterministic(true))

// Values of headers that every answer has. They are never changed.
var (
	plainJSON   = []string{"application/json"}
	problemJSON = []string{"application/problem+json"}
	noSniff     = []string{"nosniff"}
	noStore     = []string{"no-store"}
)

// methods are the handlers of one path.
type methods map[string]http.HandlerFunc

func (s *Server) byMethod(m methods) http.HandlerFunc {
	if get := m[http.MethodGet]; get != nil {
		m[http.MethodHead] = get
	}
	allow := strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	return func(w http.ResponseWriter, r *http.Request) {
		if h := m[r.Method]; h != nil {
			h(w, r)
			return
		}
		w.Header().Set("Allow", allow)
		s.refuse(w, r, approval.Refuse(codeMethodNotAllowed, "This path takes %s.", allow))
	}
}

// outermost is around everything: headers, odd paths, panics.
func (s *Server) outermost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = noSniff
		h["Cache-Control"] = noStore
		r = connection.Arriving(w, r, maxWait+answerTime)
		defer connection.Left(w, r)
		deny := func() {
			s.refuse(w, r, approval.Refuse(approval.CodeUnavailable, "The approval desk cannot answer this request."))
		}
		defer panics.Catch(s.log, deny, "a request caused a panic; it was answered with an error", "path", r.URL.Path)
		// As it came: a session's key may hold slashes and dots, as %2F and %2E.
		if p := r.URL.EscapedPath(); p != "/" && path.Clean(p) != strings.TrimSuffix(p, "/") {
			s.nothingHere(w, r) // a mux would redirect, and a POST would lose its body
			return
		}
		next.ServeHTTP(w, r)
	})
}
