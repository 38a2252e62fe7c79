package core

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/display"
)

// Limits of what a change of the policy is tried on, and of what is said of it.
const (
	lookedAt     = 400 // newest approvals that are looked at
	triedOn      = 200 // different calls of those
	maxOtherwise = 10  // calls that are named
	maxNamed     = 100 // characters of one of them
)

// Otherwise says which known calls a policy would judge otherwise than the one in force: the newest that the desk
// was asked for, as far as their calls are kept, and examples. Each line is safe to show, the calls that would run
// now first. It does not put the policy in force and asks no outside authority.
func (u Upkeep) Otherwise(ctx context.Context, next Policy, examples []approval.Call) (Differences, error) {
	now, out := u.gate.rules.Load().Policy, Differences{}
	asked, err := u.gate.store.List(ctx, Filter{Limit: lookedAt})
	if err != nil {
		return out, err
	}
	seen := map[string]bool{}
	for _, a := range asked.Items {
		one := a.Owner + "\x00" + a.AgentID + "\x00" + a.Fingerprint
		if seen[one] || len(seen) == triedOn || a.ToolName == approval.DrillTool {
			continue
		}
		seen[one] = true
		call, kept := u.gate.keptCall(ctx, a)
		if !kept {
			out.Gone++
			continue
		}
		out.Asked++
		out.try(ctx, now, next, call, card.Clipped(card.Headline(a), maxNamed)+", asked by "+card.Asker(a))
	}
	return out.on(ctx, now, next, examples)
}

// OtherwiseOn is [Upkeep.Otherwise] of two policies without a desk: it knows only the examples.
func OtherwiseOn(ctx context.Context, now, next Policy, examples []approval.Call) (Differences, error) {
	return Differences{}.on(ctx, now, next, examples)
}

func (d *Differences) try(ctx context.Context, now, next Policy, call approval.Call, name string) {
	was, is := now.Judge(ctx, call), next.Judge(ctx, call)
	if x := (difference{name, verdict(was), verdict(is), is.Outcome}); x.was != x.is {
		d.all = append(d.all, x)
	}
}

// on is what is known of the calls that were asked for, with the examples, in order.
func (d Differences) on(ctx context.Context, now, next Policy, examples []approval.Call) (Differences, error) {
	d.Examples = len(examples)
	for _, call := range examples {
		if ctx.Err() != nil {
			return d, ctx.Err()
		}
		d.try(ctx, now, next, call, "example: "+exampleName(call))
	}
	slices.SortStableFunc(d.all, func(x, y difference) int { return cmp.Compare(x.order(), y.order()) })
	return d, nil
}

// keptCall is the call of an approval: the sealed one or, because that is deleted when the call has ended, the
// command that its row names, if that command has the same fingerprint, so that it is the whole call and not
// redacted.
func (g *Gate) keptCall(ctx context.Context, a approval.Approval) (approval.Call, bool) {
	command, where, _ := strings.Cut(a.Summary, " · in ")
	for _, params := range []map[string]string{{"command": a.Summary}, {"command": command}, {"command": command, "workdir": where}} {
		raw, err := json.Marshal(params)
		if err != nil || a.ToolName != "exec" {
			break
		}
		if s, err := approval.Canonical(a.ToolName, raw, a.Bind); err == nil && s.Fingerprint == a.Fingerprint {
			return asCall(a, a.ToolName, raw, a.Bind), true
		}
	}
	if a.Final() && (a.Status != approval.Approved || a.RevokedAtMs != 0 || a.RanWell()) {
		return approval.Call{}, false // it went with the end
	}
	call, err := g.openSealed(ctx, a)
	return call, err == nil
}

func exampleName(c approval.Call) string {
	var exec struct{ Command string }
	if c.ToolName == "exec" && json.Unmarshal(c.Params, &exec) == nil && exec.Command != "" {
		return card.Clipped(display.OneLine(display.Safe(exec.Command)), maxNamed)
	}
	return card.Clipped(display.Safe(c.ToolName+" "+string(bytes.TrimSpace(c.Params))), maxNamed)
}

// verdict is what a policy does with a call, in words.
func verdict(j approval.Judgement) string {
	switch {
	case j.Outcome == approval.OutcomeAllow:
		return "allowed"
	case j.Outcome != approval.OutcomeAsk:
		return "denied"
	case j.Rule.StepUp:
		return "asked (" + card.Text(j.Rule) + ", signed by a passkey)"
	}
	return "asked (" + card.Text(j.Rule) + ")"
}

// Differences are the calls that two policies judge otherwise.
type Differences struct {
	Asked    int // calls that the desk was asked for and that were tried
	Gone     int // calls that are not kept
	Examples int
	all      []difference
}

type difference struct {
	call, was, is string
	outcome       approval.Outcome
}

// order puts what would run first.
func (x difference) order() int {
	switch x.outcome {
	case approval.OutcomeAllow:
		return 0
	case approval.OutcomeAsk:
		return 1
	}
	return 2
}

// Count says how many there are among how many.
func (d Differences) Count() string {
	said := fmt.Sprintf("%d of %d examples", len(d.all), d.Examples)
	if d.Asked+d.Gone > 0 {
		said = fmt.Sprintf("%d of %d calls that were asked for lately and of %d examples", len(d.all), d.Asked, d.Examples)
	}
	if d.Gone > 0 {
		said += fmt.Sprintf(" (%d more are not kept)", d.Gone)
	}
	return said + " would be judged otherwise"
}

// Lines names them, at most ten, then how many more there are.
func (d Differences) Lines() []string {
	lines := []string{d.Count()}
	for _, x := range card.Clip(d.all, maxOtherwise) {
		lines = append(lines, fmt.Sprintf("%s: %s, and was %s", x.call, x.is, x.was))
	}
	if n := len(d.all) - maxOtherwise; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}
