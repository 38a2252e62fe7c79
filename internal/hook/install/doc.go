// Package install writes approvalbot into the configuration of an agent runtime, and
// takes it out again.
//
// [Plan] says what would be written, from the runtime, whose configuration it is and
// where approvalbot and its client file are; [Change.Write] writes it. What a file says
// besides stays byte by byte, a copy of it is kept, and [Undo] gives that copy back.
package install
