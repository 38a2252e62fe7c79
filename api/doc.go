// Package api is what approvalbot promises to programs: the JSON of its HTTP
// API as Go types, and a client. It needs the standard library only and is the
// one package of the module whose exported names stay compatible.
//
// # Asking
//
// A program asks with [Client.Create] for one call, to the letter: a tool's name
// and its params. Policy allows or denies it at once, or people are asked and the
// approval is pending. [Client.WaitFinal] waits for the end, over restarts of the
// desk. An approval is no permission to run by itself: right before it runs,
// [Client.Claim] hands the call out, once, and only [Claim.Params] may run.
// [Client.Result] reports how it went. A program that no longer needs an answer
// ends the request with [Client.Withdraw].
//
// An answer can be lost on the way. With an id of its own ([CreateRequest].ID) a
// program may send the same request again and gets the same approval; with a
// [ClaimRequest].ClaimID it may repeat a claim until it has reported a result.
//
// # Deciding and listening
//
// A token with the scope operator.approvals sees the approvals of all askers, and
// if it names a person it votes with [Client.Resolve]. [Client.Events] follows
// what happens, resumes from its last event, and tells each event once;
// [Client.Follow] also tells when it is cut off.
//
// # Errors
//
// A refusal of the desk is a [*Problem], found with errors.As; its Code is
// stable. Any other error means that the desk was not reached or not understood.
// After any error, the call is not allowed.
package api
