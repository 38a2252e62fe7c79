package proof_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/display"
	"approvalbot/internal/people"
	"approvalbot/internal/store"
	"approvalbot/proof"
)

// asking is a policy that asks two people about everything.
type asking struct{}

func (asking) Judge(context.Context, approval.Call) approval.Judgement {
	return approval.Judgement{
		Outcome:    approval.OutcomeAsk,
		Assessment: approval.Assessment{RiskClass: approval.R3, SideEffects: []approval.SideEffect{approval.ExternalWrite}, Confidence: 1, Source: "static", ReasonCodes: []string{"git-push"}},
		Rule: approval.Rule{Allowed: []approval.Factor{approval.UserRequest, approval.LLMEvaluation}, Disabled: []approval.Factor{approval.LLMEvaluation}, Effective: []approval.Factor{approval.UserRequest},
			MinApprovals: 2, RequiresHuman: true},
		Offers: []approval.Decision{approval.AllowOnce, approval.Deny},
	}
}

func (p asking) Permits(_ approval.Call) (string, bool) { return "", true }

func (p asking) JudgeWith(ctx context.Context, c approval.Call, _ approval.Opinion) approval.Judgement {
	return p.Judge(ctx, c)
}
func (asking) Hash() string { return "7e57" }
func (asking) Route(approval.Approval) core.Routes {
	return core.Routes{Targets: []approval.Target{{Channel: "telegram", To: "-1"}}}
}

func (asking) Names(approval.Target) bool { return true }

var agent = core.Caller{Token: "main-agent", MayRequest: true}

// openDesk gives a Gate on a store in memory, in which alice and bob decide.
func openDesk(t *testing.T) (*store.Store, *core.Gate) {
	s, err := store.Open(t.Context(), store.Options{URL: "sqlite::memory:"})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Run(context.Background()) }()
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, <-done)
	})
	people, err := people.NewDirectory(people.Rights{
		People:       []people.Person{{Name: "alice", Accounts: map[string]string{"telegram": "111"}}, {Name: "bob", Accounts: map[string]string{"telegram": "333"}}},
		AllowedUsers: map[string][]string{"telegram": {"111", "333"}}, Tokens: map[string]string{"alice-laptop": "alice"},
	})
	require.NoError(t, err)
	return s, core.NewGate(s.CoreStores(), core.Rules{Enabled: true, Policy: asking{}, People: people, Router: asking{}, TimeoutMs: 900_000, MaxTimeoutMs: 900_000}, slog.New(slog.DiscardHandler))
}

// whole pages through the log as a server does.
func whole(ctx context.Context, s *store.Store) iter.Seq2[approval.Entry, error] {
	return func(yield func(approval.Entry, error) bool) {
		for after := int64(0); ; {
			page, err := s.Log(ctx, after, 2)
			if err != nil || len(page) == 0 {
				if err != nil {
					yield(approval.Entry{}, err)
				}
				return
			}
			for _, e := range page {
				if after = e.Seq; !yield(e, nil) {
					return
				}
			}
		}
	}
}

// A call goes all its way through a desk: its receipt, its log and its export
// say who allowed it.
func TestAWholeApprovalCanBeProved(t *testing.T) {
	ctx := t.Context()
	s, gate := openDesk(t)
	var seed [32]byte
	checkpoints, err := proof.NewSigner(seed, proof.Checkpoints)
	require.NoError(t, err)
	receipts, err := proof.NewSigner(seed, proof.Receipts)
	require.NoError(t, err)

	a, _, err := gate.Submit(ctx, agent, approval.Call{ToolName: "exec", Params: json.RawMessage(`{"argv":["git","push"]}`), ID: "deploy-7", AgentID: "main", SessionKey: "s1"})
	require.NoError(t, err)
	_, err = gate.Vote(ctx, a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "999"}, Decision: approval.AllowOnce})
	require.Equal(t, approval.CodeNotAnApprover, approval.CodeOf(err))
	_, err = gate.VoteAs(ctx, core.Caller{Token: "alice-laptop", Person: "alice", MayDecide: true}, a.Code, approval.AllowOnce, "fine", "")
	require.NoError(t, err)
	_, err = gate.Vote(ctx, a.Key, core.Ballot{Voter: approval.Voter{Channel: "telegram", UserID: "333"}, Decision: approval.AllowOnce})
	require.NoError(t, err)
	claim, err := gate.Claim(ctx, agent, a.ID, core.ClaimInput{})
	require.NoError(t, err)
	_, head, err := s.Verify(ctx)
	require.NoError(t, err)
	require.True(t, proof.Due(0, 0, 6, time.Now().UnixMilli()))
	kept := proof.Checkpoint{Seq: 6, Hash: head, AtMs: time.Now().UnixMilli()}
	event, err := checkpoints.CheckpointEvent(kept)
	require.NoError(t, err)
	require.NoError(t, s.Append(ctx, nil, event))
	_, err = gate.Report(ctx, agent, a.ID, "", approval.Result{Status: "succeeded"})
	require.NoError(t, err)

	testReceipt(t, receipts, claim)
	key, err := checkpoints.VerifierKey()
	require.NoError(t, err)
	expect, err := checkpoints.SignCheckpoint(kept)
	require.NoError(t, err)
	opts := proof.Options{Keys: []string{key}, Expect: expect}
	report, err := proof.VerifyEntries(whole(ctx, s), opts)
	require.NoError(t, err)
	require.Equal(t, 1, report.Checkpoints)
	var export bytes.Buffer
	require.NoError(t, proof.WriteExport(&export, proof.Header{From: 1, To: report.To, Keys: opts.Keys}, whole(ctx, s)))
	again, err := proof.VerifyExport(&export, opts)
	require.NoError(t, err)
	require.Equal(t, report, again)

	var records []proof.Record
	for e, err := range whole(ctx, s) {
		require.NoError(t, err)
		records = append(records, proof.RecordOf(e))
	}
	testRecords(t, records)
}

