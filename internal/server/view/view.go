// Package view says the core's approvals, votes, grants and previews in the API's types,
// and reads what programs ask into the core's.
package view

import (
	"slices"
	"time"

	"approvalbot/api"
	"approvalbot/core"
	"approvalbot/internal/approval"
	"approvalbot/internal/card"
	"approvalbot/internal/people"
)

// CallOf reads a request into the core's words. Every door that takes the body
// of POST /v1/approvals uses it.
func CallOf(in api.CreateRequest) approval.Call {
	call := approval.Call{
		ToolName: in.ToolName, Params: in.Params, Bind: (*approval.Bind)(in.Bind), ID: in.ID, AgentID: in.AgentID,
		SessionKey:    in.SessionKey,
		Justification: in.Justification, ActionSummary: in.ActionSummary, TimeoutMs: in.TimeoutMs,
		CallbackURL: in.CallbackURL, Supersedes: in.Supersedes,
		MustAsk: in.MustAsk,
	}
	for _, d := range in.Offers {
		call.Offers = append(call.Offers, approval.Decision(d))
	}
	if t := in.Origin; t != nil {
		call.Origin = &approval.Target{Channel: t.Channel, To: t.To, ThreadID: t.ThreadID}
	}
	call.Requester = RequesterOf(in.Requester)
	call.Context = ContextOf(in.Context)
	return call
}

// RequesterOf reads the person who asked the agent; nil if not given.
func RequesterOf(r *api.Requester) *approval.Requester {
	if r == nil {
		return nil
	}
	return &approval.Requester{Channel: r.Channel, UserID: r.UserID, Person: r.Person}
}

// ContextOf is what a request tells about the origin of its call; zero if x is nil.
func ContextOf(x *api.Context) approval.CallContext {
	if x == nil {
		return approval.CallContext{}
	}
	return approval.CallContext{Provider: x.Provider, Model: x.Model, Group: x.Group,
		Sandboxed: x.Sandboxed, Subagent: x.Subagent, ToolDescription: x.ToolDescription, Unheard: x.Unheard, Terminal: x.Terminal, Untracked: untrackedOf(x.Untracked),
		Programs: x.Programs,
		Tool:     toolOf(x.Tool), From: fromOf(x.From)}
}

func untrackedOf(x *api.Untracked) *approval.Untracked {
	if x == nil {
		return nil
	}
	return &approval.Untracked{Folders: x.Folders, Files: x.Files, Ignored: x.Ignored}
}

// Confine is the profile by which the asker of a call can confine it. Only doors that tell it of
// [approval.Confined] read it: to the others it is not said.
func Confine(x *api.Context) string {
	if x == nil {
		return ""
	}
	return Profile(x.Confine)
}

// Profile is the one that this desk knows, of those in a list.
func Profile(known []string) string {
	if slices.Contains(known, approval.ConfineV1) {
		return approval.ConfineV1
	}
	return ""
}

func fromOf(f *api.From) approval.AskedFrom {
	if f == nil {
		return approval.AskedFrom{}
	}
	return approval.AskedFrom(*f)
}

func toolOf(t *api.Tool) approval.ToolFacts {
	if t == nil {
		return approval.ToolFacts{}
	}
	out := approval.ToolFacts{Server: t.Server, Description: t.Description, Schema: string(t.Schema),
		Digest: t.Digest, Otherwise: t.Otherwise}
	if h := t.Hints; h != nil {
		out.Hints = approval.Hints{ReadOnly: approval.HintOf(h.ReadOnly), Destructive: approval.HintOf(h.Destructive),
			Idempotent: approval.HintOf(h.Idempotent), OpenWorld: approval.HintOf(h.OpenWorld)}
	}
	return out
}

