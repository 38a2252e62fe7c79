package messages

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
)

// judge is a policy that reads its answer off the tool's name; it asks about what
// it does not know.
type judge struct{}

func (judge) Hash() string { return "7e57" }

func (j judge) Permits(_ approval.Call) (string, bool) { return "", true }

func (j judge) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return j.Judge(ctx, c)
}

func (judge) Judge(_ context.Context, c approval.Call) approval.Judgement {
	factors := []approval.Factor{approval.UserRequest, approval.RulesBased}
	out := approval.Judgement{
		Outcome: approval.OutcomeAsk, Offers: []approval.Decision{approval.AllowOnce, approval.AllowSession, approval.AllowAlways, approval.Deny},
		Rule:       approval.Rule{Allowed: factors, Effective: factors, Disabled: []approval.Factor{}, MinApprovals: 1, RequiresHuman: true},
		Assessment: approval.Assessment{RiskClass: approval.R3, SideEffects: []approval.SideEffect{approval.ProcessExec}, Confidence: 1, Source: "static", ReasonCodes: []string{"test"}},
		GrantScope: approval.GrantScope{Subject: c.ToolName, Session: "the tool " + c.ToolName, Always: "exactly this call"},
	}
	switch c.ToolName {
	case "read_file":
		out.Outcome, out.Assessment.RiskClass = approval.OutcomeAllow, approval.R0
	case "rm":
		out.Outcome, out.Reason = approval.OutcomeDeny, "never"
	case "once":
		out.Offers = []approval.Decision{approval.AllowOnce, approval.Deny}
	}
	return out
}

type nowhere struct{}

func (nowhere) Route(approval.Approval) core.Routes { return core.Routes{} }
func (nowhere) Names(approval.Target) bool          { return false }

// office is a whole desk but for chats and HTTP: real store, real Gate.
type office struct {
	t     testing.TB
	store *store.Store
	gate  *core.Gate
}

var tokens = map[string]core.Caller{
	"agent":  {Token: "agent", MayRequest: true},
	"other":  {Token: "other", MayRequest: true},
	"bob":    {Token: "bob", MayRequest: true, MayDecide: true, Person: "bob"},
	"alice":  {Token: "alice", MayDecide: true, Person: "alice"},
	"viewer": {Token: "viewer", MayDecide: true},
}

