// Package language reads programs whose words are a language of their own, such as find, sed, jq and
// wrappers. A row of the table of programs names such a rule, and is judged by it:
//
//	cp: {rule: copy}
//
// A rule is a [command.Rule]: it gives codes and effects, and knows no path's meaning. [Rules] has all of them by the
// names that rows use; git's are in the room git. A rule lists what it knows to be harmless; for anything else it adds
// a code that asks. What a program runs (xargs, find -exec, env) it gives back as words or as a line to be judged like
// any other.
//
// "find . -name '*.tmp' -delete" is deletes-file, since the name narrows what goes; "find . -delete" is
// recursive-delete as well.
package language
