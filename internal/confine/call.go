package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
)

// Call is one command to run confined.
type Call struct {
	State      string   // folder for overlays, quarantine and private caches
	Workspaces []string // that it may change
	Show       []string // more folders that it may read
	Readable   []string // names of files of the workspaces that are not hidden as secrets
	MayRemove  bool     // its work is kept also if it took away what cannot be had back, see [Watch.lost]
	Dir        string   // where it starts, if that is in a workspace
	Argv, Env  []string
	Stdin      io.Reader
	Stdout     io.Writer
	Stderr     io.Writer
}

// State is the folder for overlays, quarantine and private caches of confined calls, by the values of HOME and
// XDG_STATE_HOME.
func State(home, state string) (string, error) {
	dir := cmp.Or(state, filepath.Join(home, ".local", "state"))
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("approvalbot finds no folder for the state of confined calls: HOME is %q and "+
			"XDG_STATE_HOME is %q; set one of them to an absolute path", home, state)
	}
	return filepath.Join(dir, "approvalbot", "confine"), nil
}

// Kind is one of two kinds of commands, of which none runs beside one of the other kind. Policy judges each command by
// itself: one that is harmless alone (mv) can give a secret a name under which a confined one reads it.
type Kind string

// The kinds.
const (
	Confined   Kind = "confined"
	Unconfined Kind = "unconfined"
)

// Exit statuses that are not the command's own.
const (
	NotConfined = 125 // nothing ran
	NothingKept = 124 // it ran, and nothing was kept of what it did, or not all
)

// Refused is the error of a call of which nothing was kept in a workspace.
type Refused struct {
	Root       string
	Names      []string // that it changed and an agent may not change without asking, relative to the workspace, sorted
	Lost       []string // that it removed or emptied and that cannot be had back, see [Watch.lost]
	Meanwhile  []string // that others changed while it ran, and it too
	Why        error    // what it did could not be judged
	Quarantine string   // folder with what it did; empty: it was removed
}

// AllRefused gives each Refused of an error of [Run], which may be of several workspaces.
func AllRefused(err error) iter.Seq[*Refused] {
	return func(yield func(*Refused) bool) {
		all := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			all = joined.Unwrap()
		}
		for _, e := range all {
			if r := (*Refused)(nil); errors.As(e, &r) && !yield(r) {
				return
			}
		}
	}
}

// any reports names because of which nothing was kept.
func (r *Refused) any() bool { return len(r.Names)+len(r.Lost)+len(r.Meanwhile) > 0 }

// Error names what was changed, and where what the call did is.
func (r *Refused) Error() string {
	text := "nothing that the command did in " + r.Root + " was kept" + r.Because()
	if r.Quarantine == "" {
		return text + "; its work was removed"
	}
	return text + "; its work is in " + r.Quarantine + " (a closed folder: chmod u+rwx opens it)"
}

// Because is why, to follow what was not kept.
func (r *Refused) Because() (text string) {
	if len(r.Names) > 0 {
		text += ", because it changed files that an agent may not change without asking (docs/confine.md): " + quoted(r.Names)
	}
	if len(r.Lost) > 0 {
		text += ", because it removed or overwrote files of which neither git nor another file has the content: " + quoted(r.Lost)
	}
	if len(r.Meanwhile) > 0 {
		text += ", because another program changed these files meanwhile, and so did the command: " + quoted(r.Meanwhile)
	}
	if r.Why != nil {
		text += ": " + r.Why.Error()
	}
	return text
}

// quoted gives the first names, and of each so much that a desk takes the text.
func quoted(names []string) string {
	var out []string
	for _, n := range names[:min(len(names), 20)] {
		out = append(out, fmt.Sprintf("%.200q", n))
	}
	if more := len(names) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, ", ")
}
