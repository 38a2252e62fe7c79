package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"approvalbot/api"
	"approvalbot/internal/hook/ask"
	"approvalbot/internal/panics"
)

// holdTime is how long request_approval and await_approval hold at most: many clients
// give a tool a minute.
const holdTime = 54 * time.Second

// beatTime is how often a waiting caller is told that its answer is still to come.
const beatTime = 20 * time.Second

// Server answers the tools of one client.
type Server struct {
	Desk    ask.Approvals
	Version string
	Session string       // sessionKey of calls that do not name one
	Workdir string       // working directory of calls that do not name one
	Log     *slog.Logger // nil: silent

	asked *askedCalls     // by request_approval
	hold  time.Duration   // 0: holdTime
	gone  <-chan struct{} // closed when the client has gone; nil if its context tells
	beat  func()          // keeps the connection alive; nil if not needed
}

// Serve answers one client on its transport until that ends, or ctx does.
func (s Server) Serve(ctx context.Context, t mcp.Transport) error {
	return s.server().Run(ctx, t)
}

func (s Server) server() *mcp.Server {
	s.asked = &askedCalls{byID: map[string]api.CreateRequest{}}
	out := mcp.NewServer(&mcp.Implementation{Name: "approvalbot", Version: s.Version}, &mcp.ServerOptions{
		Instructions: "Ask with request_approval before you do what needs a person's yes; run only what it hands back.",
	})
	for _, t := range s.tools() {
		out.AddTool(t.tool, s.guarded(t))
	}
	return out
}

// tool is one tool, and its answer if no better one is possible.
type tool struct {
	tool  *mcp.Tool
	serve func(context.Context, json.RawMessage) *mcp.CallToolResult
	deny  func(args json.RawMessage, why string) *mcp.CallToolResult
}

func (s Server) tools() []tool {
	no := false
	yes := true
	asks := &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &yes}
	return []tool{
		{&mcp.Tool{Name: "hook", Annotations: asks, InputSchema: hookSchema,
			Description: "For the mcp_tool hooks of agent runtimes: decides about one tool call. Not for models."},
			s.hook, hookDeny},
		{&mcp.Tool{Name: "permission_prompt", Annotations: asks, InputSchema: promptSchema,
			Description: "For --permission-prompt-tool: decides about one tool call. Not for models."},
			s.prompt, promptDeny},
		{&mcp.Tool{Name: "request_approval", Annotations: asks, InputSchema: requestSchema,
			Description: "Asks for one call before it is made. Waits up to 55 seconds; while it is undecided, " +
				"state is pending," +
				" and await_approval waits on. Only state approved allows it, once, and exactly with the params " +
				"that come back."},
			s.request, failed},
		{&mcp.Tool{Name: "await_approval", Annotations: asks, InputSchema: awaitSchema,
			Description: "Waits up to 55 seconds for an approval that request_approval left pending, and answers " +
				"as it does."},
			s.await, failed},
	}
}

// guarded makes a tool's handler: it never panics, it never answers without a word,
// it ends when the client has gone, and it says now and then that it is still there.
func (s Server) guarded(t tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
		args := req.Params.Arguments
		deny := func() { res = t.deny(args, "not allowed: approvalbot could not answer") }
		defer panics.Catch(s.log(), deny, "a tool call caused a panic; it was not allowed", "tool", t.tool.Name)
		ctx, stop := s.while(ctx)
		defer stop()
		if len(args) > maxArguments {
			const why = "not allowed: the call is larger than %d bytes, more than a person could be shown"
			return t.deny(args, fmt.Sprintf(why, maxArguments)), nil
		}
		beats := make(chan struct{})
		go func() {
			defer close(beats)
			s.beating(ctx, req)
		}()
		res = t.serve(ctx, args)
		stop()
		<-beats
		return res, nil
	}
}

func (s Server) log() *slog.Logger { return cmp.Or(s.Log, slog.New(slog.DiscardHandler)) }

// maxArguments is the size of arguments in bytes beyond which the desk would refuse
// the call anyway.
const maxArguments = 1 << 20

// while is ctx, which ends also when the client has gone.
func (s Server) while(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if s.gone == nil {
		return ctx, cancel
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-s.gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); <-done }
}

// beating tells a client, now and then until ctx ends, that the answer is still to come.
func (s Server) beating(ctx context.Context, req *mcp.CallToolRequest) {
	token := req.Params.GetProgressToken()
	tick := time.NewTicker(beatTime)
	defer tick.Stop()
	for n := 1.0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if s.beat != nil {
			s.beat()
		}
		if token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
				ProgressToken: token, Progress: n, Message: "waiting for people"})
		}
	}
}

// text is an answer of one text.
func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

// failed is a tool's failure, with a sentence.
func failed(_ json.RawMessage, why string) *mcp.CallToolResult {
	out := text(why)
	out.IsError = true
	return out
}

// structured is an answer as an object, and as text for clients that read no objects.
func structured(v any) *mcp.CallToolResult {
	raw, err := json.Marshal(v)
	if err != nil {
		return failed(nil, "not allowed: the answer could not be written")
	}
	out := text(string(raw))
	out.StructuredContent = json.RawMessage(raw)
	return out
}
