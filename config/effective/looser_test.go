package effective

import (
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/config"
	"approvalbot/core"
)

func TestLooserRules(t *testing.T) {
	t.Parallel()
	rule := func(tool, outcome string, change ...func(*config.Rule)) config.Rule {
		r := config.Rule{Name: tool + outcome, Match: config.Match{Tool: config.Patterns{tool}}, Outcome: outcome}
		for _, f := range change {
			f(&r)
		}
		return r
	}
	two := func(r *config.Rule) { r.MinApprovals = 2 }
	ops := func(r *config.Rule) { r.Role = "ops" }
	approves := func(r *config.Rule) { r.Outcome, r.Approve = "", true }
	risky := func(r *config.Rule) { r.Outcome, r.Risk = "", config.Risk{Class: core.R4, Set: true} }
	weekend := func(r *config.Rule) { r.During = config.During{Weekly: "Fri 16:00-Mon 08:00", Timezone: "UTC"} }
	allow, ask, deny := rule("a", "allow"), rule("a", "ask"), rule("a", "deny")
	other := rule("b", "allow")
	type list = []config.Rule
	for name, c := range map[string]struct {
		old, now list
		looser   bool
	}{
		"the same":                                     {list{allow, deny}, list{allow, deny}, false},
		"a deny only at weekends":                      {list{deny}, list{rule("a", "deny", weekend)}, true},
		"a freeze beside":                              {list{allow}, list{rule("a", "deny", weekend), allow}, false},
		"a freeze that is gone":                        {list{rule("a", "deny", weekend), allow}, list{allow}, true},
		"a deny before":                                {list{allow, other}, list{deny, allow, other}, false},
		"a deny between and after":                     {list{allow, other}, list{allow, deny, other, rule("c", "deny")}, false},
		"a deny where there was none":                  {nil, list{deny}, false},
		"an ask before an allow":                       {list{allow}, list{ask, allow}, false},
		"an ask that needs more":                       {list{allow, ask}, list{rule("b", "ask", two), allow, ask}, false},
		"a stricter ask before a deny of another tool": {list{deny}, list{rule("b", "ask", two), deny}, false},
		"an ask before a deny of the same and another": {list{rule("b", "deny"), deny}, list{ask, rule("b", "deny"), deny}, true},
		"a higher quorum":                              {list{ask, other}, list{rule("a", "ask", two), other}, false},
		"a role beside":                                {list{ask}, list{rule("a", "ask", ops)}, false},
		"an ask that denies now":                       {list{rule("a", "ask", two), other}, list{deny, other}, false},
		"an allow that asks now":                       {list{allow}, list{ask}, false},
		"an allow that is gone":                        {list{allow, other}, list{other}, false},
		"another name":                                 {list{allow}, list{rule("a", "allow", func(r *config.Rule) { r.Name = "x" })}, false},
		"an approve that is gone":                      {list{rule("a", "", approves), deny}, list{deny}, false},
		"an allow more":                                {list{allow}, list{allow, other}, true},
		"an allow instead of an ask":                   {list{ask}, list{allow}, true},
		"an ask instead of a deny":                     {list{deny}, list{ask}, true},
		"an ask before a deny":                         {list{deny}, list{ask, deny}, true},
		"a lower quorum":                               {list{rule("a", "ask", two)}, list{ask}, true},
		"another role":                                 {list{rule("a", "ask", ops)}, list{rule("a", "ask", func(r *config.Rule) { r.Role = "dev" })}, true},
		"a deny that is gone":                          {list{deny, allow}, list{allow}, true},
		"all gone":                                     {list{ask}, nil, true},
		"an allow in front":                            {list{deny, allow}, list{allow, deny}, true},
		"an allow of more":                             {list{allow}, list{other}, true},
		"an approve before an allow":                   {list{rule("a", "", approves), allow}, list{allow}, true},
		"who can tell what a class does":               {list{allow}, list{rule("a", "", risky), allow}, true},
	} {
		require.Equal(t, c.looser, looserRules(c.old, c.now), name)
	}
}

func TestLooserTrust(t *testing.T) {
	t.Parallel()
	token := func(trusted bool) (c config.Config) {
		c.Server.Tokens = []config.Token{{Name: "bridge", TrustToolHints: trusted}}
		return c
	}
	const said = "what token bridge says of tools may lower their risk (trustToolHints)"
	require.Contains(t, Looser(token(false), token(true)), said)
	require.Contains(t, Looser(config.Config{}, token(true)), said)
	require.NotContains(t, Looser(token(true), token(true)), said)
	require.NotContains(t, Looser(token(true), token(false)), said)
}

func TestLooserRequesters(t *testing.T) {
	t.Parallel()
	tokens := func(must ...bool) (c config.Config) {
		for i, m := range must {
			c.Server.Tokens = append(c.Server.Tokens, config.Token{Name: []string{"a", "b"}[i], RequireRequester: m})
		}
		return c
	}
	require.Equal(t, []string{"a"}, mayOmitRequester(tokens(true, true), tokens(false, true)))
	require.Empty(t, mayOmitRequester(tokens(false, true), tokens(true)), "a token that is gone asks nothing")
	require.Contains(t, Looser(tokens(true), tokens(false)), "token a need not say who asked")
}
