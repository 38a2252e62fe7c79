// Package program is the table of programs: what policy knows of git, tar, kubectl and some
// thousand others, a row each. A row lists what is known to be harmless of a program; what it does
// not list asks. So a new option of a program asks until a person has read what it does.
//
// Rows are written in data/*.yaml, a file for each family of programs. This is one, shortened:
//
//	touch: {is: read-only-command, operands: makes, flags: -acm --no-create, tells: -r}
//
// It says: touch by itself is harmless (a code of package finding); its operands are files that it
// makes (a role, see roles.go); four options have no value; the value of -r is a file whose times
// it tells. So "touch -r a b" looks at a and makes b, and what that means depends on the
// directories these are in; "touch -x b" is unknown-option, which asks. [RuleOf] gives the
// [command.Rule] of a name. The rule gives codes and effects, and package line applies these at the
// command's place.
//
// A row that cannot say how a program reads its words names a language (rule:) of package language.
// Rows become an entry in load.go, entries judge in row.go, and written.go explains each key. The
// program embeds table.txt, which a test makes of the files and checks (CONTRIBUTING.md says how to
// change a row). A row is decoded when it is first asked for.
//
// What people are told of a command, with the names of what it touches, is in the same files, under
// says (says.go). It decides no call.
//
// Beside the table are questions about whole commands: is it a rehearsal or a call for help
// (rehearsal.go), does it run others (wrappers.go), what does a session's yes to it cover
// (subject.go), and why the project's own build and tests are a class of their own (project.go).
package program
