package fakechat

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TelegramFile is a file as it was uploaded.
type TelegramFile struct {
	Name        string
	ContentType string
	Bytes       []byte
}

// tgQuery is one call: its method and its parameters, whichever way they came.
// Nested values are JSON text, as in the server (Query::arg).
type tgQuery struct {
	method string
	params map[string]string
	files  map[string]TelegramFile
}

// readQuery reads the parameters from the query string, then from the body:
// application/x-www-form-urlencoded, multipart/form-data or application/json
// (Bot API, "Making requests"). Any HTTP verb is accepted.
func readQuery(r *http.Request, method string) (*tgQuery, *apiError) {
	q := &tgQuery{method: method, params: make(map[string]string), files: make(map[string]TelegramFile)}
	q.addValues(r.URL.Query())
	if err := q.readBody(r.Header.Get("Content-Type"), r); err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return nil, &apiError{code: http.StatusRequestEntityTooLarge, description: "Request Entity Too Large"}
		}
		return nil, badRequest("can't parse request: " + err.Error()) // wording is a guess
	}
	if q.method == "" {
		q.method = q.params["method"]
	}
	return q, nil
}

func (q *tgQuery) readBody(contentType string, r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(contentType)
	if kind == "multipart/form-data" {
		return q.readMultipart(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	return q.addBody(kind, body)
}

// addBody reads a body that is not multipart; other content types are ignored.
func (q *tgQuery) addBody(kind string, body []byte) error {
	switch kind {
	case "application/json":
		return q.addJSON(body)
	case "application/x-www-form-urlencoded":
		values, err := url.ParseQuery(string(body))
		if err != nil {
			return err
		}
		q.addValues(values)
	}
	return nil
}

func (q *tgQuery) readMultipart(r *http.Request) error {
	reader, err := r.MultipartReader()
	if err != nil {
		return err
	}
	for {
		part, err := reader.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		if part.FileName() == "" {
			q.add(part.FormName(), string(body))
			continue
		}
		q.files[part.FormName()] = TelegramFile{part.FileName(), part.Header.Get("Content-Type"), body}
	}
}

// addJSON reads an object; its nested objects stay JSON text.
func (q *tgQuery) addJSON(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return err
	}
	for name, raw := range fields {
		var text string
		switch {
		case string(raw) == "null":
		case json.Unmarshal(raw, &text) == nil:
			q.add(name, text)
		default:
			q.add(name, string(raw))
		}
	}
	return nil
}

func (q *tgQuery) addValues(values url.Values) {
	for name, all := range values {
		q.add(name, all[0])
	}
}

func (q *tgQuery) add(name, value string) {
	if _, ok := q.params[name]; !ok {
		q.params[name] = value
	}
}

// integer reads a number and clamps it, as Client::get_integer_arg does.
func (q *tgQuery) integer(name string, otherwise, low, high int) int {
	n := otherwise
	if text := q.params[name]; text != "" {
		n = leadingInt(text)
	}
	return min(max(n, low), high)
}

// leadingInt reads the digits at the start of text, as td::to_integer does.
func leadingInt(text string) int {
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && text[end] == '-') {
		end++
	}
	n, _ := strconv.Atoi(text[:end])
	return n
}

// flag reads a boolean, as Client::to_bool does.
func (q *tgQuery) flag(name string) bool {
	switch strings.ToLower(strings.TrimSpace(q.params[name])) {
	case "true", "yes", "1":
		return true
	}
	return false
}

func (q *tgQuery) messageID() int { return max(0, leadingInt(q.params["message_id"])) }

// chatID is the numeric chat_id, or 0.
func (q *tgQuery) chatID() int64 {
	id, _ := strconv.ParseInt(q.params["chat_id"], 10, 64)
	return id
}

// validUTF8 refuses parameters that are not UTF-8.
func (q *tgQuery) validUTF8(names ...string) *apiError {
	for _, name := range names {
		if !utf8.ValidString(q.params[name]) {
			return badRequest("strings must be encoded in UTF-8")
		}
	}
	return nil
}

func (q *tgQuery) copyParams() map[string]string { return maps.Clone(q.params) }
