package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
	"approvalbot/internal/approval"
)

func TestWhatBecomesOfACall(t *testing.T) {
	for name, c := range map[string]struct {
		tool string
		more func(*approval.Call)
		want approval.Status
		why  string
	}{
		"policy allows it": {tool: "allow", want: approval.Approved},
		"policy denies it": {tool: "deny", want: approval.Denied, why: "not here"},
		"policy asks":      {tool: "ask", want: approval.Pending},
		"the asker wants a person": {
			tool: "allow", more: func(c *approval.Call) { c.MustAsk = true }, want: approval.Pending,
		},
		"nobody wants to be asked": {tool: "listed", want: approval.Denied, why: "not on the list"},
		"more people are needed than there are": {
			tool: "many", want: approval.Denied,
			why: "There are too few approvers for this: name more people in the configuration, " +
				"or lower the number of approvals it needs.",
		},
		"a drill always goes to people": {tool: approval.DrillTool, want: approval.Pending},
		"people are not asked about their own call": {
			tool: "two", more: func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob"} }, want: approval.Denied,
			why: "Too few people beside the askers could approve this: " +
				"it needs 2, and there is 1. Name another approver, or set approvals.tools.selfApproval: solo " +
				"to let people approve their own requests.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			more := []func(*approval.Call){}
			if c.more != nil {
				more = append(more, c.more)
			}
			a := d.submit(t, c.tool, more...)
			require.Equal(t, c.want, a.Status)
			require.Equal(t, c.why, a.Reason)
			require.Equal(t, c.want == approval.Pending, len(a.Deliveries) == 1, "a card goes out where people are asked")
			kept, err := d.Get(t.Context(), agent, a.ID)
			require.NoError(t, err)
			require.Equal(t, a.Status, kept.Status, "whatever comes back is on record")
		})
	}
}

