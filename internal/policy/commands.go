package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/policy/finding"
	"approvalbot/internal/policy/line"
	"approvalbot/internal/policy/workspace"
)

// maxCommands is how many commands of one line people are told of.
const maxCommands = 40

// Commands says for people what each command of a call's line does by itself, in order. If there are more than
// maxCommands, it gives the riskiest, the worst first, and how many it leaves out. It decides no call. The list is
// empty for a call that is not a command line, or is a single command.
func (e *Engine) Commands(call approval.Call) (out approval.CommandList) {
	ctx := context.Background() // the caller's context does not end it: it is for the people who are asked
	defer e.turned(e.turn(ctx))
	j := e.read(ctx, call)
	defer e.spent(j)
	all := j.seen.Commands
	switch {
	case len(all) < 2:
		return out
	case len(all) > maxCommands:
		all = slices.Clone(all)
		slices.SortStableFunc(all, func(a, b line.Command) int { return cmp.Compare(b.Class, a.Class) })
		out.More, out.Worst = len(all)-maxCommands, all[maxCommands].Class
		all = all[:maxCommands]
	}
	for _, c := range all {
		words, literal := texts(j.seen.Args(c))
		read := approval.CommandRead{Text: strings.Join(words, " "), Class: c.Class}
		if literal {
			read.Why = e.commandAlone(call, words)
		}
		out.Commands = append(out.Commands, read)
	}
	return out
}

// Spread says for people on which lines of a call's text its commands are, and how bad each is by itself. It decides
// no call. It is empty for a call that is not a command line, and for one that is too much to read twice.
func (e *Engine) Spread(call approval.Call) (out approval.Spread) {
	ctx := context.Background() // as for Commands
	defer e.turned(e.turn(ctx))
	j := e.read(ctx, call)
	defer e.spent(j)
	var notes line.Notes
	k, ok := e.noting(j, &notes)
	defer e.spent(k)
	if !ok || len(k.seen.Commands) == 0 {
		return out
	}
	text := ""
	if k.line != nil {
		text = *k.line
		out.Lines = 1 + strings.Count(strings.TrimSuffix(text, "\n"), "\n")
	}
	out.Parts = notes.Parts(text, k.seen.Commands)
	rest := k.Found
	for i := range notes.List {
		rest = rest.Without(notes.List[i].Codes)
	}
	if rest != (finding.Set{}) {
		out.Parts = append(out.Parts, approval.Part{Class: rest.Class()})
	}
	return out
}

// texts gives words as people read them; literal reports that no word is computed.
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
		AgentID: call.AgentID, Owner: call.Owner, Context: approval.CallContext{Terminal: call.Context.Terminal, Untracked: call.Context.Untracked, Programs: call.Context.Programs}})
	defer e.spent(j)
	_, why = j.reasons(nil)
	return why
}
