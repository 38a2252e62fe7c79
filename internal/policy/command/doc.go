// Package command is one simple command as a rule sees it, and what the rule says of it.
//
// A [Rule] is given a [Call] (where the command is, whether it is in a loop or behind a pipe) and the words after its
// name. It says two things, and decides nothing: codes of package finding, which hold of the command by itself, and
// effects, such as "reads this word as a file" or "runs these words", which package line applies where the command is.
// So a rule never asks what a path means; a cd before the command does not concern it.
//
// Words are split by [Call.Scanner] with a [Spec] of the options that do no harm: which have values, where options end,
// what operands are. An option that the Spec does not list is unknown-option, which asks. For "touch -r a b":
//
//	Spec{Flags: "acm", Values: "dtr"}   gives the option r with the value a, then the operand b
//	x.Name(a), x.Write(b)               are the effects: a is looked at, b is made
//
// Rules are made of rows (package program), or written in Go if a program's words are a language (package language).
package command
