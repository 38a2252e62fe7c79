// Package messages puts approvals into conversations: for agents whose whole
// state is a list of chat messages, in the shape of OpenAI, Anthropic or Google.
//
// Three steps stand around the model. [Intercept] takes what the model said and
// asks the desk about each tool call: what may run stays, what must wait is
// replaced by a call of client.requestApproval, what is refused by a sentence.
// [Decide] takes the conversation back, with what the client added, and says
// which calls may run. [Prepare] gives the conversation as the model may see it,
// without any of this. [Stream] is Intercept for a message that arrives in
// chunks.
//
// The list that is stored keeps everything; only what goes to the model is
// filtered. A message list is the word of whoever sends it, and decides nothing:
// a decision in it is handed to the desk as the vote of the token's person, and
// counts under every rule that holds for a tap; from a token that may not decide
// it is ignored, and only what people decided elsewhere counts.
//
// Besides asking the desk, all functions are pure. A message that is not changed
// keeps its bytes; in one that is, whatever is not touched keeps its own.
package messages