func testReceipt(t *testing.T, s proof.Signer, claim core.Claimed) {
	r, err := proof.ReceiptFor(claim.Approval, "desk")
	require.NoError(t, err)
	jws, err := s.Sign(r)
	require.NoError(t, err)
	print, err := proof.Fingerprint(claim.ToolName, claim.Params, nil)
	require.NoError(t, err)
	got, err := proof.Verify(jws, proof.KeysOf(s.Public()), time.Now(), print)
	require.NoError(t, err)
	require.Equal(t, []string{"person:alice", "person:bob"}, got.By)
	require.Equal(t, proof.Quorum{Needed: 2, Got: 2}, got.Quorum)
}

func testRecords(t *testing.T, records []proof.Record) {
	var events []approval.EventType
	for _, r := range records {
		events = append(events, r.Event)
		if r.Event != approval.EventCheckpoint {
			require.Equal(t, []string{"deploy-7", "exec", "main", "s1", "R3", "7e57"}, []string{r.RequestID, r.Tool, r.Agent, r.Session, r.RiskClass, r.PolicyHash})
			require.Equal(t, []string{"git-push"}, r.ReasonCodes)
			require.Equal(t, proof.ApproverSet{Allowed: []string{"user_request", "llm_evaluation"}, Disabled: []string{"llm_evaluation"}, Effective: []string{"user_request"},
				MinApprovals: 2, RequiresHuman: true}, r.Approvers)
		}
	}
	require.Equal(t, []approval.EventType{approval.EventRequested, approval.EventRefused, approval.EventVote, approval.EventVote, approval.EventResolved, approval.EventClaimed, approval.EventCheckpoint, approval.EventResult}, events)

	stranger, vote, resolved, claimed, result := records[1], records[2], records[4], records[5], records[7]
	require.Equal(t, []string{"telegram:999"}, stranger.Resolver)
	require.Equal(t, []string{"telegram"}, stranger.Transport)
	require.Equal(t, "not_an_approver", stranger.Reason)
	require.Empty(t, stranger.Factors)
	require.Equal(t, []string{"person:alice"}, vote.Resolver)
	require.Equal(t, []string{"api"}, vote.Transport)
	require.Equal(t, "fine", vote.Reason)
	require.Equal(t, []string{"person:alice", "person:bob"}, resolved.Resolver)
	require.Equal(t, []string{"api", "telegram"}, resolved.Transport)
	require.Equal(t, "approved", resolved.Status)
	require.Len(t, resolved.Factors, 2)
	require.Equal(t, "allow-once", resolved.Factors[1].Decision)
	require.NotZero(t, resolved.Factors[1].AtMs)
	require.Empty(t, resolved.Execution)
	require.Equal(t, "claimed", claimed.Execution)
	require.Equal(t, []string{"token:main-agent"}, claimed.Resolver)
	require.Equal(t, []string{"api"}, claimed.Transport)
	require.Equal(t, "succeeded", result.Execution)
}

func TestRecordOfGrantsAndOddEntries(t *testing.T) {
	grant := proof.RecordOf(approval.Entry{Event: approval.Event{Type: approval.EventGranted, Owner: "main-agent", Data: json.RawMessage(
		`{"grant":{"kind":"always","agentId":"main","toolName":"exec","fingerprint":"ab","maxClass":"R2","rule":{"minApprovals":1},"by":["person:alice"]}}`)}})
	require.Equal(t, []string{"exec", "main", "ab", "R2", "always", "person:alice"},
		[]string{grant.Tool, grant.Agent, grant.Fingerprint, grant.RiskClass, grant.Status, strings.Join(grant.Resolver, "")})

	for _, data := range []string{``, `x`, `null`, `[]`, `{"votes":7,"id":"a"}`, `{"assessment":{"riskClass":"R9"},"id":"a"}`, `{"vote":{},"id":"a"}`} {
		r := proof.RecordOf(approval.Entry{Event: approval.Event{Seq: 3, Type: "audit.later", Data: json.RawMessage(data)}})
		require.EqualValues(t, 3, r.Seq)
		require.Len(t, r.Row(), len(proof.Columns()))
		if strings.Contains(data, "id") {
			require.Equal(t, "a", r.RequestID, "what can be read counts: %s", data)
		}
	}
}

