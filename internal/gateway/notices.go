package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"approvalbot/api"
	"approvalbot/internal/approval"
	"approvalbot/internal/server/events"
)

// eventNames are all events that a connection can get.
var eventNames = []string{
	"connect.challenge", "connect.ready", "tick",
	"tool.approval.requested", "tool.approval.resolved", "tool.approval.expired",
	"exec.approval.requested", "exec.approval.resolved", "exec.approval.expired",
	"agentshield.approval.requested", "agentshield.approval.resolved", "agentshield.approval.expired",
}

// notice is an event of the gateway.
type notice struct {
	name    string
	payload json.RawMessage
}

// newNotice makes a notice. It is marshalled once for all clients.
func newNotice(name string, payload any) notice {
	b, err := json.Marshal(payload)
	if err != nil { // plain values always marshal
		panic(fmt.Sprintf("gateway event %s: %v", name, err))
	}
	return notice{name, b}
}

// toolEnd is the payload of .resolved and .expired: the facts of the log, with
// who decided and when in the words of existing clients.
type toolEnd struct {
	api.Event
	ResolvedBy string `json:"resolvedBy"`
	Ts         int64  `json:"ts"`
}

// dialectEnd is the same in the older dialects.
type dialectEnd struct {
	ID         string  `json:"id"`
	Code       string  `json:"code"`
	Decision   *string `json:"decision"`
	ResolvedBy string  `json:"resolvedBy"`
	Ts         int64   `json:"ts"`
	Seq        int64   `json:"seq"`

	Request *execFacts `json:"request,omitempty"` // exec's: the call that it was about
}

// shieldAsked is the payload of agentshield.approval.requested.
type shieldAsked struct {
	ID              string `json:"id"`
	Code            string `json:"code"`
	ToolName        string `json:"toolName"`
	ArgsFingerprint string `json:"argsFingerprint"`
	AgentID         string `json:"agentId"`
	SessionKey      string `json:"sessionKey"`
	CreatedAtMs     int64  `json:"createdAtMs"`
	ExpiresAtMs     int64  `json:"expiresAtMs"`
	Seq             int64  `json:"seq"`
}

// memo keeps the newest notices, which every connection needs at the same time.
type memo struct {
	mu   sync.Mutex
	last [256]struct {
		seq     int64
		notices []notice
	}
}

// notices are the gateway's events for one entry of the log: zero, one, or two:
// the second in the dialect in which the approval was asked for.
func (g *Gateway) notices(ctx context.Context, t events.Entry) []notice {
	g.recent.mu.Lock()
	defer g.recent.mu.Unlock()
	slot := &g.recent.last[t.Seq%int64(len(g.recent.last))]
	if slot.seq == t.Seq {
		return slot.notices
	}
	list, err := g.noticesOf(context.WithoutCancel(ctx), t)
	if err != nil { // sent without what could not be read, and not kept so
		g.log.Error("could not read an approval's call; gateway clients are notified without it", "approval", t.Event.Code,
			"reason", err)
		return list
	}
	slot.seq, slot.notices = t.Seq, list
	return list
}

func (g *Gateway) noticesOf(ctx context.Context, t events.Entry) ([]notice, error) {
	kind, notifies := map[approval.EventType]string{approval.EventRequested: "requested", approval.EventResolved: "resolved",
		approval.EventWithdrawn: "resolved", approval.EventExpired: "expired"}[approval.EventType(t.Event.Type)]
	if !notifies {
		return nil, nil
	}
	if kind == "requested" {
		return g.requested(ctx, t)
	}
	e := *t.Event
	by := strings.Join(e.DecidedBy, ", ")
	out := []notice{newNotice("tool.approval."+kind, toolEnd{e, by, e.AtMs})}
	if e.Dialect != "" {
		end := dialectEnd{ID: e.ID, Code: e.Code, Decision: decisionOf(e.Decision, toolWords), ResolvedBy: by,
			Ts: e.AtMs, Seq: e.Seq}
		var err error
		if e.Dialect == approval.DialectExec {
			var card execCard
			card, err = g.execCardOf(ctx, t.Key)
			end.Decision, end.Request = decisionOf(e.Decision, execWords), &card.Request
		}
		return append(out, newNotice(e.Dialect+".approval."+kind, end)), err
	}
	return out, nil
}

func (g *Gateway) requested(ctx context.Context, t events.Entry) (out []notice, err error) {
	e := *t.Event
	out = append(out, newNotice("tool.approval.requested", e))
	switch e.Dialect {
	case approval.DialectExec:
		var card execCard
		card, err = g.execCardOf(ctx, t.Key)
		card.ID, card.Code, card.CreatedAtMs, card.ExpiresAtMs, card.Seq = e.ID, e.Code, e.CreatedAtMs,
			e.ExpiresAtMs, e.Seq
		out = append(out, newNotice("exec.approval.requested", card))
	case approval.DialectAgentShield:
		out = append(out, newNotice("agentshield.approval.requested",
			shieldAsked{e.ID, e.Code, e.ToolName, e.ArgsFingerprint,
				e.AgentID, e.SessionKey, e.CreatedAtMs, e.ExpiresAtMs, e.Seq}))
	}
	return out, err
}

// execCardOf adds what people see of the call, which the log does not keep: for an
// approval older than the retention it is empty.
func (g *Gateway) execCardOf(ctx context.Context, key string) (execCard, error) {
	a, err := g.cfg.Gate.ByKey(ctx, key)
	if approval.CodeOf(err) == approval.CodeNotFound {
		err = nil
	}
	card, errCard := g.execCard(ctx, a)
	return card, errors.Join(err, errCard)
}