func TestWhichCallsAreRefused(t *testing.T) {
	d := newFixture(t)
	first := d.submit(t, "ask", func(c *approval.Call) { c.ID = "mine" })
	ended := d.submit(t, "deny", func(c *approval.Call) { c.ID = "ended" })
	require.Equal(t, approval.Denied, ended.Status)
	d.submit(t, "allow", func(c *approval.Call) { c.ID = "allowed" })
	set := func(f func(*approval.Call)) approval.Call { return call("ask", f) }
	for name, c := range map[string]struct {
		who   core.Caller
		call  approval.Call
		want  approval.Code
		field string
	}{
		"a token without the scope": {
			who: core.Caller{Token: "x"}, call: call("ask"), want: approval.CodeForbidden,
		},
		"params that are no object": {
			call: set(func(c *approval.Call) { c.Params = []byte(`[]`) }), want: approval.CodeInvalidRequest, field: "params",
		},
		"params that are too large": {
			call: set(func(c *approval.Call) { c.Params = []byte(`{"a":"` + strings.Repeat("x", approval.MaxParams) + `"}`) }),
			want: approval.CodePayloadTooLarge,
		},
		"an id of the owner's other call": {
			call: set(func(c *approval.Call) { c.ID, c.Params = "mine", []byte(`{"path":"b"}`) }),
			want: approval.CodeIDConflict,
		},
		"an id that is another's code": {
			call: set(func(c *approval.Call) { c.ID = first.Code }), want: approval.CodeIDConflict,
		},
		"a callback without a secret": {
			who:  core.Caller{Token: "plain", MayRequest: true},
			call: set(func(c *approval.Call) { c.CallbackURL = "https://a.example" }), want: approval.CodeInvalidRequest,
			field: "callbackUrl",
		},
		"a callback that is not https": {
			call: set(func(c *approval.Call) { c.CallbackURL = "http://a.example" }), want: approval.CodeInvalidRequest,
			field: "callbackUrl",
		},
		"a callback that is no address": {
			call: set(func(c *approval.Call) { c.CallbackURL = "a.example" }), want: approval.CodeInvalidRequest,
			field: "callbackUrl",
		},
		"one with a password in it": {
			call: set(func(c *approval.Call) { c.CallbackURL = "https://me:pw@a.example" }),
			want: approval.CodeInvalidRequest, field: "callbackUrl",
		},
		"a requester whom nobody knows": {
			call: set(func(c *approval.Call) { c.Requester = &approval.Requester{Person: "eve"} }),
			want: approval.CodeInvalidRequest, field: "requester.person",
		},
		"a requester in two ways": {
			call: set(func(c *approval.Call) { c.Requester = &approval.Requester{Person: "bob", Channel: "telegram"} }),
			want: approval.CodeInvalidRequest, field: "requester",
		},
		"no requester where one is needed": {
			who: core.Caller{Token: "agent", MayRequest: true, RequireRequester: true}, call: call("ask"),
			want: approval.CodeInvalidRequest, field: "requester",
		},
		"a chat that the token may not name": {
			call: set(func(c *approval.Call) { c.Origin = &approval.Target{Channel: "telegram", To: "-9"} }),
			want: approval.CodeOriginNotAllowed,
		},
		"a chat that is none": {
			call: set(func(c *approval.Call) { c.Origin = &approval.Target{Channel: "slack", To: "1"} }),
			want: approval.CodeInvalidRequest, field: "origin",
		},
		"what it supersedes is nothing": {
			call: set(func(c *approval.Call) { c.Supersedes, c.Params = "none", []byte(`{}`) }),
			want: approval.CodeInvalidRequest, field: "supersedes",
		},
		"what it supersedes has ended": {
			call: set(func(c *approval.Call) { c.Supersedes, c.Params = "ended", []byte(`{}`) }),
			want: approval.CodeAlreadyResolved,
		},
		"more pending than the token may": {
			who:  core.Caller{Token: "agent", MayRequest: true, MaxPending: 1},
			call: set(func(c *approval.Call) { c.Params = []byte(`{}`) }), want: approval.CodeRateLimited,
		},
		"an agent's name that is too long": {
			call: set(func(c *approval.Call) { c.AgentID = strings.Repeat("a", 257) }), want: approval.CodeInvalidRequest,
			field: "agentId",
		},
		"a command that is no command": {
			call: call("exec"), want: approval.CodeInvalidRequest, field: "params.command",
		},
		"an id of a call that ran unasked": {
			call: call("allow", func(c *approval.Call) { c.ID, c.MustAsk = "allowed", true }), want: approval.CodeIDConflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.who.Token == "" {
				c.who = agent
			}
			_, _, err := d.Submit(t.Context(), c.who, c.call)
			require.Equal(t, c.want, approval.CodeOf(err), "%v", err)
			if c.field == "" {
				return
			}
			var fields []string
			for _, f := range err.(*approval.Error).Fields {
				fields = append(fields, f.Field)
			}
			require.Contains(t, fields, c.field)
		})
	}
	d.use(func(r *core.Rules) { r.Enabled = false })
	_, _, err := d.Submit(t.Context(), agent, call("ask"))
	require.Equal(t, approval.CodeApprovalsDisabled, approval.CodeOf(err))
}

// One call is asked once: the same while it is pending, under the same id, or as a yes
// that nobody has used.
func TestTheSameCallIsAskedOnce(t *testing.T) {
	d := newFixture(t)
	first, created, err := d.Submit(t.Context(), agent, call("ask"))
	require.NoError(t, err)
	require.True(t, created)
	again, created, err := d.Submit(t.Context(), agent, call("ask", func(c *approval.Call) {
		c.ID, c.Requester, c.Justification = "second", &approval.Requester{Person: "bob"}, "for the release"
	}))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.Key, again.Key)
	require.Equal(t, []approval.Requester{{Person: "bob"}}, again.Askers, "whoever joins may not decide it either")
	require.Equal(t, "for the release", again.Justification)
	_, err = d.VoteAs(t.Context(), bob, first.Code, approval.AllowOnce, "", "")
	require.Equal(t, approval.CodeSelfApproval, approval.CodeOf(err))
	byAlias, err := d.Get(t.Context(), agent, "second")
	require.NoError(t, err)
	require.Equal(t, first.Key, byAlias.Key)

	other, created, err := d.Submit(t.Context(), agent, call("ask", func(c *approval.Call) { c.SessionKey = "t" }))
	require.NoError(t, err)
	require.True(t, created, "another session's call is another one")
	require.NotEqual(t, first.Key, other.Key)

	_, err = d.VoteAs(t.Context(), alice, first.Code, approval.AllowOnce, "", "")
	require.NoError(t, err)
	resumed, created, err := d.Submit(
		t.Context(), agent, call("ask", func(c *approval.Call) { c.Resume, c.ID = true, "third" }),
	)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.Key, resumed.Key)
	require.Equal(t, approval.Approved, resumed.Status)

	newer := d.submit(
		t, "ask", func(c *approval.Call) { c.Supersedes, c.Params, c.SessionKey = other.ID, []byte(`{}`), "t" },
	)
	old, err := d.ByKey(t.Context(), other.Key)
	require.NoError(t, err)
	require.Equal(t, approval.Withdrawn, old.Status)
	require.Equal(t, newer.Code, old.SupersededBy)
}

