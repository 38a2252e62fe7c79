package verifier

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

// Verifier asks webhooks about calls and says whose yes is needed beside them.
// Safe for concurrent use. It implements [core.Verifier].
type Verifier struct {
	all    *plan
	agents map[string]*plan
	client *http.Client
	log    *slog.Logger
}

var _ core.Verifier = (*Verifier)(nil)

// New makes a Verifier. The warnings are sentences about settings that are
// allowed but doubtful; the error names every mistake of the configuration, one
// a line.
//
// An agent's settings can only tighten those of all agents. It is verified when
// either is enabled; its scope adds tools; its failMode deny counts, its allow
// does not; its webhook is asked beside the common one; without a webhook of its
// own its timeout counts if it is shorter (longer if failMode is allow); its
// chat block may name fewer people and less time. For settings that it
// leaves out, the common ones apply.
func New(cfg Config, log *slog.Logger) (*Verifier, []string, error) {
	return newVerifier(cfg, log, newTransport())
}

func newVerifier(cfg Config, log *slog.Logger, t http.RoundTripper) (*Verifier, []string, error) {
	warnings, err := cfg.check()
	if err != nil {
		return nil, warnings, err
	}
	v := &Verifier{all: planFor(cfg.Settings, Settings{}, ""), agents: map[string]*plan{}, client: newClient(t),
		log: log}
	for id, own := range cfg.Agents {
		v.agents[id] = planFor(cfg.Settings, own, "agents."+id+".tools.verifier")
	}
	return v, warnings, nil
}

// Close lets go of idle connections. Calls that run go on.
func (v *Verifier) Close() { v.client.CloseIdleConnections() }

func (v *Verifier) plan(call approval.Call) *plan {
	if p := v.agents[call.AgentID]; p != nil {
		return p
	}
	return v.all
}

// Wants tells, without a request, which authorities would be asked about the call.
func (v *Verifier) Wants(call approval.Call) approval.Verification {
	p := v.plan(call)
	if !p.wants(call.ToolName) {
		return approval.Verification{}
	}
	out := approval.Verification{Asked: true, People: copyOf(p.people)}
	for _, e := range p.asked {
		out.Steps = append(out.Steps, step("webhook", approval.OutcomeAsk,
			"The webhook of "+e.name+" must allow the call."))
	}
	return withPeople(out)
}

// Verify asks the webhooks about the call, one after the other, each within its
// own timeout. A deny ends it. If a webhook gives no valid answer, failMode
// decides, unless ctx has ended: a call that was given up is never allowed
// under any failMode, so that an asker cannot hang up to get past the verifier.
func (v *Verifier) Verify(ctx context.Context, call approval.Call, class approval.RiskClass) approval.Verification {
	p := v.plan(call)
	if !p.wants(call.ToolName) {
		return approval.Verification{}
	}
	out := approval.Verification{Asked: true}
	for _, e := range p.asked {
		v.askOne(ctx, e, call, class, p.open, &out)
		if out.Denied {
			return out
		}
	}
	out.People = copyOf(p.people)
	return withPeople(out)
}

