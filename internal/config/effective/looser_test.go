package effective

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
	"approvalbot/internal/config"
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
	weekend := func(r *config.Rule) { r.During = config.During{Weekly: "Fri 16:00-Mon 08:00", Timezone: "UTC"} }
	class := func(class approval.RiskClass) func(*config.Rule) {
		return func(r *config.Rule) { r.Outcome, r.Risk = "", config.Risk{Class: class, Set: true} }
	}
	r2, r3, risky := class(approval.R2), class(approval.R3), class(approval.R4)
	long := func(r *config.Rule) { r.During = config.During{Weekly: "Thu 12:00-Mon 09:00", Timezone: "UTC"} }
	berlin := func(r *config.Rule) { r.During.Timezone = "Europe/Berlin" }
	allow, ask, deny := rule("a", "allow"), rule("a", "ask"), rule("a", "deny")
	other := rule("b", "allow")
	type list = []config.Rule
	for name, c := range map[string]struct {
		old, now list
		want     ruleChange
	}{
		"the same":                                     {list{allow, deny}, list{allow, deny}, same},
		"a deny only at weekends":                      {list{deny}, list{rule("a", "deny", weekend)}, looser},
		"a freeze beside":                              {list{allow}, list{rule("a", "deny", weekend), allow}, tighter},
		"a freeze that is gone":                        {list{rule("a", "deny", weekend), allow}, list{allow}, looser},
		"a deny before":                                {list{allow, other}, list{deny, allow, other}, tighter},
		"a deny between and after":                     {list{allow, other}, list{allow, deny, other, rule("c", "deny")}, tighter},
		"a deny where there was none":                  {nil, list{deny}, tighter},
		"an ask before an allow":                       {list{allow}, list{ask, allow}, tighter},
		"an ask that needs more":                       {list{allow, ask}, list{rule("b", "ask", two), allow, ask}, tighter},
		"a stricter ask before a deny of another tool": {list{deny}, list{rule("b", "ask", two), deny}, tighter},
		"an ask before a deny of the same and another": {list{rule("b", "deny"), deny}, list{ask, rule("b", "deny"), deny}, looser},
		"a higher quorum":                              {list{ask, other}, list{rule("a", "ask", two), other}, tighter},
		"a role beside":                                {list{ask}, list{rule("a", "ask", ops)}, tighter},
		"an ask that denies now":                       {list{rule("a", "ask", two), other}, list{deny, other}, tighter},
		"an allow that asks now":                       {list{allow}, list{ask}, tighter},
		"an allow that is gone":                        {list{allow, other}, list{other}, tighter},
		"another name":                                 {list{allow}, list{rule("a", "allow", func(r *config.Rule) { r.Name = "x" })}, same},
		"an approve that is gone":                      {list{rule("a", "", approves), deny}, list{deny}, tighter},
		"an allow more":                                {list{allow}, list{allow, other}, looser},
		"an allow instead of an ask":                   {list{ask}, list{allow}, looser},
		"an ask instead of a deny":                     {list{deny}, list{ask}, looser},
		"an ask before a deny":                         {list{deny}, list{ask, deny}, looser},
		"a lower quorum":                               {list{rule("a", "ask", two)}, list{ask}, looser},
		"another role":                                 {list{rule("a", "ask", ops)}, list{rule("a", "ask", func(r *config.Rule) { r.Role = "dev" })}, changed},
		"a deny that is gone":                          {list{deny, allow}, list{allow}, looser},
		"all gone":                                     {list{ask}, nil, looser},
		"an allow in front":                            {list{deny, allow}, list{allow, deny}, looser},
		"an allow of more":                             {list{allow}, list{other}, looser},
		"an approve before an allow":                   {list{rule("a", "", approves), allow}, list{allow}, looser},
		"who can tell what a class does":               {list{allow}, list{rule("a", "", risky), allow}, tighter},
		"an approve that is R3 now":                    {list{rule("a", "", approves)}, list{rule("a", "", r3)}, tighter},
		"an approve that is R3 before a deny":          {list{rule("a", "", approves), deny}, list{rule("a", "", r3), deny}, looser},
		"an approve that is R2 now":                    {list{rule("a", "", approves)}, list{rule("a", "", r2)}, changed},
		"an allow that asks, before a deny":            {list{allow, deny}, list{ask, deny}, looser},
		"an allow that asks, before a class":           {list{allow, rule("a", "", risky)}, list{ask, rule("a", "", risky)}, changed},
		"a role beside a class":                        {list{rule("a", "", risky)}, list{rule("a", "", risky, ops)}, tighter},
		"a role beside an approve":                     {list{rule("a", "", approves)}, list{rule("a", "", approves, ops)}, tighter},
		"a role that is gone":                          {list{rule("a", "", risky, ops)}, list{rule("a", "", risky)}, looser},
		"a higher class":                               {list{rule("a", "", r3)}, list{rule("a", "", risky)}, tighter},
		"a lower class":                                {list{rule("a", "", risky)}, list{rule("a", "", r3)}, looser},
		"a class that lowered and is gone":             {list{rule("a", "", r2)}, nil, changed},
		"a deny for longer":                            {list{rule("a", "deny", weekend)}, list{rule("a", "deny", long)}, tighter},
		"a deny for ever":                              {list{rule("a", "deny", weekend)}, list{deny}, tighter},
		"a deny for less":                              {list{rule("a", "deny", long)}, list{rule("a", "deny", weekend)}, looser},
		"a deny in another zone":                       {list{rule("a", "deny", weekend)}, list{rule("a", "deny", long, berlin)}, looser},
		"an ask for longer":                            {list{rule("a", "ask", weekend)}, list{rule("a", "ask", long)}, tighter},
		"an ask for longer before a deny":              {list{rule("a", "ask", weekend), deny}, list{rule("a", "ask", long), deny}, looser},
		"an allow for less":                            {list{rule("a", "allow", long)}, list{rule("a", "allow", weekend)}, tighter},
		"an allow for longer":                          {list{rule("a", "allow", weekend)}, list{rule("a", "allow", long)}, looser},
		"an allow for less, a deny for longer":         {list{rule("a", "allow", long), rule("b", "deny", weekend)}, list{rule("a", "allow", weekend), rule("b", "deny", long)}, tighter},
	} {
		require.Equal(t, c.want, comparison{r3Asks: true}.of(c.old, c.now), name)
	}
}