// An entry about a person says who is away, until when, who stands in, and who said so.
func TestRecordOfAbsences(t *testing.T) {
	record := func(of approval.EventType, data string) proof.Record {
		return proof.RecordOf(approval.Entry{Event: approval.Event{Type: of, Data: json.RawMessage(data)}})
	}
	away := record(approval.EventAway, `{"person":"alice","to":"bob","sinceMs":1,"untilMs":60000,"by":"person:alice"}`)
	require.Equal(t, "alice until 1970-01-01T00:01:00Z; the delegate is bob", away.Reason)
	require.Equal(t, []string{"person:alice"}, away.Resolver)
	back := record(approval.EventBack, `{"person":"alice","untilMs":60000,"by":"person:alice","endedBy":"token:ops"}`)
	require.Equal(t, "alice until 1970-01-01T00:01:00Z", back.Reason)
	require.Equal(t, []string{"token:ops"}, back.Resolver)
}

// A receipt counts seats: who stands in for another fills none beside them.
func TestAReceiptCountsSeats(t *testing.T) {
	by := func(person, with string) approval.Vote {
		return approval.Vote{Approver: approval.UserRequest, Verdict: approval.Approve, Voter: &approval.Voter{Person: person}, With: with}
	}
	a := approval.Approval{
		Names:  approval.Names{Key: "k", ID: "k", Code: "C", Owner: "o"},
		Ended:  approval.Ended{Status: approval.Approved, Decision: approval.AllowOnce, ResolvedAtMs: 1000, ClaimUntilMs: 2000, DecidedBy: []string{"person:alice", "person:bob", "person:carl"}},
		Asked:  approval.Asked{ToolName: "t", Fingerprint: strings.Repeat("a", 64)},
		Judged: approval.Judged{PolicyHash: "p", Rule: approval.Rule{MinApprovals: 2}},
		Voted:  approval.Voted{Votes: []approval.Vote{by("alice", ""), by("bob", "alice"), by("carl", "")}},
	}
	r, err := proof.ReceiptFor(a, "desk")
	require.NoError(t, err)
	require.Equal(t, proof.Quorum{Needed: 2, Got: 2}, r.Quorum)
	a.Rule.MinApprovals = 3
	_, err = proof.ReceiptFor(a, "desk")
	require.ErrorContains(t, err, "quorum must be met")
}

func TestCSVIsNoFormula(t *testing.T) {
	var b bytes.Buffer
	records := func(yield func(proof.Record, error) bool) {
		yield(proof.Record{Seq: 1, Tool: "=cmd|' /C calc'!A0", Reason: "a,\"b\"\nc", Session: "-1"}, nil)
	}
	require.NoError(t, proof.WriteCSV(&b, records))
	rows, err := csv.NewReader(&b).ReadAll()
	require.NoError(t, err)
	require.Equal(t, proof.Columns(), rows[0])
	require.Contains(t, rows[1], "'=cmd|' /C calc'!A0")
	require.Contains(t, rows[1], "'-1")
	require.Contains(t, rows[1], `a,"b"\u{A}c`)

	require.ErrorIs(t, proof.WriteCSV(&b, func(yield func(proof.Record, error) bool) { yield(proof.Record{}, context.Canceled) }), context.Canceled)
}

// A CSV does nothing to the terminal that it is printed on, and hides nothing there.
func TestAdversary_T18_CSVOnATerminal(t *testing.T) {
	evil := "\x1b[2J\x1b]8;;https://evil.example\x1b\\x\u202e\u200b\t\r"
	var b bytes.Buffer
	records := func(yield func(proof.Record, error) bool) {
		yield(proof.Record{Seq: 1, Tool: evil, Agent: evil, Session: evil, Reason: evil, Owner: evil,
			Requester: &approval.Requester{UserID: evil, Channel: evil}}, nil)
	}
	require.NoError(t, proof.WriteCSV(&b, records))
	require.NotContains(t, strings.ReplaceAll(b.String(), "\n", ""), "\x1b")
	require.Equal(t, display.Escape(strings.ReplaceAll(b.String(), "\n", "")), strings.ReplaceAll(b.String(), "\n", ""))
	require.Contains(t, b.String(), `\u{1B}`)
	require.Equal(t, 2, strings.Count(b.String(), "\n"))
}
