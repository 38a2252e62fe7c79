// Package routing decides which chats get an approval's card and carries the cards there.
//
// [Table] is the operator's choice: the session's own chat, the configured targets, or both, each place once.
// [Dispatcher] drains the outbox of one channel: it takes one chat at a time, so that each chat keeps its order and
// pace, and a dead or limited chat does not delay the others; it asks core what a message should show now, hands it to
// the channel, and records the result. Newer states overtake older ones: it always draws the newest.
//
// If a message fails, a core.DeliveryError says what comes next: when to try again, that the chat is gone or has moved,
// or that the platform refuses this message. A failed message is retried after untried ones. Its chat pauses only if
// the platform did not answer, or if no message gets through there. What a chat does not take shows less: a file
// becomes messages, then a card that may only deny, then one without any of the asker's words.
//
// That people could not be asked is known only if no chat takes a card, or if those that might have left every try
// unanswered for fallbackAfter (kept as silences). A chat that says when to try again has answered, and a time without
// tries, as between two starts, does not count.
package routing
