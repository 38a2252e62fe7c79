package core

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/people"
)

// What a standing permission covers: the call that it was given for, and no more.
func TestWhatAGrantCovers(t *testing.T) {
	session := approval.Grant{Kind: approval.SessionGrant, SessionKey: "s", Subject: "exec git push", ReasonCodes: []string{"git-push"}}
	always := approval.Grant{Kind: approval.AlwaysGrant, Fingerprint: "f"}
	pattern := approval.Grant{Kind: approval.PatternGrant, Subject: "exec git push", Pattern: []string{"git", "push", "*"}}
	for name, c := range map[string]struct {
		g    approval.Grant
		a    func(*approval.Approval)
		more func(*approval.Grant)
		want bool
	}{
		"a session grant, its subject in its session": {g: session, want: true},
		"not in another session":                      {g: session, a: func(a *approval.Approval) { a.SessionKey = "t" }},
		"not without one": {
			g: session, a: func(a *approval.Approval) { a.SessionKey = "" }, more: func(g *approval.Grant) { g.SessionKey = "" },
		},
		"not another subject": {g: session, a: func(a *approval.Approval) { a.Subject = "exec git pull" }},
		"not for another reason": {
			g: session, a: func(a *approval.Approval) { a.Assessment.ReasonCodes = []string{"git-push", "force"} },
		},
		"not where no session grant is offered": {
			g: session, a: func(a *approval.Approval) { a.Offers = []approval.Decision{approval.AllowOnce} },
		},
		"an always grant, that very call": {g: always, want: true},
		"not another call":                {g: always, a: func(a *approval.Approval) { a.Fingerprint = "g" }},
		"not where always is not offered": {g: always, a: func(a *approval.Approval) { a.Offers = []approval.Decision{approval.AllowSession} }},
		"a pattern, a command that fits":  {g: pattern, want: true},
		"not another program":             {g: pattern, more: func(g *approval.Grant) { g.Subject = "exec git" }},
		"not another word": {
			g: pattern, more: func(g *approval.Grant) { g.Pattern = []string{"git", "push", "upstream"} },
		},
		"a cool-down covers nothing":       {g: approval.Grant{Kind: approval.CoolDown, Fingerprint: "f"}},
		"not another token's call":         {g: always, more: func(g *approval.Grant) { g.Owner = "other" }},
		"not another agent's":              {g: always, more: func(g *approval.Grant) { g.AgentID = "other" }},
		"not after its time":               {g: always, more: func(g *approval.Grant) { g.ExpiresAtMs = 500 }},
		"not a higher class":               {g: always, a: func(a *approval.Approval) { a.Assessment.RiskClass = approval.R3 }},
		"not where more people are needed": {g: always, a: func(a *approval.Approval) { a.Rule.MinApprovals = 2 }},
		"not where a role is needed": {
			g: always, a: func(a *approval.Approval) { a.Rule.Needs = []approval.Need{{Role: "ops", Min: 1}} },
		},
		"not where a person is needed": {g: always, more: func(g *approval.Grant) { g.Rule.RequiresHuman = false }},
		"not for who gave it": {
			g: always, a: func(a *approval.Approval) { a.Askers = []approval.Requester{{Person: "dan"}} },
		},
		"but where people approve their own": {
			g: always, a: func(a *approval.Approval) { a.Askers, a.Solo = []approval.Requester{{Person: "dan"}}, true }, want: true,
		},
		"not another server's tool of that name": {g: always, a: func(a *approval.Approval) { a.Context.Tool.Server = "prod" }},
		"nor its own for none":                   {g: session, more: func(g *approval.Grant) { g.Server = "staging" }},
		"not outside the sandbox that it was in": {g: always, more: func(g *approval.Grant) { g.Sandboxed = true }},
		"but inside one":                         {g: always, a: func(a *approval.Approval) { a.Context.Sandboxed = true }, want: true},
		"not of somebody who is gone":            {g: always, more: func(g *approval.Grant) { g.By = []string{"person:eve"} }},
	} {
		t.Run(name, func(t *testing.T) {
			a := needing(1, nil)
			a.SessionKey, a.Subject, a.Fingerprint, a.Assessment = "s", "exec git push", "f", approval.Assessment{
				RiskClass: approval.R2, ReasonCodes: []string{"git-push"},
			}
			g := c.g
			g.ID, g.MaxClass, g.Rule, g.By = "1", approval.R2, approval.Rule{MinApprovals: 1, RequiresHuman: true}, []string{"person:dan"}
			if c.a != nil {
				c.a(&a)
			}
			if c.more != nil {
				c.more(&g)
			}
			scope := approval.GrantScope{Program: "exec git push", Words: []string{"git", "push", "origin"}}
			require.Equal(t, c.want, people.Covers(g, a, scope, twoLists(t), 500))
			settled := byGrant(a, Existing{Grants: []approval.Grant{g}}, scope, twoLists(t), 500)
			require.Equal(t, c.want, settled.Status == approval.Approved)
			require.Equal(t, c.want, byRecord(settled) && settled.Status != approval.Denied)
			if c.want {
				a.Context.Tool.Changed = true
				require.Equal(
					t, approval.Pending, byGrant(a, Existing{Grants: []approval.Grant{g}}, scope, twoLists(t), 500).Status,
					"it was given for the tool as it was",
				)
				a.Context.Tool.Changed, a.Rule.Verifier = false, verifierNeed("")
				asked := byGrant(a, Existing{Grants: []approval.Grant{g}}, scope, twoLists(t), 500)
				require.Equal(t, "grant:1", asked.Rule.Verifier.Instead, "the verifier's people are asked all the same")
				require.Equal(t, approval.Pending, asked.Status)
			}
		})
	}
}

