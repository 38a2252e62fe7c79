package messages

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"approvalbot/api"
)

// Decide tells the state of every approval that a conversation mentions, and
// which calls may run. The conversation itself has no authority: a decision in it
// is given to the desk as the vote of the token's person, and only for a pending
// approval of that very session. An allow counts only if the conversation shows
// the call that the desk has. If the token may not decide, the decisions in the
// conversation are ignored.
//
// An id that is unknown, of another owner or of another session is refused with
// the code not_found, which does not tell these cases apart. Only faults of the
// desk are errors.
func Decide(ctx context.Context, approvals Approvals, req api.DecisionsRequest) (api.DecisionsAnswer, error) {
	out := api.DecisionsAnswer{Calls: []api.MessageCall{}, Messages: []json.RawMessage{}}
	if req.SessionKey == "" {
		return out, invalid("sessionKey", "is required")
	}
	if req.ClaimID != "" && !req.Claim {
		return out, invalid("claimId", "needs claim")
	}
	if err := checkFormat(req.Format); err != nil {
		return out, err
	}
	entries, err := collect(req.Messages)
	if err != nil {
		return out, err
	}
	d := decider{approvals: approvals, req: req}
	for _, e := range entries {
		c, err := d.one(ctx, e)
		if err != nil {
			return out, err
		}
		out.Calls = append(out.Calls, c)
	}
	if req.Claim { // last, so that a later fault cannot lose a claimed call
		out.Messages = append(out.Messages, d.claimAll(ctx, entries, out.Calls)...)
	}
	return out, nil
}

// entry is one approval id that a conversation mentions.
type entry struct {
	id       string
	requests []request
	outputs  []json.RawMessage
	shape    *shape // of the first request, which is part
	part     object
	callID   string // the model's own, as that request has it
	claim    *api.Claim
}

// collect finds the injected calls and their results, in order.
func collect(list []json.RawMessage) ([]*entry, error) {
	objects, err := readMessages(list)
	if err != nil {
		return nil, err
	}
	byID, order := map[string]*entry{}, []*entry(nil)
	of := func(id string) *entry {
		id = strings.TrimPrefix(id, idPrefix)
		if byID[id] == nil {
			byID[id] = &entry{id: id}
			order = append(order, byID[id])
		}
		return byID[id]
	}
	for i, o := range objects {
		for _, sh := range shapes() {
			for _, it := range sh.read(list[i], o).items {
				if !strings.HasPrefix(it.id, idPrefix) {
					continue
				}
				switch it.kind {
				case call, odd:
					of(it.id).request(sh, it)
				case result:
					e := of(it.id)
					e.outputs = append(e.outputs, it.output)
				}
			}
		}
	}
	if len(order) > MaxApprovals {
		return nil, invalid("messages",
			fmt.Sprintf("must name at most %d approvals; leave out those that have ended", MaxApprovals))
	}
	return order, nil
}

// request notes an injected call. An unreadable call counts as not shown.
func (e *entry) request(sh *shape, it item) {
	r, readable := request{}, false
	if it.kind == call && it.name == RequestApproval {
		r, readable = readRequest(it.args)
	}
	if e.requests = append(e.requests, r); e.shape == nil && readable {
		e.shape, e.part, e.callID = sh, it.obj, r.id
	}
}

// decider handles the entries of one conversation.
type decider struct {
	approvals Approvals
	req       api.DecisionsRequest
}

func (d *decider) one(ctx context.Context, e *entry) (api.MessageCall, error) {
	c := api.MessageCall{ApprovalID: e.id, ToolCallID: e.callID, Outcome: CallRefused}
	look, found, err := d.look(ctx, e.id)
	if err != nil {
		return c, err
	}
	if !found {
		if len(e.id) > 128 {
			c.ApprovalID = ""
		}
		c.Code, c.Reason = "not_found", "There is no such approval in this session."
		return c, nil
	}
	c.ToolName = look.Approval.ToolName
	if len(e.outputs) > 0 && look.Approval.Status == api.Pending {
		if err := d.vote(ctx, &c, e, look); err != nil {
			return c, err
		}
		if look, found, err = d.look(ctx, e.id); err != nil || !found {
			return c, err
		}
	}
	vote, code, reason := c.Vote, c.Code, c.Reason
	standing(&c, look.Approval)
	if vote == "refused" && c.Outcome == CallWaits {
		c.Code, c.Reason = code, reason
	}
	return c, nil
}

// look finds the approval of an id, in this session only.
func (d *decider) look(ctx context.Context, id string) (Look, bool, error) {
	if !validID(id) {
		return Look{}, false, nil
	}
	l, err := d.approvals.Look(ctx, id)
	if p := problemOf(err); p != nil && slices.Contains([]string{"not_found", "forbidden", "ambiguous_id"}, p.Code) {
		return Look{}, false, nil
	}
	return l, err == nil && l.Approval.SessionKey == d.req.SessionKey && names(id, l.Approval), err
}