// Evaluate says what Submit would do, and makes nothing.
func TestEvaluateSaysWhatSubmitWouldDo(t *testing.T) {
	d := newFixture(t)
	for tool, want := range map[string]approval.Outcome{
		"allow": approval.OutcomeAllow, "deny": approval.OutcomeDeny, "ask": approval.OutcomeAsk,
		"listed": approval.OutcomeDeny, "many": approval.OutcomeDeny,
		approval.DrillTool: approval.OutcomeAsk,
	} {
		p, err := d.Evaluate(t.Context(), agent, call(tool))
		require.NoError(t, err)
		require.Equal(t, want, p.Outcome, tool)
	}
	page, err := d.List(t.Context(), alice, core.Filter{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, page.Items)
	d.use(func(r *core.Rules) { r.Enabled = false })
	_, err = d.Evaluate(t.Context(), agent, call("ask"))
	require.Equal(t, approval.CodeApprovalsDisabled, approval.CodeOf(err))
}

// opinion is a classifier, and a verifier, of one answer each.
type opinion struct {
	says approval.Opinion
	v    approval.Verification
}

func (o opinion) Classify(context.Context, approval.Call, approval.Judgement) approval.Opinion {
	return o.says
}

func (o opinion) Wants(approval.Call) approval.Verification {
	return approval.Verification{Asked: o.v.Asked, People: o.v.People}
}

func (o opinion) Verify(context.Context, approval.Call, approval.RiskClass) approval.Verification {
	return o.v
}

func (o opinion) Chats() []approval.VerifierPeople {
	return []approval.VerifierPeople{{Place: ops, Accounts: []string{"telegram:2"}}}
}

// Opinions from outside are asked for once, are on record, and only tighten.
func TestOpinionsFromOutside(t *testing.T) {
	record := []approval.Consultation{{Authority: core.AuthorityClassifier, Verdict: "R1"}}
	people := &approval.VerifierPeople{Place: ops, Accounts: []string{"telegram:2"}, TimeoutMs: 60_000}
	for name, c := range map[string]struct {
		tool       string
		classifier bool
		o          opinion
		want       approval.Status
		class      approval.RiskClass
		consulted  int
		codes      []string
	}{
		"a classifier where policy is unsure": {
			tool: "unsure", classifier: true,
			o:    opinion{says: approval.Opinion{Assessment: approval.Assessment{RiskClass: approval.R3}, Consulted: record}},
			want: approval.Pending, class: approval.R3, consulted: 1,
		},
		"not where policy is sure": {
			tool: "ask", classifier: true, o: opinion{says: approval.Opinion{Consulted: record}}, want: approval.Pending,
			class: approval.R2, codes: []string{"because"},
		},
		"one that fails lowers nothing": {
			tool: "unsure", classifier: true, o: opinion{says: approval.Opinion{Failed: "timeout", Consulted: record}},
			want: approval.Pending, class: approval.R2, consulted: 1, codes: []string{"because"},
		},
		"a verifier may deny what policy allows": {
			tool: "allow", o: opinion{v: approval.Verification{Asked: true, Denied: true, Consulted: record}},
			want: approval.Denied, class: approval.R2, consulted: 1, codes: []string{"because", approval.ReasonVerifierDenied},
		},
		"it may let it pass": {
			tool: "allow", o: opinion{v: approval.Verification{Asked: true, Open: true, Consulted: record}},
			want: approval.Approved, class: approval.R2, consulted: 1, codes: []string{"because"},
		},
		"it cannot allow what policy asks": {
			tool: "ask", o: opinion{v: approval.Verification{Asked: true, Consulted: record}}, want: approval.Pending,
			class: approval.R2, consulted: 1, codes: []string{"because"},
		},
		"its people are asked where policy does not": {
			tool: "allow", o: opinion{v: approval.Verification{People: people}}, want: approval.Pending, class: approval.R2,
			codes: []string{"because", approval.ReasonVerifierPeople},
		},
		"a drill asks neither": {
			tool: approval.DrillTool, classifier: true,
			o: opinion{v: approval.Verification{Asked: true, Denied: true, Consulted: record}}, want: approval.Pending,
			codes: []string{approval.ReasonDrill},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.use(func(r *core.Rules) {
				r.Verifier = c.o
				if c.classifier {
					r.Classifier = c.o
				}
			})
			a := d.submit(t, c.tool)
			require.Equal(t, c.want, a.Status)
			require.Equal(t, c.class, a.Assessment.RiskClass)
			require.Len(t, a.Consulted, c.consulted)
			if c.codes != nil {
				require.Equal(t, c.codes, a.Assessment.ReasonCodes)
			}
			if p := a.Rule.Verifier; p != nil && !p.Optional {
				require.Equal(t, a.CreatedAtMs+60_000, a.ExpiresAtMs, "its people's own time counts")
			}
		})
	}
	d := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	d.use(func(r *core.Rules) { r.Classifier = leaving{cancel} })
	_, _, err := d.Submit(ctx, agent, call("unsure"))
	require.Equal(t, approval.CodeUnavailable, approval.CodeOf(err), "whoever hung up gets no verdict")
}

