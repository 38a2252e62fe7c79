package core_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/core"
)

func TestWhatBecomesOfACall(t *testing.T) {
	for name, c := range map[string]struct {
		tool string
		more func(*core.Call)
		want core.Status
		why  string
	}{
		"policy allows it": {tool: "allow", want: core.Approved},
		"policy denies it": {tool: "deny", want: core.Denied, why: "not here"},
		"policy asks":      {tool: "ask", want: core.Pending},
		"the asker wants a person": {
			tool: "allow", more: func(c *core.Call) { c.MustAsk = true }, want: core.Pending,
		},
		"nobody wants to be asked": {tool: "listed", want: core.Denied, why: "not on the list"},
		"more people are needed than there are": {
			tool: "many", want: core.Denied,
			why: "There are too few approvers for this: name more people in the configuration, " +
				"or lower the number of approvals it needs.",
		},
		"a drill always goes to people": {tool: core.DrillTool, want: core.Pending},
		"people are not asked about their own call": {
			tool: "two", more: func(c *core.Call) { c.Requester = &core.Requester{Person: "bob"} }, want: core.Denied,
			why: "Too few people beside whoever asked could approve this: " +
				"it needs 2, and there is 1. Name another approver, or set approvals.tools.selfApproval: solo " +
				"to let people approve their own requests.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			more := []func(*core.Call){}
			if c.more != nil {
				more = append(more, c.more)
			}
			a := d.submit(t, c.tool, more...)
			require.Equal(t, c.want, a.Status)
			require.Equal(t, c.why, a.Reason)
			require.Equal(t, c.want == core.Pending, len(a.Deliveries) == 1, "a card goes out where people are asked")
			kept, err := d.Get(t.Context(), agent, a.ID)
			require.NoError(t, err)
			require.Equal(t, a.Status, kept.Status, "whatever comes back is on record")
		})
	}
}

func TestWhichCallsAreRefused(t *testing.T) {
	d := newFixture(t)
	first := d.submit(t, "ask", func(c *core.Call) { c.ID = "mine" })
	ended := d.submit(t, "deny", func(c *core.Call) { c.ID = "ended" })
	require.Equal(t, core.Denied, ended.Status)
	d.submit(t, "allow", func(c *core.Call) { c.ID = "allowed" })
	set := func(f func(*core.Call)) core.Call { return call("ask", f) }
	for name, c := range map[string]struct {
		who   core.Caller
		call  core.Call
		want  core.Code
		field string
	}{
		"a token without the scope": {
			who: core.Caller{Token: "x"}, call: call("ask"), want: core.CodeForbidden,
		},
		"params that are no object": {
			call: set(func(c *core.Call) { c.Params = []byte(`[]`) }), want: core.CodeInvalidRequest, field: "params",
		},
		"params that are too large": {
			call: set(func(c *core.Call) { c.Params = []byte(`{"a":"` + strings.Repeat("x", core.MaxParams) + `"}`) }),
			want: core.CodePayloadTooLarge,
		},
		"an id of the owner's other call": {
			call: set(func(c *core.Call) { c.ID, c.Params = "mine", []byte(`{"path":"b"}`) }),
			want: core.CodeIDConflict,
		},
		"an id that is another's code": {
			call: set(func(c *core.Call) { c.ID = first.Code }), want: core.CodeIDConflict,
		},
		"a callback without a secret": {
			who:  core.Caller{Token: "plain", MayRequest: true},
			call: set(func(c *core.Call) { c.CallbackURL = "https://a.example" }), want: core.CodeInvalidRequest,
			field: "callbackUrl",
		},
		"a callback that is not https": {
			call: set(func(c *core.Call) { c.CallbackURL = "http://a.example" }), want: core.CodeInvalidRequest,
			field: "callbackUrl",
		},
		"a callback that is no address": {
			call: set(func(c *core.Call) { c.CallbackURL = "a.example" }), want: core.CodeInvalidRequest,
			field: "callbackUrl",
		},
		"one with a password in it": {
			call: set(func(c *core.Call) { c.CallbackURL = "https://me:pw@a.example" }),
			want: core.CodeInvalidRequest, field: "callbackUrl",
		},
		"a requester whom nobody knows": {
			call: set(func(c *core.Call) { c.Requester = &core.Requester{Person: "eve"} }),
			want: core.CodeInvalidRequest, field: "requester.person",
		},
		"a requester in two ways": {
			call: set(func(c *core.Call) { c.Requester = &core.Requester{Person: "bob", Channel: "telegram"} }),
			want: core.CodeInvalidRequest, field: "requester",
		},
		"no requester where one is needed": {
			who: core.Caller{Token: "agent", MayRequest: true, RequireRequester: true}, call: call("ask"),
			want: core.CodeInvalidRequest, field: "requester",
		},
		"a chat that the token may not name": {
			call: set(func(c *core.Call) { c.Origin = &core.Target{Channel: "telegram", To: "-9"} }),
			want: core.CodeOriginNotAllowed,
		},
		"a chat that is none": {
			call: set(func(c *core.Call) { c.Origin = &core.Target{Channel: "slack", To: "1"} }),
			want: core.CodeInvalidRequest, field: "origin",
		},
		"what it supersedes is nothing": {
			call: set(func(c *core.Call) { c.Supersedes, c.Params = "none", []byte(`{}`) }),
			want: core.CodeInvalidRequest, field: "supersedes",
		},
		"what it supersedes has ended": {
			call: set(func(c *core.Call) { c.Supersedes, c.Params = "ended", []byte(`{}`) }),
			want: core.CodeAlreadyResolved,
		},
		"more pending than the token may": {
			who:  core.Caller{Token: "agent", MayRequest: true, MaxPending: 1},
			call: set(func(c *core.Call) { c.Params = []byte(`{}`) }), want: core.CodeRateLimited,
		},
		"an agent's name that is too long": {
			call: set(func(c *core.Call) { c.AgentID = strings.Repeat("a", 257) }), want: core.CodeInvalidRequest,
			field: "agentId",
		},
		"a command that is no command": {
			call: call("exec"), want: core.CodeInvalidRequest, field: "params.command",
		},
		"an id of a call that ran unasked": {
			call: call("allow", func(c *core.Call) { c.ID, c.MustAsk = "allowed", true }), want: core.CodeIDConflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if c.who.Token == "" {
				c.who = agent
			}
			_, _, err := d.Submit(t.Context(), c.who, c.call)
			require.Equal(t, c.want, core.CodeOf(err), "%v", err)
			if c.field == "" {
				return
			}
			var fields []string
			for _, f := range err.(*core.Error).Fields {
				fields = append(fields, f.Field)
			}
			require.Contains(t, fields, c.field)
		})
	}
	d.use(func(r *core.Rules) { r.Enabled = false })
	_, _, err := d.Submit(t.Context(), agent, call("ask"))
	require.Equal(t, core.CodeApprovalsDisabled, core.CodeOf(err))
}

