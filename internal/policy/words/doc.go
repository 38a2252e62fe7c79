// Package words has the small questions about text that all readers of policy ask: is it one of
// these names, does it begin so, is this byte part of a word.
//
// Names are data, written as one string of words and made a set once:
//
//	var feeders = words.Set("sh bash zsh python3 node")
//
// Most questions about paths are asked of words that are in no set. A lexicon ([NewLexicon]) answers
// these from the first byte and the length, without hashing the word.
//
// Letters and digits are those of ASCII: the names of programs, options and files that policy knows
// are. A look-alike from another script is thus never taken for one of them; what it may be to a
// file system, workspace.FoldPath says. All is pure, and depends on the standard library alone.
package words
