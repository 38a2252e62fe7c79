package server

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"approvalbot/internal/approval"
	"approvalbot/internal/server/connection"
)

const (
	maxMistakes = 20       // that one answer names
	maxAtOnce   = 16 << 10 // bytes that a request's word is enough for to set aside
)

// readBody reads a request's body whole, of so many bytes at most; how long that may
// take is said in connection.Arriving.
func readBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	if err := checkContentType(r.Header.Get("Content-Type")); err != nil {
		return nil, err
	}
	if !identity(r.Header.Values("Content-Encoding")) {
		return nil, approval.Refuse(approval.CodeMalformed, "Send the body as it is, without a Content-Encoding.")
	}
	var body []byte
	var err error
	if 0 < r.ContentLength && r.ContentLength <= maxAtOnce {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(r.Body, body) // net/http refuses a longer body
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	}
	return body, brokenOff(err)
}

// identity reports whether a body is sent as it is: with no Content-Encoding, or with
// the one that says so.
func identity(codings []string) bool {
	switch len(codings) {
	case 0:
		return true
	case 1:
		return codings[0] == "" || strings.EqualFold(codings[0], "identity")
	}
	return false
}

// skipBody reads a body that a route has no use for. Some clients send one with
// every request.
func skipBody(w http.ResponseWriter, r *http.Request) error {
	if connection.Whole(r) {
		return nil
	}
	_, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxBody))
	return brokenOff(err)
}

// brokenOff says why a body could not be read, if it could not.
func brokenOff(err error) error {
	if err == nil {
		return nil
	}
	if big := (*http.MaxBytesError)(nil); errors.As(err, &big) {
		return tooLarge(big.Limit)
	}
	return approval.Refuse(approval.CodeMalformed, "The body ended too early, or took longer than %d s to arrive.",
		int(requestTime.Seconds()))
}

func tooLarge(most int64) error {
	return approval.Refuse(approval.CodePayloadTooLarge, "The body is larger than %d bytes.", most)
}

// checkContentType takes JSON, and what common tools send of their own accord
// (curl -d says form, fetch says text): a bearer token is in no form's power.
func checkContentType(given string) error {
	if given == "" || given == "application/json" {
		return nil
	}
	kind, params, err := mime.ParseMediaType(given)
	utf8 := params["charset"] == "" || strings.EqualFold(params["charset"], "utf-8")
	unasked := kind == "application/x-www-form-urlencoded" || kind == "text/plain"
	structured := strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	taken := unasked || structured || kind == "application/json"
	if err == nil && utf8 && taken {
		return nil
	}
	return approval.Refuse(approval.CodeMalformed, "Send the body as Content-Type: application/json, in UTF-8.")
}

// Decode reads a body strictly into the struct that into points to: names match
// by case, an unknown or repeated name is refused, all text is UTF-8. An empty
// body is an empty object. A body that is not JSON is CodeMalformed; JSON of
// another shape is CodeInvalidRequest, whose text names every wrong field,
// never its value.
func Decode(body []byte, into any) error {
	if len(bytes.TrimLeft(body, " \t\r\n")) == 0 {
		return nil
	}
	err := json.Unmarshal(body, into, json.RejectUnknownMembers(true))
	if err == nil && jsontext.Value(body).Kind() == '{' {
		return emptied(body, into)
	}
	if err := wellFormed(body); err != nil {
		return err
	}
	bad := mistakes("", reflect.TypeOf(into).Elem(), body)
	if len(bad) == 0 {
		bad = []approval.FieldError{{Field: "body", Problem: "does not have the form that this request expects"}}
	}
	return approval.Invalid(bad[:min(len(bad), maxMistakes)]...)
}

// least is a member that has a least length or number.
type least struct {
	index         []int
	name, problem string
}

// leasts are those of a type, found once.
var leasts sync.Map // of []least, by reflect.Type

func leastsOf(t reflect.Type) []least {
	if cached, ok := leasts.Load(t); ok {
		return cached.([]least)
	}
	var all []least
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("minimum") == "1" {
			all = append(all, least{f.Index, name, "must be 1 or more"})
		} else if f.Tag.Get("minLength") == "1" {
			all = append(all, least{f.Index, name, "must not be empty"})
		}
	}
	leasts.Store(t, all)
	return all
}

// emptied names the members that were sent as "" or 0 if the description has a
// least length or number for them, so that they do not count as absent.
func emptied(body []byte, into any) error {
	var members map[string]jsontext.Value
	var bad []approval.FieldError
	v := reflect.ValueOf(into).Elem()
	for _, l := range leastsOf(v.Type()) {
		if !v.FieldByIndex(l.index).IsZero() || !mayName(body, l.name) {
			continue
		}
		if members == nil && json.Unmarshal(body, &members) != nil {
			return nil
		}
		if value, sent := members[l.name]; sent && value.Kind() != 'n' {
			bad = append(bad, approval.FieldError{Field: l.name, Problem: l.problem})
		}
	}
	if bad != nil {
		return approval.Invalid(bad...)
	}
	return nil
}

// mayName reports whether a body may have a member of that name: the name is in it,
// or could be escaped.
func mayName(body []byte, name string) bool {
	return bytes.Contains(body, []byte(`"`+name+`"`)) || bytes.ContainsRune(body, '\\')
}

func wellFormed(body []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(body))
	_, err := d.ReadValue()
	if err == nil {
		_, err = d.ReadToken()
	}
	var at *jsontext.SyntacticError
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, jsontext.ErrDuplicateName):
		return approval.Refuse(approval.CodeMalformed, "The body has an object in which a member occurs twice.")
	case errors.As(err, &at):
		return approval.Refuse(approval.CodeMalformed, "The body is not valid JSON in UTF-8, at byte %d.", at.ByteOffset)
	}
	return approval.Refuse(approval.CodeMalformed, "The body has further text after its JSON object.")
}

// mistakes names every member of a well-formed value that does not fit type t.
func mistakes(path string, t reflect.Type, value jsontext.Value) []approval.FieldError {
	if value.Kind() != '{' {
		return []approval.FieldError{{Field: cmp.Or(path, "body"), Problem: "must be a JSON object"}}
	}
	var bad []approval.FieldError
	var members map[string]jsontext.Value
	if json.Unmarshal(value, &members) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		v := members[name]
		at := approval.FieldName(name)
		if path != "" {
			at = path + "." + at
		}
		f, known := fieldOf(t, name)
		switch {
		case !known:
			bad = append(bad, approval.FieldError{Field: at, Problem: "is not a field of this request"})
		case v.Kind() == 'n':
		case f.Kind() == reflect.Struct:
			bad = append(bad, mistakes(at, f, v)...)
		case json.Unmarshal(v, reflect.New(f).Interface()) != nil:
			bad = append(bad, approval.FieldError{Field: at, Problem: mustBe(f.Kind())})
		}
	}
	return bad
}

// fieldOf finds the type of the member that a struct's tags name so.
func fieldOf(t reflect.Type, name string) (reflect.Type, bool) {
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag != name || f.Anonymous {
			continue
		}
		if f.Type.Kind() == reflect.Pointer {
			return f.Type.Elem(), true
		}
		return f.Type, true
	}
	return nil, false
}

func mustBe(k reflect.Kind) string {
	switch k {
	case reflect.String:
		return "must be text"
	case reflect.Bool:
		return "must be true or false"
	case reflect.Int, reflect.Int64:
		return "must be a whole number"
	}
	return "has the wrong type"
}
