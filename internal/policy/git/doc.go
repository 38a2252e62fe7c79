// Package git reads the words of git's subcommands: which branches and files they change, what of the history they show, and
// what they run. [Rules] has the rules by the names that rows of the table of programs use; [Prelude] judges git's own options,
// which stand before the subcommand.
//
//	git log -p -3        shows three commits
//	git log -p           shows all that was ever written, secrets included, so it asks
package git
