// Package policy decides what the desk does with a call: let it run, ask
// people, or refuse it.
//
// An [Engine] is made once from a [Config] and never changes. It judges a call
// in stages:
//
//	layers   which tools may be used at all
//	risk     what the call could do: a set of findings, and from it a risk class
//	rules    the operator's own: the first that matches counts
//	exec     what the words deny, allowlist, always say about tool exec
//	policy   what class and side effects mean: allow, ask or deny
//
// A deny from any stage wins. Only the operator can loosen: by a rule or the allowlist that
// names exactly what it permits, below R4, never over a deny, and only if all of a call is
// what it names. What tightens counts if it could mean any part of a call.
//
// The risk of a file, web or message tool is read from a table and from its params. A shell
// line is read twice: policy/shell says whether every shell runs the words that are seen,
// and a parser of all of bash says what they are. Every simple command in the line is
// judged, also in pipes, substitutions, here-documents and functions, and behind wrappers
// such as sudo, env and xargs. What runs without asking is a list; a command that is not on
// the list asks.
//
// Everything the reading can say is a finding of a fixed class (see reasons.go).
// Findings are only ever added, so that reading more of a call never lowers its
// class; a command that is told to say only what it would do (rehearse.go) is the one
// exception, and stays R3. What cannot be read (a computed command name, a syntax error, a line
// too long or too deep) is a finding of class R3 at least.
//
// The package does no I/O: it knows no file system and no network. It therefore cannot see
// what a symbolic link points to; the tools that run the calls must.
package policy
