package language

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"approvalbot/internal/lazy"
)

// What a script of sed leaves of files is tried on lines as files of sources and settings have them, since there are too many
// ways to write one that leaves nothing.

// mostLost is the part of the sample that a script may lose.
const mostLost = 0.4

var sample = sync.OnceValue(func() []string {
	lines := strings.Split(strings.Trim(`
package server // handles requests
import os, sys
import { Router } from "./router";
func (s *Server) Listen(addr string) error {
    const timeout = 30
    if (count > 10 && !ready) {
        return fmt.Errorf("cannot open %q: %w", name, err)
    for item in items:
        total += item.price * 2
}
def create_user(self, email="a@example.org"):
    # TODO: check the address first
name: build-and-test
  - run: make lint
<div class="box">{{ title }}</div>
DATABASE_HOST=localhost
version = "1.2.3"
    public static final int SIZE = 4096;
#include <stdio.h>
The quick brown fox jumps over the lazy dog.
`, "\n"), "\n")
	return append(append(append([]string{}, lines...), lines...), lines...)
})

// mostSed is how many commands of a script are tried.
const mostSed = 32

// sedLine is one command of a script.
type sedLine struct {
	from, to sedSpot
	not      bool
	does     byte
	find     *regexp.Regexp
	with     string
	all      bool
	on       bool // its range has begun
	end      int  // the last line of its range, if that is known
}

// losesMuch reports a script that may leave little of any file, or that cannot be tried.
func losesMuch(script string) bool {
	var all []*sedLine
	for part := range strings.SplitSeq(script, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		c, ok := parseSed(part)
		if !ok || len(all) == mostSed {
			return true
		}
		all = append(all, c)
	}
	return slices.ContainsFunc(all, (*sedLine).open) || losesMost(all, sample()) || losesMost(all, indented("\t")) || losesMost(all, indented("    "))
}

