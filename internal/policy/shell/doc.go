// Package shell reads command lines for policy.
//
// Its centre is the plain reader. It accepts a small closed grammar: the lines that bash
// (3.2 and newer), dash, zsh, mksh and busybox sh all run as exactly the same commands with
// the same words. It refuses everything else. It is written to be read beside that grammar
// and depends on no shell parser. [Plain] gives a line's form: its commands, words and
// structure, written out. [Parsed] gives the form of the same line as a full parser of bash
// sees it. Policy lets a line run unasked only if both are the same bytes; what the parser
// alone understands can describe a danger, and never allows.
//
// Which shells run what is accepted, and whether as it says, is tried out by
// TestAdversary_W11_AllowedLinesRunWhatTheySay in package policy (make shellproof).
package shell

// Marks of a form. Lines hold no control characters but tab and newline, so a
// mark cannot be mistaken for text.
const (
	markWord       = 0x1f // ends a word
	markEnd        = 0x1e // ends a pipeline that is followed by ";", a newline or the end of the text
	markAnd        = 0x11 // ends one that is followed by "&&"
	markOr         = 0x12 // … by "||"
	markPipe       = 0x13 // separates the commands of a pipeline
	markNot        = 0x14 // "!" before a pipeline
	markTime       = 0x15 // "time" before a pipeline
	markOpen       = 0x16 // begins a compound command; its kind follows: ( { f i w u
	markPart       = 0x17 // begins the next part of one: condition, body, else
	markClose      = 0x18 // ends one
	markAssign     = 0x0e // begins NAME=value
	markRedirect   = 0x0f // begins a redirection: operator, markWord, place or body
	markName       = 0x01 // begins the name of an unquoted variable
	markQuotedName = 0x02 // … of a quoted one
	markNameEnd    = 0x03
	markPattern    = 0x04 // the next character is an unquoted * ? [, the { of a list or a leading ~
	markSubst      = 0x05 // begins an unquoted $( )
	markQuoted     = 0x06 // begins one in double quotes
	markSubstEnd   = 0x07
	markFile       = 0x0b // begins a word <( ), which markSubstEnd ends
	markOther      = 0x08 // what only a parser accepts
)
