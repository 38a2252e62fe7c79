// Package display decides how untrusted text looks to people.
//
// An approver must see what would run, all of it and only that. Three things
// prevent this, and each has its own part of this package:
//
//   - Characters that cannot be seen, or that move others about: [Escape]
//     spells them out as \u{HEX}. Letters that imitate others stay as they
//     are, and [Lookalikes] names them in a sentence.
//   - Secrets that have no business in a chat: [Redact] hides them. It hides
//     plain literals of limited length only, so that no text that a shell would
//     act upon can hide behind a secret's name.
//   - Text that reads differently from what it means: [Argv] quotes an argument
//     vector so that it reads back to the same vector, and [Params] lays a JSON
//     object out as one field for each member.
//
// All functions are pure. Text goes through [Redact] first and [Escape] last;
// [Safe] does both.
package display
