package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"approvalbot/core"
)

// place is where a key stands: a file and its line, or the name of what
// overrode it (an environment variable, a flag; line 0).
type place struct {
	source string
	line   int
}

func (p place) String() string {
	if p.line == 0 {
		return p.source
	}
	return fmt.Sprintf("%s:%d", p.source, p.line)
}

// Mistake is one thing that is wrong with the configuration. It carries keys and
// what they must be; of a value at most a tool's name, an account's id, or the
// part of a rule that cannot be read, never a secret.
type Mistake struct {
	Key  string // dotted path; empty for the file itself
	Text string
	at   place
}

// String gives the line that start-up and config check print:
// file:line: key: what is wrong.
func (m Mistake) String() string {
	parts := []string{m.at.String()}
	if m.Key != "" {
		parts = append(parts, m.Key)
	}
	return strings.Join(append(parts, m.Text), ": ")
}

// Mistakes is every mistake of a configuration, one per line.
type Mistakes []Mistake

func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// refusal tells the mistakes to who may see the configuration.
func (m Mistakes) refusal() *core.Error {
	n := "1 mistake"
	if len(m) > 1 {
		n = fmt.Sprintf("%d mistakes", len(m))
	}
	e := core.Invalid()
	e.Message = "The configuration has " + n + " and the old policy stays."
	for _, one := range m {
		where := fmt.Sprintf("line %d", one.at.line)
		if one.at.line == 0 {
			where = one.at.source
		}
		e.Fields = append(e.Fields, core.FieldError{Field: cmp.Or(one.Key, "configuration"), Problem: where + ": " + one.Text})
	}
	return e
}

// Warning is a mistake's mild sister: the configuration is taken as written.
type Warning = Mistake

// report collects mistakes and warnings, and knows where each key stands.
type report struct {
	file     string
	places   map[string]place
	mistakes Mistakes
	warnings []Warning
}

// place gives where a key stands; for an omitted key, where the nearest key
// around it stands.
func (r *report) place(key string) place {
	if p, ok := r.places[key]; ok {
		return p
	}
	for k := parent(key); k != ""; k = parent(k) {
		if p, ok := r.places[k]; ok {
			return p
		}
	}
	return place{source: r.file}
}

func (r *report) mistake(key, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{Key: key, Text: fmt.Sprintf(format, args...), at: r.place(key)})
}

func (r *report) warn(key, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Key: key, Text: fmt.Sprintf(format, args...), at: r.place(key)})
}

// sorted puts mistakes and warnings into the order of the file, what was
// overridden last.
func (r *report) sorted() {
	order := func(a, b Mistake) int {
		return cmp.Or(
			cmp.Compare(btoi(a.at.line == 0), btoi(b.at.line == 0)),
			cmp.Compare(a.at.line, b.at.line),
			strings.Compare(a.at.source, b.at.source),
		)
	}
	slices.SortStableFunc(r.mistakes, order)
	slices.SortStableFunc(r.warnings, order)
}

// join, index and parent build and take apart key paths: server.tokens[0].name.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
