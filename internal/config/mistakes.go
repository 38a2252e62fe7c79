package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position is the position of a key: a file and its line, or the name of what
// overrode it (an environment variable, a flag; line 0).
type Position struct {
	Source string
	Line   int
}

// String gives file:line, or the name of what overrode the key.
func (p Position) String() string {
	if p.Line == 0 {
		return p.Source
	}
	return fmt.Sprintf("%s:%d", p.Source, p.Line)
}

// Mistake is one thing that is wrong with the configuration. It carries keys and
// what they must be; of a value at most a tool's name, an account's id, or the
// part of a rule that cannot be read, never a secret.
type Mistake struct {
	Key   string // dotted path; empty for the file itself
	Text  string
	Where Position
}

// String gives the line that start-up and config check print: file:line: key:
// mistake.
func (m Mistake) String() string {
	parts := []string{m.Where.String()}
	if m.Key != "" {
		parts = append(parts, m.Key)
	}
	return strings.Join(append(parts, m.Text), ": ")
}

// Mistakes is every mistake of a configuration, one per line.
type Mistakes []Mistake

// Error gives a line for each mistake.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Warning is a mistake's mild sister: the configuration is taken as written.
type Warning = Mistake

// Report collects mistakes and warnings, and knows the position of each key.
type Report struct {
	file     string
	places   map[string]Position
	mistakes Mistakes
	warnings []Warning
}

// place gives the position of a key; for an omitted key, that of the nearest
// key around it.
func (r *Report) place(key string) Position {
	if p, ok := r.places[key]; ok {
		return p
	}
	for k := parent(key); k != ""; k = parent(k) {
		if p, ok := r.places[k]; ok {
			return p
		}
	}
	return Position{Source: r.file}
}

// mistake reports a mistake of a key.
func (r *Report) mistake(key, format string, args ...any) {
	r.mistakes = append(r.mistakes, Mistake{Key: key, Text: fmt.Sprintf(format, args...), Where: r.place(key)})
}

// Mistake reports a mistake of a key, unless one is reported already for the key, or
// for the file that its value comes from.
func (r *Report) Mistake(key, format string, args ...any) {
	if !slices.ContainsFunc(r.mistakes, func(m Mistake) bool { return m.Key == key || m.Key == key+"File" }) {
		r.mistake(key, format, args...)
	}
}

// Warn reports a value that is accepted as written but probably not meant.
func (r *Report) Warn(key, format string, args ...any) {
	r.warnings = append(r.warnings, Warning{Key: key, Text: fmt.Sprintf(format, args...), Where: r.place(key)})
}

// sorted puts mistakes and warnings into the order of the file, overridden keys
// last.
func (r *Report) sorted() {
	order := func(a, b Mistake) int {
		return cmp.Or(
			cmp.Compare(btoi(a.Where.Line == 0), btoi(b.Where.Line == 0)),
			cmp.Compare(a.Where.Line, b.Where.Line),
			strings.Compare(a.Where.Source, b.Where.Source),
		)
	}
	slices.SortStableFunc(r.mistakes, order)
	slices.SortStableFunc(r.warnings, order)
}

// Join gives the path of a key in the block at path: server.listen.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index gives the path of a list's entry: server.tokens[0].
func Index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// parent gives the path around a key; empty for a top-level one.
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Wrong reports whether there is a mistake at a key or below it, except those keys in
// it; for the empty key, whether there is any.
func (r *Report) Wrong(key string, butFor ...string) bool {
	return slices.ContainsFunc(r.mistakes, func(m Mistake) bool {
		rest, under := strings.CutPrefix(m.Key, key)
		inside := key == "" || rest == "" || rest[0] == '.' || rest[0] == '['
		return under && inside && !slices.Contains(butFor, rest)
	})
}

// Has reports whether the file, or an override, has the key.
func (r *Report) Has(key string) bool {
	_, ok := r.places[key]
	return ok
}
