package proof

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"approvalbot/internal/approval"
	"approvalbot/internal/display"
)

// Record is a log entry as an auditor reads it: who asked for what, how risky it
// was, whose yes was needed, who said what and when, who settled it on which
// channel, and the outcome. It is the state after that entry. Fields that an
// entry does not have are empty. Texts of people and programs are redacted but
// not escaped: a program that shows them on a terminal must escape them.
type Record struct {
	Seq   int64              `json:"seq"`
	AtMs  int64              `json:"atMs"`
	Event approval.EventType `json:"event"`

	RequestID   string   `json:"requestId,omitempty"`
	Code        string   `json:"code,omitempty"`
	Owner       string   `json:"owner,omitempty"`
	Tool        string   `json:"tool,omitempty"`
	Agent       string   `json:"agent,omitempty"`
	Session     string   `json:"session,omitempty"`
	Fingerprint string   `json:"fingerprint,omitempty"`
	RiskClass   string   `json:"riskClass,omitempty"`
	ReasonCodes []string `json:"reasonCodes,omitempty"`
	PolicyHash  string   `json:"policyHash,omitempty"`

	Requester *approval.Requester `json:"requester,omitempty"` // the person who asked the agent, as its owner claims
	// people and accounts that might not decide, since they asked
	Askers []approval.Requester `json:"askers,omitempty"`
	Joined []approval.Requester `json:"joined,omitempty"` // those of them whose identical call this entry joined

	Approvers ApproverSet    `json:"approvers,omitzero"`
	Factors   []FactorResult `json:"factors,omitempty"` // the votes that stood after this entry
	Vote      *FactorResult  `json:"vote,omitempty"`    // the one that this entry is about

	Status    string   `json:"status,omitempty"` // of an entry about a grant: its kind
	Decision  string   `json:"decision,omitempty"`
	Resolver  []string `json:"resolver,omitempty"`  // who settled it; before that, who did what this entry says
	Transport []string `json:"transport,omitempty"` // "telegram", "discord", "web", "api"; empty for a policy
	Reason    string   `json:"reason,omitempty"`
	Solo      bool     `json:"soloSelfApproval,omitempty"`
	// Suggestion is a change of the policy that would have let the call run unasked,
	// if policy asked.
	Suggestion string   `json:"suggestion,omitempty"`
	Asked      []string `json:"asked,omitempty"`     // of a reminder or an escalation: people and chats
	Execution  string   `json:"execution,omitempty"` // "claimed", then "succeeded" or "failed" as its owner says

	Hash string `json:"hash"`
}

// ApproverSet says whose yes was needed.
type ApproverSet struct {
	Allowed       []string        `json:"allowed,omitempty"`
	Disabled      []string        `json:"disabled,omitempty"`
	Effective     []string        `json:"effective,omitempty"`
	MinApprovals  int             `json:"minApprovals,omitempty"`
	RequiresHuman bool            `json:"requiresHuman,omitempty"`
	StepUp        bool            `json:"stepUp,omitempty"` // a person's yes had to be signed
	Needs         []approval.Need `json:"needs,omitempty"`

	Verifier *approval.VerifierNeed `json:"verifier,omitempty"` // one of its people must have said yes, too
}

