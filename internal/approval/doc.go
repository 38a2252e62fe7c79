// Package approval has the words of the domain as data: the approval and its parts, the call, the judgement, rules,
// votes, chats, deliveries, events, grants and errors.
//
// An [Approval] is a plain value in parts, each a district of the steps that change it:
//
//	Names    key, code, owner             Voted    votes, and what they add up to
//	Asked    the call as it came          Contact  who was asked where, and who is asked next
//	Judged   what policy said of it       Ended    how it ended: outcome, claim, result
//
// Steps in core take one and give another; nothing here changes one in place, asks for the time or does I/O. The store
// keeps it as JSON, beside columns for what is searched and sorted by (members tagged "-"). The log's hashes and the
// rows' MACs are of these bytes: a member may be added, and none may change or go (TestBytesStay in core).
//
// A call is known by its fingerprint ([Canonical]): the SHA-256 of the RFC 8785 form of {bind?, params, toolName}. So
//
//	{"b": 1, "a": 2}  and  {"a":2,"b":1.0}
//
// are one call, and the bytes that a claim hands out are those that were hashed.
//
// An [Error] has a code, which api documents, and one sentence with the way out. The zero value of each word that could
// allow something (Outcome, Verdict, Status) allows nothing.
package approval
