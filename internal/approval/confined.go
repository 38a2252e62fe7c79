package approval

import "slices"

// ConfineV1 is the profile of confined calls that this desk knows: what internal/confine holds.
const ConfineV1 = "v1"

// Confined says that a call may run only if it can change no other files than those in Writable: no network, no other
// process, an empty home. The caller who claims it has promised the desk to run it so.
type Confined struct {
	Profile  string   `json:"profile"`  // ConfineV1
	Writable []string `json:"writable"` // absolute
	// Readonly is what is shown beside the system's own programs: absolute folders, and names of files in Writable
	// that would be hidden as secrets, as ".env.example".
	Readonly []string `json:"readonly"`
}

// Within reports whether a call that is judged so today may still run so: as it is, or with no fewer folders.
func (c Confined) Within(j Judgement) bool {
	if j.Confined == nil {
		return true
	}
	more := func(list, allowed []string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return !slices.Contains(allowed, dir) })
	}
	return !more(c.Writable, j.Confined.Writable) && !more(c.Readonly, j.Confined.Readonly)
}

// TriedConfined is what came of the same call when it ran confined, shortly before it was asked for again.
type TriedConfined struct {
	Exit    *int   `json:"exit,omitempty"`    // its exit status; nil: it is not known
	Changed int    `json:"changed"`           // files of the workspace that were new or changed then, as its owner says
	Code    string `json:"code"`              // of the approval by which it ran
	Summary string `json:"summary,omitempty"` // the last line it wrote: the asker's claim, redacted
}

// RanConfined is what the owner says of a confined run beside its status.
type RanConfined struct {
	Changed int      `json:"changed"`           // files of the workspace that are new or changed
	Blocked []string `json:"blocked,omitempty"` // protected names that it changed, so that nothing was kept, see internal/confine
}
