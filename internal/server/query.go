package server

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"approvalbot/internal/approval"
)

// maxParam bounds a query parameter, in bytes.
const maxParam = 512

// param is a query parameter that a route takes.
type param struct {
	name, doc string
	kind      string              // "string" or "integer"
	enum      []string            // of a string
	check     func(string) string // says what a non-empty value must be, or ""
}

// query is a request's query parameters, known and checked.
type query struct{ values url.Values }

// parseQuery takes the parameters that the route knows, each once, and names
// everything that is wrong with them.
func parseQuery(raw string, known []param) (query, error) {
	if raw == "" {
		return query{}, nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return query{}, approval.Refuse(approval.CodeMalformed, "The query string cannot be read: it must be "+
			"name=value pairs with & between them, percent-encoded.")
	}
	var bad []approval.FieldError
	for name, v := range values {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		if i < 0 {
			bad = append(bad, approval.FieldError{Field: approval.FieldName(name),
				Problem: "is not a parameter of this request"})
		} else if problem := known[i].problem(v); problem != "" {
			bad = append(bad, approval.FieldError{Field: name, Problem: problem})
		}
	}
	if len(bad) == 0 {
		return query{values}, nil
	}
	slices.SortFunc(bad, func(a, b approval.FieldError) int { return strings.Compare(a.Field, b.Field) })
	return query{}, approval.Invalid(bad[:min(len(bad), maxMistakes)]...)
}

// problem says what is wrong with the values of the parameter, or "".
func (p param) problem(given []string) string {
	v := given[0]
	switch {
	case len(given) > 1:
		return "must be given once"
	case v == "":
		return "" // as if it were not there
	case !utf8.ValidString(v) || strings.ContainsRune(v, 0) || len(v) > maxParam:
		return "must be short text in UTF-8"
	case len(p.enum) > 0 && !slices.Contains(p.enum, v):
		return "must be one of " + strings.Join(p.enum, ", ")
	case p.check != nil:
		return p.check(v)
	}
	return ""
}

func (q query) text(name string) string { return q.values.Get(name) }

// wait is how long the client waits for an end, clamped; 0 if it does not wait.
func (q query) wait() time.Duration {
	d, _ := parseWait(q.text("wait"))
	return min(d, maxWait)
}

// duration is a time span that was checked before; 0 if it was not given.
func (q query) duration(name string) time.Duration {
	d, _ := parseWait(q.text(name))
	return d
}

// limit is the size of a page.
func (q query) limit() int {
	if n, err := strconv.Atoi(q.text("limit")); err == nil {
		return n
	}
	return pageDefault
}

func (q query) flag(name string) bool { return q.text(name) == "1" || q.text(name) == "true" }

// parseWait reads a Go duration or a bare number of seconds.
func parseWait(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	return time.ParseDuration(s + "s")
}

func checkWait(s string) string {
	if d, err := parseWait(s); err != nil || d < 0 {
		return "must be a duration such as 25s, or a number of seconds"
	}
	return ""
}

func checkLimit(s string) string {
	if n, err := strconv.Atoi(s); err != nil || n < 1 || n > pageMax {
		return fmt.Sprintf("must be a number from 1 to %d", pageMax)
	}
	return ""
}

func checkClaimID(s string) string {
	if len(s) > 128 {
		return "must be at most 128 bytes"
	}
	return ""
}
