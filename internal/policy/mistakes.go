package policy

import (
	"fmt"
	"strings"
)

// Mistake is one thing that is wrong with a Config.
type Mistake struct {
	// Path leads to the key, spelled as in the configuration file; a list's entry is "[N]",
	// an agent is below "agents" by its id. It is empty if no key is to blame.
	Path []string
	Text string // what the key must be, or what is wrong with it
	lead string // names the place if the reader does not see Path
}

// Error gives the place in words and what is wrong there.
func (m Mistake) Error() string { return m.lead + m.Text }

// Mistakes are all that is wrong with a Config: the error of New.
type Mistakes []Mistake

// Error gives the mistakes, one a line.
func (m Mistakes) Error() string {
	lines := make([]string, len(m))
	for i, one := range m {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// add notes a mistake at a key.
func (m *Mistakes) add(path []string, lead, format string, args ...any) {
	*m = append(*m, Mistake{Path: path, Text: fmt.Sprintf(format, args...), lead: lead})
}

// key notes a mistake at a key below approvals, which the sentence calls by its last words.
func (m *Mistakes) key(key, format string, args ...any) {
	short := key
	for _, block := range []string{"tools.", "policy."} {
		short = strings.TrimPrefix(short, block)
	}
	m.add(append([]string{"approvals"}, strings.Split(key, ".")...), short+" ", format, args...)
}

// below gives the path of keys below a key.
func below(path []string, more ...string) []string {
	return append(path[:len(path):len(path)], more...)
}

// entry is the step to a list's entry.
func entry(i int) string { return fmt.Sprintf("[%d]", i) }