// What the form of rules does not prove depends on what else is configured.
func TestChangeOfRulesProvesOnlyByForm(t *testing.T) {
	t.Parallel()
	rule := config.Rule{Name: "x", Match: config.Match{Tool: config.Patterns{"a"}}}
	approve, r3 := rule, rule
	approve.Approve, r3.Risk = true, config.Risk{Class: approval.R3, Set: true}
	old, now := []config.Rule{approve}, []config.Rule{r3}
	require.Equal(t, tighter, comparison{r3Asks: true}.of(old, now))
	require.Equal(t, changed, comparison{}.of(old, now), "R3 runs unasked")
	require.Equal(t, changed, comparison{r3Asks: true, classifier: true}.of(old, now), "a classifier may have refused it")
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

// A version that lets calls pass where the one before waited says so, and only if the configuration has the keys.
func TestLooserByVersion_TheVerifiersChat(t *testing.T) {
	for text, want := range map[string]bool{
		`{enabled: true, failMode: allow, telegram: ` + verifierChat + `}`:          true,
		`{enabled: true, failMode: deny, telegram: ` + verifierChat + `}`:           false,
		`{enabled: true, failMode: allow, webhook: {url: "https://v.example.org"}}`: false,
		`{enabled: false, failMode: allow, telegram: ` + verifierChat + `}`:         false,
	} {
		cfg, _ := load(t, inReach+"tools: {verifier: "+text+"}\napprovals: {tools: {}}\n", "BOT=1:a")
		said := slices.ContainsFunc(LooserByVersion(cfg), func(s string) bool { return strings.Contains(s, "verifier's people") })
		require.Equal(t, want, said, text)
	}
}
