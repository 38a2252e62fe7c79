// Package confine runs one command where it can change its workspace and nothing else, and
// takes away afterwards what others would obey.
//
// bubblewrap confines the command (profile.go says to what). No mount keeps a name from
// being made in a new folder, so the comparison carries the design: before the command runs,
// [Begin] lists every protected name of the workspace at every depth and keeps a copy of
// each; after its last process has died, [Watch.End] lists them again, moves what is new or
// changed into a folder outside the workspace, and puts back what was there. The list is on
// disk before anything runs, so the next call finishes what a killed one left.
//
// Which names are protected is known to policy/workspace; names.go adds what git obeys inside a
// repository, most of which an ordinary commit must be able to write, and git.go what the
// settings of git name. One call at a time runs in a workspace: what another one could change
// between a list and its mounts needs no thought then.
package confine
