package gateway

import (
	"approvalbot/core"
	"approvalbot/internal/approval"
)

// accepted is the first answer to a two-phase request.
type accepted struct {
	Status        string `json:"status"` // "accepted"
	ID            string `json:"id"`
	DeliveryRoute string `json:"deliveryRoute,omitempty"`
	CreatedAtMs   int64  `json:"createdAtMs"`
	ExpiresAtMs   int64  `json:"expiresAtMs"`
}

// decided is how an approval ended. Without a decision, TerminalReason says
// what happened instead.
type decided struct {
	ID             string  `json:"id"`
	Decision       *string `json:"decision"`
	CreatedAtMs    int64   `json:"createdAtMs"`
	ExpiresAtMs    int64   `json:"expiresAtMs"`
	TerminalReason string  `json:"terminalReason,omitempty"` // "expired", "withdrawn" or "revoked"
	Reason         string  `json:"reason,omitempty"`         // what was said with the decision
}

// dialect writes a decision in the words of one of the dialects.
type dialect func(approval.Decision) string

func toolWords(d approval.Decision) string { return string(d) }

// execWords leaves out decisions that exec's clients do not know. To them a call
// that was allowed for the session is allowed once; the desk itself records the
// rest.
func execWords(d approval.Decision) string {
	if d == approval.AllowSession {
		d = approval.AllowOnce
	}
	return string(d)
}

func outcome(a *approval.Approval, words dialect) decided {
	out := decided{ID: a.ID, CreatedAtMs: a.CreatedAtMs, ExpiresAtMs: a.ExpiresAtMs, Reason: a.Reason}
	verdict := ""
	switch {
	case a.RevokedAtMs != 0:
		out.TerminalReason, out.Reason = "revoked", a.RevokeReason
	case a.Status == approval.Approved && a.ToolName == approval.DrillTool:
		verdict, out.Reason = string(approval.Deny), approval.WasDrill
	case a.Status == approval.Approved && a.Decision.Allows():
		verdict = words(a.Decision)
	case a.Status == approval.Denied:
		verdict = string(approval.Deny)
	default:
		out.TerminalReason = string(a.Status)
	}
	if verdict != "" {
		out.Decision = &verdict
	}
	return out
}

// standing reports whether the connection's token still has the rights that it had when it asked.
func (c *call) standing() core.Standing { return c.g.cfg.Server.Tokens.Standing(c.token, c.who) }

// await waits for the end of an approval. A connection that ends first gets no
// answer; its client asks again with waitDecision.
func (c *call) await(key string, words dialect) (any, error) {
	a, err := c.g.cfg.Gate.Wait(c.ctx, key, c.standing())
	if err == nil && !a.Status.Final() {
		err = approval.Refuse(approval.CodeUnavailable, "The connection ended before the decision. Connect again and "+
			"wait for the decision.")
	}
	if err != nil {
		return nil, err
	}
	return outcome(a, words), nil
}

// ask submits a call and waits for its end; with twoPhase it tells the client
// first that it was taken.
func (c *call) ask(in *approval.Call, twoPhase bool, words dialect) (any, error) {
	key, err := c.submit(in, twoPhase)
	if err != nil {
		return nil, err
	}
	return c.await(key, words)
}

// submit submits a call and gives the key of its approval.
func (c *call) submit(in *approval.Call, twoPhase bool) (key string, err error) {
	a, _, err := c.g.cfg.Gate.Submit(c.ctx, c.who, *in)
	if err == nil {
		_, err = c.standing()() // it may have taken long to ask others
	}
	if err != nil {
		return "", err
	}
	if twoPhase {
		first := accepted{Status: "accepted", ID: a.ID, CreatedAtMs: a.CreatedAtMs, ExpiresAtMs: a.ExpiresAtMs}
		if in.Dialect == approval.DialectExec {
			first.DeliveryRoute = route(a, c.g.cfg.Gate.Rules().People.AnyToken())
		}
		c.answer(c.id, first)
	}
	return a.Key, nil
}

// route says, in the words of exec's clients, how people are notified of an approval. decidable: a
// token's person could decide it, though no chat gets a card.
func route(a approval.Approval, decidable bool) string {
	for _, d := range a.Deliveries {
		if d.Kind == approval.CardDelivery {
			return "forwarder"
		}
	}
	if a.Reached || decidable {
		return "approval-client"
	}
	return "none"
}

// waitDecision waits for an approval that was asked before, on any connection.
// One that has ended is answered at once, as long as the desk keeps it.
func waitDecision(words dialect) func(*call, one) (any, error) {
	return func(c *call, in one) (any, error) {
		key, err := c.keyOf(in.ID)
		if err != nil {
			return nil, err
		}
		return c.await(key, words)
	}
}

// keyOf is the key of what find gives. It is not inlined, for an approval would then be on the stack of each that waits.
//
//go:noinline
func (c *call) keyOf(id string) (string, error) {
	a, err := c.find(id)
	return a.Key, err
}
