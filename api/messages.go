package api

import (
	"context"
	"encoding/json"
	"net/http"
)

// MessageFormat names the shape of a chat message.
type MessageFormat string

// The shapes. OpenAI's covers chat completions and the items of responses.
const (
	OpenAIMessages    MessageFormat = "openai"
	AnthropicMessages MessageFormat = "anthropic"
	GoogleMessages    MessageFormat = "google"
)

// MessageTool is what an agent says about one of its tools. It can never loosen
// a judgement.
type MessageTool struct {
	Name        string        `json:"name"`
	Description string        `json:"description,omitzero" maxLength:"2000" doc:"What the tool does; read by policy and shown in the approval's message."`
	Location    string        `json:"location,omitzero" enum:"server,client" doc:"The side that runs the tool; server if not given."`
	Approval    *ToolApproval `json:"approval,omitzero"`
}

// ToolApproval is the way in which a tool must be approved.
type ToolApproval struct {
	Required bool     `json:"required,omitzero" doc:"A person must be asked before it runs: if policy would allow it unasked, it is refused."`
	Message  string   `json:"message,omitzero" maxLength:"2000" doc:"What the person reads; else the description and a sentence."`
	Options  []string `json:"options,omitzero" enum:"Cancel,Once,Always" doc:"Fewer options than the desk offers; Cancel is always there."`
}

// InterceptRequest hands over a model's message before any of its tool calls
// runs: one assistant message, or the chunks of a stream that has ended.
type InterceptRequest struct {
	SessionKey string            `json:"sessionKey" minLength:"1" maxLength:"256" doc:"The conversation. Approvals count in it alone."`
	Message    json.RawMessage   `json:"message,omitzero" doc:"An assistant message of OpenAI, Anthropic or Google; or the output items of an OpenAI response as an array."`
	Chunks     []json.RawMessage `json:"chunks,omitzero" doc:"Instead of message: every chunk of the stream, in order."`
	MessageID  string            `json:"messageId,omitzero" maxLength:"256" doc:"Names the message if the provider's call ids are missing or repeat."`
	Format     MessageFormat     `json:"format,omitzero" enum:"openai,anthropic,google" doc:"The shape; found out if not given."`
	Tools      []MessageTool     `json:"tools,omitzero"`
	AgentID    string            `json:"agentId,omitzero" maxLength:"256" doc:"A token with an agentId of its own overrides it."`
	Origin     *Target           `json:"origin,omitzero" doc:"The chat the session lives in."`
	Requester  *Requester        `json:"requester,omitzero" doc:"The human who asked the agent; may not decide."`
	Context    *Context          `json:"context,omitzero" doc:"May only make the answer stricter."`
	Bind       *Bind             `json:"bind,omitzero" doc:"Ties the approvals to the directory, machine and environment of the calls."`
	TimeoutMs  int64             `json:"timeoutMs,omitzero" minimum:"1" doc:"Clamped to the configured maximum."`
}

// InterceptAnswer is the message in which every call is replaced that may not
// run at once. Store it, and send it to the client.
type InterceptAnswer struct {
	Message json.RawMessage   `json:"message,omitzero" doc:"The message: byte for byte the same if every call may run."`
	Chunks  []json.RawMessage `json:"chunks,omitzero" doc:"The chunks to send on, if chunks were given."`
	Calls   []MessageCall     `json:"calls" doc:"Every tool call of the message, in order."`
}

// MessageCall is the verdict on one tool call.
type MessageCall struct {
	ToolCallID string `json:"toolCallId,omitzero" doc:"Of the model's own call, as the messages have it."`
	ToolName   string `json:"toolName,omitzero"`
	Location   string `json:"location,omitzero" enum:"server,client" doc:"As its tool was described."`
	ApprovalID string `json:"approvalId,omitzero" doc:"Claim it by this id right before the call runs."`
	Outcome    string `json:"outcome" enum:"run,wait,refused" doc:"run: claim it and run it; wait: people are asked; refused: it must not run."`
	Status     Status `json:"status,omitzero" enum:"pending,approved,denied,expired,withdrawn" doc:"Of the approval, if there is one."`
	Code       string `json:"code,omitzero" doc:"Why it is refused, or why a vote was: a stable word."`
	Reason     string `json:"reason,omitzero" doc:"The same as a sentence."`
	Vote       string `json:"vote,omitzero" enum:"counted,ignored,refused" doc:"What became of the decision in the messages: ignored means that this token may not decide."`
	Claim      *Claim `json:"claim,omitzero" doc:"With claim: the approved call, handed out to run now."`
}

// DecisionsRequest hands over the conversation with what the client added.
type DecisionsRequest struct {
	SessionKey string            `json:"sessionKey" minLength:"1" maxLength:"256"`
	Messages   []json.RawMessage `json:"messages"`
	Format     MessageFormat     `json:"format,omitzero" enum:"openai,anthropic,google"`
	Claim      bool              `json:"claim,omitzero" doc:"Claim at once every call that may run."`
	ClaimID    string            `json:"claimId,omitzero" maxLength:"128" doc:"With claim: names the claims, so that a lost answer can be asked for again."`
}

// DecisionsAnswer tells the present state of every approval in the conversation.
type DecisionsAnswer struct {
	Calls    []MessageCall     `json:"calls"`
	Messages []json.RawMessage `json:"messages" doc:"With claim: the claimed calls as the model made them, in the conversation's shape. Append them, run them, append their results."`
}

// PrepareRequest hands over a stored conversation.
type PrepareRequest struct {
	Messages []json.RawMessage `json:"messages"`
	Format   MessageFormat     `json:"format,omitzero" enum:"openai,anthropic,google"`
}

// PrepareAnswer is the conversation as the model may see it.
type PrepareAnswer struct {
	Messages []json.RawMessage `json:"messages" doc:"Without any call of a client tool, and without approval results."`
}

// Intercept asks about every tool call of a model's message. Its calls may not run
// before the answer, nor after an error. This client may escape characters of the
// message differently than they were written; its values do not change.
func (c *Client) Intercept(ctx context.Context, req InterceptRequest) (InterceptAnswer, error) {
	return say[InterceptAnswer](ctx, c, "intercept", req)
}

// Decisions tells the state of the approvals of a conversation. Decisions in it
// count as the vote of the token's person; for a token without a person they are
// ignored.
func (c *Client) Decisions(ctx context.Context, req DecisionsRequest) (DecisionsAnswer, error) {
	return say[DecisionsAnswer](ctx, c, "decisions", req)
}

// Prepare gives a conversation as the model may see it.
func (c *Client) Prepare(ctx context.Context, req PrepareRequest) (PrepareAnswer, error) {
	return say[PrepareAnswer](ctx, c, "prepare", req)
}

func say[T any](ctx context.Context, c *Client, step string, in any) (T, error) {
	var out T
	err := c.do(ctx, call{method: http.MethodPost, path: "/v1/messages/" + step, in: in}, &out)
	return out, err
}
