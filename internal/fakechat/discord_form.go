package fakechat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

// dcError is an error answer: {"code":N,"message":"…"} with "errors" for a form
// (Discord, "API Reference": error messages). Which HTTP status goes with which
// code is not documented; what is here is what is commonly seen.
type dcError struct {
	status, code int
	message      string
	fields       []fieldError
	// of 429 only
	retryAfter float64
	scope      string // user, shared or global
	page       bool   // an HTML page of the proxy instead of JSON
}

// fieldError is one entry of "errors"; the path has dots.
type fieldError struct{ path, code, message string }

func failure(status, code int, message string) *dcError {
	return &dcError{status: status, code: code, message: message}
}

func invalidForm(path, code, message string) *dcError {
	return &dcError{status: http.StatusBadRequest, code: 50035, message: "Invalid Form Body", fields: []fieldError{{path, code, message}}}
}

func unknownMessage() *dcError { return failure(http.StatusNotFound, 10008, "Unknown Message") }

// body is what goes out.
func (e *dcError) body() []byte {
	switch {
	case e.page:
		return htmlPage(e.status, cmp.Or(e.message, "cloudflare"))
	case e.status == http.StatusTooManyRequests && e.scope != "":
		wire := obj{"message": e.message, "retry_after": e.retryAfter, "global": e.scope == "global"}
		if e.code != 0 {
			wire["code"] = e.code
		}
		return encodeJSON(wire)
	}
	wire := obj{"code": e.code, "message": e.message}
	if len(e.fields) > 0 {
		wire["errors"] = nest(e.fields)
	}
	return encodeJSON(wire)
}

// nest turns paths into the tree of objects that ends in "_errors".
func nest(fields []fieldError) obj {
	root := obj{}
	for _, f := range fields {
		at := root
		for part := range strings.SplitSeq(f.path, ".") {
			if part == "" {
				continue
			}
			next, ok := at[part].(obj)
			if !ok {
				next = obj{}
				at[part] = next
			}
			at = next
		}
		list, _ := at["_errors"].([]obj)
		at["_errors"] = append(list, obj{"code": f.code, "message": f.message})
	}
	return root
}

// form checks a body and gathers what is wrong with it.
type form struct {
	fields map[string]json.RawMessage
	errors []fieldError
}

func (f *form) add(path, code, format string, args ...any) {
	f.errors = append(f.errors, fieldError{path, code, fmt.Sprintf(format, args...)})
}

// err is 50035 with all that was gathered, or nil.
func (f *form) err() *dcError {
	if len(f.errors) == 0 {
		return nil
	}
	return &dcError{status: http.StatusBadRequest, code: 50035, message: "Invalid Form Body", fields: f.errors}
}

// read decodes a field and reports whether it is there; null leaves into as it
// is.
func (f *form) read(name string, into any) bool {
	raw, ok := f.fields[name]
	if !ok {
		return false
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return true
	}
	if err := json.Unmarshal(raw, into); err != nil {
		path := name
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			path += "." + wrong.Field
		}
		f.add(path, "BASE_TYPE_CONVERT", "Could not interpret %q.", clip(string(raw)))
	}
	return true
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

// length checks a text; Discord counts characters, here taken as code points.
func (f *form) length(path, text string, least, most int) {
	n := utf8.RuneCountInString(text)
	switch {
	case least > 0 && n == 0:
		f.add(path, "BASE_TYPE_REQUIRED", "This field is required")
	case n >= least && n <= most:
	case least == 0:
		f.add(path, "BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", most)
	default:
		f.add(path, "BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length.", least, most)
	}
}

// count checks the number of items of a list.
func (f *form) count(path string, n, least, most int) {
	switch {
	case n >= least && n <= most:
	case least == 0:
		f.add(path, "BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", most)
	default:
		f.add(path, "BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length.", least, most)
	}
}

// link checks an address of a website, or of an attachment if that is allowed.
func (f *form) link(path, url string, schemes ...string) {
	for _, scheme := range schemes {
		if rest, ok := strings.CutPrefix(url, scheme+"://"); ok && rest != "" {
			return
		}
	}
	f.add(path, "URL_TYPE_INVALID_URL", "Not a well formed URL.")
}

// snowflake checks an id, which is a string on the wire (API Reference, Snowflakes; in
// Discord's OpenAPI description every one is, an upload's placeholder too).
func (f *form) snowflake(path string, raw json.RawMessage) string {
	var id string
	if json.Unmarshal(raw, &id) != nil || !isSnowflake(id) {
		f.add(path, "NUMBER_TYPE_COERCE", "Value %q is not snowflake.", clip(id))
	}
	return id
}

func index(path string, i int, rest ...string) string {
	parts := []string{strconv.Itoa(i)}
	if path != "" {
		parts = []string{path, parts[0]}
	}
	return strings.Join(append(parts, rest...), ".")
}
