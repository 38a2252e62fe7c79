// Package routing decides which chats get an approval's card and carries the
// cards there.
//
// [Table] is the operator's choice: the session's own chat, the configured
// targets, or both, each place once. [Dispatcher] drains the outbox of one
// channel: it takes one chat at a time, so that order and pace of a chat hold
// and a dead or limited chat costs the others nothing; it asks core what a
// message should show now, hands it to the channel, and records what became of
// it. Newer states overtake older ones: what is drawn is always the newest.
package routing
