// Package lazy makes sets of words and regular expressions at their first use, instead of before
// main runs. Until then they are plain text in the program, so that a run pays only for what it
// uses. Both are for variables of packages; they are safe for use by several goroutines.
package lazy

import (
	"regexp"
	"strings"
	"sync/atomic"
)

// Set is a set of words.
type Set struct {
	text string
	sets []*Set
	made atomic.Pointer[index]
}

// index answers for most words that are not in a set without hashing them: by first byte and length.
type index struct {
	list  []string
	words map[string]struct{}
	sizes [32]uint32 // by the first byte modulo 32, a bit for each length modulo 32
}

// Words gives the set of the words of a text, which white space separates.
func Words(text string) *Set { return &Set{text: text} }

// Union gives the set of the words that are in any of some sets.
func Union(sets ...*Set) *Set { return &Set{sets: sets} }

// Has reports whether a word is in the set. No set contains the empty word, and a nil set
// is empty.
func (s *Set) Has(word string) bool {
	if s == nil || word == "" {
		return false
	}
	x := s.index()
	if x.sizes[word[0]&31]>>(len(word)&31)&1 == 0 {
		return false
	}
	_, ok := x.words[word]
	return ok
}

// List gives the words in the order of their texts. It is the set's own: callers do not change it.
func (s *Set) List() []string { return s.index().list }

func (s *Set) index() *index {
	if x := s.made.Load(); x != nil {
		return x
	}
	return s.read()
}

// read reads the text. Goroutines that come at once each make the same.
func (s *Set) read() *index {
	list := strings.Fields(s.text)
	for _, other := range s.sets {
		list = append(list, other.List()...)
	}
	x := &index{list: list, words: make(map[string]struct{}, len(list))}
	for _, w := range list {
		x.words[w] = struct{}{}
		x.sizes[w[0]&31] |= 1 << (len(w) & 31)
	}
	s.made.Store(x)
	return x
}

// Regexp is a regular expression, for methods of the same names as those of package regexp.
type Regexp struct {
	text     string
	compiled atomic.Pointer[regexp.Regexp]
}

// Pattern gives the regular expression of a text. One that does not compile panics when it is first used,
// so each needs a test that uses it.
func Pattern(text string) *Regexp { return &Regexp{text: text} }

// Compiled gives the expression itself.
func (r *Regexp) Compiled() *regexp.Regexp {
	if c := r.compiled.Load(); c != nil {
		return c
	}
	c := regexp.MustCompile(r.text)
	r.compiled.Store(c)
	return c
}

// String gives the text.
func (r *Regexp) String() string { return r.text }

func (r *Regexp) MatchString(s string) bool              { return r.Compiled().MatchString(s) }
func (r *Regexp) Match(b []byte) bool                    { return r.Compiled().Match(b) }
func (r *Regexp) FindString(s string) string             { return r.Compiled().FindString(s) }
func (r *Regexp) FindStringIndex(s string) []int         { return r.Compiled().FindStringIndex(s) }
func (r *Regexp) FindStringSubmatch(s string) []string   { return r.Compiled().FindStringSubmatch(s) }
func (r *Regexp) FindAllString(s string, n int) []string { return r.Compiled().FindAllString(s, n) }
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.Compiled().FindAllStringSubmatch(s, n)
}
func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.Compiled().FindAllStringIndex(s, n)
}
func (r *Regexp) ReplaceAllString(s, by string) string { return r.Compiled().ReplaceAllString(s, by) }
func (r *Regexp) ReplaceAllStringFunc(s string, by func(string) string) string {
	return r.Compiled().ReplaceAllStringFunc(s, by)
}