// One call is asked once: the same while it is pending, under the same id, or as a yes
// that nobody has used.
func TestTheSameCallIsAskedOnce(t *testing.T) {
	d := newFixture(t)
	first, created, err := d.Submit(t.Context(), agent, call("ask"))
	require.NoError(t, err)
	require.True(t, created)
	again, created, err := d.Submit(t.Context(), agent, call("ask", func(c *core.Call) {
		c.ID, c.Requester, c.Justification = "second", &core.Requester{Person: "bob"}, "for the release"
	}))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.Key, again.Key)
	require.Equal(t, []core.Requester{{Person: "bob"}}, again.Askers, "whoever joins may not decide it either")
	require.Equal(t, "for the release", again.Justification)
	_, err = d.VoteAs(t.Context(), bob, first.Code, core.AllowOnce, "")
	require.Equal(t, core.CodeSelfApproval, core.CodeOf(err))
	byAlias, err := d.Get(t.Context(), agent, "second")
	require.NoError(t, err)
	require.Equal(t, first.Key, byAlias.Key)

	other, created, err := d.Submit(t.Context(), agent, call("ask", func(c *core.Call) { c.SessionKey = "t" }))
	require.NoError(t, err)
	require.True(t, created, "another session's call is another one")
	require.NotEqual(t, first.Key, other.Key)

	_, err = d.VoteAs(t.Context(), alice, first.Code, core.AllowOnce, "")
	require.NoError(t, err)
	resumed, created, err := d.Submit(
		t.Context(), agent, call("ask", func(c *core.Call) { c.Resume, c.ID = true, "third" }),
	)
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, first.Key, resumed.Key)
	require.Equal(t, core.Approved, resumed.Status)

	newer := d.submit(
		t, "ask", func(c *core.Call) { c.Supersedes, c.Params, c.SessionKey = other.ID, []byte(`{}`), "t" },
	)
	old, err := d.ByKey(t.Context(), other.Key)
	require.NoError(t, err)
	require.Equal(t, core.Withdrawn, old.Status)
	require.Equal(t, newer.Code, old.SupersededBy)
}

