package policy

import (
	"context"
	"encoding/json"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/workspace"
)

// maxCommands is how many commands of one line people are told of.
const maxCommands = 40

// Commands says for people what each command of a call's line does by itself, in order.
// It decides nothing. None for a call that is no command line, or of one command alone.
func (e *Engine) Commands(call approval.Call) (out []approval.CommandRead) {
	ctx := context.Background() // people are shown it, so nobody else's wish ends it
	defer e.turned(e.turn(ctx))
	j := e.read(ctx, call)
	defer e.spent(j)
	if len(j.seen.Commands) < 2 {
		return nil
	}
	for _, c := range j.seen.Commands[:min(len(j.seen.Commands), maxCommands)] {
		words, literal := texts(j.seen.Args(c))
		read := approval.CommandRead{Text: strings.Join(words, " "), Class: c.Class}
		if literal {
			read.Why = e.commandAlone(call, words)
		}
		out = append(out, read)
	}
	return out
}

// texts are words as people read them; literal: none of them is computed.
func texts(all []workspace.Word) (out []string, literal bool) {
	literal = true
	for _, w := range all {
		if w.Kind == workspace.Literal {
			out = append(out, w.Text)
			continue
		}
		literal = false
		out = append(out, "…")
	}
	return out, literal
}

// commandAlone says why a command is judged as it is, without the line around it.
func (e *Engine) commandAlone(call approval.Call, words []string) (why []string) {
	params, err := json.Marshal(map[string]any{"argv": words})
	if err != nil || len(words) == 0 || words[0] == "" {
		return nil
	}
	j := e.read(context.Background(), approval.Call{ToolName: "exec", Params: params, Bind: call.Bind,
		AgentID: call.AgentID, Owner: call.Owner, Context: approval.CallContext{Terminal: call.Context.Terminal}})
	defer e.spent(j)
	_, why = j.reasons(nil)
	return why
}
