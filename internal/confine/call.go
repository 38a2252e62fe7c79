package confine

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Call is one command to run confined.
type Call struct {
	State      string   // folder for lists, quarantine and private caches
	Workspaces []string // that it may change
	Show       []string // more folders that it may read
	Readable   []string // names of files of the workspaces that are not hidden as secrets
	Dir        string   // where it starts, if that is in a workspace
	Argv, Env  []string
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
}

// Exit statuses that are not the command's own.
const (
	NotConfined = 125 // nothing ran
	TakenAway   = 124 // it ran, and planted what was taken away, or could not be
)

// Found is what the comparison put right.
type Found struct {
	Names      []string // relative to the workspace, sorted
	Quarantine string   // where what was moved away is
}

// Planted is the error of a call that left what others would obey.
type Planted struct {
	Root string
	Found
}

// AllPlanted gives each Planted of an error of [Run], which may be of several workspaces.
func AllPlanted(err error) iter.Seq[*Planted] {
	return func(yield func(*Planted) bool) {
		all := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = joined.Unwrap()
		}
		for _, e := range all {
			if p := (*Planted)(nil); errors.As(e, &p) && !yield(p) {
				return
			}
		}
	}
}

// Error names what was put right, and where what was taken away is.
func (p *Planted) Error() string {
	var names []string
	for _, n := range p.Names[:min(len(p.Names), 20)] {
		names = append(names, fmt.Sprintf("%q", n))
	}
	if more := len(p.Names) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("it changed what others obey in %s, which was put back: %s", p.Root, strings.Join(names, ", "))
	if p.Quarantine != "" {
		text += "; what it made is in " + p.Quarantine
	}
	return text
}