// Evaluate says what Submit would do, and makes nothing.
func TestEvaluateSaysWhatSubmitWouldDo(t *testing.T) {
	d := newFixture(t)
	for tool, want := range map[string]core.Outcome{
		"allow": core.OutcomeAllow, "deny": core.OutcomeDeny, "ask": core.OutcomeAsk,
		"listed": core.OutcomeDeny, "many": core.OutcomeDeny,
		core.DrillTool: core.OutcomeAsk,
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
	require.Equal(t, core.CodeApprovalsDisabled, core.CodeOf(err))
}

// opinion is a classifier, and a verifier, of one answer each.
type opinion struct {
	says core.Opinion
	v    core.Verification
}

func (o opinion) Classify(context.Context, core.Call, core.Judgement) core.Opinion { return o.says }

func (o opinion) Wants(core.Call) core.Verification {
	return core.Verification{Asked: o.v.Asked, People: o.v.People}
}

func (o opinion) Verify(context.Context, core.Call, core.RiskClass) core.Verification { return o.v }

func (o opinion) Chats() []core.VerifierPeople {
	return []core.VerifierPeople{{Place: ops, Accounts: []string{"telegram:2"}}}
}

// Opinions from outside are asked for once, are on record, and only tighten.
func TestOpinionsFromOutside(t *testing.T) {
	record := []core.Consultation{{Authority: core.AuthorityClassifier, Verdict: "R1"}}
	people := &core.VerifierPeople{Place: ops, Accounts: []string{"telegram:2"}, TimeoutMs: 60_000}
	for name, c := range map[string]struct {
		tool       string
		classifier bool
		o          opinion
		want       core.Status
		class      core.RiskClass
		consulted  int
		codes      []string
	}{
		"a classifier where policy is unsure": {
			tool: "unsure", classifier: true,
			o:    opinion{says: core.Opinion{Assessment: core.Assessment{RiskClass: core.R3}, Consulted: record}},
			want: core.Pending, class: core.R3, consulted: 1,
		},
		"not where policy is sure": {
			tool: "ask", classifier: true, o: opinion{says: core.Opinion{Consulted: record}}, want: core.Pending,
			class: core.R2, codes: []string{"because"},
		},
		"one that fails lowers nothing": {
			tool: "unsure", classifier: true, o: opinion{says: core.Opinion{Failed: "timeout", Consulted: record}},
			want: core.Pending, class: core.R2, consulted: 1, codes: []string{"because"},
		},
		"a verifier may deny what policy allows": {
			tool: "allow", o: opinion{v: core.Verification{Asked: true, Denied: true, Consulted: record}},
			want: core.Denied, class: core.R2, consulted: 1, codes: []string{"because", core.ReasonVerifierDenied},
		},
		"it may let it pass": {
			tool: "allow", o: opinion{v: core.Verification{Asked: true, Open: true, Consulted: record}},
			want: core.Approved, class: core.R2, consulted: 1, codes: []string{"because"},
		},
		"it cannot allow what policy asks": {
			tool: "ask", o: opinion{v: core.Verification{Asked: true, Consulted: record}}, want: core.Pending,
			class: core.R2, consulted: 1, codes: []string{"because"},
		},
		"its people are asked where policy does not": {
			tool: "allow", o: opinion{v: core.Verification{People: people}}, want: core.Pending, class: core.R2,
			codes: []string{"because", core.ReasonVerifierPeople},
		},
		"a drill asks neither": {
			tool: core.DrillTool, classifier: true,
			o: opinion{v: core.Verification{Asked: true, Denied: true, Consulted: record}}, want: core.Pending,
			codes: []string{core.ReasonDrill},
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
	require.Equal(t, core.CodeUnavailable, core.CodeOf(err), "whoever hung up gets no verdict")
}

type leaving struct{ cancel func() }

func (l leaving) Classify(context.Context, core.Call, core.Judgement) core.Opinion {
	l.cancel()
	return core.Opinion{Failed: "timeout"}
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
		want core.Code
	}{
		"a token without a scope": {core.Caller{}, core.ToolSet{Tools: []string{"a"}}, core.CodeForbidden},
		"no list":                 {agent, core.ToolSet{}, core.CodeInvalidRequest},
		"a name that is none":     {agent, core.ToolSet{Tools: []string{"-"}}, core.CodeInvalidRequest},
		"too many": {
			agent, core.ToolSet{Tools: make([]string, core.MaxTools+1)}, core.CodeInvalidRequest,
		},
	} {
		_, _, err := d.Tools(c.who, c.set)
		require.Equal(t, c.want, core.CodeOf(err), name)
	}
}

// A tool that its server describes otherwise than before is another tool: no grant
// covers its calls.
func TestAChangedToolIsAskedAnew(t *testing.T) {
	d := newFixture(t)
	from := func(text string) func(*core.Call) {
		return func(c *core.Call) { c.Context.Tool = core.ToolFacts{Server: "acme", Description: text} }
	}
	a := d.submit(t, "ask", from("reads notes"))
	_, err := d.VoteAs(t.Context(), alice, a.Code, core.AllowSession, "")
	require.NoError(t, err)
	_, err = d.Claim(t.Context(), agent, a.ID, core.ClaimInput{})
	require.NoError(t, err)
	require.Equal(t, core.Approved, d.submit(t, "ask", from("reads notes")).Status)
	require.Equal(t, core.Pending, d.submit(t, "ask", from("sends notes away")).Status)
}