// askOne asks one webhook, unless it has allowed the same call lately.
func (v *Verifier) askOne(
	ctx context.Context, e *endpoint, call approval.Call, class approval.RiskClass, open bool, out *approval.Verification,
) {
	start := time.Now()
	record := approval.Consultation{Authority: core.AuthorityWebhook, Endpoint: endpointOf(e.url), Verdict: "allow"}
	defer func() {
		if out.Denied {
			record.Verdict = "deny"
		}
		end := time.Now()
		record.AtMs, record.LatencyMs = end.UnixMilli(), end.Sub(start).Milliseconds()
		out.Consulted = append(out.Consulted, record)
	}()
	key, cacheable := [32]byte{}, e.cache.usable(class)
	if cacheable {
		if key, cacheable = cacheKey(call); cacheable && e.cache.has(key) {
			record.Cause = "cached"
			out.Steps = append(out.Steps, step("webhook-cached", approval.OutcomeAllow,
				"The verifier has allowed the same call lately."))
			return
		}
	}
	q, err := ask(call)
	if err != nil {
		record.Cause = "unreadable call"
		deny(out, "webhook", "The verifier cannot be asked: the call's params are not one JSON object.")
		return
	}
	record.RequestID = q.RequestID
	r := e.send(ctx, v.client, q)
	record.Cause = r.cause()
	switch {
	case r.fail != nil:
		v.failed(ctx, e, q.RequestID, r, open, out)
	case !r.allow:
		v.log.Info("the verifier refused a call",
			"tool", call.ToolName, "verifier", e.name, "place", shown(e.url), "requestId", q.RequestID)
		deny(out, "webhook", cmp.Or(r.reason, "The verifier refused the call."))
	default:
		v.log.Debug("the verifier allowed a call", "verifier", e.name, "place", shown(e.url), "requestId", q.RequestID)
		if cacheable {
			e.cache.add(key)
		}
		out.Steps = append(out.Steps, step("webhook", approval.OutcomeAllow, "The verifier allowed the call."))
	}
}

// failed decides a call that a webhook gave no valid answer about.
func (v *Verifier) failed(
	ctx context.Context, e *endpoint, requestID string, r reply, open bool, out *approval.Verification,
) {
	open = open && ctx.Err() == nil
	said := "the verifier gave no valid answer; the call is denied"
	if open {
		said = "the verifier gave no valid answer; failMode lets the call pass"
	}
	v.log.Warn(said, "verifier", e.name, "place", shown(e.url), "requestId", requestID,
		"problem", r.fail.word, "text", r.fail.text, "detail", r.fail.detail, "failOpen", open)
	if !open {
		deny(out, "webhook-"+r.fail.word, "The verifier gave no valid answer: "+r.fail.text+".")
		return
	}
	out.Open = true
	out.Steps = append(out.Steps, step("webhook-"+r.fail.word, approval.OutcomeAllow,
		"The verifier gave no valid answer ("+r.fail.text+"); the operator's failMode lets the call pass."))
}

func deny(out *approval.Verification, rule, reason string) {
	out.Denied, out.Reason, out.Open = true, reason, false
	out.Steps = append(out.Steps, step(rule, approval.OutcomeDeny, reason))
}

func step(rule string, o approval.Outcome, text string) approval.Step {
	return approval.Step{Stage: "verifier", Rule: rule, Outcome: o.String(), Text: text}
}

func withPeople(out approval.Verification) approval.Verification {
	if out.People != nil {
		out.Steps = append(out.Steps, step("people", approval.OutcomeAsk,
			"Somebody in the verifier's chat must allow the call."))
	}
	return out
}

// Chats gives the people of every chat block that is on, of all agents first.
func (v *Verifier) Chats() (list []approval.VerifierPeople) {
	for _, p := range v.plans() {
		if p.people != nil {
			list = append(list, *copyOf(p.people))
		}
	}
	return list
}

// plans are those of all agents and of single ones, in a stable order.
func (v *Verifier) plans() []*plan {
	list := []*plan{v.all}
	for _, id := range slices.Sorted(maps.Keys(v.agents)) {
		list = append(list, v.agents[id])
	}
	return list
}

// copyOf keeps callers from changing the plan.
func copyOf(p *approval.VerifierPeople) *approval.VerifierPeople {
	if p == nil {
		return nil
	}
	c := *p
	c.Accounts = slices.Clone(p.Accounts)
	return &c
}

// eachEndpoint gives every webhook once, in a stable order.
func (v *Verifier) eachEndpoint() (list []*endpoint) {
	seen := map[string]bool{}
	for _, p := range v.plans() {
		for _, e := range p.asked {
			if !seen[e.name] {
				seen[e.name] = true
				list = append(list, e)
			}
		}
	}
	return list
}