// FactorResult is what one approver said.
type FactorResult struct {
	Approver    string   `json:"approverId"` // the factor
	Who         string   `json:"who,omitempty"`
	Transport   string   `json:"transport,omitempty"`
	Verdict     string   `json:"verdict,omitempty"`
	Decision    string   `json:"decision,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	ReasonCodes []string `json:"reasonCodes,omitempty"`
	Confidence  float64  `json:"confidence,omitempty"`
	AtMs        int64    `json:"atMs,omitempty"`

	VerifierOnly bool     `json:"verifierOnly,omitempty"` // it counted for the verifier alone
	OnDuty       []string `json:"onDuty,omitempty"`       // the rosters by which they were on duty
	For          []string `json:"for,omitempty"`          // in whose stead it may be taken
	With         string   `json:"with,omitempty"`         // the people with whom they share a seat
	Passkey      string   `json:"passkey,omitempty"`      // credential id of the one that signed it
}

// facts is what an entry's data may have. Every kind is plain, so that an entry
// of another version still gives what can be read of it.
type facts struct {
	ID, Code, Status, Decision, Reason, ToolName string
	ArgsFingerprint, AgentID, SessionKey         string
	PolicyHash                                   string
	DecidedBy                                    []string
	Assessment                                   struct {
		RiskClass   string
		ReasonCodes []string
	}
	Requester        *approval.Requester
	Askers, Joined   []approval.Requester
	Approvers        ApproverSet
	Votes            []ballot
	Vote             *ballot
	Result           struct{ Status string }
	SoloSelfApproval bool
	By, Why          string
	Suggestion       string
	Asked, Chats     []string
	Person, To       string // entries about a person have these instead
	UntilMs          int64
	EndedBy          string
	Grant            *struct { // entries about grants and cool-downs have this instead
		Kind, AgentID, SessionKey, ToolName, Fingerprint, MaxClass string
		Rule                                                       ApproverSet
		By                                                         []string
	}
}

type ballot struct {
	ApproverID, Verdict, Decision, Reason string
	Voter                                 *approval.Voter
	ReasonCodes                           []string
	Confidence                            float64
	DecidedAtMs                           int64
	VerifierOnly                          bool
	OnDuty, For                           []string
	With                                  string
	Signature                             struct{ CredentialID string }
}

func (b ballot) result() FactorResult {
	f := FactorResult{b.ApproverID, b.ApproverID, "", b.Verdict, b.Decision, b.Reason, b.ReasonCodes, b.Confidence,
		b.DecidedAtMs, b.VerifierOnly, b.OnDuty, b.For, b.With, b.Signature.CredentialID}
	if b.Voter != nil {
		f.Who, f.Transport = b.Voter.Name(), b.Voter.Channel
	}
	return f
}

// RecordOf reads an entry. It never fails: a member that is missing or
// unreadable in the entry's data is empty.
func RecordOf(e approval.Entry) Record {
	var f facts
	_ = json.Unmarshal(e.Data, &f) // the readable members count
	r := Record{
		Seq: e.Seq, AtMs: e.AtMs, Event: e.Type, Hash: e.Hash, Owner: e.Owner,
		RequestID: f.ID, Code: f.Code, Tool: f.ToolName, Agent: f.AgentID, Session: f.SessionKey,
		Fingerprint: f.ArgsFingerprint,
		RiskClass:   f.Assessment.RiskClass, ReasonCodes: f.Assessment.ReasonCodes, PolicyHash: f.PolicyHash,
		Approvers: f.Approvers,
		Requester: f.Requester, Askers: f.Askers, Joined: f.Joined,
		Status: f.Status, Decision: f.Decision, Reason: f.Reason, Solo: f.SoloSelfApproval, Execution: f.Result.Status,
		Suggestion: f.Suggestion,
	}
	if r.Execution == "" && e.Type == approval.EventClaimed {
		r.Execution = "claimed"
	}
	for _, v := range f.Votes {
		r.Factors = append(r.Factors, v.result())
	}
	if f.Vote != nil {
		v := f.Vote.result()
		r.Vote = &v
	}
	r.Reason, r.Asked = cmp.Or(r.Reason, f.Why), append(f.Asked, f.Chats...)
	if e.Type == approval.EventAway || e.Type == approval.EventBack {
		r.Reason = f.Person + " until " + moment(f.UntilMs)
		if f.To != "" {
			r.Reason += "; the delegate is " + f.To
		}
		f.By = cmp.Or(f.EndedBy, f.By)
	}
	if g := f.Grant; g != nil {
		r.Tool, r.Agent, r.Session, r.Fingerprint, r.RiskClass, r.Approvers = g.ToolName, g.AgentID, g.SessionKey,
			g.Fingerprint, g.MaxClass, g.Rule
		r.Status, f.DecidedBy = g.Kind, g.By
	}
	r.resolvedBy(f)
	return r
}

// resolvedBy fills in who settled it, or who did what the entry says, and how.
func (r *Record) resolvedBy(f facts) {
	voices := r.Factors
	switch {
	case f.By != "": // a claim, a result, a refusal, a revocation
		r.Resolver = []string{f.By}
	case r.Vote != nil:
		r.Resolver, voices = []string{r.Vote.Who}, []FactorResult{*r.Vote}
		r.Reason = cmp.Or(r.Vote.Reason, strings.Join(r.Vote.ReasonCodes, " "), r.Reason)
	default:
		r.Resolver = f.DecidedBy
	}
	add := func(way string) {
		if way != "" && !slices.Contains(r.Transport, way) {
			r.Transport = append(r.Transport, way)
		}
	}
	for _, who := range r.Resolver {
		if strings.HasPrefix(who, "token:") {
			add("api")
		}
	}
	for _, v := range voices {
		if slices.Contains(r.Resolver, v.Who) {
			add(v.Transport)
		}
	}
}

// Columns are the heads of [Record.Row].
func Columns() []string {
	return []string{"seq", "time", "event", "request", "code", "owner", "requester", "askers", "tool", "agent",
		"session", "risk", "reason codes",
		"allowed", "disabled", "effective", "needed", "human", "factors", "status", "decision", "resolver",
		"transport", "reason", "execution",
		"fingerprint", "policy", "hash"}
}

// Row gives the record as one cell per column; lists are separated by spaces,
// times are RFC 3339 in UTC.
func (r Record) Row() []string {
	factors := make([]string, len(r.Factors))
	for i, f := range r.Factors {
		factors[i] = f.Who + "=" + cmp.Or(f.Decision, f.Verdict) + "@" + moment(f.AtMs)
	}
	a := r.Approvers
	list := func(words []string) string { return strings.Join(words, " ") }
	return []string{
		strconv.FormatInt(r.Seq, 10), moment(r.AtMs), string(r.Event), r.RequestID, r.Code, r.Owner,
		asker(r.Requester), askers(r.Askers), r.Tool, r.Agent, r.Session, r.RiskClass, list(r.ReasonCodes),
		list(a.Allowed), list(a.Disabled), list(a.Effective), strconv.Itoa(a.MinApprovals),
		strconv.FormatBool(a.RequiresHuman), list(factors),
		r.Status, r.Decision, list(r.Resolver), list(r.Transport), r.Reason, r.Execution, r.Fingerprint,
		r.PolicyHash, r.Hash,
	}
}

// askers writes the askers as one cell; the person that owns an account is before
// it.
func askers(all []approval.Requester) string {
	cells := make([]string, len(all))
	for i, r := range all {
		cells[i] = asker(&r)
	}
	return strings.Join(cells, " ")
}

func asker(r *approval.Requester) string {
	switch {
	case r == nil:
		return ""
	case r.UserID == "":
		return "person:" + r.Person
	case r.Person == "":
		return r.Channel + ":" + r.UserID
	}
	return "person:" + r.Person + "=" + r.Channel + ":" + r.UserID
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// WriteCSV writes the records as CSV (RFC 4180) with a line of heads. A cell that a
// spreadsheet would take for a formula gets an apostrophe in front. Characters that would
// act on a terminal or hide text (control and bidi characters, line breaks) is written as
// \u{202E}.
func WriteCSV(w io.Writer, records iter.Seq2[Record, error]) error {
	out := csv.NewWriter(w)
	if err := out.Write(Columns()); err != nil {
		return err
	}
	for r, err := range records {
		if err != nil {
			return err
		}
		row := r.Row()
		for i, cell := range row {
			cell = display.Escape(cell)
			row[i] = cell
			if cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				row[i] = "'" + cell
			}
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}