// indented is the sample as code in functions is.
func indented(by string) (lines []string) {
	for i, line := range sample() {
		if i%5 != 0 {
			line = by + strings.TrimLeft(line, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// open reports a removal from where a pattern is found to an end that may be far: the sample need not have that line.
func (c *sedLine) open() bool {
	far := c.to.last || c.to.find != nil || c.to.more && c.to.line > 3
	return c.from.find != nil && (c.does == 'q' || far && strings.IndexByte("dDcs", c.does) >= 0)
}

// losesMost reports commands that leave little of these lines.
func losesMost(all []*sedLine, lines []string) bool {
	for _, c := range all {
		c.on, c.end = false, 0
	}
	kept, whole, quits := 0, 0, false
	for i, line := range lines {
		whole += len(bareLine(line))
		if !quits {
			out, quit := line, false
			for _, c := range all {
				if !c.hits(out, i+1, len(lines)) {
					continue
				}
				switch c.does {
				case 'd', 'c', 'D':
					out = ""
				case 'q':
					quit = true
				case 's':
					if c.all {
						out = c.find.ReplaceAllString(out, c.with)
					} else if at := c.find.FindStringSubmatchIndex(out); at != nil {
						out = out[:at[0]] + string(c.find.ExpandString(nil, c.with, out, at)) + out[at[1]:]
					}
				}
			}
			kept += common(bareLine(line), bareLine(out))
			quits = quit
		}
	}
	return float64(kept) < (1-mostLost)*float64(whole)
}

func bareLine(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, line)
}

// common is how much of the first text is left in the second one, in its order.
func common(a, b string) (n int) {
	for i := range len(a) {
		at := strings.IndexByte(b, a[i])
		if at < 0 {
			continue
		}
		n, b = n+1, b[at+1:]
	}
	return n
}

var sedAddress = lazy.Pattern(`^(\d+|\$|` + sedRegexp + `)?(?:,(\d+|\$|\+\d+|` + sedRegexp + `))?(!?)\s*`)

// parseSed reads one command, of those that plainScript knows.
func parseSed(part string) (c *sedLine, ok bool) {
	m := sedAddress.FindStringSubmatch(part)
	does := part[len(m[0]):]
	if does == "" {
		return nil, false
	}
	c = &sedLine{not: m[3] != "", does: does[0]}
	var fromOK, toOK bool
	c.from, fromOK = parseSedSpot(m[1])
	c.to, toOK = parseSedSpot(m[2])
	if !fromOK || !toOK {
		return nil, false
	}
	if c.does != 's' {
		return c, strings.IndexByte("dDqcpaiy=", c.does) >= 0
	}
	if len(does) < 4 || !separates(does[1]) {
		return nil, false
	}
	parts := strings.Split(strings.ReplaceAll(does[2:], `\`+does[1:2], "\x00"), does[1:2])
	if len(parts) != 3 {
		return nil, false
	}
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "\x00", does[1:2])
	}
	if c.find, ok = sedPattern(parts[0]); ok && strings.Contains(parts[2], "I") {
		c.find = regexp.MustCompile("(?i)" + c.find.String())
	}
	c.with = strings.NewReplacer("$", "$$", `\&`, "&", "&", "${0}", `\1`, "${1}", `\2`, "${2}", `\3`, "${3}").Replace(parts[1])
	c.all = strings.Contains(parts[2], "g")
	return c, ok
}

// sedPattern compiles a pattern of either kind that sed knows, as far as Go has the same.
func sedPattern(pattern string) (*regexp.Regexp, bool) {
	if ownEscapes.MatchString(pattern) {
		return nil, false
	}
	pattern = strings.NewReplacer(`\<`, `\b`, `\>`, `\b`).Replace(pattern)
	re, err := regexp.Compile(strings.NewReplacer(`\(`, "(", `\)`, ")", `\|`, "|", `\+`, "+", `\?`, "?", `\{`, "{", `\}`, "}").Replace(pattern))
	if err != nil {
		re, err = regexp.Compile(strings.NewReplacer("(", `\(`, ")", `\)`, "{", `\{`, "}", `\}`, "+", `\+`, "?", `\?`).Replace(pattern))
	}
	return re, err == nil
}

// ownEscapes are those that mean something else to sed than to Go.
var ownEscapes = lazy.Pattern("\\\\[^bwWsSntrf\\W]|\\\\[`']")

// sedSpot is an address: of a line, of the last one, of lines with a pattern, or, as the end of a range, of so many lines behind.
type sedSpot struct {
	given, last, more bool
	line              int
	find              *regexp.Regexp
}

func parseSedSpot(text string) (a sedSpot, ok bool) {
	a.given = text != ""
	switch {
	case text == "":
		return a, true
	case text == "$":
		a.last = true
		return a, true
	case text[0] == '/':
		a.find, ok = sedPattern(strings.Trim(text, "/"))
		return a, ok
	}
	a.more = text[0] == '+'
	n, err := strconv.Atoi(strings.TrimPrefix(text, "+"))
	a.line = n
	return a, err == nil
}

func (a sedSpot) is(line string, at, last int) bool {
	switch {
	case a.last:
		return at == last
	case a.find != nil:
		return a.find.MatchString(line)
	}
	return at == a.line
}

// hits reports whether a command is for that line.
func (c *sedLine) hits(line string, at, last int) bool {
	hit := true
	switch {
	case !c.from.given:
	case !c.to.given:
		hit = c.from.is(line, at, last)
	case c.on:
		c.on = c.end > at || c.end == 0 && !c.to.is(line, at, last)
	case c.from.is(line, at, last) || c.from.line == 0 && c.from.find == nil && !c.from.last:
		c.on, c.end = true, 0
		if c.to.find == nil && !c.to.last {
			if c.end = c.to.line; c.to.more {
				c.end += at
			}
			c.on = c.end > at
		}
	default:
		hit = false
	}
	return hit != c.not
}
