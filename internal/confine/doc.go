// Package confine runs one command where it can change its workspace and nothing else, and keeps what it did there only
// if a file tool might have written all of it without asking.
//
// bubblewrap confines the command (profile.go says to what), on an overlay of the workspace (overlay.go): nothing of the
// workspace changes while the command runs. Git's own directories in it are mounted read-only. After the last process has
// died, upper.go judges each name in the upper directory of the overlay. If one of them is protected, or somebody else
// changed meanwhile what the command changed, all of it goes to a quarantine. So does work that took something away which
// cannot be had back (lost.go). Else keep.go copies it back, and compares each name once more right before it takes it.
// Nothing looks into a folder that is closed (see closed): a workspace that has one is refused, and so is a call that
// leaves one.
//
// The mounts hide secrets by their names. So no unconfined command of the asker runs beside a confined one (beside.go); and
// if another program gives a secret a new name meanwhile, lookout.go has the call ended, its output withheld and its work
// refused.
//
// Which names are protected is known to policy/workspace and names.go: those about which policy asks when an agent writes
// them with a file tool. git.go finds the repositories, and refuses one that is not plainly in its place. One call at a
// time runs in a workspace.
package confine
