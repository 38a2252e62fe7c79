package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/config/effective"
	"approvalbot/internal/pictures/calls"
	"approvalbot/internal/store"
)

// desk is a real Gate on a store in memory: its cards are those that people get.
type desk struct {
	gate  *core.Gate
	close func()
}

// settings are those of the example, except that no call is refused for its risk, so that
// there is a card for every call.
const settings = `server:
  tokens:
    - {name: deployer, token: "0123456789abcdef0123456789abcdef", scopes: [approvals.request], agentId: deployer}
    - {name: alice-laptop, token: "abcdef0123456789abcdef0123456789", scopes: [operator.approvals], person: alice}
channels:
  telegram: {botToken: "1:x", allowedUserIds: [1, 2]}
people:
  - {name: alice, telegram: 1}
  - {name: bob, telegram: 2}
  - {name: carol, telegram: 3}
approvals:
  tools:
    enabled: true
    policy: {minApprovalsByRisk: {R4: 2}}
    routing: {mode: targets, targets: [{channel: telegram, to: "-1001", timezone: Europe/Berlin}]}
`

var chat = approval.Target{Channel: "telegram", To: "-1001"}

func newDesk(ctx context.Context) (*desk, error) {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "approvalbot.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		return nil, err
	}
	cfg, _, err := effective.Load(file, nil, nil)
	if err != nil {
		return nil, err
	}
	rules, err := effective.Rules(cfg, effective.Table(cfg))
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, store.Options{URL: "sqlite::memory:"})
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.WithoutCancel(ctx)) }()
	return &desk{core.NewGate(s.CoreStores(), rules, slog.New(slog.DiscardHandler)), func() { _ = s.Close(); <-ended }}, nil
}

// call is a tool call that an agent asks for.
type call struct {
	calls.Call
	workdir, agent string
	from           approval.AskedFrom
}

var (
	deployer = core.Caller{Token: "deployer", AgentID: "deployer", MayRequest: true}
	alice    = core.Caller{Token: "alice-laptop", Person: "alice", MayDecide: true}
)

// asked has the desk ask people about a call.
func (d *desk) asked(ctx context.Context, c call) (approval.Approval, error) {
	who := deployer
	in := approval.Call{ToolName: c.Tool, Params: json.RawMessage(c.Params), MustAsk: true, SessionKey: "agent:main:7",
		Justification: c.Why, Context: approval.CallContext{From: c.from}}
	if c.agent != "" {
		who.AgentID, in.AgentID = "", c.agent
	}
	if c.workdir != "" {
		in.Bind = &approval.Bind{Workdir: &c.workdir}
	}
	if c.Person != "" {
		in.Requester = &approval.Requester{Person: c.Person}
	}
	a, _, err := d.gate.Submit(ctx, who, in)
	if err == nil && a.Status != approval.Pending {
		err = fmt.Errorf("%s %s is not asked: %s", c.Tool, c.Params, cmp.Or(a.Reason, card.Ending(a)))
	}
	return a, err
}

// card is the card in the chat as it is now.
func (d *desk) card(ctx context.Context, a approval.Approval, messageID string) (card.Card, error) {
	drawn, err := d.gate.Draw(ctx, approval.Delivery{
		Key: a.Key, Kind: approval.CardDelivery, Target: chat, MessageID: messageID, Attached: true, Shown: true,
	})
	if err != nil || drawn.Card == nil {
		return card.Card{}, fmt.Errorf("no card of %s: %s %w", a.Code, drawn.Skip, err)
	}
	return *drawn.Card, nil
}

// lifeOf gives the card with one of two votes, and after the end.
func (d *desk) lifeOf(ctx context.Context, a approval.Approval) (pending, ended card.Card, err error) {
	if _, err = d.gate.VoteAs(ctx, alice, a.Code, approval.AllowOnce, "", ""); err != nil {
		return pending, ended, err
	}
	if pending, err = d.card(ctx, a, "1"); err != nil {
		return pending, ended, err
	}
	vote := core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "2"}, Decision: approval.AllowOnce,
		ReceivedMs: time.Now().UnixMilli()}
	if _, err = d.gate.Vote(ctx, a.Key, vote); err != nil {
		return pending, ended, err
	}
	if _, err = d.gate.Claim(ctx, deployer, a.ID, core.ClaimInput{}); err != nil {
		return pending, ended, err
	}
	if _, err = d.gate.Report(ctx, deployer, a.ID, "", approval.Result{Status: "succeeded", ExitCode: new(0)}); err != nil {
		return pending, ended, err
	}
	ended, err = d.card(ctx, a, "1")
	return pending, ended, err
}
