package core_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/signin"
	"approvalbot/internal/store"
)

// A fixture is a Gate on a real store: "agent" asks, alice and bob decide from telegram, by API or
// terminal. What policy says of a call is its tool's name: allow, deny, ask, and so on.
type fixture struct {
	*core.Gate
	store *store.Store
	rules core.Rules
	door  *signin.Door
}

var (
	agent = core.Caller{Token: "agent", MayRequest: true, Callbacks: core.SecureCallbacks}
	alice = core.Caller{Token: "alice-laptop", Person: "alice", MayDecide: true}
	bob   = core.Caller{Token: "bob-laptop", Person: "bob", MayDecide: true}
	ops   = approval.Target{Channel: "telegram", To: "-100"}
)

// newFixture gives a Gate on a store in memory.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	})
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{
			{
				Name: "alice", Accounts: map[string]string{"telegram": "1"},
			}, {Name: "bob", Accounts: map[string]string{"telegram": "2"}},
		},
		AllowedUsers: map[string][]string{"telegram": {"1", "2"}}, Tokens: map[string]string{
			"alice-laptop": "alice", "bob-laptop": "bob",
		},
		Verifiers: map[string][]string{"": {"telegram:2"}},
	})
	require.NoError(t, err)
	d := &fixture{store: s, rules: core.Rules{
		Enabled: true, Policy: byName{
			hash: "1",
		}, People: people, Router: toOps{}, Owners: map[string]string{"agent": ""}, TimeoutMs: 900_000, MaxTimeoutMs: 3_600_000,
	}}
	d.Gate = core.NewGate(s.CoreStores(), d.rules, slog.New(slog.DiscardHandler))
	d.door = signin.New(s.SignInStores(), d.Gate)
	d.TrustSigners(d.door)
	return d
}

// use puts other rules in force.
func (d *fixture) use(change func(*core.Rules)) {
	change(&d.rules)
	d.Use(d.rules)
}

func (d *fixture) submit(t *testing.T, tool string, more ...func(*approval.Call)) approval.Approval {
	t.Helper()
	a, _, err := d.Submit(t.Context(), agent, call(tool, more...))
	require.NoError(t, err)
	return a
}

func call(tool string, more ...func(*approval.Call)) approval.Call {
	c := approval.Call{ToolName: tool, Params: json.RawMessage(`{"path":"a"}`), SessionKey: "s"}
	for _, f := range more {
		f(&c)
	}
	return c
}

// byName is the policy of these tests.
type byName struct {
	hash   string
	denied string // a tool that is denied beside "deny"
	grave  string // a tool that is R4 beside "grave"

	unsure      bool   // a classifier is asked about what is pending
	quorum      int    // of all that asks; 0: one
	allows      string // a tool that is allowed as it is
	noConfining bool   // nothing runs confined
}

func (p byName) Judge(_ context.Context, c approval.Call) approval.Judgement {
	j := approval.Judgement{
		Outcome:    approval.OutcomeAsk,
		Assessment: approval.Assessment{RiskClass: approval.R2, Source: "static", ReasonCodes: []string{"because"}},
		Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest}, Effective: []approval.Factor{approval.UserRequest},
			MinApprovals: 1, RequiresHuman: true},
		Offers:     []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny},
		GrantScope: approval.GrantScope{Subject: c.ToolName, Session: "the tool", Always: "this call"},
	}
	j.Rule.MinApprovals = max(1, p.quorum)
	if p.allows != "" && p.allows == c.ToolName {
		j.Outcome = approval.OutcomeAllow
		return j
	}
	switch c.ToolName {
	case p.denied, "deny":
		return approval.Judgement{Outcome: approval.OutcomeDeny, Reason: "not here"}
	case "allow":
		j.Outcome = approval.OutcomeAllow
	case "unknown", "confined-after-yes":
		if c.Context.Confine != "" {
			j.Confined = &approval.Confined{Profile: "v1", Writable: []string{"/workspace"}, Readonly: []string{}}
		}
		if j.Confined != nil && c.ToolName == "unknown" && !p.noConfining {
			j.Outcome = approval.OutcomeAllow
		}
		if p.noConfining {
			j.Confined = nil
		}
		j.Unsure = p.unsure && j.Outcome == approval.OutcomeAsk
	case "two":
		j.Rule.MinApprovals = 2
	case p.grave, "grave":
		j.Assessment.RiskClass = approval.R4
	case "open":
		j.Unreached = approval.OutcomeAllow
	case "serious":
		j.Assessment.RiskClass = approval.R3
	case "many":
		j.Rule.MinApprovals = 9
	case "unsure":
		j.Unsure = true
	case "listed":
		j.OnMiss = "not on the list"
	case "exec":
		j.GrantScope.Subject, j.GrantScope.Program, j.GrantScope.Words = "exec git push", "exec git push", []string{
			"git", "push", "*",
		}
	}
	return j
}

func (p byName) JudgeWith(ctx context.Context, c approval.Call, o approval.Opinion) approval.Judgement {
	j := p.Judge(ctx, c)
	if j.Unsure = false; o.Failed == "" {
		j.Assessment.RiskClass, j.Assessment.Source = o.Assessment.RiskClass, "hybrid"
	} else {
		j.FailedOpen = "approvals.tools.classifier.onLowConfidence"
	}
	return j
}

func (p byName) Permits(c approval.Call) (string, bool) { return "not here", c.ToolName != "deny" }

func (p byName) Hash() string { return p.hash }

// toOps sends every card to the chat ops.
type toOps struct{}

func (toOps) Route(approval.Approval) core.Routes {
	return core.Routes{Targets: []approval.Target{ops}, FallbackAfterMs: 30_000}
}

func (toOps) Names(t approval.Target) bool { return t == ops }

// toOpsThen sends cards to ops, and to a spare chat where that cannot be reached.
type toOpsThen struct{ spare approval.Target }

func (r toOpsThen) Route(a approval.Approval) core.Routes {
	routes := toOps{}.Route(a)
	routes.Fallback = []approval.Target{r.spare}
	return routes
}

func (r toOpsThen) Names(t approval.Target) bool { return t == ops || t == r.spare }