type leaving struct{ cancel func() }

func (l leaving) Classify(context.Context, approval.Call, approval.Judgement) approval.Opinion {
	l.cancel()
	return approval.Opinion{Failed: "timeout"}
}

// A model need not be shown the tools that are denied whatever they are called with.
func TestWhichToolsAModelIsShown(t *testing.T) {
	d := newFixture(t)
	allowed, denied, err := d.Tools(agent, core.ToolSet{Tools: []string{"read", "deny", "read"}})
	require.NoError(t, err)
	require.Equal(t, []string{"read"}, allowed)
	require.Equal(t, []core.DeniedTool{{Tool: "deny", Reason: "not here"}}, denied)
	for name, c := range map[string]struct {
		who  core.Caller
		set  core.ToolSet
		want approval.Code
	}{
		"a token without a scope": {core.Caller{}, core.ToolSet{Tools: []string{"a"}}, approval.CodeForbidden},
		"no list":                 {agent, core.ToolSet{}, approval.CodeInvalidRequest},
		"a name that is none":     {agent, core.ToolSet{Tools: []string{"-"}}, approval.CodeInvalidRequest},
		"too many": {
			agent, core.ToolSet{Tools: make([]string, core.MaxTools+1)}, approval.CodeInvalidRequest,
		},
	} {
		_, _, err := d.Tools(c.who, c.set)
		require.Equal(t, c.want, approval.CodeOf(err), name)
	}
}

// A tool that its server describes otherwise than before is another tool: no grant
// covers its calls.
func TestAChangedToolIsAskedAnew(t *testing.T) {
	d := newFixture(t)
	from := func(text string) func(*approval.Call) {
		return func(c *approval.Call) { c.Context.Tool = approval.ToolFacts{Server: "acme", Description: text} }
	}
	a := d.submit(t, "ask", from("reads notes"))
	_, err := d.VoteAs(t.Context(), alice, a.Code, approval.AllowSession, "", "")
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.NoError(t, err)
	require.Equal(t, approval.Approved, d.submit(t, "ask", from("reads notes")).Status)
	require.Equal(t, approval.Pending, d.submit(t, "ask", from("sends notes away")).Status)
}
