package fakechat

import (
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
)

// maxDiscordBody is the size of a request (Discord, "Message": create message).
const maxDiscordBody = 25 << 20

// dcQuery is one request to the REST API.
type dcQuery struct {
	dc        *Discord
	r         *http.Request
	call      *DiscordCall
	raw       json.RawMessage            // the JSON body
	fields    map[string]json.RawMessage // its members, if it is an object
	files     map[string]*DiscordAttachment
	fileOrder []string
	path      func(name string) string // parts of the route
}

// dcResult is an answer with a status other than 200; a nil value has no body.
type dcResult struct {
	status int
	value  any
}

// dcRoute runs a request with the lock held.
type dcRoute func(*dcQuery) (any, *dcError)

var apiPath = regexp.MustCompile(`^/api(?:/v([0-9]+))?(/.*)$`)

// serve is the HTTP handler; it runs without the lock.
func (dc *Discord) serve(w http.ResponseWriter, r *http.Request) {
	if !dc.enter() {
		panic(http.ErrAbortHandler)
	}
	defer dc.running.Done()
	if strings.HasPrefix(r.URL.Path, "/gateway") {
		dc.gateway.serve(w, r)
		return
	}
	w.Header().Set("Date", dc.Now().UTC().Format(http.TimeFormat))
	parts := apiPath.FindStringSubmatch(r.URL.Path)
	q := &dcQuery{dc: dc, r: r, path: r.PathValue, call: &DiscordCall{Method: r.Method, Path: r.URL.Path, Query: r.URL.Query()}}
	switch {
	case parts == nil:
		q.answer(w, nil, failure(http.StatusNotFound, 0, "404: Not Found"))
		return
	case parts[1] != "" && parts[1] != "9" && parts[1] != "10":
		q.answer(w, nil, failure(http.StatusBadRequest, 50041, "Invalid API version"))
		return
	}
	q.call.Version, q.call.Path = parts[1], parts[2]
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = parts[2], ""
	q.r = inner
	_, pattern := dc.mux.Handler(inner)
	_, q.call.Route, _ = strings.Cut(pattern, " ")
	err := q.readBody(http.MaxBytesReader(w, r.Body, maxDiscordBody))
	dc.record(q.call, r.Header)
	if pattern == "" {
		err = dc.noRoute(parts[2])
	}
	if err == nil {
		err = dc.admit(q)
	}
	if err != nil {
		q.finish(err.status, err, "")
		q.answer(w, nil, err)
		return
	}
	inner = inner.WithContext(withQuery(inner.Context(), q))
	dc.mux.ServeHTTP(w, inner)
}

// noRoute tells an unknown path from a wrong method.
func (dc *Discord) noRoute(path string) *dcError {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete} {
		probe, err := http.NewRequest(method, "http://discord.invalid"+path, nil)
		if err != nil {
			break
		}
		if _, pattern := dc.mux.Handler(probe); pattern != "" {
			return failure(http.StatusMethodNotAllowed, 0, "405: Method Not Allowed")
		}
	}
	return failure(http.StatusNotFound, 0, "404: Not Found")
}

// perform runs a request with its scripted fault, if there is one.
func (q *dcQuery) perform(w http.ResponseWriter, run dcRoute) {
	fault := q.dc.takeFault(q)
	if fault.is(Before) && q.strike(w, fault, nil) {
		return
	}
	value, err := q.run(run)
	if fault.is(After) && q.strike(w, fault, newDiscordReply(value, err)) {
		return
	}
	status := newDiscordReply(value, err).code
	q.finish(status, err, fault.name())
	q.answer(w, value, err)
}

func (q *dcQuery) run(run dcRoute) (any, *dcError) {
	q.dc.mu.Lock()
	defer q.dc.mu.Unlock()
	defer q.dc.wake()
	if err := q.dc.limits.take(q.dc.now(), q); err != nil {
		return nil, err
	}
	return run(q)
}

// admit checks the caller. Interaction callbacks and webhooks carry their own token, GET
// /gateway needs no token.
func (dc *Discord) admit(q *dcQuery) *dcError {
	dc.mu.Lock()
	defer dc.mu.Unlock()
	agent := q.r.Header.Get("User-Agent")
	token, bot := strings.CutPrefix(q.r.Header.Get("Authorization"), "Bot ")
	switch {
	case dc.limits.banned(dc.now()):
		return &dcError{status: http.StatusForbidden, message: "error code: 1015", page: true}
	case !dc.opts.AnyUserAgent && !strings.HasPrefix(agent, "DiscordBot ("):
		return failure(http.StatusForbidden, 40333, "internal network error")
	case q.open():
		return nil
	case !bot || dc.revoked || token != dc.token:
		return failure(http.StatusUnauthorized, 0, "401: Unauthorized")
	}
	return nil
}

func (q *dcQuery) open() bool {
	route := q.call.Route
	return route == "/gateway" || strings.HasPrefix(route, "/interactions/") || strings.HasPrefix(route, "/webhooks/")
}

// interactive requests are outside the global limit (Discord, "Receiving and
// Responding to Interactions").
func (q *dcQuery) interactive() bool { return q.open() && q.call.Route != "/gateway" }

// readBody reads JSON, or multipart with payload_json and files[n].
func (q *dcQuery) readBody(body io.Reader) *dcError {
	kind, parameters, _ := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if kind == "multipart/form-data" {
		return q.readParts(multipart.NewReader(body, parameters["boundary"]))
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return failure(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
	}
	return q.readJSON(data)
}

func (q *dcQuery) readJSON(data []byte) *dcError {
	q.raw, q.call.Body = data, data
	if len(data) == 0 {
		return nil
	}
	if !json.Valid(data) {
		return failure(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	}
	_ = json.Unmarshal(data, &q.fields) // a list has no members
	return nil
}

func (q *dcQuery) readParts(reader *multipart.Reader) *dcError {
	q.files = make(map[string]*DiscordAttachment)
	for {
		part, err := reader.NextPart()
		if err == io.EOF {
			q.call.Files = q.fileList()
			return nil
		}
		if err != nil {
			return failure(http.StatusBadRequest, 50035, "Invalid Form Body")
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return failure(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
		}
		name := part.FormName()
		if name == "payload_json" {
			if err := q.readJSON(data); err != nil {
				return err
			}
			continue
		}
		q.files[name] = &DiscordAttachment{Filename: part.FileName(), ContentType: part.Header.Get("Content-Type"), Data: data}
		q.fileOrder = append(q.fileOrder, name)
	}
}

func (q *dcQuery) fileList() []DiscordAttachment {
	var files []DiscordAttachment
	for _, name := range q.fileOrder {
		files = append(files, *q.files[name])
	}
	return files
}

func newDiscordReply(value any, err *dcError) *reply {
	if err != nil {
		return &reply{err.status, err.body()}
	}
	result, ok := value.(dcResult)
	switch {
	case ok:
	case value == nil:
		result.status = http.StatusNoContent
	default:
		result = dcResult{http.StatusOK, value}
	}
	if result.value == nil {
		return &reply{result.status, nil}
	}
	return &reply{result.status, encodeJSON(result.value)}
}

// answer writes an answer with the headers of its bucket.
func (q *dcQuery) answer(w http.ResponseWriter, value any, err *dcError) {
	kind := "application/json"
	if err != nil && err.page {
		kind = "text/html; charset=UTF-8"
	} else {
		q.dc.headers(w.Header(), q, err)
	}
	reply := newDiscordReply(value, err)
	if reply.code == http.StatusNoContent {
		w.WriteHeader(reply.code)
		return
	}
	writeRaw(w, reply.code, kind, reply.body)
}