// ApprovalOf is an approval as its asker sees it. summary is the redacted call,
// people are those who may decide now.
func ApprovalOf(a approval.Approval, summary string, directory *people.Directory) api.Approval {
	a = people.AsOfNow(a, directory)
	out := api.Approval{
		ID: a.ID, Code: a.Code, Owner: a.Owner, Status: api.Status(a.Status), Decision: api.Decision(a.Decision),
		Reason: a.Reason, DecidedBy: Names(a.DecidedBy),
		ToolName: a.ToolName, ParamsSummary: summary, ArgsFingerprint: a.Fingerprint, Bind: (*api.Bind)(a.Bind),
		AgentID: a.AgentID, SessionKey: a.SessionKey, Justification: a.Justification, ActionSummary: a.ActionSummary,
		RiskClass: a.Assessment.RiskClass.String(), SideEffects: Names(a.Assessment.SideEffects),
		Confidence: a.Assessment.Confidence, Source: a.Assessment.Source,
		ReasonCodes: Names(a.Assessment.ReasonCodes), Why: Names(a.Why), PolicyHash: a.PolicyHash,
		Approvers: ApproversOf(a.Rule), Votes: VotesOf(a.Votes), Offers: decisionsOf(a.Offers),
		SessionCovers: covers(a, approval.AllowSession, a.Session), AlwaysCovers: covers(a, approval.AllowAlways, a.Always),
		Consulted:   ConsultedOf(a.Consulted, false),
		CreatedAtMs: a.CreatedAtMs, ExpiresAtMs: a.ExpiresAtMs, ResolvedAtMs: a.ResolvedAtMs,
		ClaimUntilMs: a.ClaimUntilMs, ClaimedAtMs: a.ClaimedAtMs, RevokedAtMs: a.RevokedAtMs,
		RevokedBy: a.RevokedBy, RevokeReason: a.RevokeReason, SupersededBy: a.SupersededBy,
		Deliveries: cardsOf(a), Reached: a.Reached, AlsoAsked: a.AlsoAsked, Notes: notesOf(a),
	}
	if !a.Final() {
		out.NextStepAtMs = a.PlanMs
	}
	for _, r := range a.RetriedBy {
		out.Retries = append(out.Retries, api.Retried{By: Names(r.By), AtMs: r.AtMs, WithoutResult: r.WithoutResult,
			ClaimID: r.Before.ClaimID, Result: resultOf(r.Before.Result)})
	}
	if r, open := people.OpenRound(a, directory, time.Now().UnixMilli()); open {
		out.RetryRound = &api.RetryRound{By: r.By, WithoutResult: r.WithoutResult, OpenedAtMs: r.OpenedAtMs,
			ExpiresAtMs: r.ExpiresAtMs, Approvers: ApproversOf(r.Rule), Votes: VotesOf(r.Votes), Text: r.Text()}
	}
	if a.Origin != nil {
		out.Channel = a.Origin.Channel
	}
	if r := a.Requester; r != nil {
		out.Requester = &api.Requester{Channel: r.Channel, UserID: r.UserID, Person: r.Person}
	}
	if from := api.From(a.Context.From); from != (api.From{}) {
		out.From = &from
	}
	out.Result = resultOf(a.Result)
	out.Confined = (*api.Confined)(a.Confined)
	if t := a.TriedConfined; t != nil {
		out.TriedConfined = &api.TriedConfined{Exit: t.Exit, Changed: t.Changed}
	}
	return out
}

func resultOf(r *approval.Result) *api.Result {
	if r == nil {
		return nil
	}
	return &api.Result{Status: r.Status, Summary: r.Summary, ExitCode: r.ExitCode, Confined: (*api.RanConfined)(r.Confined), AtMs: r.AtMs}
}

// notesOf gives the notes of people to the agent; nil if no person wrote one.
func notesOf(a approval.Approval) (out []api.Note) {
	for _, n := range a.Notes() {
		out = append(out, api.Note(n))
	}
	return out
}

// CardOf is what people read of an approval.
func CardOf(c card.Card) *api.Card {
	return &api.Card{
		Outcome: c.Outcome.String(), Headline: c.Headline.String(), Call: factsOf(c.Payload), Place: c.Place.String(),
		Summary: c.Summary, Risk: c.Why, Claims: Names(c.Said()), Warnings: Names(c.Warnings),
		Link: c.Link, Flags: Names(c.State.Flags),
		Votes: c.State.Votes, Wider: Names(c.Wider), Details: factsOf(c.Details),
	}
}

func factsOf(facts []card.Fact) []api.CardFact {
	out := make([]api.CardFact, len(facts))
	for i, f := range facts {
		out[i] = api.CardFact{Name: f.Name, Value: f.Value, Own: f.Own, Block: f.Block}
	}
	return out
}

// cardsOf gives the cards of an approval.
func cardsOf(a approval.Approval) []api.Delivery {
	cards := []api.Delivery{}
	for _, d := range a.Deliveries {
		if d.Kind == approval.CardDelivery {
			cards = append(cards, api.Delivery{Target: d.Target.String(), State: string(d.State),
				MessageID: d.MessageID, SentAtMs: d.SentMs, Error: d.Error})
		}
	}
	return cards
}

// ApproversOf is who may, and who can, decide by a rule.
func ApproversOf(r approval.Rule) api.Approvers {
	out := api.Approvers{
		Allowed: Names(r.Allowed), Disabled: Names(r.Disabled), Effective: Names(r.Effective),
		StepUp: r.StepUp, Verifier: r.AsksVerifier(),
	}
	if r.AsksApprovers() {
		out.MinApprovals, out.RequiresHuman = r.MinApprovals, r.RequiresHuman
		for _, n := range r.Needs {
			out.Roles = append(out.Roles, api.Role(n))
		}
	}
	return out
}