// vote hands a decision to the desk, if there is exactly one.
func (d *decider) vote(ctx context.Context, c *api.MessageCall, e *entry, l Look) error {
	if !d.approvals.Decides() {
		c.Vote = "ignored"
		return nil
	}
	decision, reason, p := e.decision(l)
	if p == nil {
		err := d.approvals.Vote(ctx, e.id, decision, reason)
		if err == nil {
			c.Vote = "counted"
			return nil
		}
		if p = problemOf(err); p == nil {
			return err
		}
	}
	switch p.Code {
	case "forbidden":
		c.Vote = "ignored"
	case "unavailable", "rate_limited":
		return p
	default:
		c.Vote, c.Code, c.Reason = "refused", p.Code, sentence(p)
	}
	return nil
}

// decision is the decision that the results of an entry give, or the reason why
// they give none.
func (e *entry) decision(l Look) (api.Decision, string, *api.Problem) {
	refuse := func(code, why string) (api.Decision, string, *api.Problem) {
		return "", "", &api.Problem{Code: code, Detail: why}
	}
	var v verdict
	for i, output := range e.outputs {
		one, ok := readVerdict(output)
		switch {
		case !ok:
			return refuse("malformed", "The result is not a decision: "+
				"it must be {decision, scope, toolName} with approve or deny, and once, session or always.")
		case one.toolName != "" && one.toolName != l.Approval.ToolName:
			return refuse("invalid_request", "The result names another tool than the approval.")
		case i > 0 && one != v:
			return refuse("malformed", "The messages hold more than one decision for this approval.")
		}
		v = one
	}
	if v.decision == api.Deny {
		return v.decision, v.reason, nil
	}
	for _, r := range e.requests {
		if !r.shows(l) {
			return refuse("unseen_payload",
				"The messages do not show the call of this approval; decide it on a surface that shows it.")
		}
	}
	if len(e.requests) == 0 {
		return refuse("unseen_payload", "The messages do not show the call that is to be approved; send the whole "+
			"conversation.")
	}
	if v.decision == api.AllowAlways && !offers(l.Approval, api.AllowAlways) && offers(l.Approval, api.AllowSession) {
		v.decision = api.AllowSession // the narrower one
	}
	return v.decision, v.reason, nil
}

func offers(a api.Approval, d api.Decision) bool {
	for _, o := range a.Offers {
		if o == d {
			return true
		}
	}
	return false
}

// claimAll fetches every call that may run, and gives the messages that make
// them. If ctx has ended, it claims no call.
func (d *decider) claimAll(ctx context.Context, entries []*entry, calls []api.MessageCall) []json.RawMessage {
	var ran []*entry
	for i, e := range entries {
		c := &calls[i]
		again := c.Code == "already_used" && d.req.ClaimID != "" // perhaps the answer to that very claim was lost
		if ctx.Err() != nil || c.Outcome != CallRuns && !again {
			continue
		}
		if d.claim(ctx, c); c.Claim != nil {
			e.claim = c.Claim
			ran = append(ran, e)
		}
	}
	return restore(ran)
}

// claim fetches one call. The claim's name has the approval's id in it: two equal
// calls that share one approval are two claims, and one runs.
func (d *decider) claim(ctx context.Context, c *api.MessageCall) {
	name := ""
	if d.req.ClaimID != "" {
		name = digest("claim-", d.req.ClaimID, c.ApprovalID)
	}
	got, err := d.approvals.Claim(ctx, c.ApprovalID, name)
	p := problemOf(err)
	switch {
	case err == nil:
		c.Claim, c.Outcome, c.Code, c.Reason = &got, CallRuns, "", ""
	case p == nil || p.Code == "unavailable" || p.Code == "rate_limited":
		c.Outcome, c.Code, c.Reason = CallWaits, "unavailable", "The desk could not hand out the call right now; "+
			"send the messages again."
	case c.Outcome == CallRuns && (p.Code == "not_found" || p.Code == "forbidden"):
		c.Reason = "Only the token that asked for this approval may claim it."
	default:
		c.Outcome, c.Code, c.Reason = CallRefused, p.Code, sentence(p)
	}
}

// restore writes claimed calls as the model made them: under their own ids, with
// the very args that were approved. Calls of one shape go into one message.
func restore(ran []*entry) []json.RawMessage {
	var out []json.RawMessage
	for _, sh := range shapes() {
		var calls []json.RawMessage
		for _, e := range ran {
			if e.shape != nil && sh.call != nil && e.shape.like(sh) {
				calls = append(calls, sh.call(e.part, e.callID, e.claim.ToolName, e.claim.Params).encode())
			}
		}
		if len(calls) > 0 {
			out = append(out, sh.wrap(calls)...)
		}
	}
	return out
}