func TestACoolDownRefusesThatVeryCall(t *testing.T) {
	cool := approval.Grant{ID: "12345678-9", Kind: approval.CoolDown, Fingerprint: "f", By: []string{"person:dan"}, ExpiresAtMs: 900}
	a := needing(1, nil)
	a.Fingerprint = "f"
	got := byGrant(a, Existing{Grants: []approval.Grant{cool}}, approval.GrantScope{}, twoLists(t), 500)
	require.Equal(t, approval.Denied, got.Status)
	require.Equal(t, []string{approval.ReasonRecentlyDenied}, got.Assessment.ReasonCodes)
	require.Contains(t, got.Reason, "dan denied this very call")
	require.Equal(
		t, approval.Pending, byGrant(a, Existing{Grants: []approval.Grant{cool}}, approval.GrantScope{}, twoLists(t), 900).Status,
		"its time is over",
	)
	a.Fingerprint = "g"
	require.Equal(t, approval.Pending, byGrant(a, Existing{Grants: []approval.Grant{cool}}, approval.GrantScope{}, twoLists(t), 500).Status)
}

func TestWhatAPatternFits(t *testing.T) {
	for _, c := range []struct {
		pattern, words string
		want           bool
	}{
		{"git push", "git push", true}, {"git push", "git push origin", false}, {"git push *", "git push origin", true},
		{"git push *", "git push", false}, {"git push *", "git push --force", false}, {
			"git push --force", "git push --force", true,
		},
		{"git push **", "git push", true}, {"git push **", "git push a b", true}, {
			"git push **", "git push a -f", false,
		},
		{"git ** push", "git x push", false}, {"", "", false},
	} {
		require.Equal(
			t, c.want, approval.Fits(strings.Fields(c.pattern), strings.Fields(c.words)), "%q fits %q", c.pattern, c.words,
		)
	}
}

// Where today's rule asks more, what was asked or granted under the older one is weaker.
func TestWhichRuleIsWeaker(t *testing.T) {
	base := approval.Rule{MinApprovals: 1}
	for name, c := range map[string]struct {
		old, today approval.Rule
		want       bool
	}{
		"the same":                        {base, base, false},
		"one person where two are needed": {base, approval.Rule{MinApprovals: 2}, true},
		"two where one is needed":         {approval.Rule{MinApprovals: 2}, base, false},
		"no person where one is needed":   {base, approval.Rule{MinApprovals: 1, RequiresHuman: true}, true},
		"no role where one is needed":     {base, approval.Rule{MinApprovals: 1, Needs: []approval.Need{{Role: "ops", Min: 1}}}, true},
		"more of the role than needed": {
			approval.Rule{MinApprovals: 1, Needs: []approval.Need{{Role: "ops", Min: 2}}}, approval.Rule{MinApprovals: 1, Needs: []approval.Need{{Role: "ops", Min: 1}}}, false,
		},
		"no verifier where one is needed":     {base, approval.Rule{MinApprovals: 1, Verifier: verifierNeed("")}, true},
		"only the verifier, approvers needed": {approval.Rule{MinApprovals: 1, Verifier: verifierNeed("policy")}, base, true},
		"more of the verifier's people than now": {
			approval.Rule{MinApprovals: 1, Verifier: verifierNeed("")},
			approval.Rule{MinApprovals: 1, Verifier: &approval.VerifierNeed{Accounts: []string{"telegram:1"}}}, true,
		},
	} {
		require.Equal(t, c.want, c.old.Weaker(c.today), name)
	}
	require.Equal(
		t, []approval.Need{{Role: "ops", Min: 2}, {Role: "dev", Min: 1}, {Role: "ops", Min: 3}},
		approval.MergeNeeds([]approval.Need{{Role: "ops", Min: 2}, {Role: "dev", Min: 1}}, []approval.Need{{Role: "ops", Min: 1}, {Role: "ops", Min: 3}}),
	)
}

// A session's yes is offered for nothing that people are not shown.
func TestNoSubjectOfAHiddenCall(t *testing.T) {
	j := approval.Judgement{GrantScope: approval.GrantScope{Subject: "write (/srv/x)"}}
	require.Equal(t, "write (/srv/x)", subject(j, approval.Call{}))
	require.Empty(t, subject(j, approval.Call{Dialect: approval.DialectAgentShield}))
}

// An approver who decides in somebody's stead leaves no yes for good.
func TestAnAlwaysInSomebodysSteadEnds(t *testing.T) {
	a := needing(1, nil)
	a.Status, a.Decision, a.Fingerprint = approval.Approved, approval.AllowAlways, "f"
	c := Change{Approval: a}.leaveGrant([]string{"person:bob"}, 1000)
	require.Zero(t, c.Grants[0].ExpiresAtMs)
	c.Grants, c.Approval.Votes = nil, []approval.Vote{{Approver: approval.UserRequest, Verdict: approval.Approve, For: []string{"alice"}}}
	c = c.leaveGrant([]string{"person:bob"}, 1000)
	require.EqualValues(t, 1000+approval.SessionGrantMs, c.Grants[0].ExpiresAtMs)
}