func newOffice(t testing.TB) *office {
	st, err := store.Open(context.Background(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { _ = st.Run(context.Background()) })
	t.Cleanup(func() { _ = st.Close(); running.Wait() })
	people, err := people.NewDirectory(people.Rights{
		People: []people.Person{{Name: "alice"}, {Name: "bob"}}, Tokens: map[string]string{"alice": "alice", "bob": "bob"}})
	require.NoError(t, err)
	rules := core.Rules{Enabled: true, Policy: judge{}, People: people, Router: nowhere{}, TimeoutMs: 900_000, MaxTimeoutMs: 86_400_000}
	return &office{t, st, core.NewGate(st.CoreStores(), rules, slog.New(slog.DiscardHandler))}
}

// as is the desk as a token sees it from afar, inside as the desk's own process
// does: with the stored params.
func (o *office) as(token string) Approvals     { return desk{o, tokens[token], false} }
func (o *office) inside(token string) Approvals { return desk{o, tokens[token], true} }

type desk struct {
	office *office
	who    core.Caller
	near   bool
}

func (d desk) Decides() bool { return d.who.MayDecide && d.who.Person != "" }

func (d desk) Ask(ctx context.Context, req api.CreateRequest) (api.Approval, error) {
	call := approval.Call{ToolName: req.ToolName, Params: req.Params, ID: req.ID, SessionKey: req.SessionKey, AgentID: req.AgentID, MustAsk: req.MustAsk}
	a, _, err := d.office.gate.Submit(ctx, d.who, call)
	return shown(a), told(err)
}

func (d desk) Look(ctx context.Context, id string) (Look, error) {
	a, err := d.office.gate.Get(ctx, d.who, id)
	l := Look{Approval: shown(a)}
	if err != nil || a.Final() || !d.near {
		return l, told(err)
	}
	sealed, err := d.office.store.Sealed(ctx, a.Key)
	if err == nil {
		_, l.Params, _, err = approval.Open(sealed)
	}
	return l, err
}

func (d desk) Vote(ctx context.Context, id string, decision api.Decision, reason string) error {
	_, err := d.office.gate.VoteAs(ctx, d.who, id, approval.Decision(decision), reason, "")
	return told(err)
}

func (d desk) Claim(ctx context.Context, id, claimID string) (api.Claim, error) {
	c, err := d.office.gate.Claim(ctx, d.who, id, core.ClaimInput{ClaimID: claimID})
	a := shown(c.Approval)
	return api.Claim{ToolName: c.ToolName, Params: c.Params, Fingerprint: a.ArgsFingerprint, Decision: a.Decision, ClaimUntilMs: a.ClaimUntilMs}, told(err)
}

// shown is an approval as far as messages look at it.
func shown(a approval.Approval) api.Approval {
	out := api.Approval{ID: a.ID, Code: a.Code, Status: api.Status(a.Status), Decision: api.Decision(a.Decision), Reason: a.Reason, DecidedBy: a.DecidedBy,
		ToolName: a.ToolName, ArgsFingerprint: a.Fingerprint, SessionKey: a.SessionKey, RiskClass: a.Assessment.RiskClass.String(),
		ExpiresAtMs: a.ExpiresAtMs, ClaimUntilMs: a.ClaimUntilMs, ClaimedAtMs: a.ClaimedAtMs, RevokedAtMs: a.RevokedAtMs}
	for _, d := range a.Offers {
		out.Offers = append(out.Offers, api.Decision(d))
	}
	return out
}

// told says a refusal as the API does.
func told(err error) error {
	var e *approval.Error
	if !errors.As(err, &e) {
		return err
	}
	p := &api.Problem{Code: string(e.Code), Detail: e.Message, Why: e.Why}
	for _, f := range e.Fields {
		p.Fields = append(p.Fields, api.Field{Field: f.Field, Problem: f.Problem})
	}
	return p
}

// get is one approval as an operator sees it.
func (o *office) get(id string) api.Approval {
	o.t.Helper()
	a, err := o.gate.Get(o.t.Context(), tokens["alice"], id)
	require.NoError(o.t, err)
	return shown(a)
}

func (o *office) votes(id string) []approval.Vote {
	a, err := o.gate.Get(o.t.Context(), tokens["alice"], id)
	require.NoError(o.t, err)
	return a.Votes
}

func (o *office) intercept(message string, more ...func(*api.InterceptRequest)) api.InterceptAnswer {
	o.t.Helper()
	req := api.InterceptRequest{SessionKey: "s", Message: json.RawMessage(message)}
	for _, f := range more {
		f(&req)
	}
	out, err := Intercept(o.t.Context(), o.as("agent"), req)
	require.NoError(o.t, err)
	return out
}

// decide resubmits a conversation, with its answers so far.
func (o *office) decide(desk Approvals, session string, list ...string) []api.MessageCall {
	o.t.Helper()
	out, err := Decide(o.t.Context(), desk, api.DecisionsRequest{SessionKey: session, Messages: raws(list...)})
	require.NoError(o.t, err)
	return out.Calls
}

func raws(list ...string) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, s := range list {
		out[i] = json.RawMessage(s)
	}
	return out
}

// chat is an assistant message with one tool call in OpenAI's shape.
func chat(id, name, args string) string {
	fn := pairs("name", name, "arguments", args).encode()
	call := pairs("id", id, "type", "function", "function", fn).encode()
	return string(pairs("role", "assistant", "content", json.RawMessage("null"), "tool_calls", encodeArray([]json.RawMessage{call})).encode())
}

// answered is the result that a client writes for an injected call.
func answered(approvalID, decision, scope, tool string) string {
	content := pairs("decision", decision, "scope", scope, "toolName", tool).encode()
	return string(pairs("role", "tool", "tool_call_id", idPrefix+approvalID, "content", string(content)).encode())
}

var (
	codes = regexp.MustCompile(`(\\?"code\\?": ?\\?")[0-9A-Z]{6}(\\?")`)
	times = regexp.MustCompile(`1[0-9]{12}`)
)

// still takes out of a text what is different every time.
func still(text string) string {
	return times.ReplaceAllString(codes.ReplaceAllString(text, "${1}K7QX2M${2}"), "1790000000000")
}

func readFile(t testing.TB, name string) string {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	return strings.TrimSpace(string(b))
}