// AbsenceOf is an absence as the API shows it.
func AbsenceOf(a people.Absence) api.Absence { return api.Absence(a) }

// VotesOf lists votes in the order they were given.
func VotesOf(votes []approval.Vote) []api.Vote {
	out := make([]api.Vote, len(votes))
	for i, v := range votes {
		out[i] = api.Vote{ApproverID: string(v.Approver), Verdict: string(v.Verdict),
			Decision: api.Decision(v.Decision),
			Reason:   v.Reason, ReasonCodes: Names(v.ReasonCodes), Confidence: v.Confidence, DecidedAtMs: v.DecidedAtMs,
			VerifierOnly: v.VerifierOnly, OnDuty: v.OnDuty, For: v.For, With: v.With}
		if v.Signature != nil {
			out[i].Passkey = v.Signature.CredentialID
		}
		if v.Voter != nil {
			out[i].Voter = &api.Voter{Person: v.Voter.Person, Channel: v.Voter.Channel, UserID: v.Voter.UserID}
		}
	}
	return out
}

// ConsultedOf gives the consultations of an approval, with their endpoints only to
// those who may decide: askers do not see the verifiers' addresses.
func ConsultedOf(list []approval.Consultation, endpoints bool) []api.Consultation {
	out := make([]api.Consultation, len(list))
	for i, c := range list {
		if !endpoints {
			c.Endpoint = ""
		}
		out[i] = api.Consultation(c)
	}
	return out
}

// ClaimOf is the answer to a claim: the very bytes that were approved.
func ClaimOf(c core.Claimed) api.Claim {
	return api.Claim{ToolName: c.ToolName, Params: c.Params, Fingerprint: c.Approval.Fingerprint,
		Bind:     (*api.Bind)(c.Approval.Bind),
		Decision: api.Decision(c.Approval.Decision), ClaimUntilMs: c.Approval.ClaimUntilMs, ClaimID: c.Approval.ClaimID,
		Notes: notesOf(c.Approval), Confined: (*api.Confined)(c.Approval.Confined)}
}

// covers tells what a decision would cover, if it is offered.
func covers(a approval.Approval, d approval.Decision, words string) string {
	if !slices.Contains(a.Offers, d) {
		return ""
	}
	return words
}

// decisionsOf copies a list of decisions; the copy is never nil.
func decisionsOf(list []approval.Decision) []api.Decision {
	out := make([]api.Decision, len(list))
	for i, d := range list {
		out[i] = api.Decision(d)
	}
	return out
}

// Names gives a list of names, never nil, so that JSON has []. A list of plain
// strings is the same one.
func Names[S ~string](list []S) []string {
	if same, ok := any(list).([]string); ok && same != nil {
		return same
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// EvaluationOf is policy's answer to a call of that tool, with the trace if the
// caller may see it.
func EvaluationOf(p core.Preview, toolName, policyHash string, traced bool) api.Evaluation {
	out := api.Evaluation{
		Outcome: p.Outcome.String(), Reason: p.Reason, By: p.By, Approvers: ApproversOf(p.Rule),
		Assessment: api.Assessment{
			ToolName: toolName, RiskClass: p.Assessment.RiskClass.String(),
			SideEffects: Names(p.Assessment.SideEffects),
			Confidence:  p.Assessment.Confidence, Source: p.Assessment.Source,
			ReasonCodes: Names(p.Assessment.ReasonCodes),
		},
		Offers: decisionsOf(p.Offers), Why: Names(p.Why), PolicyHash: policyHash, Confined: (*api.Confined)(p.Confined),
	}
	if traced {
		for _, step := range p.Trace {
			out.Trace = append(out.Trace, api.Step(step))
		}
	}
	return out
}

// GrantOf is a standing grant as operators see it.
func GrantOf(g approval.Grant) api.Grant {
	g = g.Redacted()
	return api.Grant{ID: g.ID, Kind: string(g.Kind), Owner: g.Owner, AgentID: g.AgentID, SessionKey: g.SessionKey,
		ToolName: g.ToolName,
		Subject:  g.Subject, Fingerprint: g.Fingerprint, Pattern: g.Pattern, Summary: g.Summary,
		MaxRiskClass: g.MaxClass.String(),
		By:           Names(g.By), CreatedAtMs: g.CreatedAtMs, ExpiresAtMs: g.ExpiresAtMs}
}
