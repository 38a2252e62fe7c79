// Package install writes approvalbot into the configuration of an agent runtime, and
// takes it out again.
//
// [Plan] gives the planned changes, from the runtime, the scope of its configuration,
// and the paths of approvalbot and its client file; [Change.Write] writes it. The rest
// of a file is kept byte by byte, a copy of it is kept, and [Undo] gives that copy
// back.
package install
