// Package policy decides what the desk does with a call: let it run, ask
// people, or refuse it.
//
// An [Engine] is made once from a [Config] and never changes. It judges a call
// in stages, each of which may only make the answer stricter:
//
//	layers   which tools may be used at all
//	risk     what the call could do: a set of findings, and from it a risk class
//	exec     what the words deny, allowlist, always say about tool exec
//	policy   what class and side effects mean: allow, ask or deny
//
// The risk of a file, web or message tool is read from a table and from its
// params. A shell line is read with a real parser, and every simple command in
// it is judged, wherever it stands: in pipes, substitutions, here-documents,
// functions and behind wrappers such as sudo, env and xargs. What runs without
// asking is a list; whatever is not on the list asks.
//
// Everything the reading can say is a finding of a fixed class (see reasons.go).
// Findings are only ever added, so that reading more of a call never lowers its
// class. What cannot be read (a computed command name, a syntax error, a line
// too long or too deep) is a finding of class R3 at least.
//
// The package does no I/O: it knows no file system and no network. It therefore
// cannot see where a symbolic link points; the tools that run the calls must.
package policy
