// Package fault names the points at which a crash would hurt most.
//
// The desk promises not to lose data if it is killed (kill -9) at any moment. A test can
// only check that if the desk can die at the worst moments on purpose: between a commit
// and the answer, between a message sent and its delivery recorded. So the code calls
// [Point] there. In a normal build that is an empty function the compiler removes. Built
// with the tag "faults", a process started with
//
//	APPROVALBOT_FAULT=name      dies at the first passing of that point
//	APPROVALBOT_FAULT=name:3    dies at the third
//
// by SIGKILL, so that no deferred call, no signal handler and no buffer flush
// helps it.
package fault
