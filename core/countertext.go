package core

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// CounterVersion is of what a Counter counts and of its text: a text of another one says
// something else.
const CounterVersion = 3

// Text is all that was counted, in one line.
func (c *Counter) Text() string {
	var w counterText
	w.counted(&c.all)
	for _, m := range []map[string]int{c.status, c.reasons} {
		w.number(len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			w.text(name)
			w.number(m[name])
		}
	}
	for _, m := range []map[string]*counted{c.class, c.agents, c.tools} {
		w.number(len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			w.text(name)
			w.counted(m[name])
		}
	}
	w.number(len(c.people))
	for _, name := range slices.Sorted(maps.Keys(c.people)) {
		v := c.people[name]
		w.text(name)
		w.number(v.approved)
		w.number(v.denied)
		w.times(v.vote)
		w.times(v.sinceCard)
	}
	return base64.RawStdEncoding.EncodeToString(w)
}

// AddText adds what another Counter has counted, by its text. After an error the Counter must not
// be used.
func (c *Counter) AddText(text string) error {
	b, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	r := &counterReader{rest: b}
	c.begin()
	r.counted(&c.all)
	for _, m := range []map[string]int{c.status, c.reasons} {
		for range r.length() {
			name := r.text()
			m[name] += r.number()
		}
	}
	for _, m := range []map[string]*counted{c.class, c.agents, c.tools} {
		for range r.length() {
			r.counted(of(m, r.text()))
		}
	}
	for range r.length() {
		v := of(c.people, r.text())
		v.approved += r.number()
		v.denied += r.number()
		r.times(&v.vote)
		r.times(&v.sinceCard)
	}
	if r.failed || len(r.rest) > 0 {
		return errors.New("a stored statistics count is damaged")
	}
	return nil
}

// counterText are numbers, and texts with their length in front.
type counterText []byte

func (w *counterText) number(n int) { *w = binary.AppendUvarint(*w, uint64(n)) }

func (w *counterText) text(s string) {
	w.number(len(s))
	*w = append(*w, s...)
}

func (w *counterText) counted(n *counted) {
	for _, x := range []int{n.calls, n.asked, n.expired, n.pending} {
		w.number(x)
	}
	for _, t := range []times{n.card, n.look, n.decision} {
		w.times(t)
	}
}

// times writes the classes that have any, each as its distance from the one before.
func (w *counterText) times(t times) {
	used := 0
	for _, n := range t {
		if n > 0 {
			used++
		}
	}
	w.number(used)
	last := 0
	for class, n := range t {
		if n > 0 {
			w.number(class - last)
			w.number(n)
			last = class
		}
	}
}

// counterReader reads what counterText wrote; once it has failed it gives zeros.
type counterReader struct {
	rest   []byte
	failed bool
}

// maxNumber is more than is ever counted.
const maxNumber = 1 << 40

func (r *counterReader) number() int {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > maxNumber {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

// length is how much follows, each of a byte at least.
func (r *counterReader) length() int {
	n := r.number()
	if n > len(r.rest) {
		r.failed, r.rest = true, nil
		return 0
	}
	return n
}

func (r *counterReader) text() string {
	n := r.length()
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *counterReader) counted(n *counted) {
	for _, x := range []*int{&n.calls, &n.asked, &n.expired, &n.pending} {
		*x += r.number()
	}
	for _, t := range []*times{&n.card, &n.look, &n.decision} {
		r.times(t)
	}
}

func (r *counterReader) times(t *times) {
	class := 0
	for range r.length() {
		class += r.number()
		n := r.number()
		if class > classOf(1<<62) {
			r.failed, r.rest = true, nil
			return
		}
		t.addClass(class, n)
	}
}
