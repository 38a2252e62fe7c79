// Package api is what approvalbot promises to programs: the JSON of its HTTP
// API as Go types, and a client. It needs the standard library only and is the
// one package of the module whose exported names stay compatible.
//
// A program asks with [Client.Create], waits with [Client.WaitFinal], fetches
// the approved call with [Client.Claim] right before it runs it, and tells how
// it went with [Client.Result]. Refusals are a [*Problem], found with
// errors.As.
package api
