// Package language reads programs whose words are a language of their own, such as find,
// sed, jq, git's revisions and wrappers. The table of programs asks for its rules by name.
package language
