// Package hook speaks the dialects in which agent runtimes ask whether a tool call
// may run.
//
// A deny in the wrong dialect runs the call, and in nearly every runtime so does a
// missing answer. Hence one table of runtimes ([Runtimes]), in which each event has
// a decoder and an encoder of its own; the runtime and the event are named by the
// URL or the command line, never guessed from a body; and every failure ends in
// that event's deny, with a sentence that its model reads.
package hook
