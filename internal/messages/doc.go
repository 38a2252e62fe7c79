// Package messages puts approvals into conversations: for agents whose whole
// state is a list of chat messages, in the shape of OpenAI, Anthropic or Google.
//
// Three steps surround the model. [Intercept] takes the model's message and asks
// the desk about each tool call: a call that may run stays, one that must wait
// is replaced by a call of client.requestApproval, and one that is refused by a
// sentence. [Decide] takes the conversation back, with the client's additions,
// and tells which calls may run. [Prepare] gives the conversation as the model
// may see it, without any of this. [Stream] is Intercept for a message that
// arrives in chunks.
//
// The stored list keeps everything; only what goes to the model is filtered.
// Anyone who sends a message list can write anything into it, so it has no
// authority: a decision in it is handed to the desk as the vote of the token's
// person, and counts under the same rules as a tap. If the token may not decide,
// the decision is ignored, and only decisions that people took elsewhere count.
//
// Besides asking the desk, all functions are pure. An unchanged message keeps
// its bytes; in a changed one, each untouched part keeps its own.
package messages
