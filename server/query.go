package server

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"approvalbot/core"
)

// param is a query parameter that a route takes.
type param struct {
	name, doc string
	kind      string   // "string", "integer" or "boolean"
	enum      []string // of a string
}

// query reads a request's query parameters and gathers what is wrong with them.
type query struct {
	values url.Values
	bad    []core.FieldError
}

// parseQuery takes the parameters that the route knows, each once.
func parseQuery(raw string, known []param) (*query, error) {
	if raw == "" {
		return &query{}, nil
	}
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, core.Refuse(core.CodeMalformed, "The query string is broken.")
	}
	q := &query{values: values}
	for name, v := range values {
		i := slices.IndexFunc(known, func(p param) bool { return p.name == name })
		switch {
		case i < 0:
			q.wrong(fieldName(name), "is not a parameter of this request")
		case len(v) > 1:
			q.wrong(name, "must be given once")
		case !utf8.ValidString(v[0]) || strings.ContainsRune(v[0], 0) || len(v[0]) > 512:
			q.wrong(name, "must be short text in UTF-8")
		case len(known[i].enum) > 0 && v[0] != "" && !slices.Contains(known[i].enum, v[0]):
			q.wrong(name, "must be one of "+strings.Join(known[i].enum, ", "))
		}
	}
	slices.SortFunc(q.bad, func(a, b core.FieldError) int { return strings.Compare(a.Field, b.Field) })
	q.bad = q.bad[:min(len(q.bad), maxMistakes)]
	return q, nil
}

func (q *query) wrong(name, what string) {
	q.bad = append(q.bad, core.FieldError{Field: name, Problem: what})
}

// err names everything that was wrong, or nil.
func (q *query) err() error {
	if len(q.bad) == 0 {
		return nil
	}
	return core.Invalid(q.bad...)
}

func (q *query) text(name string) string { return q.values.Get(name) }

// wait reads a Go duration or a bare number of seconds, and clamps it.
func (q *query) wait() time.Duration {
	s := q.text("wait")
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		d, err = time.ParseDuration(s + "s")
	}
	if err != nil || d < 0 {
		q.wrong("wait", "must be a duration such as 25s, or a number of seconds")
	}
	return min(d, maxWait)
}

func (q *query) limit() int {
	s := q.text("limit")
	if s == "" {
		return pageDefault
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > pageMax {
		q.wrong("limit", fmt.Sprintf("must be a number from 1 to %d", pageMax))
	}
	return n
}

func (q *query) flag(name string) bool {
	switch q.text(name) {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	}
	q.wrong(name, "must be 1 or 0")
	return false
}
