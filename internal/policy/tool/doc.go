// Package tool is what policy knows of tools by their names, and how it reads their params.
//
// A name is folded ([Fold]) and looked up in [Kinds]: bash, Bash and shell are Exec, write_file is a Writer. The kind
// says how [Reading.Read] reads the params: as files that are read or written, an address, a patch, a message, a
// statement, a shell line for package line. A tool that a server brings is never taken for a runtime's own, since the
// project that lists the server chooses that name. It is judged by a row of servers.yaml, if the operator trusts the
// token that names the server, and else it is unknown-tool, which asks; a word in its name, such as delete, can only
// make it worse.
//
// All members of the params count. A member that is not known, and could name a file, a machine, a method or code,
// asks:
//
//	write {"path": "a.go", "content": "…"}             workspace-write
//	write {"path": "a.go", "content": "…", "host": …}  unknown-parameters as well, which asks
//
// Layers are what an operator allows or denies by name, before any risk ([Objection]): lists, groups, profiles, by
// agent, provider, sandbox. What a session's yes to a tool may cover is in extent.go.
package tool
